//! What controller and agent tell each other: fourteen messages.

use plan::Seat;
use serde::{Deserialize, Serialize};

use crate::clock::Stamp;
use crate::frame::{FrameError, pack};

/// From the controller to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToAgent {
    /// Who asks, and how long it may be silent until the agent stops by itself.
    Hello {
        /// Version of the program.
        version: String,
        /// In nanoseconds.
        orphan_ns: u64,
    },
    /// What time is it there? Also says that the controller is still there.
    Clock {
        /// When this was sent.
        asked: Stamp,
    },
    /// What to do.
    Share(Share),
    /// The load begins at this time of the agent's own monotonic clock.
    Start {
        /// In nanoseconds.
        at_ns: u64,
    },
    /// No more load; the results are wanted all the same.
    Stop,
    /// The results have arrived, and are kept; there is nothing more to do.
    Taken,
    /// There is nothing to do, or nobody who would take results: they stay where they are.
    Leave,
    /// What an agent has to know while it works at its share, for the program.
    Word(Vec<u8>),
}

/// From an agent to the controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromAgent {
    /// Who is there.
    Hello(Hello),
    /// What time it is.
    Clock {
        /// When the controller asked, on its clocks.
        asked: Stamp,
        /// When the question came, on the agent's clocks.
        received: Stamp,
        /// When the answer was sent, on the agent's clocks.
        sent: Stamp,
    },
    /// Sessions are open; the load may begin when so much time has passed.
    Ready {
        /// For first values to settle, in nanoseconds.
        rest_ns: u64,
    },
    /// What happened since the last one.
    Progress(Vec<u8>),
    /// A part of what came of it.
    Results {
        /// The bytes.
        bytes: Vec<u8>,
        /// There is no further part.
        last: bool,
    },
    /// Nothing came of it.
    Failed {
        /// Why.
        why: String,
    },
}

/// Who an agent is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Version of the program.
    pub version: String,
    /// The host's name.
    pub host: String,
    /// The agent's process.
    pub pid: u32,
    /// Operating system and processor that the program was built for.
    pub platform: String,
    /// Processors that it may use.
    pub cores: u32,
    /// What it can do: the services that it loads.
    pub services: Vec<String>,
    /// What its host allows and measures badly, in sentences.
    pub limits: Vec<String>,
    /// What a share is to be signed with; empty where it takes any.
    pub nonce: Vec<u8>,
}

/// What an agent has to do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Its sessions, with the places that they have among all of the plan.
    pub seats: Vec<Seat>,
    /// All else, for the program.
    pub task: Vec<u8>,
    /// Who says so.
    pub proof: Option<Proof>,
}

/// A signature.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// The public key.
    pub key: Vec<u8>,
    /// Over what is [signed](Share::signed).
    pub signature: Vec<u8>,
}

impl Share {
    /// What is signed of it, for the agent that asked with this nonce and for no other one.
    pub fn signed(&self, nonce: &[u8]) -> Result<Vec<u8>, FrameError> {
        let mut bytes = b"uaperf fleet share 1\n".to_vec();
        bytes.extend(pack(&(nonce, &self.seats, &self.task))?);
        Ok(bytes)
    }
}
