//! The line that changes while a phase runs.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use record::notification_ledger::Stretch;
use record::{Closed, Histogram, Lateness, Ledger, Times};
use report::Style;
use report::live::{Board, Live};

const MS: u64 = 1_000_000;

/// A core that sends every millisecond and is answered after 200 µs, with an error in the 1500th.
fn core() -> Ledger {
    let mut ledger = Ledger::new();
    for ms in 0..2000 {
        let sent = ms * MS;
        let times = Times {
            planned: sent,
            sent,
            completed: sent + 200_000,
        };
        ledger.late(sent, Lateness::default(), 1);
        let status = if ms == 1500 { 0x8000_0000 } else { 0 };
        ledger.done(times, status, 1, 1);
    }
    // One more has no answer yet.
    ledger.late(1999 * MS, Lateness::default(), 1);
    ledger
}

#[test]
fn a_line_tells_rate_percentiles_flight_errors_and_time_left() {
    let mut live = Live::new(Some(Duration::from_secs(10)), None, Style::PLAIN);
    let mut cores = [core(), core()];
    let mut lines = Vec::new();
    for second in 1..=3 {
        for (core, ledger) in cores.iter_mut().enumerate() {
            for closed in ledger.take_closed(second * 1000 * MS) {
                live.add(core, 0, &closed);
            }
        }
        lines.push(live.line(second * 1000 * MS));
    }
    assert_eq!(
        lines[0],
        "   1 s     1999/s  p50  200 µs  p99  200 µs  max  200 µs     0 in flight  2 errors  9 s left"
    );
    // The last interval, in which a request of each core stayed without an answer.
    assert!(lines[1].contains(" 2 in flight"), "{}", lines[1]);
    assert!(lines[2].contains("no news"), "{}", lines[2]);
    assert!(lines[2].ends_with("7 s left"), "{}", lines[2]);
    assert_eq!(live.completed(), 4000);
    assert!(
        lines
            .iter()
            .all(|line| line.chars().count() <= report::WIDTH)
    );
}

#[test]
fn requests_may_end_a_phase_before_its_time_does() {
    let mut ledger = core();
    let mut live = Live::new(Some(Duration::from_secs(100)), Some(4000), Style::PLAIN);
    assert!(live.line(0).ends_with("2:00 left") || live.line(0).ends_with("100 s left"));
    for closed in ledger.take_closed(2000 * MS) {
        live.add(0, 0, &closed);
    }
    assert!(live.line(2000 * MS).ends_with("2 s left"));
    let mut unknown = Live::new(None, Some(4000), Style::PLAIN);
    assert!(unknown.line(MS).ends_with("4,000 to do"));
}

#[test]
fn of_subscriptions_a_line_tells_values_messages_delays_and_losses() {
    let mut live = Live::new(Some(Duration::from_secs(10)), None, Style::PLAIN);
    let mut heard = Stretch::default();
    let mut lines = Vec::new();
    for second in 1..=2u64 {
        heard.values.received += 400;
        heard.messages.notifications += 10;
        heard.places.missing += second - 1;
        let closed = Closed {
            statuses: record::ledger::Statuses::default(),
            start_ns: (second - 1) * 1000 * MS,
            width_ns: 1000 * MS,
            delay: Histogram::of(60 * MS, 400),
            ..Closed::default()
        };
        live.add(0, 0, &closed);
        // Two cores, of which the other one's ledger is not looked at here.
        live.hear(0, &heard);
        live.hear(1, &heard);
        lines.push(live.line(second * 1000 * MS));
    }
    assert!(
        lines[0].contains("800/s values    20/s messages"),
        "{}",
        lines[0]
    );
    assert!(lines[0].ends_with("0 lost  9 s left"), "{}", lines[0]);
    assert!(lines[1].contains("delay mean   60 ms"), "{}", lines[1]);
    assert!(lines[1].ends_with("2 lost  8 s left"), "{}", lines[1]);
    let fit = |line: &String| line.chars().count() <= report::WIDTH;
    assert!(lines.iter().all(fit), "{lines:?}");
}

#[test]
fn of_a_publisher_a_line_tells_how_late_cycles_are_and_what_was_refused() {
    let mut live = Live::new(Some(Duration::from_secs(10)), None, Style::PLAIN).of_publisher(true);
    let mut heard = Stretch::default();
    heard.values.received = 400;
    heard.messages.notifications = 10;
    heard.messages.missing_messages = 3;
    let closed = Closed {
        width_ns: 1000 * MS,
        delay: Histogram::of(2 * MS, 10),
        ..Closed::default()
    };
    live.add(0, 0, &closed);
    live.hear(0, &heard);
    let line = live.line(1000 * MS);
    assert!(line.contains("late mean    2 ms"), "{line}");
    assert!(line.ends_with("3 refused  9 s left"), "{line}");
}

fn drawn(terminal: bool) -> String {
    let mut out = Vec::new();
    let mut board = Board::new(&mut out, terminal);
    let mut live = Live::new(Some(Duration::from_secs(3)), None, Style::PLAIN);
    for tenth in 0..=30 {
        board.tick(&mut live, tenth * 100 * MS).unwrap();
    }
    board.end().unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn without_a_terminal_there_is_a_plain_line_each_second() {
    let text = drawn(false);
    assert!(!text.contains(['\r', '\x1b']));
    let ends: Vec<&str> = text
        .lines()
        .map(|line| line.rsplit("  ").next().unwrap())
        .collect();
    assert_eq!(ends, ["2 s left", "1 s left", "0 s left"]);
}

#[test]
fn on_a_terminal_the_line_is_drawn_over_itself_and_taken_away() {
    let text = drawn(true);
    assert!(!text.contains('\n'));
    // From the first second on five times a second, and the last one empty.
    let frames: Vec<&str> = text.split("\r\x1b[2K").collect();
    assert_eq!(frames.len(), 1 + 11 + 1);
    assert_eq!(frames.last(), Some(&""));
}
