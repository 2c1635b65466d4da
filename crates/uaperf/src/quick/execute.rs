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
use plan::{Phase, Targets, Work};
use record::Samples;
use record::run::{Mark, Run};
use report::Named;

use super::known::Known;
use super::live::Watcher;
use super::servers::{self, Looked};
use super::usage::UsageWatch;
use super::writer::Writer;
use super::{Common, look, missing, nearest, result, subscription_results};
use crate::failure::Failure;
use crate::fleet::{self, Fleet, Shared, Wanted, Word};
use crate::global::Global;
use crate::pcap;
use crate::screen::tell;
use crate::written;
use crate::{log, lost};

/// Carries the phase out. A scenario does this again and again, and keeps the runs itself.
pub fn measure(
    command: &'static str,
    common: &Common,
    targets: &Targets,
    phase: &Phase,
    control: &Control,
    global: &Global,
) -> anyhow::Result<Run> {
    let scheduling = common.load.scheduling();
    scheduling.check(common.fleet.is_asked())?;
    let asked = common.output.observe.asked()?;
    let started = SystemTime::now();
    let fleet = match common.fleet.is_asked() {
        true => Some(Fleet::gather(&common.fleet, control, global)?),
        false => None,
    };
    let Looked {
        targets: looked,
        missing: not_there,
    } = servers::look_at(targets, common, phase, control, global)?;
    let watched = asked.with_server(servers::found(&looked));
    // Until the end of this phase, whatever ends it.
    let held = scheduling.hold(watched.server.as_ref())?;
    let server = watched.server.as_ref().map(Process::id);
    // A fleet's are those of its hosts.
    let own_limits = match &fleet {
        Some(_) => Vec::new(),
        None => servers::own_limits(phase, &looked),
    };
    let limits = !common.load.ignores_limits();
    let writer =
        Writer::prepare(phase, &looked, limits).map_err(|(error, n)| match looked.get(n) {
            Some(target) => servers::refused(error, target),
            None => Failure::new(error.to_string()).into(),
        })?;
    let prepared = prepared(phase, &looked, writer.as_ref(), limits, control)?;
    let urls = looked.iter().map(|target| target.access.url.to_string());
    let mut watcher = Watcher::new(
        command,
        phase,
        urls.collect(),
        common.output.printed.is_quiet(),
        control,
    );
    let samples = samples(common)?;
    let options = Options {
        samples: samples.clone(),
        threads: common.load.threads(),
        pin: scheduling.pins()?,
        at_start: scheduling.at_start(),
        limits,
        // A server that is still busy with what was given up would have to be awaited for them.
        diagnostics: common.until_the_end.is_none(),
        abandons: common.until_the_end.is_some(),
        ..Options::default()
    };
    let options = match &common.part {
        Some(part) => part.options(options),
        None => options,
    };
    // What a server counts is of all parts.
    let witnesses = || match &common.part {
        Some(_) => Vec::new(),
        None => subscription_results::witnesses(phase, &looked),
    };
    let link_test = match common.output.link_test {
        true if fleet.is_some() => {
            return Err(
                Failure::usage("--link-test: the hosts of a fleet test no link")
                    .hint("run `uaperf bench link URL` on each of them")
                    .into(),
            );
        }
        true => {
            let server = servers::found(&looked);
            Some(super::link_test::of(&looked, server.as_ref(), control)?)
        }
        false => None,
    };
    let before = witnesses();
    let quiet = common.output.printed.is_quiet();
    let make_step = |long| super::step::make(common, targets, long, control, global);
    let counting = common
        .output
        .energy
        .begin(control, quiet, Some(&make_step))?;
    // Whatever stops it from now on, what nodes held is put back.
    let stopped = |error| {
        for note in writer.iter().flat_map(|it| it.restore(&looked)) {
            tell!("warning: {note}");
        }
        servers::not_run(error, &looked)
    };
    if let Some(writer) = &writer {
        writer.begin(&looked, control).map_err(&stopped)?;
    }
    let watch = UsageWatch::start(watched).context("cannot start a thread")?;
    let (done, wrote) = std::thread::scope(|scope| {
        let writing = Control::default();
        let wrote = writer.as_ref().map(|writer| {
            let (looked, writing) = (&looked, writing.clone());
            scope.spawn(move || writer.run(looked, &writing))
        });
        let mut tell = |progress: Progress| {
            watcher.tell(&progress);
            if let Some(part) = &common.part {
                part.say(Word::Progress(vec![progress]));
            }
        };
        let outcome = match fleet {
            Some(fleet) => {
                let wanted = wanted(command, &looked, common);
                let shared =
                    wanted.and_then(|it| fleet.carry_out(phase, &looked, it, control, tell));
                Done::Shared(shared)
            }
            None => {
                let outcome = engine::run(phase, &looked, &prepared, &options, control, &mut tell);
                Done::Here(outcome)
            }
        };
        writing.stop();
        let wrote = wrote.map(|thread| thread.join().unwrap_or(Err(RunError::Thread)));
        (outcome, wrote)
    });
    let scheduled = scheduling.notes(server);
    drop(held);
    let seen = watch.finish();
    watcher.end();
    let counted = counting.map(|it| it.finish(control));
    drop(options);
    let (outcome, shared) = match done {
        Done::Here(outcome) => (outcome.map_err(&stopped)?, None),
        Done::Shared(both) => both.map(|(outcome, shared)| (outcome, Some(shared)))?,
    };
    if let Some(part) = &common.part {
        part.say(Word::Part(Box::new(engine::Part::from(&outcome))));
    }
    let after = witnesses();

    let by = missing::ended_by(phase, &outcome, control);
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
    run.started = started.into();
    if watcher.aborted.is_some() || outcome.stopped && control.is_aborted() {
        run.marks.push(Mark::Aborted);
    } else if matches!(by, Some(EndedBy::Interrupt | EndedBy::Limit { .. })) {
        run.marks.push(Mark::Interrupted);
    }
    if let Some(file) = &common.output.hlog {
        hlog(file, &outcome, &mut run);
    }
    if let Some(Err(error)) = samples.map(Samples::finish) {
        run.notes.push(error.to_string());
        let file = common.output.samples.as_ref();
        let named = file.map_or_else(String::new, |it| format!("--samples {}: ", it.display()));
        lost::add(Failure::new(format!("{named}{error}")));
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

/// What each server is asked for, once it was found there.
fn prepared(
    phase: &Phase,
    looked: &[Arc<Target>],
    writer: Option<&Writer>,
    limits: bool,
    control: &Control,
) -> anyhow::Result<Vec<Arc<Prepared>>> {
    let planned = phase.clone();
    let prepared = look::each(looked.to_vec(), control, move |target: Arc<Target>| {
        target.prepare(&planned, limits)
    })?;
    let one = |(n, (prepared, target)): (usize, (Result<Prepared, _>, &Arc<Target>))| {
        let prepared = prepared.map_err(|error| servers::refused(error, target))?;
        Ok(Arc::new(match writer {
            Some(writer) => prepared.watching(writer.watches(n)),
            None => prepared,
        }))
    };
    prepared
        .into_iter()
        .zip(looked)
        .enumerate()
        .map(one)
        .collect()
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
