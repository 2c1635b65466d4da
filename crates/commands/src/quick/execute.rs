//! A phase carried out, its result kept and shown.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::Context;
use judge::{EndedBy, Exit};
use load::engine::{self, Control, Options, Outcome, Progress, RunError, Target};
use load::work::Prepared;
use observe::Process;
use plan::{Phase, Work};
use record::Samples;
use record::run::{Mark, Run};
use report::Named;

use super::known::Known;
use super::live::Watcher;
use super::servers;
use super::set_up::{Measurement, Setup};
use super::usage::UsageWatch;
use super::{Common, missing, nearest, result};
use crate::failure::Failure;
use crate::fleet::{self, AgentUpdate, Fleet, Shared, Wanted};
use crate::pcap;
use crate::written;
use crate::{log, lost};

/// Carries the phase out. A scenario does this again and again, and keeps the runs itself.
pub fn measure(asked: Measurement<'_>) -> anyhow::Result<Run> {
    let Measurement {
        command,
        common,
        targets,
        phase,
        control,
        global,
    } = asked;
    let scheduling = common.load.scheduling();
    scheduling.check(common.fleet.is_asked())?;
    let observe = common.output.observe.asked()?;
    let started = SystemTime::now();
    let fleet = match common.fleet.is_asked() {
        true => Some(Fleet::gather(&common.fleet, control, global)?),
        false => None,
    };
    let looked = servers::look_at(targets, common, phase, control, global)?;
    let watched = observe.with_server(servers::found(&looked.targets));
    // Until the end of this phase, whatever ends it.
    let held = scheduling.hold(watched.server.as_ref())?;
    let server = watched.server.as_ref().map(Process::id);
    let setup = asked.set_up(looked, fleet.is_some())?;
    let quiet = common.output.printed.is_quiet();
    let mut watcher = Watcher::new(command, phase, setup.urls(), quiet, control);
    let samples = samples(common)?;
    let options = asked.options(samples.clone())?;
    let link_test = asked.link_test(&setup.looked, fleet.is_some())?;
    let before = asked.witnesses(&setup.looked);
    let make_step = |long| super::step::make(common, targets, long, control, global);
    let counting = common
        .output
        .energy
        .begin(control, quiet, Some(&make_step))?;
    if let Some(writer) = &setup.writer {
        let begun = writer.begin(&setup.looked, control);
        begun.map_err(|error| setup.stopped(error))?;
    }
    let watch = UsageWatch::start(watched).context("cannot start a thread")?;
    let (done, wrote) = asked.carry_out(&setup, fleet, options, &mut watcher);
    let scheduled = scheduling.notes(server);
    drop(held);
    let seen = watch.finish();
    watcher.end();
    let counted = counting.map(|it| it.finish(control));
    let (outcome, shared) = match done {
        Done::Here(outcome) => (outcome.map_err(|error| setup.stopped(error))?, None),
        Done::Shared(both) => both.map(|(outcome, shared)| (outcome, Some(shared)))?,
    };
    if let Some(part) = &common.part {
        part.say(AgentUpdate::Part(Box::new(engine::Part::from(&outcome))));
    }
    let after = asked.witnesses(&setup.looked);

    let by = missing::ended_by(phase, &outcome, control);
    let Setup {
        looked,
        not_there,
        own_limits,
        writer,
        prepared,
    } = setup;
    let mut run = Known {
        command,
        common,
        phase,
        looked: &looked,
        prepared: &prepared,
        outcome: &outcome,
        seen: seen.as_ref(),
        own_limits,
        by,
        witnessed: (&before, &after),
        not_there,
        shared,
        link_test,
        aborted: watcher.aborted.clone(),
    }
    .run();
    run.started = started.into();
    run.notes.extend(left_out(&prepared));
    run.notes.extend(scheduled);
    if let (Some(counted), Some(phase)) = (counted, run.phases.first_mut()) {
        phase.energy = counted.of(phase);
    }
    run.notes.extend(log::note().map(str::to_owned));
    if pcap::recorder().is_some() {
        run.notes.push(pcap::NOTE.to_owned());
    }
    if let Some((writer, wrote)) = writer.as_ref().zip(wrote) {
        writer.end(wrote, &looked, &mut run);
    }
    if watcher.aborted.is_some() || outcome.stopped && control.is_aborted() {
        run.marks.push(Mark::Aborted);
    } else if matches!(by, Some(EndedBy::Interrupt | EndedBy::Limit { .. })) {
        run.marks.push(Mark::Interrupted);
    }
    if let Some(file) = &common.output.hlog {
        hlog(file, &outcome, &mut run);
    }
    if let Some(samples) = samples {
        finish(samples, common, &mut run);
    }
    restore(phase, &looked, &prepared, &mut run);
    run.notes
        .extend(nearest::note(&run, phase, &looked, control));
    run.ended = SystemTime::now().into();
    Ok(run)
}

/// What was done, and by whom.
enum Done {
    Here(Result<Outcome, RunError>),
    Shared(anyhow::Result<(Outcome, Shared)>),
}

