//! A request: whose it is, and which service.

use wire::server::RequestId;
use wire::template::walk::RequestHead;

use super::{Account, EventLoop, PendingRequest, SlotId};
use crate::service::served::{Route, Served};

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
        let asked = PendingRequest {
            link,
            id,
            handle: head.request_handle,
        };
        match self.way_over(link, head) {
            Ok(None) => {}
            Ok(Some(home)) => return self.lead(link, &home, id, body),
            Err(status) => return self.responder.fault(Account::NOBODY, asked, status),
        }
        let served = Served::by_type(head.type_id).filter(|it| it.is_walked());
        let Some(served) = served else {
            return self.decode(link, id, body);
        };
        let session = match self.responder.session_for(head.authentication_token, link) {
            Ok(session) => session,
            Err(status) => {
                let account = self
                    .responder
                    .account(head.authentication_token, served.counted);
                self.responder.has_come(account);
                return self.responder.fault(account, asked, status);
            }
        };
        let entry = self
            .responder
            .work_recorder
            .begin(matches!(served.route, Route::Kept), &self.shared.clock);
        let account = Account::of(session, served.counted);
        self.responder.has_come(account);
        let work = match served.route {
            Route::Kept => {
                self.responder.publish(account, asked, session, body, head);
                0
            }
            _ => self.responder.walk(account, asked, session, body, head),
        };
        self.responder
            .work_recorder
            .end(entry, served.task, work, &self.shared.clock);
    }
}
