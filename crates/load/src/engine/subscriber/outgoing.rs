//! The way to the server, as the parts of a session have it while they send.

use wire::channel::SendError;
use wire::client::Connection;
use wire::service::Request;
use wire::time::{Instant, Now};
use wire::types::RequestHeader;

use super::assignment::Assignment;
use super::pending::{PendingRequest, PendingRequests};

/// Bytes that wait for the socket before more is added.
const BACKLOG: usize = 64 * 1024;

/// The connection at this moment, and what is kept of each request that goes over it.
pub(super) struct Outgoing<'a> {
    pub assignment: &'a Assignment,
    pub now: Now,
    connection: &'a mut Connection,
    pending: &'a mut PendingRequests,
}

impl<'a> Outgoing<'a> {
    pub fn new(
        assignment: &'a Assignment,
        connection: &'a mut Connection,
        pending: &'a mut PendingRequests,
        now: Now,
    ) -> Self {
        Self {
            assignment,
            now,
            connection,
            pending,
        }
    }

    /// Whether more may wait for the socket.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.connection.pending().len() < BACKLOG
    }

    /// The requests that are on their way.
    pub fn pending(&self) -> &PendingRequests {
        self.pending
    }

    /// A header for a request that is sent now.
    pub fn header(&self) -> RequestHeader {
        self.assignment.requests.header(self.now.utc)
    }

    /// Until when a request is answered that does not wait for news.
    pub fn deadline(&self) -> Instant {
        self.now.mono + self.assignment.orders.timeout
    }

    /// Sends a request that is not sent often. Tells whether it could be.
    pub fn send(&mut self, request: impl Into<Request>, about: PendingRequest) -> bool {
        let mut request = request.into();
        let sent = self.write(self.deadline(), about, |out, handle| {
            request.header_mut().request_handle = handle;
            // Numbers and texts, which always encode.
            let encoded = request.encode(out);
            debug_assert!(encoded.is_ok());
        });
        sent.is_ok()
    }

    /// Sends a request that is written where it is sent from, with the handle that it is given.
    #[inline]
    pub fn write(
        &mut self,
        deadline: Instant,
        about: PendingRequest,
        write: impl FnOnce(&mut Vec<u8>, u32),
    ) -> Result<(), SendError> {
        let id = self.connection.send(deadline, write)?;
        self.pending.keep(id, about);
        Ok(())
    }
}