impl Measurement<'_> {
    /// The load, here or by a fleet, and beside it what writes the values that are subscribed to.
    fn carry_out(
        self,
        setup: &Setup,
        fleet: Option<Fleet>,
        options: Options,
        watcher: &mut Watcher,
    ) -> (Done, Option<Result<Outcome, RunError>>) {
        let (phase, common, control) = (self.phase, self.common, self.control);
        let looked = &setup.looked;
        std::thread::scope(|scope| {
            let writing = Control::default();
            let wrote = setup.writer.as_ref().map(|writer| {
                let writing = writing.clone();
                scope.spawn(move || writer.run(looked, &writing))
            });
            let mut tell = |progress: Progress| {
                watcher.tell(&progress);
                if let Some(part) = &common.part {
                    part.say(AgentUpdate::Progress(vec![progress]));
                }
            };
            let done = match fleet {
                Some(fleet) => Done::Shared(
                    wanted(self.command, looked, common)
                        .and_then(|it| fleet.carry_out(phase, looked, it, control, tell)),
                ),
                None => Done::Here(engine::run(
                    phase,
                    looked,
                    &setup.prepared,
                    &options,
                    control,
                    &mut tell,
                )),
            };
            writing.stop();
            let wrote = wrote.map(|thread| thread.join().unwrap_or(Err(RunError::Thread)));
            (done, wrote)
        })
    }
}

/// What agents need beside a phase and its servers.
fn wanted(command: &str, looked: &[Arc<Target>], common: &Common) -> anyhow::Result<Wanted> {
    let mut words = common.reached_by();
    words.extend(common.load.words());
    Ok(Wanted {
        service: command.to_owned(),
        request: common.request(),
        targets: looked.iter().map(|it| result::target(it)).collect(),
        words,
        password: common.access.secret()?.map(|it| it.to_string()),
    })
}

/// What was left out of what was asked; servers of one kind all say the same.
fn left_out(prepared: &[Arc<Prepared>]) -> Vec<String> {
    let mut left_out: Vec<String> = Vec::new();
    for out in prepared.iter().flat_map(|it| it.left_out()) {
        let out = out.to_string();
        if !left_out.contains(&out) {
            left_out.push(out);
        }
    }
    left_out
}

/// Writes the histograms of each interval. A full disk does not take the result along, which says what is missing.
fn hlog(file: &Path, outcome: &Outcome, run: &mut Run) {
    let mut text = Vec::new();
    let made = record::hlog::write(&result::whole(outcome), outcome.began.into(), &mut text);
    let written = made
        .map_err(std::io::Error::other)
        .and_then(|()| written::replace(file, &text));
    if let Err(error) = written {
        let lost = written::cannot("--hlog", file, &error);
        run.notes.push(lost.to_string());
        lost::add(lost);
    }
}

/// The file for single requests, if there is to be one.
fn samples(common: &Common) -> anyhow::Result<Option<Samples>> {
    let Some(file) = &common.output.samples else {
        return Ok(common.until_the_end.clone());
    };
    let samples = written::create(file).and_then(Samples::new);
    Ok(Some(samples.map_err(|error| {
        written::cannot("--samples", file, &error)
    })?))
}

/// No more single requests. What could not be written is said, and does not take the result along.
fn finish(samples: Samples, common: &Common, run: &mut Run) {
    if let Err(error) = samples.finish() {
        run.notes.push(error.to_string());
        let file = common.output.samples.as_ref();
        let named = file.map_or_else(String::new, |it| format!("--samples {}: ", it.display()));
        lost::add(Failure::new(format!("{named}{error}")));
    }
}

/// Puts back what was overwritten, if that was asked for.
fn restore(phase: &Phase, targets: &[Arc<Target>], prepared: &[Arc<Prepared>], run: &mut Run) {
    if !matches!(&phase.work, Work::Write(write) if write.restore) {
        return;
    }
    for (target, prepared) in targets.iter().zip(prepared) {
        let all = prepared.originals().len();
        run.notes.push(match target.restore(prepared) {
            Ok(n) if n == all => format!("{n} original values were written back"),
            Ok(n) => format!("only {n} of {all} original values were taken back by the server"),
            Err(error) => format!("the original values could not be written back: {error}"),
        });
    }
}

/// Keeps the result, prints it, and says how it went. Files come first: nobody who stops reading the screen loses a
/// result.
pub fn keep(run: &Run, common: &Common) -> anyhow::Result<ExitCode> {
    let output = &common.output;
    let saved = written::keep(run, &output.destination()).file;
    fleet::kept();
    let name = saved
        .as_ref()
        .map_or_else(|| run.command.clone(), |it| it.display().to_string());
    output.files.write(&[Named::new(name, run.clone())], &[]);
    let printed = output.printed.what();
    printed.run(run, saved.as_ref(), output.takes_output())?;
    Ok(ExitCode::from(Exit::of(run)))
}
