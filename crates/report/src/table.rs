//! The table of times: one row for each histogram.

use judge::needed_for;
use plan::unit::duration::{show_nanos, show_ns};
use record::Histogram;
use record::run::{Figure, HistogramCourse, Part, Phase, Sum, Trust};

use crate::effective;
use crate::page::{Page, counted, grouped};

/// The times that a phase is looked at for: of requests, or of notifications until they came.
pub(crate) fn looked_at(phase: &Phase) -> (&'static str, &Histogram) {
    let name = match phase.is_notified() {
        false => "response",
        // Some servers give no source timestamps.
        true if phase.total.histogram("delay").is_empty() => "server-delay",
        true => "delay",
    };
    (name, phase.total.histogram(name))
}

/// Percentiles that are shown, with their heads.
pub(crate) const PERCENTILES: [(f64, &str); 4] =
    [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9")];

const COLUMN: usize = 10;
/// The longest name of a row, and a space.
const NAME: usize = 14;

/// Rows in their order, with their labels; parts of the lateness are indented.
const ROWS: [(&str, &str); 17] = [
    ("delay", "delay"),
    ("phase", "  phase"),
    ("queueing", "  queueing"),
    ("transport", "  transport"),
    ("counter-delay", "by counter"),
    ("server-delay", "sampled"),
    ("publish-delay", "published"),
    ("arrival", "arrivals"),
    ("cycle", "cycle"),
    ("jitter", "  jitter"),
    ("response", "response"),
    ("service", "service"),
    ("lateness", "lateness"),
    ("pacer", "  pacer"),
    ("slot", "  slot"),
    ("socket", "  socket"),
    ("lag", "receive delay"),
];

/// What stands for a part of a phase: its rate and its response times; of subscriptions, which nobody asks for
/// one by one, that of values and their delays.
pub(crate) fn of_part<'a>(phase: &Phase, part: &'a Part) -> (Option<f64>, &'a Histogram) {
    let response = part.sum.histogram("response");
    let delays = ["delay", "server-delay"].map(|name| part.sum.histogram(name));
    match delays.into_iter().find(|delay| !delay.is_empty()) {
        Some(delay) if response.is_empty() => (phase.part_values_per_s(part), delay),
        _ => (part.sum.rate_per_s, response),
    }
}

/// Writes the table; says what is missing and why.
pub(crate) fn times(page: &mut Page, phase: &Phase) {
    let sum = &phase.total;
    if sum.histograms.is_empty() {
        return;
    }
    let mut head = format!(
        "{:NAME$}{:>COLUMN$}{:>COLUMN$}{:>8}",
        "", "mean", "stddev", "CV"
    );
    for (_, name) in PERCENTILES {
        head.push_str(&format!("{name:>COLUMN$}"));
    }
    page.line(&format!("{head}{:>COLUMN$}", "max"));
    let mut doubts = Vec::new();
    // A Publish request waits for news: how long tells nothing of the server.
    let waits =
        |name: &str| phase.subscriptions.is_some() && ["response", "service"].contains(&name);
    for (name, label) in ROWS {
        if waits(name) {
            continue;
        }
        let histogram = sum.histogram(name);
        if histogram.is_empty() {
            continue;
        }
        let size = independent(phase, name, histogram);
        let mut line = format!("{label:NAME$}");
        let (mean, deviation) = (histogram.mean(), histogram.deviation());
        let mut bounds = Bounds::of(phase, name);
        line.push_str(&format!(
            "{:>COLUMN$}{:>COLUMN$}",
            bounds.told(mean, time(mean)),
            time(deviation)
        ));
        let cv = match bounds.is_refused() {
            true => NOT_KNOWN.to_owned(),
            false => cv(mean, deviation),
        };
        line.push_str(&format!("{cv:>8}"));
        bounds.skip("", COLUMN + 8);
        for (quantile, _) in PERCENTILES {
            let value = percentile(histogram, quantile, size);
            doubts.push(value.doubt());
            let text = bounds.told(value.value(), value.to_string());
            line.push_str(&format!("{text:>COLUMN$}"));
        }
        let max = phase.max_ns(name).map(|max| max as f64);
        let text = bounds.told(max, time(max));
        page.line(&format!("{line}{text:>COLUMN$}"));
        if let Some(line) = bounds.line() {
            page.line(&line);
        }
    }
    if let Some(why) = refusal(phase) {
        page.gap();
        page.sentence(0, &format!("{NOT_KNOWN}: {why}."));
    }
    doubts.sort_unstable();
    doubts.dedup();
    for doubt in &doubts {
        match doubt {
            Doubt::None => {}
            Doubt::TooFew => {
                page.gap();
                page.sentence(
                    0,
                    &format!("n/a: too few values for this percentile ({}).", needs()),
                );
            }
            Doubt::Alike => {
                page.gap();
                page.sentence(0, &alike(phase, &doubts));
            }
        }
    }
}

