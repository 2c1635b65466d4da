//! Which certificates are trusted.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use pki::{
    Certificate, Checks, Expected, Fail, KeyRule, Moment, Reason, Refusal, Revocation, Role,
    Source, Store, WatchedTrust,
};
use revocation::{Asker, Asking, Waited};
use tracing::{debug, warn};
use wire::policy::Policy;
use wire::types::StatusCode;

/// Which certificates are trusted.
#[derive(Debug, Clone, Default)]
pub enum TrustPolicy {
    /// All of them that the security policy allows: for a bench on loopback.
    #[default]
    All,
    /// Those that a folder says.
    Listed(Arc<Listed>),
}

/// A folder of trust lists. All loops and helpers share what was read of it.
#[derive(Debug)]
pub struct Listed {
    lists: WatchedTrust,
    revocation: Revocation,
    asker: Arc<Asker>,
    notes: Mutex<Allowance>,
}

impl From<Store> for TrustPolicy {
    /// Trusting somebody needs no restart: the folder is read again when it changes.
    fn from(store: Store) -> Self {
        Self::asking(store, Revocation::default(), Asker::default())
    }
}

/// What a certificate is worth to somebody else.
#[derive(Debug)]
pub struct Checked {
    /// The first fault that was found, or Good.
    pub status: StatusCode,
    /// How long that stays true, if that is known.
    pub until: Option<Moment>,
}

/// How far a certificate was judged.
#[derive(Debug)]
pub enum Judged {
    /// To the end.
    Done(Result<(), StatusCode>),
    /// Up to where authorities have to be asked, for seconds maybe.
    Asks(Box<Asking<'static>>),
}

impl TrustPolicy {
    /// Those that a folder says, unless they were revoked: that is looked up here.
    pub fn asking(store: Store, revocation: Revocation, asker: Asker) -> Self {
        Self::Listed(Arc::new(Listed {
            lists: WatchedTrust::new(store),
            revocation,
            asker: Arc::new(asker),
            notes: Mutex::default(),
        }))
    }

    /// The same lists, and it is looked up there whether somebody was revoked.
    #[must_use]
    pub fn looking_up(&self, revocation: Revocation, asker: Asker) -> Self {
        match self {
            Self::All => Self::All,
            Self::Listed(listed) => Self::asking(listed.lists.store().clone(), revocation, asker),
        }
    }

    /// Whether authorities may have to be asked.
    pub fn asks(&self) -> bool {
        match self {
            Self::All => false,
            Self::Listed(listed) => listed.revocation.source.asks(),
        }
    }

    /// Judges as [`judge`](Self::judge) does, as far as that goes without asking anybody.
    pub fn begin(&self, sent: &[u8], role: Role, policy: Policy) -> Judged {
        match self {
            Self::All => Judged::Done(self.judge(sent, role, policy)),
            Self::Listed(listed) => {
                let keys = KeyRule::of_policy(policy.uri());
                listed.begin(sent, role, keys, listed.revocation)
            }
        }
    }

    /// Asks, waits and judges to the end the certificate with which that began.
    ///
    /// # Errors
    /// As those of [`judge`](Self::judge).
    pub fn finish(
        &self,
        asking: Asking<'static>,
        sent: &[u8],
        role: Role,
        policy: Policy,
    ) -> Result<(), StatusCode> {
        let Self::Listed(listed) = self else {
            // Nothing begins so.
            return Err(StatusCode::BadInternalError);
        };
        let waited = &mut Waited::default();
        status(listed.asker.finish(asking, waited).map(drop))?;
        // Somebody may have distrusted it meanwhile.
        let offline = Revocation {
            source: Source::Offline,
            fail: Fail::Soft,
        };
        match listed.begin(sent, role, KeyRule::of_policy(policy.uri()), offline) {
            Judged::Done(judged) => judged,
            Judged::Asks(_) => Err(StatusCode::BadInternalError),
        }
    }

    /// Judges a certificate as it was sent, with the security policy that its key is used under; none for a user's
    /// that comes without one. May read files, so with a folder it belongs on a helper thread.
    ///
    /// # Errors
    /// The status code that Part 4, 6.1.3 has for it, to be kept on this side.
    pub fn judge(&self, sent: &[u8], role: Role, policy: Policy) -> Result<(), StatusCode> {
        // Part 7, the security policies: CertificateSignatureAlgorithm and the lengths of keys.
        match self {
            Self::All => status(allowed(sent, KeyRule::of_policy(policy.uri()))),
            Self::Listed(_) => match self.begin(sent, role, policy) {
                Judged::Done(judged) => judged,
                Judged::Asks(asking) => self.finish(*asking, sent, role, policy),
            },
        }
    }

    /// Whether authorities may have to be asked about the certificates of others. A server that asks a certificate manager
    /// asks nobody for others: two that name each other would ask for ever.
    pub fn asks_for_others(&self) -> bool {
        match self {
            Self::All => false,
            Self::Listed(listed) => listed.source_for_others().asks(),
        }
    }

    /// What a certificate is worth to somebody else who asks (Part 12, 7.9.11). May wait for authorities.
    pub fn check(&self, certificate: &[u8]) -> Checked {
        match self {
            Self::Listed(listed) => listed.check(certificate),
            // Who has no lists knows nothing.
            Self::All => Checked {
                status: StatusCode::BadCertificateRevocationUnknown,
                until: None,
            },
        }
    }

