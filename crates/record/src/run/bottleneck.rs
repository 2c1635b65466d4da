//! What limited a phase: candidates, and what speaks for and against each.

use serde::{Deserialize, Serialize};

/// What can be the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Limiter {
    /// All cores that the server may use.
    ServerCpu,
    /// A thread of the server that has something to do all the time, while cores are free.
    ServerThread,
    /// Memory that the server has to wait for.
    ServerMemory,
    /// A lock between threads of the server.
    Lock,
    /// The network between generator and server.
    Link,
    /// The server's buffers for sending.
    SocketBuffers,
    /// The generator.
    Generator,
    /// A limit that the server keeps on purpose, and says so by a status code.
    ServerLimits,
    /// Sampling and publishing at intervals.
    Phase,
    /// Something that this version does not know.
    #[serde(other)]
    Other,
}

/// What was found of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// It is at its limit.
    Limits,
    /// It has room.
    DoesNotLimit,
    /// What is known proves neither.
    CannotTell,
}

/// Something that was found, and speaks for or against a candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Sign {
    /// Cores of the server.
    Cores {
        /// That it kept busy.
        busy: f64,
        /// That it may use.
        allowed: f64,
        /// That it waited for, as others had them.
        waited: f64,
    },
    /// The server's busiest thread.
    Thread {
        /// Its name.
        name: String,
        /// The share of the time that it had something to do: on a core, or waiting for one.
        busy: f64,
        /// How many threads had as much to do as a thread can.
        alike: u64,
    },
    /// The busiest loop of a plant of ours, as it says itself.
    Loop {
        /// Its name.
        name: String,
        /// The share of the time for which it did not wait for something to happen.
        busy: f64,
        /// How many loops had as much to do as a loop can.
        alike: u64,
    },
    /// The same thread was as busy when there was less to do: it polls.
    Polls {
        /// The share of the time that it had something to do then.
        before: f64,
    },
    /// Threads of the server that share the work.
    Workers {
        /// How many.
        threads: u64,
    },
    /// How often the server's threads waited for something.
    Switches {
        /// For each request.
        a_request: f64,
        /// The same under less load.
        before: f64,
    },
    /// Pages that the server had to wait for.
    MajorFaults {
        /// How many.
        faults: u64,
    },
    /// Work that stood still for want of memory.
    MemoryStalled {
        /// The share of the time.
        share: f64,
    },
    /// What went over the fuller way of a link.
    LinkFull {
        /// Which link.
        link: String,
        /// Of what it can carry.
        share: f64,
    },
    /// What went over the fuller way of a link, of what it carried in a test before.
    LinkTested {
        /// Bits in a second that it carried in the test.
        bits_per_s: f64,
        /// Of that.
        share: f64,
        /// Whether the network was what held up the test: if not, the link may carry more.
        proven: bool,
    },
    /// How long a link takes.
    LinkDelay {
        /// There and back.
        delay_ns: u64,
        /// Of the service time.
        share: f64,
    },
    /// The server is on the same machine, and nothing is in between.
    Loopback,
    /// Connections of the server that had something to send which the network did not take.
    NetworkHeld {
        /// The share of the time, over its connections.
        share: f64,
    },
    /// Connections of the server that waited for room in their buffers for sending.
    BufferFull {
        /// The share of the time, over its connections.
        share: f64,
    },
    /// Connections of the server whose other end had no room.
    ReaderFull {
        /// The share of the time, over its connections.
        share: f64,
    },
    /// The generator's busiest core.
    GeneratorCore {
        /// The share of the time that it had something to do.
        busy: f64,
    },
    /// The verdict says that the generator was the limit.
    GeneratorLimited,
    /// The server refused operations with a status that names a limit.
    Refused {
        /// Which.
        status: String,
        /// How often.
        count: u64,
        /// Of all operations.
        share: f64,
    },
    /// No operation ended with a status that names a limit.
    NoneRefused,
    /// Delay that sampling and publishing at intervals bring about.
    OfDelay {
        /// Of the delay.
        share: f64,
    },
    /// What would tell is not there.
    NotAvailable {
        /// Why.
        why: String,
    },
    /// Something that this version does not know.
    #[serde(other)]
    Other,
}

/// Something that can be the limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// What.
    pub of: Limiter,
    /// Whether it is.
    pub finding: Finding,
    /// What speaks for it.
    #[serde(rename = "for", default, skip_serializing_if = "Vec::is_empty")]
    pub signs_for: Vec<Sign>,
    /// What speaks against it.
    #[serde(rename = "against", default, skip_serializing_if = "Vec::is_empty")]
    pub signs_against: Vec<Sign>,
}

/// What limited a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bottleneck {
    /// What did; none where it is not known: nothing was proven, or two things that contradict each other.
    pub limited_by: Option<Limiter>,
    /// Not known, but the server had little to do and neither link nor generator held it up: it waits for
    /// something that is not seen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub server_waits: bool,
    /// All that was looked at.
    pub candidates: Vec<Candidate>,
}

impl Bottleneck {
    /// What was found of a candidate.
    pub fn candidate(&self, of: Limiter) -> Option<&Candidate> {
        self.candidates.iter().find(|it| it.of == of)
    }

    /// Candidates of which this was found, in their order.
    pub fn found(&self, finding: Finding) -> impl Iterator<Item = &Candidate> {
        self.candidates
            .iter()
            .filter(move |it| it.finding == finding)
    }
}
