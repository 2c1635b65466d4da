//! What a client says of what it received, against what the server says it did.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use proptest::prelude::*;
use record::Ledger;
use record::notification_ledger::{
    Account, Counter, Head, ItemTerms, Monitoring, NotificationLedger, Places, Seat,
    SubscriptionTerms, WatchedValue,
};
use wire::template::walk::{self, Notification, Notifications};
use wire::time::Instant;
use wire::types::MonitoringMode;

use super::{Bench, FAST, INTERVAL, KEPT, SLOW, Terms, terms};
use crate::fault::{Faults, MessageFate};
use crate::ledger::{Tally, Values};
use crate::space::attribute::Timestamps;
use crate::subscription::{Delivery, Message, Parameters, Tick};

/// On its way to the client: so many others go first.
struct OnTheWay {
    behind: u32,
    bytes: Vec<u8>,
}

/// A subscription with faults, and a client that keeps account.
struct Pair {
    bench: Bench,
    faults: Faults,
    on_the_way: Vec<OnTheWay>,
    notification_ledger: NotificationLedger,
    ledger: Ledger,
    /// Messages that the client misses, and how many came since.
    missing: VecDeque<(u32, u32)>,
    /// Messages that nobody has but the server, and their values.
    dropped: BTreeMap<u32, u64>,
    /// So many messages the client waits for one that is missing.
    patience: u32,
    /// The server's numbers of the items.
    ids: Vec<u32>,
}

/// What is watched, how often, with which queue.
#[derive(Debug, Clone, Copy)]
struct Watched {
    node: u32,
    sampling_ms: u64,
    queue_size: u32,
    discard_oldest: bool,
}

impl Pair {
    fn new(items: &[Watched], most: u32) -> Self {
        let bench = Bench::new(Terms {
            most,
            ..terms(1_000_000, 10)
        });
        let utc = bench.now.utc - (bench.now.mono.as_nanos() / 100) as i64;
        let mut notification_ledger = NotificationLedger::new(utc);
        let subscription = notification_ledger.subscription(
            Seat::default(),
            SubscriptionTerms {
                publishing_ns: INTERVAL.as_nanos() as u64,
                keep_alive: 10,
                lifetime: 1_000_000,
            },
        );
        notification_ledger.reserve(subscription, items.len() as u32);
        let mut pair = Self {
            bench,
            faults: Faults::default(),
            on_the_way: Vec::new(),
            notification_ledger,
            ledger: Ledger::new(),
            missing: VecDeque::new(),
            dropped: BTreeMap::new(),
            patience: 3,
            ids: Vec::new(),
        };
        for (handle, item) in items.iter().enumerate() {
            pair.watch(handle as u32, *item);
        }
        pair.notification_ledger
            .measure(pair.bench.now.mono.as_nanos());
        pair
    }

    fn watch(&mut self, handle: u32, item: Watched) {
        let parameters = Parameters {
            sampling: Duration::from_millis(item.sampling_ms),
            queue_size: item.queue_size,
            discard_oldest: item.discard_oldest,
            stamps: Timestamps {
                source: true,
                server: true,
            },
            ..self.bench.parameters(handle)
        };
        let id = self
            .bench
            .add(item.node, MonitoringMode::Reporting, parameters);
        self.ids.push(id);
        let update_ms = if item.node == FAST { 10 } else { 1000 };
        let terms = ItemTerms {
            sampling_ns: item.sampling_ms * 1_000_000,
            queue_size: item.queue_size,
            discard_oldest: item.discard_oldest,
            held_back: 0,
            watch: WatchedValue::Counter(Counter {
                update_ns: update_ms * 1_000_000,
                exact: true,
                origin: Some(0),
                ..Counter::default()
            }),
        };
        self.notification_ledger.item(handle, terms);
    }

    /// The client has an item sample and report, or not.
    fn turn(&mut self, item: usize, mode: Monitoring) {
        let item = item % self.ids.len();
        let asked = match mode {
            Monitoring::Reporting => MonitoringMode::Reporting,
            Monitoring::Sampling => MonitoringMode::Sampling,
            Monitoring::Disabled => MonitoringMode::Disabled,
        };
        let Bench {
            subscription,
            space,
            now,
            ..
        } = &mut self.bench;
        assert!(subscription.set_mode(self.ids[item], asked, space, *now));
        let at = self.bench.now.mono.as_nanos();
        self.notification_ledger.monitored(item as u32, mode, at);
    }

