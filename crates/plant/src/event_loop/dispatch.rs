//! Services whose request is decoded: which of them answers it, and how.

use wire::server::RequestId;
use wire::service::{DecodeError, Request, Response};
use wire::time::Instant;
use wire::types::{DateTime, StatusCode};

use super::between_loops::Decoded;
use super::connection_state::HelperTask;
use super::long::{PIECE, Rest};
use super::response::encode_fault;
use super::work_recorder::WorkRecorder;
use super::{Account, EventLoop, PendingRequest, Responder, SlotId};
use crate::service::discovery::Discovery;
use crate::service::served::{Route, Served};
use crate::service::steps::{Steps, Work};
use crate::service::{Answer as Answered, DECODED_AT_ONCE, ServiceContext};
use crate::space;

impl EventLoop {
    /// Services whose request is decoded first: by a helper if it is long.
    pub(super) fn decode(&mut self, link: SlotId, id: RequestId, body: &[u8]) {
        if body.len() > DECODED_AT_ONCE {
            return self.responder.connections.have_decoded(link, id, body);
        }
        let begun = self.shared.clock.now().mono;
        let decoded = Request::decode(body, &self.shared.decoding);
        self.decoded(link, id, body, (decoded, begun));
    }

    /// A helper has decoded a request.
    pub(super) fn goes_on_with(&mut self, link: SlotId, decoded: Decoded) {
        let Decoded { id, body, result } = decoded;
        let Some(there) = self.responder.connections.links.get_mut(link) else {
            return;
        };
        there.here.helper_task = HelperTask::None;
        there.here.busy = there.here.busy.saturating_sub(1);
        self.responder.work_recorder.look_at(there);
        match result {
            Some(result) => {
                let begun = self.shared.clock.now().mono;
                self.decoded(link, id, &body, (result, begun));
            }
            None => self.request(link, id, &body),
        }
        if let Some(there) = self.responder.connections.links.get_mut(link) {
            self.responder.work_recorder.leave(there);
        }
        self.flush(link);
    }

    /// A request was decoded, which was begun then.
    fn decoded(
        &mut self,
        link: SlotId,
        id: RequestId,
        body: &[u8],
        (decoded, begun): (Result<Request, DecodeError>, Instant),
    ) {
        let request = match decoded {
            Ok(request) => request,
            Err(error) => {
                let handle = error.request_handle.unwrap_or(0);
                let asked = PendingRequest { link, id, handle };
                return self.responder.fault(Account::NOBODY, asked, error.status());
            }
        };
        let asked = PendingRequest {
            link,
            id,
            handle: request.header().request_handle,
        };
        let token = space::raw(&request.header().authentication_token);
        let Some(served) = Served::of(&request) else {
            return self
                .responder
                .fault(Account::NOBODY, asked, StatusCode::BadServiceUnsupported);
        };
        let account = self.responder.account(token, served.counted);
        let creates = matches!(request, Request::CreateSession(_));
        if served.is_walked() || (creates && self.acceptor.leads) {
            // Its type was spelled out in another way than usual; now it is not.
            let mut body = Vec::new();
            return match request.encode(&mut body) {
                Ok(()) => self.request(link, id, &body),
                Err(_) => self
                    .responder
                    .fault(account, asked, StatusCode::BadDecodingError),
            };
        }
        if self.answer_decoded(asked, body, request, (account, served)) {
            let entry = WorkRecorder::begun(begun);
            self.responder
                .work_recorder
                .end(entry, served.task, 0, &self.shared.clock);
        }
    }

    /// Answers it, or hands it on. Whether it is done here.
    fn answer_decoded(
        &mut self,
        asked: PendingRequest,
        body: &[u8],
        mut request: Request,
        (account, served): (Account, &Served),
    ) -> bool {
        self.responder.has_come(account);
        let given = self.answer_by(asked, body, &mut request, served.route);
        let answered = match given {
            Ok(Given::Whole(mut response)) => {
                let header = response.header_mut();
                header.request_handle = asked.handle;
                header.timestamp = DateTime::from(self.responder.now.utc);
                self.responder.respond_with(account, asked, response);
                Ok(())
            }
            Ok(Given::Steps(session, steps)) => {
                self.responder
                    .take_steps(account, asked, session, (steps, body.len()))
            }
            Ok(Given::Later) => Ok(()),
            Ok(Given::Elsewhere) => return false,
            Err(status) => Err(status),
        };
        if let Err(status) = answered {
            self.responder.fault(account, asked, status);
        }
        if body.len() > DECODED_AT_ONCE {
            // What nobody took of it may take as long to forget as to decode.
            self.responder.connections.pool.forget(request);
        }
        true
    }

