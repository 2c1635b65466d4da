//! An answer that is too long to be made in one go: it is made as the client takes it, and a part at a time.
//!
//! Who asks for megabytes and does not read costs a few chunks of memory then, and others do not wait while all of it is
//! put together. What else there is to send meanwhile waits: chunks of two messages are not mixed.

use std::collections::VecDeque;

use wire::channel::SendError;
use wire::server::{RequestId, Unfinished};
use wire::time::Now;
use wire::types::StatusCode;

use super::link::Link;
use super::request::{encode_fault, handle_of};
use super::{SlotId, Slots, Subscriptions, Timers};
use crate::fault::MessageFate;
use crate::service::steps::{Steps, Work};
use crate::service::{Desk, read};
use crate::session::Session;
use crate::shared::Shared;

/// Bytes of an answer that are made at once; the last value of them may be longer.
pub const PIECE: usize = 64 * 1024;

/// What answers are made with.
pub struct Hall<'a> {
    pub shared: &'a Shared,
    pub sessions: &'a mut Slots<Session>,
    pub subscriptions: &'a mut Subscriptions,
    pub timers: &'a mut Timers,
    pub now: Now,
}

/// What of an answer is not made yet.
#[derive(Debug)]
pub enum Rest {
    /// Values.
    Read(Box<read::Rest>),
    /// Operations for a session.
    Steps(SlotId, Box<Steps>),
}

impl Rest {
    /// Appends about [`PIECE`] more, or less if the work of a turn is over. True if there is more to come.
    pub fn write(
        &mut self,
        hall: &mut Hall<'_>,
        work: &mut Work,
        out: &mut Vec<u8>,
    ) -> Result<bool, StatusCode> {
        let (id, steps) = match self {
            Self::Read(rest) => return Ok(rest.write(hall.shared, hall.now, PIECE, out)),
            Self::Steps(id, steps) => (*id, steps),
        };
        let session = hall.sessions.get_mut(id);
        let mut desk = Desk {
            shared: hall.shared,
            id,
            session: session.ok_or(StatusCode::BadSessionClosed)?,
            subscriptions: hall.subscriptions,
            timers: hall.timers,
            now: hall.now,
        };
        steps.go_on(&mut desk, work, PIECE, out)
    }

    /// The answer has so many bytes already, and may have so many.
    fn measure_within(&mut self, bytes: usize, most: usize) {
        if let Self::Read(rest) = self
            && most < usize::MAX
        {
            rest.measure_within(bytes, most);
        }
    }

    /// Whether there is more to be measured before anything is written.
    fn measure(&mut self, hall: &Hall<'_>, work: &mut Work) -> Result<bool, StatusCode> {
        match self {
            Self::Read(rest) => rest.measure(hall.shared, PIECE, work),
            Self::Steps(..) => Ok(false),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Read(_) => 0,
            Self::Steps(_, steps) => steps.bytes(),
        }
    }
}

/// A response that waits for the end of another one.
#[derive(Debug)]
struct Behind {
    id: RequestId,
    /// It is a message of this subscription, with this fate.
    message: Option<(u32, MessageFate)>,
    body: Vec<u8>,
    rest: Option<Rest>,
}

/// Where a long answer goes.
#[derive(Debug)]
enum Way {
    /// To the client, as it is made.
    Out(Unfinished),
    /// It is kept until it is whole: a fault has its way with it then.
    Kept(Vec<u8>),
}

/// A long answer on its way.
#[derive(Debug)]
pub struct Long {
    id: RequestId,
    handle: u32,
    way: Way,
    rest: Rest,
    behind: VecDeque<Behind>,
}

impl Long {
    /// Something is written, and there is a rest. The client takes a response of at most so many bytes.
    pub fn new(
        (id, handle): (RequestId, u32),
        unfinished: Unfinished,
        mut rest: Rest,
        most: usize,
    ) -> Self {
        rest.measure_within(unfinished.written(), most);
        Self {
            id,
            handle,
            way: Way::Out(unfinished),
            rest,
            behind: VecDeque::new(),
        }
    }

    /// Keeps a response until this one has ended.
    pub fn keep(
        &mut self,
        id: RequestId,
        message: Option<(u32, MessageFate)>,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let mut body = Vec::new();
        write(&mut body);
        self.behind.push_back(Behind {
            id,
            message,
            body,
            rest: None,
        });
    }

    /// The session that operations are done for.
    pub fn session(&self) -> Option<SlotId> {
        match &self.rest {
            Rest::Read(_) => None,
            Rest::Steps(session, _) => Some(*session),
        }
    }

