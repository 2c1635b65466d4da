//! What a connection is to the loop that has it: its turn, its timers, the loop's sessions, and what is under way. It is made anew
//! in the loop that the connection moves to, so that nothing of another loop is taken for something of this one.

use wire::server::RequestId;
use wire::time::Instant;

use super::SlotId;
use super::long::Long;
use super::ready::Ready;

/// Whether what comes on a connection is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Turn {
    /// As it comes.
    #[default]
    Open,
    /// Not until its answers were taken, or what it waits for is done.
    Paused,
    /// Not until it is its turn among those that have more to write although nothing happens on them.
    Queued,
}

/// What helpers do for a request of a connection. What comes behind it waits, so that each connection has one of them at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HelperTask {
    /// Nothing.
    #[default]
    None,
    /// They are at a signature, a password or certificates.
    Proving,
    /// They decode a request of so many bytes.
    Decoding(usize),
}

/// What a loop knows of a connection.
#[derive(Debug, Default)]
pub struct ConnectionState {
    /// Whether its requests are looked at.
    pub turn: Turn,
    /// What helpers do for it.
    pub helper_task: HelperTask,
    /// Steps of its channel that helpers are at.
    pub busy: u32,
    /// An answer that is made as it is taken.
    pub long: Option<Box<Long>>,
    /// It is to move to another loop with this request, once nothing is under way for it.
    pub leaving: Option<(RequestId, Vec<u8>)>,
    /// The longest responses that its sessions take (Part 4, 5.7.2), of those that do not take any.
    pub limits: Vec<(SlotId, u32)>,
    /// What happened on it that it was not looked at for, as it has no session yet.
    pub waiting: Option<Ready>,
    /// When it is looked at next.
    pub timer: Option<Instant>,
    /// When what is held back is looked at next.
    pub release: Option<Instant>,
    /// Work that was done for it in which turn.
    worked: (u64, usize),
    /// Sessions whose Publish requests are answered when it has taken what waits.
    owed: Vec<SlotId>,
}

impl ConnectionState {
    /// Whether nothing more is read of it for now.
    #[inline]
    pub fn is_paused(&self) -> bool {
        self.turn != Turn::Open
    }

    /// Nothing more is read of it for now.
    #[inline]
    pub fn pause(&mut self) {
        if self.turn == Turn::Open {
            self.turn = Turn::Paused;
        }
    }

    /// More is read of it, unless it waits for its turn.
    pub fn go_on_reading(&mut self) {
        if self.turn == Turn::Paused {
            self.turn = Turn::Open;
        }
    }

    /// Whether something has to be done first for what it asked before.
    #[inline]
    pub fn waits(&self) -> bool {
        self.long.is_some() || self.leaving.is_some() || self.helper_task != HelperTask::None
    }

    /// Whether something is under way for it: it cannot move then.
    pub fn is_engaged(&self) -> bool {
        self.busy > 0 || self.long.is_some() || self.helper_task != HelperTask::None
    }

    /// Work that was done for it in this turn.
    pub fn worked(&self, turn: u64) -> usize {
        match self.worked {
            (of, work) if of == turn => work,
            _ => 0,
        }
    }

    /// So much work was done for it in this turn.
    pub fn has_worked(&mut self, turn: u64, work: usize) {
        self.worked = (turn, work);
    }

    /// A session goes on to publish when its client has taken what waits.
    pub fn owes(&mut self, session: SlotId) {
        if !self.owed.contains(&session) {
            self.owed.push(session);
        }
    }

    /// Whether no session waits for that.
    pub fn owes_nobody(&self) -> bool {
        self.owed.is_empty()
    }

    /// Those sessions; they wait no more.
    pub fn owed(&mut self) -> Vec<SlotId> {
        std::mem::take(&mut self.owed)
    }
}
