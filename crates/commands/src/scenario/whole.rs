//! One result of several phases, some of which may be missing.

use judge::Missing;
use plan::scenario::{Group, ScenarioPhase};
use record::Run;
use record::run::{Host, Kind, Phase as Measured};

use crate::time_limit;

/// Phases of a point that were not carried out.
#[derive(Default)]
pub(super) struct MissingPhases {
    pub(super) missing: Vec<Missing>,
    /// What the first of them failed of.
    pub(super) first: Option<anyhow::Error>,
}

impl MissingPhases {
    pub(super) fn some(&self) -> bool {
        !self.missing.is_empty()
    }

    pub(super) fn failed(&mut self, step: &ScenarioPhase, error: anyhow::Error) {
        self.missing.push(Missing::Phase {
            name: step.name.clone(),
            why: format!("{error:#}"),
        });
        self.first.get_or_insert(error);
    }

    /// A group that was not begun.
    pub(super) fn left(&mut self, group: &Group, interrupted: bool) {
        let why = match interrupted {
            true => format!("{} before", time_limit::why()),
            false => "what came before it was not done".to_owned(),
        };
        let phases = group.steps.iter().map(|step| Missing::Phase {
            name: step.name.clone(),
            why: why.clone(),
        });
        self.missing.extend(phases);
    }
}

/// Adds the phases of another run of the same point.
pub(super) fn add(whole: &mut Run, run: Run) {
    if let (Some(phases), Some(more)) = (
        whole.plan["phases"].as_array_mut(),
        run.plan["phases"].as_array(),
    ) {
        phases.extend(more.iter().cloned());
    }
    let before = whole.phases.len();
    whole.hosts.extend(run.hosts.into_iter().map(|host| Host {
        phase: host.phase + before,
        ..host
    }));
    whole.phases.extend(run.phases);
    compare_with_less(whole);
    let phases = whole.phases.iter();
    whole.verdict = judge::worst(phases.map(|phase| (phase.name.as_str(), &phase.verdict)));
    for mark in run.marks {
        if !whole.marks.contains(&mark) {
            whole.marks.push(mark);
        }
    }
    for note in run.notes {
        if !whole.notes.contains(&note) {
            whole.notes.push(note);
        }
    }
    whole.ended = whole.ended.max(run.ended);
}

/// Names what limited the last phase once more, where one before it did the same work with less load.
fn compare_with_less(run: &mut Run) {
    let Some((last, earlier)) = run.phases.split_last_mut() else {
        return;
    };
    if last.bottleneck.is_none() {
        return;
    }
    let work = |n: usize| run.plan["phases"][n].get("work");
    let wanted = work(earlier.len());
    let over =
        |it: &Measured| it.started.unix_ns() + i128::from(it.end_ns) <= last.started.unix_ns();
    let same = earlier.iter().enumerate().rev();
    let mut same = same.filter(|(n, it)| {
        over(it) && it.verdict.kind == Kind::Valid && wanted.is_some() && work(*n) == wanted
    });
    if let Some((_, before)) = same.next() {
        last.bottleneck = Some(judge::bottleneck(last, Some(before), &run.targets));
    }
}
