//! A session's place in a loop.

use record::samples::Sheet;
use record::{Ledger, NotificationLedger};

use super::host::Host;
use super::lane::Lane;
use super::recorder::Recorder;

/// What a first read takes; a session that fills it gets more.
const ROOM: usize = 4 * 1024;
/// What a read takes at most.
pub const MOST_ROOM: usize = 256 * 1024;

/// A session's place in a loop.
pub struct Seat<S> {
    /// Which of all sessions it is.
    pub index: usize,
    /// Its target.
    pub target: usize,
    /// Its first ledger.
    pub base: usize,
    /// Its socket.
    pub socket: S,
    /// What it does.
    pub lane: Lane,
    /// When it is in the queue of those that are due.
    pub queued: Option<u64>,
    /// How much is read at once.
    pub room: usize,
    /// The connection is usable.
    pub alive: bool,
    /// When it was lost.
    pub lost: u64,
    /// A step of its channel is with the helpers.
    pub busy: bool,
    /// Bytes and messages received until its answers' size is known.
    pub coalescing: Coalescing,
}

/// Whether a socket rings for each answer or for several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coalescing {
    /// For each.
    Off,
    /// Bytes received so far; answers received so far.
    Learning(usize, u64),
    /// For several.
    On,
}

impl<S> Seat<S> {
    /// A place for a session with a target that writes to ledgers from `base` on.
    pub fn new(index: usize, target: usize, base: usize, socket: S, lane: Lane) -> Self {
        Self {
            index,
            target,
            base,
            socket,
            lane,
            queued: None,
            room: ROOM,
            alive: true,
            lost: 0,
            busy: false,
            coalescing: Coalescing::Off,
        }
    }

    /// Once the size of an answer is known, the socket is to ring for `many` of them.
    pub fn learn<H>(&mut self, host: &mut H, bytes: usize, answers: usize, many: u32)
    where
        H: Host<Socket = S>,
    {
        let Coalescing::Learning(so_far, before) = self.coalescing else {
            return;
        };
        let (so_far, answers) = (so_far + bytes, before + answers as u64);
        self.coalescing = Coalescing::Learning(so_far, answers);
        if answers >= LEARNT {
            let each = so_far / answers as usize;
            self.coalescing = match host.low_water(&self.socket, each * many as usize) {
                true => Coalescing::On,
                false => Coalescing::Off,
            };
        }
    }
}

/// Where a session writes.
pub fn recorder<'a, S>(
    ledgers: &'a mut [Ledger],
    sheet: &'a mut Option<Sheet>,
    notification_ledger: &'a mut Option<NotificationLedger>,
    seat: &Seat<S>,
) -> Recorder<'a> {
    Recorder {
        ledgers: ledgers.get_mut(seat.base..).unwrap_or_default(),
        sheet: sheet.as_mut(),
        target: seat.target,
        notification_ledger: notification_ledger.as_mut(),
    }
}

/// Answers after which their size is taken as known.
const LEARNT: u64 = 8;
