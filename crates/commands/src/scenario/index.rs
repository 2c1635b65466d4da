//! The index of a scenario: what is planned, what came of it, and how the whole ends.

use std::path::{Path, PathBuf};

use judge::Exit;
use plan::scenario::{Point, Scenario};
use record::run::Kind;
use record::sweep::{self, Measurement, MeasurementState, Source, Sweep};
use record::{Run, Timestamp};
use report::Unmeasured;

/// All that is to be measured.
pub(super) fn index(scenario: &Scenario, source: Source, now: Timestamp) -> Sweep {
    let measurements = scenario.turns().into_iter().map(|turn| Measurement {
        point: turn.point,
        repetition: turn.repetition,
        values: scenario
            .points
            .get(turn.point)
            .map_or(Vec::new(), |it| it.values.clone()),
        state: MeasurementState::Planned,
        why: None,
        file: None,
        verdict: None,
        phases: Vec::new(),
        expected: None,
        slo: None,
        stopped: None,
        aborted: None,
    });
    let axes = scenario.axes.iter().map(|axis| sweep::Axis {
        name: axis.name.clone(),
        values: axis.values.clone(),
    });
    Sweep {
        format: sweep::FORMAT.to_owned(),
        version: sweep::VERSION,
        name: scenario.name.clone(),
        started: now,
        ended: now,
        // It may be gone on with from another folder.
        scenario: Source {
            file: from_anywhere(&source.file),
            ..source
        },
        axes: axes.collect(),
        repeat: scenario.repeat,
        order: scenario.order.name().to_owned(),
        seed: scenario.seed,
        measurements: measurements.collect(),
    }
}

/// A file by a name that is the same wherever it is asked for.
pub(super) fn from_anywhere(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned())
}

/// Measurements of which there is no result, and why.
pub(super) fn failures(index: &Sweep) -> Vec<Unmeasured> {
    let failed = index.measurements.iter();
    let failed = failed.filter(|it| it.state == MeasurementState::Failed && it.file.is_none());
    let unmeasured = |it: &Measurement| Unmeasured {
        name: report::named(index, it),
        why: it.why.clone().unwrap_or_default(),
    };
    failed.map(unmeasured).collect()
}

/// What kept its objective, and what ends the sweep.
pub(super) fn judged(point: &Point, run: &Run) -> (Option<bool>, Option<String>) {
    let (mut slo, mut stopped) = (None, None);
    let steps = point.groups.iter().flat_map(|group| &group.steps);
    for step in steps {
        let Some(phase) = run.phases.iter().find(|phase| phase.name == step.name) else {
            continue;
        };
        let figures = judge::Measured(phase);
        if !step.slo.is_empty() {
            let kept = step.slo.iter().all(|it| it.check(&figures).is_met());
            slo = Some(slo.unwrap_or(true) && kept);
        }
        let end = step.stop_when.iter().find(|it| it.check(&figures).is_met());
        stopped = stopped.or_else(|| end.map(ToString::to_string));
    }
    (slo, stopped)
}

/// How a scenario ends: interrupted, not measured as a whole, then verdicts, then conditions.
pub(super) fn exit(index: &Sweep, interrupted: bool) -> Exit {
    let all = || index.measurements.iter();
    let done = || all().filter(|it| it.state == MeasurementState::Done);
    let lacking = |it: &Measurement| {
        it.state == MeasurementState::Failed
            || matches!(it.verdict, Some(Kind::Failed | Kind::Incomplete))
    };
    let doubtful =
        |it: &Measurement| matches!(it.verdict, Some(Kind::GeneratorLimited | Kind::Unsteady));
    if interrupted && all().any(Measurement::is_left) {
        Exit::Interrupted
    } else if done().count() == 0 || all().any(lacking) {
        Exit::Nothing
    } else if done().any(doubtful) {
        Exit::Verdict
    } else if done().any(|it| it.expected == Some(false)) {
        Exit::Threshold
    } else {
        Exit::Good
    }
}
