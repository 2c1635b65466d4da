//! What is counted of values and of messages, as plain numbers.

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

/// Makes a struct of counts that can be added up and laid out as a row of numbers.
macro_rules! counts {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: u64,)*
        }

        impl $name {
            /// What the counts are called.
            pub const NAMES: &[&str] = &[$(stringify!($field)),*];
            /// How many there are.
            pub const LEN: usize = Self::NAMES.len();

            /// All counts in the order they are declared in.
            pub fn row(&self) -> [u64; Self::LEN] {
                [$(self.$field),*]
            }

            /// The same the other way round.
            pub fn from_row(row: [u64; Self::LEN]) -> Self {
                let [$($field),*] = row;
                Self { $($field),* }
            }
        }

        impl std::ops::AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

counts! {
    /// What became of the values of monitored items.
    Values {
        /// Updates of what is watched, from an item's first sample to its last.
        updates,
        /// Of them those that no sample saw: another one came before the next sample.
        unsampled,
        /// Samples taken, the first of each item too.
        samples,
        /// Of them those that the filter held back: nothing new, or not enough.
        filtered,
        /// Last values that were asked for again, with no sample.
        resent,
        /// Values put into a queue: `samples + resent - filtered`.
        queued,
        /// Replaced by a newer one in a queue of one.
        overwritten,
        /// Dropped from a full queue, with the overflow bit on a neighbour.
        overflowed,
        /// Thrown away unseen: the item was disabled or removed, or its subscription ended.
        discarded,
        /// Taken out of a queue and left out of the message by a fault.
        lost,
        /// Put into a notification message.
        reported,
        /// Handed to a connection with their message.
        sent,
        /// Not handed to a connection with their message, by a fault. Republish has them.
        dropped,
        /// In messages whose connection was gone, or which were larger than the client takes.
        /// Republish has them.
        unsent,
        /// In messages that the client acknowledged.
        acknowledged,
        /// In messages that went unacknowledged: there were too many, or the subscription ended.
        forgotten,
        /// Sent again with messages asked for by Republish.
        republished,
    }
}

counts! {
    /// What became of the messages of subscriptions.
    Messages {
        /// Notification messages made: the sequence numbers used.
        made,
        /// Of them those handed to a connection.
        sent,
        /// Those that were not, by a fault.
        dropped,
        /// Those that were not because the connection was gone or the client takes no message so
        /// large.
        unsent,
        /// Notification messages that were sent once more by a fault.
        repeated,
        /// Acknowledged ones.
        acknowledged,
        /// Those that went unacknowledged: there were too many, or the subscription ended.
        forgotten,
        /// Those sent again because Republish asked for them.
        republished,
        /// Messages without notifications, which say that the subscription lives.
        keep_alives,
    }
}

/// Where the values of an item come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    /// They follow from the time alone.
    Computed,
    /// They are asked for: written values, and what the server knows of itself.
    Stored,
    /// They are events.
    Event,
}

/// All counts of a subscription, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Of items whose values follow from the time alone.
    pub computed: Values,
    /// Of items that are asked.
    pub stored: Values,
    /// Of items whose values are events.
    pub event: Values,
    /// Of the messages they went with.
    pub messages: Messages,
}

impl Tally {
    /// The values of one kind of items, to count on.
    #[inline]
    pub fn of(&mut self, kind: ItemKind) -> &mut Values {
        match kind {
            ItemKind::Computed => &mut self.computed,
            ItemKind::Stored => &mut self.stored,
            ItemKind::Event => &mut self.event,
        }
    }

    /// The values of all kinds together.
    pub fn values(&self) -> Values {
        let mut sum = self.computed;
        sum += self.stored;
        sum += self.event;
        sum
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.computed += other.computed;
        self.stored += other.stored;
        self.event += other.event;
        self.messages += other.messages;
    }
}

impl Serialize for Values {
    /// With what follows from the counts: who reads them should not have to know the sums.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(Self::LEN + 2))?;
        for (name, count) in Self::NAMES.iter().zip(self.row()) {
            map.serialize_entry(name, &count)?;
        }
        map.serialize_entry("pending", &self.pending())?;
        map.serialize_entry("kept", &self.kept())?;
        map.end()
    }
}

impl Serialize for Messages {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(Self::LEN + 1))?;
        for (name, count) in Self::NAMES.iter().zip(self.row()) {
            map.serialize_entry(name, &count)?;
        }
        map.serialize_entry("kept", &self.kept())?;
        map.end()
    }
}

impl Values {
    /// Values that wait in queues: what came in and did not go.
    pub fn pending(&self) -> u64 {
        let gone = self.overwritten + self.overflowed + self.discarded + self.lost + self.reported;
        self.queued.saturating_sub(gone)
    }

    /// Values in messages that were made and are neither acknowledged nor forgotten.
    pub fn kept(&self) -> u64 {
        let gone = self.acknowledged + self.forgotten;
        self.reported.saturating_sub(gone)
    }

    /// Whether nothing is unaccounted for: each sample was filtered or queued, and each value in
    /// a message was sent, dropped or not sent.
    pub fn balances(&self) -> bool {
        self.samples + self.resent == self.filtered + self.queued
            && self.reported == self.sent + self.dropped + self.unsent
            && self.unsampled <= self.updates
    }
}

impl Messages {
    /// Messages that were made and are neither acknowledged nor forgotten: Republish has them.
    pub fn kept(&self) -> u64 {
        let gone = self.acknowledged + self.forgotten;
        self.made.saturating_sub(gone)
    }

    /// Whether nothing is unaccounted for.
    pub fn balances(&self) -> bool {
        self.made == self.sent + self.dropped + self.unsent
            && self.acknowledged + self.forgotten <= self.made
    }
}

/// How many values of each kind a message holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// Of items whose values follow from the time alone.
    pub computed: u32,
    /// Of items that are asked.
    pub stored: u32,
    /// Events.
    pub event: u32,
}

impl Load {
    /// One more.
    #[inline]
    pub fn count(&mut self, kind: ItemKind) {
        *match kind {
            ItemKind::Computed => &mut self.computed,
            ItemKind::Stored => &mut self.stored,
            ItemKind::Event => &mut self.event,
        } += 1;
    }

    /// All of them.
    pub fn total(&self) -> usize {
        self.computed as usize + self.stored as usize + self.event as usize
    }
}

impl Tally {
    /// Counts the values of a message under what became of them.
    pub fn load(&mut self, load: Load, became: fn(&mut Values) -> &mut u64) {
        *became(&mut self.computed) += u64::from(load.computed);
        *became(&mut self.stored) += u64::from(load.stored);
        *became(&mut self.event) += u64::from(load.event);
    }

    /// Counts a message that can be republished no more.
    pub fn forget(&mut self, load: Load) {
        self.messages.forgotten += 1;
        self.load(load, |values| &mut values.forgotten);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_counts_is_the_counts() {
        let values = Values {
            updates: 1,
            republished: 9,
            ..Values::default()
        };
        assert_eq!(Values::from_row(values.row()), values);
        assert_eq!(values.row().iter().sum::<u64>(), 10);
    }

    #[test]
    fn what_waits_is_what_came_in_and_did_not_go() {
        let values = Values {
            samples: 12,
            filtered: 2,
            queued: 10,
            overwritten: 1,
            overflowed: 2,
            reported: 4,
            sent: 3,
            dropped: 1,
            ..Values::default()
        };
        assert_eq!((values.pending(), values.kept()), (3, 4));
        assert!(values.balances());
        let odd = Values { sent: 4, ..values };
        assert!(!odd.balances());
    }
}
