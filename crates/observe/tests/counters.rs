//! What `perf_event_open` counts, held against what the kernel tells elsewhere. One test: it counts all of its process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use observe::counters::{Counters, Event};
use observe::{Process, thread_cpu};

/// A thread that is no more when it is asked.
fn works_and_sleeps() {
    let began = thread_cpu().unwrap();
    while thread_cpu().unwrap() - began < Duration::from_millis(200) {
        std::hint::black_box((0..1000_u64).sum::<u64>());
    }
    for _ in 0..100 {
        std::thread::sleep(Duration::from_micros(200));
    }
    let memory = std::hint::black_box(vec![1_u8; 16 << 20]);
    assert_eq!(memory.len(), 16 << 20);
}

#[test]
fn switches_faults_and_time_are_those_that_the_process_has_and_a_thread_that_ended_is_in_them() {
    let mut process = Process::own();
    let mut counters = Counters::of(std::process::id()).unwrap();
    let (before, then) = (process.sample(), counters.read());
    std::thread::spawn(works_and_sleeps).join().unwrap();
    let (spent, now) = (process.sample().since(&before), counters.read());
    let counted = now.since(&then);
    let switches = match counted.count(Event::ContextSwitches) {
        Ok(count) => count.scaled().unwrap(),
        // Not allowed here: then it is said what would mend it.
        Err(why) => {
            assert!(why.reason().contains("perf_event_paranoid"), "{why}");
            return;
        }
    };
    // /proc knows nothing of the switches of a thread that has ended: it slept a hundred times.
    assert!((100..1000).contains(&switches), "{switches} switches");
    let near = |event: Event, wanted: u64, share: f64| {
        let found = counted.count(event).unwrap();
        assert_eq!(found.share(), 1.0, "{event:?} took turns: {found:?}");
        let found = found.scaled().unwrap();
        let off = (found as f64 / wanted as f64 - 1.0).abs();
        assert!(off < share, "{event:?}: {found}, but {wanted}");
    };
    near(Event::TaskClock, spent.cpu_ns.unwrap(), 0.02);
    // Those of 16 MiB, however large the pages are.
    let faults = spent.minor_faults.unwrap() + spent.major_faults.unwrap();
    near(Event::PageFaults, faults, 0.2);
    assert!(counted.count(Event::Migrations).is_ok());
    // What the processor counts is there, or the reason.
    match counted.count(Event::Instructions) {
        Ok(count) => assert!(count.scaled().unwrap() > 100_000_000, "{count:?}"),
        Err(why) => assert!(why.reason().contains("counters"), "{why}"),
    }
    let usage = counted.usage();
    assert_eq!(usage.context_switches.known().unwrap().count, switches);
}
