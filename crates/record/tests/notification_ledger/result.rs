//! Accounts of several cores, and what of them is in the result file.

use std::path::Path;

use record::notification_ledger::SetUpStep;
use record::run::{CountComparison, Fingerprint, Names, Outcome, Phase, Subscriptions, WarmUp};
use record::{Run, Timestamp};

use super::*;
use crate::schema;

/// What happens to one subscription: some values, a gap that is mended in part, an item that stays
/// silent, an end.
fn story(notification_ledger: &mut NotificationLedger, number: u32) {
    let subscription = notification_ledger.subscription(seat(number), terms());
    notification_ledger.step(
        SetUpStep::CreateSubscription,
        0,
        MS * u64::from(number + 1),
        1,
    );
    for handle in notification_ledger.reserve(subscription, 3) {
        notification_ledger.item(handle, counting(10, 2));
    }
}

fn goes_on(
    notification_ledger: &mut NotificationLedger,
    ledger: &mut Ledger,
    subscription: u32,
    first: u32,
    number: u32,
) {
    let mut now = 10 * MS * u64::from(number);
    for message in 1..=20u32 {
        now += PUBLISHING;
        if (message + number).is_multiple_of(7) {
            continue;
        }
        let head = Head {
            sequence: message,
            publish_time: (now / 100) as i64,
            header_time: (now / 100) as i64 + 5,
            at: now + MS + u64::from(number) * 1000,
            more: false,
            bytes: 200,
        };
        let mut open = notification_ledger.message(ledger, subscription, head);
        for (place, behind) in [(0, 1), (0, 0), (1, 0)] {
            let count = u64::from(message) * 10 - behind;
            let status = if behind == 1 { OVERFLOW } else { 0 };
            open.value(
                first + place,
                status,
                stamp(count),
                stamp(count),
                Some(count),
            );
        }
        let gap = open.end();
        for missing in gap.into_iter().flat_map(Gap::numbers) {
            notification_ledger.republish_asked(subscription, missing);
            notification_ledger.republish_refused(subscription, missing, 0x807B_0000);
        }
        notification_ledger.acknowledged(0);
    }
    if number == 2 {
        notification_ledger.status_change(subscription, 0x800A_0000, now + 2 * MS);
    }
}

/// What `numbers` add up to on one core.
fn core(numbers: &[u32]) -> Account {
    let mut notification_ledger = NotificationLedger::new(0);
    let mut ledger = Ledger::new();
    for number in numbers {
        story(&mut notification_ledger, *number);
    }
    notification_ledger.measure(0);
    for (at, number) in numbers.iter().enumerate() {
        goes_on(
            &mut notification_ledger,
            &mut ledger,
            at as u32,
            at as u32 * 3,
            *number,
        );
    }
    notification_ledger.finish(2100 * MS)
}

#[test]
fn any_number_of_cores_keeps_the_same_account() {
    let one = core(&[0, 1, 2, 3, 4, 5]);
    for parts in [
        vec![&[0, 1, 2][..], &[3, 4, 5]],
        vec![&[5, 0], &[3], &[1, 4, 2]],
        vec![&[2], &[5, 4, 3, 1, 0]],
    ] {
        let mut merged = Account::default();
        for part in parts {
            merged.merge(&core(part));
        }
        assert_eq!(merged, one);
    }
}

fn subscriptions() -> Subscriptions {
    let names = Names {
        status: &|code| format!("0x{code:08X}"),
        node: &|seat, item| Some(format!("ns=1;i={}", seat.subscription * 100 + item)),
        kind: &|kind| format!("i={}", kind.id),
        events: true,
    };
    Subscriptions::of(&core(&[0, 1, 2]), &names)
}

