//! The top of the page: whether to believe it, what was measured, on what.

use judge::Measured;
use maud::{Markup, html};
use plan::{Figures, Measure, Stat};
use record::run::{Bottleneck, Figure, Phase, Run, Trust, Verdict};

use super::{explained, finding};
use crate::bottleneck::limited_by;
use crate::page::{counted, grouped};
use crate::summary::{SIMULATED, left_out, marked, plan_of, product, tags};
use crate::table::{self, percentile};
use crate::unit::{Kind, when};
use crate::workload::sentence;

/// Verdict, what was found in a sentence each, evidence, what limited it, what to change, notes. Whether it was simulated
/// stands before it.
pub(super) fn verdict(
    found: &[String],
    verdict: &Verdict,
    limit: Option<&Bottleneck>,
    notes: &[String],
    simulated: bool,
) -> Markup {
    html! {
        div.verdict.(explained::ink(verdict.kind)) {
            p.word {
                a href={ "#" (explained::anchor(verdict.kind)) } {
                    @if simulated { (SIMULATED) " " }
                    (verdict.kind)
                }
            }
            @for sentence in found { p.found { (sentence) } }
            ul {
                @for evidence in &verdict.evidence { li { (evidence) } }
                @if let Some(limit) = limit { li { b { "Limited by " } (limited_by(limit)) } }
                @for advice in &verdict.advice { li.try { b { "Try " } (advice) } }
                @for note in verdict.notes.iter().chain(notes) { li.note { b { "Note " } (note) } }
            }
        }
    }
}

/// Those of a run with its notes; what limited it, where it has one phase that says so.
pub(super) fn of_run(run: &Run) -> Markup {
    let limit = match run.phases.as_slice() {
        [only] => only.bottleneck.as_ref(),
        _ => None,
    };
    let found: Vec<String> = match run.phases.as_slice() {
        [only] => finding::of_phase(only).into_iter().collect(),
        _ => Vec::new(),
    };
    verdict(&found, &run.verdict, limit, &notes(run), run.is_simulated())
}

/// What was asked of whom, in a line.
pub(super) fn subject(run: &Run) -> Markup {
    let plan = plan_of(run);
    let only = plan.as_ref().and_then(|plan| match plan.phases.as_slice() {
        [only] => Some(sentence(only, run.targets.len())),
        _ => None,
    });
    html! {
        p.subject {
            @if let Some(only) = &only { (only) }
            @if let Some(target) = run.targets.first() {
                @if only.is_some() { " · " }
                span.mono { (target.url) }
                @if run.targets.len() > 1 { " and " (run.targets.len() - 1) " more" }
                @if !target.security.is_empty() { " · " (target.security) }
            }
        }
    }
}

/// A row for each phase of a run with several, to go on from.
pub(super) fn overview(phases: &[Phase], id: &str) -> Markup {
    if phases.is_empty() {
        return html! {};
    }
    html! {
        div.table {
            p.caption aria-hidden="true" { "Phases" }
            div.scroll { table aria-label="Phases" {
                thead { tr {
                    th scope="col" { "phase" } th scope="col" { "verdict" } th scope="col" { "found" }
                } }
                tbody {
                    @for (i, phase) in phases.iter().enumerate() { tr {
                        th scope="row" { a href={ "#" (id) (i) } { (phase.name) } }
                        td class=(explained::ink(phase.verdict.kind)) { (phase.verdict.kind) }
                        td { (finding::of_phase(phase).unwrap_or_default()) }
                    } }
                }
            } }
        }
    }
}

/// The notes of a run, its marks among them.
pub(super) fn notes(run: &Run) -> Vec<String> {
    let marks = run.marks.iter().map(|mark| marked(*mark).to_owned());
    let debug = run.machine.build.debug_assertions.then(|| {
        "measured with a debug build of uaperf: times are those of unoptimised code".to_owned()
    });
    marks
        .chain(run.notes.iter().cloned())
        .chain(debug)
        .collect()
}

/// More targets than these are only counted.
const TARGETS: usize = 4;

/// What was asked, of whom, on what.
pub(super) fn set_up(run: &Run) -> Markup {
    let plan = plan_of(run);
    let phases = plan.as_ref().map_or(&[][..], |plan| plan.phases.as_slice());
    html! {
        dl.setup {
            @for target in run.targets.iter().take(TARGETS) {
                dt { "Target" }
                dd {
                    span.mono { (target.url) }
                    @if let Some(product) = product(target) { br; (product) }
                    br; (target.security) @if !target.user.is_empty() { ", " (target.user) }
                    @if let Some(link) = &target.link { br; "over an emulated link: " (link) }
                    @if let Some(proxy) = &target.proxy { br; "through the proxy " (proxy) }
                    @if let Some(dscp) = &target.dscp { br; "packets marked with DSCP " (dscp) }
                }
            }
            @if run.targets.len() > TARGETS {
                dt {} dd { "and " (run.targets.len() - TARGETS) " more" }
            }
            @for (i, phase) in phases.iter().enumerate() {
                dt { @if i == 0 { "Asked" } }
                dd {
                    @if phases.len() > 1 {
                        b { (run.phases.get(i).map_or("", |it| it.name.as_str())) } " "
                    }
                    (sentence(phase, run.targets.len()))
                }
            }
            dt { @if run.is_simulated() { "Simulated" } @else { "Measured" } }
            dd {
                time datetime=(run.started.to_string()) { (when(run.started)) }
                @for phase in &run.phases {
                    br;
                    @if run.phases.len() > 1 { b { (phase.name) } " " }
                    (window(phase))
                    @for part in &phase.left_out { br; "Left out: " (left_out(part)) }
                }
            }
            @if !run.tags.is_empty() {
                dt { "Tags" }
                dd { (tags(run)) }
            }
            dt { "Machine" }
            dd { (machine(run)) }
        }
    }
}

