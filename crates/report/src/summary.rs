//! One run on a screen: whether to believe it, what was asked, what came out.

use plan::unit::duration::{self, show_ns};
use plan::unit::{BitRate, Bytes, Rate};
use plan::{Plan, Threshold};
use record::run::{
    Bottleneck, Budget, Expectation, Figure, Footprint, Host, Kind, LeftOut, Mark, Messages, Phase,
    Rise, Run, Status, Target, Verdict, WarmUp,
};

use crate::bottleneck::limited_by;
use crate::hosts::{clock, of_phase};
use crate::page::{Page, WIDTH, clean, counted, cut, cut_inside, grouped};
use crate::style::{Style, TextStyle};
use crate::workload::sentence;
use crate::{diagnostics, internals, pubsub, resources, subscriptions, table};

/// What stands above the verdict of a run that nobody measured.
pub(crate) const SIMULATED: &str = "SIMULATED";

/// The plan of a run; none of an older program that planned otherwise.
pub(crate) fn plan_of(run: &Run) -> Option<Plan> {
    Plan::from_value(&run.plan).ok()
}

/// A run on a screen of text, the verdict first.
pub fn summary(run: &Run, style: Style) -> String {
    let mut page = Page::new(style);
    if run.is_simulated() {
        page.line(&style.ink(TextStyle::Warning, SIMULATED));
    }
    let only = match run.phases.as_slice() {
        [only] => only.bottleneck.as_ref(),
        _ => None,
    };
    verdict(&mut page, &run.verdict, only, style);
    if let [only] = run.phases.as_slice()
        && let Some(told) = &only.subscriptions
    {
        subscriptions::accounting(&mut page, told);
    }
    for mark in &run.marks {
        page.inked_row("note", TextStyle::Warning, marked(*mark));
    }
    let notes = run.verdict.notes.iter().chain(&run.notes);
    for note in notes {
        page.inked_row("note", TextStyle::Warning, note);
    }
    page.gap();
    if !run.tags.is_empty() {
        page.row("tags", &tags(run));
    }
    targets(&mut page, &run.targets);
    if run.phases.len() == 1 {
        agents(&mut page, of_phase(run, 0));
    }
    let plan = plan_of(run);
    for (i, phase) in run.phases.iter().enumerate() {
        if run.phases.len() > 1 {
            page.gap();
            page.line(&style.ink(TextStyle::Bold, cut(&clean(&phase.name), WIDTH)));
            verdict(&mut page, &phase.verdict, phase.bottleneck.as_ref(), style);
            if let Some(told) = &phase.subscriptions {
                subscriptions::accounting(&mut page, told);
            }
            agents(&mut page, of_phase(run, i));
        }
        let planned = plan.as_ref().and_then(|plan| plan.phases.get(i));
        match planned {
            Some(planned) => {
                page.row("asked", &sentence(planned, run.targets.len()));
                if let Some(took) = took(planned, phase, run.targets.len()) {
                    page.row("took", &took);
                }
            }
            None => page.row("asked", &run.command),
        }
        measured(&mut page, run, phase);
    }
    page.finish()
}

/// How long so many requests took, beside what they take at the planned rate: longer, where the server does not keep up.
fn took(planned: &plan::Phase, phase: &Phase, targets: usize) -> Option<String> {
    let nominal = planned.nominal(targets)?;
    let requests = planned.requests.filter(|_| planned.cooldown.is_zero())?;
    let took = phase.end_ns - phase.warm_up.given_ns.unwrap_or(0).min(phase.end_ns);
    Some(format!(
        "{} for {}, {} at the planned rate",
        show_ns(took),
        counted(requests, "request", "requests"),
        duration::show(nominal)
    ))
}

/// The verdict in a line, and what it is based on; of each phase where there are several.
pub fn verdict_line(run: &Run) -> String {
    let line = |name: &str, verdict: &Verdict| {
        let evidence = match verdict.evidence.as_slice() {
            [] => String::new(),
            some => format!("  {}", clean(&some.join("; "))),
        };
        match name {
            "" => format!("{}{evidence}", verdict.kind),
            name => format!("{}  {}{evidence}", clean(name), verdict.kind),
        }
    };
    let several = run.phases.len() > 1;
    let phases = run.phases.iter().filter(|_| several);
    let lines =
        std::iter::once(line("", &run.verdict)).chain(phases.map(|it| line(&it.name, &it.verdict)));
    lines.collect::<Vec<_>>().join("\n")
}

/// What a person said of a run.
pub(crate) fn tags(run: &Run) -> String {
    let all = run
        .tags
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    all.collect::<Vec<_>>().join(", ")
}

