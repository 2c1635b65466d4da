//! Whose request it is: where it is counted, that it came and that it was refused (Part 5, 12.10 and 12.11).

use tracing::debug;
use wire::channel::SendError;
use wire::service::Response;
use wire::template::walk::RawNodeId;
use wire::time::Now;
use wire::types::StatusCode;

use super::response::encode_fault;
use super::{PendingRequest, Responder, SlotId, Slots};
use crate::diagnostics::{Service, SessionRecord};
use crate::service::session::Session;
use crate::shared::Shared;

/// The session that a request is counted for, and the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    session: Option<SlotId>,
    service: Option<Service>,
}

impl Account {
    /// Of a request without a session.
    pub const NOBODY: Self = Self {
        session: None,
        service: None,
    };

    /// A service of a session; none is one that is not counted by itself.
    pub fn of(session: SlotId, service: impl Into<Option<Service>>) -> Self {
        Self {
            session: Some(session),
            service: service.into(),
        }
    }

    /// A request of it has come.
    #[inline]
    pub fn came(self, record: &SessionRecord, now: Now) {
        record.asked(self.service, now.utc);
    }

    /// A request of it was answered with a ServiceFault. All of them pass here, and are logged.
    pub fn refused(
        self,
        record: Option<&SessionRecord>,
        shared: &Shared,
        handle: u32,
        status: StatusCode,
    ) {
        debug!(handle, %status, "request refused");
        shared.counters.refused(status);
        if let Some(record) = record {
            record.failed(self.service, status);
        }
    }

    /// The same where its session has to be looked for.
    pub fn failed(
        self,
        shared: &Shared,
        sessions: &Slots<Session>,
        handle: u32,
        status: StatusCode,
    ) {
        self.refused(self.record(sessions), shared, handle, status);
    }

    fn record(self, sessions: &Slots<Session>) -> Option<&SessionRecord> {
        let session = sessions.get(self.session?)?;
        Some(&session.record)
    }
}

impl Responder {
    /// The account of a session that a request names, whether or not it may.
    pub(super) fn account(&self, token: RawNodeId<'_>, service: Option<Service>) -> Account {
        Account {
            session: self.store.sessions.find(token).ok(),
            service,
        }
    }

    /// A request has come.
    pub(super) fn has_come(&self, account: Account) {
        if let Some(record) = account.record(&self.store.sessions) {
            account.came(record, self.now);
        }
    }

    /// Sends a response.
    pub(super) fn respond_with(
        &mut self,
        account: Account,
        asked: PendingRequest,
        response: Response,
    ) {
        let now = self.now;
        let Some(there) = self.connections.links.get_mut(asked.link) else {
            return;
        };
        let sent = there.respond(asked.id, now.mono, |out| {
            if response.encode(out).is_err() {
                encode_fault(asked.handle, StatusCode::BadEncodingError, now.utc, out);
            }
        });
        if let Err(error) = sent {
            self.not_sent(account, asked, &error);
        }
    }

    /// Sends a ServiceFault.
    pub(super) fn fault(&mut self, account: Account, asked: PendingRequest, status: StatusCode) {
        account.failed(&self.shared, &self.store.sessions, asked.handle, status);
        let now = self.now;
        if let Some(there) = self.connections.links.get_mut(asked.link) {
            // A fault of a few bytes fits into every agreement; a channel that ended needs none.
            let _ = there.respond(asked.id, now.mono, |out| {
                encode_fault(asked.handle, status, now.utc, out);
            });
        }
    }

    /// A response was not sent: one that is too long becomes a ServiceFault.
    pub(super) fn not_sent(&mut self, account: Account, asked: PendingRequest, error: &SendError) {
        if let SendError::TooLarge { .. } = error {
            self.fault(account, asked, StatusCode::BadResponseTooLarge);
        }
    }
}
