//! An answer that is too long to be made in one go: it is made as the client takes it, and a part at a time.
//!
//! Who asks for megabytes and does not read costs a few chunks of memory then, and others do not wait while all of it is
//! put together. What else there is to send meanwhile waits: chunks of two messages are not mixed.

use std::collections::VecDeque;

use wire::server::{RequestId, Unfinished};
use wire::time::Now;
use wire::types::StatusCode;

use super::store::SessionStore;
use super::{Account, SlotId};
use crate::fault::MessageFate;
use crate::service::steps::{Steps, Work};
use crate::service::{read, write};
use crate::shared::Shared;

/// Bytes of an answer that are made at once; the last value of them may be longer.
pub const PIECE: usize = 64 * 1024;

/// What answers are made with.
pub struct ServerState<'a> {
    pub shared: &'a Shared,
    pub store: &'a mut SessionStore,
    pub now: Now,
}

/// What of an answer is not made yet.
#[derive(Debug)]
pub enum Rest {
    /// Values.
    Read(Box<read::Rest>),
    /// Values that are still to be written.
    Write(Box<write::Rest>),
    /// Operations for a session.
    Steps(SlotId, Box<Steps>),
}

impl Rest {
    /// Appends about [`PIECE`] more, or less if the work of a turn is over. True if there is more to come.
    pub fn write(
        &mut self,
        server: &mut ServerState<'_>,
        work: &mut Work,
        out: &mut Vec<u8>,
    ) -> Result<bool, StatusCode> {
        let (id, steps) = match self {
            Self::Read(rest) => {
                return Ok(rest.write(server.shared, server.now, PIECE, work, out));
            }
            Self::Write(rest) => return Ok(rest.write(server.shared, server.now, work, out)),
            Self::Steps(id, steps) => (*id, steps),
        };
        let context = server.store.context(server.shared, id, server.now);
        let mut context = context.ok_or(StatusCode::BadSessionClosed)?;
        steps.do_more(&mut context, work, PIECE, out)
    }

    /// The answer has so many bytes already, and may have so many.
    pub fn measure_within(&mut self, bytes: usize, most: usize) {
        if let Self::Read(rest) = self
            && most < usize::MAX
        {
            rest.measure_within(bytes, most);
        }
    }

    /// Whether there is more to be measured or looked at before anything is written.
    pub fn measure(
        &mut self,
        server: &ServerState<'_>,
        work: &mut Work,
    ) -> Result<bool, StatusCode> {
        match self {
            Self::Read(rest) => rest.measure(server.shared, PIECE, work),
            Self::Write(rest) => rest.look(server.shared, work),
            Self::Steps(..) => Ok(false),
        }
    }

    /// Bytes that are kept for it: of the request, or made and not given yet.
    fn bytes(&self) -> usize {
        match self {
            Self::Read(rest) => rest.bytes(),
            Self::Write(rest) => rest.bytes(),
            Self::Steps(_, steps) => steps.bytes(),
        }
    }
}

/// A response that waits for the end of another one.
#[derive(Debug)]
pub struct QueuedResponse {
    pub account: Account,
    pub id: RequestId,
    /// It is a message of this subscription, with this fate.
    pub message: Option<(u32, MessageFate)>,
    pub body: Vec<u8>,
    /// It is a long one itself.
    pub rest: Option<Rest>,
}

/// Where a long answer goes.
#[derive(Debug)]
pub enum Way {
    /// To the client, as it is made.
    Out(Unfinished),
    /// It is kept until it is whole: a fault has its way with it then.
    Kept(Vec<u8>),
}

/// A long answer on its way.
#[derive(Debug)]
pub struct Long {
    pub account: Account,
    pub id: RequestId,
    pub handle: u32,
    pub way: Way,
    pub rest: Rest,
    pub behind: VecDeque<QueuedResponse>,
}

impl Long {
    /// Something is written, and there is a rest. The client takes a response of at most so many bytes.
    pub fn new(
        account: Account,
        (id, handle): (RequestId, u32),
        unfinished: Unfinished,
        mut rest: Rest,
        most: usize,
    ) -> Self {
        rest.measure_within(unfinished.written(), most);
        Self {
            account,
            id,
            handle,
            way: Way::Out(unfinished),
            rest,
            behind: VecDeque::new(),
        }
    }

    /// Keeps a response until this one has ended. Nobody is counted if it turns out too long: it is not known any more whose it is.
    pub fn keep(
        &mut self,
        id: RequestId,
        message: Option<(u32, MessageFate)>,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let mut body = Vec::new();
        write(&mut body);
        self.behind.push_back(QueuedResponse {
            account: Account::NOBODY,
            id,
            message,
            body,
            rest: None,
        });
    }

    /// The session that operations are done for.
    pub fn session(&self) -> Option<SlotId> {
        match &self.rest {
            Rest::Read(_) | Rest::Write(_) => None,
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
