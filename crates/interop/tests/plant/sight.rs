//! Two clients that look at one server see the same.

use std::time::Instant;

use peers::ClientOptions;
use peers::testing::{require, say};

use super::dump::{Dump, parse};
use super::{JUDGES, ours, plant, written};

/// Values that change while they are looked at: the time, what a session adds to the diagnostics, what the plant says of
/// its own work, and the two counters.
const LIVE: &[&str] = &[
    "i=2256 Value",
    "i=2258 Value",
    "i=2275 Value",
    "i=2278 Value",
    "i=3707 Value",
    "i=3708 Value",
    "ns=1;s=Plant.Internals Value",
    "ns=2;i=3030 Value",
    "ns=2;i=3031 Value",
];

/// What a client makes of a value, and why it is not ours to mend.
const KNOWN: &[(&str, &[&str], &str)] = &[
    (
        "asyncua",
        &["i=2257 Value", "i=2260 Value", "i=2266 Value"],
        "keeps times to the microsecond; Part 6, 5.2.2.5 (DateTime): 100 ns",
    ),
    (
        "gopcua",
        &["i=15964 Value"],
        "takes an empty String for null; Part 6, 5.2.2.4 (String): a length of 0 or of -1",
    ),
];

fn is_explained(name: &str, what: &str) -> bool {
    let about = |keys: &[&str]| keys.iter().any(|key| what.starts_with(&format!("{key}: ")));
    let known = |(stack, keys, _): &(&str, &[&str], &str)| *stack == name && about(keys);
    about(LIVE) || KNOWN.iter().any(known)
}

/// The object of its session, which each client sees for itself, as if all had had the same: without its number,
/// its name, and what it tells of the session.
fn of_one_session(dump: Dump) -> Dump {
    const LISTED: &str = "i=3706 -> i=47 svr=0;ns=1;i=";
    let number = |key: &String| key.strip_prefix(LISTED).map(str::to_owned);
    let numbers: Vec<String> = dump.keys().filter_map(number).collect();
    assert!(!numbers.is_empty(), "a client does not see its session");
    let seen = dump.into_iter().filter_map(|(mut key, mut value)| {
        for number in &numbers {
            for text in [&mut key, &mut value] {
                *text = text.replace(&format!("ns=1;s={number}/"), "own/");
            }
            let (object, listed) = (format!("ns=1;i={number} "), format!("{LISTED}{number}"));
            if let Some(rest) = key.strip_prefix(&object) {
                let named = ["BrowseName", "DisplayName", "NodeId"].contains(&rest);
                return (!named).then(|| (format!("own {rest}"), value));
            }
            if key == listed {
                let kind = value.split(' ').take(2).collect::<Vec<_>>().join(" ");
                return Some(("own listed".to_owned(), kind));
            }
            if let Some(way) = key.strip_suffix(&format!("ns=1;i={number}")) {
                key = format!("{way}own");
                value.clear();
            }
        }
        let told = key.starts_with("own/") && (key.ends_with(" Value") || key.ends_with(" NodeId"));
        (!told).then_some((key, value))
    });
    seen.collect()
}

/// Entries of our own client, and what another has in their place.
fn differences(ours: &Dump, theirs: &Dump) -> Vec<String> {
    let missing = "nothing at all".to_owned();
    let both = ours
        .keys()
        .chain(theirs.keys().filter(|key| !ours.contains_key(*key)));
    let pairs = both.map(|key| {
        let of = |dump: &Dump| dump.get(key).unwrap_or(&missing).clone();
        (key, of(ours), of(theirs))
    });
    let unlike = pairs.filter(|(_, ours, theirs)| ours != theirs);
    let short = |text: &str| text.chars().take(600).collect::<String>();
    unlike
        .map(|(key, ours, theirs)| {
            format!("{key}: ours {} theirs {}", short(&ours), short(&theirs))
        })
        .collect()
}

#[test]
fn every_client_sees_what_we_see() {
    let stacks: Vec<_> = JUDGES.iter().filter_map(|name| require(name)).collect();
    let server = plant(None);
    let begin = Instant::now();
    let ours = of_one_session(ours::dump(server.url()));
    say(&format!(
        "ours: {} entries in {:.1?}",
        ours.len(),
        begin.elapsed()
    ));
    let mut unlike = Vec::new();
    for stack in stacks {
        let begin = Instant::now();
        let written = written(stack, server.url(), "dump", ClientOptions::default());
        let theirs = of_one_session(parse(&written));
        let (name, took) = (stack.name, begin.elapsed());
        say(&format!("{name}: {} entries in {took:.1?}", theirs.len()));
        let found = differences(&ours, &theirs);
        let found = found.iter().filter(|what| !is_explained(name, what));
        unlike.extend(found.map(|what| format!("{name}: {what}")));
    }
    assert!(unlike.is_empty(), "{}\n{}", unlike.len(), unlike.join("\n"));
}
