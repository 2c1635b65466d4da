//! A request: whose it is, which service, and the answer on its way back.

use tracing::debug;
use wire::channel::SendError;
use wire::server::RequestId;
use wire::service::Response;
use wire::template::walk::{RequestHead, type_id};
use wire::time::Instant;
use wire::types::StatusCode;

use super::response::encode_fault;
use super::{EventLoop, SlotId};
use crate::internals::Task;

impl EventLoop {
    /// Answers a request, or sees to it that it is answered later.
    pub(super) fn request(&mut self, link: SlotId, id: RequestId, body: &[u8]) {
        match RequestHead::parse(body) {
            Ok(head) => self.request_of(link, id, body, &head),
            Err(_) => self.decode(link, id, body),
        }
    }

    pub(super) fn request_of(
        &mut self,
        link: SlotId,
        id: RequestId,
        body: &[u8],
        head: &RequestHead<'_>,
    ) {
        if let Some(home) = self.way_in(head) {
            return self.lead(link, &home, id, body);
        }
        match self.way_over(link, head) {
            Ok(None) => {}
            Ok(Some(home)) => return self.lead(link, &home, id, body),
            Err(status) => return self.fault(link, id, head.request_handle, status),
        }
        let task = match head.type_id {
            type_id::READ_REQUEST | type_id::WRITE_REQUEST => Task::walked(head.type_id),
            type_id::PUBLISH_REQUEST => Task::PUBLISH,
            _ => return self.decode(link, id, body),
        };
        let session = match self.session_for(head.authentication_token, link) {
            Ok(session) => session,
            Err(status) => return self.fault(link, id, head.request_handle, status),
        };
        // Publish requests come by the million: of some it is known how long they take.
        let timed = task != Task::PUBLISH || self.measuring.is_next();
        let begun = timed.then(|| self.shared.clock.now().mono);
        match task {
            Task::PUBLISH => self.publish(link, id, session, body, head),
            _ => self.walk(link, id, session, body, head),
        }
        self.did(task, begun);
    }

    /// Something was done once more, and took the time since then, if it is to be known.
    pub(super) fn did(&self, task: Task, begun: Option<Instant>) {
        let work = &self.measuring.work;
        work.did(task);
        if let Some(begun) = begun {
            work.took(task, self.shared.clock.now().mono.since(begun));
        }
    }

    /// Sends a response.
    pub(super) fn respond_with(&mut self, link: SlotId, id: RequestId, response: Response) {
        let (now, handle) = (self.now, response.header().request_handle);
        let Some(there) = self.links.get_mut(link) else {
            return;
        };
        let sent = there.respond(id, now.mono, |out| {
            if response.encode(out).is_err() {
                encode_fault(handle, StatusCode::BadEncodingError, now.utc, out);
            }
        });
        if let Err(error) = sent {
            self.not_sent(link, id, handle, &error);
        }
    }

    /// Sends a ServiceFault.
    pub(super) fn fault(&mut self, link: SlotId, id: RequestId, handle: u32, status: StatusCode) {
        debug!(handle, %status, "request refused");
        let counters = &self.shared.counters;
        counters.rejected_requests.add(1);
        if matches!(
            status,
            StatusCode::BadSessionIdInvalid
                | StatusCode::BadSecureChannelIdInvalid
                | StatusCode::BadSessionNotActivated
        ) {
            counters.security_rejected_requests.add(1);
        }
        let now = self.now;
        if let Some(there) = self.links.get_mut(link) {
            // A fault of a few bytes fits into every agreement; a channel that ended needs none.
            let _ = there.respond(id, now.mono, |out| {
                encode_fault(handle, status, now.utc, out);
            });
        }
    }

    pub(super) fn not_sent(&mut self, link: SlotId, id: RequestId, handle: u32, error: &SendError) {
        if let SendError::TooLarge { .. } = error {
            self.fault(link, id, handle, StatusCode::BadResponseTooLarge);
        }
    }
}
