//! How many Publish requests wait at the server.

use std::time::Duration;

use wire::time::Instant;

/// How many Publish requests are to wait.
#[derive(Debug)]
pub(super) struct Supply {
    /// As typed.
    fixed: Option<usize>,
    /// To be kept waiting.
    pub(super) wanted: usize,
    /// Of them, those that may be missing: where messages come fast, requests are sent in groups.
    spare: usize,
    /// The server takes no more than these.
    pub(super) most: usize,
    /// On their way.
    pub(super) waiting: usize,
    /// Answered, refused or given up.
    ended: u64,
    /// When the oldest of those on their way was sent, if none was before.
    alone: Option<Instant>,
    /// The shortest time from a request to its answer.
    round_trip: Option<Duration>,
    /// After a failure nothing is sent until then.
    pub(super) quiet_until: Option<Instant>,
    /// Failures one after another.
    pub(super) failures: u32,
}

/// Publish requests that one session keeps waiting at most, when it decides itself.
const MOST: usize = 1000;
/// As long as this a request, and with it an acknowledgement, may wait for others to go with.
const GATHER: Duration = Duration::from_millis(5);
/// After a failed Publish, and twice that after another one, and so on.
pub(super) const PAUSE: Duration = Duration::from_millis(10);
/// The longest pause is 2^7 of the shortest.
pub(super) const DOUBLINGS: u32 = 7;

impl Supply {
    pub(super) fn new(fixed: Option<u32>) -> Self {
        let fixed = fixed.map(|n| n as usize);
        Self {
            fixed,
            wanted: fixed.unwrap_or(0),
            spare: 0,
            most: MOST.max(fixed.unwrap_or(0)),
            waiting: 0,
            ended: 0,
            alone: None,
            round_trip: None,
            quiet_until: None,
            failures: 0,
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// How many have ended so far.
    pub(super) fn ended(&self) -> u64 {
        self.ended
    }

    /// One has ended.
    pub(super) fn end(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
        self.ended += 1;
    }

    pub(super) fn quiet_until(&self) -> Option<Instant> {
        self.quiet_until
    }

    pub(super) fn round_trip(&mut self, took: Duration) {
        self.round_trip = Some(self.round_trip.map_or(took, |known| known.min(took)));
    }

    /// One for each subscription, as all may have news at once; those that are on their way while
    /// further news come, or wait for others to go with; and one to spare.
    pub(super) fn foresee(&mut self, subscriptions: usize, publishings_per_s: f64) {
        if self.fixed.is_some() {
            return;
        }
        // As long as no answer came, nothing is known to be on its way.
        let round_trip = self.round_trip.unwrap_or_default().as_secs_f64();
        let travelling = (publishings_per_s * round_trip).ceil() as usize;
        self.spare = (publishings_per_s * GATHER.as_secs_f64()) as usize;
        let needed = subscriptions + 1 + travelling + self.spare;
        self.wanted = self.wanted.max(needed);
    }

    /// One is sent.
    pub(super) fn send(&mut self, now: Instant) {
        if self.waiting == 0 {
            self.alone = Some(now);
        }
        self.waiting += 1;
    }

    /// Whether the message that has come was waiting for its request: before that none was at the server, and
    /// it was answered at once.
    pub(super) fn was_awaited(&mut self, now: Instant) -> bool {
        let Some((sent, shortest)) = self.alone.take().zip(self.round_trip) else {
            return false;
        };
        now.since(sent) < shortest.saturating_mul(2)
    }

    /// Messages wait at the server for a request.
    pub(super) fn starved(&mut self) {
        if self.fixed.is_none() {
            self.wanted = (self.wanted + self.wanted.div_ceil(2)).min(self.most);
        }
    }

    /// Over a new connection nothing waits yet.
    pub(super) fn again(&mut self) {
        self.waiting = 0;
        self.alone = None;
        self.failures = 0;
        self.quiet_until = None;
    }

    pub(super) fn missing(&self) -> usize {
        self.wanted.min(self.most).saturating_sub(self.waiting)
    }

    /// Whether enough are missing to be sent.
    pub(super) fn is_due(&self) -> bool {
        self.missing() > self.spare.min(self.wanted.min(self.most) / 2)
    }
}
