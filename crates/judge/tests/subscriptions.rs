//! What subscriptions say of a server, and what not.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use record::Ledger;
use record::run::{
    ByRate, EachSubscription, Ended, Figure, Intervals, Kind, Phase, Place, Silence, Stall,
    StallKind, Status, Subscriptions, ThreadUsage, Usage, UsageSeries, Verdict, WarmUp,
};

const MS: i64 = 1_000_000;

/// A subscription of one item that publishes each 100 ms, and whose messages came so far apart.
fn published_each(ms: i64, news: bool) -> Subscriptions {
    let each = EachSubscription {
        place: Place::default(),
        publishing_ns: 100_000_000,
        items: 1,
        news,
        messages: 15,
        keep_alives: 0,
        values: 15,
        arrival: Intervals {
            count: 14,
            mean_ns: Some((ms * MS) as f64),
            deviation_ns: Some(0.0),
            min_ns: ms * MS,
            max_ns: ms * MS,
        },
        jitter: Intervals::default(),
        ended: None,
    };
    Subscriptions {
        subscriptions: 1,
        items: 1,
        counters: 1,
        values: [("received".to_owned(), 15), ("in_order".to_owned(), 15)].into(),
        messages: [("publish_answered".to_owned(), 15)].into(),
        each: vec![each],
        ..Subscriptions::default()
    }
}

fn judged(told: Subscriptions) -> Verdict {
    judged_beside(told, Vec::new())
}

fn judged_beside(told: Subscriptions, stalls: Vec<Stall>) -> Verdict {
    judged_with(told, |phase| phase.stalls = stalls)
}

fn judged_with(told: Subscriptions, other: impl FnOnce(&mut Phase)) -> Verdict {
    let started = "2026-03-01T09:30:00Z".parse().unwrap();
    let name = |code: u32| code.to_string();
    let tally = Ledger::new().finish();
    let mut phase = Phase::new("only", started, &tally, WarmUp::default(), 0, &name);
    phase.subscriptions = Some(told);
    other(&mut phase);
    let mut judgement = judge::Judgement::default();
    judgement.hear(&phase);
    judgement.verdict()
}

#[test]
fn a_node_that_changes_less_often_than_is_published_says_nothing_of_the_server() {
    assert_eq!(judged(published_each(1000, false)).kind, Kind::Valid);
}

#[test]
fn a_server_that_publishes_news_more_slowly_than_promised_does_not_keep_up() {
    let verdict = judged(published_each(202, true));
    assert_eq!(verdict.kind, Kind::ServerSaturated);
    assert_eq!(
        verdict.evidence,
        ["the slowest subscription published each 202 ms instead of each 100 ms"]
    );
    assert_eq!(judged(published_each(100, true)).kind, Kind::Valid);
}

#[test]
fn values_that_phases_cost_are_a_note_where_the_server_had_little_to_do() {
    let told = |came, by_phase| Subscriptions {
        by_rate: Some(ByRate {
            items: 10,
            expected: 1000,
            came,
            by_phase,
        }),
        ..published_each(100, true)
    };
    let server = |cpu: f64, thread: f64| UsageSeries {
        who: "server".to_owned(),
        window: Usage {
            cpu_cores: Figure::Known(cpu),
            ..Usage::default()
        },
        cores_allowed: Some(2.0),
        threads: vec![ThreadUsage {
            busiest: Some(thread),
            ..ThreadUsage::default()
        }],
        ..UsageSeries::default()
    };
    let of = |told, server: Option<UsageSeries>| {
        judged_with(told, |phase| phase.resources = server.into_iter().collect())
    };
    let explained = of(told(900, 500), Some(server(0.02, 0.02)));
    assert_eq!(explained.kind, Kind::Valid);
    assert!(
        explained.notes[0]
            .starts_with("10 % of the values that the change rate promises did not come"),
        "{:?}",
        explained.notes
    );
    for (why, verdict) in [
        (
            "no phase explains it",
            of(told(900, 0), Some(server(0.02, 0.02))),
        ),
        (
            "more is missing",
            of(told(400, 500), Some(server(0.02, 0.02))),
        ),
        ("it was busy", of(told(900, 500), Some(server(1.5, 0.4)))),
        (
            "a thread was busy",
            of(told(900, 500), Some(server(0.9, 0.95))),
        ),
        ("nobody knows", of(told(900, 500), None)),
    ] {
        assert_eq!(verdict.kind, Kind::ServerSaturated, "{why}");
        assert!(verdict.notes.is_empty(), "{why}: {:?}", verdict.notes);
    }
}

