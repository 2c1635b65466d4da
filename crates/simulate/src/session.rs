//! A client with its session and subscription, on both sides.

/// Publish requests and messages of one session that are under way, at most.
pub const WINDOW: usize = 8;

/// Up to eight of something, first in, first out.
#[derive(Debug, Clone, Copy, Default)]
pub struct SmallQueue<T> {
    all: [T; WINDOW],
    first: u8,
    len: u8,
}

impl<T: Copy> SmallQueue<T> {
    /// Puts one behind the others; nothing where there is no room.
    #[inline]
    pub fn push(&mut self, it: T) {
        if usize::from(self.len) < WINDOW {
            self.all[(self.first + self.len) as usize % WINDOW] = it;
            self.len += 1;
        }
    }

    /// The first.
    #[inline]
    pub fn first(&self) -> Option<T> {
        (self.len > 0).then(|| self.all[self.first as usize % WINDOW])
    }

    /// Takes the first.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let first = self.first()?;
        self.first = (self.first + 1) % WINDOW as u8;
        self.len -= 1;
        Some(first)
    }
}

/// A notification message.
#[derive(Debug, Clone, Copy, Default)]
pub struct Message {
    /// When its publishing interval was over.
    pub due: u64,
    /// When its values changed.
    pub fresh: u64,
    /// When it was sent.
    pub sent: u64,
}

/// Where a client is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SessionState {
    /// It has a session over a connection.
    #[default]
    Connected,
    /// It tries to connect.
    Connecting,
    /// It waits for its next attempt.
    Away,
}

/// What waits on the server's side because something before it was lost.
#[derive(Debug, Default)]
pub struct Stall {
    /// Messages in their order, each with the bytes that are still to be carried.
    pub messages: std::collections::VecDeque<(Message, u64)>,
    /// How often the first was sent again.
    pub tries: u32,
}

/// A client with its session.
#[derive(Debug, Default)]
pub struct Session {
    pub node: u32,
    pub kind: u32,
    /// Its number among those of its server.
    pub number: u32,
    /// The recorder that it is written down in.
    pub recorder: u32,
    /// Of the connection: raised when it is lost, or an attempt is given up.
    pub epoch: u16,
    /// Of the subscription: raised when there is a new one, or none any more.
    pub life: u16,

    // The client.
    pub state: SessionState,
    pub step: u8,
    pub resumes: bool,
    /// Attempts since it was connected.
    pub attempts: u8,
    /// How often a step was sent again.
    pub tries: u8,
    pub last_heard: u64,
    pub away_since: u64,
    /// Of the last message that came.
    pub last_due: u64,
    pub last_sent: u64,
    /// Something was lost since the last message that came.
    pub was_away: bool,
    pub is_watched: bool,
    /// Publish requests that were lost on their way.
    pub lost_asks: u8,

    // The server.
    pub is_alive: bool,
    /// A message is being made.
    pub works: bool,
    /// A Publish request is missing.
    pub waits: bool,
    pub waits_since: u64,
    pub due: u64,
    pub fresh: u64,
    /// The change that was published last, plus one.
    pub told: u64,
    /// When Publish requests are at the server.
    pub tokens: SmallQueue<u64>,
    pub under_way: SmallQueue<Message>,
    pub stall: Option<Box<Stall>>,
    /// Messages to be told again after the next connection.
    pub kept: Vec<Message>,
    /// Planned times of requests that are not answered yet.
    pub asked: std::collections::VecDeque<u64>,
}
