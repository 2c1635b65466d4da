//! The table, the bars and the JSON.

use benches::Spread;
use observe::{Host, Times};
use record::run::{Figure, Fingerprint};
use serde_json::{Value, json};

use crate::bars::Bar;
use crate::options::Options;
use crate::results::{self, Results, Turns};
use crate::slice::Slice;
use crate::subjects::Bench;

/// On what this runs.
pub fn machine(machine: &Fingerprint, host: &Host) {
    let or_reason = |figure: &Figure<String>| match figure {
        Figure::Known(value) => value.clone(),
        Figure::Missing { not_available } => format!("not available: {not_available}"),
    };
    println!(
        "{}, {} cores, {}, virtualised: {}, clock source {}, governor {}",
        or_reason(&machine.cpu),
        machine.cores.known().map_or("?".into(), u64::to_string),
        or_reason(&machine.kernel),
        or_reason(&machine.virtualisation),
        or_reason(&machine.clock_source),
        or_reason(&machine.governor),
    );
    println!(
        "{}, {}; load average before: {}",
        or_reason(&machine.build.rustc),
        machine.build.profile,
        load(host)
    );
}

fn load(host: &Host) -> String {
    match &host.load {
        Ok(load) => format!("{:.2} {:.2} {:.2}", load.one, load.five, load.fifteen),
        Err(reason) => reason.to_string(),
    }
}

/// What the host did meanwhile, this bench included.
pub fn host(before: &Host, after: &Host) {
    println!("\nload average after: {}", load(after));
    if let (Ok(before), Ok(after)) = (&before.cpu, &after.cpu) {
        let spent: Times = after.since(before);
        if let (Ok(busy), Ok(stolen)) = (spent.busy(), spent.stolen()) {
            println!(
                "all cores meanwhile: {:.0} % busy, {:.1} % stolen by the hypervisor",
                busy * 100.0,
                stolen * 100.0
            );
        }
    }
}

/// The raw pair that a subject is held against: the one of its workload.
fn reference(name: &str) -> String {
    let workload = name.split(' ').next().unwrap_or_default();
    let workload = match workload {
        "coalesced" | "two" => "pipelined",
        "paced," => "sleeping",
        other => other,
    };
    format!("{workload} raw")
}

fn median(spread: Option<Spread>, digits: usize) -> String {
    spread.map_or("-".into(), |s| format!("{:.digits$}", s.median))
}

fn range(spread: Option<Spread>, digits: usize) -> String {
    spread.map_or("-".into(), |s| {
        format!(
            "{:.digits$} ({:.digits$}-{:.digits$})",
            s.median, s.low, s.high
        )
    })
}

/// All subjects.
pub fn table(results: &Results, bench: &Bench) {
    for (name, sizes) in &bench.sizes {
        println!(
            "{name}: {} bytes there, {} back",
            sizes.request, sizes.response
        );
    }
    println!(
        "\n{:<37}{:>11}{:>20}{:>20}{:>9}{:>9}   client CPU over raw",
        "workload client-server",
        "calls/s",
        "client us/call",
        "server us/call",
        "p50 us",
        "per read"
    );
    for turns in &results.0 {
        let Turns { name, failure, .. } = turns;
        if let Some(failure) = failure {
            println!("{name:<37} not measured: {failure}");
        }
        if turns.slices.iter().all(Option::is_none) {
            continue;
        }
        let raw = reference(name);
        let ratio = results.ratio((name, Slice::client_us), (&raw, Slice::client_us));
        println!(
            "{name:<37}{:>11}{:>20}{:>20}{:>9}{:>9}   {}",
            median(turns.spread(Slice::rate), 0),
            range(turns.spread(Slice::client_us), 2),
            range(turns.spread(Slice::server_us), 2),
            median(turns.spread(Slice::p50_us), 1),
            median(turns.spread(Slice::calls_a_read), 1),
            range(ratio, 2),
        );
        let (bad, all) = turns.bad();
        if bad > 0 {
            println!("{:<37} {bad} of {all} calls were not answered well", "");
        }
    }
    for missing in &bench.missing {
        println!("not there: {missing}");
    }
}

/// The bars.
pub fn bars(bars: &[Bar], generator: &str) {
    println!(
        "\nBars; the generator's place is taken by: {generator}\n{:<10}{:<92}{:>9}  reached",
        "of", "what", "bound"
    );
    for bar in bars {
        let verdict = match bar.is_met() {
            Some(true) => "pass",
            Some(false) => "MISS",
            None => "not measured",
        };
        println!(
            "{:<10}{:<92}{:>9}  {} {verdict}",
            bar.of,
            bar.what,
            bar.bound.to_string(),
            range(bar.reached, 3)
        );
    }
}

/// Everything, for machines.
pub fn json(
    results: &Results,
    bench: &Bench,
    bars: &[Bar],
    machine: &Fingerprint,
    before: &Host,
    after: &Host,
    options: &Options,
) -> Value {
    let spread = |spread: Option<Spread>| match spread {
        Some(s) => json!({"p10": s.low, "median": s.median, "p90": s.high}),
        None => Value::Null,
    };
    let loads = |host: &Host| match &host.load {
        Ok(load) => json!([load.one, load.five, load.fifteen]),
        Err(reason) => json!({"not_available": reason.reason()}),
    };
    let over_raw = |turns: &Turns, figure: results::Figure| {
        spread(results.ratio((&turns.name, figure), (&reference(&turns.name), figure)))
    };
    let subjects = results.0.iter().map(|turns| {
        json!({
            "name": turns.name,
            "batch": turns.batch,
            "failure": turns.failure,
            "bad": turns.bad().0,
            "calls_per_s": spread(turns.spread(Slice::rate)),
            "client_us": spread(turns.spread(Slice::client_us)),
            "server_us": spread(turns.spread(Slice::server_us)),
            "p50_us": spread(turns.spread(Slice::p50_us)),
            "calls_a_read": spread(turns.spread(Slice::calls_a_read)),
            "late_p99_us": spread(turns.spread(Slice::late_us)),
            "client_cpu_over_raw": over_raw(turns, Slice::client_us),
            "rate_over_raw": over_raw(turns, Slice::rate),
            "p50_over_raw": over_raw(turns, Slice::p50_us),
        })
    });
    let bars = bars.iter().map(|bar| {
        json!({
            "of": bar.of,
            "what": bar.what,
            "bound": bar.bound.to_string(),
            "reached": spread(bar.reached),
            "met": bar.is_met(),
        })
    });
    let sizes = bench.sizes.iter().map(|(name, sizes)| {
        json!({"of": name, "request_bytes": sizes.request, "response_bytes": sizes.response})
    });
    json!({
        "rounds": options.rounds,
        "turn_s": options.turn.as_secs_f64(),
        "machine": machine,
        "load_average": {"before": loads(before), "after": loads(after)},
        "generator": bench.generator,
        "sizes": sizes.collect::<Vec<_>>(),
        "subjects": subjects.collect::<Vec<_>>(),
        "bars": bars.collect::<Vec<_>>(),
        "missing": bench.missing,
    })
}