    fn add_fault(&self, text: &str) {
        let fault = text.parse().unwrap();
        self.faults
            .add(fault, &self.bench.space, self.bench.now.mono)
            .unwrap();
    }

    /// A publishing interval with so many Publish requests at hand.
    fn publishing(&mut self, requests: usize) {
        loop {
            let due = self.bench.subscription.due();
            self.bench.step(due);
            if self.bench.subscription.is_due(self.bench.now) {
                break;
            }
            let Bench {
                subscription,
                space,
                now,
                ..
            } = &mut self.bench;
            subscription.sample(space, *now);
        }
        self.tick(requests);
    }

    fn tick(&mut self, requests: usize) {
        let Bench {
            subscription,
            space,
            now,
            ..
        } = &mut self.bench;
        assert_eq!(subscription.tick(space, *now, requests > 0), Tick::Alive);
        for _ in 0..requests {
            if !self.bench.subscription.wants() {
                break;
            }
            self.publish();
        }
        self.mend();
    }

    /// The server stands still, and is late by this.
    fn stall(&mut self, time: Duration) {
        let until = self.bench.now.mono + time;
        self.bench.step(Instant::from_nanos(until.as_nanos()));
        self.tick(usize::MAX);
    }

    fn publish(&mut self) {
        let mut bytes = Vec::new();
        let now = self.bench.now;
        let Bench {
            subscription,
            space,
            ..
        } = &mut self.bench;
        let draft = subscription.draft(usize::MAX, space, now, KEPT, Some(&self.faults));
        let made = draft.message();
        let fate = match made {
            Message::Notifications(_) => self.faults.message(now.mono),
            _ => MessageFate::default(),
        };
        if made == Message::Nothing || fate.lost {
            subscription.commit(draft, KEPT, Delivery::Dropped);
            if let (Message::Notifications(values), Some(last)) =
                (made, self.bench.subscription.available().last())
            {
                self.dropped.insert(*last, values as u64);
            }
            return;
        }
        subscription.encode(&draft, &mut bytes);
        subscription.commit(draft, KEPT, Delivery::Sent);
        let more = fate.more;
        for copy in 0..=more {
            if copy > 0 {
                self.bench.subscription.repeated();
            }
            let behind = if copy == 0 { fate.behind } else { 0 };
            if behind > 0 {
                let bytes = bytes.clone();
                self.on_the_way.push(OnTheWay { behind, bytes });
                continue;
            }
            self.receive(&bytes);
            for on_the_way in &mut self.on_the_way {
                on_the_way.behind -= 1;
            }
            let due = |on_the_way: &mut OnTheWay| on_the_way.behind == 0;
            let due: Vec<OnTheWay> = self.on_the_way.extract_if(.., due).collect();
            for on_the_way in due {
                self.receive(&on_the_way.bytes);
            }
        }
    }