    /// How often the folder was read; it is when something in it changed.
    pub fn readings(&self) -> u64 {
        match self {
            Self::All => 0,
            Self::Listed(listed) => listed.lists.readings(),
        }
    }
}

fn status(judged: Result<(), Refusal>) -> Result<(), StatusCode> {
    match judged {
        Ok(()) => {
            debug!("a certificate was accepted");
            Ok(())
        }
        Err(refusal) => {
            debug!(check = ?refusal.reason, "a certificate was refused: {refusal}");
            Err(StatusCode::from(refusal.status()))
        }
    }
}

fn allowed(sent: &[u8], keys: Option<KeyRule>) -> Result<(), Refusal> {
    keys.map_or(Ok(()), |rule| rule.judge(sent))
}

impl Listed {
    fn begin(
        &self,
        sent: &[u8],
        role: Role,
        keys: Option<KeyRule>,
        revocation: Revocation,
    ) -> Judged {
        let now = Moment::from(SystemTime::now());
        let Ok(trust) = self.lists.for_source(revocation.source, now) else {
            return Judged::Done(Err(StatusCode::BadInternalError));
        };
        let expected = Expected {
            keys,
            checks: Checks::ALL,
            revocation,
            ..Expected::of(role, now)
        };
        let judged = match self.asker.begin(trust, sent, expected) {
            Ok(Err(asking)) => return Judged::Asks(Box::new(asking)),
            Ok(Ok(_)) => Ok(()),
            Err(refusal) => Err(refusal),
        };
        if let Err(refusal) = &judged
            && matches!(refusal.reason, Reason::Untrusted | Reason::ChainIncomplete)
        {
            self.note(sent);
        }
        Judged::Done(status(judged))
    }

    fn source_for_others(&self) -> Source {
        match self.revocation.source {
            Source::Manager | Source::ManagerCached => Source::Offline,
            source => source,
        }
    }

    fn check(&self, certificate: &[u8]) -> Checked {
        let now = Moment::from(SystemTime::now());
        let source = self.source_for_others();
        let judged = match self.lists.for_source(source, now) {
            Ok(trust) => {
                // Whose it is, and what for, is for those to check who ask. Nor do they want to hear that it is good when
                // nobody knows: what follows from that is theirs to say.
                let others = Checks::HOST | Checks::URI | Checks::USAGE | Checks::POLICY;
                let expected = Expected {
                    checks: Checks::ALL.without(others),
                    revocation: Revocation {
                        source,
                        fail: Fail::Hard,
                    },
                    ..Expected::of(Role::User, now)
                };
                self.asker
                    .judge(trust, certificate, expected, &mut Waited::default())
            }
            Err(error) => {
                warn!(%error, "the trust lists cannot be read");
                return Checked {
                    status: StatusCode::BadCertificateRevocationUnknown,
                    until: None,
                };
            }
        };
        let until = judged.as_ref().ok().and_then(|accepted| accepted.until);
        let status = status(judged.map(drop)).err();
        Checked {
            status: status.unwrap_or(StatusCode::Good),
            until,
        }
    }

    /// Keeps a certificate so that a person can trust it; it is refused all the same if it cannot be kept.
    fn note(&self, sent: &[u8]) {
        let notes = self.notes.lock();
        let may = notes
            .unwrap_or_else(PoisonError::into_inner)
            .take(Instant::now());
        if may
            && let Ok(chain) = Certificate::chain_from_der(sent)
            && let Some(leaf) = chain.first()
            && let Err(error) = self.lists.store().note(leaf)
        {
            warn!(%error, "a certificate that was refused cannot be kept");
        }
    }
}

/// So many certificates are noted at once …
const BURST: u32 = 20;
/// … and another one after each time so long. A flood writes no more, and does not push out whoever came before it.
const EVERY: Duration = Duration::from_secs(10);

/// How many may be noted.
#[derive(Debug, Default)]
struct Allowance {
    spent: u32,
    refilled: Option<Instant>,
}

impl Allowance {
    fn take(&mut self, now: Instant) -> bool {
        let since = *self.refilled.get_or_insert(now);
        let back = now.saturating_duration_since(since).as_nanos() / EVERY.as_nanos();
        let back = u32::try_from(back).unwrap_or(u32::MAX);
        if back > 0 {
            self.spent = self.spent.saturating_sub(back);
            self.refilled = Some(now);
        }
        let may = self.spent < BURST;
        self.spent += u32::from(may);
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_cut_at_one_length_by_those_who_read_and_those_who_judge() {
        assert_eq!(wire::certificate::MAX_CHAIN, pki::MAX_SENT);
    }

    #[test]
    fn a_flood_notes_a_few_and_whoever_comes_later_is_noted_again() {
        let mut notes = Allowance::default();
        let start = Instant::now();
        assert_eq!((0..1000).filter(|_| notes.take(start)).count(), 20);
        let later = start + EVERY;
        assert!(notes.take(later) && !notes.take(later));
        let much_later = later + EVERY * 1000;
        assert_eq!((0..1000).filter(|_| notes.take(much_later)).count(), 20);
    }
}
