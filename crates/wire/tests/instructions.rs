//! Instructions of the hot paths, counted by callgrind: the same on a busy machine and an idle
//! one, so a ceiling can be close to what was measured. The program that is counted is
//! `examples/hotpath.rs`, built for release.

mod callgrind;

use callgrind::{example, has_valgrind, instructions_a_round};

const ROUNDS: u32 = 200;

#[test]
fn the_hot_paths_cost_what_they_cost() {
    if !has_valgrind() {
        return;
    }
    let program = example("hotpath");
    let mut above = Vec::new();
    for &(path, each, ceiling) in CEILINGS {
        let measured = instructions_a_round(&program, path, ROUNDS) / f64::from(each);
        println!("{path}: {measured:.1} instructions, at most {ceiling}");
        if measured > ceiling {
            above.push(format!("{path}: {measured:.1}, at most {ceiling}"));
        }
    }
    assert!(
        above.is_empty(),
        "too many instructions:\n{}",
        above.join("\n")
    );
}

/// Path, how many things a round does, and the most that one may cost. Measured with rustc 1.95
/// on x86-64; some room is left for other compilers and memcpys.
const CEILINGS: &[(&str, u32, f64)] = &[
    // Copied and patched: 42, with acknowledgement 46, with another value 61.
    ("send-read", 1, 60.0),
    ("send-publish", 1, 65.0),
    // One Double, which shows what a response costs before its first value: 208.
    ("check-read-1", 1, 250.0),
    // Each of 100 Doubles: 6.0, and 13.4 when each has a status on the wire. The bar is 15.
    ("check-read-100", 100, 8.0),
    ("check-read-100-timestamps", 100, 8.0),
    ("check-read-100-statuses", 100, 15.0),
    // Double and Int32 by turns, so that no step is like the one before: 75.
    ("check-read-100-mixed", 100, 90.0),
    ("check-write-100", 100, 8.0),
    // Not only checked but handed out one by one: 59 a value, 57 a monitored item.
    ("read-values-100", 100, 65.0),
    ("notifications-100", 100, 62.0),
    // The same as numbers, each in the shape of the one before: 29.
    ("changes-100", 100, 32.0),
    // The server's side, 70 a node.
    ("serve-read-100", 100, 76.0),
];
