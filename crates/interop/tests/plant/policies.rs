//! Each policy that a client has: connect, read, write, call, subscribe. The modes and tokens are
//! those of the table (`tests/table.rs`).

use std::sync::Mutex;
use std::time::Instant;

use interop::{Cell, Outcome, Theirs, Work};
use peers::testing::{require, say};
use peers::{Mode, Token};

use super::JUDGES;

const WORK: [Work; 5] = [
    Work::Connect,
    Work::Read,
    Work::Write,
    Work::Call,
    Work::Subscribe,
];

#[test]
fn each_client_works_under_each_policy_that_it_has() {
    let begin = Instant::now();
    let stacks = JUDGES.iter().filter_map(|name| require(name));
    let mut cells = Vec::new();
    for stack in stacks {
        let all =
            Cell::all().filter(|cell| cell.token == Token::UserName && cell.mode != Mode::Sign);
        cells.extend(
            all.filter(|cell| cell.is_in(&stack.speaks))
                .map(|cell| (stack, cell)),
        );
    }
    let (tried, cells) = (cells.len(), Mutex::new(cells));
    let complaints = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        // Two at a time, each on a server of its own: they write to the same nodes.
        for _ in 0..2 {
            scope.spawn(|| {
                let theirs = Theirs::new().unwrap();
                while let Some((stack, cell)) = next(&cells) {
                    if let Outcome::Tried(found) = theirs.attempt(stack, cell, &WORK) {
                        let told = found
                            .iter()
                            .map(|what| format!("{} {cell}: {what}", stack.name));
                        complaints.lock().unwrap().extend(told);
                    }
                }
            });
        }
    });
    let complaints = complaints.into_inner().unwrap();
    say(&format!("{tried} cells in {:.1?}", begin.elapsed()));
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

fn next<T>(cells: &Mutex<Vec<T>>) -> Option<T> {
    cells.lock().unwrap().pop()
}