    /// Bytes that wait to be written.
    pub fn bytes(&self) -> usize {
        let behind = self.behind.iter();
        let behind = behind.map(|it| it.body.len() + it.rest.as_ref().map_or(0, Rest::bytes));
        let own = match &self.way {
            Way::Out(unfinished) => unfinished.written(),
            Way::Kept(body) => body.len(),
        };
        own + self.rest.bytes() + behind.sum::<usize>()
    }
}

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
        id: RequestId,
        handle: u32,
        now: Now,
        write: impl FnOnce(&mut Vec<u8>) -> Option<Rest>,
    ) -> Result<(), SendError> {
        if let Some(long) = &mut self.long {
            let mut body = Vec::new();
            let rest = write(&mut body);
            long.behind.push_back(Behind {
                id,
                message: None,
                body,
                rest,
            });
            return Ok(());
        }
        if self.astray.is_some() {
            let mut body = Vec::new();
            return match write(&mut body) {
                None => self.respond(id, now.mono, |out| out.extend_from_slice(&body)),
                Some(rest) => self.begin_rest((id, handle), body, rest, VecDeque::new()),
            };
        }
        let mut rest = None;
        let begun = self.connection.begin(id, |out| {
            rest = write(out);
            rest.is_some()
        })?;
        if let (Some(unfinished), Some(rest)) = (begun, rest) {
            let most = self.connection.most();
            self.long = Some(Box::new(Long::new((id, handle), unfinished, rest, most)));
        }
        Ok(())
    }

    fn begin_rest(
        &mut self,
        (id, handle): (RequestId, u32),
        body: Vec<u8>,
        mut rest: Rest,
        behind: VecDeque<Behind>,
    ) -> Result<(), SendError> {
        rest.measure_within(body.len(), self.connection.most());
        let strays = self.astray.as_ref().is_some_and(|it| it.expects(id));
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
        self.long = Some(Box::new(Long {
            id,
            handle,
            way,
            rest,
            behind,
        }));
        Ok(())
    }

    /// All that may be written is: makes more. False if there is no more to be written now.
    pub fn go_on(&mut self, hall: &mut Hall<'_>, work: &mut Work) -> bool {
        // A piece may be less than a chunk, and what is sealed may wait for a chunk in front of it.
        while self.connection.backlog() == 0
            && !work.is_over()
            && let Some(long) = &mut self.long
        {
            let measured = long.rest.measure(hall, work);
            if measured == Ok(true) {
                // Nothing of it is on its way yet.
                continue;
            }
            let mut failed = None;
            let mut write =
                |out: &mut Vec<u8>| match measured.and_then(|_| long.rest.write(hall, work, out)) {
                    Ok(more) => more,
                    Err(status) => {
                        failed = Some(status);
                        true
                    }
                };
            let more = match &mut long.way {
                Way::Out(_) if measured.is_err() => Ok(write(&mut Vec::new())),
                Way::Kept(body) => Ok(write(body)),
                Way::Out(unfinished) => self.connection.go_on(unfinished, write),
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
                && let Some(ended) = self.long.take()
            {
                self.end(*ended, part, hall.now);
            }
        }
        !self.connection.pending().is_empty()
    }

    /// A long answer has ended: those behind it follow, up to the next long one.
    fn end(&mut self, ended: Long, part: Part, now: Now) {
        let Long {
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
            }
            (Part::Failed(status), _) => self.say(id, handle, status, now),
            (_, Way::Kept(body)) => self.follow(id, None, &body, now),
            (_, Way::Out(_)) => {
                if let Some(astray) = &mut self.astray {
                    astray.passed(&mut self.connection);
                }
            }
        }
        while let Some(next) = behind.pop_front() {
            let Behind {
                id,
                message,
                body,
                rest,
            } = next;
            let Some(rest) = rest else {
                self.follow(id, message, &body, now);
                continue;
            };
            // A channel that has ended needs none of them.
            let handle = handle_of(&body);
            let _ = self.begin_rest((id, handle), body, rest, behind);
            return;
        }
    }

    fn follow(
        &mut self,
        id: RequestId,
        message: Option<(u32, MessageFate)>,
        body: &[u8],
        now: Now,
    ) {
        let sent = self.respond_as(id, message, now.mono, |out| out.extend_from_slice(body));
        if let Err(SendError::TooLarge { .. }) = sent {
            self.say(id, handle_of(body), StatusCode::BadResponseTooLarge, now);
        }
    }

    /// A fault of a few bytes fits into every agreement.
    fn say(&mut self, id: RequestId, handle: u32, status: StatusCode, now: Now) {
        let _ = self.respond(id, now.mono, |out| {
            encode_fault(handle, status, now.utc, out);
        });
    }
}
