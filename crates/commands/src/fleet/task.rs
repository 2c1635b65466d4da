//! What an agent is to do, and what it tells, as the program on both sides knows it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use anyhow::Context;
use fleet::frame::{FrameError, pack, unpack};
use load::engine::{Options, Others, Progress};
use plan::Seat;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// What an agent is to do.
#[derive(Debug, Serialize, Deserialize)]
pub enum Task {
    /// Its share of a load.
    Load(Box<Load>),
    /// Give the results that it has kept of this one.
    Late(Own),
    /// What it does beside others that do something else.
    Role(Box<Role>),
}

/// What one agent does of a phase of PubSub or of a landscape, or beside a load.
#[derive(Debug, Serialize, Deserialize)]
pub enum Role {
    /// It publishes.
    Publish(Publishes),
    /// It listens.
    Listen(Listens),
    /// It serves devices.
    Serve(Serves),
    /// It looks at its host, or at a process there.
    Watch(Watches),
    /// It relays connections over an emulated link.
    Link(Links),
}

impl Role {
    /// As results say it, and the kind of load that an agent has to be allowed.
    pub const fn name(&self) -> (&'static str, &'static str) {
        match self {
            Self::Publish(_) => ("publishes", "publish"),
            Self::Listen(_) => ("listens", "listen"),
            Self::Serve(_) => ("serves", "serve"),
            Self::Watch(_) => ("watches", "watch"),
            Self::Link(_) => ("relays", "link"),
        }
    }

    /// Where to or from; of devices the name of their landscape; what is looked at; the server behind a relay.
    pub fn url(&self) -> &str {
        match self {
            Self::Publish(it) => &it.url,
            Self::Listen(it) => &it.url,
            Self::Serve(it) => &it.name,
            Self::Watch(it) => &it.what,
            Self::Link(it) => &it.to,
        }
    }

    /// Options of a command line.
    pub fn words(&self) -> &[String] {
        match self {
            Self::Publish(it) => &it.words,
            Self::Listen(it) => &it.words,
            Self::Serve(it) => &it.words,
            Self::Watch(_) | Self::Link(_) => &[],
        }
    }
}

/// Who looks at a host, or at a process there.
#[derive(Debug, Serialize, Deserialize)]
pub struct Watches {
    /// At what, as `uaperf watch` takes it.
    pub what: String,
    /// How often, in nanoseconds.
    pub every_ns: u64,
}

/// A relay.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Links {
    /// The server, as its host reaches it.
    pub to: String,
    /// Where clients come to.
    pub listen: SocketAddr,
    /// What the link is like, as `uaperf link` takes it.
    pub link: String,
    /// Of losses and jitter.
    pub seed: u64,
    /// Connections at a time.
    pub connections: u32,
}

/// Devices of a landscape.
#[derive(Debug, Serialize, Deserialize)]
pub struct Serves {
    /// The file.
    pub text: String,
    /// The landscape's name.
    pub name: String,
    /// Which devices, by their places among all: ranges, each from one up to another.
    pub devices: Vec<(usize, usize)>,
    /// The name by which clients on other hosts reach this one; none for clients of this one.
    pub host: Option<String>,
    /// The options of `uaperf fleet serve`.
    pub words: Vec<String>,
}

/// A publisher.
#[derive(Debug, Serialize, Deserialize)]
pub struct Publishes {
    /// Where to.
    pub url: String,
    /// The options of `uaperf publish`.
    pub words: Vec<String>,
    /// Of who logs in at a broker; it stands nowhere else.
    pub secret: Option<String>,
    /// Keys, as a file has them.
    pub keys: String,
    /// The measured window, in nanoseconds since the first cycle.
    pub window_ns: (u64, u64),
}

/// Listeners.
#[derive(Debug, Serialize, Deserialize)]
pub struct Listens {
    /// Where from.
    pub url: String,
    /// The service of the phase.
    pub service: String,
    /// Its options beside what stands in the phase.
    pub words: Vec<String>,
    /// The phase, as JSON.
    pub phase: String,
    /// Of who logs in at a broker; it stands nowhere else.
    pub secret: Option<String>,
    /// Keys, as a file has them.
    pub keys: String,
}

