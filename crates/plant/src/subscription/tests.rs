//! The table of Part 4, 5.14.1.2 and the queues of 5.13.1, in virtual time.

mod ledger;
mod stored;

use std::time::Duration;

use proptest::prelude::*;
use wire::template::walk::{self, BuiltInType, Notification, RawVariant};
use wire::time::{Instant, Now};
use wire::types::{
    DataChangeFilter, DataChangeTrigger, MonitoringMode, NodeId, NumericRange, ObjectId, StatusCode,
};

use super::{
    Delivery, Filter, Item, Message, Parameters, Subscription, Terms, Tick, status_change,
};
use crate::core::SlotId;
use crate::space::attribute::Timestamps;
use crate::space::value::Scalar;
use crate::space::{
    Builder, NodeIndex, Pattern, Shape, Signal, Source, Space, Stamp, Variable, access,
};

const INTERVAL: Duration = Duration::from_millis(100);
const KEPT: usize = 10;
const OVERFLOW: u32 = 0x480;

/// A node that counts every 10 ms, one that does every second, and one that is written.
const FAST: u32 = 1;
const SLOW: u32 = 2;
const WRITTEN: u32 = 3;
const ANALOG: u32 = 4;

fn space() -> Space {
    let mut builder = Builder::new("urn:test", 0);
    let objects: NodeId = ObjectId::ObjectsFolder.into();
    let counter = |millis| {
        let start = Pattern::Counter { start: 0.0 };
        Source::Signal(Signal::new(
            BuiltInType::Double,
            start,
            Duration::from_millis(millis),
        ))
    };
    let written = || {
        let zero = RawVariant::parse(&[11, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        Source::Scalar(Scalar::new(&zero, stamp(0)).unwrap())
    };
    for (number, source, range) in [
        (FAST, counter(10), None),
        (SLOW, counter(1000), None),
        (WRITTEN, written(), None),
        (ANALOG, written(), Some((-100.0, 100.0))),
    ] {
        let shape = Shape {
            access_level: access::READ | access::WRITE,
            range,
            ..Shape::scalar(NodeId::new(0, 11u32))
        };
        let variable = Variable::new(source, shape);
        builder.variable(&objects, NodeId::new(1, number), "x", variable);
    }
    builder.finish()
}

fn stamp(source: i64) -> Stamp {
    Stamp {
        status: StatusCode::Good,
        source,
    }
}

/// A subscription, its client and their time.
struct Bench {
    space: Space,
    subscription: Subscription,
    now: Now,
    /// Publish requests that wait.
    requests: usize,
    /// What was sent: sequence number, values with their overflow bits, and whether more was
    /// promised.
    sent: Vec<Sent>,
}

#[derive(Debug, Clone, PartialEq)]
struct Sent {
    sequence: u32,
    /// Handle, value, status.
    values: Vec<(u32, f64, u32)>,
    more: bool,
}

impl Sent {
    fn numbers(&self) -> Vec<f64> {
        self.values.iter().map(|(_, value, _)| *value).collect()
    }
}

fn terms(lifetime: u32, keep_alive: u32) -> Terms {
    Terms {
        interval: INTERVAL,
        lifetime,
        keep_alive,
        most: 0,
        priority: 0,
    }
}

impl Bench {
    fn new(terms: Terms) -> Self {
        // In the middle between updates, where nothing depends on who is first.
        let now = Now {
            mono: Instant::from_nanos(5_000_000),
            utc: 50_000,
        };
        let session = SlotId {
            slot: 0,
            generation: 0,
        };
        Self {
            space: space(),
            subscription: Subscription::new(7, session, terms, true, now),
            now,
            requests: 0,
            sent: Vec::new(),
        }
    }

    fn node(&self, number: u32) -> NodeIndex {
        self.space.find_id(&NodeId::new(1, number)).unwrap()
    }

    fn parameters(&self, handle: u32) -> Parameters {
        Parameters {
            client_handle: handle,
            sampling: Duration::from_millis(10),
            queue_size: 100,
            discard_oldest: true,
            filter: Filter::default(),
            stamps: Timestamps {
                source: false,
                server: false,
            },
        }
    }

    fn add(&mut self, number: u32, mode: MonitoringMode, parameters: Parameters) -> u32 {
        let node = self.node(number);
        let make = |id| Item::new(id, node, 13, NumericRange::None, mode, parameters);
        let id = self.subscription.add(make, &self.space, self.now);
        self.subscription.settle(&self.space, self.now);
        id
    }

    fn report(&mut self, number: u32, queue_size: u32) -> u32 {
        let parameters = Parameters {
            queue_size,
            ..self.parameters(number)
        };
        self.add(number, MonitoringMode::Reporting, parameters)
    }

    fn write(&mut self, number: u32, value: f64) {
        let mut encoded = vec![11];
        encoded.extend_from_slice(&value.to_le_bytes());
        let node = self.space.node(self.node(number)).unwrap();
        let value = RawVariant::parse(&encoded).unwrap();
        let stamp = stamp(self.now.utc);
        assert!(node.variable().unwrap().source.set(&value, stamp));
    }

    /// The client sends a Publish request.
    fn ask(&mut self) {
        self.requests += 1;
        self.answer();
    }

    fn answer(&mut self) {
        while self.requests > 0 && self.subscription.wants() {
            self.requests -= 1;
            let mut out = Vec::new();
            let message = self.subscription.publish(self.now, KEPT, &mut out);
            self.subscription.became(Delivery::Sent);
            let sent = decoded(&out);
            match message {
                Message::Nothing => panic!("a message of nothing"),
                Message::KeepAlive => assert!(sent.values.is_empty()),
                Message::Notifications(n) => assert_eq!(sent.values.len(), n),
            }
            self.sent.push(sent);
        }
    }

    fn step(&mut self, to: Instant) {
        let passed = to.since(self.now.mono).as_nanos();
        self.now = Now {
            mono: to,
            utc: self.now.utc + (passed / 100) as i64,
        };
    }

    /// Lets publishing intervals go by, with all that is due in them.
    fn intervals(&mut self, n: usize) -> Tick {
        for _ in 0..n {
            loop {
                let due = self.subscription.due();
                self.step(due);
                if self.subscription.is_due(self.now) {
                    break;
                }
                self.subscription.sample(&self.space, self.now);
            }
            let requests = self.requests > 0;
            if self.subscription.tick(&self.space, self.now, requests) == Tick::Expired {
                return Tick::Expired;
            }
            self.answer();
        }
        Tick::Alive
    }
}

/// What a client reads out of a response, from subscriptionId on.
fn decoded(response: &[u8]) -> Sent {
    let mut body = Vec::new();
    let now = Now {
        mono: Instant::default(),
        utc: 0,
    };
    crate::service::write_head(&mut body, 829, 1, now);
    body.extend_from_slice(response);
    // No results, no diagnostics.
    body.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0]);
    let response = walk::PublishResponse::parse(&body).unwrap();
    assert_eq!(response.subscription_id, 7);
    let mut values = Vec::new();
    for notification in response.notifications() {
        let Notification::DataChange(items) = notification.unwrap() else {
            panic!("another notification");
        };
        for item in items {
            let item = item.unwrap();
            let value = item.value.value.and_then(|value| value.as_f64());
            let status = item.value.status().bits();
            values.push((item.client_handle, value.unwrap_or(f64::NAN), status));
        }
    }
    Sent {
        sequence: response.sequence_number,
        values,
        more: response.more_notifications,
    }
}

