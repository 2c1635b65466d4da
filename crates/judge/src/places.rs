//! Where each value that was published ended: what a publisher says that it sent, beside what a listener heard.

use record::Sendings;
use record::run::{Listener, Published};
use serde::Serialize;

/// What a listener counted of what was published.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ListenerCounts {
    /// NetworkMessages.
    pub datagrams: u64,
    /// Of them those that could not be read.
    pub unread: u64,
    /// Of those the ones that came again: they were secured, and read the first time.
    pub replayed: u64,
    /// DataSetMessages.
    pub messages: u64,
    /// Of them those that came again.
    pub repeated: u64,
    /// Of them those that came after a later one.
    pub late: u64,
    /// DataSetMessages that are missing by their sequence numbers, if they have some.
    pub lost: Option<u64>,
    /// NetworkMessages that were thrown away as the listener's buffer was full, if the system says so.
    pub socket_drops: Option<u64>,
}

/// Where each value ended. All but `repeated` add up to `due`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Places {
    /// Values of all messages that were made.
    pub due: u64,
    /// Not sent: their messages were kept back on purpose.
    pub kept_back: u64,
    /// Not sent: the kernel, or the broker, did not take their messages.
    pub refused: u64,
    /// Came, once and in their order.
    pub delivered: u64,
    /// Came after later ones.
    pub late: u64,
    /// Came, and could not be read.
    pub unread: u64,
    /// Came to the listener's host, and were thrown away as its buffer was full.
    pub in_socket: u64,
    /// Were sent between others that came, and did not come.
    pub on_the_way: u64,
    /// Were sent before the first that came or after the last, and did not come: nobody listened yet or any more, or the
    /// first or the last were lost.
    pub outside: u64,
    /// Came again, beside all of them.
    pub repeated: u64,
}

/// The listener heard more than was sent: the two are not of one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{heard} values came of {sent} that were sent: they are not of the same publisher and time"
)]
pub struct NotOfOneTime {
    heard: u64,
    sent: u64,
}

impl Places {
    /// Where the values of one publisher ended for one listener, who heard nobody else.
    ///
    /// # Errors
    /// More came than was sent.
    pub fn of(sent: &Sendings, came: &ListenerCounts) -> Result<Self, NotOfOneTime> {
        let each = sent.each;
        let once = sent.messages.saturating_sub(sent.copies);
        let read = came.datagrams.saturating_sub(came.unread);
        // All NetworkMessages of a publisher of ours have as many DataSetMessages.
        let sets = came.messages.checked_div(read).unwrap_or(1).max(1);
        let of_sets = |count: u64| count.saturating_mul(each) / sets;
        let in_order = came.messages.saturating_sub(came.repeated + came.late);
        let (delivered, late) = (of_sets(in_order), of_sets(came.late));
        let unread = each * (came.unread - came.replayed.min(came.unread));
        let in_socket = each * came.socket_drops.unwrap_or(0);
        let heard = delivered + late + unread + in_socket;
        let missing = (each * once).checked_sub(heard).ok_or(NotOfOneTime {
            heard,
            sent: each * once,
        })?;
        // What was kept back is missing by its number, too.
        let kept_back = each * sent.dropped;
        let gaps = came
            .lost
            .map(|it| of_sets(it).saturating_sub(unread + in_socket + kept_back));
        let on_the_way = gaps.unwrap_or(0).min(missing);
        Ok(Self {
            due: each * (once + sent.refused + sent.dropped),
            kept_back,
            refused: each * sent.refused,
            delivered,
            late,
            unread,
            in_socket,
            on_the_way,
            outside: missing - on_the_way,
            repeated: of_sets(came.repeated) + each * came.replayed.min(came.unread),
        })
    }

    /// Where the values of our publisher ended for a listener whose socket was open before and after; none if what they say
    /// does not add up.
    pub fn in_phase(sent: &Published, heard: &Listener) -> Option<Self> {
        let sendings = Sendings {
            each: sent.values.checked_div(sent.datagrams)?,
            messages: sent.datagrams,
            refused: sent.refused,
            ..Sendings::default()
        };
        let came = ListenerCounts {
            datagrams: heard.datagrams,
            unread: heard.unreadable(),
            messages: heard.messages,
            repeated: heard.repeated,
            late: heard.late,
            socket_drops: heard.socket_drops.known().copied(),
            ..ListenerCounts::default()
        };
        let all = Self::of(&sendings, &came).ok()?;
        // The first and the last are missing as all others are.
        Some(Self {
            on_the_way: all.on_the_way + all.outside,
            outside: 0,
            ..all
        })
    }

    /// What each place is called, in the order in which values come by.
    pub fn named(&self) -> [(&'static str, u64); 8] {
        [
            ("kept back on purpose", self.kept_back),
            ("not taken by the kernel or the broker", self.refused),
            ("delivered", self.delivered),
            ("late", self.late),
            ("not readable", self.unread),
            ("lost in the listener's socket", self.in_socket),
            ("lost on the way", self.on_the_way),
            ("before the first or after the last that came", self.outside),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: Sendings = Sendings {
        each: 40,
        messages: 1000,
        refused: 3,
        dropped: 20,
        copies: 5,
    };

    /// Two DataSetMessages in each of the messages that came: ten were corrupt, four the listener's socket threw away,
    /// six were lost on the way, five came twice, seven late.
    fn came() -> ListenerCounts {
        let datagrams = 1000 - 4 - 6;
        ListenerCounts {
            datagrams,
            unread: 10,
            replayed: 0,
            messages: 2 * (datagrams - 10),
            repeated: 10,
            late: 14,
            lost: Some(2 * (20 + 10 + 4 + 6)),
            socket_drops: Some(4),
        }
    }

    #[test]
    fn every_value_has_its_place() {
        let places = Places::of(&SENT, &came()).unwrap_or_default();
        let want = Places {
            due: 40 * 1018,
            kept_back: 40 * 20,
            refused: 40 * 3,
            delivered: 40 * (980 - 5 - 7),
            late: 40 * 7,
            unread: 40 * 10,
            in_socket: 40 * 4,
            on_the_way: 40 * 6,
            outside: 0,
            repeated: 40 * 5,
        };
        assert_eq!(places, want);
        let sum: u64 = places.named().iter().map(|(_, count)| count).sum();
        assert_eq!(sum, places.due);
    }

    #[test]
    fn what_was_sent_while_nobody_listened_is_not_lost_on_the_way() {
        let sent = Sendings {
            messages: 1100,
            ..SENT
        };
        let places = Places::of(&sent, &came()).unwrap_or_default();
        assert_eq!((places.on_the_way, places.outside), (40 * 6, 40 * 100));
    }

    #[test]
    fn a_secured_message_that_comes_again_is_repeated() {
        let came = ListenerCounts {
            unread: 15,
            replayed: 5,
            repeated: 0,
            messages: 2 * 975,
            ..came()
        };
        let places = Places::of(&SENT, &came).unwrap_or_default();
        assert_eq!((places.unread, places.repeated), (40 * 10, 40 * 5));
        assert_eq!(places.outside, 0);
    }

    #[test]
    fn more_than_was_sent_is_refused() {
        let sent = Sendings {
            messages: 900,
            ..SENT
        };
        assert!(Places::of(&sent, &came()).is_err());
    }
}
