//! What a subscription counts, against what happened to it.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use wire::types::MonitoringMode;

use super::{Bench, FAST, SLOW, WRITTEN, terms};
use crate::ledger::{Ledger, TakingNow, Tally};
use crate::subscription::{Delivery, Parameters, Terms, Tick};

/// Checks the sums, and what is left over against the queues themselves.
fn check(bench: &Bench) -> Tally {
    let tally = *bench.subscription.tally();
    for values in [tally.computed, tally.stored, tally.event] {
        assert!(values.balances(), "{values:?}");
    }
    assert!(tally.messages.balances(), "{:?}", tally.messages);
    let waiting = bench.subscription.items().iter().map(|item| item.waiting());
    assert_eq!(tally.values().pending(), waiting.sum::<usize>() as u64);
    let kept = bench.subscription.available().len() as u64;
    assert_eq!(tally.messages.kept(), kept);
    tally
}

#[test]
fn a_counter_that_is_sampled_at_each_update_loses_none() {
    let mut bench = Bench::new(terms(30, 10));
    bench.report(FAST, 100);
    bench.requests = 100;
    bench.intervals(20);
    let values = check(&bench).computed;
    // 20 intervals of 100 ms with an update each 10 ms, and the value at the beginning.
    assert_eq!((values.updates, values.unsampled), (200, 0));
    assert_eq!((values.samples, values.sent), (201, 201));
}

#[test]
fn updates_between_two_samples_are_counted_as_seen_by_none() {
    let mut bench = Bench::new(terms(30, 10));
    let parameters = Parameters {
        sampling: Duration::from_millis(50),
        ..bench.parameters(FAST)
    };
    bench.add(FAST, MonitoringMode::Reporting, parameters);
    bench.requests = 100;
    bench.intervals(10);
    let values = check(&bench).computed;
    // One of five updates is seen, at 20 moments after the first.
    assert_eq!((values.updates, values.unsampled), (100, 80));
    assert_eq!((values.samples, values.sent), (21, 21));
}

#[test]
fn a_queue_of_one_overwrites_and_a_longer_one_overflows() {
    for (size, overwritten, overflowed) in [(1, 10, 0), (3, 0, 8)] {
        let mut bench = Bench::new(terms(30, 10));
        bench.report(FAST, size);
        bench.ask();
        bench.intervals(1);
        let values = check(&bench).computed;
        assert_eq!(
            (values.overwritten, values.overflowed),
            (overwritten, overflowed)
        );
    }
}

#[test]
fn writes_that_came_between_two_samples_are_counted() {
    let mut bench = Bench::new(terms(30, 30));
    let parameters = Parameters {
        sampling: Duration::from_millis(100),
        ..bench.parameters(WRITTEN)
    };
    bench.add(WRITTEN, MonitoringMode::Reporting, parameters);
    bench.requests = 100;
    for value in 0..5 {
        bench.write(WRITTEN, f64::from(value) + 0.25);
        bench.write(WRITTEN, f64::from(value) + 0.5);
        bench.intervals(1);
    }
    let values = check(&bench).stored;
    assert_eq!((values.updates, values.unsampled), (10, 5));
    assert_eq!(values.sent, 6);
}

#[test]
fn what_a_subscription_counted_outlives_it() {
    let ledger = Arc::<Ledger>::default();
    let mut bench = Bench::new(terms(30, 10));
    bench.subscription.enter(&ledger);
    bench.report(FAST, 100);
    bench.requests = 2;
    bench.intervals(3);
    let live = ledger.read();
    assert_eq!(live.open.get(&7), Some(bench.subscription.tally()));
    let values = live.total.computed;
    assert_eq!((values.sent, values.pending()), (21, 10));
    drop(bench);
    let ended = ledger.read();
    assert!(ended.open.is_empty());
    let values = ended.total.computed;
    assert_eq!(
        (values.sent, values.discarded, values.pending()),
        (21, 10, 0)
    );
    // Nobody acknowledged the two messages.
    assert_eq!((values.forgotten, values.kept()), (21, 0));
    assert_eq!(ended.total.messages.forgotten, 2);
}