#[test]
fn the_first_message_comes_after_one_interval_even_when_it_is_empty() {
    let mut bench = Bench::new(terms(30, 10));
    bench.ask();
    assert_eq!(bench.sent, []);
    bench.intervals(1);
    assert_eq!(bench.sent.len(), 1);
    assert_eq!((bench.sent[0].sequence, bench.sent[0].values.len()), (1, 0));
}

#[test]
fn a_keep_alive_comes_after_so_many_intervals_and_uses_up_no_number() {
    let mut bench = Bench::new(terms(30, 3));
    for _ in 0..10 {
        bench.ask();
    }
    bench.intervals(1);
    for expected in [1, 1, 2, 2, 2, 3] {
        bench.intervals(1);
        assert_eq!(bench.sent.len(), expected, "{:?}", bench.sent);
    }
    assert!(bench.sent.iter().all(|sent| sent.sequence == 1));
    bench.report(WRITTEN, 1);
    bench.intervals(1);
    bench.intervals(3);
    let sequences: Vec<_> = bench
        .sent
        .iter()
        .skip(3)
        .map(|sent| sent.sequence)
        .collect();
    assert_eq!(sequences, [1, 2]);
}

#[test]
fn a_late_subscription_answers_the_next_publish_at_once() {
    let mut bench = Bench::new(terms(30, 10));
    bench.report(SLOW, 1);
    bench.intervals(3);
    assert_eq!(bench.sent, []);
    bench.ask();
    assert_eq!(bench.sent.len(), 1);
    assert_eq!(bench.sent[0].values, [(SLOW, 0.0, 0)]);
    bench.ask();
    assert_eq!(bench.sent.len(), 1);
}