fn window(phase: &Phase) -> String {
    let length = phase.to_ns.saturating_sub(phase.from_ns) as f64;
    let cut = phase.warm_up.cut_ns as f64;
    let mut text = Kind::Nanos.show(length);
    if cut > 0.0 {
        let how = if phase.warm_up.given_ns.is_some() {
            "given"
        } else {
            "found"
        };
        text.push_str(&format!(
            " after a warm-up of {} ({how})",
            Kind::Nanos.show(cut)
        ));
    }
    text
}

fn machine(run: &Run) -> String {
    let machine = &run.machine;
    if run.is_simulated() {
        return format!("none: in virtual time, by uaperf {}", machine.build.version);
    }
    let known = |figure: &Figure<String>| figure.known().cloned().filter(|text| !text.is_empty());
    let cores = machine.cores.known().map(|&n| counted(n, "core", "cores"));
    let ram = machine
        .ram_bytes
        .known()
        .map(|&n| format!("{} RAM", Kind::Bytes.show(n as f64)));
    let virtual_by = known(&machine.virtualisation).filter(|it| it != "no");
    let parts = [
        known(&machine.host),
        known(&machine.cpu),
        cores,
        ram,
        known(&machine.kernel),
        virtual_by.map(|by| format!("virtual ({by})")),
        known(&machine.governor).map(|it| format!("governor {it}")),
        known(&machine.clock_source).map(|it| format!("clock {it}")),
        known(&machine.cryptography).map(|it| format!("cryptography by {it}")),
        known(&machine.libc),
        Some(format!("uaperf {}", machine.build)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The figures that one looks for first.
pub(super) fn figures(phase: &Phase) -> Markup {
    let sum = &phase.total;
    let response = sum.histogram("response");
    let size = table::independent(phase, "response", response);
    let at = |q: f64| percentile(response, q, size).to_string();
    let cpu = Measured(phase).figure(Measure::Cpu, Stat::Mean);
    let each = judge::compare::Metric::CpuPerRequest.of(phase);
    let mut all: Vec<Large<&str>> = Vec::new();
    if let Some(told) = &phase.pubsub {
        all.extend(super::pubsub::figures(phase, told));
    }
    if let Some(told) = &phase.subscriptions {
        let whole = told.values.get("received").copied().unwrap_or(0);
        let values = phase.values_in_window().unwrap_or(whole);
        let more = whole.saturating_sub(values);
        let outside = (more > 0).then(|| format!("{} more outside", grouped(more)));
        let came = match told.events {
            Some(_) => "events came",
            None => "values came",
        };
        all.push((grouped(values), came, outside));
        let share = told
            .loss_share()
            .filter(|it| *it > 0.0)
            .map(|it| Kind::Share.show(it));
        all.push((grouped(told.lost), "lost", share));
    }
    let delay = sum.histogram("delay");
    if !delay.is_empty() {
        let mut at = |q: f64, what| {
            let found = percentile(delay, q, delay.count() as f64);
            let trust = found.value().map(|ns| phase.trust("delay", ns));
            let (text, bound) = match trust {
                Some(Trust::Nothing(_)) => (table::NOT_KNOWN.to_owned(), None),
                Some(Trust::Within(error)) => {
                    let bound = format!("± {}", Kind::Nanos.show(error as f64));
                    (found.to_string(), Some(bound))
                }
                Some(Trust::Whole) | None => (found.to_string(), None),
            };
            all.push((text, what, bound));
        };
        at(0.5, "median delay");
        at(0.99, "p99 delay");
    }
    let asks = phase.pubsub.is_none();
    if let Some(rate) = sum.rate_per_s.filter(|_| asks && sum.planned > 0) {
        let values = sum.values_per_s.filter(|it| *it > 0.0 && *it != rate);
        let values = values.map(|it| format!("{} values", Kind::PerSecond.show(it)));
        all.push((Kind::PerSecond.show(rate), "requests", values));
    }
    if !response.is_empty() {
        all.push((at(0.5), "median response", None));
        all.push((at(0.99), "p99 response", None));
    }
    let errors = (sum.errors > 0 && sum.completed > 0)
        .then(|| Kind::Share.show(sum.errors as f64 / sum.completed as f64));
    if asks && sum.planned > 0 || sum.errors > 0 {
        all.push((grouped(sum.errors), "errors", errors));
    }
    if let Some(cpu) = cpu {
        let each = each.map(|it| format!("{} a request", Kind::Nanos.show(it)));
        let who = match asks {
            true => "of a core, server",
            false => "of a core, publisher",
        };
        all.push((Kind::Share.show(cpu), who, each));
    }
    large(&all)
}

/// A figure, of what it is, and what else there is to say of it.
pub(super) type Large<S> = (String, S, Option<String>);

/// Figures at the top of a page.
pub(super) fn large<S: AsRef<str>>(all: &[Large<S>]) -> Markup {
    html! {
        @if !all.is_empty() {
            ul.figures {
                @for (figure, of, more) in all {
                    li { strong { (figure) } " " span { (of.as_ref()) } @if let Some(more) = more { small { (more) } } }
                }
            }
        }
    }
}