/// What listeners have to know while they wait and listen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Hint {
    /// The publisher has begun.
    Begun {
        /// When, on the listeners' clock, in nanoseconds since 1970.
        at_ns: u64,
        /// By how much the publisher's clock is ahead of theirs.
        ahead_ns: Option<i64>,
    },
    /// It has ended: nothing more is on its way soon.
    Ended,
}

/// Which results are meant.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Own {
    /// The name of the load.
    pub load: String,
    /// The agent's place among all.
    pub agent: u32,
}

impl Own {
    /// Under which name an agent keeps its own.
    pub fn kept(&self) -> String {
        format!("agent-{}", self.agent)
    }

    /// Under which name a controller keeps them.
    pub fn taken(&self) -> String {
        format!("taken-{}", self.agent)
    }
}

/// A load, of which each agent has a share.
#[derive(Debug, Serialize, Deserialize)]
pub struct Load {
    /// Where its results are kept.
    pub own: Own,
    /// The command.
    pub service: String,
    /// The phase that all agents share, as JSON.
    pub phase: String,
    /// The servers.
    pub targets: Vec<String>,
    /// How they are reached, and how an agent goes about its load: options.
    pub words: Vec<String>,
    /// Of `--user`; it stands nowhere else.
    pub password: Option<String>,
}

/// The format of [`AgentResults`] and of all that is in them: another one whenever a field comes, goes or changes its place,
/// as bytes of one cannot be read as the other.
const FORMAT: u32 = 2;

/// How bytes of results begin; the format follows.
const MARK: &[u8] = b"uaperf books ";

impl AgentResults {
    /// As bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FrameError> {
        let mut bytes = MARK.to_vec();
        bytes.extend(FORMAT.to_le_bytes());
        bytes.extend(pack(self)?);
        Ok(bytes)
    }

    /// From bytes.
    pub fn of_bytes(bytes: &[u8]) -> anyhow::Result<Self> {
        let marked = bytes
            .strip_prefix(MARK)
            .and_then(|it| it.split_first_chunk());
        // The first one did not say so.
        let (format, rest) =
            marked.map_or((1, bytes), |(it, rest)| (u32::from_le_bytes(*it), rest));
        if format != FORMAT {
            return Err(Failure::new(format!(
                "the results are of format {format}, of another build of uaperf (want {FORMAT}, as here)"
            ))
            .hint("use the same version on both sides; collect older results with the version that wrote them")
            .into());
        }
        unpack(rest).context("the results are damaged")
    }
}

/// What became of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct AgentResults {
    /// The figures.
    pub part: load::engine::Part,
    /// The agent's own result, as JSON: its machine, its resources, its verdict.
    pub run: String,
    /// By how much delays can be wrong there, where that is known.
    pub clock_error_ns: Option<u64>,
    /// How long after the agreed moment it began: the word of it came late, or the process stood still.
    pub late_ns: u64,
}

/// What goes on while an agent works at its share.
#[derive(Debug)]
pub enum AgentUpdate {
    /// Sessions are open; all may begin after so long.
    Ready(Duration),
    /// What its cores told.
    Progress(Vec<Progress>),
    /// Figures, at the end.
    Part(Box<load::engine::Part>),
}

/// A phase of which this process has a part.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its sessions.
    pub seats: Vec<Seat>,
    /// Who waits for the others.
    pub others: Arc<dyn Others>,
    /// Where the agent hears what goes on.
    pub tell: Sender<AgentUpdate>,
}

impl Part {
    /// How its share is carried out.
    pub fn options(&self, options: Options) -> Options {
        Options {
            seats: Some(self.seats.clone()),
            others: Some(Arc::clone(&self.others)),
            // A server counts the sessions of all agents.
            diagnostics: false,
            ..options
        }
    }

    /// Something goes on. An agent that does not listen is at its end.
    pub fn say(&self, word: AgentUpdate) {
        let _ = self.tell.send(word);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn results_of_another_build_are_refused_with_their_format() {
        let refused = |bytes: &[u8]| AgentResults::of_bytes(bytes).unwrap_err().to_string();
        // Those of builds before formats had numbers began with their figures.
        assert!(refused(&[3, 0, 7, 1]).contains("format 1, of another build"));
        let mut later = MARK.to_vec();
        later.extend((FORMAT + 1).to_le_bytes());
        assert!(refused(&later).contains("format 3"));
        let mut cut = MARK.to_vec();
        cut.extend(FORMAT.to_le_bytes());
        assert!(refused(&cut).contains("damaged"));
    }
}
