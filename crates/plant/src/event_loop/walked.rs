//! Read and Write: services that are answered while the request is walked; nothing is built in between.

use wire::channel::SendError;
use wire::server::Reply;
use wire::template::walk::{RequestHead, type_id};
use wire::time::Now;
use wire::types::StatusCode;

use super::long::{Long, PIECE, Rest};
use super::response::encode_fault;
use super::session_table::Sessions;
use super::work_recorder::WorkRecorder;
use super::{Account, PendingRequest, Responder, SlotId};
use crate::service::served::{Route, Served};
use crate::service::session::Session;
use crate::service::steps::Work;
use crate::service::write::By;
use crate::service::{Refusal, canonical, read, write};
use crate::shared::Shared;
use crate::space::Rights;

/// Work of a request that is answered where it lies, whatever it asks for.
const REQUEST: usize = 2;

impl Responder {
    /// Services that are answered while the request is read: nothing is built in between. Tells how much work it was.
    pub(super) fn walk(
        &mut self,
        account: Account,
        asked: PendingRequest,
        session: SlotId,
        body: &[u8],
        head: &RequestHead<'_>,
    ) -> usize {
        let (shared, now) = (&self.shared, self.now);
        let (Some(there), Some(held)) = (
            self.connections.links.get_mut(asked.link),
            self.store.sessions.get(session),
        ) else {
            return 0;
        };
        let mut work = Work::turn();
        let sent = there.begin(account, asked, now, |out| {
            answer_walked(shared, (account, held), body, head, now, &mut work, out)
        });
        if let Err(error) = sent {
            self.not_sent(account, asked, &error);
        }
        work.spent()
    }
}

/// What became of a request that was looked at where it lies.
pub(super) enum Answer {
    /// It is answered.
    Given,
    /// Its answer did not go.
    NotSent {
        /// By whom it was asked.
        account: Account,
        /// The request's handle.
        handle: u32,
        /// Why not.
        error: SendError,
    },
    /// It is answered bit by bit.
    Long(Box<Long>),
    /// It is not one of those that are answered so.
    Later,
}

/// Answers a Read or a Write while it lies in the receive buffer. What is unusual about it is
/// left to [`EventLoop::request`](super::EventLoop::request), which begins anew. `held_to` is what a shared connection knows of its sessions' limits.
#[inline]
pub(super) fn answer_now(
    (shared, now): (&Shared, Now),
    (sessions, work_recorder): (&mut Sessions, &mut WorkRecorder),
    (channel, held_to): (u32, Option<&[(SlotId, u32)]>),
    body: &[u8],
    reply: &mut Reply<'_>,
) -> Answer {
    let entry = work_recorder.begin(true, &shared.clock);
    let Ok(head) = RequestHead::parse(body) else {
        return Answer::Later;
    };
    let served = Served::by_type(head.type_id).filter(|it| matches!(it.route, Route::Walked));
    let Some(served) = served else {
        return Answer::Later;
    };
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
    let handle = head.request_handle;
    let account = Account::of(id, served.counted);
    account.came(&session.record, now);
    let (mut rest, mut work) = (None, Work::turn());
    let begun = reply.begin(|out| {
        let whose = (account, &*session);
        rest = answer_walked(shared, whose, body, &head, now, &mut work, out);
        rest.is_some()
    });
    // Of one that is answered bit by bit the parts are counted.
    let own = if rest.is_some() { 0 } else { REQUEST };
    work_recorder.end(entry, served.task, own + work.spent(), &shared.clock);
    work_recorder.came(served.type_id, &shared.faults);
    match (begun, rest) {
        (Ok(Some(unfinished)), Some(rest)) => {
            let asked = (reply.id(), handle);
            let long = Long::new(account, asked, unfinished, rest, reply.most());
            Answer::Long(Box::new(long))
        }
        (Ok(_), _) => Answer::Given,
        (Err(error), _) => Answer::NotSent {
            account,
            handle,
            error,
        },
    }
}

/// Appends the response to a Read or Write, or a fault. There is a rest behind a piece of it, or when the work is over.
/// Part of whatever calls it: its arguments would cost as much as the rest of the way to a small Read.
#[inline(always)]
fn answer_walked(
    shared: &Shared,
    (account, session): (Account, &Session),
    body: &[u8],
    head: &RequestHead<'_>,
    now: Now,
    work: &mut Work,
    out: &mut Vec<u8>,
) -> Option<Rest> {
    let start = out.len();
    let by = shared
        .config
        .audit
        .then(|| By::new(&session.owner, body, head));
    let whose = (session.rights, by.as_ref());
    walk(shared, whose, body, head, now, work, out).unwrap_or_else(|refusal| {
        out.truncate(start);
        match answer_canonical((shared, whose, work), refusal, body, now, out) {
            Ok(rest) => rest,
            Err(status) => {
                account.refused(Some(&session.record), shared, head.request_handle, status);
                out.truncate(start);
                encode_fault(head.request_handle, status, now.utc, out);
                None
            }
        }
    })
}

/// Tries it once more, if all that is wrong with a request may be that it is spelled out in another way than usual.
#[cold]
fn answer_canonical(
    (shared, whose, work): (&Shared, (Rights, Option<&By>), &mut Work),
    refusal: Refusal,
    body: &[u8],
    now: Now,
    out: &mut Vec<u8>,
) -> Result<Option<Rest>, StatusCode> {
    if let Refusal::Status(status) = refusal {
        return Err(status);
    }
    let body = canonical(body, &shared.decoding)?;
    let head = RequestHead::parse(&body).map_err(|_| StatusCode::BadDecodingError)?;
    walk(shared, whose, &body, &head, now, work, out).map_err(|refusal| match refusal {
        Refusal::Status(status) => status,
        Refusal::Walk(_) => StatusCode::BadDecodingError,
    })
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
