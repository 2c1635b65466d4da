//! What is counted of values and messages, and where each thing happened first.

use serde::{Deserialize, Serialize};

use super::Seat;

/// Makes a struct of counts that add up.
macro_rules! counts {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: u64,)*
        }

        impl $name {
            /// Adds others.
            pub fn merge(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }

            /// Names and counts, in the order they are declared in.
            pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($field), self.$field)),*].into_iter()
            }
        }
    };
}

counts! {
    /// Values as they came.
    Values {
        /// All that came, each copy.
        received,
        /// First copies, each in its turn.
        in_order,
        /// First copies that came behind values that follow them.
        out_of_order,
        /// First copies that Republish brought.
        recovered,
        /// Further copies of values that came before.
        repeated,
        /// In a message of its own behind others, once Republish had brought it already.
        overtaken,
        /// In a Republish response for a message that had come by itself meanwhile.
        crossed,
        /// Last values told once more because that was asked for: by a transfer, or a new mode.
        resent,
        /// Events that tell of the subscription itself: overflow, begin and end of a refresh.
        notices,
        /// Of no item of their subscription.
        stray,
        /// First copies that came later than one further publishing.
        late,
        /// With the overflow bit.
        overflow_bits,
        /// Of them those of a counter behind which nothing is missing.
        overflow_alone,
        /// Of `overflow_bits` those that came when the client itself had not run.
        stalled_bits,
        /// With a Bad status.
        bad,
        /// With a timestamp that the client's clock had not reached yet.
        ahead,
    }
}

counts! {
    /// Updates of counters between the first value and the last of each item, by what became of them.
    /// `updates` is the sum of all others, less `refilled`.
    Places {
        /// Updates passed by.
        updates,
        /// First copies of values came, other than the first of an item.
        delivered,
        /// Came as a status without a value, which is in `delivered` as well.
        blank,
        /// No sample saw them: another one came before the next sample.
        sampled_away,
        /// Held back by a deadband.
        filtered,
        /// Replaced by a newer one in a queue of one.
        overwritten,
        /// Dropped from a full queue; the overflow bit tells of them.
        overflowed,
        /// Dropped from a queue that was full because the client itself did not run.
        stalled,
        /// Promised by sampling and queue, and nothing tells what became of them.
        missing,
        /// In messages that did not come when those behind them did.
        in_lost_messages,
        /// Of them those that came after all.
        refilled,
        /// Passed while there was no subscription.
        outage,
        /// Passed while an item was changed or switched off: nothing was promised.
        unjudged,
    }
}

impl Places {
    /// Whether every update has its place.
    pub fn balances(&self) -> bool {
        let placed = self.delivered
            + self.sampled_away
            + self.filtered
            + self.overwritten
            + self.overflowed
            + self.stalled
            + self.missing
            + self.in_lost_messages
            + self.outage
            + self.unjudged;
        placed.checked_sub(self.refilled) == Some(self.updates)
    }

    /// One that was taken for lost has come after all. When more have come than were taken to be in
    /// messages, one of them had been put down to another cause.
    pub(super) fn refill(&mut self) {
        self.refilled += 1;
        if self.refilled <= self.in_lost_messages {
            return;
        }
        let others = [
            &mut self.overflowed,
            &mut self.stalled,
            &mut self.overwritten,
            &mut self.missing,
        ];
        if let Some(other) = others.into_iter().find(|other| **other > 0) {
            *other -= 1;
            self.in_lost_messages += 1;
        }
    }

    /// In messages that never came.
    pub fn lost_with_messages(&self) -> u64 {
        self.in_lost_messages.saturating_sub(self.refilled)
    }

    /// Updates that were lost against the server's promise.
    pub fn lost(&self) -> u64 {
        self.missing + self.lost_with_messages() + self.overflowed + self.outage
    }
}

counts! {
    /// Events, where items wait for those.
    Events {
        /// First copies of events, those of refreshes and notices left out.
        raised,
        /// Of them those whose EventId tells source and number.
        counted,
        /// Of them those without an EventId.
        unidentified,
        /// EventQueueOverflowEventType: a queue was full.
        overflow_events,
        /// RefreshStartEventType.
        refresh_starts,
        /// RefreshEndEventType.
        refresh_ends,
        /// Events between them: states of conditions, told once more.
        refreshed,
        /// RefreshRequiredEventType: the server asks for a refresh.
        refresh_required,
        /// Numbers of sources that were passed over where a filter may have held them back.
        passed_over,
    }
}

counts! {
    /// Messages and requests.
    Messages {
        /// Publish requests sent.
        publish_sent,
        /// Publish responses with notifications or keep-alives.
        publish_answered,
        /// Publish requests that ended with a Bad status.
        publish_refused,
        /// Notification messages that came, each copy.
        notifications,
        /// Keep-alives.
        keep_alives,
        /// Notification messages that came before.
        repeated_messages,
        /// Notification messages behind others that follow them.
        disordered,
        /// Messages that said that more are ready.
        more,
        /// Bursts: messages that did, and those that they announced, as one.
        bursts,
        /// Times at which sequence numbers were missing.
        gaps,
        /// Sequence numbers that were missing when those behind them came.
        missing_messages,
        /// Of them those that came by themselves, behind others.
        returned,
        /// Republish requests.
        republish_asked,
        /// Republish responses with the message.
        republish_answered,
        /// Republish requests that the server refused.
        republish_refused,
        /// Answered though the message had come by itself meanwhile.
        republish_crossed,
        /// Times at which the numbering of a subscription began anew.
        renumbered,
        /// Bytes of the messages that brought values or keep-alives.
        bytes,
        /// Bytes of those that brought values.
        value_bytes,
        /// Acknowledgements that the server took.
        acknowledged,
        /// Acknowledgements that it did not.
        acknowledgements_refused,
        /// Subscriptions whose connection was lost.
        cut,
        /// Subscriptions that went on over another connection or session.
        resumed,
        /// Subscriptions that were made again.
        recreated,
        /// StatusChange notifications.
        status_changes,
    }
}

