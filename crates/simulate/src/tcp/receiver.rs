//! What has arrived at an end: bytes in order, and what the other end is still to be told.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;

use super::Segment;

/// So many segments are acknowledged at once where nothing is answered (Linux: TCP_MAX_QUICKACKS).
const QUICK: u32 = 16;

/// How long an acknowledgement waits for an answer to ride on (Linux: TCP_DELACK_MIN).
const DELAY: u64 = 40_000_000;

#[derive(Debug, Default)]
pub struct Receiver {
    begun: bool,
    ended: bool,
    /// The next number.
    next: u64,
    /// What came before its turn: bytes, and whether the end is behind them.
    early: BTreeMap<u64, (Rc<[u8]>, bool)>,
    ready: VecDeque<Rc<[u8]>>,
    /// Segments with bytes that were not acknowledged.
    unanswered: u32,
    /// When they are to be, at the latest.
    due: Option<u64>,
    /// Segments with bytes so far.
    came: u32,
    /// Whether what came was answered by bytes: then acknowledgements ride on those (Linux: ping-pong mode).
    answers: bool,
    /// The stamp to return.
    echo: Option<u64>,
}

impl Receiver {
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    pub fn has_ended(&self) -> bool {
        self.ended
    }

    pub fn read(&mut self) -> Option<Rc<[u8]>> {
        self.ready.pop_front()
    }

    pub fn deadline(&self) -> Option<u64> {
        self.due
    }

    /// Whether the other end is to be told now what arrived.
    pub fn owes(&self, now: u64) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    pub fn receive(&mut self, now: u64, segment: Segment) {
        if segment.len() == 0 {
            return;
        }
        if segment.number > self.next {
            // Something before it is missing: the sender learns it with each of them.
            self.early
                .insert(segment.number, (segment.bytes, segment.ends));
            self.due = Some(now);
            return;
        }
        // RFC 7323, 4.3: that of the first segment that was not acknowledged yet.
        if self.unanswered == 0 {
            self.echo = Some(segment.stamp);
        }
        if segment.number < self.next {
            // It was here before: what acknowledged it is lost.
            self.due = Some(now);
            return;
        }
        let filled = !self.early.is_empty();
        let quick = !self.answers && self.came < QUICK;
        let at_once = segment.begins || segment.ends || filled || quick;
        self.came += u32::from(!segment.bytes.is_empty());
        self.begun |= segment.begins;
        self.next += segment.len();
        self.take(segment.bytes, segment.ends);
        while let Some((bytes, ends)) = self.early.remove(&self.next) {
            self.next += bytes.len() as u64 + u64::from(ends);
            self.take(bytes, ends);
        }
        self.unanswered += 1;
        let due = match at_once || self.unanswered > 1 {
            true => now,
            false => now + DELAY,
        };
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
    }

    fn take(&mut self, bytes: Rc<[u8]>, ends: bool) {
        self.ended |= ends;
        if !bytes.is_empty() {
            self.ready.push_back(bytes);
        }
    }

    /// Whatever is sent says what arrived.
    pub fn answer(&mut self, mut segment: Segment) -> Segment {
        if !self.begun {
            return segment;
        }
        segment.acknowledged = Some(self.next);
        segment.echo = self.echo;
        segment.beyond = self.beyond();
        self.answers |= self.came > 0 && !segment.bytes.is_empty();
        self.due = None;
        self.unanswered = 0;
        segment
    }

    /// What came before its turn, as ranges of numbers.
    fn beyond(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (from, (bytes, ends)) in &self.early {
            let to = from + bytes.len() as u64 + u64::from(*ends);
            match ranges.last_mut() {
                Some(last) if last.end == *from => last.end = to,
                _ => ranges.push(*from..to),
            }
        }
        ranges
    }
}
