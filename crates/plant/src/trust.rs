//! Which certificates are trusted.

use std::time::SystemTime;

use pki::{Certificate, Checks, Expected, KeyRule, Moment, Reason, Role, Store};
use wire::types::StatusCode;

/// Which certificates are trusted.
#[derive(Debug, Clone, Default)]
pub enum TrustPolicy {
    /// All of them: for a bench on loopback.
    #[default]
    All,
    /// Those that a folder says. It is read anew each time, so that trusting somebody needs no
    /// restart.
    Store(Store),
}

impl TrustPolicy {
    /// Judges a certificate as it was sent. Reads files, so it belongs on a helper thread.
    ///
    /// # Errors
    /// The status code that Part 4, 6.1.3 has for it, to be kept on this side.
    pub fn judge(
        &self,
        sent: &[u8],
        role: Role,
        policy_uri: Option<&str>,
    ) -> Result<(), StatusCode> {
        let Self::Store(store) = self else {
            return Ok(());
        };
        let (trust, _) = store.trust().map_err(|_| StatusCode::BadInternalError)?;
        let expected = Expected {
            keys: policy_uri.and_then(KeyRule::of_policy),
            checks: Checks::ALL,
            ..Expected::of(role, Moment::from(SystemTime::now()))
        };
        match trust.judge(sent, &expected) {
            Ok(_) => Ok(()),
            Err(refusal) => {
                let stranger =
                    matches!(refusal.reason, Reason::Untrusted | Reason::ChainIncomplete);
                if stranger
                    && let Ok(chain) = Certificate::chain_from_der(sent)
                    && let Some(leaf) = chain.first()
                {
                    // Kept so that an administrator can trust it; refused all the same if not.
                    let _ = store.reject(leaf);
                }
                Err(StatusCode::from(refusal.status()))
            }
        }
    }
}
