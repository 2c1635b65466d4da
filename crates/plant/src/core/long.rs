//! An answer that is too long to be made in one go: it is made as the client takes it.
//!
//! Who asks for megabytes and does not read costs a few chunks of memory then, and others do not wait while all of it is
//! put together. What else there is to send meanwhile waits: chunks of two messages are not mixed.

use wire::channel::SendError;
use wire::server::{Connection, RequestId, Unfinished};
use wire::time::Now;
use wire::types::StatusCode;

use super::link::Link;
use super::request::{encode_fault, handle_of};
use crate::fault::MessageFate;
use crate::service::read::Rest;
use crate::shared::Shared;

/// Bytes of an answer that are made at once; the last value of them may be longer.
pub const PIECE: usize = 64 * 1024;

/// A response that waits for the end of another one.
#[derive(Debug)]
struct Behind {
    id: RequestId,
    /// It is a message of this subscription, with this fate.
    message: Option<(u32, MessageFate)>,
    body: Vec<u8>,
}

/// A long answer on its way.
#[derive(Debug)]
pub struct Long {
    unfinished: Unfinished,
    rest: Box<Rest>,
    behind: Vec<Behind>,
}

impl Long {
    /// Something is written, and there is a rest.
    pub fn new(unfinished: Unfinished, rest: Box<Rest>) -> Self {
        Self {
            unfinished,
            rest,
            behind: Vec::new(),
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
        self.behind.push(Behind { id, message, body });
    }

    /// Bytes that wait to be written.
    pub fn bytes(&self) -> usize {
        let behind = self.behind.iter().map(|behind| behind.body.len());
        self.unfinished.written() + behind.sum::<usize>()
    }

    /// Makes the next piece; true if there are more.
    fn go_on(&mut self, connection: &mut Connection, shared: &Shared, now: Now) -> bool {
        let rest = &mut self.rest;
        let write = |out: &mut Vec<u8>| rest.write(shared, now, PIECE, out);
        // One that became too large meanwhile was aborted, and one whose channel has ended is nobody's.
        connection
            .go_on(&mut self.unfinished, write)
            .unwrap_or(false)
    }
}

impl Link {
    /// All that may be written is: makes more. False if there is no more to be written now.
    pub fn go_on(&mut self, shared: &Shared, now: Now) -> bool {
        // A piece may be less than a chunk, and what is sealed may wait for a chunk in front of it.
        while self.connection.backlog() == 0
            && let Some(long) = &mut self.long
        {
            if !long.go_on(&mut self.connection, shared, now)
                && let Some(ended) = self.long.take()
            {
                for behind in ended.behind {
                    self.follow(behind, now);
                }
            }
        }
        !self.connection.pending().is_empty()
    }

    fn follow(&mut self, behind: Behind, now: Now) {
        let Behind { id, message, body } = behind;
        let sent = self.respond_as(id, message, now.mono, |out| out.extend_from_slice(&body));
        if let Err(SendError::TooLarge { .. }) = sent {
            // A fault of a few bytes fits into every agreement.
            let _ = self.respond(id, now.mono, |out| {
                encode_fault(
                    handle_of(&body),
                    StatusCode::BadResponseTooLarge,
                    now.utc,
                    out,
                );
            });
        }
    }
}