/// The verdict's own line, its evidence, what limited it, and its cure.
fn verdict(page: &mut Page, verdict: &Verdict, limit: Option<&Bottleneck>, style: Style) {
    page.line(&style.ink(ink(verdict.kind), verdict.kind));
    for evidence in &verdict.evidence {
        page.sentence(2, evidence);
    }
    if let Some(limit) = limit {
        page.sentence(2, &format!("limited by: {}", limited_by(limit)));
    }
    for advice in &verdict.advice {
        page.sentence(2, &format!("try: {advice}"));
    }
}

pub(crate) const fn ink(kind: Kind) -> TextStyle {
    match kind {
        Kind::Valid => TextStyle::Good,
        Kind::ServerSaturated | Kind::Unsteady => TextStyle::Warning,
        Kind::GeneratorLimited | Kind::Incomplete | Kind::Failed => TextStyle::Bad,
    }
}

pub(crate) const fn marked(mark: Mark) -> &'static str {
    match mark {
        Mark::Interrupted => "interrupted: what was measured until then",
        Mark::Aborted => "ended early: a condition of abort-on came true",
        Mark::Degraded => "degraded: a part of the load was lost on the way",
        Mark::LimitsIgnored => "the server's declared limits were ignored",
        Mark::ByHand => "the offered load was changed by hand while it ran",
        Mark::Simulated => "nothing of this was measured: a simulation computed it",
    }
}

/// More targets than these are only counted.
const TARGETS_SHOWN: usize = 4;

fn targets(page: &mut Page, targets: &[Target]) {
    for (i, target) in targets.iter().take(TARGETS_SHOWN).enumerate() {
        let label = if i == 0 { "target" } else { "" };
        let mut parts = vec![target.url.clone()];
        if let Some(product) = product(target) {
            parts.push(product);
        }
        let words = [&target.security, &target.user];
        parts.extend(words.into_iter().filter(|word| !word.is_empty()).cloned());
        page.row(label, &parts.join(", "));
        if let Some(endpoint) = &target.endpoint_url {
            page.row("", &format!("which calls itself {endpoint}"));
        }
        if let Some(link) = &target.link {
            page.row("", &format!("over an emulated link: {link}"));
        }
        if let Some(proxy) = &target.proxy {
            page.row("", &format!("through the proxy {proxy}"));
        }
        if let Some(dscp) = &target.dscp {
            page.row("", &format!("packets marked with DSCP {dscp}"));
        }
    }
    if targets.len() > TARGETS_SHOWN {
        page.row("", &format!("and {} more", targets.len() - TARGETS_SHOWN));
    }
}

/// More hosts than these are only counted.
const HOSTS_SHOWN: usize = 8;

/// Each agent of a fleet: its share, what it made of it, and how its clock stands.
fn agents<'a>(page: &mut Page, hosts: impl Iterator<Item = &'a Host>) {
    let hosts: Vec<&Host> = hosts.collect();
    for (i, host) in hosts.iter().take(HOSTS_SHOWN).enumerate() {
        let label = if i == 0 { "agents" } else { "" };
        let sessions = match (&host.role, host.sessions) {
            (Some(role), 0 | 1) => clean(role),
            (Some(role), n) => format!("{}, {n} of it", clean(role)),
            (None, 1) => "1 session".to_owned(),
            (None, n) => format!("{n} sessions"),
        };
        let mut parts = vec![clean(&host.name), sessions];
        match (&host.lost, &host.verdict) {
            (Some(lost), _) => parts.push(clean(lost)),
            (None, verdict) => {
                let rate = host.total.as_ref().and_then(|it| it.rate_per_s);
                parts.extend(rate.map(|rate| format!("{}/s", grouped(rate.round() as u64))));
                parts.extend(verdict.as_ref().map(|it| it.kind.to_string()));
                parts.extend(clock(&host.clock).map(|it| format!("clock {it}")));
            }
        }
        page.row(label, &parts.join(", "));
    }
    if hosts.len() > HOSTS_SHOWN {
        page.row("", &format!("and {} more", hosts.len() - HOSTS_SHOWN));
    }
}

/// What a server says it is.
pub(crate) fn product(target: &Target) -> Option<String> {
    let product = &target.product;
    let mut text = product.name.known()?.clone();
    if let Some(version) = product.version.known() {
        text = format!("{text} {version}");
    }
    if let Some(manufacturer) = product.manufacturer.known()
        && !text.contains(manufacturer.as_str())
    {
        text = format!("{text} by {manufacturer}");
    }
    Some(text)
}

