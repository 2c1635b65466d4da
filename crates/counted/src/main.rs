//! Runs one hot path some times over, for `tests/instructions` to count what it costs.
//!
//! `counted GROUP PATH ROUNDS`; each module is a group, and says what its paths are. To add a path, add an arm there and
//! a ceiling in the test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a measurement that fails must stop"
)]

mod answers;
mod ledger;
mod messages;
mod publishing;
mod reading;
mod served;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [group, path, rounds] = words.as_slice() else {
        panic!("counted GROUP PATH ROUNDS");
    };
    let rounds = rounds.parse().expect("a number of rounds");
    let run = match group.as_str() {
        "answers" => answers::run,
        "ledger" => ledger::run,
        "messages" => messages::run,
        "publishing" => publishing::run,
        "reading" => reading::run,
        "served" => served::run,
        other => panic!("no group is called {other:?}"),
    };
    run(path, rounds);
}
