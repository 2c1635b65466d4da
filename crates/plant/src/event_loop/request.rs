//! A request: whose it is, which service, and the answer on its way back.

use std::sync::Arc;

use tracing::debug;
use wire::channel::SendError;
use wire::server::{Reply, RequestId};
use wire::service::{DecodeError, Request, Response};
use wire::template::walk::{RequestHead, type_id};
use wire::time::{Instant, Now};
use wire::types::{DateTime, RegisterServerResponse, RegisteredServer, StatusCode};

use super::between_loops::Decoded;
use super::link::Errand;
use super::long::{Long, PIECE, Rest};
use super::response::encode_fault;
use super::session_table::Sessions;
use super::{EventLoop, Mail, SlotId};
use crate::advertise::Urls;
use crate::diagnostics::Service;
use crate::internals::Task;
use crate::service::steps::{Steps, Work};
use crate::service::write::By;
use crate::service::{
    Answer as Answered, DECODED_AT_ONCE, Desk, Refusal, canonical, discovery, read, write,
};
use crate::session::Session;
use crate::shared::Shared;
use crate::space;
use crate::users::Rights;

/// Whether it is walked where it lies, and never decoded if its type is spelled as usual.
fn is_walked(request: &Request) -> bool {
    matches!(
        request,
        Request::Read(_) | Request::Write(_) | Request::Publish(_)
    )
}

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
        match head.type_id {
            type_id::READ_REQUEST | type_id::WRITE_REQUEST => {
                match self.session_for(head.authentication_token, link) {
                    Ok(session) => {
                        let begun = Some(self.shared.clock.now().mono);
                        self.walk(link, id, session, body, head);
                        self.did(Task::walked(head.type_id), begun);
                    }
                    Err(status) => self.fault(link, id, head.request_handle, status),
                }
            }
            type_id::PUBLISH_REQUEST => match self.session_for(head.authentication_token, link) {
                Ok(session) => {
                    let begun = self
                        .measuring
                        .is_next()
                        .then(|| self.shared.clock.now().mono);
                    self.publish(link, id, session, body, head);
                    self.did(Task::PUBLISH, begun);
                }
                Err(status) => self.fault(link, id, head.request_handle, status),
            },
            _ => self.decode(link, id, body),
        }
    }

    /// Something was done once more, and took the time since then, if it is to be known.
    fn did(&self, task: Task, begun: Option<Instant>) {
        let work = &self.measuring.work;
        work.did(task);
        if let Some(begun) = begun {
            work.took(task, self.shared.clock.now().mono.since(begun));
        }
    }

    /// Services that are answered while the request is read: nothing is built in between.
    fn walk(
        &mut self,
        link: SlotId,
        id: RequestId,
        session: SlotId,
        body: &[u8],
        head: &RequestHead<'_>,
    ) {
        let (shared, now) = (&self.shared, self.now);
        let (Some(there), Some(held)) = (self.links.get_mut(link), self.sessions.get(session))
        else {
            return;
        };
        let handle = head.request_handle;
        let mut work = Work::turn();
        let sent = there.begin(id, handle, now, |out| {
            answer_walked(shared, held, body, head, now, &mut work, out)
        });
        self.effort.add(work.spent());
        if let Err(error) = sent {
            self.not_sent(link, id, handle, &error);
        }
    }

    /// Services whose request is decoded first: by a helper if it is long.
    pub(super) fn decode(&mut self, link: SlotId, id: RequestId, body: &[u8]) {
        if body.len() > DECODED_AT_ONCE {
            return self.have_decoded(link, id, body);
        }
        let begun = self.shared.clock.now().mono;
        let decoded = Request::decode(body, &self.shared.decoding);
        self.decoded(link, id, body, (decoded, begun));
    }

    /// Millions of values in a request take a hundred milliseconds. What the connection asks next waits meanwhile.
    fn have_decoded(&mut self, link: SlotId, id: RequestId, body: &[u8]) {
        let Some(there) = self.links.get_mut(link) else {
            return;
        };
        there.errand = Errand::Decoding(body.len());
        there.busy += 1;
        let (shared, post, mut body) = (Arc::clone(&self.shared), self.post(), body.to_vec());
        self.pool.submit(move || {
            let result = Request::decode(&body, &shared.decoding);
            let walked = result.as_ref().is_ok_and(is_walked);
            if let (true, Ok(request)) = (walked, &result) {
                body.clear();
                // Nothing of it can be too much to be written again.
                let _ = request.encode(&mut body);
            }
            let result = if walked { None } else { Some(result) };
            let decoded = Decoded { id, body, result };
            post.send(Mail::Decoded(link, Box::new(decoded)));
        });
    }

    /// A helper has decoded a request.
    pub(super) fn goes_on_with(&mut self, link: SlotId, decoded: Decoded) {
        let Decoded { id, body, result } = decoded;
        let Some(there) = self.links.get_mut(link) else {
            return;
        };
        there.errand = Errand::None;
        there.busy = there.busy.saturating_sub(1);
        self.effort.look_at(there);
        match result {
            Some(result) => {
                let begun = self.shared.clock.now().mono;
                self.decoded(link, id, &body, (result, begun));
            }
            None => self.request(link, id, &body),
        }
        if let Some(there) = self.links.get_mut(link) {
            self.effort.leave(there);
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
                return self.fault(link, id, handle, error.status());
            }
        };
        let handle = request.header().request_handle;
        let token = space::raw(&request.header().authentication_token);
        let session = self.sessions.find(token).ok();
        let service = Service::of(&request);
        let creates = matches!(request, Request::CreateSession(_));
        if is_walked(&request) || (creates && self.acceptor.leads) {
            // Its type was spelled out in another way than usual; now it is not.
            let mut body = Vec::new();
            return match request.encode(&mut body) {
                Ok(()) => self.request(link, id, &body),
                Err(_) => self.fault(link, id, handle, StatusCode::BadDecodingError),
            };
        }
        let task = Task::of(&request);
        if self.answer_decoded((link, id), body, request, (service, session)) {
            self.did(task, Some(begun));
        }
    }

    /// Answers it, or hands it on. Whether it is done here.
    fn answer_decoded(
        &mut self,
        (link, id): (SlotId, RequestId),
        body: &[u8],
        request: Request,
        (service, session): (Option<Service>, Option<SlotId>),
    ) -> bool {
        let handle = request.header().request_handle;
        let record = session.and_then(|session| self.sessions.get(session));
        let record = record.map(|session| Arc::clone(&session.record));
        if let Some(record) = &record {
            record.asked(service, self.now.utc);
        }
        let mut request = match request {
            Request::Call(call) => match self.have_checked(link, id, call, body.len()) {
                Ok(Some(call)) => Request::Call(call),
                // Once the certificates are judged that it is about.
                Ok(None) => return true,
                Err(status) => {
                    if let Some(record) = &record {
                        record.failed(service, status);
                    }
                    self.fault(link, id, handle, status);
                    return true;
                }
            },
            other => other,
        };
        let answered = match &request {
            Request::CreateSession(request) => self.create_session(link, id, request),
            Request::ActivateSession(request) => {
                let token = space::raw(&request.request_header.authentication_token);
                match self.home_of(token) {
                    Some(home) if self.acceptor.leads => {
                        self.lead(link, &home, id, body);
                        return false;
                    }
                    home => self.activate_session(link, id, request, home),
                }
            }
            Request::CloseSession(request) => self.close_session(link, id, request),
            Request::Republish(request) => self.republish(link, id, request),
            Request::TransferSubscriptions(request) => self.transfer(link, id, request),
            Request::Cancel(request) => self.cancel(link, id, request),
            _ => match self.answer(link, &mut request) {
                Ok(Given::Steps(session, steps)) => {
                    self.take_steps((link, id, handle), session, steps, body.len())
                }
                Ok(Given::Whole(mut response)) => {
                    let header = response.header_mut();
                    header.request_handle = handle;
                    header.timestamp = DateTime::from(self.now.utc);
                    self.respond_with(link, id, response);
                    Ok(())
                }
                Err(status) => Err(status),
            },
        };
        if let Err(status) = answered {
            if let Some(record) = &record {
                record.failed(service, status);
            }
            self.fault(link, id, handle, status);
        }
        if body.len() > DECODED_AT_ONCE {
            // What nobody took of it may take as long to forget as to decode.
            self.pool.forget(request);
        }
        true
    }

    /// Services that are answered at once, from decoded request to response, or one operation after another for a
    /// session.
    fn answer(&mut self, link: SlotId, request: &mut Request) -> Result<Given, StatusCode> {
        if let Some(response) = self.discover(link, request)? {
            return Ok(Given::Whole(response));
        }
        let token = space::raw(&request.header().authentication_token);
        let number = self.session_for(token, link)?;
        let session = self.sessions.get_mut(number);
        let session = session.ok_or(StatusCode::BadSessionIdInvalid)?;
        let mut desk = Desk {
            shared: &self.shared,
            id: number,
            session,
            subscriptions: &mut self.subscriptions,
            timers: &mut self.timers,
            now: self.now,
        };
        let answer = desk.answer(request);
        self.answer_publish(number);
        Ok(match answer? {
            Answered::Whole(response) => Given::Whole(response),
            Answered::Steps(steps) => Given::Steps(number, steps),
        })
    }

    /// Services that need no session.
    fn discover(&self, link: SlotId, request: &Request) -> Result<Option<Response>, StatusCode> {
        let response = match request {
            Request::FindServers(request) => {
                let urls = self.urls_for(link);
                let urls = urls.as_ref().unwrap_or(&self.shared.advertised.urls);
                discovery::find_servers(&self.shared, request, urls, self.now.mono).into()
            }
            Request::GetEndpoints(request) => {
                let urls = self.urls_for(link);
                discovery::get_endpoints(&self.shared, request, urls.as_ref()).into()
            }
            Request::RegisterServer(request) => {
                self.register_server(link, &request.server)?;
                RegisterServerResponse::default().into()
            }
            Request::RegisterServer2(request) => {
                self.register_server(link, &request.server)?;
                discovery::registered(request).into()
            }
            // Part 4, 5.5.3: of discovery servers that listen to their network, and without a session as well.
            Request::FindServersOnNetwork(_) => return Err(StatusCode::BadServiceUnsupported),
            _ => return Ok(None),
        };
        Ok(Some(response))
    }

    /// The URLs by which the client of a connection reaches this server, if they are not those of everybody.
    pub(super) fn urls_for(&self, link: SlotId) -> Option<Urls> {
        let link = self.links.get(link)?;
        let own = self.shared.config.identity.as_ref();
        let reached = link.socket.local();
        let advertised = &self.shared.advertised;
        advertised.for_client(own, &link.endpoint_url, reached)
    }

    /// Does the first of many operations, mostly all of them.
    pub(super) fn take_steps(
        &mut self,
        (link, id, handle): (SlotId, RequestId, u32),
        session: SlotId,
        mut steps: Steps,
        request: usize,
    ) -> Result<(), StatusCode> {
        let now = self.now;
        let (Some(there), Some(held)) = (self.links.get_mut(link), self.sessions.get_mut(session))
        else {
            return Ok(());
        };
        if request > DECODED_AT_ONCE {
            steps.forgotten_by(&self.pool);
        }
        steps.draw_on(&held.budget, request)?;
        let mut failed = None;
        let mut work = Work::turn();
        let mut steps = Box::new(steps);
        let mut desk = Desk {
            shared: &self.shared,
            id: session,
            session: held,
            subscriptions: &mut self.subscriptions,
            timers: &mut self.timers,
            now,
        };
        let sent = there.begin(id, handle, now, |out| {
            let start = out.len();
            steps.begin(handle, &desk, out);
            match steps.go_on(&mut desk, &mut work, PIECE, out) {
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
        if failed.is_some() {
            self.shared.counters.rejected_requests.add(1);
        }
        self.effort.add(work.spent());
        self.answer_publish(session);
        self.faults_changed();
        if let Err(error) = sent {
            self.not_sent(link, id, handle, &error);
        }
        Ok(())
    }

    fn register_server(&self, link: SlotId, server: &RegisteredServer) -> Result<(), StatusCode> {
        if !self.shared.config.discovery {
            return Err(StatusCode::BadServiceUnsupported);
        }
        let link = self.links.get(link);
        let peer = link.and_then(|link| link.connection.peer());
        self.shared.directory.register(server, peer, self.now.mono)
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
}

/// What became of a request that was looked at where it lies.
pub(super) enum Answer {
    /// It is answered, unless the answer is too long.
    Given {
        /// What was asked.
        type_id: u32,
        /// The request's handle.
        handle: u32,
        /// Work that it was.
        work: usize,
        /// Whether it went.
        sent: Result<(), SendError>,
    },
    /// It is answered bit by bit.
    Long {
        /// What was asked.
        type_id: u32,
        /// Work that it was up to now.
        work: usize,
        /// Where it stands.
        long: Box<Long>,
    },
    /// It is not one of those that are answered so.
    Later,
}

/// Answers a Read or a Write while it lies in the receive buffer. What is unusual about it is
/// left to [`EventLoop::request`], which begins anew. `held_to` is what a shared connection knows of its sessions' limits.
#[inline]
pub(super) fn answer_now(
    shared: &Shared,
    sessions: &mut Sessions,
    (channel, held_to): (u32, Option<&[(SlotId, u32)]>),
    body: &[u8],
    reply: &mut Reply<'_>,
    now: Now,
) -> Answer {
    let Ok(head) = RequestHead::parse(body) else {
        return Answer::Later;
    };
    if !matches!(head.type_id, type_id::READ_REQUEST | type_id::WRITE_REQUEST) {
        return Answer::Later;
    }
    let Ok(id) = sessions.find(head.authentication_token) else {
        return Answer::Later;
    };
    let Some(session) = sessions.get_mut(id) else {
        return Answer::Later;
    };
    let most = session.record.max_response;
    if most != 0 && held_to.is_some_and(|all| !all.contains(&(id, most))) {
        // Over a connection that does not know yet how long its answers may be.
        return Answer::Later;
    }
    if !session.protocol.is_active() || session.protocol.request(channel, now).is_err() {
        return Answer::Later;
    }
    let (type_id, handle) = (head.type_id, head.request_handle);
    let (mut rest, mut work) = (None, Work::turn());
    let begun = reply.begin(|out| {
        rest = answer_walked(shared, session, body, &head, now, &mut work, out);
        rest.is_some()
    });
    let work = work.spent();
    let sent = match (begun, rest) {
        (Ok(Some(unfinished)), Some(rest)) => {
            let long = Long::new((reply.id(), handle), unfinished, rest, reply.most());
            let long = Box::new(long);
            return Answer::Long {
                type_id,
                work,
                long,
            };
        }
        (begun, _) => begun.map(drop),
    };
    Answer::Given {
        type_id,
        handle,
        work,
        sent,
    }
}

/// Appends the response to a Read or Write, or a fault. There is a rest behind a piece of it, or when the work is over.
fn answer_walked(
    shared: &Shared,
    session: &Session,
    body: &[u8],
    head: &RequestHead<'_>,
    now: Now,
    work: &mut Work,
    out: &mut Vec<u8>,
) -> Option<Rest> {
    let rights = session.rights;
    let service = match head.type_id {
        type_id::READ_REQUEST => Service::Read,
        _ => Service::Write,
    };
    session.record.asked(Some(service), now.utc);
    let start = out.len();
    let by = shared
        .config
        .audit
        .then(|| By::new(&session.owner, body, head));
    let mut outcome = walk(shared, (rights, by.as_ref()), body, head, now, work, out);
    if let Err(Refusal::Walk(_)) = outcome {
        out.truncate(start);
        outcome = canonical(body, &shared.decoding)
            .map_err(Refusal::Status)
            .and_then(|body| {
                let head = &RequestHead::parse(&body)?;
                walk(shared, (rights, by.as_ref()), &body, head, now, work, out)
            });
    }
    let status = match outcome {
        Ok(rest) => return rest,
        Err(Refusal::Status(status)) => status,
        Err(Refusal::Walk(_)) => StatusCode::BadDecodingError,
    };
    session.record.failed(Some(service), status);
    shared.counters.rejected_requests.add(1);
    out.truncate(start);
    encode_fault(head.request_handle, status, now.utc, out);
    None
}

#[inline]
fn walk(
    shared: &Shared,
    (rights, by): (Rights, Option<&By>),
    body: &[u8],
    head: &RequestHead<'_>,
    now: Now,
    work: &mut Work,
    out: &mut Vec<u8>,
) -> Result<Option<Rest>, Refusal> {
    match head.type_id {
        type_id::READ_REQUEST => {
            let rest = read::answer(shared, rights, head, body, now, (PIECE, work), out);
            rest.map(|rest| rest.map(Rest::Read))
        }
        _ => {
            let rest = write::answer(shared, (rights, by), body, now, work, out);
            rest.map(|rest| rest.map(Rest::Write))
        }
    }
}
