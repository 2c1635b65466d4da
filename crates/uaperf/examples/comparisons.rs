//! What `uaperf compare` says of two plants, again and again: `comparisons [TIMES] [SLOWER] [RUNS] [DURATION]`.
//! With SLOWER 0% both are the same (A/A). Each run has a server process of its own; the two sides take
//! turns, and which is first changes each time. Server and generator are this program's build of `uaperf`.

use std::path::Path;
use std::process::Stdio;

use record::Run;
use support::{Bench, Fallible};

mod support;

fn main() -> Fallible<()> {
    let mut word = support::words();
    let times: usize = word("10").parse()?;
    let slower = word("5%");
    let runs: usize = word("5").parse()?;
    let duration = word("10s");
    let bench = Bench::new("comparisons")?;
    for n in 0..times {
        let sides = [
            bench.folder.join(format!("{n}-base")),
            bench.folder.join(format!("{n}-new")),
        ];
        for side in &sides {
            std::fs::create_dir_all(side)?;
        }
        for run in 0..runs {
            // ABBA: what drifts with time hits both sides alike.
            let order = if run % 2 == 0 { [0, 1] } else { [1, 0] };
            for side in order {
                let fault = (side == 1 && slower != "0%").then_some(slower.as_str());
                let file = sides[side].join(format!("{run}.json"));
                measure(&bench, fault, &duration, &file)?;
            }
        }
        let compared = bench
            .uaperf()
            .arg("compare")
            .args(&sides)
            .args(["--metric", "cpu-per-request"])
            .output()?;
        let said = String::from_utf8_lossy(&compared.stdout).into_owned();
        let line = said
            .lines()
            .find(|line| line.starts_with("cpu-per-request"));
        println!("{:>3}  {}", n + 1, line.unwrap_or("nothing was compared"));
    }
    bench.clear()
}

/// One run against a server of its own.
fn measure(bench: &Bench, slower: Option<&str>, duration: &str, file: &Path) -> Fallible<()> {
    let fault = slower.map(|slower| format!("service_time={slower},on=read"));
    let faults = fault.iter().flat_map(|fault| ["--fault", fault.as_str()]);
    let server = bench.serve(&faults.collect::<Vec<_>>())?;
    bench
        .uaperf()
        .args(["read", &server.url, "--node", "nsu=urn:bench;i=1000..1099"])
        .args(["--batch", "100", "--in-flight", "16", "--quiet"])
        .args(["--duration", duration, "--warmup", "500ms"])
        .args(["--server-pid", &server.id().to_string()])
        .arg("--out")
        .arg(file)
        .stdout(Stdio::null())
        .status()?;
    Run::read(file)?;
    Ok(())
}