/// What stands for a figure that two clocks do not tell.
pub(crate) const NOT_KNOWN: &str = "unknown";

/// How far the clocks of two hosts leave the figures of a row open.
struct Bounds<'a> {
    phase: &'a Phase,
    name: &'a str,
    line: String,
    is_bound: bool,
    refused: bool,
}

impl<'a> Bounds<'a> {
    fn of(phase: &'a Phase, name: &'a str) -> Self {
        Self {
            phase,
            name,
            line: format!("{:NAME$}", "  ± clocks"),
            is_bound: false,
            refused: false,
        }
    }

    /// The text of a figure, or that it is not known.
    fn told(&mut self, figure: Option<f64>, text: String) -> String {
        let trust = figure.map_or(Trust::Whole, |ns| self.phase.trust(self.name, ns));
        self.refused = matches!(trust, Trust::Nothing(_));
        let bound = match trust {
            Trust::Whole => String::new(),
            Trust::Within(error) | Trust::Nothing(error) => {
                self.is_bound = true;
                show_ns(error)
            }
        };
        self.line.push_str(&format!("{bound:>COLUMN$}"));
        match self.refused {
            true => NOT_KNOWN.to_owned(),
            false => text,
        }
    }

    /// Whether the last figure is not known.
    const fn is_refused(&self) -> bool {
        self.refused
    }

    fn skip(&mut self, text: &str, width: usize) {
        self.line.push_str(&format!("{text:>width$}"));
    }

    /// A row of bounds, where there are any.
    fn line(self) -> Option<String> {
        self.is_bound.then(|| self.line.trim_end().to_owned())
    }
}

/// Why some delay of a phase is not known.
pub(crate) fn refusal(phase: &Phase) -> Option<String> {
    let clock = phase.clock()?;
    clock
        .one_way
        .iter()
        .find_map(|it| match &it.ns {
            Figure::Missing { not_available } => Some(not_available),
            Figure::Known(_) => None,
        })
        .map(|why| why.strip_prefix("not known: ").unwrap_or(why).to_owned())
}

/// A percentile, and how far it can be trusted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Percentile {
    /// As good as the sample.
    Known(f64),
    /// True of this run; its values are so alike that another run may well show something else.
    OfThisRun(f64),
    /// The sample is too small to have one.
    TooFew,
}

/// What the reader has to be told about a percentile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Doubt {
    None,
    TooFew,
    Alike,
}

impl Percentile {
    fn doubt(self) -> Doubt {
        match self {
            Self::Known(_) => Doubt::None,
            Self::OfThisRun(_) => Doubt::Alike,
            Self::TooFew => Doubt::TooFew,
        }
    }

    /// The value, however far it can be trusted.
    pub(crate) fn value(self) -> Option<f64> {
        match self {
            Self::Known(value) | Self::OfThisRun(value) => Some(value),
            Self::TooFew => None,
        }
    }
}

impl std::fmt::Display for Percentile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Known(value) => f.write_str(&show_nanos(*value)),
            Self::OfThisRun(value) => write!(f, "~{}", show_nanos(*value)),
            Self::TooFew => f.write_str("n/a"),
        }
    }
}

