//! How much of the delay of notifications is phase: the same subscription again and again, each time begun
//! at another moment of its publishing interval. `phases [RUNS] [PUBLISHING] [DURATION]`. Server and
//! generator are this program's build of `uaperf`.

use std::process::Stdio;

use record::Run;
use support::{Bench, Fallible};

mod support;

fn main() -> Fallible<()> {
    let mut word = support::words();
    let runs: usize = word("12").parse()?;
    let (publishing, duration) = (word("200ms"), word("4s"));
    let bench = Bench::new("phases")?;
    // Values are renewed as often as they are published, at moments of their own.
    let server = bench.serve(&["--update", &publishing])?;
    println!(
        "{:>4}{:>12}{:>12}{:>12}",
        "run", "delay p50", "phase p50", "the rest"
    );
    let (mut delays, mut rests) = (Vec::new(), Vec::new());
    for n in 1..=runs {
        let file = bench.folder.join(format!("{n}.json"));
        bench
            .uaperf()
            .args(["subscribe", &server.url])
            .args(["--node", "nsu=urn:bench;i=1000..1099", "--queue", "10"])
            .args(["--publishing", &publishing, "--sampling", "fastest"])
            .args(["--duration", &duration, "--seed", &n.to_string()])
            .args(["--quiet", "--out"])
            .arg(&file)
            .stdout(Stdio::null())
            .status()?;
        let run = Run::read(&file)?;
        let total = &run.phases.first().ok_or("no phase")?.total;
        let p50 = |name| total.histogram(name).quantile(0.5).unwrap_or(0) as f64 / 1e6;
        let (delay, phase) = (p50("delay"), p50("phase"));
        println!(
            "{n:>4}{delay:>9.2} ms{phase:>9.2} ms{:>9.2} ms",
            delay - phase
        );
        delays.push(delay);
        rests.push(delay - phase);
    }
    drop(server);
    let (whole, rest) = (deviation(&delays), deviation(&rests));
    println!(
        "deviation of p50 between runs {whole:.2} ms, without phase {rest:.3} ms: {:.2} % of it",
        100.0 * rest / whole
    );
    bench.clear()
}

fn deviation(values: &[f64]) -> f64 {
    let n = values.len().max(2) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares = values.iter().map(|value| (value - mean).powi(2));
    (squares.sum::<f64>() / (n - 1.0)).sqrt()
}
