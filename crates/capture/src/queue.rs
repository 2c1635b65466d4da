//! What happened on connections, between those who saw it and the one who writes it.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use wire::channel::TokenKeys;

use crate::conversation::{Ends, Numbers, Side};

/// Keys and the ends of connections may take so much more: little is of use without them.
const RESERVE: usize = 4 * 1024 * 1024;
/// What an event takes beside the bytes that it carries.
const EVENT: usize = 128;

/// Something to be written.
pub enum Event {
    /// A connection was made.
    Opened { at: u64, ends: Ends, first: Numbers },
    /// A side sent bytes.
    Carried {
        at: u64,
        ends: Ends,
        from: Side,
        next: Numbers,
        bytes: Box<[u8]>,
    },
    /// A connection is over.
    Closed {
        at: u64,
        ends: Ends,
        first: Side,
        next: Numbers,
    },
    /// A channel has new keys.
    Keys(Box<TokenKeys>),
    /// Nothing more comes.
    Finish,
}

impl Event {
    fn weight(&self) -> usize {
        match self {
            Self::Carried { bytes, .. } => EVENT + bytes.len(),
            Self::Keys(_) => 2 * EVENT,
            _ => EVENT,
        }
    }
}

/// What is shared by all who record and the one who writes.
pub struct Queue {
    sender: Sender<Event>,
    waiting: AtomicUsize,
    connections: AtomicU32,
    /// Nothing more is written: there is no room, or it is over.
    closed: AtomicBool,
    missed: AtomicU64,
    most: usize,
}

impl Queue {
    /// Nothing waits yet; at most so many bytes may. The other end takes them.
    pub fn new(most: usize) -> (Self, Receiver<Event>) {
        let (sender, events) = channel();
        let queue = Self {
            sender,
            waiting: AtomicUsize::new(0),
            connections: AtomicU32::new(0),
            closed: AtomicBool::new(false),
            missed: AtomicU64::new(0),
            most,
        };
        (queue, events)
    }

    /// The number of a connection.
    pub fn number(&self) -> u32 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }

    /// Bytes, which are only copied if they can be kept.
    pub fn carried(&self, bytes: usize, event: impl FnOnce() -> Event) {
        let full = self.waiting.load(Ordering::Relaxed).saturating_add(bytes) > self.most;
        if full || self.is_closed() {
            self.missed.fetch_add(bytes as u64, Ordering::Relaxed);
            return;
        }
        self.pass(event());
    }

    /// What is of more use than bytes.
    pub fn send(&self, event: Event) {
        let room = self.waiting.load(Ordering::Relaxed) < self.most.saturating_add(RESERVE);
        if room && !self.is_closed() {
            self.pass(event);
        }
    }

    /// The end, whatever waits before it.
    pub fn finish(&self) {
        self.pass(Event::Finish);
    }

    fn pass(&self, event: Event) {
        self.waiting.fetch_add(event.weight(), Ordering::Relaxed);
        // Nobody takes it any more: it is over.
        let _ = self.sender.send(event);
    }

    /// The writer took it.
    pub fn took(&self, event: &Event) {
        self.waiting.fetch_sub(event.weight(), Ordering::Relaxed);
    }

    /// Nothing more can be written; these bytes were not.
    pub fn close(&self, missed: u64) {
        self.closed.store(true, Ordering::Relaxed);
        self.missed.fetch_add(missed, Ordering::Relaxed);
    }

    /// Bytes of connections that were not and will not be written.
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    /// Bytes that wait.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }
}