#[test]
fn the_account_says_what_was_lost_and_where_first() {
    let told = subscriptions();
    assert_eq!(told.outcome, Outcome::Lost);
    assert_eq!((told.subscriptions, told.items, told.counters), (3, 9, 9));
    // The third item of each never reported.
    assert_eq!(told.silent, 3);
    let first = told.found("overflowed").unwrap().first.clone().unwrap();
    assert_eq!(first.place.node.as_deref(), Some("ns=1;i=0"));
    assert_eq!(first.sequence, Some(2));
    assert_eq!(told.found("ended").unwrap().count, 1);
    assert_eq!(told.count("republish_refused"), 7);
    assert_eq!(told.each.len(), 3);
    assert!(told.fairness.jain.unwrap() > 0.9);
    let sum: u64 = told.places.values().sum();
    let (updates, refilled) = (told.count("updates"), told.count("refilled"));
    assert_eq!(sum - 2 * refilled, 2 * updates);
}

#[test]
fn the_result_file_holds_it_and_follows_its_schema() {
    let time: Timestamp = "2026-03-01T09:30:00Z".parse().unwrap();
    let mut run = Run::new("subscribe", time, Fingerprint::default());
    let mut notification_ledger = NotificationLedger::new(0);
    let mut ledger = Ledger::with_end(2000 * MS);
    story(&mut notification_ledger, 0);
    notification_ledger.measure(0);
    goes_on(&mut notification_ledger, &mut ledger, 0, 0, 0);
    let tally = ledger.finish();
    let mut phase = Phase::new("only", time, &tally, WarmUp::default(), 0, &|code| {
        code.to_string()
    });
    for name in [
        "delay",
        "phase",
        "transport",
        "cycle",
        "jitter",
        "arrival",
        "server-delay",
    ] {
        assert!(!phase.total.histogram(name).is_empty(), "{name}");
    }
    let delay = phase.total.histogram("delay");
    let parts = ["phase", "queueing", "transport"].map(|name| phase.total.histogram(name).sum());
    assert_eq!(delay.sum(), parts.iter().sum());
    let mut told = subscriptions();
    told.beside.push(CountComparison {
        source: "ledger".to_owned(),
        what: "values sent".to_owned(),
        server: 2,
        client: 1,
        because: Some("one was on its way".to_owned()),
    });
    phase.subscriptions = Some(told.clone());
    run.phases.push(phase);
    let text = run.to_json().unwrap();
    let value = serde_json::from_slice(&text).unwrap();
    assert_eq!(schema::load().complaints(&value), Vec::<String>::new());
    let read = Run::from_json(&text, Path::new("x.json")).unwrap();
    assert_eq!(
        read.phases[0].subscriptions.as_ref().unwrap().causes,
        told.causes
    );
    assert!(read.phases[0].series.delay.is_some());
}

#[test]
fn the_longest_silence_is_kept_and_a_keep_alive_ends_one() {
    let mut client = Client::new(&[counting(10, 100)]);
    client.comes(1, &[(0, 1, 0)]);
    client.now += 4 * PUBLISHING;
    let head = client.head(2);
    client.notification_ledger.keep_alive(0, head);
    client.now += 6 * PUBLISHING;
    let head = client.head(2);
    client.notification_ledger.keep_alive(0, head);
    client.now += 2 * PUBLISHING;
    let account = client.notification_ledger.finish(client.now);
    let row = &account.rows[0];
    let silence = row.silence.unwrap();
    assert_eq!(silence.from_ns, 5 * PUBLISHING + MS);
    assert_eq!(silence.to_ns, 11 * PUBLISHING + MS);
    assert!(!silence.lasts);
    // Ten publishings, and a counter that moves more often than is published.
    assert_eq!(
        (row.keep_alive_ns, row.due_ns),
        (10 * PUBLISHING, Some(PUBLISHING))
    );
}

#[test]
fn a_silence_that_lasts_ends_with_the_measurement_and_not_with_what_comes_after_it() {
    let mut client = Client::new(&[counting(10, 100)]);
    client.comes(1, &[(0, 1, 0)]);
    client.notification_ledger.measured(30 * PUBLISHING);
    client.now += 90 * PUBLISHING;
    client.at_once(2, &[]);
    let account = client.notification_ledger.finish(30 * PUBLISHING);
    let silence = account.rows[0].silence.unwrap();
    assert_eq!((silence.to_ns, silence.lasts), (30 * PUBLISHING, true));
}