#[test]
fn what_a_client_is_too_slow_for_stands_in_the_ledger() {
    let ledger = Arc::<Ledger>::default();
    let mut bench = Bench::new(terms(30, 10));
    bench.subscription.enter(&ledger);
    bench.report(FAST, 100);
    // It asks 250 ms after there was something to send.
    bench.intervals(1);
    let late = bench.now.mono + Duration::from_millis(250);
    let since = |bench: &Bench| {
        let mut now = TakingNow::default();
        let record = &bench.subscription.record;
        record.owed(bench.now.mono.as_nanos(), &mut now);
        now
    };
    bench.step(late);
    assert_eq!(since(&bench).longest_wait_ns, 250_000_000);
    bench.ask();
    let now = since(&bench);
    assert_eq!((now.waiting, now.unacknowledged), (0, 1));
    // And acknowledges 400 ms after that.
    bench.step(late + Duration::from_millis(300));
    assert_eq!(since(&bench).oldest_unacknowledged_ns, 300_000_000);
    bench.subscription.republish(1);
    bench.subscription.republish(99);
    bench.step(late + Duration::from_millis(400));
    bench.subscription.acknowledge(1, bench.now);
    let took = ledger.took.read();
    assert_eq!((took.publish_gaps, took.publish_gap_ns), (1, 250_000_000));
    assert_eq!(took.longest_acknowledged_after_ns, 400_000_000);
    assert_eq!((took.republish_asked, took.republish_missing), (2, 1));
    // Then it is heard of no more.
    assert_eq!(bench.intervals(40), Tick::Expired);
    drop(bench);
    let took = ledger.took.read();
    assert_eq!((took.publish_gaps, took.expired), (2, 1));
    assert!(took.longest_publish_gap_ns > 2_000_000_000);
}

/// What can happen to a subscription.
#[derive(Debug, Clone)]
enum Happening {
    Intervals(usize),
    Asks,
    Write(f64),
    Mode(usize, MonitoringMode),
    Resize(usize, u32),
    Remove(usize),
    Acknowledge(u32),
    Republish(u32),
    Resend,
    /// A message goes astray.
    Astray(Delivery),
}

fn happening() -> impl Strategy<Value = Happening> {
    use Happening as H;
    let mode = prop_oneof![
        Just(MonitoringMode::Reporting),
        Just(MonitoringMode::Sampling),
        Just(MonitoringMode::Disabled),
    ];
    prop_oneof![
        4 => (1usize..4).prop_map(H::Intervals),
        4 => Just(H::Asks),
        3 => (-3f64..3.0).prop_map(H::Write),
        1 => (0usize..3, mode).prop_map(|(at, mode)| H::Mode(at, mode)),
        1 => (0usize..3, 1u32..6).prop_map(|(at, size)| H::Resize(at, size)),
        1 => (0usize..3).prop_map(H::Remove),
        2 => (1u32..20).prop_map(H::Acknowledge),
        1 => (1u32..20).prop_map(H::Republish),
        1 => Just(H::Resend),
        1 => Just(H::Astray(Delivery::Dropped)),
        1 => Just(H::Astray(Delivery::Unsent)),
    ]
}

fn happen(bench: &mut Bench, ids: &[u32], what: Happening) {
    let id = |at: usize| ids.get(at).copied().unwrap_or_default();
    match what {
        Happening::Intervals(n) => {
            bench.intervals(n);
        }
        Happening::Asks => bench.ask(),
        Happening::Write(value) => bench.write(WRITTEN, value),
        Happening::Mode(at, mode) => {
            let now = bench.now;
            bench.subscription.set_mode(id(at), mode, &bench.space, now);
            bench.subscription.settle(now);
        }
        Happening::Resize(at, queue_size) => {
            let parameters = Parameters {
                queue_size,
                ..bench.parameters(at as u32)
            };
            let now = bench.now;
            bench
                .subscription
                .set_item(id(at), &parameters, &bench.space, now);
            bench.subscription.settle(now);
        }
        Happening::Remove(at) => {
            bench.subscription.remove(&[id(at)]);
        }
        Happening::Acknowledge(sequence) => {
            bench.subscription.acknowledge(sequence, bench.now);
        }
        Happening::Republish(sequence) => {
            bench.subscription.republish(sequence);
        }
        Happening::Resend => bench.subscription.resend(),
        Happening::Astray(delivery) => {
            if bench.subscription.wants() {
                bench.publish(delivery);
            }
        }
    }
}

proptest! {
    /// Whatever happens, each update, sample, value and message is somewhere.
    #[test]
    fn nothing_is_ever_unaccounted_for(
        most in 0u32..8,
        queue_size in 1u32..12,
        happenings in prop::collection::vec(happening(), 1..60),
    ) {
        let ledger = Arc::<Ledger>::default();
        let mut bench = Bench::new(Terms { most, ..terms(3000, 5) });
        bench.subscription.enter(&ledger);
        let ids = [FAST, SLOW, WRITTEN].map(|number| bench.report(number, queue_size));
        for what in happenings {
            happen(&mut bench, &ids, what);
            check(&bench);
        }
        let sent: usize = bench.sent.iter().map(|sent| sent.values.len()).sum();
        let tally = check(&bench);
        prop_assert_eq!(tally.values().sent, sent as u64);
        let messages = bench.sent.iter().filter(|sent| !sent.values.is_empty());
        prop_assert_eq!(tally.messages.sent, messages.count() as u64);
        // What others see is what the loop counted.
        prop_assert_eq!(ledger.read().total, tally);
        drop(bench);
        let ended = ledger.total();
        prop_assert_eq!(ended.values().pending(), 0);
        prop_assert_eq!(ended.messages.kept(), 0);
    }
}
