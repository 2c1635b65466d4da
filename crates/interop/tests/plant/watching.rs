//! A thousand items that change, and none of their values lost.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use peers::testing::{require, say};
use peers::{ClientOptions, Stack};

use super::{JUDGES, plant, written};

/// Fifty updates 200 ms apart: ten seconds.
const UPDATE: Duration = Duration::from_millis(200);
const UPDATES: u32 = 50;

#[test]
fn all_clients_at_once_get_every_update_of_a_thousand_items() {
    let stacks: Vec<&'static Stack> = JUDGES.iter().filter_map(|name| require(name)).collect();
    let server = plant(Some(UPDATE));
    let begin = Instant::now();
    let url = server.url();
    std::thread::scope(|scope| {
        let runs = stacks.iter().map(|stack| {
            let watch = move || {
                let options = ClientOptions {
                    updates: UPDATES,
                    ..ClientOptions::default()
                };
                judge(stack.name, &written(stack, url, "watch", options));
            };
            (stack.name, scope.spawn(watch))
        });
        let runs: Vec<_> = runs.collect();
        for (name, run) in runs {
            assert!(run.join().is_ok(), "{name}: see above");
        }
    });
    say(&format!(
        "{} clients with a thousand items each in {:.1?}",
        stacks.len(),
        begin.elapsed()
    ));
    // What the server says of its clients: they acknowledged what they got, and none was forgotten.
    let taking = server.watch().taking();
    // Where the machine is busy, one message may hold several updates; of each client, the last few are
    // acknowledged by its leaving.
    let sent = server.tally().messages.sent;
    assert!(
        taking.acknowledged + 10 * stacks.len() as u64 >= sent,
        "{sent} messages: {taking:?}"
    );
    assert!(stacks.is_empty() || taking.acknowledged > 0, "{taking:?}");
    assert_eq!((taking.expired, taking.republish_missing), (0, 0));
    // The server's own count says the same: no queue was full, no subscription forgotten.
    let values = server.tally().values();
    assert_eq!(
        (values.overwritten, values.overflowed),
        (0, 0),
        "{values:?}"
    );
}

/// Each of the thousand items tells consecutive counts, all of them good.
fn judge(name: &str, text: &str) {
    let mut items: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        let [number, value, status] = words.as_slice() else {
            panic!("{name}: not a change: {line}");
        };
        // Part 4, 7.39: an overflow would show among the info bits.
        assert_eq!(*status, "00000000", "{name}: i={number}");
        let values = items.entry(number.parse().unwrap()).or_default();
        values.push(value.parse().unwrap());
    }
    assert!(
        items.keys().copied().eq(1000..2000),
        "{name}: {} items",
        items.len()
    );
    for (number, values) in items {
        assert!(
            values.len() > UPDATES as usize,
            "{name}: i={number}: {values:?}"
        );
        let gap = values.windows(2).find(|pair| pair[1] != pair[0] + 1);
        assert_eq!(gap, None, "{name}: i={number}: {values:?}");
    }
}
