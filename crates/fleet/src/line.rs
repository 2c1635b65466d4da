//! A stream of bytes each way over what carries messages and may lose some: a broker that is started again, say. Segments
//! have numbers; each says up to which number the other side's have come, and what was not acknowledged goes once more.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::frame::{FrameError, pack, unpack};

/// Bytes of a segment at most: a broker's messages have a bound.
pub const SEGMENT: usize = 64 << 10;

/// Segments that are on their way at a time.
const WINDOW: usize = 16;

/// What was not acknowledged in so long goes once more, in nanoseconds.
const RETRY_NS: u64 = 500_000_000;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Segment {
    number: u64,
    /// Of the other side's segments, all before this one have come.
    came: u64,
    body: Body,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Body {
    /// It acknowledges only.
    Nothing,
    Bytes(Vec<u8>),
    End(String),
}

/// What came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrived {
    /// The next bytes.
    Bytes(Vec<u8>),
    /// There are no more, for this reason.
    End(String),
}

/// One end of it.
#[derive(Debug, Default)]
pub struct Line {
    /// Not sent yet.
    backlog: VecDeque<Body>,
    /// Not acknowledged; the first one has the number `acknowledged`.
    sent: VecDeque<Body>,
    acknowledged: u64,
    /// So many of them are on their way.
    under_way: usize,
    retry_ns: u64,
    closed: bool,
    came: u64,
    arrived: VecDeque<Arrived>,
    /// The other side is to hear what has come.
    owes: bool,
}

impl Line {
    /// These bytes go to the other side.
    pub fn send(&mut self, bytes: &[u8]) {
        if !self.closed {
            let segments = bytes.chunks(SEGMENT).map(|it| Body::Bytes(it.to_vec()));
            self.backlog.extend(segments);
        }
    }

    /// No more bytes go there, for this reason.
    pub fn close(&mut self, why: impl Into<String>) {
        if !std::mem::replace(&mut self.closed, true) {
            self.backlog.push_back(Body::End(why.into()));
        }
    }

    /// Whether the other side has all, the end included.
    pub fn is_done(&self) -> bool {
        self.closed && self.backlog.is_empty() && self.sent.is_empty()
    }

    /// A message came.
    pub fn receive(&mut self, message: &[u8], now_ns: u64) -> Result<(), FrameError> {
        let segment: Segment = unpack(message)?;
        let most = self.acknowledged + self.sent.len() as u64;
        while self.acknowledged < segment.came.min(most) {
            self.sent.pop_front();
            self.acknowledged += 1;
            self.under_way = self.under_way.saturating_sub(1);
            self.retry_ns = now_ns.saturating_add(RETRY_NS);
        }
        self.owes |= segment.body != Body::Nothing;
        if segment.number == self.came {
            let arrived = match segment.body {
                Body::Nothing => return Ok(()),
                Body::Bytes(bytes) => Arrived::Bytes(bytes),
                Body::End(why) => Arrived::End(why),
            };
            self.came += 1;
            self.arrived.push_back(arrived);
        }
        Ok(())
    }

    /// Time has passed: what was not acknowledged goes once more.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        if !self.sent.is_empty() && now_ns >= self.retry_ns {
            self.under_way = 0;
            self.retry_ns = now_ns.saturating_add(RETRY_NS);
        }
    }

    /// The next message for the other side.
    pub fn poll_transmit(&mut self, now_ns: u64) -> Option<Result<Vec<u8>, FrameError>> {
        if self.under_way == self.sent.len()
            && self.sent.len() < WINDOW
            && let Some(body) = self.backlog.pop_front()
        {
            if self.sent.is_empty() {
                self.retry_ns = now_ns.saturating_add(RETRY_NS);
            }
            self.sent.push_back(body);
        }
        let number = self.acknowledged + self.under_way as u64;
        let body = match self.sent.get(self.under_way) {
            Some(body) => {
                self.under_way += 1;
                body.clone()
            }
            None if self.owes => Body::Nothing,
            None => return None,
        };
        self.owes = false;
        Some(pack(&Segment {
            number,
            came: self.came,
            body,
        }))
    }

    /// What came, in the order in which it was sent.
    pub fn poll_arrived(&mut self) -> Option<Arrived> {
        self.arrived.pop_front()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    /// Messages of one end that reach the other one, of those that this way lets through.
    fn carry(from: &mut Line, to: &mut Line, now: u64, mut passes: impl FnMut() -> u8) {
        from.handle_timeout(now);
        while let Some(message) = from.poll_transmit(now) {
            let message = message.unwrap();
            // Lost, once, or twice.
            for _ in 0..passes() % 3 {
                to.receive(&message, now).unwrap();
            }
        }
    }

    fn arrived(line: &mut Line, all: &mut Vec<u8>) -> bool {
        let mut ended = false;
        while let Some(it) = line.poll_arrived() {
            assert!(!ended);
            match it {
                Arrived::Bytes(bytes) => all.extend(bytes),
                Arrived::End(why) => ended = why == "done",
            }
        }
        ended
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn all_bytes_arrive_once_and_in_order_whatever_is_lost_or_comes_twice(
            luck in prop::collection::vec(any::<u8>(), 1..40),
            lengths in prop::collection::vec(1..200_000usize, 1..12),
        ) {
            let (mut a, mut b) = (Line::default(), Line::default());
            let mut wanted = Vec::new();
            for (n, length) in lengths.iter().enumerate() {
                let bytes: Vec<u8> = (0..*length).map(|at| (at + n) as u8).collect();
                a.send(&bytes);
                wanted.extend(bytes);
            }
            a.close("done");
            b.close("done");
            let mut luck = luck.into_iter().chain(std::iter::repeat(1));
            let (mut there, mut here) = (Vec::new(), Vec::new());
            let mut ends = (false, false);
            for turn in 0..400u64 {
                let now = turn * RETRY_NS;
                carry(&mut a, &mut b, now, || luck.next().unwrap());
                carry(&mut b, &mut a, now, || luck.next().unwrap());
                ends.0 |= arrived(&mut b, &mut there);
                ends.1 |= arrived(&mut a, &mut here);
                if a.is_done() && b.is_done() {
                    break;
                }
            }
            prop_assert_eq!(ends, (true, true));
            prop_assert!(a.is_done() && b.is_done());
            prop_assert!(there == wanted && here.is_empty());
        }
    }

    #[test]
    fn no_more_than_a_window_is_on_its_way_and_nothing_is_sent_twice_without_a_reason() {
        let mut line = Line::default();
        line.send(&vec![7; 3 * WINDOW * SEGMENT]);
        let count = |line: &mut Line, now| std::iter::from_fn(|| line.poll_transmit(now)).count();
        assert_eq!(count(&mut line, 0), WINDOW);
        line.handle_timeout(RETRY_NS - 1);
        assert_eq!(count(&mut line, RETRY_NS - 1), 0);
        line.handle_timeout(RETRY_NS);
        assert_eq!(count(&mut line, RETRY_NS), WINDOW);
    }

    #[test]
    fn bytes_that_are_no_segment_are_an_error() {
        assert!(Line::default().receive(&[255; 3], 0).is_err());
    }
}
