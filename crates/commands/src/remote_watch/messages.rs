//! What `uaperf watch --pipe` and whoever started it tell each other, in the frames of a fleet.

use fleet::Stamp;
use observe::Totals;
use serde::{Deserialize, Serialize};

/// To who looks.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToWatch {
    /// Who asks, and how often it is to be looked.
    Hello {
        /// Version of the program.
        version: String,
        /// In nanoseconds.
        every_ns: u64,
    },
    /// What time is it there? Also says that somebody still listens.
    Clock {
        /// When this was sent.
        asked: Stamp,
    },
}

/// From who looks.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromWatch {
    /// Who is there, and what is looked at. It comes first, whoever asks: versions have to be the same.
    Hello(Hello),
    /// Nothing can be looked at.
    Refused {
        /// Why.
        why: String,
    },
    /// What time it is.
    Clock {
        /// When it was asked, on the clocks of who asked.
        asked: Stamp,
        /// When the question came.
        received: Stamp,
        /// When the answer was sent.
        sent: Stamp,
    },
    /// What had been spent up to a moment.
    Look {
        /// When, on the clocks there.
        at: Stamp,
        /// It.
        totals: Box<Totals>,
        /// What looking took of the CPU since it began, in nanoseconds.
        cost_ns: Option<u64>,
    },
    /// The process has ended.
    Ended {
        /// How that was seen.
        why: String,
    },
}

/// Who looks, and at what.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hello {
    /// Version of the program.
    pub version: String,
    /// The host's name.
    pub host: String,
    /// The process; none for the machine.
    pub process: Option<(String, u32)>,
    /// Its machine, as results have it: in JSON, in which fields may be left out.
    pub machine: Vec<u8>,
    /// Time between two looks, in nanoseconds.
    pub every_ns: u64,
}
