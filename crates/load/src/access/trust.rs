//! Whether the server's certificate is accepted: before anything is sent to it, and each time a channel to it is
//! opened or renewed.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use pki::{
    Certificate, Checks, Expected, KeyRule, Moment, Reason, Refusal, Revocation, Role, Source,
    Store, Trust, WatchedTrust,
};
use revocation::{Asker, Waited};
use tracing::{debug, warn};
use wire::types::StatusCode;

use super::{Access, AccessError, Opening, TrustRule};
use crate::transport::ServerCheck;

/// A server's certificate as its endpoint shows it, and all that is to be checked of it.
#[derive(Debug)]
struct Shown {
    certificate: Vec<u8>,
    application_uri: String,
    host: String,
    keys: Option<KeyRule>,
    checks: Checks,
    revocation: Revocation,
    asker: Arc<Asker>,
    lists: WatchedTrust,
    last: Mutex<Option<Verdict>>,
}

/// What was found under these lists in this second.
#[derive(Debug)]
struct Verdict {
    trust: Arc<Trust>,
    now: Moment,
    judged: Result<(), Refusal>,
}

impl Shown {
    /// Thousands of clients of one server ask in the same second: its signatures are verified once. Where each is to
    /// read or ask anew, they do.
    fn judge(&self, now: Moment, waited: &mut Waited) -> Result<(), Refusal> {
        // Lists that cannot be read trust nobody.
        let trust = self.lists.for_source(self.revocation.source, now);
        let trust = trust.unwrap_or_default();
        let source = self.revocation.source;
        if source == Source::Reread || source.asks_each_time() {
            return self.judge_with(trust, now, waited);
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = &*last
            && last.now == now
            && Arc::ptr_eq(&last.trust, &trust)
        {
            return last.judged.clone();
        }
        let judged = self.judge_with(Arc::clone(&trust), now, waited);
        match &judged {
            Ok(()) => debug!(host = self.host, "the server's certificate was accepted"),
            Err(refusal) => {
                warn!(host = self.host, check = ?refusal.reason, "the server's certificate was refused: {refusal}");
            }
        }
        *last = Some(Verdict {
            trust,
            now,
            judged: judged.clone(),
        });
        judged
    }

    fn judge_with(
        &self,
        trust: Arc<Trust>,
        now: Moment,
        waited: &mut Waited,
    ) -> Result<(), Refusal> {
        let expected = Expected {
            host: Some(&self.host),
            application_uri: Some(&self.application_uri),
            keys: self.keys,
            checks: self.checks,
            revocation: self.revocation,
            ..Expected::of(Role::Server, now)
        };
        let judged = self.asker.judge(trust, &self.certificate, expected, waited);
        judged.map(drop)
    }
}

/// Keeps a certificate that was refused where `cert trust` finds it. Where it cannot be kept the log says why: what was
/// refused stays refused.
pub(super) fn noted(store: &Store, refused: &Certificate) -> Option<PathBuf> {
    store.note(refused).unwrap_or_else(|error| {
        warn!(%error, "a certificate that was refused cannot be kept");
        None
    })
}

impl Access {
    fn shown(&self, opening: &Opening) -> Shown {
        let description = &opening.endpoint().description;
        let sent = description.server_certificate.value.as_deref();
        Shown {
            certificate: sent.unwrap_or_default().to_vec(),
            application_uri: description.server.application_uri.as_ref().to_owned(),
            host: self.url.host().to_owned(),
            keys: KeyRule::of_policy(description.security_policy_uri.as_ref()),
            checks: self.checks,
            revocation: self.revocation,
            asker: Arc::clone(&self.asker),
            lists: WatchedTrust::new(self.store.clone()),
            last: Mutex::default(),
        }
    }

    /// What our checks say of the server's certificate.
    pub fn judge(&self, opening: &Opening) -> Result<(), Refusal> {
        self.shown(opening)
            .judge(self.today(), &mut Waited::default())
    }

    /// Judges it, and gives what judges it again at each renewal; nothing where every server will do.
    pub(super) fn accept(&self, opening: &Opening) -> Result<Option<ServerCheck>, AccessError> {
        let Some(certificate) = opening.certificate() else {
            return Err(AccessError::NoCertificate(opening.endpoint().name()));
        };
        if self.trust == TrustRule::Everyone {
            return Ok(None);
        }
        let shown = self.shown(opening);
        if let Err(refusal) = shown.judge(self.today(), &mut Waited::default()) {
            // Kept where `cert trust` finds it; a full disk must not hide the refusal. One that a person put aside is
            // there already.
            let file = match refusal.reason {
                Reason::Distrusted => None,
                _ => noted(&self.store, certificate),
            };
            return Err(AccessError::Untrusted {
                file,
                thumbprint: certificate.thumbprint_hex(),
                refusal,
            });
        }
        Ok(Some(ServerCheck::new(move |waited| {
            let judged = shown.judge(SystemTime::now().into(), waited);
            judged.map_err(|refusal| (StatusCode::from(refusal.status()), refusal.to_string()))
        })))
    }
}
