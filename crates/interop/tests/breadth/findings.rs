//! What a judge has to find, whatever stack it is made with.

use plant::Server;
use serde_json::Value;

fn number(told: &Value, name: &str) -> i64 {
    told[name]
        .as_f64()
        .unwrap_or_else(|| panic!("{name}: {told}")) as i64
}

fn is_good(told: &Value, name: &str) {
    assert_eq!(told[name], "Good", "{name}: {told}");
}

fn is_true(told: &Value, name: &str) {
    assert_eq!(told[name], true, "{name}: {told}");
}

/// Holds what was told of a step against what there was.
pub fn check(step: &str, told: &Value, server: &Server) {
    match step {
        "flood" => flood(told),
        "where" => one_source(told),
        "conditions" => conditions(told),
        "history" => history(told, server),
        "manage" => nodes(told),
        "login" => users(told),
        other => panic!("nothing is known of {other}"),
    }
}

/// Five thousand events a second; each event's id tells whether one is missing. How many of them a client
/// takes before its queue overflows is its own affair, on a busy machine a fraction.
fn flood(told: &Value) {
    assert!(number(told, "count") > 1_000, "{told}");
    assert_eq!(number(told, "sources"), 50, "{told}");
    assert_eq!(number(told, "missing"), 0, "{told}");
    assert_eq!(number(told, "twice"), 0, "{told}");
}

/// One of fifty sources that take turns: an event each ten milliseconds.
fn one_source(told: &Value) {
    let count = number(told, "count");
    assert!(count >= 200, "{told}");
    assert_eq!(number(told, "others"), 0, "{told}");
    assert_eq!(number(told, "missing"), 0, "{told}");
    assert_eq!(number(told, "twice"), 0, "{told}");
    let time = |name: &str| told[name].as_f64().unwrap();
    let periods = (time("last") - time("first")) / 10.0;
    assert_eq!(periods.round() as i64 + 1, count, "{told}");
}

fn conditions(told: &Value) {
    is_true(told, "acked");
    let refreshed = number(told, "refreshed");
    // Twenty levels, twenty temperatures; doors are elsewhere. Other events may come in between.
    assert!((1..=60).contains(&refreshed), "{told}");
    if told.get("shown").is_some() {
        is_true(told, "shown");
    }
}

/// Two seconds of a counter that counts each 100 ms, seven values in a page.
fn history(told: &Value, server: &Server) {
    let values = told["values"].as_array().unwrap();
    assert!((19..=21).contains(&values.len()), "{told}");
    let pages = values.len().div_ceil(7) as i64;
    assert_eq!(number(told, "pages"), pages, "{told}");
    let anchor = server.ground_truth().started.unix_ns() as f64 / 1e6;
    let mut before = None;
    for value in values {
        let (at, counted) = (value[0].as_f64().unwrap(), value[1].as_i64().unwrap());
        // The value tells the instant of its update, and nothing else does it as exactly.
        let due = anchor + counted as f64 * 100.0;
        assert!((at - due).abs() < 1.1, "{value} {due} {told}");
        assert!(before.is_none_or(|n| n + 1 == counted), "{told}");
        before = Some(counted);
    }
    if told.get("own").is_some() {
        assert!(number(told, "own") >= values.len() as i64, "{told}");
    }
}

fn nodes(told: &Value) {
    for step in ["added", "referenced", "unreferenced", "deleted"] {
        is_good(told, step);
    }
    is_true(told, "shown");
    is_true(told, "hidden");
    assert_eq!(told["read"], 42.5, "{told}");
    assert_eq!(told["gone"], "BadNodeIdUnknown", "{told}");
}

/// Part 4, 5.7.3.3 (ActivateSession, status codes).
fn users(told: &Value) {
    is_good(told, "wrote");
    assert_eq!(told["stranger"], "BadIdentityTokenRejected", "{told}");
    assert_eq!(told["forged"], "BadUserSignatureInvalid", "{told}");
}
