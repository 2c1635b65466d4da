//! Datagrams that go astray on purpose: what is lost, comes later, more than once, behind others, or cannot be read.

use std::collections::VecDeque;
use std::io;

use plan::DatagramFate;
use wire::time::Instant;

use super::batch::Sent;
use super::outlet::Outlet;

/// Whoever decides what becomes of datagrams.
pub trait Fates: Send + std::fmt::Debug {
    /// Whether any datagram is hit now.
    fn are_wanted(&self) -> bool;

    /// What is to become of the next datagram.
    fn next(&mut self) -> DatagramFate;
}

/// Datagrams on their way to go astray.
#[derive(Debug, Default)]
pub struct Astray {
    fates: Option<Box<dyn Fates>>,
    /// In the order of their times.
    later: VecDeque<(Instant, Vec<u8>)>,
    /// Each waits for so many more.
    behind: Vec<(u32, Vec<u8>)>,
    held: usize,
}

/// Bytes that are held back at most: beyond, what would come later comes at once.
const MOST: usize = 64 << 20;

impl Astray {
    pub fn new(fates: Option<Box<dyn Fates>>) -> Self {
        Self {
            fates,
            ..Self::default()
        }
    }

    /// Whether datagrams have to go this way.
    pub fn is_wanted(&self) -> bool {
        self.held > 0 || self.fates.as_ref().is_some_and(|it| it.are_wanted())
    }

    /// Sends a datagram, or does with it what is to become of it.
    pub fn send(
        &mut self,
        bytes: &[u8],
        is_secured: bool,
        now: Instant,
        outlet: &mut Outlet,
    ) -> io::Result<Sent> {
        let fate = self.fates.as_mut().map(|it| it.next()).unwrap_or_default();
        let mut message = bytes.to_vec();
        if fate.wrong_key && is_secured {
            if let Some(last) = message.last_mut() {
                *last ^= 0xff;
            }
        } else if (fate.corrupt || fate.wrong_key)
            && let Some(first) = message.first_mut()
        {
            // Part 14, 7.2.4.4.2: the version is in the lowest four bits, and is 1.
            *first |= 0x0f;
        }
        let mut sent = Sent::default();
        let passed = self.pass_by();
        if !fate.lost {
            for _ in 0..fate.more {
                sent.add(put(&message, outlet)?);
            }
            let has_room = self.held + message.len() <= MOST;
            if fate.behind > 0 && has_room {
                self.held += message.len();
                self.behind.push((fate.behind, message));
            } else if !fate.delay.is_zero() && has_room {
                self.held += message.len();
                let due = now + fate.delay;
                let place = self.later.partition_point(|(at, _)| *at <= due);
                self.later.insert(place, (due, message));
            } else {
                sent.add(put(&message, outlet)?);
            }
        }
        for message in passed {
            sent.add(put(&message, outlet)?);
        }
        Ok(sent)
    }

    /// One more has come for which others wait: those that wait for no more.
    fn pass_by(&mut self) -> Vec<Vec<u8>> {
        for (left, _) in &mut self.behind {
            *left -= 1;
        }
        let passed = self.behind.extract_if(.., |(left, _)| *left == 0);
        let passed: Vec<_> = passed.map(|(_, message)| message).collect();
        self.held -= passed.iter().map(Vec::len).sum::<usize>();
        passed
    }

    /// When the next one that was held back is to go.
    pub fn due(&self) -> Option<Instant> {
        self.later.front().map(|(at, _)| *at)
    }

    /// Sends those whose time has come.
    pub fn release(&mut self, now: Instant, outlet: &mut Outlet) -> io::Result<Sent> {
        let mut sent = Sent::default();
        while self.due().is_some_and(|at| at <= now) {
            if let Some((_, message)) = self.later.pop_front() {
                self.held -= message.len();
                sent.add(put(&message, outlet)?);
            }
        }
        sent.add(outlet.flush()?);
        Ok(sent)
    }

    /// Sends all that is held back: nothing comes any more for which it could wait.
    pub fn end(&mut self, outlet: &mut Outlet) -> io::Result<Sent> {
        let mut sent = Sent::default();
        let later = self.later.drain(..).map(|(_, message)| message);
        for message in later.chain(self.behind.drain(..).map(|(_, message)| message)) {
            sent.add(put(&message, outlet)?);
        }
        self.held = 0;
        sent.add(outlet.flush()?);
        Ok(sent)
    }
}

fn put(message: &[u8], outlet: &mut Outlet) -> io::Result<Sent> {
    let Some(slot) = outlet.slot() else {
        return Ok(Sent::default());
    };
    slot.clear();
    slot.extend_from_slice(message);
    outlet.push()
}
