//! TLS to a server: whose certificates are accepted, by the rules that hold for those of channels.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use pki::{Certificate, Checks, Expected, Reason, Revocation, Role, Store, WatchedTrust};
use revocation::{Asker, Waited};
use tracing::{debug, warn};
use wire::url::Transport;
use wss::{ClientCertificate, Judge, Rejected, TlsClient, TlsError};

use super::trust::noted;
use super::{Access, TrustRule};

/// How TLS is begun, kept for all connections to a server.
#[derive(Debug, Clone, Default)]
pub struct Tls(Arc<Mutex<Option<(Rules, TlsClient)>>>);

/// What a certificate is judged by.
#[derive(Debug, Clone, PartialEq)]
struct Rules {
    host: String,
    trust: TrustRule,
    checks: Checks,
    revocation: Revocation,
    /// Whether connections go on with keys of earlier ones.
    resumes: bool,
}

/// Judges the certificates of a server's TLS.
#[derive(Debug)]
struct Judging {
    rules: Rules,
    asker: Arc<Asker>,
    store: Store,
    lists: WatchedTrust,
}

impl Access {
    /// How TLS is begun, if the transport of the URL has it.
    pub(super) fn tls(&self) -> Option<TlsClient> {
        if self.url.transport() == Transport::Tcp {
            return None;
        }
        let rules = Rules {
            host: self.url.host().to_owned(),
            trust: self.trust,
            checks: self.checks,
            revocation: self.revocation,
            resumes: self.tls_resume,
        };
        let mut kept = self.tls.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((by, tls)) = &*kept
            && *by == rules
        {
            return Some(tls.clone());
        }
        let judging = Judging::by(rules.clone(), &self.asker, &self.store);
        let tls = judging.client().ok()?;
        *kept = Some((rules, tls.clone()));
        Some(tls)
    }
}

/// Whom to trust where there is TLS but no OPC UA inside, as at a broker: the same as behind `opc.wss`.
#[derive(Debug, Clone)]
pub struct TlsTrust {
    /// Trusted certificates, issuers, rejected ones.
    pub store: Store,
    /// Whether it has to be a trusted one.
    pub rule: TrustRule,
    /// The checks to make.
    pub checks: Checks,
    /// Where it is looked up whether it was revoked.
    pub revocation: Revocation,
    /// Asks for it.
    pub asker: Arc<Asker>,
}

impl TlsTrust {
    /// How TLS to this host is begun.
    ///
    /// # Errors
    /// The cryptography that is linked has nothing for it.
    pub fn client(&self, host: &str) -> Result<TlsClient, TlsError> {
        self.client_showing(host, None)
    }

    /// The same, showing a certificate of one's own to whoever asks for it.
    ///
    /// # Errors
    /// Certificate and key are of no use to TLS.
    pub fn client_showing(
        &self,
        host: &str,
        own: Option<&ClientCertificate>,
    ) -> Result<TlsClient, TlsError> {
        let rules = Rules {
            host: host.to_owned(),
            trust: self.rule,
            checks: self.checks,
            revocation: self.revocation,
            resumes: false,
        };
        let judging = Judging::by(rules, &self.asker, &self.store);
        let client = TlsClient::showing(Arc::new(judging), false, own)?;
        Ok(client.without_http())
    }
}

impl Judging {
    fn by(rules: Rules, asker: &Arc<Asker>, store: &Store) -> Self {
        Self {
            rules,
            asker: Arc::clone(asker),
            store: store.clone(),
            lists: WatchedTrust::new(store.clone()),
        }
    }

    /// Each connection has a certificate judged, as each channel does. So none goes on with the keys of an earlier one, which
    /// is without a proof that the server still has its key, unless that is asked for.
    fn client(self) -> Result<TlsClient, TlsError> {
        let resumes = self.rules.resumes;
        TlsClient::new(Arc::new(self), resumes)
    }
}

/// TLS to whoever answers: for questions whose answers nobody protects over other transports either.
pub(crate) fn with_anybody() -> Option<TlsClient> {
    TlsClient::new(Arc::new(Anybody), false).ok()
}

#[derive(Debug)]
struct Anybody;

impl Judge for Anybody {
    fn judge(&self, _: &[u8]) -> Result<(), Rejected> {
        Ok(())
    }
}

impl Judge for Judging {
    fn judge(&self, chain: &[u8]) -> Result<(), Rejected> {
        let Rules {
            host,
            trust,
            checks,
            revocation,
            ..
        } = &self.rules;
        if *trust == TrustRule::Everyone {
            return Ok(());
        }
        let now = SystemTime::now().into();
        // Lists that cannot be read trust nobody.
        let lists = self.lists.for_source(revocation.source, now);
        let expected = Expected {
            host: Some(host),
            checks: *checks,
            revocation: *revocation,
            ..Expected::of(Role::Server, now)
        };
        // Whom TLS waits for is in the time of its handshake.
        let waited = &mut Waited::default();
        // Lists that cannot be read trust nobody.
        let lists = lists.unwrap_or_default();
        let judged = self.asker.judge(lists, chain, expected, waited);
        let refusal = match judged {
            Ok(_) => {
                debug!(host, "the server's TLS certificate was accepted");
                return Ok(());
            }
            Err(refusal) => refusal,
        };
        warn!(host, check = ?refusal.reason, "the server's TLS certificate was refused: {refusal}");
        let certificate = Certificate::chain_from_der(chain);
        let own = certificate.ok().and_then(|chain| chain.into_iter().next());
        // Kept where `cert trust` finds it, unless a person put it aside.
        if let Some(own) = own
            .as_ref()
            .filter(|_| refusal.reason != Reason::Distrusted)
        {
            noted(&self.store, own);
        }
        Err(Rejected {
            status: refusal.status(),
            reason: refusal.to_string(),
            thumbprint: own.map(|own| own.thumbprint_hex()),
        })
    }
}
