//! A request: whose it is, and which service.

use wire::server::RequestId;
use wire::template::walk::{RequestHead, type_id};

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
        let entry = self.books.begin(task == Task::PUBLISH, &self.shared.clock);
        let account = Account::of(session, service);
        self.has_come(account);
        let work = match task {
            Task::PUBLISH => {
                self.publish(account, asked, session, body, head);
                0
            }
            _ => self.walk(account, asked, session, body, head),
        };
        self.books.end(entry, task, work, &self.shared.clock);
    }
}
