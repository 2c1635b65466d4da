//! What the generator can do against a server that costs little.

use std::sync::Arc;
use std::time::Duration;

use plan::{Arrival, NodeSpec, Nodes, Phase, Read, Work};
use record::Measure;
use serde::{Deserialize, Serialize};

use super::{CalibrateError, Measured, SLICES};
use crate::engine::{self, Control, Options, Progress, Target};
use crate::work::Prepared;

/// One kind of load, as fast as one session of one thread can.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Generated {
    /// What it is.
    pub name: String,
    /// Values per request.
    pub batch: u32,
    /// Requests in flight.
    pub in_flight: u32,
    /// Whether it polled without sleeping.
    pub spin: bool,
    /// Requests per second.
    pub rate_per_s: Measured,
    /// Nanoseconds of CPU of the generator for each request, where the system tells.
    pub cpu_ns: Option<Measured>,
    /// The median round trip of each slice, in nanoseconds.
    pub round_trip_ns: Measured,
}

/// A load to be tried: its name, values per request, requests in flight, whether it spins.
type Kind = (&'static str, u32, u32, bool);

const KINDS: [Kind; 4] = [
    ("single reads, one in flight", 1, 1, false),
    ("single reads, one in flight, spinning", 1, 1, true),
    ("single reads, 64 in flight", 1, 64, false),
    ("reads of 100 values, 16 in flight", 100, 16, false),
];

/// Loads a server with each kind for about as long as said, in turn. `nodes` are to hold at least
/// a hundred values. `told` hears what each load does, by its name, as it goes on.
pub fn generator(
    target: &Arc<Target>,
    nodes: &NodeSpec,
    budget: Duration,
    mut told: impl FnMut(&'static str, &Progress),
) -> Result<Vec<Generated>, CalibrateError> {
    let slice = budget / (SLICES * KINDS.len()) as u32;
    let failed = |error: &dyn std::fmt::Display| CalibrateError::Server(error.to_string());
    let mut phases = Vec::new();
    for kind in KINDS {
        let phase = phase(kind, nodes, slice);
        let prepared = target.prepare(&phase, true).map_err(|e| failed(&e))?;
        phases.push((kind, phase, Arc::new(prepared), Vec::new()));
    }
    for _ in 0..SLICES {
        for ((name, ..), phase, prepared, slices) in &mut phases {
            let told = |progress: Progress| told(name, &progress);
            slices.push(one(target, phase, prepared, told).map_err(|e| failed(&e))?);
        }
    }
    let figures =
        |slices: &[One], of: fn(&One) -> Option<f64>| Measured::of(slices.iter().filter_map(of));
    phases
        .iter()
        .map(|((name, batch, in_flight, spin), _, _, slices)| {
            let nothing = || CalibrateError::Server("it answered nothing".to_owned());
            Ok(Generated {
                name: (*name).to_owned(),
                batch: *batch,
                in_flight: *in_flight,
                spin: *spin,
                rate_per_s: figures(slices, |it| Some(it.rate)).ok_or_else(nothing)?,
                cpu_ns: figures(slices, |it| it.cpu_ns),
                round_trip_ns: figures(slices, |it| it.round_trip_ns).ok_or_else(nothing)?,
            })
        })
        .collect()
}

fn phase((_, batch, in_flight, spin): Kind, nodes: &NodeSpec, slice: Duration) -> Phase {
    Phase {
        arrival: Arrival::Closed {
            in_flight,
            think: Duration::ZERO,
        },
        duration: Some(slice),
        spin,
        ..Phase::new(Work::Read(Read {
            batch,
            ..Read::new(Nodes::from(nodes.clone()))
        }))
    }
}

struct One {
    rate: f64,
    cpu_ns: Option<f64>,
    round_trip_ns: Option<f64>,
}

fn one(
    target: &Arc<Target>,
    phase: &Phase,
    prepared: &Arc<Prepared>,
    told: impl FnMut(Progress),
) -> Result<One, engine::RunError> {
    let outcome = engine::run(
        phase,
        &[Arc::clone(target)],
        &[Arc::clone(prepared)],
        &Options::default(),
        &Control::default(),
        told,
    )?;
    let total = outcome.total();
    let window = total.first().map(record::Tally::whole);
    let done = window.as_ref().map_or(0, |it| it.sum.counters.completed);
    let cpu: Option<u64> = outcome.cores.iter().map(|core| core.cpu_ns).sum();
    Ok(One {
        rate: done as f64 * 1e9 / outcome.ended_ns.max(1) as f64,
        cpu_ns: cpu.filter(|_| done > 0).map(|cpu| cpu as f64 / done as f64),
        round_trip_ns: window
            .and_then(|it| it.histogram(Measure::Service).quantile(0.5))
            .map(|ns| ns as f64),
    })
}
