//! What a phase asks for: requests to a server, or PubSub, which has none.

use load::engine::Control;
use plan::{Phase, Targets};
use record::Run;

use crate::global::Global;
use crate::publishing::phase as pubsub;
use crate::quick;

/// A phase, with everything that was said about it.
#[derive(Debug)]
pub enum PhaseWork {
    /// Requests to servers.
    Requests(Box<quick::QuickCommand>),
    /// A publisher, or listeners, or both.
    PubSub(Box<pubsub::PubSubCommand>),
}

/// The options of a service.
pub fn definition(service: &str) -> Option<clap::Command> {
    quick::definition(service).or_else(|| pubsub::definition(service))
}

/// What was said.
pub fn asked(service: &str, typed: &clap::ArgMatches) -> anyhow::Result<PhaseWork> {
    Ok(match pubsub::SERVICES.contains(&service) {
        true => PhaseWork::PubSub(Box::new(pubsub::asked(service, typed)?)),
        false => PhaseWork::Requests(Box::new(quick::asked(service, typed)?)),
    })
}

impl PhaseWork {
    /// The phase with so many servers, if it makes sense.
    pub fn phase(&self, servers: usize) -> anyhow::Result<Phase> {
        match self {
            Self::Requests(asked) => asked.phase(servers),
            Self::PubSub(asked) => asked.phase(),
        }
    }

    /// The same, with what agents have to know asked for once.
    pub fn with_secret(self) -> anyhow::Result<Self> {
        Ok(match self {
            Self::Requests(asked) => Self::Requests(Box::new(asked.with_secret()?)),
            Self::PubSub(_) => self,
        })
    }

    /// Measures. Whether nothing is shown meanwhile is said here for PubSub; requests say it themselves.
    pub fn measure(
        &self,
        targets: &Targets,
        phase: &Phase,
        (quiet, control): (bool, &Control),
        global: &Global,
    ) -> anyhow::Result<Run> {
        match self {
            Self::Requests(asked) => asked.measure(targets, phase, control, global),
            Self::PubSub(asked) => asked.measure(phase, (quiet, control), global),
        }
    }
}
