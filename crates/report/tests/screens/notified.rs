//! Runs of subscriptions, made up of arithmetic.

use record::notification_ledger::{
    Counter, Head, ItemTerms, NotificationLedger, Seat, SetUpStep, SubscriptionTerms, WatchedValue,
};
use record::run::{
    CountComparison, Figure, Fingerprint, Names, Outcome, Phase, Subscriptions, Target, WarmUp,
};
use record::{Ledger, Run};

use super::bench::SECOND;

const MS: u64 = 1_000_000;
const OVERFLOW: u32 = 0x0480;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Trouble {
    /// Nothing.
    Nothing,
    /// Of everything a little.
    Much,
    /// Nothing, but nobody knows what is watched.
    Unknown,
}

/// Ten seconds of two subscriptions with a hundred items, published each 100 ms.
pub fn notified(trouble: Trouble) -> Run {
    behind(WarmUp::default(), trouble)
}

/// The same, with a beginning that is left out.
pub fn behind(warm_up: WarmUp, trouble: Trouble) -> Run {
    let started = "2026-03-01T09:30:00Z".parse().unwrap();
    let mut notification_ledger = NotificationLedger::new(0);
    let mut ledger = Ledger::with_end(10 * SECOND);
    let watch = match trouble {
        Trouble::Unknown => WatchedValue::Unknown,
        _ => WatchedValue::Counter(Counter {
            update_ns: 50 * MS,
            exact: true,
            ..Counter::default()
        }),
    };
    for subscription in 0..2 {
        let seat = Seat {
            target: 0,
            session: 0,
            subscription,
        };
        let terms = SubscriptionTerms {
            publishing_ns: 100 * MS,
            keep_alive: 10,
            lifetime: 30,
        };
        let number = notification_ledger.subscription(seat, terms);
        notification_ledger.step(SetUpStep::CreateSubscription, 0, 2 * MS, 1);
        for handle in notification_ledger.reserve(number, 50) {
            notification_ledger.item(
                handle,
                ItemTerms {
                    sampling_ns: 50 * MS,
                    queue_size: 10,
                    watch,
                    ..ItemTerms::default()
                },
            );
        }
        notification_ledger.step(SetUpStep::CreateItems, 2 * MS, 7 * MS, 50);
    }
    notification_ledger.measure(SECOND);
    for message in 1..=100u32 {
        for subscription in 0..2 {
            come(
                &mut notification_ledger,
                &mut ledger,
                subscription,
                message,
                trouble,
            );
        }
    }
    notification_ledger.publish_sent(210);
    let account = notification_ledger.finish(11 * SECOND);
    let names = Names {
        status: &|code| match code {
            0x807B_0000 => "BadMessageNotAvailable".to_owned(),
            code => format!("0x{code:08X}"),
        },
        node: &|seat, item| {
            Some(format!(
                "nsu=urn:bench;i={}",
                1000 + 50 * seat.subscription + item
            ))
        },
        kind: &|kind| format!("i={}", kind.id),
        events: false,
    };
    let mut told = Subscriptions::of(&account, &names);
    told.clock.error_ns = Figure::Known(0);
    told.beside = vec![
        CountComparison {
            source: "ledger".into(),
            what: "values sent".into(),
            server: told.count("received"),
            client: told.count("received"),
            because: None,
        },
        CountComparison {
            source: "ledger".into(),
            what: "messages acknowledged".into(),
            server: 198,
            client: 196,
            because: Some("acknowledged with the last requests".into()),
        },
    ];
    let tally = ledger.finish();
    let mut phase = Phase::new("only", started, &tally, warm_up, 0, names.status);
    phase.subscriptions = Some(told);
    let found = {
        let mut judgement = judge::Judgement::default();
        judgement.hear(&phase);
        judgement.verdict()
    };
    let mut run = Run::new("subscribe", started, Fingerprint::default());
    run.targets = vec![Target {
        url: "opc.tcp://127.0.0.1:4840".into(),
        security: "None:None".into(),
        user: "anonymous".into(),
        ..Target::default()
    }];
    phase.verdict = found.clone();
    run.verdict = found;
    run.phases.push(phase);
    run
}

/// A message of one subscription with two values for each of its items.
fn come(
    notification_ledger: &mut NotificationLedger,
    ledger: &mut Ledger,
    subscription: u32,
    message: u32,
    trouble: Trouble,
) {
    let much = trouble == Trouble::Much;
    let published = SECOND + u64::from(message - 1) * 100 * MS + 20 * MS;
    if much && message == 40 && subscription == 1 {
        return;
    }
    let received = published + 300_000 + u64::from(message % 7) * 20_000;
    let head = Head {
        sequence: message,
        publish_time: (published / 100) as i64,
        header_time: (published / 100) as i64,
        at: received,
        more: false,
        bytes: 1500,
    };
    let mut open = notification_ledger.message(ledger, subscription, head);
    for item in 0..50 {
        let overflows = much && item == 7 && message == 60;
        let missing = much && item == 9 && message.is_multiple_of(30);
        if much && item == 49 && subscription == 0 {
            continue;
        }
        let last = published / (50 * MS);
        for behind in [1, 0] {
            if (overflows || missing) && behind == 1 {
                continue;
            }
            let count = last - behind;
            let stamp = (count * 50 * MS / 100) as i64;
            let status = if overflows { OVERFLOW } else { 0 };
            open.value(subscription * 50 + item, status, stamp, stamp, Some(count));
        }
    }
    for missing in open.end().into_iter().flat_map(|gap| gap.numbers()) {
        notification_ledger.republish_asked(subscription, missing);
        notification_ledger.republish_refused(subscription, missing, 0x807B_0000);
    }
    notification_ledger.acknowledged(0);
}

#[test]
fn the_accounting_stands_right_behind_the_verdict() {
    for (trouble, outcome, name) in [
        (Trouble::Nothing, Outcome::Lossless, "lossless.txt"),
        (Trouble::Much, Outcome::Lost, "lost.txt"),
        (Trouble::Unknown, Outcome::NothingMissing, "no-gaps.txt"),
    ] {
        let run = notified(trouble);
        let told = run.phases[0].subscriptions.as_ref().unwrap();
        assert_eq!(told.outcome, outcome, "{:?}", told.causes);
        let screen = report::summary(&run, report::Style::PLAIN);
        let accounting = screen.find(outcome.name()).unwrap();
        assert!(accounting < screen.find("target").unwrap());
        super::golden(name, &screen);
    }
}

#[test]
fn rows_of_a_table_have_what_was_lost() {
    let table = report::csv::csv(&notified(Trouble::Much));
    for row in [
        "accounting,LOST,",
        "updates.overflowed,2,count",
        "updates.in-lost-messages,100,count",
    ] {
        assert!(table.contains(row), "{row}: {table}");
    }
    assert!(table.contains("delay.p99,"));
}

#[test]
fn a_page_tells_how_evenly_subscriptions_were_served_and_of_what_their_delays_are_made() {
    let run = notified(Trouble::Much);
    let page = report::html(&[report::Named::new("run.json", run)], None);
    for words in [
        "Jain's index of the values an item over all subscriptions: 1.000",
        "15.2 B on the wire for each value",
        "both sides read the same clock",
        "Each subscription, while it was measured",
        "Mean delay of each item: 20 of 99, the slowest first",
        "Items that never reported: 1 of 1",
        "create items",
        "of it phase",
        "of it queueing",
        "of it transport",
        "between arrivals",
    ] {
        assert!(page.contains(words), "{words}");
    }
}
