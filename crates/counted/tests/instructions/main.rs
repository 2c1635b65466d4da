//! Instructions of hot paths, counted by callgrind: the same on a busy machine and an idle one, so that a ceiling can be
//! close to what was measured. The program that is counted is this crate's, built for release.
//!
//! Ceilings are of rustc 1.95 on x86-64, with some room for other compilers and memcpys.

mod callgrind;

use callgrind::{has_valgrind, instructions_a_round};

/// What is counted of a group.
struct Group {
    name: &'static str,
    rounds: u32,
    /// A path, how many things a round of it does, the least that one costs if it is done at all, and the most that it may.
    ceilings: &'static [(&'static str, u32, f64, f64)],
    /// The path that does the same without what is counted: what the measurement itself costs.
    nothing: Option<fn(&str) -> String>,
}

fn held_to(group: &Group) {
    if !has_valgrind() {
        return;
    }
    let mut objections = Vec::new();
    for &(path, each, least, ceiling) in group.ceilings {
        let counted = |path: &str| instructions_a_round(group.name, path, group.rounds);
        let nothing = group.nothing.map_or(0.0, |of| counted(&of(path)));
        let measured = (counted(path) - nothing) / f64::from(each);
        println!("{path}: {measured:.1} instructions, at most {ceiling}");
        if measured < least {
            objections.push(format!("{path}: {measured:.1} is too little to be true"));
        }
        if measured > ceiling {
            objections.push(format!("{path}: {measured:.1}, at most {ceiling}"));
        }
    }
    let name = group.name;
    assert!(objections.is_empty(), "{name}:\n{}", objections.join("\n"));
}

#[test]
fn messages() {
    held_to(&Group {
        name: "messages",
        rounds: 200,
        ceilings: &[
            // Copied and patched: 42, with acknowledgement 46, with another value 61.
            ("send-read", 1, 10.0, 60.0),
            ("send-publish", 1, 10.0, 65.0),
            // One Double, which shows what a response costs before its first value: 208.
            ("check-read-1", 1, 50.0, 250.0),
            // Each of 100 Doubles: 6.0, and 13.4 when each has a status on the wire. The bar is 15.
            ("check-read-100", 100, 1.0, 8.0),
            ("check-read-100-timestamps", 100, 1.0, 8.0),
            ("check-read-100-statuses", 100, 1.0, 15.0),
            // Double and Int32 by turns, so that no step is like the one before: 75.
            ("check-read-100-mixed", 100, 10.0, 90.0),
            ("check-write-100", 100, 1.0, 8.0),
            // Not only checked but handed out one by one: 59 a value, 57 a monitored item.
            ("read-values-100", 100, 10.0, 65.0),
            ("notifications-100", 100, 10.0, 62.0),
            // The same as numbers, each in the shape of the one before: 29.
            ("changes-100", 100, 5.0, 32.0),
            // The server's side, 70 a node.
            ("serve-read-100", 100, 10.0, 76.0),
        ],
        nothing: None,
    });
}

#[test]
fn the_generator_s_request_and_its_answer() {
    held_to(&Group {
        name: "answers",
        rounds: 400,
        ceilings: &[
            // 1535.
            ("1", 16, 100.0, 1650.0),
            // 2108, of them 1.9 KB copied and 100 values looked at.
            ("100", 16, 100.0, 2275.0),
        ],
        nothing: Some(|nodes| format!("nothing-{nodes}")),
    });
}

#[test]
fn a_message_that_is_published_as_fast_as_can_be() {
    held_to(&Group {
        name: "publishing",
        rounds: 8_192,
        ceilings: &[
            // A hundred Floats, without what the kernel does: 557 and 1457.
            ("raw", 1, 20.0, 700.0),
            ("variant", 1, 20.0, 1650.0),
        ],
        nothing: None,
    });
}

#[test]
fn a_float_that_is_read() {
    held_to(&Group {
        name: "reading",
        rounds: 20_000,
        ceilings: &[
            // With its part of the headers of its message: 10.6, 19.0, 19.1.
            ("raw", 100, 1.0, 13.0),
            ("variant", 100, 1.0, 23.0),
            ("value", 100, 1.0, 23.0),
            // Field by field: 83.0.
            ("raw-singly", 100, 1.0, 100.0),
            // 166 and 173, as in uaperf: where nothing else reads fields, their iterator is a part of the loop, and it
            // is 92.8 and 95.8.
            ("variant-singly", 100, 1.0, 182.0),
            ("value-singly", 100, 1.0, 190.0),
        ],
        nothing: None,
    });
}

#[test]
fn an_entry_in_the_ledger() {
    held_to(&Group {
        name: "ledger",
        // Two bins and more, so that closing them is counted too.
        rounds: 250_000,
        ceilings: &[
            // Two histograms, six counters, and the moment of a success, which outages are found by: 112.
            ("done", 1, 20.0, 130.0),
            // Four histograms: 86. Together they take 26 ns.
            ("late", 1, 20.0, 105.0),
        ],
        nothing: Some(|_| "nothing".to_owned()),
    });
}

#[test]
fn a_plant_s_answer_and_its_notification() {
    held_to(&Group {
        name: "served",
        rounds: 300,
        ceilings: &[
            // 16 Reads come together: 6,219 each.
            ("read-1", 16, 1000.0, 6_700.0),
            // 108,300.
            ("read-100", 16, 1000.0, 116_000.0),
            // A publishing interval of 100 items that all have a value: 112,251.
            ("publish-100", 1, 1000.0, 120_000.0),
        ],
        nothing: None,
    });
}
