//! Looking at items: at all of them at once if they are few, else at a piece of them at a time, so that others have
//! their turn meanwhile.

use wire::time::{Instant, Now};

use super::Subscription;
use super::computed::Pace;
use crate::space::Space;

/// Items that are looked at in one go: some hundred microseconds.
pub const PIECE: usize = 4_000;

/// A look at many items that has begun and not ended.
#[derive(Debug)]
pub(super) struct Look {
    /// At all items, not only at those that have to be asked in time.
    all: bool,
    /// Items from this number on were not looked at yet.
    next: u32,
    /// When the last piece of it was.
    at: Instant,
}

impl Subscription {
    /// Between two publishings: takes the samples of items that have to be asked in time. False: there are more of
    /// them, and it is to be called again.
    pub fn sample(&mut self, space: &Space, now: Now) -> bool {
        if self.look.is_none() {
            self.begin_look(now, false);
        }
        self.look_on(space, now)
    }

    /// Begins to take the samples that are due, those of items that can look back only if told to.
    pub(super) fn begin_look(&mut self, now: Now, all: bool) {
        if let Some((interval, at)) = &mut self.poll {
            while *at <= now.mono {
                *at = *at + *interval;
            }
        }
        if all {
            self.looked = now.mono;
        }
        self.look = Some(Look {
            all,
            next: 0,
            at: now.mono,
        });
    }

    /// Goes on with what was begun, a piece of it. True if that was all.
    pub(super) fn look_on(&mut self, space: &Space, now: Now) -> bool {
        let Some(mut look) = self.look.take() else {
            return true;
        };
        let memory = &self.memory;
        let tally = &mut self.account.tally;
        let mut triggered = match look.next {
            0 => {
                let audits = self.owner.audits;
                self.events.catch_up(audits, space, now, memory, tally)
            }
            _ => Vec::new(),
        };
        let from = match look.next {
            0 => 0,
            next => self.items.partition_point(|item| item.id < next),
        };
        let mut pace = Pace::default();
        let rest = self.items.get_mut(from..).unwrap_or_default();
        let (piece, rest) = rest.split_at_mut(rest.len().min(PIECE));
        for item in piece {
            if !look.all && item.polled().is_none() {
                continue;
            }
            let before = item.ready();
            let queued = item.catch_up(space, now, &mut pace, memory, tally);
            if queued {
                self.ready += item.ready();
                self.ready -= before;
                triggered.extend_from_slice(item.links());
            }
        }
        let next = rest.first().map(|item| item.id);
        for id in triggered {
            self.events.trigger(id);
            self.change(id, |item, _, _| item.set_triggered(true));
        }
        self.account.settle();
        match next {
            Some(next) => {
                (look.next, look.at) = (next, now.mono);
                self.look = Some(look);
                false
            }
            None => {
                self.look_ended = now.mono;
                true
            }
        }
    }

    /// Whether all of its items are being looked at: what there is to be told is told afterwards.
    pub(super) fn is_looking(&self) -> bool {
        self.look.as_ref().is_some_and(|look| look.all)
    }

    /// When it is to go on with what it has begun.
    pub(super) fn looks_on(&self) -> Option<Instant> {
        self.look.as_ref().map(|look| look.at)
    }

    /// Whoever asks after a rest is told what there is.
    pub(super) fn catch_up(&mut self, space: &Space, now: Now) {
        if self.items.len() <= PIECE && now.mono.since(self.looked) >= self.interval() {
            self.begin_look(now, true);
            self.look_on(space, now);
        }
    }

    /// The same of one with many items: they are looked at first, in pieces. True if it is to have its turn for that.
    pub fn looks_first(&mut self, now: Now) -> bool {
        let late = now.mono.since(self.look_ended.max(self.looked)) >= self.interval();
        let looks = self.items.len() > PIECE && late && !self.is_looking();
        if looks {
            self.touch(now);
            self.begin_look(now, true);
        }
        looks
    }
}
