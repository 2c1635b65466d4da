//! The bars: how fast generator and plant have to be, and how fast they were in this run.

use benches::Spread;

use crate::results::{Figure, Results};
use crate::slice::Slice;

/// A bar and how it was met.
#[derive(Debug, Clone)]
pub struct Bar {
    /// Whose speed.
    pub of: &'static str,
    /// What is compared with what.
    pub what: String,
    /// The most it may be, or the least it has to be.
    pub bound: Bound,
    /// What it was, if both sides had turns.
    pub reached: Option<Spread>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtMost(bound) => write!(f, "<= {bound:.3}"),
            Self::AtLeast(bound) => write!(f, ">= {bound:.3}"),
        }
    }
}

impl Bar {
    /// Whether the median keeps to the bound; nothing when it was not measured.
    pub fn is_met(&self) -> Option<bool> {
        let median = self.reached?.median;
        Some(match self.bound {
            Bound::AtMost(bound) => median <= bound,
            Bound::AtLeast(bound) => median >= bound,
        })
    }
}

const CLIENT: Figure = Slice::client_us;
const SERVER: Figure = Slice::server_us;
const RATE: Figure = Slice::rate;
const TRIP: Figure = Slice::p50_us;

/// All bars, for the client that takes the generator's place.
pub fn all(results: &Results, generator: &str) -> Vec<Bar> {
    let with = |workload: &str, server: &str| format!("{workload} {generator}-{server}");
    let bar = |of, what: &str, bound, (a, fa): (&str, Figure), (b, fb): (&str, Figure)| Bar {
        of,
        what: what.replace("{generator}", generator),
        bound,
        reached: results.ratio((a, fa), (b, fb)),
    };
    use Bound::{AtLeast, AtMost};
    let pipelined = with("pipelined", "plant");
    let batches = with("batches", "plant");
    let mut bars = Vec::new();

    let of = "generator";
    let raw = ("pipelined raw", CLIENT);
    let mine = (pipelined.as_str(), CLIENT);
    bars.push(bar(
        of,
        "client CPU, single Read, 64 in flight: {generator} over raw",
        AtMost(2.0),
        mine,
        raw,
    ));
    let theirs = ("pipelined open62541-plant", CLIENT);
    bars.push(bar(
        of,
        "the same over open62541's asynchronous client, on the plant",
        AtMost(1.0 / 6.0),
        mine,
        theirs,
    ));
    let theirs = ("pipelined open62541-open62541", CLIENT);
    bars.push(bar(
        of,
        "the same over open62541's asynchronous client, on its own server",
        AtMost(1.0 / 6.0),
        mine,
        theirs,
    ));
    let mine = (batches.as_str(), CLIENT);
    bars.push(bar(
        of,
        "client CPU, batches of 100: {generator} over raw of the same groups",
        AtMost(1.5),
        mine,
        (crate::subjects::BUSY, CLIENT),
    ));
    let theirs = ("batches open62541-plant", CLIENT);
    bars.push(bar(
        of,
        "the same over open62541's client, on the plant",
        AtMost(0.25),
        mine,
        theirs,
    ));
    let theirs = ("batches open62541-open62541", CLIENT);
    bars.push(bar(
        of,
        "the same over open62541's client, on its own server",
        AtMost(0.25),
        mine,
        theirs,
    ));
    let coalesced = with("coalesced", "open62541");
    bars.push(Bar {
        of,
        what: "client CPU, single Read on open62541, 16 answers a wake-up, µs".into(),
        bound: AtMost(1.5),
        reached: results
            .named(&coalesced)
            .and_then(|turns| turns.spread(CLIENT)),
    });
    let plain = with("pipelined", "open62541");
    bars.push(bar(
        of,
        "rate with 16 answers a wake-up over without",
        AtLeast(1.0),
        (&coalesced, RATE),
        (&plain, RATE),
    ));
    let mine = with("spinning", "plant");
    bars.push(bar(
        of,
        "round trip, both sides spinning: {generator} over raw",
        AtMost(1.25),
        (&mine, TRIP),
        ("spinning raw", TRIP),
    ));

    for (how, bound) in [("spinning", 5.0), ("sleeping", 100.0)] {
        bars.push(Bar {
            of,
            what: format!("pacer late, p99, 10,000 requests/s, {how}, µs"),
            bound: AtMost(bound),
            reached: results
                .named(&format!("paced, {how} {generator}-plant"))
                .and_then(|turns| turns.spread(Slice::late_us)),
        });
    }

    bars.extend(plant(results, generator));
    bars
}

/// The plant's bars. The second, independent client is `bulk` where the server's price is asked for:
/// a client that writes each request alone makes it the price of system calls. It is open62541's own
/// for one call at a time.
fn plant(results: &Results, generator: &str) -> Vec<Bar> {
    use Bound::{AtLeast, AtMost};
    let bar = |what: String, bound, (a, fa): (&str, Figure), (b, fb): (&str, Figure)| Bar {
        of: "plant",
        what,
        bound,
        reached: results.ratio((a, fa), (b, fb)),
    };
    let pair = |workload: &str, client: &str| {
        let on = |server: &str| format!("{workload} {client}-{server}");
        (on("plant"), on("open62541"))
    };
    let mut bars = Vec::new();
    for client in [generator, "bulk"] {
        let (ours, theirs) = pair("pipelined", client);
        let what = format!("single reads/s, 64 in flight, by {client}: plant over open62541");
        bars.push(bar(what, AtLeast(3.0), (&ours, RATE), (&theirs, RATE)));
        let (ours, theirs) = pair("batches", client);
        let what = format!("server CPU, Read of 100, by {client}: plant over open62541");
        bars.push(bar(what, AtMost(0.2), (&ours, SERVER), (&theirs, SERVER)));
        let what = format!("values/s, 64 in flight, by {client}: plant over open62541");
        bars.push(bar(what, AtLeast(3.0), (&ours, RATE), (&theirs, RATE)));
        let (ours, theirs) = pair("secured", client);
        let what = format!(
            "Basic256Sha256 SignAndEncrypt, reads per CPU second, by {client}: plant over open62541"
        );
        bars.push(bar(what, AtLeast(4.0), (&theirs, SERVER), (&ours, SERVER)));
    }
    for client in [generator, "open62541"] {
        let (ours, theirs) = pair("sleeping", client);
        let what = format!("round trip, by {client}: plant over open62541");
        bars.push(bar(what, AtMost(1.05), (&ours, TRIP), (&theirs, TRIP)));
    }
    let (one, two) = (
        "two sessions wire-plant of 1",
        "two sessions wire-plant of 2",
    );
    bars.push(bar(
        "server CPU a read, two threads over one".into(),
        AtMost(1.1),
        (two, SERVER),
        (one, SERVER),
    ));
    bars
}
