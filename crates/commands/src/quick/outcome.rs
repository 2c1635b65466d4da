//! From what a phase did to the run that is kept, and to what it is judged by.

use std::sync::Arc;

use judge::{EndedBy, Judgement, OwnLimit};
use load::engine::{Outcome, Target, Took};
use plan::unit::duration::nanos;
use plan::{Phase, Plan, Targets, Warmup};
use record::run::{Mark, Phase as Measured, Run, WarmUp};
use serde_json::{Map, Value};

use super::usage::ObservedUsage;
use super::{Common, evidence, footprint, missing, result};
use crate::advice;
use crate::calibrated;
use crate::tags;

/// The run of one phase, and its judgement so far: what subscriptions heard and what is missing are told to it later.
pub fn run(
    command: &'static str,
    common: &Common,
    phase: &Phase,
    looked: &[Arc<Target>],
    outcome: &Outcome,
    seen: Option<&ObservedUsage>,
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
        // What others do is not for our requests.
        let ours = measured.resources.iter_mut();
        let ours = ours.filter(|it| matches!(it.who.as_str(), "generator" | "server"));
        for counters in ours.filter_map(|it| it.counters.as_mut()) {
            counters.for_operations(measured.total.completed);
        }
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
    evidence
        .remarks
        .extend(unknown_clients(looked, outcome, &tally));
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

    let mut run = Run::new(command, outcome.began.into(), observe::fingerprint());
    let targets = Targets::from_iter(looked.iter().map(|target| target.access.url.clone()));
    // Numbers and names have a form in JSON.
    run.plan = Plan::of(targets, phase.clone())
        .to_value()
        .unwrap_or_default();
    run.request = request(common).into();
    run.targets = looked.iter().map(|target| result::target(target)).collect();
    let (threads, batch) = (common.load.threads(), phase.work.batch());
    // What was calibrated is a loop over sockets.
    let values = measured.total.values_per_s;
    let values = values.filter(|_| phase.work.steps().is_empty());
    run.notes
        .extend(values.and_then(|values| calibrated::headroom(values, batch, threads)));
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
    tags::put(&mut run);
    (run, judgement)
}

/// What was asked for beside the plan.
pub fn request(common: &Common) -> Map<String, Value> {
    let mut request = crate::usage::asked();
    request.insert("threads".into(), common.load.threads().into());
    common.load.scheduling().request(&mut request);
    request.insert("ignore_limits".into(), common.load.ignores_limits().into());
    request.insert("identity_each".into(), common.each.is_asked().into());
    if common.fleet.is_asked() {
        let agents = common.fleet.specs().iter().map(ToString::to_string);
        request.insert("fleet".into(), agents.collect::<Vec<_>>().into());
    }
    request
}

/// What else should be known of sessions and requests.
fn remarks(
    phase: &Phase,
    looked: &[Arc<Target>],
    outcome: &Outcome,
    tally: &record::Tally,
) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(wanted) = outcome.requests {
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
fn unknown_clients(
    looked: &[Arc<Target>],
    outcome: &Outcome,
    tally: &record::Tally,
) -> Option<String> {
    let access = &looked.first()?.access;
    access.each.as_ref()?;
    // With a session for each request, it is the requests that failed.
    let whole = tally.whole();
    let seen = whole.sum.statuses.iter().map(|(status, _)| status.into());
    let opening = outcome.failed.iter().map(|it| it.error.status());
    let distrust = seen.chain(opening).any(advice::is_distrust);
    distrust.then(|| advice::distrusted(access))
}
