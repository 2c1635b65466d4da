//! Rows of single requests, and the log that HdrHistogram's tools read.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use record::{Histogram, Lateness, Ledger, Samples, Times, hlog};

/// A file that others can look into, and that is full at some point.
#[derive(Clone)]
struct Disk {
    bytes: Arc<Mutex<Vec<u8>>>,
    room: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = self.bytes.lock().unwrap();
        if held.len() + bytes.len() > self.room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn disk(room: usize) -> Disk {
    Disk {
        bytes: Arc::default(),
        room,
    }
}

fn times(at: u64) -> Times {
    Times {
        planned: at,
        sent: at + 1,
        completed: at + 50,
    }
}

#[test]
fn every_request_of_every_core_has_a_row() {
    let disk = disk(usize::MAX);
    let samples = Samples::new(disk.clone()).unwrap();
    std::thread::scope(|scope| {
        for core in 0..4u64 {
            let mut sheet = samples.sheet("one, two");
            scope.spawn(move || {
                for at in 0..10_000 {
                    sheet.row(core as usize, times(at * 4 + core), 0x8034_0000);
                }
            });
        }
    });
    assert_eq!(samples.finish().unwrap(), 40_000);
    let text = String::from_utf8(disk.bytes.lock().unwrap().clone()).unwrap();
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("phase,target,planned_ns,sent_ns,completed_ns,status")
    );
    let mut seen: Vec<u64> = lines
        .map(|line| {
            // The comma in the phase's name is quoted.
            let rest = line.strip_prefix("\"one, two\",").unwrap();
            let cells: Vec<&str> = rest.split(',').collect();
            assert_eq!((cells.len(), cells[4]), (5, "0x80340000"));
            cells[1].parse().unwrap()
        })
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..40_000).collect::<Vec<_>>());
}

#[test]
fn a_full_disk_ends_the_samples_and_not_the_run() {
    let disk = disk(200_000);
    let samples = Samples::new(disk.clone()).unwrap();
    let mut sheet = samples.sheet("only");
    for at in 0..10_000 {
        sheet.row(0, times(at), 0);
    }
    drop(sheet);
    let error = samples.finish().unwrap_err();
    assert_eq!(error.written + error.lost, 10_000);
    let rows = disk
        .bytes
        .lock()
        .unwrap()
        .iter()
        .filter(|&&b| b == b'\n')
        .count() as u64;
    assert_eq!(rows - 1, error.written);
    assert!(error.to_string().contains("of 10000 rows"), "{error}");
}

/// A disk that stands still until it is let go, or nobody does so for long.
#[derive(Clone, Default)]
struct Still {
    go: Arc<(Mutex<bool>, Condvar)>,
    rows: Arc<AtomicU64>,
    is_awaited: Arc<AtomicBool>,
}

impl Still {
    fn let_go(&self) {
        *self.go.0.lock().unwrap() = true;
        self.go.1.notify_all();
    }
}

impl Write for Still {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let lines = bytes.iter().filter(|&&b| b == b'\n').count() as u64;
        // The header is written before anything is measured.
        if self.rows.fetch_add(lines, Ordering::Relaxed) > 0 {
            let held = self.go.0.lock().unwrap();
            let long = Duration::from_secs(20);
            let (mut go, wait) = self.go.1.wait_timeout_while(held, long, |go| !*go).unwrap();
            self.is_awaited
                .fetch_or(wait.timed_out(), Ordering::Relaxed);
            *go = true;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_disk_that_stands_still_holds_up_no_request_and_what_it_lost_is_counted() {
    let disk = Still::default();
    let samples = Samples::new(disk.clone()).unwrap();
    const ROWS: u64 = 600_000;
    std::thread::scope(|scope| {
        for core in 0..2u64 {
            let mut sheet = samples.sheet("read");
            scope.spawn(move || {
                for at in 0..ROWS / 2 {
                    sheet.row(core as usize, times(1_000_000_000 + at), 0);
                }
            });
        }
    });
    // All requests ended while the disk stood still.
    disk.let_go();
    let error = samples.finish().unwrap_err();
    assert!(!disk.is_awaited.load(Ordering::Relaxed), "requests waited");
    assert_eq!(error.written + error.lost, ROWS);
    assert!(error.lost > 0 && error.written > 300_000, "{error}");
    assert_eq!(disk.rows.load(Ordering::Relaxed), error.written + 1);
    assert!(error.to_string().contains("more slowly"), "{error}");
}

#[test]
fn rows_that_are_kept_in_memory_are_never_lost() {
    let memory = Still::default();
    let samples = Samples::kept(memory.clone()).unwrap();
    let mut sheet = samples.sheet("read");
    for at in 0..600_000 {
        sheet.row(0, times(1_000_000_000 + at), 0);
    }
    drop(sheet);
    memory.let_go();
    assert_eq!(samples.finish().unwrap(), 600_000);
    assert_eq!(memory.rows.load(Ordering::Relaxed), 600_001);
}

#[test]
fn what_was_handed_over_is_written_when_nobody_finishes() {
    let disk = disk(usize::MAX);
    let samples = Samples::new(disk.clone()).unwrap();
    let mut sheet = samples.sheet("read");
    sheet.row(0, times(0), 0);
    drop((sheet, samples));
    let text = String::from_utf8(disk.bytes.lock().unwrap().clone()).unwrap();
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn hdrhistograms_own_reader_understands_the_log() {
    let mut ledger = Ledger::new();
    for at in 0..1000u64 {
        let planned = at * 1_000_000;
        ledger.late(planned, Lateness::default(), 1);
        let completed = planned + 100_000 + at * 100;
        let times = Times {
            planned,
            sent: planned,
            completed,
        };
        ledger.done(times, 0, 1, 1);
    }
    let tally = ledger.finish();
    let mut log = Vec::new();
    hlog::write(&tally, "2026-03-01T09:30:00Z".parse().unwrap(), &mut log).unwrap();

    let mut sum = Histogram::default();
    let mut lines = 0;
    for entry in IntervalLogIterator::new(&log) {
        let LogEntry::Interval(interval) = entry.unwrap() else {
            continue;
        };
        if interval.tag().unwrap().as_str() != "response" {
            continue;
        }
        lines += 1;
        let text = interval.encoded_histogram();
        let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text);
        let hdr: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.unwrap().as_slice())
            .unwrap();
        assert_eq!(hdr.len(), 100);
        sum.merge(&Histogram::from_base64(text).unwrap());
    }
    assert_eq!((lines, sum.count()), (10, 1000));
    let whole = tally.whole();
    let response = whole.histogram(record::Measure::Response);
    for q in [0.1, 0.5, 0.99] {
        assert_eq!(sum.quantile(q), response.quantile(q));
    }
}
