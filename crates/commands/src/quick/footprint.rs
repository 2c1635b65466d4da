//! What rounds of steps leave behind in a server: the slope of its memory and descriptors over them.

use std::time::Instant;

use judge::Slope;
use load::engine::Rounds;
use record::average::mean;
use record::run::{Figure, Footprint, Held, Rise};

use super::usage::{Level, ObservedUsage};

/// Of the rounds that are over, so many tenths at the beginning are left out: buffers and pools grow then.
const WARM_UP: f64 = 0.2;

/// The footprint of a phase that began at this moment.
pub fn of(rounds: &Rounds, seen: Option<&ObservedUsage>, began: Instant) -> Footprint {
    let levels = seen.map(|seen| seen.levels("server", began));
    // Without levels the figures are missing, and say why.
    let levels = levels.unwrap_or_default();
    let count = |at: i128| {
        let before = |end: &u64| i128::from(*end) <= at;
        rounds.ends_ns.partition_point(before) as f64
    };
    let all = rounds.ends_ns.len() as f64;
    // Held sessions are counted from before the first one to the moment when they are let go; rounds that are
    // over once the first of them have had their effect.
    let wanted = |level: &&Level| match rounds.held {
        Some(held) => level.at <= i128::from(held.to_ns),
        None => {
            let over = count(level.at);
            over >= WARM_UP * all && level.at >= 0
        }
    };
    let rise = |figure: fn(&Level) -> Option<u64>| {
        if levels.is_empty() {
            return Figure::missing("the server's process was not watched");
        }
        let looks: Vec<(f64, f64)> = levels
            .iter()
            .filter(wanted)
            .filter_map(|level| Some((count(level.at), figure(level)? as f64)))
            .collect();
        match Slope::of(&looks) {
            Some(Slope { each, error }) => Figure::Known(Rise { each, error }),
            None => Figure::missing("too few looks at the server while it went on"),
        }
    };
    Footprint {
        per: match rounds.held {
            Some(_) => "session",
            None => "round",
        }
        .to_owned(),
        memory_bytes: rise(|level| level.rss_bytes),
        descriptors: rise(|level| level.descriptors),
        held: rounds.held.map(|held| Held {
            sessions: held.sessions,
            from_ns: held.from_ns,
            to_ns: held.to_ns,
            cpu_cores: while_held(seen, began, held.from_ns, held.to_ns),
        }),
    }
}

/// Cores that the server was busy with meanwhile.
fn while_held(seen: Option<&ObservedUsage>, began: Instant, from: u64, to: u64) -> Figure<f64> {
    let cores = seen.map(|seen| seen.cores("server", began));
    let cores = cores.unwrap_or_default();
    // Each look speaks of the time since the one before it, which is to lie inside altogether.
    let inside = |(at, _): &&(u64, f64)| (from..=to).contains(at);
    match mean(cores.iter().filter(inside).skip(1).map(|it| it.1)) {
        None => Figure::missing("they were not held for long enough to look at the server"),
        Some(mean) => Figure::Known(mean),
    }
}
