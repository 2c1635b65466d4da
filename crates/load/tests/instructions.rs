//! Instructions of the generator's loop, from the ring of a socket to the write of what follows: counted
//! by callgrind, the same on a busy machine and an idle one.
//!
//! The same of a message that is published as fast as possible. The programs that are counted are
//! `examples/answers.rs` and `examples/publishing.rs`, built for release.

#[path = "../../wire/tests/callgrind/mod.rs"]
mod callgrind;

use callgrind::{example, has_valgrind, instructions_a_round};

const ROUNDS: u32 = 400;

/// Requests of a round.
const AT_ONCE: f64 = 16.0;

#[test]
fn a_request_and_its_answer_cost_what_they_cost() {
    if !has_valgrind() {
        return;
    }
    let program = example("answers");
    let mut above = Vec::new();
    for &(nodes, ceiling) in CEILINGS {
        let counted = |path: &str| instructions_a_round(&program, path, ROUNDS) / AT_ONCE;
        let measured = counted(nodes) - counted(&format!("nothing-{nodes}"));
        println!("{nodes} nodes: {measured:.1} instructions, at most {ceiling}");
        assert!(measured > 100.0, "nothing was sent");
        if measured > ceiling {
            above.push(format!("{nodes} nodes: {measured:.1}, at most {ceiling}"));
        }
    }
    assert!(
        above.is_empty(),
        "too many instructions:\n{}",
        above.join("\n")
    );
}

/// Nodes of each Read, and the most that a request with its answer may cost. Measured with rustc 1.95
/// on x86-64; some room is left for other compilers and memcpys.
const CEILINGS: &[(&str, f64)] = &[
    // 1535.
    ("1", 1650.0),
    // 2108, of them 1.9 KB copied and 100 values looked at.
    ("100", 2275.0),
];

/// Messages of a hundred Floats.
const MESSAGES: u32 = 8_192;

#[test]
fn a_message_that_is_published_costs_what_it_costs() {
    if !has_valgrind() {
        return;
    }
    let program = example("publishing");
    for &(path, ceiling) in PUBLISHED {
        let measured = instructions_a_round(&program, path, MESSAGES);
        println!("{path}: {measured:.1} instructions for each message, at most {ceiling}");
        // Its bytes are written at least.
        assert!(measured > 20.0, "{path} is not published at all");
        assert!(measured <= ceiling, "{path}: {measured:.1}, not {ceiling}");
    }
}

/// How its values are encoded, and the most instructions that a message may cost, without those of the kernel. Measured
/// with rustc 1.95 on x86-64: 557 and 1457; some room is left for other compilers.
const PUBLISHED: &[(&str, f64)] = &[("raw", 700.0), ("variant", 1650.0)];
