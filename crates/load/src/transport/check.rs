//! How the server's certificate is checked while a channel is opened, and how long that takes.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use revocation::Waited;
use wire::client::CertificateCheck;
use wire::types::StatusCode;

use super::{Steps, TransportStep};

/// Judges the server's certificate; adds up how long it waited for those who know whether it was revoked.
#[derive(Clone)]
pub struct ServerCheck(Arc<Judge>);

type Judge = dyn Fn(&mut Waited) -> Result<(), (StatusCode, String)> + Send + Sync;

/// How long a check took that passed.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckTimes {
    all: Duration,
    waited: Waited,
}

impl ServerCheck {
    /// Judges by this: a refusal has its status code and what a person should read.
    pub(crate) fn new(
        judge: impl Fn(&mut Waited) -> Result<(), (StatusCode, String)> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(judge))
    }

    /// For a connection; notes how long the first check took, if it passed.
    pub(super) fn timed(&self, checked: &Arc<OnceLock<CheckTimes>>) -> CertificateCheck {
        let (judge, checked) = (Arc::clone(&self.0), Arc::clone(checked));
        CertificateCheck::new(move || {
            let start = Instant::now();
            let mut waited = Waited::default();
            judge(&mut waited)?;
            // Renewals check it again, which is not a step of opening.
            let all = start.elapsed();
            let _ = checked.set(CheckTimes { all, waited });
            Ok(())
        })
    }
}

impl fmt::Debug for ServerCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerCheck")
    }
}

impl CheckTimes {
    /// What was done here, and whom it waited for.
    pub(super) fn steps(&self) -> Steps {
        let Waited {
            statuses,
            lists,
            manager,
        } = self.waited;
        let here = self.all.saturating_sub(self.waited.total());
        let asked = [
            (TransportStep::AskStatus, statuses),
            (TransportStep::AskList, lists),
            (TransportStep::AskManager, manager),
        ];
        let asked = asked.into_iter().filter(|it| !it.1.is_zero());
        [(TransportStep::CheckCertificate, here)]
            .into_iter()
            .chain(asked)
            .collect()
    }
}