fn measured(page: &mut Page, run: &Run, phase: &Phase) {
    page.row("measured", &window(phase));
    for (n, part) in phase.left_out.iter().enumerate() {
        let label = if n == 0 { "left out" } else { "" };
        page.row(label, &left_out(part));
    }
    page.gap();
    table::times(page, phase);
    if let Some(sentence) = table::omission(&phase.total) {
        page.gap();
        page.sentence(0, &sentence);
    }
    page.gap();
    if let Some(told) = &phase.subscriptions {
        subscriptions::details(page, phase, told);
    }
    if let Some(told) = &phase.pubsub {
        pubsub::details(page, phase, told);
        if phase.total.errors > 0 {
            page.row("status", &statuses(&phase.total.statuses));
        }
    }
    // Beside subscriptions there need not be requests of another kind.
    let asks = phase.pubsub.is_none();
    if asks && (phase.subscriptions.is_none() || phase.total.completed > 0) {
        page.row("rate", &rate(phase));
        page.row("requests", &requests(phase));
        page.row("status", &statuses(&phase.total.statuses));
    }
    if !phase.total.value_statuses.is_empty() {
        page.row("values", &statuses(&phase.total.value_statuses));
    }
    if asks && (phase.subscriptions.is_none() || phase.total.responses.count > 0) {
        page.row("messages", &messages(phase));
    }
    if let Some(told) = &phase.diagnostics {
        diagnostics::row(page, told);
    }
    resources::rows(page, phase);
    if let Some(told) = &phase.diagnostics {
        internals::rows(page, told);
    }
    if let Some(test) = &phase.link_test {
        crate::link_test::rows(page, test);
    }
    if let Some(footprint) = &phase.footprint {
        left_behind(page, footprint);
    }
    parts(page, run, phase);
    if !phase.expectations.is_empty() {
        page.gap();
    }
    for expectation in &phase.expectations {
        let (word, ink) = match expectation.met {
            true => ("met", TextStyle::Good),
            false => ("not met", TextStyle::Bad),
        };
        page.inked_row(word, ink, &outcome(expectation));
        let of_it = |it: &&Budget| it.expected == expectation.expected;
        if let Some(budget) = phase.series.budgets.iter().find(of_it) {
            page.row("", &spent(budget));
        }
    }
}

/// Which part of the phase the figures speak of.
fn window(phase: &Phase) -> String {
    let length = show_ns(phase.to_ns.saturating_sub(phase.from_ns));
    let WarmUp {
        given_ns,
        found_ns,
        longest,
        cut_ns,
    } = &phase.warm_up;
    let mut text = format!("{length}, from {}", seconds(phase));
    match (given_ns, found_ns) {
        (Some(_), _) if *cut_ns > 0 => {
            text.push_str(&format!("; warm-up of {} given", show_ns(*cut_ns)))
        }
        (None, Some(_)) if *cut_ns > 0 => {
            text.push_str(&format!("; warm-up of {} found", show_ns(*cut_ns)));
            if let Some(longest) = longest {
                text.push_str(&format!(" ({longest} took longest to settle)"));
            }
        }
        (None, Some(_)) => text.push_str("; no warm-up found"),
        _ => {}
    }
    let after = phase.end_ns.saturating_sub(phase.to_ns);
    if after > 0 && phase.to_ns > phase.from_ns {
        text.push_str(&format!("; cool-down of {} left out", show_ns(after)));
    }
    text
}

/// What lies outside of the measured window, so that nothing in it is hidden.
pub(crate) fn left_out(left: &LeftOut) -> String {
    let length = left.to_ns.saturating_sub(left.from_ns);
    let mut text = format!("{} of {}", left.part.name(), show_ns(length));
    if length != left.asked_ns {
        let asked = show_ns(left.asked_ns);
        text.push_str(&format!(" ({asked} asked for, cut at the edge of a bin)"));
    }
    let counts = &left.counts;
    text.push(':');
    // Where nothing but subscriptions was to bring something, there is nothing to be completed.
    if counts.planned + counts.completed > 0 || left.max_ns.is_empty() {
        text.push_str(&format!(" {} completed", grouped(counts.completed)));
        text.push_str(&match counts.errors {
            0 => ", none with errors,".to_owned(),
            n => format!(", {} with errors,", grouped(n)),
        });
    }
    for (count, what) in [
        (counts.timeouts, "timed out"),
        (counts.skipped, "skipped to catch up"),
        (counts.unsent, "due and never sent"),
        (counts.unfinished, "without an answer"),
    ] {
        if count > 0 {
            text.push_str(&format!(" {} {what},", grouped(count)));
        }
    }
    for (name, what) in [("response", "largest response"), ("delay", "largest delay")] {
        if let Some(&max) = left.max_ns.get(name) {
            text.push_str(&format!(" {what} {},", show_ns(max)));
        }
    }
    text.truncate(text.trim_end_matches([',', ':']).len());
    text
}

