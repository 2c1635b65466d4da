//! A request: whose it is, and which service.

use wire::server::RequestId;
use wire::template::walk::{RequestHead, type_id};
use wire::time::Instant;

use super::{Account, Asked, EventLoop, SlotId};
use crate::diagnostics::Service;
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
        let asked = Asked {
            link,
            id,
            handle: head.request_handle,
        };
        match self.way_over(link, head) {
            Ok(None) => {}
            Ok(Some(home)) => return self.lead(link, &home, id, body),
            Err(status) => return self.fault(Account::NOBODY, asked, status),
        }
        let (task, service) = match head.type_id {
            type_id::READ_REQUEST => (Task::READ, Service::Read),
            type_id::WRITE_REQUEST => (Task::WRITE, Service::Write),
            type_id::PUBLISH_REQUEST => (Task::PUBLISH, Service::Publish),
            _ => return self.decode(link, id, body),
        };
        let session = match self.session_for(head.authentication_token, link) {
            Ok(session) => session,
            Err(status) => {
                let account = self.account(head.authentication_token, Some(service));
                self.has_come(account);
                return self.fault(account, asked, status);
            }
        };
        // Publish requests come by the million: of some it is known how long they take.
        let timed = task != Task::PUBLISH || self.measuring.is_next();
        let begun = timed.then(|| self.shared.clock.now().mono);
        match task {
            Task::PUBLISH => self.publish(asked, session, body, head),
            _ => self.walk(asked, session, body, head),
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
}
