//! A server's own counts beside ours: what agrees, what differs, and what explains it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use std::collections::BTreeMap;

use judge::diagnostics::{Ours, Sent, beside};
use record::run::{
    CountComparison, Counted, Diagnostics, Figure, OfSessions, OfSubscriptions, Subscriptions,
};

fn map(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
    let owned = counts.iter().map(|(name, n)| ((*name).to_owned(), *n));
    owned.collect()
}

fn told(requests: &[(&str, u64)], lost: u64, subscriptions: &[(&str, u64)]) -> Diagnostics {
    let counted = Counted {
        summary: BTreeMap::new(),
        sessions: Figure::Known(OfSessions {
            found: 1,
            lost,
            requests: map(requests),
            errors: BTreeMap::new(),
        }),
        subscriptions: Some(Figure::Known(OfSubscriptions {
            found: 1,
            counts: map(subscriptions),
        })),
        own_reads: 1,
        internals: None,
    };
    Diagnostics {
        targets: vec![Figure::Known(counted)],
        beside: Vec::new(),
    }
}

fn sent(service: &str, requests: u64, unanswered: u64) -> Vec<Sent> {
    vec![Sent {
        service: service.to_owned(),
        requests,
        unanswered,
    }]
}

fn of_requests(told: &Diagnostics, sent: &[Sent]) -> Vec<CountComparison> {
    let ours = Ours {
        sent,
        ..Ours::default()
    };
    beside(told, ours)
}

fn heard(values: &[(&str, u64)], messages: &[(&str, u64)]) -> Subscriptions {
    Subscriptions {
        subscriptions: 1,
        items: 1,
        values: map(values),
        messages: map(messages),
        ..Subscriptions::default()
    }
}

fn of_subscriptions(
    counts: &[(&str, u64)],
    heard: &Subscriptions,
    queue: u32,
) -> Vec<CountComparison> {
    let ours = Ours {
        heard: Some((heard, queue)),
        ..Ours::default()
    };
    beside(&told(&[], 0, counts), ours)
}

fn row<'a>(rows: &'a [CountComparison], what: &str) -> &'a CountComparison {
    rows.iter().find(|it| it.what == what).unwrap()
}

#[test]
fn the_witness_own_read_is_not_held_against_us() {
    let rows = of_requests(&told(&[("readCount", 101)], 0, &[]), &sent("read", 100, 0));
    assert!(row(&rows, "reads").agrees());
}

#[test]
fn requests_that_nobody_answered_explain_why_a_server_knows_fewer() {
    let told = told(&[("writeCount", 97)], 0, &[]);
    let rows = of_requests(&told, &sent("write", 100, 3));
    assert!(
        row(&rows, "writes")
            .because
            .as_ref()
            .unwrap()
            .contains("not answered")
    );
    // Three do not explain why four are missing.
    let rows = of_requests(&told, &sent("write", 101, 3));
    assert_eq!(row(&rows, "writes").because, None);
}

#[test]
fn sessions_that_were_lost_took_their_counts_along() {
    let rows = of_requests(&told(&[("callCount", 5)], 2, &[]), &sent("call", 100, 0));
    assert!(
        row(&rows, "calls")
            .because
            .as_ref()
            .unwrap()
            .starts_with("2 sessions")
    );
}

#[test]
fn a_server_that_tells_nothing_leaves_no_sums() {
    let mut told = told(&[("readCount", 101)], 0, &[]);
    told.targets
        .push(Figure::missing("the server has no diagnostics"));
    assert!(of_requests(&told, &sent("read", 100, 0)).is_empty());
}

#[test]
fn a_message_that_came_by_republish_and_by_itself_is_one_message() {
    let heard = heard(
        &[("received", 44), ("overtaken", 4)],
        &[
            ("notifications", 12),
            ("missing_messages", 2),
            ("returned", 2),
            ("republish_answered", 2),
            ("republish_crossed", 2),
        ],
    );
    let counts = [
        ("nextSequenceNumber", 10),
        ("dataChangeNotificationsCount", 40),
    ];
    let rows = of_subscriptions(&counts, &heard, 1);
    assert!(row(&rows, "messages").agrees() && row(&rows, "values").agrees());
}

#[test]
fn messages_that_never_came_are_named() {
    let heard = heard(
        &[("received", 90)],
        &[
            ("notifications", 96),
            ("missing_messages", 10),
            ("republish_answered", 6),
        ],
    );
    let counts = [
        ("nextSequenceNumber", 100),
        ("dataChangeNotificationsCount", 94),
    ];
    let rows = of_subscriptions(&counts, &heard, 1);
    let because = row(&rows, "messages").because.as_ref().unwrap();
    assert_eq!(
        because,
        "10 were lost on the way: 6 came by Republish, 4 never"
    );
    let because = row(&rows, "values").because.as_ref().unwrap();
    assert_eq!(because, "those in 4 messages never came");
}

#[test]
fn what_was_asked_for_again_after_a_cut_is_explained_by_it_and_by_nothing_else() {
    let told = told(&[("publishCount", 9), ("republishCount", 1)], 0, &[]);
    for (cut, explained) in [(1, true), (0, false)] {
        let heard = heard(&[], &[("publish_answered", 9), ("cut", cut)]);
        let ours = Ours {
            heard: Some((&heard, 1)),
            ..Ours::default()
        };
        let rows = beside(&told, ours);
        assert_eq!(
            row(&rows, "republish requests").because.is_some(),
            explained
        );
    }
}

#[test]
fn messages_that_nobody_missed_and_that_did_not_come_are_not_explained() {
    let heard = heard(&[("received", 90)], &[("notifications", 90)]);
    let rows = of_subscriptions(&[("nextSequenceNumber", 91)], &heard, 1);
    assert_eq!(row(&rows, "messages").because, None);
    assert!(!row(&rows, "messages").agrees());
}

#[test]
fn a_server_that_counts_messages_where_others_count_values_is_understood() {
    let heard = heard(&[("received", 500)], &[("notifications", 10)]);
    let rows = of_subscriptions(&[("dataChangeNotificationsCount", 10)], &heard, 1);
    assert!(row(&rows, "messages with values").agrees());
}

#[test]
fn copies_of_values_are_counted_once() {
    let heard = heard(
        &[
            ("received", 108),
            ("repeated", 5),
            ("overtaken", 2),
            ("crossed", 1),
        ],
        &[("notifications", 20)],
    );
    let rows = of_subscriptions(&[("dataChangeNotificationsCount", 100)], &heard, 1);
    assert!(row(&rows, "values").agrees());
}

#[test]
fn a_queue_of_one_overflows_without_a_bit() {
    let heard = heard(&[("received", 10)], &[("notifications", 10)]);
    let counts = [("monitoringQueueOverflowCount", 4)];
    let rows = of_subscriptions(&counts, &heard, 1);
    assert!(row(&rows, "overflows").because.is_some());
    // A longer queue has to tell of it (Part 4, 5.13.1.5).
    let rows = of_subscriptions(&counts, &heard, 2);
    assert_eq!(row(&rows, "overflows").because, None);
}