#[test]
fn messages_that_wait_for_publish_requests_are_not_the_servers_doing() {
    let told = Subscriptions {
        waited: 12,
        ..published_each(202, true)
    };
    assert_eq!(judged(told).kind, Kind::Valid);
}

#[test]
fn silence_that_was_asked_for_is_no_failure() {
    let silent = Subscriptions {
        values: [("received".to_owned(), 0)].into(),
        silent: 1,
        each: Vec::new(),
        ..published_each(100, false)
    };
    let verdict = judged(silent.clone());
    assert_eq!(verdict.kind, Kind::Failed);
    assert!(verdict.advice[0].contains("never reported"), "{verdict:?}");
    let verdict = judged(Subscriptions {
        held: Some("items are disabled (--mode disabled)".to_owned()),
        ..silent
    });
    assert_eq!((verdict.kind, verdict.advice.len()), (Kind::Valid, 0));
    assert_eq!(
        verdict.notes,
        ["nothing was to be reported: items are disabled (--mode disabled)"]
    );
}

#[test]
fn items_that_the_server_did_not_create_are_told_of() {
    let refused = |items| Subscriptions {
        items,
        ended: vec![Ended {
            what: "item".to_owned(),
            status: Status {
                code: 0x80DB_0000,
                name: "BadTooManyMonitoredItems".to_owned(),
                count: 25,
            },
        }],
        ..published_each(100, false)
    };
    let missing = judge::subscriptions::missing(&refused(15), &[]);
    let some = judge::lower(judged(refused(15)), &missing);
    assert_eq!(some.kind, Kind::Incomplete);
    assert_eq!(
        some.evidence,
        ["25 items were not created: BadTooManyMonitoredItems"]
    );
    assert!(judge::subscriptions::missing(&refused(0), &[]).is_empty());
    let none = judged(refused(0));
    assert_eq!(none.kind, Kind::Failed);
    assert_eq!(
        none.evidence,
        ["no monitored item was created: BadTooManyMonitoredItems"]
    );
    assert!(none.advice[0].contains("--items"), "{none:?}");
}

/// A subscription that publishes each 100 ms, with a keep-alive after ten, and heard nothing meanwhile.
fn silent(from_ms: u64, to_ms: u64, due_ms: Option<u64>) -> Subscriptions {
    let ns = |ms: u64| ms * MS as u64;
    Subscriptions {
        silences: vec![Silence {
            place: Place::default(),
            from_ns: ns(from_ms),
            to_ns: ns(to_ms),
            lasts: to_ms == 10_000,
            keep_alive_ns: ns(1000),
            due_ns: due_ms.map(ns),
            usual_ns: Some(ns(100)),
        }],
        ..published_each(100, due_ms.is_some())
    }
}

#[test]
fn a_server_that_hangs_is_told_from_one_where_nothing_changes() {
    // Something is due each 100 ms, and nothing came for a second and more.
    let verdict = judged(silent(3000, 4200, Some(100)));
    assert_eq!(verdict.kind, Kind::Unsteady);
    assert_eq!(
        verdict.evidence,
        ["nothing came from 3 s to 4.20 s (1.20 s), not even a keep-alive"]
    );
    // Nobody knows whether anything changed: no keep-alive is due yet.
    assert_eq!(judged(silent(3000, 4200, None)).kind, Kind::Valid);
    let verdict = judged(silent(3000, 10_000, None));
    assert_eq!(verdict.kind, Kind::Unsteady);
    assert_eq!(
        verdict.evidence,
        ["nothing came from 3 s to the end (7 s), not even a keep-alive"]
    );
    // A server that publishes each 400 ms by itself is slow, and does not hang.
    let mut slow = silent(3000, 4200, Some(100));
    slow.silences[0].usual_ns = Some(400 * MS as u64);
    assert_eq!(judged(slow).kind, Kind::Valid);
    // Where nothing was to be reported, only a keep-alive is owed.
    let held = |to_ms| Subscriptions {
        held: Some("publishing is disabled (--publishing-off)".to_owned()),
        ..silent(3000, to_ms, Some(100))
    };
    assert_eq!(judged(held(4200)).kind, Kind::Valid);
    assert_eq!(judged(held(6000)).kind, Kind::Unsteady);
}

#[test]
fn a_silence_in_which_the_generator_did_not_run_is_its_own() {
    let stall = |ms: u64| Stall {
        kind: StallKind::HeldUp,
        of: None,
        at_ns: 3000 * MS as u64,
        ns: ms * MS as u64,
    };
    let judged = |ms| judged_beside(silent(3000, 4200, Some(100)), vec![stall(ms)]);
    assert_eq!(judged(1000).kind, Kind::Valid);
    assert_eq!(judged(100).kind, Kind::Unsteady);
}
