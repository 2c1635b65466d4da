//! What an end has to send: what is under way, how much may be, and when something is sent again.

use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use link::SEGMENT;

use super::Segment;

/// Segments that may be under way before anything was acknowledged (RFC 6928).
const FIRST_WINDOW: u32 = 10;
/// The timeout before a round trip is known (RFC 6298, 2.1).
const FIRST_TIMEOUT: u64 = 1_000_000_000;
/// What is added to a round trip at least (Linux: TCP_RTO_MIN).
const LEAST_TIMEOUT: u64 = 200_000_000;
/// The longest timeout (Linux: TCP_RTO_MAX).
const MOST_TIMEOUT: u64 = 120_000_000_000;
/// So many later segments tell that one is lost (RFC 5681, 3.2).
const LATER: usize = 3;

/// A segment that was sent and not yet acknowledged.
#[derive(Debug)]
struct Sent {
    number: u64,
    begins: bool,
    ends: bool,
    bytes: Rc<[u8]>,
    /// It arrived; something before it did not.
    arrived: bool,
    /// It is taken for lost, and waits to be sent again.
    lost: bool,
    again: bool,
}

impl Sent {
    fn end(&self) -> u64 {
        self.number + self.bytes.len() as u64 + u64::from(self.begins) + u64::from(self.ends)
    }
}

#[derive(Debug)]
pub struct Sender {
    /// The connection is to begin: to be sent with the next segment.
    begins: bool,
    begun: bool,
    open: bool,
    /// The end is to be sent behind the bytes.
    ends: bool,
    ended: bool,
    waiting: VecDeque<u8>,
    sent: VecDeque<Sent>,
    next: u64,
    /// All before it has arrived.
    first: u64,
    window: u32,
    threshold: u32,
    /// Segments that were acknowledged since the window grew last, beyond the threshold.
    grown: u32,
    /// Window and threshold before a timeout, and when the first segment was sent again: until it is known whether that was needed.
    before: Option<(u32, u32, u64)>,
    /// What was under way when something was lost: until it has arrived the window is not made smaller again.
    recovering: Option<u64>,
    round_trip: Option<(u64, u64)>,
    doublings: u32,
    timer: Option<u64>,
    sent_again: u64,
}

impl Default for Sender {
    fn default() -> Self {
        Self {
            begins: false,
            begun: false,
            open: false,
            ends: false,
            ended: false,
            waiting: VecDeque::new(),
            sent: VecDeque::new(),
            next: 0,
            first: 0,
            window: FIRST_WINDOW,
            threshold: u32::MAX,
            grown: 0,
            before: None,
            recovering: None,
            round_trip: None,
            doublings: 0,
            timer: None,
            sent_again: 0,
        }
    }
}

impl Sender {
    pub fn begin(&mut self) {
        self.begins |= !self.begun;
    }

    pub fn is_open(&self) -> bool {
        self.open
    }

    pub fn write(&mut self, bytes: &[u8]) {
        if !self.ends {
            self.waiting.extend(bytes);
        }
    }

    pub fn finish(&mut self) {
        self.ends = true;
    }

    pub fn is_done(&self) -> bool {
        self.ended && self.sent.is_empty()
    }

    pub fn deadline(&self) -> Option<u64> {
        self.timer
    }

    pub fn sent_again(&self) -> u64 {
        self.sent_again
    }

    /// A segment that says nothing but what arrived.
    pub fn bare(&self, now: u64) -> Segment {
        self.segment(now, self.next, (false, false), Rc::from([]))
    }

    fn segment(
        &self,
        now: u64,
        number: u64,
        (begins, ends): (bool, bool),
        bytes: Rc<[u8]>,
    ) -> Segment {
        Segment {
            begins,
            ends,
            number,
            bytes,
            acknowledged: None,
            beyond: Vec::new(),
            stamp: now,
            echo: None,
        }
    }

    pub fn poll(&mut self, now: u64) -> Option<Segment> {
        if self.timer.is_some_and(|at| at <= now) {
            self.timed_out(now);
        }
        if let Some(segment) = self.again(now) {
            return Some(segment);
        }
        if self.under_way() >= self.window {
            return None;
        }
        let begins = std::mem::take(&mut self.begins);
        // Nothing follows the beginning before it was answered.
        let may_follow = self.open && !begins;
        let take = match may_follow {
            true => self.waiting.len().min(SEGMENT),
            false => 0,
        };
        let ends = may_follow && self.ends && !self.ended && self.waiting.len() == take;
        if !begins && take == 0 && !ends {
            return None;
        }
        let bytes: Rc<[u8]> = self.waiting.drain(..take).collect();
        self.begun |= begins;
        self.ended |= ends;
        let sent = Sent {
            number: self.next,
            begins,
            ends,
            bytes: Rc::clone(&bytes),
            arrived: false,
            lost: false,
            again: false,
        };
        let number = std::mem::replace(&mut self.next, sent.end());
        self.sent.push_back(sent);
        self.wind(now);
        Some(self.segment(now, number, (begins, ends), bytes))
    }

