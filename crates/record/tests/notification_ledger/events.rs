//! Events: what their ids tell of those that did not come.

use record::notification_ledger::{EventInfo, EventKind, Ids};

use super::*;

const ALARM: EventKind = EventKind {
    namespace: 0,
    id: 2915,
};

/// The id of a plant's event: source, number, and when the server started.
fn id(source: u32, n: u64) -> [u8; 16] {
    let mut id = [0; 16];
    id[..4].copy_from_slice(&source.to_be_bytes());
    id[4..12].copy_from_slice(&n.to_be_bytes());
    id[12..].copy_from_slice(&7u32.to_be_bytes());
    id
}

/// An event: kind, source, number, and when it happened.
type Raised = (EventKind, u32, u64, i64);

fn alarm(source: u32, n: u64) -> Raised {
    (ALARM, source, n, (n * 10) as i64)
}

fn listening(ids: Ids) -> Client {
    let mut notification_ledger = NotificationLedger::new(0);
    let subscription = notification_ledger.subscription(seat(0), terms());
    for handle in notification_ledger.reserve(subscription, 2) {
        let terms = ItemTerms {
            watch: WatchedValue::Events(ids),
            ..counting(0, 100)
        };
        notification_ledger.item(handle, terms);
    }
    notification_ledger.measure(0);
    Client {
        notification_ledger,
        ledger: Ledger::new(),
        subscription,
        now: 0,
    }
}

impl Client {
    /// A message with events of the first item.
    fn hears(&mut self, sequence: u32, events: &[Raised]) {
        self.hears_of(0, sequence, events, false);
    }

    fn hears_of(&mut self, item: u32, sequence: u32, events: &[Raised], asked: bool) {
        self.now += PUBLISHING;
        let head = Head {
            sequence,
            publish_time: (self.now / 100) as i64,
            at: self.now + MS,
            ..Head::default()
        };
        let mut open = match asked {
            true => self
                .notification_ledger
                .republished(&mut self.ledger, self.subscription, head),
            false => self
                .notification_ledger
                .message(&mut self.ledger, self.subscription, head),
        };
        for (kind, source, n, time) in events {
            let id = id(*source, *n);
            open.event(
                item,
                EventInfo {
                    id: Some(&id),
                    kind: Some(*kind),
                    time: *time,
                    received: *time,
                },
            );
        }
        let _ = open.end();
    }

    fn ends(self) -> Account {
        self.notification_ledger.finish(self.now + MS)
    }
}

#[test]
fn numbers_that_follow_each_other_are_all_there_is() {
    let mut client = listening(Ids::All);
    client.hears(1, &[alarm(1, 5), alarm(2, 70), alarm(1, 6)]);
    client.hears(2, &[alarm(2, 71), alarm(1, 7)]);
    // The second item hears of the same events on its own.
    client.hears_of(1, 3, &[alarm(1, 5), alarm(1, 6)], false);
    let account = client.ends();
    let told = &account.measured;
    assert_eq!((told.events.raised, told.events.counted), (7, 7));
    assert_eq!((told.values.in_order, told.places.lost()), (7, 0));
    assert!(told.places.balances());
    assert_eq!((account.heard.notifiers, account.heard.sources), (2, 3));
    assert_eq!(account.counters, 2);
    assert_eq!(account.heard.kinds[&ALARM], 7);
}

#[test]
fn a_gap_in_the_numbers_is_put_down_to_what_happened_meanwhile() {
    let overflow = (EventKind::OVERFLOW, u32::MAX - 1, 1, 0);
    let mut client = listening(Ids::All);
    client.hears(1, &[alarm(1, 1), alarm(2, 1), alarm(3, 1)]);
    // Nothing explains two of the first source.
    client.hears(2, &[alarm(1, 4)]);
    // A queue was full: ten of the second.
    client.hears(3, &[overflow, alarm(2, 12), alarm(3, 2)]);
    // Message 4 never came: five of the third.
    client.hears(5, &[alarm(3, 8), alarm(1, 5)]);
    let account = client.ends();
    let places = &account.measured.places;
    assert_eq!(places.missing, 2);
    assert_eq!(places.overflowed, 10);
    assert_eq!(places.lost_with_messages(), 5);
    assert!(places.balances());
    assert_eq!(account.measured.events.overflow_events, 1);
    assert_eq!(account.measured.values.notices, 1);
}

