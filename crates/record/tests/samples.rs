//! Rows of single requests, and the log that HdrHistogram's tools read.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

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
