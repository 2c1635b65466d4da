//! Audit events (Part 4, 6.5; Part 5, 6.4.3 to 6.4.25): what clients did, for those who may know.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wire::types::{NodeId, StatusCode, Variant};

use super::{EventKind, Field};
use crate::space::encode;

/// What a client did, or tried to.
#[derive(Debug, Clone)]
pub struct Audit {
    /// The type of the event.
    pub kind: EventKind,
    /// When, in ticks.
    pub at: i64,
    /// What came of it.
    pub status: StatusCode,
    /// As whom; empty for nobody in particular.
    pub user: String,
    /// What the client calls it in its own books.
    pub entry: String,
    /// Of which node; none for the server itself.
    pub node: Option<NodeId>,
    /// What was written, as it came: decoded, a value takes up to a hundred times as much memory.
    pub written: Option<Box<[u8]>>,
    /// What events of its type have beside that.
    pub details: Vec<(Field, Variant)>,
}

impl Audit {
    /// Something that was done at a time.
    pub fn new(kind: EventKind, at: i64, status: StatusCode) -> Self {
        Self {
            kind,
            at,
            status,
            user: String::new(),
            entry: String::new(),
            node: None,
            written: None,
            details: Vec::new(),
        }
    }

    /// As whom.
    pub fn by(mut self, user: &str) -> Self {
        self.user = cut(user);
        self
    }

    /// What the client calls it.
    pub fn entered(mut self, entry: &str) -> Self {
        self.entry = cut(entry);
        self
    }

    /// With one thing more.
    pub fn with(mut self, field: Field, value: impl Into<Variant>) -> Self {
        self.details.push((field, value.into()));
        self
    }

    /// The service, as SourceName has it (Part 5, 6.4.5 ff.).
    pub fn service(&self) -> &'static str {
        use EventKind as K;
        match self.kind {
            K::AuditOpenSecureChannelEventType => "SecureChannel/OpenSecureChannel",
            K::AuditCreateSessionEventType => "Session/CreateSession",
            K::AuditActivateSessionEventType => "Session/ActivateSession",
            K::AuditCancelEventType => "Session/Cancel",
            K::AuditWriteUpdateEventType => "Attribute/Write",
            _ => "Security/Certificate",
        }
    }

    /// In words.
    pub fn message(&self) -> String {
        match self.status.is_bad() {
            false => format!("{} was done", self.service()),
            true => format!("{} was refused: {}", self.service(), self.status),
        }
    }

    fn weight(&self) -> usize {
        let details = self.details.iter().map(|(_, it)| 48 + encode::len(it));
        let texts = self.user.len() + self.entry.len();
        let node = self.node.as_ref().map_or(0, encode::len);
        let written = self.written.as_ref().map_or(0, |it| it.len());
        size_of::<Self>() + texts + node + written + details.sum::<usize>()
    }
}

/// Letters of a name that a client has chosen.
const LETTERS: usize = 256;

fn cut(text: &str) -> String {
    text.chars().take(LETTERS).collect()
}

/// Which type of event tells that a certificate was refused (Part 5, 6.4.12 to 6.4.18).
pub fn certificate(status: StatusCode) -> EventKind {
    use EventKind as K;
    match status {
        StatusCode::BadCertificateTimeInvalid | StatusCode::BadCertificateIssuerTimeInvalid => {
            K::AuditCertificateExpiredEventType
        }
        StatusCode::BadCertificateUntrusted => K::AuditCertificateUntrustedEventType,
        StatusCode::BadCertificateRevoked
        | StatusCode::BadCertificateIssuerRevoked
        | StatusCode::BadCertificateRevocationUnknown
        | StatusCode::BadCertificateIssuerRevocationUnknown => K::AuditCertificateRevokedEventType,
        StatusCode::BadCertificateUseNotAllowed | StatusCode::BadCertificateIssuerUseNotAllowed => {
            K::AuditCertificateMismatchEventType
        }
        StatusCode::BadCertificateUriInvalid | StatusCode::BadCertificateHostNameInvalid => {
            K::AuditCertificateDataMismatchEventType
        }
        _ => K::AuditCertificateInvalidEventType,
    }
}

/// Entries that are kept for those who look back, and bytes of them.
const KEPT: usize = 65_536;
const BYTES: usize = 8 << 20;

/// What clients did lately. It takes no more than it may, whatever they do; who looks back too late is told how many are gone.
#[derive(Debug, Default)]
pub struct Audits(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    entries: VecDeque<(usize, Arc<Audit>)>,
    bytes: usize,
    last: u64,
}

impl Audits {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        // An entry is there or it is not, whoever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more.
    pub fn note(&self, audit: Audit) {
        let weight = audit.weight();
        let audit = Arc::new(audit);
        let mut kept = self.lock();
        kept.last += 1;
        kept.bytes += weight;
        kept.entries.push_back((weight, audit));
        while kept.entries.len() > KEPT || kept.bytes > BYTES {
            let Some((gone, _)) = kept.entries.pop_front() else {
                break;
            };
            kept.bytes -= gone;
        }
    }

    /// How many there were.
    pub fn last(&self) -> u64 {
        self.lock().last
    }

    /// Those after a number with their numbers, how many of them are gone, and the last number.
    pub fn after(&self, number: u64) -> (u64, u64, Vec<(u64, Arc<Audit>)>) {
        let kept = self.lock();
        let first = kept.last + 1 - kept.entries.len() as u64;
        let missed = first.saturating_sub(number + 1);
        let from = first.max(number + 1);
        let entries = kept.entries.iter().skip((from - first) as usize);
        let entries = entries.map(|(_, audit)| Arc::clone(audit));
        (missed, kept.last, (from..).zip(entries).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_has_a_bound_and_what_is_gone_is_counted() {
        let audits = Audits::default();
        let long: Box<[u8]> = vec![0; 64 << 10].into();
        let one = || Audit {
            written: Some(long.clone()),
            ..Audit::new(EventKind::AuditWriteUpdateEventType, 7, StatusCode::Good)
        };
        for _ in 0..1000 {
            audits.note(one());
        }
        let (missed, last, entries) = audits.after(0);
        assert_eq!(last, 1000);
        assert_eq!(missed + entries.len() as u64, 1000);
        assert!((100..128).contains(&entries.len()), "{}", entries.len());
        assert_eq!(entries.last().unwrap().0, 1000);
        assert_eq!(audits.after(1000).2.len(), 0);
        for _ in 0..KEPT + 10 {
            audits.note(Audit::new(
                EventKind::AuditCancelEventType,
                7,
                StatusCode::Good,
            ));
        }
        assert!(audits.after(0).2.len() <= KEPT);
    }
}
