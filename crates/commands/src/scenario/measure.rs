//! All phases of one point.

use std::path::Path;
use std::time::Duration;

use load::engine::Control;
use plan::Targets;
use plan::scenario::{Group, Point, ScenarioPhase, Turn, Vocabulary};
use record::Run;
use record::run::Mark;
use report::watch::Plan;

use super::bench::Bench;
use super::servers::Reached;
use super::vocabulary::{Commands, SOME_SERVER};
use super::whole::{MissingPhases, add};
use crate::failure::Failure;
use crate::quick;
use crate::results;

impl Bench<'_> {
    /// All phases of a point.
    pub(super) fn measure(
        &mut self,
        place: usize,
        point: &Point,
        turn: Turn,
    ) -> anyhow::Result<Run> {
        let reached = match &point.start {
            Some(start) => Some(self.servers.for_turn(start, turn)?),
            None => None,
        };
        let control = self.control.for_measurement();
        let file = self.folder.join(self.index.file_of(place));
        let alone = point.groups.iter().map(|it| it.steps.len()).sum::<usize>() == 1;
        // What a phase has written beside the result bears its name where there are several.
        let beside = |step: &ScenarioPhase| match alone {
            true => file.with_extension(""),
            false => file.with_extension(results::in_file_names(&step.name)),
        };
        let mut whole: Option<Run> = None;
        let mut lacking = MissingPhases::default();
        let of = point.groups.len();
        for (n, group) in point.groups.iter().enumerate() {
            if control.is_aborted() {
                break;
            }
            // What was measured before stays; what follows would not find what it builds on.
            if control.is_over() || lacking.some() {
                lacking.left(group, control.is_over());
                continue;
            }
            let length = |group: &Group| group.length(point.servers());
            let behind = point.groups.iter().skip(n + 1).filter_map(length);
            let behind = behind.fold(self.behind, Duration::saturating_add);
            quick::stage::plan(Plan {
                point: self.measured.clone().filter(|(_, of, _)| *of > 1),
                phase: (n + 1, of),
                behind: Some(behind),
            });
            let quiet = self.quiet || group.steps.len() > 1 && !quick::stage::is_open();
            let measure = |step: &ScenarioPhase| {
                self.phase(
                    step,
                    point,
                    turn,
                    reached.as_ref(),
                    (quiet, &beside(step)),
                    &control,
                )
            };
            let runs: Vec<anyhow::Result<Run>> = match group.steps.as_slice() {
                [step] => vec![measure(step)],
                steps => std::thread::scope(|scope| {
                    let threads: Vec<_> = steps
                        .iter()
                        .map(|step| scope.spawn(move || measure(step)))
                        .collect();
                    let ended = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
                    let gone = || Err(Failure::new("a thread ended too early").into());
                    ended.map(|it| it.unwrap_or_else(|_| gone())).collect()
                }),
            };
            for (step, run) in group.steps.iter().zip(runs) {
                match (run, &mut whole) {
                    (Ok(run), Some(whole)) => add(whole, run),
                    (Ok(run), None) => whole = Some(run),
                    (Err(error), _) => lacking.failed(step, error),
                }
            }
        }
        let mut run = match (whole, lacking.first) {
            (Some(run), _) => run,
            (None, Some(error)) => return Err(error),
            (None, None) => return Err(Failure::interrupted().into()),
        };
        run.verdict = judge::lower(run.verdict, &lacking.missing);
        if self.control.is_stopped()
            && !lacking.missing.is_empty()
            && !run.marks.contains(&Mark::Interrupted)
        {
            run.marks.push(Mark::Interrupted);
        }
        "run".clone_into(&mut run.command);
        if let Some((peer, tools)) = reached.and_then(|it| it.peer) {
            for target in &mut run.targets {
                target.peer = Some(peer.clone());
                target.tools.clone_from(&tools);
            }
        }
        let values = self
            .scenario
            .axes
            .iter()
            .map(|axis| axis.name.clone())
            .zip(&point.values);
        let values: serde_json::Map<String, serde_json::Value> = values
            .map(|(name, value)| (name, value.as_str().into()))
            .collect();
        if let Some(request) = run.request.as_object_mut() {
            request.insert("scenario".into(), self.scenario.name.as_str().into());
            if let Some(study) = &self.scenario.study {
                request.insert("study".into(), study.as_str().into());
            }
            request.insert("point".into(), (turn.point + 1).into());
            request.insert("repetition".into(), turn.repetition.into());
            request.insert("values".into(), values.into());
        }
        Ok(run)
    }

    fn phase(
        &self,
        step: &ScenarioPhase,
        point: &Point,
        turn: Turn,
        reached: Option<&Reached>,
        (quiet, stem): (bool, &Path),
        control: &Control,
    ) -> anyhow::Result<Run> {
        let targets = reached.map_or(point.targets.as_slice(), |it| it.targets.as_slice());
        let is_client = self.commands.needs_server(&step.service);
        // The phase below has the servers themselves; here they are only to be named.
        let server = is_client.then(|| SOME_SERVER.to_owned());
        let mut words = Vec::from_iter(server);
        if let Some(pid) = reached.map_or(self.server_pid, |it| it.pid) {
            words.push(format!("--server-pid={pid}"));
        }
        words.extend(reached.iter().flat_map(|it| it.observed.clone()));
        words.extend(Commands::beside_result(&step.settings, stem));
        if quiet && is_client {
            words.push("--quiet".to_owned());
        }
        let trusts = step.settings.iter().any(|it| it.option == "trust");
        if is_client && (self.trust || reached.is_some()) && !trusts {
            words.push("--trust".to_owned());
        }
        let asked = self
            .commands
            .asked(&step.service, &step.settings, &words)
            .map_err(|refusal| Failure::usage(refusal.what))?;
        let targets = match is_client {
            true => self.commands.resolved(targets).map_err(Failure::usage)?,
            false => Targets::from_iter([]),
        };
        let asked = asked.with_secret()?;
        let mut phase = step.phase.clone();
        // Each repetition has a random course of its own, or all would share one bias.
        phase.seed = phase.seed.wrapping_add(u64::from(turn.repetition) - 1);
        let control = control.for_phase();
        asked.measure(&targets, &phase, (quiet, &control), self.global)
    }
}