impl Messages {
    /// Sequence numbers that never came.
    pub fn lost(&self) -> u64 {
        self.missing_messages
            .saturating_sub(self.returned + self.republish_answered - self.republish_crossed)
    }
}

/// What can be wrong with a value, or worth knowing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Promised, and nothing tells what became of it.
    Missing,
    /// In a message that did not come in its turn.
    LostMessage,
    /// Dropped from a full queue.
    Overflowed,
    /// Dropped from a queue that was full because the client itself did not run.
    Stalled,
    /// Passed while there was no subscription.
    Outage,
    /// Replaced in a queue of one.
    Overwritten,
    /// Seen by no sample.
    SampledAway,
    /// Came again.
    Repeated,
    /// Came behind those that follow it.
    OutOfOrder,
    /// Came by Republish.
    Recovered,
    /// Came late.
    Late,
    /// Of no item of its subscription.
    Stray,
    /// With the overflow bit, and nothing is missing.
    OverflowAlone,
    /// A subscription ended that the client had not deleted.
    Ended,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Missing,
        Self::LostMessage,
        Self::Overflowed,
        Self::Stalled,
        Self::Outage,
        Self::Overwritten,
        Self::SampledAway,
        Self::Repeated,
        Self::OutOfOrder,
        Self::Recovered,
        Self::Late,
        Self::Stray,
        Self::OverflowAlone,
        Self::Ended,
    ];

    /// Its name in result files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::LostMessage => "lost_message",
            Self::Overflowed => "overflowed",
            Self::Stalled => "stalled",
            Self::Outage => "outage",
            Self::Overwritten => "overwritten",
            Self::SampledAway => "sampled_away",
            Self::Repeated => "repeated",
            Self::OutOfOrder => "out_of_order",
            Self::Recovered => "recovered",
            Self::Late => "late",
            Self::Stray => "stray",
            Self::OverflowAlone => "overflow_alone",
            Self::Ended => "ended",
        }
    }
}

/// Where something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Event {
    /// When, in nanoseconds since the phase began.
    pub at_ns: u64,
    /// In which subscription.
    pub seat: Seat,
    /// To which of its items, counted over the subscription; none if it is about a whole message.
    pub item: Option<u32>,
    /// In or before which message; 0 if that is not known.
    pub sequence: u32,
}

/// The first of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firsts([Option<Event>; Cause::ALL.len()]);

impl Firsts {
    /// The first, if it happened at all.
    pub fn of(&self, cause: Cause) -> Option<&Event> {
        self.0[cause as usize].as_ref()
    }

    pub(super) fn tell(&mut self, cause: Cause, event: Event) {
        let first = &mut self.0[cause as usize];
        *first = Some(first.map_or(event, |known| known.min(event)));
    }

    pub(super) fn shift(&mut self, shift: impl Fn(&mut u64)) {
        for event in self.0.iter_mut().flatten() {
            shift(&mut event.at_ns);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for cause in Cause::ALL {
            if let Some(event) = other.of(cause) {
                self.tell(cause, *event);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five updates: so many were put down to each cause, the others came.
    fn five(in_lost_messages: u64, overflowed: u64, overwritten: u64, missing: u64) -> Places {
        Places {
            updates: 5,
            delivered: 5 - in_lost_messages - overflowed - overwritten - missing,
            in_lost_messages,
            overflowed,
            overwritten,
            missing,
            ..Places::default()
        }
    }

    fn come_after_all(places: &mut Places) {
        places.delivered += 1;
        places.refill();
    }

    #[test]
    fn a_value_of_a_lost_message_that_comes_after_all_is_lost_no_more() {
        let mut places = five(2, 1, 0, 0);
        come_after_all(&mut places);
        let refilled = Places {
            delivered: 3,
            refilled: 1,
            ..five(2, 1, 0, 0)
        };
        assert_eq!(places, refilled);
        assert_eq!((places.lost_with_messages(), places.lost()), (1, 2));
        assert!(places.balances());
    }

    #[test]
    fn more_values_than_were_taken_to_be_in_messages_come_off_the_other_causes_in_turn() {
        let mut places = five(0, 1, 1, 1);
        for [overflowed, overwritten, missing] in [[0, 1, 1], [0, 0, 1], [0, 0, 0]] {
            come_after_all(&mut places);
            assert_eq!(
                [places.overflowed, places.overwritten, places.missing],
                [overflowed, overwritten, missing]
            );
            assert_eq!(places.lost_with_messages(), 0);
            assert!(places.balances());
        }
        assert_eq!((places.delivered, places.lost()), (5, 0));
    }

    #[test]
    fn what_was_never_promised_is_not_what_came() {
        let mut places = Places {
            updates: 5,
            delivered: 3,
            sampled_away: 1,
            filtered: 1,
            ..Places::default()
        };
        come_after_all(&mut places);
        assert_eq!((places.sampled_away, places.filtered), (1, 1));
        assert_eq!((places.in_lost_messages, places.refilled), (0, 1));
    }
}
