//! The table of Part 4, 5.14.1.2: when a message goes, what it holds, and how it is had again.

use super::*;

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
    bench.subscription.touch(bench.now);
    assert_eq!(bench.intervals(8), Tick::Alive);
    assert_eq!(bench.intervals(1), Tick::Expired);
}

#[test]
fn one_that_rests_dies_in_time_and_whatever_names_it_keeps_it_alive() {
    let cases = [(9, 4), (10, 3), (51, 50), (60, 54), (140, 115)];
    let cases = cases
        .into_iter()
        .flat_map(|case| [(case, false), (case, true)]);
    for ((lifetime, named_at), asks) in cases {
        let mut bench = Bench::new(terms(lifetime, 3));
        bench.report(FAST, 1);
        assert_eq!(bench.intervals(named_at), Tick::Alive);
        match asks {
            true => bench.ask(),
            false => bench.subscription.touch(bench.now),
        }
        assert_eq!(bench.sent.len(), usize::from(asks));
        assert_eq!(bench.intervals(lifetime as usize - 1), Tick::Alive);
        assert_eq!(bench.intervals(1), Tick::Expired);
    }
}

#[test]
fn a_waiting_publish_request_keeps_a_subscription_alive() {
    let mut bench = Bench::new(terms(9, 3));
    bench.requests = 1000;
    assert_eq!(bench.intervals(100), Tick::Alive);
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
    assert!(bench.subscription.acknowledge(2, bench.now));
    assert!(!bench.subscription.acknowledge(2, bench.now));
    assert!(bench.subscription.republish(2).is_none());
    assert_eq!(bench.subscription.available(), [1, 3]);
}

#[test]
fn a_republished_message_is_the_one_that_was_sent() {
    let mut bench = Bench::new(terms(30, 10));
    bench.report(FAST, 100);
    bench.intervals(1);
    let (_, out) = bench.publish(Delivery::Sent);
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
    let (_, out) = bench.publish(Delivery::Sent);
    let count = u32::from_le_bytes(out[4..8].try_into().unwrap());
    let last = u32::from_le_bytes(out[44..48].try_into().unwrap());
    assert_eq!((count, last), (10, 16));
}

#[test]
fn a_disabled_subscription_lives_and_tells_nothing_but_that() {
    let mut bench = Bench::new(terms(30, 2));
    bench.report(FAST, 5);
    bench.subscription.set_publishing(false, bench.now);
    bench.requests = 10;
    bench.intervals(5);
    assert!(bench.sent.iter().all(|sent| sent.values.is_empty()));
    assert_eq!(bench.sent.len(), 3);
    bench.subscription.set_publishing(true, bench.now);
    bench.intervals(1);
    assert_eq!(bench.sent[3].values.len(), 5);
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

#[test]
fn a_message_has_a_mebibyte_and_the_rest_follows_whatever_its_client_takes() {
    let mut bench = Bench::new(terms(100_000, 10_000));
    bench.report(FAST, 100_000);
    bench.intervals(8_000);
    for _ in 0..3 {
        bench.ask();
    }
    // Fourteen bytes each: handle, mask and a Double with its type.
    let full = (1 << 20) / 14;
    let values: Vec<usize> = bench.sent.iter().map(|sent| sent.values.len()).collect();
    assert_eq!(values.len(), 2, "{values:?}");
    assert!(values[0].abs_diff(full) < 10, "{values:?}");
    assert!(bench.sent[0].more && !bench.sent[1].more);
    let all = bench.sent.iter().flat_map(Sent::numbers);
    assert!(all.clone().eq((0..values.iter().sum()).map(|n| n as f64)));
}
