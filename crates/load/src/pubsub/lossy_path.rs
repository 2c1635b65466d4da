//! Messages that go astray on purpose: what is lost, comes later, more than once, behind others, or cannot be read.

use std::collections::VecDeque;
use std::io;

use plan::DatagramFate;
use wire::time::Instant;

use super::batch::Sent;
use super::message_path::MessagePath;

/// Whoever decides what becomes of messages.
pub trait LossModel: Send + std::fmt::Debug {
    /// Whether any message is hit now.
    fn are_wanted(&self) -> bool;

    /// What is to become of the next message.
    fn next(&mut self) -> DatagramFate;
}

/// A message that is held back, and the group that it is of.
#[derive(Debug)]
struct Held {
    group: usize,
    bytes: Vec<u8>,
}

/// Messages on their way to go astray.
#[derive(Debug, Default)]
pub struct LossyPath {
    fates: Option<Box<dyn LossModel>>,
    /// In the order of their times.
    later: VecDeque<(Instant, Held)>,
    /// Each waits for so many more.
    behind: Vec<(u32, Held)>,
    held: usize,
}

/// Bytes that are held back at most: beyond, what would come later comes at once.
const MOST: usize = 64 << 20;

impl LossyPath {
    pub fn new(fates: Option<Box<dyn LossModel>>) -> Self {
        Self {
            fates,
            ..Self::default()
        }
    }

    /// Whether messages have to go this way.
    pub fn is_wanted(&self) -> bool {
        self.held > 0 || self.fates.as_ref().is_some_and(|it| it.are_wanted())
    }

    /// Sends a message of a group, or does with it what is to become of it.
    pub fn send(
        &mut self,
        (group, bytes): (usize, &[u8]),
        is_secured: bool,
        now: Instant,
        path: &mut MessagePath,
    ) -> io::Result<Sent> {
        if !self.is_wanted() {
            return path.send(group, bytes);
        }
        let fate = self.fates.as_mut().map(|it| it.next()).unwrap_or_default();
        let mut message = bytes.to_vec();
        if fate.wrong_key && is_secured {
            if let Some(last) = message.last_mut() {
                *last ^= 0xff;
            }
        } else if (fate.corrupt || fate.wrong_key)
            && let Some(first) = message.first_mut()
        {
            // Part 14, 7.2.4.4.2: the version is in the lowest four bits, and is 1. No text begins like that, either.
            *first |= 0x0f;
        }
        let mut sent = Sent::default();
        let passed = self.pass_by();
        if fate.lost {
            sent.dropped += 1;
        } else {
            for _ in 0..fate.more {
                sent.add(path.send(group, &message)?);
                sent.copies += 1;
            }
            let has_room = self.held + message.len() <= MOST;
            if fate.behind > 0 && has_room {
                self.held += message.len();
                let bytes = message;
                self.behind.push((fate.behind, Held { group, bytes }));
            } else if !fate.delay.is_zero() && has_room {
                self.held += message.len();
                let due = now + fate.delay;
                let place = self.later.partition_point(|(at, _)| *at <= due);
                let bytes = message;
                self.later.insert(place, (due, Held { group, bytes }));
                debug_assert!(self.later.iter().is_sorted_by_key(|it| it.0));
            } else {
                sent.add(path.send(group, &message)?);
            }
        }
        for held in passed {
            sent.add(path.send(held.group, &held.bytes)?);
        }
        Ok(sent)
    }

    /// One more has come for which others wait: those that wait for no more.
    fn pass_by(&mut self) -> Vec<Held> {
        for (left, _) in &mut self.behind {
            *left -= 1;
        }
        let passed = self.behind.extract_if(.., |(left, _)| *left == 0);
        let passed: Vec<_> = passed.map(|(_, message)| message).collect();
        self.held -= passed.iter().map(|it| it.bytes.len()).sum::<usize>();
        passed
    }

    /// When the next one that was held back is to go.
    pub fn due(&self) -> Option<Instant> {
        self.later.front().map(|(at, _)| *at)
    }

    /// Sends those whose time has come.
    pub fn release(&mut self, now: Instant, path: &mut MessagePath) -> io::Result<Sent> {
        let mut sent = Sent::default();
        while self.due().is_some_and(|at| at <= now) {
            if let Some((_, held)) = self.later.pop_front() {
                self.held -= held.bytes.len();
                sent.add(path.send(held.group, &held.bytes)?);
            }
        }
        sent.add(path.flush()?);
        Ok(sent)
    }

    /// Sends all that is held back: nothing comes any more for which it could wait.
    pub fn end(&mut self, path: &mut MessagePath) -> io::Result<Sent> {
        let mut sent = Sent::default();
        let later = self.later.drain(..).map(|(_, held)| held);
        for held in later.chain(self.behind.drain(..).map(|(_, held)| held)) {
            sent.add(path.send(held.group, &held.bytes)?);
        }
        self.held = 0;
        sent.add(path.flush()?);
        Ok(sent)
    }
}