    /// The client reads a response, from subscriptionId on.
    fn receive(&mut self, response: &[u8]) {
        let mut body = Vec::new();
        crate::service::write_head(&mut body, 829, 1, self.bench.now);
        body.extend_from_slice(response);
        // No results, no diagnostics.
        body.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0]);
        let response = walk::PublishResponse::parse(&body).unwrap();
        let head = Head {
            sequence: response.sequence_number,
            publish_time: response.publish_time,
            header_time: response.timestamp,
            at: self.bench.now.mono.as_nanos() + 50_000,
            more: response.more_notifications,
            bytes: body.len() as u32,
        };
        let gap = if response.is_keep_alive() {
            self.notification_ledger.keep_alive(0, head)
        } else {
            let mut open = self.notification_ledger.message(&mut self.ledger, 0, head);
            tell(&mut open, response.notifications());
            let now = self.bench.now;
            self.bench.subscription.acknowledge(head.sequence, now);
            open.end()
        };
        for (_, since) in &mut self.missing {
            *since += 1;
        }
        let gap = gap.into_iter().flat_map(|gap| gap.numbers());
        self.missing.extend(gap.map(|number| (number, 0)));
    }

    /// The client asks for messages that it misses for long enough.
    fn mend(&mut self) {
        while let Some((sequence, since)) = self.missing.front().copied() {
            if since < self.patience {
                break;
            }
            self.missing.pop_front();
            if self.notification_ledger.is_missing(0, sequence) {
                self.ask(sequence);
            }
        }
    }

    fn ask(&mut self, sequence: u32) {
        self.notification_ledger.republish_asked(0, sequence);
        let Some(message) = self.bench.subscription.republish(sequence) else {
            return self
                .notification_ledger
                .republish_refused(0, sequence, 0x807B_0000);
        };
        self.dropped.remove(&sequence);
        let mut body = Vec::new();
        crate::service::write_head(&mut body, 835, 1, self.bench.now);
        body.extend_from_slice(message);
        let response = walk::RepublishResponse::parse(&body).unwrap();
        let head = Head {
            sequence: response.sequence_number,
            publish_time: response.publish_time,
            header_time: self.bench.now.utc,
            at: self.bench.now.mono.as_nanos() + 60_000,
            more: false,
            bytes: body.len() as u32,
        };
        let mut open = self
            .notification_ledger
            .republished(&mut self.ledger, 0, head);
        tell(&mut open, response.notifications());
        open.end();
        let now = self.bench.now;
        self.bench.subscription.acknowledge(sequence, now);
    }

    /// Faults end, and everything that can still come does.
    fn quiet(&mut self) {
        self.faults.clear(None);
        for on_the_way in std::mem::take(&mut self.on_the_way) {
            self.receive(&on_the_way.bytes);
        }
        // Slow items have something new within a second.
        for _ in 0..15 {
            self.publishing(usize::MAX);
        }
        self.patience = 0;
        self.mend();
        assert!(self.missing.is_empty());
    }

    /// What the server counted.
    fn tally(&self) -> Values {
        let tally: &Tally = self.bench.subscription.tally();
        tally.computed
    }

    fn finish(self) -> Account {
        let account = self
            .notification_ledger
            .finish(self.bench.now.mono.as_nanos() + 60_000);
        let places = account.measured.places;
        assert!(places.balances(), "{places:?}");
        assert_eq!(account.measured.values.stray, 0);
        account
    }
}

fn tell(open: &mut record::notification_ledger::Open<'_>, notifications: Notifications<'_>) {
    for notification in notifications {
        let Notification::DataChange(items) = notification.unwrap() else {
            panic!("another notification");
        };
        for item in items {
            let item = item.unwrap();
            let count = item.value.value.and_then(|value| value.as_f64());
            open.value(
                item.client_handle,
                item.value.status().bits(),
                item.value.source_timestamp().unwrap_or(0),
                item.value.server_timestamp().unwrap_or(0),
                count.map(|count| count as u64),
            );
        }
    }
}

/// What was lost, from one moment to another, as the server says.
fn since(before: Values, after: Values) -> [u64; 4] {
    [
        after.unsampled - before.unsampled,
        after.overwritten - before.overwritten,
        after.overflowed - before.overflowed,
        after.lost - before.lost,
    ]
}

/// The same as the client says.
fn found(before: Places, after: Places) -> [u64; 4] {
    [
        after.sampled_away - before.sampled_away,
        after.overwritten - before.overwritten,
        after.overflowed - before.overflowed,
        after.missing - before.missing,
    ]
}

fn watched() -> impl Strategy<Value = Watched> {
    let node = prop_oneof![3 => Just(FAST), 1 => Just(SLOW)];
    let sampling = prop::sample::select(vec![3, 5, 7, 10, 15, 20, 33, 50, 100, 150, 250]);
    let queue = prop::sample::select(vec![1, 2, 5, 100]);
    (node, sampling, queue, any::<bool>()).prop_map(
        |(node, sampling_ms, queue_size, discard_oldest)| Watched {
            node,
            sampling_ms,
            queue_size,
            discard_oldest,
        },
    )
}

/// What happens between two publishings.
#[derive(Debug, Clone)]
enum Happening {
    Publishings(usize),
    /// No Publish requests at hand for so long.
    Starved(usize),
    /// One at a time.
    Scarce(usize),
    Stall(u64),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        6 => (1usize..6).prop_map(Happening::Publishings),
        1 => (1usize..5).prop_map(Happening::Starved),
        1 => (1usize..5).prop_map(Happening::Scarce),
        1 => (1u64..700).prop_map(Happening::Stall),
    ]
}

fn happen(pair: &mut Pair, happening: &Happening) {
    match *happening {
        Happening::Publishings(n) => (0..n).for_each(|_| pair.publishing(usize::MAX)),
        Happening::Starved(n) => (0..n).for_each(|_| pair.publishing(0)),
        Happening::Scarce(n) => (0..n).for_each(|_| pair.publishing(1)),
        Happening::Stall(millis) => pair.stall(Duration::from_millis(millis)),
    }
}

