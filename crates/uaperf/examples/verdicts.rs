//! Many healthy runs, every other one spinning, and what was said of them:
//! `verdicts [RUNS] [RATE] [DURATION]`. Server and generator are this program's build of `uaperf`.

use std::collections::BTreeMap;
use std::process::Stdio;

use record::Run;
use support::{Bench, Fallible};

mod support;

fn main() -> Fallible<()> {
    let mut word = support::words();
    let runs: usize = word("50").parse()?;
    let (rate, duration) = (word("1k/s"), word("2s"));
    let bench = Bench::new("verdicts")?;
    let server = bench.serve(&[])?;
    println!("before    load average {}", load_average());
    let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
    for n in 0..runs {
        let file = bench.folder.join(format!("{n}.json"));
        let status = bench
            .uaperf()
            .args(["read", &server.url, "--rate", &rate])
            .args(["--duration", &duration, "--quiet", "--out"])
            .arg(&file)
            .args((n % 2 == 1).then_some("--spin"))
            .stdout(Stdio::null())
            .status()?;
        let run = Run::read(&file)?;
        let spin = if n % 2 == 1 { "spinning" } else { "sleeping" };
        let verdict = format!("{spin} {:?}", run.verdict.kind);
        if status.code() != Some(0) {
            println!(
                "{n:>4}  {verdict}, exit {status}: {:?}",
                run.verdict.evidence
            );
        }
        *verdicts.entry(verdict).or_default() += 1;
    }
    drop(server);
    println!("after     load average {}", load_average());
    for (verdict, n) in verdicts {
        println!("{n:>4}  {verdict}");
    }
    bench.clear()
}

/// Of one, five and fifteen minutes: a busy machine has no healthy runs.
fn load_average() -> String {
    std::fs::read_to_string("/proc/loadavg")
        .unwrap_or_default()
        .split(' ')
        .take(3)
        .collect::<Vec<_>>()
        .join(" ")
}
