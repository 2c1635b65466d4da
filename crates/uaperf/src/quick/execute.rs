//! A phase carried out, its result kept and shown.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::Context;
use judge::{EndedBy, Exit, Judgement, Missing, OwnLimit};
use load::engine::{self, Control, Options, Outcome, RunError, SessionError, Target, Took};
use load::work::{Prepared, WorkError};
use observe::Process;
use plan::unit::duration::nanos;
use plan::{Phase, Plan, Targets, Warmup, Work};
use record::Samples;
use record::run::{Kind, Mark, Phase as Measured, Run, WarmUp};
use report::Named;

use super::live::Watcher;
use super::usage::{Seen, Watch};
use super::writer::Writer;
use super::{Common, evidence, footprint, look, missing, result, told};
use crate::access;
use crate::advice;
use crate::calibrate;
use crate::failure::Failure;
use crate::global::Global;
use crate::pcap;
use crate::pinning;
use crate::screen::{Out, tell};
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
    pinning::check(common.load.pin())?;
    let asked = common.output.observe.asked()?;
    let started = SystemTime::now();
    let Looked {
        targets: looked,
        missing: not_there,
    } = look_at(targets, common, phase, control, global)?;
    let watched = asked.with_server(found(&looked));
    let own_limits = own_limits(phase, looked.len());
    let limits = !common.load.ignores_limits();
    let writer =
        Writer::prepare(phase, &looked, limits).map_err(|(error, n)| match looked.get(n) {
            Some(target) => refused(error, target),
            None => Failure::new(error.to_string()).into(),
        })?;
    let planned = phase.clone();
    let prepared = look::each(looked.clone(), control, move |target: Arc<Target>| {
        target.prepare(&planned, limits)
    })?;
    let prepared = prepared
        .into_iter()
        .zip(&looked)
        .enumerate()
        .map(|(n, (prepared, target))| {
            let prepared = prepared.map_err(|e| refused(e, target))?;
            Ok(Arc::new(match &writer {
                Some(writer) => prepared.watching(writer.watches(n)),
                None => prepared,
            }))
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut watcher = Watcher::new(command, phase, &looked, common.output.quiet, control);
    let samples = samples(common)?;
    let options = Options {
        samples: samples.clone(),
        threads: common.load.threads(),
        pin: common.load.pin().to_vec(),
        limits,
        // A server that is still busy with what was given up would have to be awaited for them.
        diagnostics: common.until_the_end.is_none(),
        abandons: common.until_the_end.is_some(),
        ..Options::default()
    };
    let before = told::witnesses(phase, &looked);
    // Whatever stops it from now on, what nodes held is put back.
    let stopped = |error| {
        for note in writer.iter().flat_map(|it| it.restore(&looked)) {
            tell!("warning: {note}");
        }
        not_run(error, &looked)
    };
    if let Some(writer) = &writer {
        writer.begin(&looked, control).map_err(&stopped)?;
    }
    let watch = Watch::start(watched).context("cannot start a thread")?;
    let (outcome, wrote) = std::thread::scope(|scope| {
        let writing = Control::default();
        let wrote = writer.as_ref().map(|writer| {
            let (looked, writing) = (&looked, writing.clone());
            scope.spawn(move || writer.run(looked, &writing))
        });
        let outcome = engine::run(phase, &looked, &prepared, &options, control, |progress| {
            watcher.tell(&progress);
        });
        writing.stop();
        let wrote = wrote.map(|thread| thread.join().unwrap_or(Err(RunError::Thread)));
        (outcome, wrote)
    });
    let seen = watch.finish();
    watcher.end();
    drop(options);
    let outcome = outcome.map_err(&stopped)?;
    let after = told::witnesses(phase, &looked);

    let by = missing::ended_by(phase, &outcome, control);
    let (mut run, mut judgement) = run(
        command,
        common,
        phase,
        &looked,
        &outcome,
        seen.as_ref(),
        (own_limits, by),
    );
    let mut left_out: Vec<String> = Vec::new();
    for out in prepared.iter().flat_map(|it| it.left_out()) {
        let out = out.to_string();
        // Servers of one kind all say the same.
        if !left_out.contains(&out) {
            left_out.push(out);
        }
    }
    run.notes.extend(left_out);
    run.notes.extend(log::note().map(str::to_owned));
    if pcap::recorder().is_some() {
        run.notes.push(pcap::NOTE.to_owned());
    }
    if let Some((writer, wrote)) = writer.as_ref().zip(wrote) {
        writer.end(wrote, &looked, &mut run);
    }
    let witnessed = (&*before, &*after);
    let heard = told::subscriptions(phase, &outcome, &looked, &prepared, witnessed, &mut run);
    let by_hand = result::by_hand(&outcome);
    if by_hand.iter().any(|it| it.did.changes_load()) {
        run.marks.push(Mark::ByHand);
    }
    if !not_there.is_empty() {
        run.marks.push(Mark::Degraded);
    }
    if let Some(measured) = run.phases.last_mut() {
        measured.diagnostics = told::diagnostics(phase, &outcome, heard.as_ref());
        measured.subscriptions = heard;
        measured.by_hand = by_hand;
        let tally = result::whole(&outcome);
        let heard = measured.subscriptions.as_ref();
        judgement.hear(measured);
        judgement.by_hand(&measured.by_hand);
        judgement.lacks(not_there);
        judgement.lacks(missing::of(phase, &looked, &outcome, &tally, by, heard));
        measured.verdict = judgement.verdict();
        if measured.verdict.kind == Kind::ServerSaturated {
            measured.bottleneck = Some(judge::bottleneck(measured, None, &run.targets));
        }
        measured.expectations = judge::expectations(&phase.expect, measured);
        measured.expectations.extend(watcher.aborted.clone());
        run.verdict = measured.verdict.clone();
    }
    run.started = started.into();
    if watcher.aborted.is_some() || outcome.stopped && control.is_aborted() {
        run.marks.push(Mark::Aborted);
    } else if by == Some(EndedBy::Interrupt) {
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
    run.ended = SystemTime::now().into();
    Ok(run)
}

/// The server's process, if all targets are one process of this machine that this user may look into.
fn found(targets: &[Arc<Target>]) -> Option<Process> {
    let mut all = targets
        .iter()
        .map(|target| access::listener(&target.access.url));
    let first = all.next()??;
    let same = all.all(|it| it == Some(first)) && first != std::process::id();
    same.then(|| Process::of(first).ok()).flatten()
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

/// Servers that are there, and what is to be said of those that are not.
struct Looked {
    targets: Vec<Arc<Target>>,
    missing: Vec<Missing>,
}

/// Looks at all targets. One that is not there ends a command that is for it alone; of several, the
/// others are loaded.
fn look_at(
    targets: &Targets,
    common: &Common,
    phase: &Phase,
    control: &Control,
    global: &Global,
) -> anyhow::Result<Looked> {
    let mut looked = Looked {
        targets: Vec::new(),
        missing: Vec::new(),
    };
    let mut first = None;
    let (access, quiet) = (&common.access, common.output.quiet);
    let each = common
        .each
        .clients(access, phase.sessions, quiet, control, global)?;
    let sources = phase
        .connect()
        .map_or(0, |connect| connect.source_addresses);
    let mut all = access.resolve_all(targets.urls(), each, global)?;
    for access in &mut all {
        access.sources = sources;
    }
    for looked_at in look::each(all, control, Target::look)? {
        match looked_at {
            Ok(target) => looked.targets.push(Arc::new(target)),
            Err(failed) => {
                let (access, error) = *failed;
                let failure = unreachable(&error, &access);
                looked.missing.push(Missing::Target {
                    url: access.url.to_string(),
                    why: failure.to_string(),
                });
                first.get_or_insert(failure);
            }
        }
    }
    match first {
        Some(failure) if looked.targets.is_empty() => Err(failure),
        _ => Ok(looked),
    }
}

/// Descriptors beside those of sessions: files, polls, timers, pipes.
const OTHERS: u64 = 64;

/// What this machine does not allow of so many sessions with each of the targets.
fn own_limits(phase: &Phase, targets: usize) -> Vec<OwnLimit> {
    let sessions = phase.sessions;
    let mut limits = Vec::new();
    let mut note = |what: &str, wanted: u64, allowed: u64| {
        if wanted > allowed {
            limits.push(OwnLimit {
                what: what.to_owned(),
                wanted,
                allowed,
            });
        }
    };
    let wanted = u64::from(sessions) * targets as u64 + OTHERS;
    if let Ok(descriptors) = observe::limits::raise_descriptors(wanted) {
        note("file descriptors", wanted, descriptors.soft);
    }
    if let Ok(ports) = observe::limits::ports() {
        let addresses = phase.connect().map_or(1, |it| it.source_addresses.max(1));
        let allowed = u64::from(ports.count()) * u64::from(addresses);
        note("local ports", sessions.into(), allowed);
    }
    limits
}

fn unreachable(error: &SessionError, access: &load::access::Access) -> anyhow::Error {
    match error {
        SessionError::Access(error) => advice::on(error, access).into(),
        error => Failure::new(format!("{}: {error}", access.url)).into(),
    }
}

fn refused(error: SessionError, target: &Target) -> anyhow::Error {
    match error {
        SessionError::Access(error) => advice::on(&error, &target.access).into(),
        SessionError::Work(error) if error.is_usage() => {
            let failure = Failure::usage(error.to_string());
            match error {
                WorkError::Limit { allowed, .. } => failure.at_most(allowed).into(),
                _ => failure.into(),
            }
        }
        error => Failure::new(format!("{}: {error}", target.access.url)).into(),
    }
}

fn not_run(error: RunError, targets: &[Arc<Target>]) -> anyhow::Error {
    match error {
        RunError::NoSession { url, error } => {
            let target = targets.iter().find(|it| it.access.url.to_string() == url);
            match target {
                Some(target) => refused(*error, target),
                None => Failure::new(format!("{url}: {error}")).into(),
            }
        }
        error => Failure::new(error.to_string()).into(),
    }
}

fn run(
    command: &'static str,
    common: &Common,
    phase: &Phase,
    looked: &[Arc<Target>],
    outcome: &Outcome,
    seen: Option<&Seen>,
    (own_limits, by): (Vec<OwnLimit>, Option<EndedBy>),
) -> (Run, Judgement) {
    let tally = result::whole(outcome);
    let began = outcome.origin;
    let settling = evidence::settling(phase, &tally, seen, began);
    let warm_up = WarmUp {
        given_ns: match phase.warmup {
            Warmup::Given { warmup } => Some(nanos(warmup)),
            Warmup::Auto => None,
        },
        found_ns: matches!(phase.warmup, Warmup::Auto).then_some(settling.cut_ns),
        longest: settling.longest.map(str::to_owned),
        cut_ns: settling.cut_ns,
    };
    let cool_down = nanos(phase.cooldown);
    let name = phase.name.clone().unwrap_or_else(|| command.to_owned());
    let mut measured = Measured::new(
        name,
        outcome.began.into(),
        &tally,
        warm_up,
        cool_down,
        &result::status_name,
    );
    let (from, to) = (measured.from_ns, measured.to_ns);
    // To the end, what was drained belongs to it.
    let until = if cool_down == 0 { u64::MAX } else { to };
    let window = tally.window(from, until);
    let spun = |from: u64, to: u64| {
        let each = outcome.cores.iter();
        let idle: u64 = each.map(|core| core.idle.within(from, to)).sum();
        idle as f64 / (to.saturating_sub(from) as f64 * outcome.cores.len() as f64).max(1.0)
    };
    let spun: Option<&dyn Fn(u64, u64) -> f64> = phase.spin.then_some(&spun);
    if let Some(seen) = seen {
        measured.resources = seen.series(began, from, to, spun);
        measured.observing.clone_from(&seen.observing);
    }
    measured.footprint = outcome
        .rounds
        .as_ref()
        .map(|rounds| footprint::of(rounds, seen, began));
    measured.parts = result::parts(outcome, from, until);
    measured.stalls.clone_from(&outcome.stalls);
    // A cycle belongs to the window in which it ended, as a request does.
    let inside = |it: &&Took| it.ended >= from && it.ended < until;
    let cycles = outcome.cycles.iter().filter(inside);
    measured.cycles_ns = cycles.map(|it| it.ns).collect();
    let mut evidence = evidence::evidence(phase, outcome, &tally, &window, settling, seen, began);
    evidence.remarks = remarks(phase, looked, outcome, &tally);
    evidence.remarks.extend(strangers(looked, outcome, &tally));
    evidence.limits = own_limits;
    evidence.interrupted = by.is_some();
    let own = measured.resources.iter_mut();
    for it in own.filter(|it| it.who == "generator") {
        it.busiest_core = evidence.busiest();
    }
    let judgement = Judgement::of(&evidence);
    let users = evidence
        .mean_in_flight
        .filter(|_| phase.sequences().is_some());

    let mut run = Run::new(command, outcome.began.into(), machine());
    let targets = Targets::from_iter(looked.iter().map(|target| target.access.url.clone()));
    run.plan = serde_json::to_value(Plan::of(targets, phase.clone())).unwrap_or_default();
    let mut request = crate::usage::asked();
    request.insert("threads".into(), common.load.threads().into());
    request.insert("pin".into(), common.load.pin().into());
    request.insert("ignore_limits".into(), common.load.ignores_limits().into());
    request.insert("identity_each".into(), common.each.is_asked().into());
    run.request = request.into();
    run.targets = looked.iter().map(|target| result::target(target)).collect();
    let (threads, batch) = (common.load.threads(), phase.work.batch());
    // What was calibrated is a loop over sockets.
    let values = measured.total.values_per_s;
    let values = values.filter(|_| phase.work.steps().is_empty());
    run.notes
        .extend(values.and_then(|values| calibrate::headroom(values, batch, threads)));
    run.phases.push(measured);
    run.notes.extend(
        users.map(|users| format!("{users:.1} users were in a sequence at a time, on average")),
    );
    if common.load.ignores_limits() {
        run.marks.push(Mark::LimitsIgnored);
    }
    if !outcome.failed.is_empty() || outcome.losses.iter().any(|(_, loss)| !loss.back) {
        run.marks.push(Mark::Degraded);
    }
    (run, judgement)
}

fn machine() -> record::run::Fingerprint {
    observe::fingerprint()
}

/// What else should be known of sessions and requests.
fn remarks(
    phase: &Phase,
    looked: &[Arc<Target>],
    outcome: &Outcome,
    tally: &record::Tally,
) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(wanted) = phase.requests {
        let sent = missing::sent(phase, tally);
        if sent < wanted {
            remarks.push(format!("{sent} of {wanted} requests were sent"));
        } else if !outcome.failed.is_empty() {
            let missing = outcome.failed.len();
            remarks.push(format!(
                "the requests of {missing} sessions that were not opened were sent by the others"
            ));
        }
    }
    let back = outcome.losses.iter().filter(|(_, loss)| loss.back);
    let back: Vec<_> = back.collect();
    if let Some((seat, loss)) = back.first() {
        let more = match back.len() {
            1 => String::new(),
            n => format!("; connections were lost {n} times and came back"),
        };
        remarks.push(format!(
            "{} was lost after {:.1} s, and came back: {}{more}",
            missing::named(looked, *seat),
            loss.at_ns as f64 / 1e9,
            loss.reason
        ));
    }
    remarks
}

/// What to do where a server knows some of the clients and not all of them.
fn strangers(looked: &[Arc<Target>], outcome: &Outcome, tally: &record::Tally) -> Option<String> {
    let access = &looked.first()?.access;
    access.each.as_ref()?;
    // With a session for each request, it is the requests that failed.
    let whole = tally.whole();
    let seen = whole.sum.statuses.iter().map(|(status, _)| status.into());
    let opening = outcome.failed.iter().map(|it| it.error.status());
    let distrust = seen.chain(opening).any(advice::is_distrust);
    distrust.then(|| advice::distrusted(access))
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
    let name = saved
        .as_ref()
        .map_or_else(|| run.command.clone(), |it| it.display().to_string());
    output.files.write(&[Named::new(name, run.clone())], &[]);
    let mut out = Out::beside_file(output.takes_output());
    out.write_all(report::summary(run, out.style()).as_bytes())?;
    if let Some(file) = &saved {
        writeln!(out, "\nresult      {}", file.display())?;
    }
    Ok(ExitCode::from(Exit::of(run).code()))
}
