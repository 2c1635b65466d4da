//! The state machine of publishing (Part 4, 5.14.1.2): when something is to be sent.

use plan::unit::duration;
use wire::time::{Instant, Now};

use super::{LEAST_INTERVAL, Subscription};
use crate::space::Space;

/// Where it is in the table of Part 4, 5.14.1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
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
    /// Nobody asked for so long that it is to be deleted.
    Expired,
}

impl Subscription {
    /// Whether something is to be sent as soon as there is a Publish request.
    pub fn wants(&self) -> bool {
        self.wants
    }

    /// When it is to be looked at next: for a publishing, or to ask items before.
    pub fn due(&self) -> Instant {
        match self.poll {
            Some((_, at)) => self.next.min(at),
            None => self.next,
        }
    }

    /// Whether a publishing interval is over.
    pub fn is_due(&self, now: Now) -> bool {
        self.next <= now.mono
    }

    pub(super) fn ready(&self) -> bool {
        self.enabled && (self.ready > 0 || self.events.ready())
    }

    /// A publishing interval is over. `requests`: Publish requests of its session wait.
    pub fn tick(&mut self, space: &Space, now: Now, requests: bool) -> Tick {
        self.seen = now.mono;
        // One that was looked at too late does not catch up.
        while self.next <= now.mono {
            self.next = self.next + self.terms.interval.max(LEAST_INTERVAL);
        }
        // Part 4, 5.14.1.3: the counter is set back by Publish requests; one that waits means
        // that the client is there.
        self.lifetime = match requests {
            true => self.terms.lifetime,
            false => self.lifetime.saturating_sub(1),
        };
        if self.lifetime == 0 {
            if let Some(took) = self.account.took() {
                took.expired();
            }
            return Tick::Expired;
        }
        self.sample_some(space, now, true);
        self.wants = match self.state {
            // Row 12.
            State::Late => true,
            // Rows 6, 8, 14, 17.
            _ if self.ready() => true,
            // Rows 7, 8: the first message comes after one interval, whatever it is.
            State::Normal if !self.message_sent => true,
            // Row 9.
            State::Normal => {
                self.state = State::KeepAlive;
                self.keep_alive = self.terms.keep_alive;
                self.count()
            }
            // Rows 15, 16, 17.
            State::KeepAlive => self.count(),
        };
        if self.wants && !requests {
            if self.state != State::Late {
                self.record.late.bump();
                self.late_since = Some(now.mono);
                self.record.set_late_since(Some(now.mono.as_nanos()));
            }
            self.state = State::Late;
        }
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
    pub fn set_publishing(&mut self, enabled: bool) {
        self.enabled = enabled;
        match enabled {
            true => self.record.enables.bump(),
            false => self.record.disables.bump(),
        }
        self.tell_terms();
        self.touch();
        if self.state != State::Late {
            self.wants = false;
        }
    }
}