    /// The first one that is lost, if the window has room for it; the very first needs none.
    fn again(&mut self, now: u64) -> Option<Segment> {
        let place = self.sent.iter().position(|it| it.lost)?;
        if place > 0 && self.under_way() >= self.window {
            return None;
        }
        let it = self.sent.get_mut(place)?;
        (it.lost, it.again) = (false, true);
        let (number, ends, bytes) = (it.number, (it.begins, it.ends), Rc::clone(&it.bytes));
        self.sent_again += 1;
        self.wind(now);
        Some(self.segment(now, number, ends, bytes))
    }

    /// The timer runs while something is under way.
    fn wind(&mut self, now: u64) {
        if self.timer.is_none() {
            self.timer = Some(now + self.timeout());
        }
    }

    fn timeout(&self) -> u64 {
        let timeout = match self.round_trip {
            None => FIRST_TIMEOUT,
            Some((mean, spread)) => mean + (4 * spread).max(LEAST_TIMEOUT),
        };
        timeout
            .saturating_mul(1 << self.doublings.min(20))
            .min(MOST_TIMEOUT)
    }

    /// Nothing was heard: all that is under way is taken for lost.
    fn timed_out(&mut self, now: u64) {
        self.timer = None;
        let before = (self.window, self.threshold, now);
        let mut lost = false;
        for it in self.sent.iter_mut().filter(|it| !it.arrived) {
            it.lost = true;
            lost = true;
        }
        if lost {
            self.doublings += 1;
            // A connection that has not begun keeps its first window (Linux: tcp_init_metrics).
            if self.open {
                self.before.get_or_insert(before);
                self.reduce();
                self.window = 1;
            }
        }
    }

    /// As CUBIC does (RFC 9438, 4.6), once for all that was under way.
    fn reduce(&mut self) {
        if self.recovering.is_none() {
            self.recovering = Some(self.next);
            self.threshold = (self.window * 7 / 10).max(2);
            self.window = self.threshold;
        }
    }

    fn under_way(&self) -> u32 {
        self.sent
            .iter()
            .filter(|it| !it.arrived && !it.lost)
            .count() as u32
    }

    pub fn acknowledged(&mut self, now: u64, until: u64, beyond: &[Range<u64>], echo: Option<u64>) {
        let before = self.under_way();
        let mut arrived = 0;
        while self.sent.front().is_some_and(|it| it.end() <= until) {
            let it = self.sent.pop_front();
            self.open |= it.is_some_and(|it| it.begins);
            arrived += 1;
        }
        let advanced = until > self.first;
        self.first = self.first.max(until);
        for it in self.sent.iter_mut() {
            it.arrived |= beyond.iter().any(|range| range.contains(&it.number));
        }
        if advanced {
            if let Some(echo) = echo {
                self.measure(now.saturating_sub(echo));
                self.regret(echo);
            }
            self.doublings = 0;
            self.timer = None;
            if !self.sent.is_empty() {
                self.wind(now);
            }
            if self.recovering.is_some_and(|it| until >= it) {
                self.recovering = None;
            }
            self.grow(arrived, before);
        }
        self.miss();
    }

    /// What arrived first after a timeout tells by its stamp whether it was sent before: then nothing was lost, the line was only
    /// slow (RFC 3522).
    fn regret(&mut self, echo: u64) {
        if let Some((window, threshold, at)) = self.before.take()
            && echo < at
        {
            (self.window, self.threshold) = (window, threshold);
            self.recovering = None;
            self.sent.iter_mut().for_each(|it| it.lost = false);
        }
    }

    /// A round trip was measured (RFC 6298, 2.2 and 2.3).
    fn measure(&mut self, took: u64) {
        self.round_trip = Some(match self.round_trip {
            None => (took, took / 2),
            Some((mean, spread)) => (
                (7 * mean + took) / 8,
                (3 * spread + mean.abs_diff(took)) / 4,
            ),
        });
    }

    /// The window grows by what arrived, as long as it was made use of.
    fn grow(&mut self, arrived: u32, under_way: u32) {
        if self.window < self.threshold {
            if self.window < 2 * under_way {
                self.window = (self.window + arrived).min(self.threshold);
            }
        } else if self.recovering.is_none() && under_way >= self.window {
            self.grown += arrived;
            if self.grown >= self.window {
                self.grown = 0;
                self.window += 1;
            }
        }
    }

    /// What three later ones arrived without is lost; what was sent again already waits for the timer.
    fn miss(&mut self) {
        let mut later = 0;
        let mut lost = false;
        for it in self.sent.iter_mut().rev() {
            if it.arrived {
                later += 1;
            } else if later >= LATER && !it.again && !it.lost {
                it.lost = true;
                lost = true;
            }
        }
        if lost {
            self.reduce();
        }
    }
}