#[test]
fn a_subscription_dies_when_nobody_publishes_for_its_lifetime() {
    let mut bench = Bench::new(terms(9, 3));
    assert_eq!(bench.intervals(8), Tick::Alive);
    bench.ask();
    assert_eq!(bench.intervals(8), Tick::Alive);
    bench.subscription.touch();
    assert_eq!(bench.intervals(8), Tick::Alive);
    assert_eq!(bench.intervals(1), Tick::Expired);
}

#[test]
fn a_waiting_publish_request_keeps_a_subscription_alive() {
    let mut bench = Bench::new(terms(9, 3));
    bench.requests = 1000;
    assert_eq!(bench.intervals(100), Tick::Alive);
}

#[test]
fn every_update_of_a_counter_is_told_once_and_in_order() {
    let mut bench = Bench::new(terms(30, 10));
    bench.report(FAST, 100);
    bench.requests = 100;
    bench.intervals(20);
    let numbers: Vec<f64> = bench.sent.iter().flat_map(Sent::numbers).collect();
    let expected: Vec<f64> = (0..numbers.len()).map(|n| n as f64).collect();
    assert_eq!(numbers, expected);
    // 20 intervals of 100 ms with an update each 10 ms, and the value at the beginning.
    assert_eq!(numbers.len(), 201);
    let sequences: Vec<u32> = bench.sent.iter().map(|sent| sent.sequence).collect();
    assert_eq!(sequences, (1..=20).collect::<Vec<_>>());
}

#[test]
fn a_full_queue_drops_the_oldest_or_the_newest_and_says_so() {
    for (discard_oldest, expected) in [
        (true, [(8.0, OVERFLOW), (9.0, 0), (10.0, 0)]),
        (false, [(0.0, 0), (1.0, 0), (10.0, OVERFLOW)]),
    ] {
        let mut bench = Bench::new(terms(30, 10));
        let parameters = Parameters {
            queue_size: 3,
            discard_oldest,
            ..bench.parameters(1)
        };
        bench.add(FAST, MonitoringMode::Reporting, parameters);
        bench.ask();
        bench.intervals(1);
        let values = bench.sent[0].values.iter();
        let seen: Vec<_> = values.map(|(_, value, status)| (*value, *status)).collect();
        assert_eq!(seen, expected);
        assert_eq!(bench.subscription.take_dropped(), 8);
    }
}

#[test]
fn a_message_holds_no_more_than_asked_and_the_rest_follows_at_once() {
    let mut bench = Bench::new(Terms {
        most: 4,
        ..terms(30, 10)
    });
    bench.report(FAST, 100);
    bench.report(SLOW, 1);
    bench.ask();
    bench.intervals(1);
    assert_eq!(bench.sent[0].numbers(), [0.0, 1.0, 2.0, 3.0]);
    assert!(bench.sent[0].more);
    bench.ask();
    bench.ask();
    bench.ask();
    assert_eq!(bench.sent.len(), 3, "{:?}", bench.sent);
    let values: usize = bench.sent.iter().map(|sent| sent.values.len()).sum();
    assert_eq!((values, bench.sent[2].more), (12, false));
    assert_eq!(bench.requests, 1);
}

#[test]
fn messages_are_kept_until_they_are_acknowledged() {
    let mut bench = Bench::new(terms(30, 10));
    bench.report(FAST, 100);
    bench.requests = 3;
    bench.intervals(3);
    assert_eq!(bench.subscription.available(), [1, 2, 3]);
    assert!(bench.subscription.republish(2).is_some());
    assert!(bench.subscription.acknowledge(2));
    assert!(!bench.subscription.acknowledge(2));
    assert!(bench.subscription.republish(2).is_none());
    assert_eq!(bench.subscription.available(), [1, 3]);
}

