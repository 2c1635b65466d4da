#![allow(clippy::unwrap_used)]

use std::cell::Cell;

use super::*;

fn own(is_fast: bool) -> UsageSampler {
    UsageSampler::new(vec![Process::own()], (false, false), is_fast, None)
}

/// So many waits, and then the end.
fn times(n: u32) -> impl Fn(Duration) -> bool {
    let left = Cell::new(n);
    move |wait| {
        std::thread::sleep(wait);
        left.set(left.get() - 1);
        left.get() > 0
    }
}

#[test]
fn fast_looks_are_closer_ones_now_and_then_and_at_both_ends() {
    let (looks, cost) = watch(own(true), Duration::from_millis(10), 100, times(30));
    let closer: Vec<bool> = looks.iter().map(|it| it.close.is_some()).collect();
    assert_eq!(looks.len(), 31);
    assert!(closer[0] && closer[30], "{closer:?}");
    let few = closer.iter().filter(|it| **it).count();
    // A machine with other work has closer looks at both ends only.
    assert!((2..=8).contains(&few), "{few} closer looks");
    assert_eq!((cost.looks, cost.closely), (31, few as u64));
    // What takes a closer look is not taken for nothing elsewhere.
    let glance = looks.iter().find(|it| it.close.is_none()).unwrap();
    assert!(glance.processes[0].voluntary_switches.is_err());
    assert!(glance.processes[0].cpu_ns.is_ok());
    assert!(cost.cpu_ns.known().is_some_and(|ns| *ns > 0));
}

#[test]
fn too_many_looks_are_thinned_out_and_closer_ones_stay() {
    let (looks, cost) = watch(own(true), Duration::from_millis(10), 16, times(40));
    assert!(looks.len() <= 16, "{}", looks.len());
    assert!(cost.interval_ns >= 40_000_000, "{cost:?}");
    assert!(looks.iter().filter(|it| it.close.is_some()).count() >= 4);
    assert!(looks.windows(2).all(|two| two[0].at < two[1].at));
}

#[test]
fn a_machine_that_comes_too_late_leaves_looks_out() {
    let (_, cost) = watch(own(true), Duration::from_millis(10), 100, {
        let wait = times(5);
        move |time| {
            std::thread::sleep(Duration::from_millis(50));
            wait(time)
        }
    });
    assert!(cost.missed >= 10, "{cost:?}");
    assert_eq!(cost.looks, 6);
}

#[test]
fn a_window_has_threads_by_name_means_and_what_closer_looks_tell() {
    let burns = std::thread::Builder::new().name("burns".into());
    let (stop, stopped) = channel::<()>();
    let burns = burns.spawn(move || {
        while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            std::hint::black_box((0..1000_u64).sum::<u64>());
        }
    });
    let began = Instant::now();
    let watch = UsageWatch::start(WatchTargets {
        server: Some(Process::of(std::process::id()).unwrap()),
        observes: true,
        host: true,
        every: Some(Duration::from_millis(10)),
        ..WatchTargets::default()
    });
    std::thread::sleep(Duration::from_millis(1600));
    let seen = watch.unwrap().finish().unwrap();
    stop.send(()).unwrap();
    burns.unwrap().join().unwrap();
    let all = seen.series(began, 100_000_000, 1_600_000_000, None);
    let server = all.iter().find(|it| it.who == "server").unwrap();
    let thread = server.threads.iter().find(|it| it.name == "burns");
    assert!(*thread.unwrap().cpu_ns.known().unwrap() > 10_000_000);
    assert!(server.window.voluntary_switches.known().is_some());
    let cpu = *server.means.as_ref().unwrap().cpu_cores.known().unwrap();
    assert_eq!(Some(&cpu.mean), server.window.cpu_cores.known());
    assert!(cpu.error > 0.0, "{cpu:?}");
    for column in [&server.waited_cores, &server.switches_per_s] {
        assert_eq!(column.len(), server.at_ns.len());
        let known = column.iter().flatten().count();
        assert!(known >= 2 && known < column.len(), "{known}");
    }
    assert!(seen.observing.unwrap().closely >= 3);
}
