//! A suite of lies: what goes wrong, times every command that measures.
//!
//! Each cell of the table runs the program against a server to which something happens, and holds three things
//! that it says to what is known: the exit code, the verdict, and the figure that must show it. A cell that
//! cannot occur says why. A new command without its row fails the first test.
//!
//! What goes wrong is counted in requests, not in time (`stall=1200ms,on=read,every=60,times=1`), so that a slow
//! machine meets it too. Clocks that are set are left to `crates/load/tests/virtual_time`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

use cause::Cause;
use cell::{Cell, Seen};
use row::ROWS;

mod cause;
mod cell;
mod row;
#[path = "../support/mod.rs"]
mod support;

/// Cells of a cause that run at a time: most of their time they wait.
const AT_ONCE: usize = 3;

/// Causes that may still begin: timeouts are short, and the commands of two are enough for a small machine. The second one has
/// something to do while the first waits for its last cells.
static TURNS: Mutex<u32> = Mutex::new(2);
static TURN: Condvar = Condvar::new();

/// A cause's turn, until it is dropped.
struct Turn;

impl Turn {
    fn take() -> Self {
        let left = TURNS.lock().unwrap();
        *TURN.wait_while(left, |left| *left == 0).unwrap() -= 1;
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *TURNS.lock().unwrap() += 1;
        TURN.notify_one();
    }
}

/// Runs all commands under this cause, and says which of them lied.
fn nothing_is_hidden(cause: Cause) {
    let _turn = Turn::take();
    let next = AtomicUsize::new(0);
    let lies = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(row) = ROWS.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let expected = match cause.on(row) {
                        Cell::Never(_) => continue,
                        Cell::Shows(expected) => expected,
                    };
                    let seen = Seen::of(row, cause);
                    if let Err(lie) = expected.holds(&seen) {
                        let lie = format!("{} while {cause:?}: {lie}\n{seen}", row.name);
                        lies.lock().unwrap().push(lie);
                    }
                }
            });
        }
    });
    let lies = lies.into_inner().unwrap();
    assert!(lies.is_empty(), "{}", lies.join("\n\n"));
}

#[test]
fn every_command_has_its_row() {
    let help = support::program().arg("--help").output().unwrap();
    let help = support::text(&help.stdout);
    let commands = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty());
    for command in commands {
        let rows = ROWS.iter().filter(|row| row.command() == command).count();
        let reason = row::WITHOUT.iter().find(|(name, _)| *name == command);
        match reason {
            Some(_) => assert_eq!(rows, 0, "{command} has a row and a reason to have none"),
            None => assert_ne!(rows, 0, "{command} has no row in the table of lies"),
        }
    }
}

#[test]
fn a_cell_that_cannot_occur_says_why() {
    for cause in Cause::ALL {
        for row in ROWS {
            if let Cell::Never(reason) = cause.on(row) {
                assert!(reason.len() > 20, "{} while {cause:?}: {reason}", row.name);
            }
        }
    }
}

#[test]
fn a_healthy_server_is_not_accused() {
    nothing_is_hidden(Cause::Nothing);
}

#[test]
fn a_server_that_stands_still_for_a_while() {
    nothing_is_hidden(Cause::Pauses);
}

#[test]
fn a_server_that_hangs() {
    nothing_is_hidden(Cause::Hangs);
}

#[test]
fn a_server_that_crashes() {
    nothing_is_hidden(Cause::Crashes);
}

#[test]
fn a_server_that_begins_anew() {
    nothing_is_hidden(Cause::Restarts);
}

#[test]
fn a_server_that_refuses_some_sessions() {
    nothing_is_hidden(Cause::RefusesSome);
}

#[test]
fn a_server_that_answers_a_share_with_errors() {
    nothing_is_hidden(Cause::AnswersErrors);
}

#[test]
fn a_server_that_is_slow_at_first() {
    nothing_is_hidden(Cause::SlowAtFirst);
}

#[test]
fn notifications_that_are_dropped() {
    nothing_is_hidden(Cause::DropsNotifications);
}

#[test]
fn a_connection_that_is_cut() {
    nothing_is_hidden(Cause::Cut);
}

#[test]
fn a_second_target_that_is_not_there() {
    nothing_is_hidden(Cause::SecondTargetMissing);
}

#[test]
fn a_batch_beyond_the_limit() {
    nothing_is_hidden(Cause::LimitReached);
}

#[test]
fn a_disk_that_is_full() {
    nothing_is_hidden(Cause::DiskFull);
}

#[test]
fn a_file_that_cannot_be_written() {
    nothing_is_hidden(Cause::NotWritable);
}

#[test]
fn a_reader_that_has_gone() {
    nothing_is_hidden(Cause::PipeClosed);
}

#[test]
fn an_interrupt_while_it_measures() {
    nothing_is_hidden(Cause::Interrupted);
}

#[test]
fn an_interrupt_while_it_looks() {
    nothing_is_hidden(Cause::InterruptedLooking);
}

#[test]
fn a_generator_that_is_stopped() {
    nothing_is_hidden(Cause::GeneratorStopped);
}
