//! What makes two sides hard to compare.

use record::average::mean;
use record::run::{Kind, Mark, Run};

/// Rates that differ by more are not of the same load.
const RATE: f64 = 0.01;

/// Sentences about what differs besides what is to be compared: machines, builds, loads, errors, verdicts.
pub fn doubts(base: &[&Run], new: &[&Run]) -> Vec<String> {
    let mut doubts = Vec::new();
    let mut differ = |what: &str, of: &dyn Fn(&Run) -> Option<String>| {
        let seen = |side: &[&Run]| {
            let mut seen: Vec<String> = side.iter().filter_map(|run| of(run)).collect();
            seen.sort();
            seen.dedup();
            seen
        };
        let (x, y) = (seen(base), seen(new));
        if x != y && !x.is_empty() && !y.is_empty() {
            doubts.push(format!(
                "they differ in their {what}: {} and {}",
                x.join(", "),
                y.join(", ")
            ));
        }
    };
    differ("command", &|run| Some(run.command.clone()));
    differ("host", &|run| run.machine.host.known().cloned());
    differ("CPU", &|run| run.machine.cpu.known().cloned());
    differ("instructions for cryptography", &|run| {
        run.machine.cryptography.known().cloned()
    });
    differ("cores", &|run| {
        run.machine.cores.known().map(u64::to_string)
    });
    differ("kernel", &|run| run.machine.kernel.known().cloned());
    differ("governor", &|run| run.machine.governor.known().cloned());
    differ("virtualisation", &|run| {
        run.machine.virtualisation.known().cloned()
    });
    differ("clock source", &|run| {
        run.machine.clock_source.known().cloned()
    });
    differ("build of uaperf", &|run| {
        Some(run.machine.build.to_string())
    });
    differ("agents", &|run| Some(agents(run)));
    differ("security", &|run| {
        Some(run.targets.first()?.security.clone())
    });
    differ("interface", &|run| run.targets.first()?.interface.clone());
    differ("link", &|run| {
        let link = run.targets.first()?.link.clone();
        Some(link.unwrap_or_else(|| "none".to_owned()))
    });
    let simulated = |side: &[&Run]| side.iter().filter(|run| run.is_simulated()).count();
    for (side, runs) in [("base", base), ("new", new)] {
        let n = simulated(runs);
        if n > 0 {
            let are = if n == 1 { "is" } else { "are" };
            doubts.push(format!(
                "{n} of {} runs of {side} {are} SIMULATED: nothing of that was measured",
                runs.len()
            ));
        }
    }
    if plans(base) != plans(new) {
        doubts.push("they were asked for different loads".to_owned());
    }
    rates(base, new, &mut doubts);
    blocks(base, new, &mut doubts);
    for (side, runs) in [("base", base), ("new", new)] {
        for kind in [
            Kind::Failed,
            Kind::Incomplete,
            Kind::GeneratorLimited,
            Kind::Unsteady,
        ] {
            let n = runs.iter().filter(|run| run.verdict.kind == kind).count();
            if n > 0 {
                let are = if n == 1 { "is" } else { "are" };
                doubts.push(format!("{n} of {} runs of {side} {are} {kind}", runs.len()));
            }
        }
        let touched = runs.iter().filter(|run| run.marks.contains(&Mark::ByHand));
        let touched = touched.count();
        if touched > 0 {
            let their = if touched == 1 { "its" } else { "their" };
            doubts.push(format!(
                "{touched} of {} runs of {side} had {their} load changed by hand",
                runs.len()
            ));
        }
        let errors: u64 = phases(runs).map(|phase| phase.total.errors).sum();
        let completed: u64 = phases(runs).map(|phase| phase.total.completed).sum();
        if errors > 0 {
            doubts.push(format!(
                "{side}: {errors} of {completed} requests ended with errors, and are in the times"
            ));
        }
    }
    if base
        .iter()
        .chain(new)
        .any(|run| run.machine.build.debug_assertions)
    {
        doubts.push("measured with a debug build: times are those of unoptimised code".to_owned());
    }
    doubts
}

/// Who made the load.
fn agents(run: &Run) -> String {
    let mut names: Vec<&str> = run.hosts.iter().map(|it| it.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(" "),
    }
}

fn phases<'a>(runs: &'a [&Run]) -> impl Iterator<Item = &'a record::run::Phase> {
    runs.iter().flat_map(|run| &run.phases)
}

/// What was asked for, without what may differ between repetitions.
fn plans(runs: &[&Run]) -> Vec<serde_json::Value> {
    let mut plans = Vec::new();
    for run in runs {
        let mut phases = run.plan.get("phases").cloned().unwrap_or_default();
        for phase in phases.as_array_mut().into_iter().flatten() {
            if let Some(fields) = phase.as_object_mut() {
                fields.remove("seed");
                fields.remove("expect");
                fields.remove("abort_on");
            }
        }
        if !plans.contains(&phases) {
            plans.push(phases);
        }
    }
    plans.sort_by_key(ToString::to_string);
    plans
}

/// Latencies under different loads are no comparison.
fn rates(base: &[&Run], new: &[&Run], doubts: &mut Vec<String>) {
    let open = |runs: &[&Run]| runs.iter().all(|run| !is_closed(run));
    let mean = |runs: &[&Run]| mean(phases(runs).filter_map(|it| it.total.rate_per_s));
    if let (Some(x), Some(y)) = (mean(base), mean(new))
        && open(base)
        && open(new)
        && (y - x).abs() > RATE * x
    {
        doubts.push(format!(
            "their rates differ ({x:.0}/s and {y:.0}/s): times under unequal loads are hard to compare"
        ));
    }
}

/// All runs of one side before all of the other: what the host did meanwhile is in one of them only, and no interval
/// knows of it.
fn blocks(base: &[&Run], new: &[&Run], doubts: &mut Vec<String>) {
    // Of one run each, and of runs at the same time, something else is to be said.
    if base.is_empty() || new.is_empty() || base.len() + new.len() < 3 {
        return;
    }
    let begun = |side: &[&Run]| {
        let times = || side.iter().map(|run| run.started.unix_ns());
        (times().min(), times().max())
    };
    let (x, y) = (begun(base), begun(new));
    let order = match (x.1 < y.0, y.1 < x.0) {
        (true, _) => ("base", "new"),
        (_, true) => ("new", "base"),
        _ => return,
    };
    doubts.push(format!(
        "all runs of {} were measured before all runs of {}: what the host did meanwhile looks like a difference. \
         Measure them in turn: base, new, base, new, and so on",
        order.0, order.1
    ));
}

/// Whether the server sets the rate in all phases of a run.
pub fn is_closed(run: &Run) -> bool {
    let phases = run.plan.get("phases").and_then(serde_json::Value::as_array);
    phases.is_some_and(|phases| {
        phases.iter().all(|phase| {
            phase
                .pointer("/arrival/loop")
                .and_then(serde_json::Value::as_str)
                == Some("closed")
        })
    })
}

/// Whether most runs of a side say nothing about the server: their generator was the limit, or they drifted.
pub fn unbelievable(side: &[&Run]) -> bool {
    let bad = side
        .iter()
        .filter(|run| matches!(run.verdict.kind, Kind::GeneratorLimited | Kind::Unsteady))
        .count();
    bad * 2 > side.len()
}
