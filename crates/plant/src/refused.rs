//! Who was not let in: the last of them, for whoever writes a log, and never more than a log should hold.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use record::Timestamp;
use tracing::warn;
use wire::time::{Instant, Now};
use wire::types::{StatusCode, UAString};

use crate::clock::unix_ns;

/// So many can be told of at once …
const BURST: u32 = 20;
/// … and another one after each time so long: 360 an hour, whatever a flood does.
const EVERY: Duration = Duration::from_secs(10);
/// So many are remembered.
const KEPT: usize = 100;
/// Letters of a name that whoever is refused has chosen.
const LETTERS: usize = 64;

/// A channel or a session that was refused for reasons of security.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// When, by the server's clock.
    pub at: Timestamp,
    /// Where it came from; nothing if the connection was gone already.
    pub address: Option<SocketAddr>,
    /// Who it said to be, with everything escaped that is no letter of a line.
    pub who: String,
    /// Why, as the server knows it; the client may have been told less.
    pub status: StatusCode,
    /// How many were refused before since the last one that is told of.
    pub untold: u64,
}

/// Who asks to be let in, by their own words.
#[derive(Debug, Clone)]
pub enum Who {
    /// An application, by the common name of its certificate.
    Certificate(String),
    /// An application that asks for a session, by its URI.
    Application(UAString),
    /// A user by name.
    User(UAString),
    /// A user by the common name of a certificate.
    Owner(String),
    /// A user with a token that an authorization service issued.
    Bearer,
    /// A user without a name.
    Anonymous,
    /// Nobody knows.
    Unknown,
}

impl Who {
    /// The name that a user gives; empty without one.
    pub fn name(&self) -> String {
        match self {
            Self::User(name) => name.as_ref().to_owned(),
            Self::Owner(name) => name.clone(),
            _ => String::new(),
        }
    }

    fn show(&self) -> String {
        let quoted = |name: &str| -> String {
            let cut: String = name.chars().take(LETTERS).collect();
            let more = if cut.len() < name.len() { "…" } else { "" };
            format!("{cut:?}{more}")
        };
        match self {
            Self::Certificate(name) => format!("certificate of {}", quoted(name)),
            Self::Application(uri) => format!("application {}", quoted(uri.as_ref())),
            Self::User(name) => format!("user {}", quoted(name.as_ref())),
            Self::Owner(name) => format!("certificate of user {}", quoted(name)),
            Self::Bearer => "user with an issued token".into(),
            Self::Anonymous => "user without a name".into(),
            Self::Unknown => "somebody".into(),
        }
    }

    /// What stands in the subject of a certificate as it was sent; empty where it cannot be read, or says nothing.
    pub fn common_name(sent: &[u8]) -> String {
        let chain = pki::Certificate::chain_from_der(sent);
        let leaf = chain.ok().and_then(|chain| chain.into_iter().next());
        let name = leaf.as_ref().and_then(|leaf| leaf.subject().common_name());
        name.unwrap_or_default().to_owned()
    }
}

/// All that is known of who was refused.
#[derive(Debug, Default)]
pub struct RefusalLog(Mutex<Pages>);

#[derive(Debug, Default)]
struct Pages {
    kept: VecDeque<Refused>,
    /// How many were ever told of.
    told: u64,
    untold: u64,
    /// How many may be told of now is [`BURST`] less this.
    spent: u32,
    /// Up to when what was spent has come back.
    refilled: Option<Instant>,
}

impl Pages {
    fn may_tell(&mut self, now: Instant) -> bool {
        let since = self.refilled.get_or_insert(now);
        let back = now.since(*since).as_nanos() / EVERY.as_nanos();
        match u32::try_from(back).unwrap_or(u32::MAX) {
            back if back >= self.spent => {
                self.spent = 0;
                self.refilled = Some(now);
            }
            back => {
                self.spent -= back;
                *since = *since + EVERY * back;
            }
        }
        if self.spent >= BURST {
            return false;
        }
        self.spent += 1;
        true
    }
}

impl RefusalLog {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        // Nothing is left half written by a thread that panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes one down, or counts it where there were too many.
    pub fn note(&self, now: Now, address: Option<SocketAddr>, who: &Who, status: StatusCode) {
        let mut pages = self.pages();
        if !pages.may_tell(now.mono) {
            pages.untold += 1;
            return;
        }
        let epoch = Timestamp::from(std::time::SystemTime::UNIX_EPOCH);
        let refused = Refused {
            at: Timestamp::from_unix_ns(unix_ns(now.utc)).unwrap_or(epoch),
            address,
            who: who.show(),
            status,
            untold: std::mem::take(&mut pages.untold),
        };
        if pages.kept.len() == KEPT {
            pages.kept.pop_front();
        }
        let Refused { address, who, .. } = &refused;
        warn!(?address, who, %status, "refused");
        pages.kept.push_back(refused);
        pages.told += 1;
    }

    /// Those behind the first `known` that were told of, and how many that makes in all.
    pub fn since(&self, known: u64) -> (Vec<Refused>, u64) {
        let pages = self.pages();
        let new = pages.told.saturating_sub(known);
        let new = usize::try_from(new).map_or(KEPT, |new| new.min(pages.kept.len()));
        let from = pages.kept.len() - new;
        (pages.kept.range(from..).cloned().collect(), pages.told)
    }

    /// How many were refused that nobody was told of yet.
    pub fn untold(&self) -> u64 {
        self.pages().untold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Now {
        Now {
            mono: Instant::from_nanos(seconds * 1_000_000_000),
            utc: 0,
        }
    }

    fn note(log: &RefusalLog, seconds: u64, name: &str) {
        let who = Who::User(name.into());
        log.note(at(seconds), None, &who, StatusCode::BadUserAccessDenied);
    }

    #[test]
    fn a_flood_writes_a_few_lines_and_the_next_one_tells_how_many_it_was() {
        let log = RefusalLog::default();
        (0..1000).for_each(|_| note(&log, 5, "eve"));
        let (told, known) = log.since(0);
        assert_eq!((told.len(), known, log.untold()), (20, 20, 980));
        assert_eq!(told[0].who, "user \"eve\"");
        // Ten seconds later there is room for one.
        note(&log, 15, "eve");
        note(&log, 15, "eve");
        let (told, known) = log.since(known);
        assert_eq!((told.len(), known, log.untold()), (1, 21, 1));
        assert_eq!(told[0].untold, 980);
        // After an hour for twenty again, not for 360.
        (0..1000).for_each(|_| note(&log, 3600, "eve"));
        assert_eq!(log.since(known).0.len(), 20);
    }

    #[test]
    fn who_looks_too_late_misses_the_oldest() {
        let log = RefusalLog::default();
        (0..200).for_each(|n| note(&log, n * 10, "eve"));
        let (told, known) = log.since(0);
        assert_eq!((told.len(), known), (100, 200));
        assert!(log.since(known).0.is_empty());
    }

    #[test]
    fn a_name_cannot_write_lines_of_its_own() {
        let log = RefusalLog::default();
        note(&log, 0, "eve\n0:07 refused \x1b[2J");
        note(&log, 0, &"x".repeat(1000));
        let (told, _) = log.since(0);
        assert_eq!(told[0].who, r#"user "eve\n0:07 refused \u{1b}[2J""#);
        assert_eq!(told[1].who, format!("user \"{}\"…", "x".repeat(64)));
    }
}