/// A percentile of a sample that is worth `size` independent values.
pub(crate) fn percentile(histogram: &Histogram, quantile: f64, size: f64) -> Percentile {
    let needed = needed_for(quantile);
    match histogram.quantile(quantile) {
        Some(value) if size >= needed => Percentile::Known(value as f64),
        Some(value) if histogram.count() as f64 >= needed => Percentile::OfThisRun(value as f64),
        _ => Percentile::TooFew,
    }
}

/// How many independent values a histogram of the total is worth. Where nothing tells how alike they
/// are, all of them.
pub(crate) fn independent(phase: &Phase, name: &str, histogram: &Histogram) -> f64 {
    let of = |course: &HistogramCourse| effective::size(phase, histogram, course);
    let size = match name {
        "response" => of(&phase.series.response),
        "service" => of(&phase.series.service),
        // Values of one message have nearly the same delay: there are as many as there are messages.
        "delay" | "phase" | "queueing" | "transport" | "server-delay" | "counter-delay" => {
            let messages = phase.total.histogram("publish-delay").count();
            (messages > 0).then_some(messages as f64)
        }
        // Its parts are told by the same intervals.
        "lateness" | "pacer" | "slot" | "socket" => {
            let whole = phase.total.histogram("lateness");
            effective::size(phase, whole, &phase.series.lateness)
                .map(|size| size * histogram.count() as f64 / whole.count().max(1) as f64)
        }
        _ => None,
    };
    size.unwrap_or(histogram.count() as f64)
}

/// How many values percentiles need.
fn needs() -> String {
    let needs: Vec<String> = PERCENTILES
        .iter()
        .map(|&(quantile, name)| format!("{name} needs {}", grouped(needed_for(quantile) as u64)))
        .collect();
    needs.join(", ")
}

fn alike(phase: &Phase, doubts: &[Doubt]) -> String {
    let (name, one, many) = match phase.subscriptions {
        Some(_) => ("delay", "delay", "delays"),
        None => ("response", "response time", "response times"),
    };
    let response = phase.total.histogram(name);
    let size = independent(phase, name, response).round() as u64;
    // Once is enough.
    let needs = match doubts.contains(&Doubt::TooFew) {
        true => String::new(),
        false => format!(" ({})", needs()),
    };
    format!(
        "~: true of this run, but another may well differ: values that follow each other are alike. {} \
         are worth {} independent ones{needs}.",
        counted(response.count(), one, many),
        grouped(size),
    )
}

/// A time for people, or that there is none.
pub(crate) fn time(nanos: Option<f64>) -> String {
    nanos.map_or_else(|| "n/a".to_owned(), show_nanos)
}

fn cv(mean: Option<f64>, deviation: Option<f64>) -> String {
    match (mean, deviation) {
        (Some(mean), Some(deviation)) if mean > 0.0 => {
            let percent = 100.0 * deviation / mean;
            match percent {
                p if p >= 99.95 => format!("{p:.0} %"),
                p => format!("{p:.1} %"),
            }
        }
        _ => "n/a".to_owned(),
    }
}

/// One sentence when response and service tell different stories.
pub(crate) fn omission(sum: &Sum) -> Option<String> {
    let (response, service) = (sum.histogram("response"), sum.histogram("service"));
    let at = |histogram: &Histogram, q: f64| histogram.quantile(q).map(|value| value as f64);
    let differ = [0.5, 0.99, 1.0].iter().any(|&q| {
        let (Some(response), Some(service)) = (at(response, q), at(service, q)) else {
            return false;
        };
        // Less than a twentieth, or than what a clock and a wake-up take, is no story.
        response > 1.05 * service && response - service > 50_000.0
    });
    let spent = |part: &str| sum.histogram(part).sum();
    let what = match spent("pacer") > spent("slot") + spent("socket") {
        true => "here the generator itself was late, and that is in the first only.",
        false => {
            "what waited behind a slow answer shows in the first only. Users feel the response; tools \
             that start their clock at the sending show the service (coordinated omission)."
        }
    };
    differ.then(|| {
        format!(
            "Response counts from when a request was due, service from when it was sent: {what}"
        )
    })
}
