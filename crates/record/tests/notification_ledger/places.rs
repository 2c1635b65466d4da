//! One thing at a time goes wrong, and is found under its name.

use super::*;
use record::Measure;

#[test]
fn values_that_follow_each_other_leave_nothing_to_say() {
    let mut client = Client::new(&[counting(10, 100)]);
    for message in 0..20u64 {
        let values: Vec<Told> = (0..10).map(|n| (0, message * 10 + n + 1, 0)).collect();
        assert_eq!(client.comes(message as u32 + 1, &values), None);
    }
    let account = client.account();
    let (values, places) = (account.measured.values, account.measured.places);
    assert_eq!((values.received, values.in_order), (200, 200));
    // The first of an item is no update that somebody saw pass.
    assert_eq!((places.updates, places.delivered), (199, 199));
    assert_eq!(places.lost(), 0);
    assert_eq!(account.overdue, 0);
}

#[test]
fn what_nothing_explains_is_missing() {
    let mut client = Client::new(&[counting(10, 100)]);
    client.comes(1, &[(0, 1, 0), (0, 2, 0), (0, 5, 0)]);
    let places = client.account().measured.places;
    assert_eq!((places.missing, places.lost()), (2, 2));
}

#[test]
fn the_overflow_bit_explains_what_is_missing_before_it() {
    let mut client = Client::new(&[counting(10, 3)]);
    client.comes(1, &[(0, 1, 0)]);
    client.comes(2, &[(0, 9, OVERFLOW), (0, 10, 0), (0, 11, 0)]);
    let account = client.account();
    assert_eq!(account.measured.places.overflowed, 7);
    assert_eq!(account.measured.values.overflow_alone, 0);
}

#[test]
fn what_overflowed_while_the_client_did_not_run_is_its_own() {
    let mut client = Client::new(&[counting(10, 3)]);
    client.comes(1, &[(0, 1, 0)]);
    client.now += 3 * PUBLISHING;
    client.notification_ledger.went_on(client.now);
    client.at_once(2, &[(0, 9, OVERFLOW), (0, 10, 0), (0, 11, 0)]);
    // The next ones are the server's again.
    client.comes(3, &[(0, 14, 0)]);
    client.comes(4, &[(0, 20, OVERFLOW), (0, 21, 0), (0, 22, 0)]);
    let account = client.account();
    let places = account.measured.places;
    assert_eq!((places.stalled, places.overflowed), (7, 5));
    assert_eq!(places.missing, 2);
    assert_eq!(places.lost(), 7);
    assert_eq!(account.measured.values.stalled_bits, 1);
}

#[test]
fn an_overflow_bit_with_nothing_missing_is_told_as_such() {
    let mut client = Client::new(&[counting(10, 3)]);
    client.comes(1, &[(0, 1, 0), (0, 2, OVERFLOW)]);
    let account = client.account();
    assert_eq!(account.measured.values.overflow_alone, 1);
    assert_eq!(account.measured.places.lost(), 0);
}

#[test]
fn a_queue_of_one_is_overwritten() {
    let mut client = Client::new(&[counting(10, 1)]);
    for message in 1..=5u32 {
        client.comes(message, &[(0, u64::from(message) * 10, 0)]);
    }
    let places = client.account().measured.places;
    assert_eq!((places.overwritten, places.lost()), (36, 0));
}

#[test]
fn a_message_without_an_item_that_must_have_had_news_is_one_value_missing() {
    let mut client = Client::new(&[counting(10, 1), counting(10, 1)]);
    for message in 1..=5u32 {
        let both = [
            (0, u64::from(message) * 10, 0),
            (1, u64::from(message) * 10, 0),
        ];
        match message {
            3 => client.comes(message, &both[..1]),
            _ => client.comes(message, &both),
        };
    }
    let places = client.account().measured.places;
    assert_eq!((places.missing, places.overwritten), (1, 36 + 36));
}

