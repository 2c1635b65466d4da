//! Samples, filters and queues (Part 4, 5.13.1 and 7.22.2).

use super::*;

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
    let variable = bench.space.lasting(node).unwrap().variable().unwrap();
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
    bench.subscription.links_mut(loud).unwrap().add([quiet]);
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
fn while_nobody_asks_what_can_be_seen_later_is_looked_at_every_ten_seconds() {
    for queue_size in [1000, 3] {
        let mut bench = Bench::new(terms(1000, 1000));
        bench.report(FAST, queue_size);
        let looks = std::iter::repeat_with(|| {
            bench.intervals(1);
            bench.subscription.tally().computed.samples
        });
        let looks: Vec<_> = looks.take(210).collect();
        // The first value is something to be told.
        assert_eq!(looks[..99], [1; 99]);
        assert_eq!(looks[99..199], [1001; 100]);
        assert_eq!(looks[199..], [2001; 11]);
        // Whoever asks then is told what he would have been told otherwise.
        bench.ask();
        let told = bench.sent[0].numbers();
        let first = 2101.0 - f64::from(queue_size);
        let expected: Vec<f64> = (0..queue_size).map(|n| first + f64::from(n)).collect();
        assert_eq!(told, expected);
        assert_eq!(bench.subscription.tally().computed.queued, 2101);
        // And from then on in time.
        bench.requests = 2;
        bench.intervals(2);
        assert_eq!(bench.sent[1].numbers().len(), 10.min(queue_size as usize));
        assert_eq!(bench.sent.len(), 3);
    }
}

#[test]
fn more_than_others_can_wait_for_is_not_left_for_later() {
    let mut bench = Bench::new(terms(1000, 1000));
    for _ in 0..300 {
        bench.report(FAST, 1);
    }
    let mut looks = Vec::new();
    for _ in 0..20 {
        bench.intervals(1);
        looks.push(bench.subscription.tally().computed.samples);
    }
    looks.dedup();
    // 3,000 in an interval, and the first values.
    assert!(looks.len() > 5, "{looks:?}");
    assert!(looks.windows(2).all(|pair| pair[1] - pair[0] <= 10_000));
}

#[test]
fn what_cannot_be_seen_later_is_looked_at_in_time_even_if_nobody_asks() {
    let mut bench = Bench::new(terms(100, 100));
    // As often as it publishes: no other timer looks at it.
    let parameters = Parameters {
        sampling: INTERVAL,
        ..bench.parameters(WRITTEN)
    };
    bench.add(WRITTEN, MonitoringMode::Reporting, parameters);
    for n in 1..28 {
        bench.intervals(1);
        bench.write(WRITTEN, f64::from(n));
    }
    bench.intervals(1);
    bench.ask();
    let expected: Vec<_> = (0..28).map(f64::from).collect();
    assert_eq!(bench.sent[0].numbers(), expected);
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
    bench.subscription.set_item(id, &slower, &bench.space, now);
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
    bench.subscription.links_mut(a).unwrap().add([b]);
    assert_eq!(bench.subscription.remove(&[b, 77]), [true, false]);
    assert!(bench.subscription.item(a).unwrap().links().is_empty());
    assert_eq!(bench.subscription.items().len(), 1);
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
        asked_every in 1usize..40,
    ) {
        let number = if slow { SLOW } else { FAST };
        let mut bench = Bench::new(Terms {
            interval: Duration::from_millis(publishing),
            ..terms(3000, 1000)
        });
        let node = bench.node(number);
        let variable = bench.space.lasting(node).unwrap().variable().unwrap();
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
        let mut requests = 0;
        for tick in 1..=80 {
            let end = start + tick as u64 * publishing * 1_000_000;
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
            requests += usize::from(tick % asked_every == 0);
            if requests > 0 && !queue.is_empty() {
                requests -= 1;
                expected.append(&mut queue);
            }
        }

        bench.add(number, MonitoringMode::Reporting, parameters);
        for tick in 1..=80 {
            bench.intervals(1);
            if tick % asked_every == 0 {
                bench.ask();
            }
        }
        let values = bench.sent.iter().flat_map(|sent| &sent.values);
        let seen: Vec<_> = values.map(|(_, value, status)| (*value, *status)).collect();
        prop_assert_eq!(seen, expected);
    }
}