#[test]
fn a_republished_message_is_the_one_that_was_sent() {
    let mut bench = Bench::new(terms(30, 10));
    bench.report(FAST, 100);
    bench.intervals(1);
    let mut out = Vec::new();
    bench.subscription.publish(bench.now, KEPT, &mut out);
    // subscriptionId, one number, moreNotifications
    let message = &out[4 + 4 + 4 + 1..];
    assert_eq!(bench.subscription.republish(1).unwrap(), message);
}

#[test]
fn only_so_many_messages_are_kept_and_the_response_names_them() {
    let mut bench = Bench::new(terms(30, 10));
    bench.report(FAST, 100);
    bench.requests = 15;
    bench.intervals(15);
    let expected: Vec<u32> = (6..=15).collect();
    assert_eq!(bench.subscription.available(), expected);
    bench.intervals(1);
    let mut out = Vec::new();
    bench.subscription.publish(bench.now, KEPT, &mut out);
    let count = u32::from_le_bytes(out[4..8].try_into().unwrap());
    let last = u32::from_le_bytes(out[44..48].try_into().unwrap());
    assert_eq!((count, last), (10, 16));
}

#[test]
fn a_disabled_subscription_lives_and_tells_nothing_but_that() {
    let mut bench = Bench::new(terms(30, 2));
    bench.report(FAST, 5);
    bench.subscription.set_publishing(false);
    bench.requests = 10;
    bench.intervals(5);
    assert!(bench.sent.iter().all(|sent| sent.values.is_empty()));
    assert_eq!(bench.sent.len(), 3);
    bench.subscription.set_publishing(true);
    bench.intervals(1);
    assert_eq!(bench.sent[3].values.len(), 5);
}

#[test]
fn a_written_value_is_told_when_it_changes_and_not_when_it_does_not() {
    let mut bench = Bench::new(terms(30, 30));
    bench.report(WRITTEN, 10);
    bench.requests = 10;
    bench.intervals(1);
    assert_eq!(bench.sent[0].numbers(), [0.0]);
    for value in [0.0, 1.0, 1.0, 2.0] {
        bench.write(WRITTEN, value);
        bench.intervals(1);
    }
    let numbers: Vec<_> = bench.sent.iter().flat_map(Sent::numbers).collect();
    assert_eq!(numbers, [0.0, 1.0, 2.0]);
}

#[test]
fn a_written_item_is_asked_as_often_as_it_says_and_not_only_at_publishings() {
    let mut bench = Bench::new(terms(30, 30));
    bench.report(WRITTEN, 100);
    bench.requests = 10;
    bench.intervals(1);
    for value in 1..=5 {
        bench.write(WRITTEN, f64::from(value));
        let due = bench.subscription.due();
        bench.step(due);
        assert!(!bench.subscription.is_due(bench.now));
        bench.subscription.sample(&bench.space, bench.now);
    }
    bench.intervals(1);
    assert_eq!(bench.sent[1].numbers(), [1.0, 2.0, 3.0, 4.0, 5.0]);
}

fn filtered(trigger: DataChangeTrigger, kind: u32, value: f64, number: u32) -> Vec<f64> {
    let mut bench = Bench::new(terms(30, 30));
    let asked = DataChangeFilter {
        trigger,
        deadband_type: kind,
        deadband_value: value,
    };
    let node = bench.node(number);
    let variable = bench.space.node(node).unwrap().variable().unwrap();
    let parameters = Parameters {
        filter: Filter::new(&asked, variable).unwrap(),
        ..bench.parameters(1)
    };
    bench.add(number, MonitoringMode::Reporting, parameters);
    bench.requests = 100;
    for value in [0.0, 0.5, 1.0, 1.5, 1.5, -0.5, 30.0] {
        bench.write(number, value);
        bench.intervals(1);
    }
    bench.sent.iter().flat_map(Sent::numbers).collect()
}

