//! Ten kills at each phase of a load, in virtual time: whatever is killed, all is counted once or named, load ends, and
//! what was kept comes later.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod lab;
mod table;

use fleet::Stage;
use lab::{AGENTS, Disks, LONG, Lab, MS, Played, S, SESSIONS, VICTIM};
use table::{KILLS, Kill, PHASES, Phase, table};

/// Each session is counted once, by the agent that had it.
fn is_counted_once(disks: &Disks) -> bool {
    let taken = disks.taken.iter().enumerate();
    taken
        .filter_map(|(n, it)| Some((n, it.as_ref()?)))
        .all(|(n, results)| {
            let hand = &disks.ledger.as_ref().unwrap()[n];
            results.iter().map(|(seat, _)| seat).eq(hand)
        })
}

/// Whether all that was asked is there.
fn is_whole(disks: &Disks) -> bool {
    let all = disks.taken.iter().flatten().flatten();
    let whole = all.filter(|(_, until)| *until == LONG);
    whole.count() == SESSIONS as usize
}

/// What becomes of a load at which this happens.
fn outcome(kill: Kill, phase: Phase, seed: u64) -> &'static str {
    let mut disks = Disks::default();
    let played = Lab::load(&mut disks, Some((kill, phase)), seed);
    let at = format!("{kill:?} at {phase:?}, run {seed}");
    let struck = played.struck.unwrap_or_else(|| panic!("{at} never"));
    // A load that nobody controls ends in time.
    let end = struck + 10 * S + 100 * MS;
    let alone = match kill {
        Kill::Controller | Kill::ControllerPauses => 0..AGENTS,
        Kill::Way | Kill::Silence | Kill::OneWay => VICTIM..VICTIM + 1,
        _ => 0..0,
    };
    let loaded = &played.loaded[alone];
    assert!(loaded.iter().all(|at| *at <= end), "{at}: {loaded:?}");
    assert!(played.over || played.killed, "{at}: it waits for ever");
    assert!(is_counted_once(&disks), "{at}");
    if played.over && !played.interrupted {
        named(&disks, &played, &at);
    }
    let before = (is_whole(&disks), disks.clone());
    let again = Lab::collect(&mut disks, None, seed);
    assert!(is_counted_once(&disks), "{at}");
    // Whatever lay on a disk is in the result now, and nowhere else.
    for (n, shelf) in before.1.shelves.iter().enumerate() {
        let is_wanted = before.1.taken[n].is_none();
        if let (Some(results), true) = (shelf, is_wanted) {
            assert_eq!(disks.taken[n].as_ref(), Some(results), "{at}: agent {n}");
            assert_eq!(disks.shelves[n], None, "{at}: agent {n}");
        }
    }
    drop(again);
    word(&played, before.0, &before.1, &disks)
}

/// Who has no results in the result is lost or has failed, and said to be.
fn named(disks: &Disks, played: &Played, at: &str) {
    let hands = disks
        .ledger
        .clone()
        .unwrap_or_else(|| vec![Vec::new(); AGENTS]);
    for (n, hand) in hands.iter().enumerate() {
        let missing = !hand.is_empty() && disks.taken[n].is_none();
        let named = played.lost[n].is_some() || played.failed[n].is_some();
        assert!(named || !missing, "{at}: nothing is said of agent {n}");
    }
}

fn word(played: &Played, whole: bool, before: &Disks, after: &Disks) -> &'static str {
    let none = before.taken.iter().all(Option::is_none);
    let lost = played.lost.iter().flatten().next();
    let now = is_whole(after);
    let came = after.taken.iter().flatten().count() > before.taken.iter().flatten().count();
    match (played.interrupted, none, whole) {
        (true, true, _) => "stopped, no result",
        (true, false, false) => "stopped",
        (_, _, true) if played.late > 100 * MS => "apart",
        (_, _, true) if lost.is_some_and(|stage| *stage <= Stage::Waiting) => "fewer",
        (_, _, true) if played.killed => "none, late",
        (_, _, true) => "whole",
        (_, none, false) => match (none || played.killed, now, came) {
            (true, true, _) => "none, late",
            (true, false, true) => "none, part",
            (true, false, false) => "none",
            (false, true, _) => "lost, late",
            (false, false, true) => "lost, part",
            (false, false, false) => "lost",
        },
    }
}

#[test]
fn ten_kills_at_each_of_eight_phases_end_as_the_table_says() {
    let mut wrong = Vec::new();
    let table = table();
    assert_eq!(table.len(), KILLS.len());
    for (kill, row) in KILLS.into_iter().zip(table) {
        let mut seen = Vec::new();
        for (phase, want) in PHASES.into_iter().zip(row) {
            for seed in 1..=10 {
                let is = outcome(kill, phase, seed);
                if seed == 1 {
                    seen.push(is);
                }
                if want.split(" or ").all(|it| it != is) {
                    wrong.push(format!(
                        "{kill:?} at {phase:?}, run {seed}: {is} (want {want})"
                    ));
                }
            }
        }
        println!("    (Kill::{kill:?}, {seen:?}),");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ten_kills_while_results_are_collected_leave_them_to_be_collected_again() {
    for kill in KILLS {
        for phase in [
            Phase::Hello,
            Phase::Plan,
            Phase::Ending,
            Phase::Results,
            Phase::Taken,
        ] {
            for seed in 1..=10 {
                let mut disks = Disks::default();
                Lab::load(&mut disks, Some((Kill::Way, Phase::Running)), seed);
                let kept = disks.shelves[VICTIM].clone();
                assert!(kept.is_some());
                let at = format!("{kill:?} at {phase:?}, run {seed}");
                let played = Lab::collect(&mut disks, Some((kill, phase)), seed);
                assert!(played.struck.is_some(), "{at} never");
                Lab::collect(&mut disks, None, seed);
                assert_eq!(disks.taken[VICTIM], kept, "{at}");
                assert!(is_counted_once(&disks), "{at}");
            }
        }
    }
}