    /// Which way it goes the table says; here are those that have to do with connections, or with sessions and subscriptions of
    /// other loops.
    fn answer_by(
        &mut self,
        asked: PendingRequest,
        body: &[u8],
        request: &mut Request,
        route: Route,
    ) -> Result<Given, StatusCode> {
        let PendingRequest { link, id, .. } = asked;
        match (route, request) {
            (Route::ServiceContext(answer), request) => {
                let token = space::raw(&request.header().authentication_token);
                let session = self.responder.session_for(token, link)?;
                return self
                    .responder
                    .answer(session, |context| answer(context, request));
            }
            (Route::Open(answer), request) => {
                return self
                    .responder
                    .discover(link, |discovery| answer(discovery, request));
            }
            (_, Request::CreateSession(request)) => self.create_session(link, id, request)?,
            (_, Request::ActivateSession(request)) => {
                let token = space::raw(&request.request_header.authentication_token);
                let home = self.loops.home_of(token, &self.shared.homes);
                if let Some(home) = home.as_ref().filter(|_| self.acceptor.leads) {
                    self.lead(link, home, id, body);
                    return Ok(Given::Elsewhere);
                }
                self.activate_session(link, id, request, home)?;
            }
            (_, Request::CloseSession(request)) => {
                self.responder.close_session(link, id, request)?;
            }
            (_, Request::Republish(request)) => self.responder.republish(link, id, request)?,
            (_, Request::TransferSubscriptions(request)) => self.transfer(link, id, request)?,
            (_, Request::Cancel(request)) => self.responder.cancel(link, id, request)?,
            (_, Request::Call(request)) => {
                let asked = std::mem::take(request);
                let back = self.responder.have_checked(link, id, asked, body.len())?;
                // Else once the certificates are judged that it is about.
                if let Some(back) = back {
                    *request = back;
                    let token = space::raw(&request.request_header.authentication_token);
                    let session = self.responder.session_for(token, link)?;
                    let call = |context: &mut ServiceContext<'_>| {
                        context.call(request).map(Answered::Steps)
                    };
                    return self.responder.answer(session, call);
                }
            }
            // Those that are walked or kept are not decoded.
            _ => return Err(StatusCode::BadServiceUnsupported),
        }
        Ok(Given::Later)
    }
}

impl Responder {
    /// Has a request answered in the context of its session: at once, or one operation after another.
    fn answer(
        &mut self,
        session: SlotId,
        answer: impl FnOnce(&mut ServiceContext<'_>) -> Result<Answered, StatusCode>,
    ) -> Result<Given, StatusCode> {
        let context = self.store.context(&self.shared, session, self.now);
        let mut context = context.ok_or(StatusCode::BadSessionIdInvalid)?;
        let answer = answer(&mut context);
        self.answer_publish(session);
        Ok(match answer? {
            Answered::Whole(response) => Given::Whole(response),
            Answered::Steps(steps) => Given::Steps(session, steps),
        })
    }

    /// Has a request answered that needs no session.
    fn discover(
        &self,
        link: SlotId,
        answer: impl FnOnce(&Discovery<'_>) -> Result<Response, StatusCode>,
    ) -> Result<Given, StatusCode> {
        let there = self.connections.links.get(link);
        let discovery = Discovery {
            shared: &self.shared,
            urls: there.and_then(|there| there.urls(&self.shared)),
            peer: there.and_then(|there| there.connection.peer()),
            now: self.now.mono,
        };
        answer(&discovery).map(Given::Whole)
    }

    /// Does the first of many operations, mostly all of them.
    pub(super) fn take_steps(
        &mut self,
        account: Account,
        asked: PendingRequest,
        session: SlotId,
        (mut steps, request): (Steps, usize),
    ) -> Result<(), StatusCode> {
        let (now, handle) = (self.now, asked.handle);
        let link = self.connections.links.get_mut(asked.link);
        let context = self.store.context(&self.shared, session, now);
        let (Some(there), Some(mut context)) = (link, context) else {
            return Ok(());
        };
        if request > DECODED_AT_ONCE {
            steps.forgotten_by(&self.connections.pool);
        }
        steps.draw_on(&context.session.budget, request)?;
        let mut failed = None;
        let mut work = Work::turn();
        let mut steps = Box::new(steps);
        let sent = there.begin(account, asked, now, |out| {
            let start = out.len();
            steps.begin(handle, &context, out);
            match steps.do_more(&mut context, &mut work, PIECE, out) {
                Ok(false) => None,
                Ok(true) => Some(Rest::Steps(session, steps)),
                Err(status) => {
                    failed = Some(status);
                    out.truncate(start);
                    encode_fault(handle, status, now.utc, out);
                    None
                }
            }
        });
        if let Some(status) = failed {
            account.failed(&self.shared, &self.store.sessions, handle, status);
        }
        self.work_recorder.add(work.spent());
        self.answer_publish(session);
        if let Err(error) = sent {
            self.not_sent(account, asked, &error);
        }
        Ok(())
    }
}

/// What a decoded request is answered with.
#[allow(
    clippy::large_enum_variant,
    reason = "it is moved once or twice, a box is one more allocation"
)]
enum Given {
    /// A response.
    Whole(Response),
    /// The results of operations for a session.
    Steps(SlotId, Steps),
    /// What a service, a helper or another loop sends.
    Later,
    /// Nothing here: its connection went to another loop with it.
    Elsewhere,
}