#[test]
fn slow_sampling_samples_away_and_loses_nothing() {
    let mut client = Client::new(&[counting(50, 10)]);
    client.comes(1, &[(0, 5, 0), (0, 10, 0)]);
    client.comes(2, &[(0, 15, 0), (0, 20, 0)]);
    let places = client.account().measured.places;
    assert_eq!((places.sampled_away, places.lost()), (12, 0));
}

#[test]
fn a_lost_sample_of_slow_sampling_is_one_value() {
    let mut client = Client::new(&[counting(50, 10)]);
    client.comes(1, &[(0, 5, 0), (0, 10, 0)]);
    client.comes(2, &[(0, 20, 0)]);
    let places = client.account().measured.places;
    assert_eq!((places.sampled_away, places.missing), (12, 1));
}

#[test]
fn a_message_that_is_missing_is_asked_for_and_comes_after_all() {
    let mut client = Client::new(&[counting(10, 100)]);
    client.comes(1, &[(0, 1, 0), (0, 2, 0)]);
    let gap = client.comes(3, &[(0, 5, 0)]).unwrap();
    assert_eq!(gap.numbers().collect::<Vec<_>>(), [2]);
    assert!(client.notification_ledger.is_missing(0, 2));
    client.notification_ledger.republish_asked(0, 2);
    client.is_republished(2, &[(0, 3, 0), (0, 4, 0)]);
    assert!(!client.notification_ledger.is_missing(0, 2));
    client.comes(4, &[(0, 6, 0)]);
    let account = client.account();
    let measured = &account.measured;
    assert_eq!(
        (measured.values.recovered, measured.values.in_order),
        (2, 4)
    );
    assert_eq!(
        (measured.places.in_lost_messages, measured.places.lost()),
        (2, 0)
    );
    assert_eq!(
        (measured.messages.missing_messages, measured.messages.lost()),
        (1, 0)
    );
    assert_eq!(account.recovery.count(), 1);
}

#[test]
fn a_message_that_the_server_does_not_have_any_more_is_lost_for_good() {
    let mut client = Client::new(&[counting(10, 100)]);
    client.comes(1, &[(0, 1, 0)]);
    client.comes(3, &[(0, 4, 0)]);
    client.notification_ledger.republish_asked(0, 2);
    client
        .notification_ledger
        .republish_refused(0, 2, 0x807B_0000);
    let account = client.account();
    assert_eq!(account.measured.places.lost_with_messages(), 2);
    assert_eq!(account.measured.messages.lost(), 1);
}

#[test]
fn a_message_behind_others_is_out_of_order_and_not_lost() {
    let mut client = Client::new(&[counting(10, 100)]);
    client.comes(1, &[(0, 1, 0)]);
    client.comes(3, &[(0, 3, 0)]);
    client.at_once(2, &[(0, 2, 0)]);
    client.comes(4, &[(0, 4, 0)]);
    let measured = client.account().measured;
    assert_eq!(
        (measured.values.out_of_order, measured.values.in_order),
        (1, 3)
    );
    assert_eq!(
        (measured.messages.disordered, measured.messages.lost()),
        (1, 0)
    );
    assert_eq!(measured.places.lost(), 0);
}

#[test]
fn a_value_behind_others_in_a_message_in_its_turn_is_out_of_order_even_when_it_is_the_first() {
    let mut client = Client::settling(&[counting(10, 100)]);
    client.comes(1, &[(0, 1, 0), (0, 3, 0)]);
    client.notification_ledger.measure(client.now);
    client.comes(2, &[(0, 2, 0)]);
    let values = client.account().measured.values;
    assert_eq!((values.out_of_order, values.in_order), (1, 0));
}

#[test]
fn a_message_that_comes_twice_is_repeated() {
    let mut client = Client::new(&[counting(10, 100)]);
    client.comes(1, &[(0, 1, 0), (0, 2, 0)]);
    client.at_once(1, &[(0, 1, 0), (0, 2, 0)]);
    client.comes(2, &[(0, 3, 0)]);
    let measured = client.account().measured;
    assert_eq!(
        (
            measured.messages.repeated_messages,
            measured.values.repeated
        ),
        (1, 2)
    );
    assert_eq!((measured.places.updates, measured.places.lost()), (2, 0));
}

