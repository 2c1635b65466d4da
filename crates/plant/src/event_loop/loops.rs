//! The loops of a server as one of them knows them: which one it is, and how others are told something.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use mio::Waker;
use wire::template::walk::RawNodeId;

use super::{Mail, Post};
use crate::session::{MovedSessions, SessionKey};

/// A loop's way to all loops of its server.
pub struct Loops {
    index: u8,
    /// All of them, this one too; the last is the acceptor.
    posts: Vec<Post>,
    own: Post,
    mailbox: Receiver<Mail>,
    /// Which of them got a session last.
    turn: usize,
}

impl Loops {
    /// Number `index` of them, that knows no other yet.
    pub fn new(index: u8, waker: Waker) -> Self {
        let (sender, mailbox) = channel();
        let waker = Arc::new(waker);
        Self {
            index,
            posts: Vec::new(),
            own: Post { sender, waker },
            mailbox,
            turn: 0,
        }
    }

    /// Makes all of them known.
    pub fn know(&mut self, posts: Vec<Post>) {
        self.posts = posts;
    }

    /// Which of them this one is.
    pub fn index(&self) -> u8 {
        self.index
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.posts.len()
    }

    /// Where this one's mail is put.
    pub fn post(&self) -> Post {
        self.own.clone()
    }

    /// What this one was told next.
    pub fn next_mail(&self) -> Option<Mail> {
        self.mailbox.try_recv().ok()
    }

    /// Where the mail of one of them is put.
    pub fn get(&self, index: impl Into<usize>) -> Option<&Post> {
        self.posts.get(index.into())
    }

    /// The same of another one than this.
    pub fn other(&self, index: u8) -> Option<&Post> {
        self.get(index).filter(|_| index != self.index)
    }

    /// The loop where the session of this token lives, if it is not this one.
    pub fn home_of(&self, token: RawNodeId<'_>, homes: &MovedSessions) -> Option<Post> {
        let home = homes.of(&SessionKey::read(token)?);
        self.other(home).cloned()
    }

    /// The one whose turn it is to get a session; the acceptor gets none, unless it is alone.
    pub fn next_in_turn(&mut self) -> Option<Post> {
        let loops = self.posts.len().saturating_sub(1).max(1);
        self.turn = (self.turn + 1) % loops;
        self.posts.get(self.turn).cloned()
    }

    /// Tells all of them, this one too.
    pub fn tell_all(&self, mail: impl Fn() -> Mail) {
        self.posts.iter().for_each(|post| post.send(mail()));
    }

    /// Tells all but this one.
    pub fn tell_others(&self, mail: impl Fn() -> Mail) {
        let own = usize::from(self.index);
        let others = self.posts.iter().enumerate().filter(|(n, _)| *n != own);
        others.for_each(|(_, post)| post.send(mail()));
    }
}