#[test]
fn events_of_a_message_that_republish_brings_are_lost_no_more() {
    let mut client = listening(Ids::All);
    client.hears(1, &[alarm(1, 1)]);
    client.hears(3, &[alarm(1, 4), alarm(1, 5)]);
    client
        .notification_ledger
        .republish_asked(client.subscription, 2);
    client.hears_of(0, 2, &[alarm(1, 2), alarm(1, 3)], true);
    let account = client.ends();
    let told = &account.measured;
    assert_eq!((told.values.in_order, told.values.recovered), (3, 2));
    assert_eq!((told.places.lost(), told.values.repeated), (0, 0));
    assert!(told.places.balances());
}

#[test]
fn an_event_that_comes_again_is_known_by_its_id() {
    for ids in [Ids::All, Ids::Some, Ids::Opaque] {
        let mut client = listening(ids);
        client.hears(1, &[alarm(1, 1), alarm(1, 2)]);
        client.hears(2, &[alarm(1, 2), alarm(1, 1), alarm(1, 3)]);
        let told = client.ends().measured;
        assert_eq!(
            (told.events.raised, told.values.repeated),
            (3, 2),
            "{ids:?}"
        );
    }
}

#[test]
fn behind_a_filter_nobody_knows_what_is_missing() {
    let mut client = listening(Ids::Some);
    client.hears(1, &[alarm(1, 1), alarm(1, 9)]);
    let account = client.ends();
    assert_eq!(account.measured.events.passed_over, 7);
    assert_eq!(account.measured.places.lost(), 0);
    assert_eq!(account.counters, 0);
}

#[test]
fn states_between_the_events_of_a_refresh_are_no_repetitions() {
    let own = |kind, n, time| (kind, u32::MAX - 1, n, time);
    for ids in [Ids::All, Ids::Opaque] {
        let mut client = listening(ids);
        client.hears(1, &[alarm(1, 1), alarm(1, 2), alarm(2, 1)]);
        client.hears(
            2,
            &[
                own(EventKind::REFRESH_START, 1, 1000),
                // The state of the first source, and of one that is heard of for the first time.
                alarm(1, 2),
                alarm(9, 4),
                // Something new in between.
                (ALARM, 2, 2, 2000),
                own(EventKind::REFRESH_END, 2, 2000),
            ],
        );
        client.hears(3, &[alarm(1, 3), (ALARM, 2, 3, 3000)]);
        let account = client.ends();
        let told = &account.measured;
        assert_eq!(told.events.refreshed, 2, "{ids:?}");
        assert_eq!(told.events.refresh_starts, 1);
        assert_eq!(told.events.refresh_ends, 1);
        assert_eq!(
            (told.events.raised, told.values.repeated),
            (6, 0),
            "{ids:?}"
        );
        assert_eq!(told.places.lost(), 0);
        assert_eq!(account.heard.refreshes.count(), 1);
        assert_eq!(account.heard.unfinished, 0);
    }
}

#[test]
fn what_passed_while_there_was_no_subscription_is_told_as_that() {
    let mut client = listening(Ids::All);
    client.hears(1, &[alarm(1, 1)]);
    client
        .notification_ledger
        .cut(client.subscription, client.now);
    client
        .notification_ledger
        .recreated(client.subscription, terms(), client.now);
    client.hears(1, &[alarm(1, 11), alarm(1, 12)]);
    let told = client.ends().measured;
    assert_eq!((told.places.outage, told.places.missing), (9, 0));
    assert!(told.places.balances());
}