/// The phase's beginning without fractions.
fn seconds(phase: &Phase) -> String {
    let text = phase.started.to_string();
    let whole = text.split('.').next().unwrap_or_default().replace('T', " ");
    format!("{whole} UTC")
}

fn rate(phase: &Phase) -> String {
    let sum = &phase.total;
    let Some(rate) = sum.rate_per_s else {
        return "n/a: nothing was measured".to_owned();
    };
    let mut text = format!("{} requests", Rate::show(rate));
    let seconds = phase.to_ns.saturating_sub(phase.from_ns) as f64 / 1e9;
    let planned = sum.planned as f64 / seconds;
    // What was planned and did not come in time is worth a word.
    if seconds > 0.0 && rate < 0.995 * planned {
        text.push_str(&format!(" of {} planned", Rate::show(planned)));
    }
    // A failure is fast, or takes a place: neither is in the rate.
    if let (Some(attempted), Some(failed)) = (sum.attempted_per_s, sum.failed_per_s)
        && failed > 0.0
    {
        text.push_str(&format!(
            ", {} attempted, {} failed",
            Rate::show(attempted),
            Rate::show(failed)
        ));
        if let Some(timed_out) = sum.timed_out_per_s.filter(|it| *it > 0.0) {
            text.push_str(&format!(", {} timed out", Rate::show(timed_out)));
        }
    }
    if let Some(values) = sum
        .values_per_s
        .filter(|&values| values != rate && values > 0.0)
    {
        text.push_str(&format!(", {} values", Rate::show(values)));
    }
    if let Some(mean) = sum.in_flight.mean {
        text.push_str(&format!(", {mean:.1} in flight a session"));
        if let Some(max) = sum.in_flight.max {
            text.push_str(&format!(" (at most {max})"));
        }
    }
    if let (Some(mean), Some(max)) = (sum.waiting.mean, sum.waiting.max)
        && max > 0
    {
        text.push_str(&format!(
            ", {mean:.1} due and waiting (at most {})",
            grouped(max)
        ));
    }
    text
}

fn requests(phase: &Phase) -> String {
    let sum = &phase.total;
    let mut text = format!("{} completed", grouped(sum.completed));
    for (count, what) in [
        (sum.drained, "of them after the end"),
        (sum.errors, "with errors"),
        (sum.timeouts, "timed out"),
        (sum.skipped, "skipped to catch up"),
        (sum.unsent, "due and never sent"),
        (sum.unfinished, "without an answer"),
        (sum.reconnects, "reconnects"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {} {what}", grouped(count)));
        }
    }
    if sum.outage_ns > 0 {
        text.push_str(&format!(" ({} without connection)", show_ns(sum.outage_ns)));
    }
    text
}

/// More codes than these are only counted.
const STATUSES_SHOWN: usize = 8;

fn statuses(statuses: &[Status]) -> String {
    let mut often: Vec<&Status> = statuses.iter().collect();
    often.sort_by_key(|status| std::cmp::Reverse(status.count));
    let (shown, more) = often.split_at(often.len().min(STATUSES_SHOWN));
    let mut text: Vec<String> = shown
        .iter()
        .map(|status| format!("{} {}", status.name, grouped(status.count)))
        .collect();
    if !more.is_empty() {
        let count = more.iter().map(|status| status.count).sum();
        text.push(format!("{} other codes {}", more.len(), grouped(count)));
    }
    match text.is_empty() {
        true => "none: no request was answered".to_owned(),
        false => text.join(", "),
    }
}

fn messages(phase: &Phase) -> String {
    let seconds = phase.to_ns.saturating_sub(phase.from_ns) as f64 / 1e9;
    let side = |messages: &Messages, name: &str| -> Option<String> {
        let mean = messages.mean_bytes?;
        let (min, max) = (messages.min_bytes?, messages.max_bytes?);
        let size = match min == max {
            true => Bytes::show(mean),
            false => format!(
                "{} ({} to {})",
                Bytes::show(mean),
                Bytes::show(min as f64),
                Bytes::show(max as f64)
            ),
        };
        let speed = match seconds > 0.0 {
            true => format!(
                ", {}",
                BitRate::show(messages.total_bytes as f64 * 8.0 / seconds)
            ),
            false => String::new(),
        };
        Some(format!("{name} {size}{speed}"))
    };
    let sides = [
        side(&phase.total.requests, "requests"),
        side(&phase.total.responses, "responses"),
    ];
    let sides: Vec<String> = sides.into_iter().flatten().collect();
    match sides.is_empty() {
        true if phase.footprint.is_some() => "n/a: those of steps are not counted".to_owned(),
        true => "n/a: none was counted".to_owned(),
        false => sides.join("; "),
    }
}

