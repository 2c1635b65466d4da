//! The same run again and again, and what a comparison needs of each: `repeats [RUNS] [RATE] [DURATION]`. Prints a
//! table, one line a run: when it began, its verdict, and for each metric the figure with the standard error of its
//! logarithm and the degrees of freedom of that, as they come from inside the run. `crates/judge/tests/data/repeats.csv`
//! is such a table; a test of `judge` counts in it how often two of the same are called different. All runs are
//! against one server. Server and generator are this program's build of `uaperf`.

use std::process::Stdio;

use judge::compare::{Metric, estimate};
use record::Run;
use support::{Bench, Fallible};

mod support;

const METRICS: [&str; 4] = ["cpu-per-request", "mean", "p50", "p99"];

fn main() -> Fallible<()> {
    let mut word = support::words();
    let runs: usize = word("200").parse()?;
    let (rate, duration) = (word("500/s"), word("2s"));
    let bench = Bench::new("repeats")?;
    let server = bench.serve(&[])?;
    let metrics: Vec<Metric> = METRICS
        .iter()
        .map(|name| name.parse())
        .collect::<Result<_, _>>()?;
    let mut begun = None;
    for n in 0..runs {
        let file = bench.folder.join(format!("{n}.json"));
        bench
            .uaperf()
            .args(["read", &server.url, "-n", "i=2258", "--rate", &rate])
            .args(["--duration", &duration, "--security", "none", "--quiet"])
            .args(["--server-pid", &server.id().to_string(), "--out"])
            .arg(&file)
            .stdout(Stdio::null())
            .status()?;
        let run = Run::read(&file)?;
        std::fs::remove_file(&file)?;
        let phase = run.phases.first().ok_or("a run without a phase")?;
        if n == 0 {
            let build = &run.machine.build;
            println!(
                "# uaperf {} {}, read i=2258 at {rate} for {duration}, one after the other, load average {}",
                build.version,
                build.profile,
                load_average()
            );
            let columns = METRICS.map(|name| format!("{name},{name} error,{name} degrees"));
            println!("seconds,verdict,errors,{}", columns.join(","));
        }
        let at = phase.started.unix_ns();
        let since = at - *begun.get_or_insert(at);
        let mut line = format!(
            "{:.1},{},{}",
            since as f64 / 1e9,
            run.verdict.kind,
            phase.whole().errors
        );
        for metric in &metrics {
            let value = metric.of(phase).ok_or("a metric that was not measured")?;
            match estimate(phase, *metric) {
                Some(it) => line += &format!(",{value:.0},{:.5},{:.2}", it.error, it.degrees),
                None => line += &format!(",{value:.0},,"),
            }
        }
        println!("{line}");
    }
    println!("# load average at the end {}", load_average());
    drop(server);
    bench.clear()
}

/// Of one, five and fifteen minutes.
fn load_average() -> String {
    std::fs::read_to_string("/proc/loadavg")
        .unwrap_or_default()
        .split(' ')
        .take(3)
        .collect::<Vec<_>>()
        .join(" ")
}
