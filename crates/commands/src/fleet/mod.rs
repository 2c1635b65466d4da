//! Load from several hosts: `--fleet` of the commands that load.
//!
//! The state machines are those of the crate `fleet`. Here are the processes that carry their frames ([`carrier`], [`pipe`]) and a
//! broker that does ([`nats`]), the thread that drives the controller ([`crew`]), how a phase becomes shares ([`shared`]), and
//! the results of all agents one outcome again ([`sum`]). A publisher here and listeners there have [`roles`]. Results lie on disk
//! until they are taken ([`shelf`], [`ledger`]). The agent's side is the module `agent`; what is served to clients of others is
//! a `landscape`; `uaperf fleet` is `fleet_command`.

pub mod agent_pool;
pub mod carrier;
pub mod check;
pub mod install;
pub mod key;
pub mod ledger;
pub mod nats;
pub mod pattern;
pub mod pipe;
pub mod result_folder;
pub mod roles;
pub mod shared;
pub mod spec;
pub mod sum;
pub mod task;

pub use agent_pool::AgentPool;
pub use nats::resolved;
pub use result_folder::kept;
pub use roles::{RoleEvent, Roles, now_ns, wait_until};
pub use shared::{Fleet, Wanted};
pub use spec::{Spec, Way, places};
pub use sum::Shared;
pub use task::{AgentUpdate, Hint, Links, Listens, Part, Publishes, Role, Task, Watches};

use std::time::Duration;

use plan::unit::duration;
use plan::{Phase, Work};

use crate::access;
use crate::failure::Failure;

/// Load from several hosts.
#[derive(Debug, Clone, clap::Args)]
#[group(id = "hosts")]
#[command(next_help_heading = "Load")]
pub struct Args {
    /// Distribute the sessions among agents: local:N (processes on this machine), ssh:host, ssh:user@host, ssh:host:/path/to/uaperf,
    /// nats:TAG or nats:TAG/NAME (agents that wait at the broker of UAPERF_NATS_URL); with *N behind it N times the sessions of others, with *cores in proportion to its processors
    #[arg(long, value_name = "SPEC", value_delimiter = ',')]
    fleet: Vec<Spec>,
    /// Agents stop their load when they hear nothing from the controller for this long
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = orphan, requires = "fleet")]
    orphan: Duration,
}

/// Questions for the time go once a second: who is as impatient is alone at once.
const SHORTEST: Duration = Duration::from_secs(3);

/// For how long an agent may hear nothing.
pub fn orphan(text: &str) -> Result<Duration, String> {
    let orphan = duration::parse(text).map_err(|error| error.to_string())?;
    match orphan < SHORTEST {
        true => Err(format!("{text:?} is too short (want 3s or more)")),
        false => Ok(orphan),
    }
}

/// Of this program: agents are of the same.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Why an option does not go with agents.
pub const ALONE: &str = "agents of --fleet cannot do that yet (want one of them)";

impl Args {
    /// Whether there are agents.
    pub fn is_asked(&self) -> bool {
        !self.fleet.is_empty()
    }

    /// What was asked for.
    pub fn specs(&self) -> &[Spec] {
        &self.fleet
    }

    /// Refuses what agents cannot do yet, before anything is started.
    pub fn check(&self, phase: &Phase, rest: &Rest<'_>) -> anyhow::Result<()> {
        if !self.is_asked() {
            return Ok(());
        }
        let writes = matches!(&phase.work, Work::Subscribe(it) if it.writer.is_some());
        let alone = [
            ("--fresh-session", phase.fresh_session),
            ("--together", phase.together),
            ("--writer", writes),
            ("--identity-each", rest.identity_each),
            ("--samples", rest.samples),
            ("--pcap", rest.access.pcap().is_asked()),
            ("--listen-reverse", rest.access.is_dialled()),
        ];
        match alone.into_iter().find(|(_, asked)| *asked) {
            None => Ok(()),
            Some((option, _)) => Err(Failure::usage(format!("{option}: {ALONE}")).into()),
        }
    }
}

/// Options that decide whether agents can do what was asked.
pub struct Rest<'a> {
    /// How servers are reached.
    pub access: &'a access::Args,
    /// Sessions are clients of their own.
    pub identity_each: bool,
    /// Single requests are written down.
    pub samples: bool,
}
