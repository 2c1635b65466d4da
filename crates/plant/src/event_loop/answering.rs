//! Long answers over a connection: a part at a time, and what waits behind them.

use std::collections::VecDeque;

use wire::channel::SendError;
use wire::server::RequestId;
use wire::time::Now;
use wire::types::StatusCode;

use super::link::Link;
use super::long::{Long, QueuedResponse, Rest, ServerState, Way};
use super::response::{encode_fault, handle_of};
use super::{Account, PendingRequest};
use crate::fault::MessageFate;
use crate::service::steps::Work;

/// How a part of a long answer went.
enum Part {
    /// There is more to come.
    More,
    /// That was the last of it.
    Last,
    /// There will be no more, and the client is to be told so.
    Failed(StatusCode),
}

impl Link {
    /// Sends a response, or begins to: `write` gives what is left of it.
    pub fn begin(
        &mut self,
        account: Account,
        asked: PendingRequest,
        now: Now,
        write: impl FnOnce(&mut Vec<u8>) -> Option<Rest>,
    ) -> Result<(), SendError> {
        let PendingRequest { id, handle, .. } = asked;
        if let Some(long) = &mut self.here.long {
            let mut body = Vec::new();
            let rest = write(&mut body);
            long.behind.push_back(QueuedResponse {
                account,
                id,
                message: None,
                body,
                rest,
            });
            return Ok(());
        }
        if self.disturbed.is_some() {
            let mut body = Vec::new();
            return match write(&mut body) {
                None => self.respond(id, now.mono, |out| out.extend_from_slice(&body)),
                Some(rest) => self.begin_rest(account, (id, handle), body, rest, VecDeque::new()),
            };
        }
        let mut rest = None;
        let begun = self.connection.begin(id, |out| {
            rest = write(out);
            rest.is_some()
        })?;
        if let (Some(unfinished), Some(rest)) = (begun, rest) {
            let most = self.connection.most();
            let asked = (id, handle);
            self.here.long = Some(Box::new(Long::new(account, asked, unfinished, rest, most)));
        }
        Ok(())
    }

    fn begin_rest(
        &mut self,
        account: Account,
        (id, handle): (RequestId, u32),
        body: Vec<u8>,
        mut rest: Rest,
        behind: VecDeque<QueuedResponse>,
    ) -> Result<(), SendError> {
        rest.measure_within(body.len(), self.connection.most());
        let strays = self.disturbed.as_ref().is_some_and(|it| it.expects(id));
        let way = match strays {
            true => Way::Kept(body),
            false => {
                let begun = self.connection.begin(id, |out| {
                    out.extend_from_slice(&body);
                    true
                })?;
                Way::Out(begun.ok_or(SendError::NotOpen)?)
            }
        };
        self.here.long = Some(Box::new(Long {
            account,
            id,
            handle,
            way,
            rest,
            behind,
        }));
        Ok(())
    }

    /// All that may be written is: makes more. False if there is no more to be written now.
    pub fn make_more(&mut self, server: &mut ServerState<'_>, work: &mut Work) -> bool {
        // A piece may be less than a chunk, and what is sealed may wait for a chunk in front of it.
        while self.connection.backlog() == 0
            && !work.is_over()
            && let Some(long) = &mut self.here.long
        {
            let measured = long.rest.measure(server, work);
            if measured == Ok(true) {
                // Nothing of it is on its way yet.
                continue;
            }
            let mut failed = None;
            let mut write = |out: &mut Vec<u8>| match measured
                .and_then(|_| long.rest.write(server, work, out))
            {
                Ok(more) => more,
                Err(status) => {
                    failed = Some(status);
                    true
                }
            };
            let more = match &mut long.way {
                Way::Out(_) if measured.is_err() => Ok(write(&mut Vec::new())),
                Way::Kept(body) => Ok(write(body)),
                Way::Out(unfinished) => self.connection.send_more(unfinished, write),
            };
            let kept = matches!(long.way, Way::Kept(_));
            let part = match (more, failed) {
                // What a fault holds back is not taken by anybody.
                (Ok(true), None) if kept && self.settle().is_err() => {
                    Part::Failed(StatusCode::BadOutOfMemory)
                }
                (_, Some(status)) => Part::Failed(status),
                (Ok(true), _) => Part::More,
                (Ok(false), _) => Part::Last,
                (Err(SendError::TooLarge { .. }), _) => {
                    Part::Failed(StatusCode::BadResponseTooLarge)
                }
                // One whose channel has ended is nobody's.
                (Err(_), _) => Part::Last,
            };
            if !matches!(part, Part::More)
                && let Some(ended) = self.here.long.take()
            {
                self.end(*ended, part, server);
            }
        }
        !self.connection.pending().is_empty()
    }

    /// A long answer has ended: those behind it follow, up to the next long one.
    fn end(&mut self, ended: Long, part: Part, server: &ServerState<'_>) {
        let Long {
            account,
            id,
            handle,
            way,
            mut behind,
            ..
        } = ended;
        match (part, way) {
            (Part::Failed(status), Way::Out(unfinished)) if unfinished.has_begun() => {
                // One that is too large was aborted already.
                if status != StatusCode::BadResponseTooLarge {
                    let _ = self.connection.abort(id, status);
                }
                account.failed(server.shared, &server.store.sessions, handle, status);
            }
            (Part::Failed(status), _) => self.say(account, (id, handle), status, server),
            (_, Way::Kept(body)) => self.follow(account, (id, None), &body, server),
            (_, Way::Out(_)) => {
                if let Some(disturbed) = &mut self.disturbed {
                    disturbed.passed(&mut self.connection);
                }
            }
        }
        while let Some(next) = behind.pop_front() {
            let QueuedResponse {
                account,
                id,
                message,
                body,
                rest,
            } = next;
            let Some(rest) = rest else {
                self.follow(account, (id, message), &body, server);
                continue;
            };
            // A channel that has ended needs none of them.
            let handle = handle_of(&body);
            let _ = self.begin_rest(account, (id, handle), body, rest, behind);
            return;
        }
    }

    fn follow(
        &mut self,
        account: Account,
        (id, message): (RequestId, Option<(u32, MessageFate)>),
        body: &[u8],
        server: &ServerState<'_>,
    ) {
        let write = |out: &mut Vec<u8>| out.extend_from_slice(body);
        let sent = self.respond_as(id, message, server.now.mono, write);
        if let Err(SendError::TooLarge { .. }) = sent {
            let asked = (id, handle_of(body));
            self.say(account, asked, StatusCode::BadResponseTooLarge, server);
        }
    }

    /// A fault of a few bytes fits into every agreement.
    fn say(
        &mut self,
        account: Account,
        (id, handle): (RequestId, u32),
        status: StatusCode,
        server: &ServerState<'_>,
    ) {
        account.failed(server.shared, &server.store.sessions, handle, status);
        let _ = self.respond(id, server.now.mono, |out| {
            encode_fault(handle, status, server.now.utc, out);
        });
    }
}
