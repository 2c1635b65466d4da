//! Servers to be loaded.

use plan::Phase;

use super::error::SessionError;
use crate::access::{Access, AccessError, Opening, ServerFacts, Session};
use crate::transport::Steps;
use crate::transport::tasks::blocking;
use crate::work::{Prepared, WorkError, watch};

/// A server that was looked at and may be loaded.
#[derive(Debug)]
pub struct Target {
    /// How to get there.
    pub access: Access,
    /// What was decided.
    pub opening: Opening,
    /// What the server says of itself.
    pub about: ServerFacts,
}

impl Target {
    /// Asks the server what it offers, takes what was asked for, and has it tell about itself.
    /// Gives back how it was tried, with the reason why not.
    pub fn look(access: Access) -> Result<Self, Box<(Access, SessionError)>> {
        let looked = access
            .discover()
            .map_err(SessionError::from)
            .and_then(|opening| {
                let mut session = access.open(&opening, &mut Steps::new())?;
                let about = ServerFacts::ask(&mut session).map_err(WorkError::from)?;
                session.leave();
                Ok((opening, about))
            });
        match looked {
            Ok((opening, about)) => Ok(Self {
                access,
                opening,
                about,
            }),
            Err(error) => Err(Box::new((access, error))),
        }
    }

    /// Opens a session.
    pub(super) fn open(&self) -> Result<Session, AccessError> {
        blocking(self.open_as(0))
    }

    /// The same in a task, as this one of the clients, where each has an identity of its own.
    pub(super) async fn open_as(&self, client: usize) -> Result<Session, AccessError> {
        self.access
            .open_as_in_turn(client, &self.opening, &mut Steps::new())
            .await
    }

    /// Finds out what has to be known to send a phase's requests.
    pub fn prepare(&self, phase: &Phase, limits: bool) -> Result<Prepared, SessionError> {
        let mut session = self.open()?;
        let prepared = Prepared::of_phase(phase, limits, &self.about, &mut session)?;
        session.leave();
        Ok(prepared)
    }

    /// What the server counts itself, if it is a plant of ours: JSON.
    pub fn ground_truth(&self) -> Option<String> {
        let mut session = self.open().ok()?;
        let truth = watch::ground_truth(&self.about.namespaces, &mut session);
        session.leave();
        truth
    }

    /// Puts back what was in the nodes that were written to, and tells how many took it.
    pub fn restore(&self, prepared: &Prepared) -> Result<usize, SessionError> {
        let mut session = self.open()?;
        let restored = prepared.restore(&mut session)?;
        session.leave();
        Ok(restored)
    }
}