#[test]
fn a_keep_alive_tells_of_a_message_that_never_came() {
    let mut client = Client::new(&[counting(10, 100)]);
    client.comes(1, &[(0, 1, 0)]);
    let head = client.head(3);
    let gap = client.notification_ledger.keep_alive(0, head).unwrap();
    assert_eq!(gap.numbers().collect::<Vec<_>>(), [2]);
    // The number of the last message instead of the next says nothing.
    let head = client.head(2);
    assert_eq!(client.notification_ledger.keep_alive(0, head), None);
}

#[test]
fn a_counter_of_a_byte_wraps() {
    let mut item = counting(10, 1000);
    if let WatchedValue::Counter(counter) = &mut item.watch {
        counter.modulus = 256;
    }
    let mut client = Client::new(&[item]);
    let told = |n: u64| (0, 0, stamp(n), n % 256);
    for (message, range) in [(1, 1..=200u64), (2, 201..=400), (3, 800..=801)] {
        client.now = range.end() * 10 * MS;
        let head = client.head(message);
        let mut open = client
            .notification_ledger
            .message(&mut client.ledger, 0, head);
        for n in range {
            let (handle, status, stamp, count) = told(n);
            open.value(handle, status, stamp, stamp, Some(count));
        }
        open.end();
    }
    let places = client.account().measured.places;
    assert_eq!((places.delivered, places.missing), (401, 399));
}

#[test]
fn what_passes_while_there_is_no_subscription_is_an_outage() {
    let mut client = Client::new(&[counting(10, 100)]);
    client.comes(1, &[(0, 1, 0), (0, 2, 0)]);
    client.notification_ledger.cut(0, client.now + MS);
    client.now += 1000 * MS;
    client.notification_ledger.recreated(0, terms(), client.now);
    client.comes(1, &[(0, 100, 0), (0, 101, 0)]);
    let account = client.account();
    assert_eq!(
        (
            account.measured.places.outage,
            account.measured.places.missing
        ),
        (97, 0)
    );
    assert_eq!(account.outages.max(), Some(1000 * MS - MS));
}

#[test]
fn a_value_that_is_told_again_by_a_transfer_is_no_repeat() {
    let mut client = Client::new(&[counting(10, 100)]);
    client.comes(1, &[(0, 1, 0)]);
    client.notification_ledger.resumed(0, client.now, true);
    client.comes(2, &[(0, 1, 0), (0, 2, 0)]);
    client.comes(3, &[(0, 2, 0), (0, 3, 0)]);
    let values = client.account().measured.values;
    assert_eq!((values.resent, values.repeated), (1, 1));
}

#[test]
fn an_item_that_stops_is_overdue_and_one_that_never_began_is_silent() {
    let mut client = Client::new(&[counting(10, 100), counting(10, 100), counting(10, 100)]);
    for message in 1..=20u32 {
        let counts = (0..10).map(|n| u64::from(message) * 10 - 9 + n);
        let mut values: Vec<Told> = counts.clone().map(|count| (0, count, 0)).collect();
        if message <= 10 {
            values.extend(counts.map(|count| (1, count, 0)));
        }
        client.comes(message, &values);
    }
    let account = client.account();
    assert_eq!((account.silent, account.silent_first[0].1), (1, 2));
    assert_eq!(account.overdue_items, 1);
    // 100 updates behind its last value; up to 32 of them may be under way.
    assert!((65..=100).contains(&account.overdue), "{}", account.overdue);
}

#[test]
fn a_message_that_republish_overtook_came_out_of_order_and_is_no_repeat() {
    let mut client = Client::new(&[counting(10, 100)]);
    client.comes(1, &[(0, 1, 0)]);
    client.comes(3, &[(0, 3, 0)]);
    client.notification_ledger.republish_asked(0, 2);
    client.is_republished(2, &[(0, 2, 0)]);
    client.at_once(2, &[(0, 2, 0)]);
    client.comes(4, &[(0, 4, 0)]);
    let measured = client.account().measured;
    let values = measured.values;
    assert_eq!((values.recovered, values.overtaken), (1, 1));
    assert_eq!((values.repeated, values.crossed), (0, 0));
    let messages = measured.messages;
    assert_eq!((messages.lost(), messages.disordered), (0, 1));
    assert_eq!(measured.places.lost(), 0);
}