proptest! {
    /// However slow sampling is, however short queues, however late the client: a server without
    /// faults is never blamed, and what it could not keep is found to the last value.
    #[test]
    fn a_server_without_faults_raises_no_alarm(
        items in prop::collection::vec(watched(), 1..8),
        most in prop::sample::select(vec![0u32, 0, 3, 20]),
        happenings in prop::collection::vec(happening(), 1..30),
    ) {
        let mut pair = Pair::new(&items, most);
        pair.publishing(usize::MAX);
        let (before, known) = (pair.tally(), pair.notification_ledger.so_far().places);
        for happening in &happenings {
            happen(&mut pair, happening);
        }
        pair.quiet();
        let after = pair.tally();
        let account = pair.finish();
        let measured = account.measured;
        prop_assert_eq!(measured.values.in_order, after.sent);
        prop_assert_eq!(measured.values.overflow_alone, 0);
        prop_assert_eq!(measured.messages.gaps, 0);
        prop_assert_eq!(found(known, measured.places), since(before, after));
    }

    /// What items keep while they only sample comes when they report again (Part 4, 5.13.4): what
    /// a queue was too short for is found to the last value, and nothing is late or missing.
    #[test]
    fn items_that_only_sampled_for_a_while_lose_what_their_queues_do(
        items in prop::collection::vec(watched(), 1..8),
        turns in prop::collection::vec((0usize..8, any::<bool>(), 0usize..6), 1..30),
    ) {
        let mut pair = Pair::new(&items, 0);
        pair.publishing(usize::MAX);
        let (before, known) = (pair.tally(), pair.notification_ledger.so_far().places);
        for (item, holds, publishings) in turns {
            let mode = if holds { Monitoring::Sampling } else { Monitoring::Reporting };
            pair.turn(item, mode);
            (0..publishings).for_each(|_| pair.publishing(usize::MAX));
        }
        (0..items.len()).for_each(|item| pair.turn(item, Monitoring::Reporting));
        pair.quiet();
        let after = pair.tally();
        let account = pair.finish();
        let measured = account.measured;
        prop_assert_eq!(found(known, measured.places), since(before, after));
        prop_assert_eq!(measured.places.unjudged, 0);
        prop_assert_eq!((measured.values.late, measured.values.repeated), (0, 0));
        prop_assert_eq!(account.overdue, 0);
    }

    /// One that is disabled forgets. Nobody is blamed for that, wherever it ends.
    #[test]
    fn items_that_are_switched_off_and_on_raise_no_alarm(
        items in prop::collection::vec(watched(), 1..8),
        turns in prop::collection::vec((0usize..8, 0usize..3, 0usize..6), 1..30),
    ) {
        let mut pair = Pair::new(&items, 0);
        pair.publishing(usize::MAX);
        for (item, mode, publishings) in turns {
            let modes = [Monitoring::Reporting, Monitoring::Sampling, Monitoring::Disabled];
            pair.turn(item, modes[mode]);
            (0..publishings).for_each(|_| pair.publishing(usize::MAX));
        }
        // The end is now, whatever the items are told to do.
        let account = pair.finish();
        let measured = account.measured;
        prop_assert_eq!(measured.places.missing, 0);
        prop_assert_eq!((measured.values.late, measured.values.repeated), (0, 0));
        prop_assert_eq!(measured.values.out_of_order, 0);
        prop_assert_eq!(account.overdue, 0);
    }

    /// Each kind of fault alone is found under its name, with nothing beside it.
    #[test]
    fn each_fault_is_found_under_its_name(
        items in prop::collection::vec(watched(), 1..8),
        every in 2u64..30,
        kind in 0usize..6,
        happenings in prop::collection::vec(1usize..20, 1..12),
        patience in 1u32..20,
    ) {
        // A value that is left out of a queue of one looks as if it had been overwritten.
        let items: Vec<Watched> = items
            .into_iter()
            .map(|item| Watched { queue_size: item.queue_size.max(100), ..item })
            .collect();
        let mut pair = Pair::new(&items, 0);
        pair.patience = patience;
        pair.publishing(usize::MAX);
        let (before, known) = (pair.tally(), pair.notification_ledger.so_far().places);
        let messages = pair.bench.subscription.tally().messages;
        let fault = ["drop,on=value", "overflow,on=value", "drop", "repeat", "repeat=3", "reorder=2"][kind];
        pair.add_fault(&format!("{fault},every={every}"));
        for n in happenings {
            (0..n).for_each(|_| pair.publishing(usize::MAX));
        }
        pair.quiet();
        let after = pair.tally();
        let count = pair.faults.counts()[0].clone();
        let told = pair.bench.subscription.tally().messages;
        let account = pair.finish();
        let measured = account.measured;
        let (values, places, came) = (measured.values, measured.places, measured.messages);
        prop_assert_eq!(found(known, places), since(before, after));
        prop_assert_eq!(values.overflow_alone, if kind == 1 { count.hits } else { 0 });
        prop_assert_eq!(values.overflow_bits, values.overflow_alone);
        prop_assert_eq!(came.repeated_messages, told.repeated);
        prop_assert_eq!(values.repeated > 0, told.repeated > 0);
        let dropped = told.dropped - messages.dropped;
        match kind {
            2 => {
                prop_assert_eq!(dropped, count.hits);
                prop_assert_eq!((came.missing_messages, came.disordered), (dropped, 0));
                prop_assert_eq!(came.republish_answered, told.republished);
                prop_assert_eq!(came.lost(), dropped - told.republished);
                prop_assert_eq!(values.recovered, after.republished);
                prop_assert_eq!(places.lost_with_messages(), after.dropped - after.republished);
            }
            5 if patience > 3 => {
                prop_assert_eq!(came.lost(), 0);
                prop_assert_eq!(came.disordered, came.missing_messages);
                prop_assert!(came.disordered <= count.hits);
                prop_assert_eq!(places.lost_with_messages(), 0);
            }
            5 => prop_assert_eq!(places.lost_with_messages(), 0),
            _ => prop_assert_eq!((came.gaps, values.recovered), (0, 0)),
        }
    }

    /// Whatever goes wrong at once, every update has a place, and as many are lost as the server says.
    #[test]
    fn whatever_goes_wrong_at_once_the_sums_agree(
        items in prop::collection::vec(watched(), 1..8),
        most in prop::sample::select(vec![0u32, 0, 3, 20]),
        faults in prop::collection::vec((0usize..6, 2u64..40), 1..4),
        happenings in prop::collection::vec(happening(), 1..30),
        patience in 1u32..20,
    ) {
        let mut pair = Pair::new(&items, most);
        pair.patience = patience;
        pair.publishing(usize::MAX);
        let (before, known) = (pair.tally(), pair.notification_ledger.so_far().places);
        for (kind, every) in faults {
            let fault = ["drop,on=value", "overflow,on=value", "drop", "repeat", "repeat=3", "reorder=2"][kind];
            pair.add_fault(&format!("{fault},every={every}"));
        }
        for happening in &happenings {
            happen(&mut pair, happening);
        }
        pair.quiet();
        let after = pair.tally();
        let dropped: u64 = pair.dropped.values().sum();
        let account = pair.finish();
        let places = account.measured.places;
        let said: u64 = since(before, after).iter().sum::<u64>() + dropped;
        let says: u64 = found(known, places).iter().sum::<u64>() + places.lost_with_messages();
        prop_assert_eq!(says, said, "{:?} {:?}", places, after);
    }
}

#[test]
fn a_million_values_raise_no_alarm() {
    let watched = |queue_size, sampling_ms| Watched {
        node: FAST,
        sampling_ms,
        queue_size,
        discard_oldest: sampling_ms == 10,
    };
    let items: Vec<Watched> = (0..100)
        .map(|n| match n {
            0..80 => watched(100, 10),
            80..90 => watched(5, 5),
            90..95 => watched(1, 10),
            _ => watched(10, 15),
        })
        .collect();
    let mut pair = Pair::new(&items, 0);
    pair.publishing(usize::MAX);
    let (before, known) = (pair.tally(), pair.notification_ledger.so_far().places);
    while pair.tally().sent < 1_000_000 {
        pair.publishing(usize::MAX);
    }
    pair.quiet();
    let after = pair.tally();
    let measured = pair.finish().measured;
    assert!(measured.values.in_order >= 1_000_000);
    assert_eq!(measured.values.in_order, after.sent);
    assert_eq!(found(known, measured.places), since(before, after));
    assert_eq!(measured.places.missing, 0);
    assert_eq!(measured.values.late, 0);
}