#[test]
fn a_deadband_holds_back_what_is_near_the_last_value_that_was_told() {
    let all = DataChangeTrigger::StatusValue;
    assert_eq!(
        filtered(all, 0, 0.0, WRITTEN),
        [0.0, 0.5, 1.0, 1.5, -0.5, 30.0]
    );
    assert_eq!(filtered(all, 1, 1.0, WRITTEN), [0.0, 1.5, -0.5, 30.0]);
    // 10 % of a range of 200.
    assert_eq!(filtered(all, 2, 10.0, ANALOG), [0.0, 30.0]);
}

#[test]
fn the_trigger_says_whether_status_value_or_time_matter() {
    let status = DataChangeTrigger::Status;
    assert_eq!(filtered(status, 0, 0.0, WRITTEN), [0.0]);
    let time = DataChangeTrigger::StatusValueTimestamp;
    assert_eq!(
        filtered(time, 0, 0.0, WRITTEN),
        [0.0, 0.0, 0.5, 1.0, 1.5, 1.5, -0.5, 30.0]
    );
}

#[test]
fn a_deadband_that_makes_no_sense_is_refused() {
    let space = space();
    let refuse = |number, kind, value| {
        let at = space.find_id(&NodeId::new(1, number)).unwrap();
        let asked = DataChangeFilter {
            trigger: DataChangeTrigger::StatusValue,
            deadband_type: kind,
            deadband_value: value,
        };
        Filter::new(&asked, space.node(at).unwrap().variable().unwrap()).unwrap_err()
    };
    let invalid = StatusCode::BadDeadbandFilterInvalid;
    assert_eq!(refuse(WRITTEN, 1, -1.0), invalid);
    assert_eq!(refuse(WRITTEN, 1, f64::NAN), invalid);
    assert_eq!(refuse(ANALOG, 2, 101.0), invalid);
    assert_eq!(refuse(WRITTEN, 3, 1.0), invalid);
    let unsupported = StatusCode::BadMonitoredItemFilterUnsupported;
    assert_eq!(refuse(WRITTEN, 2, 10.0), unsupported);
}

#[test]
fn a_sampling_item_reports_when_another_one_triggers_it() {
    let mut bench = Bench::new(terms(30, 100));
    let quiet = Parameters {
        queue_size: 5,
        ..bench.parameters(99)
    };
    let quiet = bench.add(FAST, MonitoringMode::Sampling, quiet);
    let loud = bench.report(SLOW, 1);
    let item = bench.subscription.item_mut(loud).unwrap();
    item.links.add(quiet);
    bench.requests = 100;
    bench.intervals(9);
    let of = |sent: &Sent| {
        let quiet = sent.values.iter().filter(|(handle, _, _)| *handle == 99);
        quiet.count()
    };
    // The first value of the one that triggers was seen before there was a link.
    assert_eq!(bench.sent.iter().map(of).sum::<usize>(), 0);
    bench.intervals(1);
    let last = bench.sent.last().unwrap();
    assert_eq!((last.values.len(), of(last)), (6, 5));
    bench.intervals(5);
    assert_eq!(bench.sent.iter().map(of).sum::<usize>(), 5);
}

#[test]
fn a_disabled_item_forgets_and_begins_anew() {
    let mut bench = Bench::new(terms(30, 100));
    let id = bench.report(FAST, 100);
    let now = bench.now;
    assert!(
        bench
            .subscription
            .set_mode(id, MonitoringMode::Disabled, &bench.space, now)
    );
    bench.requests = 100;
    bench.intervals(3);
    assert_eq!(bench.sent.iter().flat_map(Sent::numbers).count(), 0);
    let now = bench.now;
    bench
        .subscription
        .set_mode(id, MonitoringMode::Reporting, &bench.space, now);
    bench.intervals(1);
    let numbers = bench.sent.last().unwrap().numbers();
    assert_eq!(numbers.len(), 11);
    assert_eq!(numbers[0], 30.0);
}

