//! The options by which it is looked up whether a certificate was revoked: the same for clients and for servers.

use std::time::Duration;

use pki::{Fail, Revocation, Source};
use plan::unit::duration::{self, nanos};
use revocation::Asker;

/// Where it is looked up whether a certificate was revoked.
#[derive(Debug, Clone, clap::Args)]
#[group(id = "looking-up")]
pub struct Args {
    /// Where it is looked up whether a certificate was revoked: offline, in the lists of the folder; reread, the same, read
    /// anew each time; cached, there or with its authority, whose answer is kept; online, with its authority each time
    #[arg(long, value_name = "WHERE", default_value_t, conflicts_with = "trust")]
    revocation: Source,
    /// What follows if nobody knows: hard, it is refused, or soft, it is taken
    #[arg(long, value_name = "hard|soft", default_value_t)]
    revocation_fail: Fail,
    /// How long an authority has for its answer
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration::parse)]
    revocation_timeout: Duration,
}

impl Args {
    /// Where, and what follows.
    pub fn revocation(&self) -> Revocation {
        Revocation {
            source: self.revocation,
            fail: self.revocation_fail,
        }
    }

    /// The options for another process.
    pub fn words(&self) -> Vec<String> {
        vec![
            format!("--revocation={}", self.revocation),
            format!("--revocation-fail={}", self.revocation_fail),
            format!("--revocation-timeout={}ns", nanos(self.revocation_timeout)),
        ]
    }

    /// What asks.
    pub fn asker(&self) -> Asker {
        Asker::new(self.revocation_timeout)
    }
}