#[test]
fn where_no_publish_time_is_told_only_what_cannot_be_phase_is_queueing() {
    // Sampled 50 ms before it was sent, as any value may be; and 400 ms, which no phase explains.
    for (ago, expected) in [(50, 0), (400, 400 - 110)] {
        let mut client = Client::new(&[counting(10, 10)]);
        client.now = 10 * PUBLISHING;
        let head = Head {
            publish_time: 0,
            ..client.head(1)
        };
        let of = client.subscription;
        let mut open = client
            .notification_ledger
            .message(&mut client.ledger, of, head);
        let source = head.header_time - ago * 10_000;
        open.value(0, 0, source, source, Some(7));
        open.end();
        let tally = client.ledger.finish();
        let queueing = tally.whole().histogram(Measure::Queueing).clone();
        let told = queueing.quantile(1.0).unwrap() as i64 / 1_000_000;
        assert!((told - expected).abs() <= 1, "{told} ms of {ago} ms");
    }
}

#[test]
fn a_change_rate_promises_no_more_than_samples_and_a_queue_of_one_let_through() {
    // Changes each 20 ms; sampled so often, with such a queue; told so often in a publishing of 100 ms.
    for (sampling_ms, queue, told, lost) in [
        (0, 10, 5, false),
        (0, 10, 4, true),
        (20, 10, 5, false),
        (50, 10, 2, false),
        (50, 10, 1, true),
        (0, 1, 1, false),
    ] {
        let watched = ItemTerms {
            watch: WatchedValue::Changes(50_000),
            ..counting(sampling_ms, queue)
        };
        let mut client = Client::new(&[watched]);
        for message in 1..=20 {
            let values: Vec<Told> = (0..told).map(|n| (0, n, 0)).collect();
            client.comes(message, &values);
        }
        let rate = client.account().by_rate;
        assert_eq!(
            rate.came < rate.expected,
            lost,
            "{sampling_ms} ms: {rate:?}"
        );
    }
}

#[test]
fn half_of_what_is_taken_as_often_as_it_changes_may_fall_to_its_phase() {
    // Sampling, changes and a publishing of 100 ms; a queue; whether phases may cost values.
    for (sampling_ms, changes_ms, queue, some) in [
        (100, 100, 1, true),
        (90, 100, 10, true),
        (100, 10, 1, true),
        (50, 100, 1, true),
        (50, 100, 10, false),
        (20, 100, 10, false),
        (0, 20, 10, false),
        (100, 1000, 1, false),
        (100, 10, 10, false),
    ] {
        let watched = ItemTerms {
            watch: WatchedValue::Changes(1_000_000 / changes_ms),
            ..counting(sampling_ms, queue)
        };
        let mut client = Client::new(&[watched]);
        for message in 1..=100 {
            client.comes(message, &[(0, message.into(), 0)]);
        }
        let rate = client.account().by_rate;
        let expected = if some { rate.expected / 2 } else { 0 };
        assert!(rate.expected > 5, "{rate:?}");
        assert_eq!(
            rate.by_phase, expected,
            "{sampling_ms} ms of {changes_ms} ms, {queue}"
        );
    }
}

#[test]
fn a_change_rate_is_counted_out_however_seldom_or_often_it_is() {
    // In 1000 s: changes, and how many of them are due for certain.
    for (rate, due) in [(0, 0), (3, 1), (7_000_000, 6_999_998)] {
        let watched = ItemTerms {
            watch: WatchedValue::Changes(rate),
            ..counting(0, 10)
        };
        let mut client = Client::new(&[watched]);
        client.comes(1, &[(0, 0, 0)]);
        client.now = 1_000_000 * MS - MS;
        assert_eq!(client.account().by_rate.expected, due, "{rate}");
    }
}