/// What sessions weigh while they are held, or what rounds left behind.
fn left_behind(page: &mut Page, footprint: &Footprint) {
    let rise = |figure: &Figure<Rise>, show: &dyn Fn(f64) -> String| match figure {
        Figure::Known(rise) => format!("{} ± {}", show(rise.each), show(rise.error)),
        Figure::Missing { not_available } => format!("n/a: {not_available}"),
    };
    let bytes = |n: f64| match n < 0.0 {
        true => format!("-{}", Bytes::show(-n)),
        false => Bytes::show(n),
    };
    let per = &footprint.per;
    if let Some(held) = &footprint.held {
        let time = show_ns(held.to_ns.saturating_sub(held.from_ns));
        let cores = match &held.cpu_cores {
            Figure::Known(cores) => {
                format!("server CPU {:.1} % of a core meanwhile", cores * 100.0)
            }
            Figure::Missing { not_available } => format!("server CPU n/a: {not_available}"),
        };
        let sessions = counted(held.sessions, "session", "sessions");
        page.row("held", &format!("{sessions} at once for {time}; {cores}"));
    }
    let memory = rise(&footprint.memory_bytes, &bytes);
    let descriptors = rise(&footprint.descriptors, &|n| format!("{n:.4}"));
    let both = matches!(footprint.memory_bytes, Figure::Known(_))
        || matches!(footprint.descriptors, Figure::Known(_));
    page.row(
        &format!("a {per}"),
        &match both {
            true => format!("server memory {memory}, descriptors {descriptors}"),
            false => format!("server memory {memory}"),
        },
    );
}

/// More rows than these are only counted.
const PARTS_SHOWN: usize = 20;

/// Each target and service, where there is more than one.
fn parts(page: &mut Page, run: &Run, phase: &Phase) {
    if phase.parts.is_empty() {
        return;
    }
    const NAME: usize = 40;
    page.gap();
    page.line(&format!(
        "{:NAME$}{:>12}{:>12}{:>12}{:>12}{:>12}",
        "each", "rate", "errors", "p50", "p99", "max"
    ));
    for part in phase.parts.iter().take(PARTS_SHOWN) {
        let url = run
            .targets
            .get(part.target)
            .map_or("?", |target| target.url.as_str());
        let name = match run.targets.len() {
            0 | 1 => part.service.clone(),
            _ => format!(
                "{} {}",
                part.service,
                url.strip_prefix("opc.tcp://").unwrap_or(url)
            ),
        };
        let sum = &part.sum;
        let (rate, response) = table::of_part(phase, part);
        let rate = rate.map_or_else(|| "n/a".to_owned(), Rate::show);
        let percentile = |q| {
            let percentile = table::percentile(response, q, response.count() as f64);
            cut(&percentile.to_string(), 11)
        };
        page.line(&format!(
            "{:NAME$}{:>12}{:>12}{:>12}{:>12}{:>12}",
            cut_inside(&clean(&name), NAME - 1),
            cut(&rate, 11),
            cut(&grouped(sum.errors), 11),
            percentile(0.5),
            percentile(0.99),
            cut(&table::time(response.max().map(|max| max as f64)), 11),
        ));
    }
    if phase.parts.len() > PARTS_SHOWN {
        page.line(&format!("and {} more", phase.parts.len() - PARTS_SHOWN));
    }
}

/// `34 % of the error budget of 1 % spent, burn rate up to 12 over a second`.
fn spent(budget: &Budget) -> String {
    let share = |it: f64| crate::unit::Kind::Share.show(it);
    format!(
        "{} of the error budget of {} spent, burn rate up to {} over a second",
        share(budget.spent),
        share(budget.allowed),
        crate::unit::Kind::Count.show(budget.fastest)
    )
}

/// `p99<5ms: 3.20 ms`.
fn outcome(expectation: &Expectation) -> String {
    let parsed: Option<Threshold> = expectation.expected.parse().ok();
    match (parsed, &expectation.reason) {
        (_, Some(reason)) => format!("{}: {reason}", expectation.expected),
        (Some(threshold), None) => plan::Outcome {
            threshold,
            figure: expectation.found,
        }
        .to_string(),
        (None, None) => expectation.expected.clone(),
    }
}
