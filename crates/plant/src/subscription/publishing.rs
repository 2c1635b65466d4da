//! The state machine of publishing (Part 4, 5.14.1.2): when something is to be sent.

use std::time::Duration;

use plan::unit::duration;
use wire::time::{Instant, Now};

use super::{LEAST_INTERVAL, Subscription};
use crate::space::Space;

/// For how long items are not looked at while nobody asks for what they see, if that can be seen later as well.
const REST: Duration = Duration::from_secs(10);
/// More samples than these are not left for later: others wait while they are taken.
const LEFT: u32 = 10_000;

/// Where it is in the table of Part 4, 5.14.1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PublishingState {
    /// Has sent something in the last interval.
    Normal,
    /// Has something to send and no Publish request for it.
    Late,
    /// Has nothing to send, and counts.
    KeepAlive,
}

/// What a publishing came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tick {
    /// It goes on; see [`Subscription::wants`].
    Alive,
    /// It has many items and did not look at all of them yet: it is to be called again.
    Looking,
    /// Nobody asked for so long that it is to be deleted.
    Expired,
}

impl Subscription {
    /// Whether something is to be sent as soon as there is a Publish request.
    pub fn wants(&self) -> bool {
        self.wants && !self.is_looking()
    }

    /// When it is to be looked at next: for a publishing, or to ask items before.
    pub fn due(&self) -> Instant {
        if let Some(at) = self.looks_on() {
            return at;
        }
        let next = self.next + self.interval().saturating_mul(self.rest - 1);
        match self.poll {
            Some((_, at)) => next.min(at),
            None => next,
        }
    }

    /// Whether a publishing interval is over, or what is to be done then has begun.
    pub fn is_due(&self, now: Now) -> bool {
        self.next <= now.mono || self.is_looking()
    }

    pub(super) fn interval(&self) -> Duration {
        self.terms.interval.max(LEAST_INTERVAL)
    }

    /// On to the next publishing; tells how many were to be passed over, and the one that is due. One that was looked
    /// at too late does not catch up.
    fn begin_next_interval(&mut self, now: Now) -> u32 {
        let mut due = 0;
        while self.next <= now.mono {
            self.next = self.next + self.interval();
            due += 1;
        }
        due.min(std::mem::replace(&mut self.rest, 1))
    }

    /// Any call of its client that names it keeps it alive (Part 4, table 83). One that rested is to be looked at
    /// with the next publishing: timers are to be told.
    pub fn touch(&mut self, now: Now) {
        self.lifetime = self.terms.lifetime;
        if self.rest > 1 {
            self.begin_next_interval(now);
        }
    }

    /// Until when items need not be looked at again.
    fn leaves(&self) -> Instant {
        // Events and values that are asked for are not there any more when they are looked for later.
        if self.fastest.is_some() || !self.events.items().is_empty() {
            return self.looked;
        }
        let samples = LEFT / (self.items.len() as u32).max(1);
        self.looked + REST.min(self.quickest.saturating_mul(samples))
    }

    /// After how many intervals it is to be looked at next: while nobody asks, as late as items allow.
    fn may_rest(&self) -> u32 {
        if self.state != PublishingState::Late {
            return 1;
        }
        let more = self.leaves().since(self.next).as_nanos() / self.interval().as_nanos();
        self.lifetime.min(1 + more as u32)
    }

    pub(super) fn ready(&self) -> bool {
        self.enabled && (self.ready > 0 || self.events.ready())
    }

    /// A publishing interval is over. `requests`: Publish requests of its session wait.
    pub fn tick(&mut self, space: &Space, now: Now, requests: bool) -> Tick {
        self.seen = now.mono;
        if !self.is_looking() {
            let passed = self.begin_next_interval(now);
            // Part 4, 5.14.1.3: the counter is set back by Publish requests; one that waits means
            // that the client is there.
            self.lifetime = match requests {
                true => self.terms.lifetime,
                false => self.lifetime.saturating_sub(passed),
            };
            if self.lifetime == 0 {
                if let Some(took) = self.account.took() {
                    took.expired();
                }
                return Tick::Expired;
            }
            // If nobody asks, it is enough to know that there is something to be told.
            if requests || !self.ready() || self.leaves() < self.next {
                self.begin_look(now, true);
            }
        }
        if !self.look_on(space, now) {
            return Tick::Looking;
        }
        self.wants = match self.state {
            // Row 12.
            PublishingState::Late => true,
            // Rows 6, 8, 14, 17.
            _ if self.ready() => true,
            // Rows 7, 8: the first message comes after one interval, whatever it is.
            PublishingState::Normal if !self.message_sent => true,
            // Row 9.
            PublishingState::Normal => {
                self.state = PublishingState::KeepAlive;
                self.keep_alive = self.terms.keep_alive;
                self.count()
            }
            // Rows 15, 16, 17.
            PublishingState::KeepAlive => self.count(),
        };
        if self.wants && !requests {
            if self.state != PublishingState::Late {
                self.record.late.bump();
                self.late_since = Some(now.mono);
                self.record.set_late_since(Some(now.mono.as_nanos()));
            }
            self.state = PublishingState::Late;
        }
        self.rest = self.may_rest();
        self.tell();
        Tick::Alive
    }

    /// It can send again, or never will.
    pub(super) fn end_gap(&mut self, now: Instant) {
        if let Some(since) = self.late_since.take() {
            self.record.set_late_since(None);
            if let Some(took) = self.account.took() {
                took.gap(duration::nanos(now.since(since)));
            }
        }
    }

    /// Counts an interval without notifications. True when it is time to say so.
    fn count(&mut self) -> bool {
        if self.keep_alive <= 1 {
            return true;
        }
        self.keep_alive -= 1;
        false
    }

    /// Row 19 of the table.
    pub fn set_publishing(&mut self, enabled: bool, now: Now) {
        self.enabled = enabled;
        match enabled {
            true => self.record.enables.bump(),
            false => self.record.disables.bump(),
        }
        self.tell_terms();
        self.touch(now);
        if self.state != PublishingState::Late {
            self.wants = false;
        }
    }
}