#[test]
fn what_was_seen_before_a_change_of_an_item_is_told_as_before() {
    let mut bench = Bench::new(terms(30, 100));
    let id = bench.report(FAST, 100);
    bench.requests = 100;
    let later = bench.now.mono + Duration::from_millis(50);
    bench.step(later);
    let slower = Parameters {
        sampling: Duration::from_millis(50),
        ..bench.parameters(FAST)
    };
    let now = bench.now;
    bench.subscription.set_item(id, slower, &bench.space, now);
    bench.intervals(1);
    let numbers = bench.sent[0].numbers();
    assert_eq!(numbers[..6], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert!(numbers.len() < 9, "{numbers:?}");
}

#[test]
fn resending_reports_the_last_values_again() {
    let mut bench = Bench::new(terms(30, 100));
    bench.report(WRITTEN, 1);
    bench.requests = 10;
    bench.intervals(3);
    assert_eq!(bench.sent.len(), 1);
    bench.subscription.resend();
    bench.intervals(1);
    assert_eq!(bench.sent[1].numbers(), [0.0]);
}

#[test]
fn items_are_removed_with_the_links_to_them() {
    let mut bench = Bench::new(terms(30, 100));
    let a = bench.report(FAST, 1);
    let b = bench.report(SLOW, 1);
    bench.subscription.item_mut(a).unwrap().links.add(b);
    assert_eq!(bench.subscription.remove(&[b, 77]), [true, false]);
    assert!(bench.subscription.item(a).unwrap().links.ids().is_empty());
    assert_eq!(bench.subscription.items().len(), 1);
}

#[test]
fn an_ending_is_told_in_a_message_of_its_own() {
    let now = Now {
        mono: Instant::default(),
        utc: 5,
    };
    let mut body = Vec::new();
    crate::service::write_head(&mut body, 829, 1, now);
    status_change(7, StatusCode::BadTimeout, now, &mut body);
    body.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0]);
    let response = walk::PublishResponse::parse(&body).unwrap();
    let notification = response.notifications().next().unwrap().unwrap();
    let Notification::StatusChange { status, .. } = notification else {
        panic!("another notification");
    };
    assert_eq!(status, StatusCode::BadTimeout);
}

proptest! {
    /// An item whose values are computed, and one that is asked at each of its samples, tell the
    /// same of the same history.
    #[test]
    fn looking_back_sees_what_asking_in_time_would_have_seen(
        sampling in 1u64..120,
        publishing in 20u64..300,
        queue_size in 1u32..8,
        discard_oldest: bool,
        deadband in prop_oneof![Just(None), (0.5f64..5.0).prop_map(Some)],
        slow: bool,
    ) {
        let number = if slow { SLOW } else { FAST };
        let mut bench = Bench::new(Terms {
            interval: Duration::from_millis(publishing),
            ..terms(3000, 1000)
        });
        let node = bench.node(number);
        let variable = bench.space.node(node).unwrap().variable().unwrap();
        let asked = DataChangeFilter {
            trigger: DataChangeTrigger::StatusValue,
            deadband_type: u32::from(deadband.is_some()),
            deadband_value: deadband.unwrap_or(0.0),
        };
        let parameters = Parameters {
            sampling: Duration::from_millis(sampling),
            queue_size,
            discard_oldest,
            filter: Filter::new(&asked, variable).unwrap(),
            ..bench.parameters(number)
        };
        let Source::Signal(signal) = &variable.source else { panic!() };
        let signal = signal.clone();

        // What a queue would hold that was filled one sample after another.
        let start = bench.now.mono.as_nanos();
        let mut expected = Vec::new();
        let (mut queue, mut last): (Vec<(f64, u32)>, Option<f64>) = (Vec::new(), None);
        let size = queue_size as usize;
        let mut at = start;
        for tick in 1..=20u64 {
            let end = start + tick * publishing * 1_000_000;
            while at <= end {
                let value = signal.value(signal.updates(at));
                let band = deadband.unwrap_or(0.0);
                if last.is_none_or(|last| (value - last).abs() > band) {
                    last = Some(value);
                    if queue.len() < size {
                        queue.push((value, 0));
                    } else if size == 1 {
                        queue[0] = (value, 0);
                    } else if discard_oldest {
                        queue.remove(0);
                        queue.push((value, 0));
                        queue[0].1 = OVERFLOW;
                    } else {
                        queue[size - 1] = (value, OVERFLOW);
                    }
                }
                at += sampling * 1_000_000;
            }
            expected.append(&mut queue);
        }

        bench.add(number, MonitoringMode::Reporting, parameters);
        bench.requests = 100;
        bench.intervals(20);
        let values = bench.sent.iter().flat_map(|sent| &sent.values);
        let seen: Vec<_> = values.map(|(_, value, status)| (*value, *status)).collect();
        prop_assert_eq!(seen, expected);
    }
}
