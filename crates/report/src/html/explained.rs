//! What the words of a page mean, for who opens one for the first time.

use maud::{Markup, html};
use record::Run;
use record::run::Kind;

/// What colour a verdict has.
pub(crate) const fn ink(kind: Kind) -> &'static str {
    match kind {
        Kind::Valid => "good",
        Kind::ServerSaturated | Kind::Unsteady => "warning",
        Kind::GeneratorLimited | Kind::Incomplete | Kind::Failed => "bad",
    }
}

/// Where a verdict is explained.
pub(super) fn anchor(kind: Kind) -> String {
    format!("word-{}", kind.name().to_lowercase())
}

const fn verdict(kind: Kind) -> &'static str {
    match kind {
        Kind::Valid => "The load was offered as planned, and the figures describe the server.",
        Kind::ServerSaturated => {
            "The load was offered as planned, and the server did not keep up with it. That is a \
             result: what it can do is less than what it was asked for."
        }
        Kind::Unsteady => {
            "The run drifted or had an outage: no single figure describes it. Look at the charts \
             over time, give it a longer warm-up, or measure on a quieter machine."
        }
        Kind::GeneratorLimited => {
            "The generator was the limit, so the figures describe it and not the server. Give it \
             more threads, a machine of its own or less to do, and repeat."
        }
        Kind::Incomplete => {
            "Something that was asked for did not happen: a target, a session, an item, a phase or \
             time is missing. The figures are of what did happen."
        }
        Kind::Failed => "Nothing was measured, or what was measured broke down.",
    }
}

/// Kinds of times, by the names of their histograms.
const TIMES: [(&str, &str, &str); 6] = [
    (
        "response",
        "response",
        "From when a request was due by the plan to its whole answer. It has the waiting in it that \
         a slow server causes, so it is what a user of that load would feel.",
    ),
    (
        "service",
        "service (round trip)",
        "From the sending of a request to its whole answer.",
    ),
    (
        "lateness",
        "lateness",
        "How much later than planned a request was sent, and why: the pacer, no free slot, or a \
         full socket.",
    ),
    (
        "delay",
        "delay",
        "From the source timestamp of a value to its arrival at the client. Both clocks have to be \
         the same.",
    ),
    (
        "cycle",
        "cycle",
        "From one message with values to the next one of the same subscription.",
    ),
    (
        "arrival",
        "between arrivals",
        "From one message of a writer to its next one.",
    ),
];

/// What the words of these runs mean: of their verdicts, of the times that they have.
pub(super) fn words<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Markup {
    let runs: Vec<&Run> = runs.into_iter().collect();
    let phases = || runs.iter().flat_map(|run| &run.phases);
    let verdicts = runs.iter().map(|run| run.verdict.kind);
    let mut kinds: Vec<Kind> = verdicts.chain(phases().map(|it| it.verdict.kind)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let times = TIMES
        .iter()
        .filter(|(name, ..)| phases().any(|it| !it.total.histogram(name).is_empty()));
    html! {
        dl.words {
            @for kind in kinds {
                dt id=(anchor(kind)) { (kind) } dd { (verdict(kind)) }
            }
            @for (_, name, told) in times { dt { (name) } dd { (told) } }
            dt { "p50, p99" } dd {
                "Half of all were at most so long, 99 of 100. " b { "~" } " before a figure: too few independent \
                 values to say it of another run; " b { "n/a" } ": too few to say it at all."
            }
        }
    }
}
