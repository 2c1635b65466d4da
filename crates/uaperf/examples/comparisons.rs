//! What `uaperf compare` says of two plants, again and again: `comparisons [TIMES] [SLOWER] [RUNS] [DURATION] [apart]`.
//! With SLOWER 0% both are the same (A/A). Each run has a server process of its own. The two of a pair go at the
//! same time, servers on one core and generators on the next where there are two: whatever else the host does
//! disturbs both alike. `apart` has them take turns instead. Which is first changes each time. Server and
//! generator are this program's build of `uaperf`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use record::Run;
use support::{Bench, Fallible, Server};

mod support;

/// Of each side. Both together leave a core some air; with less of it a slower server wakes up less often, for more at once,
/// and hides part of what it costs.
const RATE: &str = "60000/s";

fn main() -> Fallible<()> {
    let mut word = support::words();
    let times: usize = word("10").parse()?;
    let slower = word("5%");
    let runs: usize = word("5").parse()?;
    let duration = word("10s");
    let apart = word("") == "apart";
    let bench = Bench::new("comparisons")?;
    let mut found = BTreeMap::new();
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
            let mut begun = Vec::new();
            for side in order {
                let fault = (side == 1 && slower != "0%").then_some(slower.as_str());
                let file = sides[side].join(format!("{run}.json"));
                begun.push(Measured::begin(&bench, fault, &duration, file)?);
                if apart {
                    begun.drain(..).try_for_each(Measured::finish)?;
                }
            }
            begun.into_iter().try_for_each(Measured::finish)?;
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
        let line = line.unwrap_or("nothing was compared");
        println!("{:>3}  {line}", n + 1);
        let verdicts = ["worse", "better", "same", "cannot tell"];
        let verdict = verdicts.into_iter().find(|it| line.ends_with(it));
        *found.entry(verdict.unwrap_or("nothing")).or_insert(0) += 1;
    }
    for (verdict, count) in found {
        println!("{count} of {times}: {verdict}");
    }
    bench.clear()
}

/// A run against a server of its own.
struct Measured {
    generator: Child,
    file: PathBuf,
    _server: Server,
}

impl Measured {
    fn begin(bench: &Bench, slower: Option<&str>, duration: &str, file: PathBuf) -> Fallible<Self> {
        let fault = slower.map(|slower| format!("service_time={slower},on=read"));
        let faults = fault.iter().flat_map(|fault| ["--fault", fault.as_str()]);
        let (ours, theirs) = match std::thread::available_parallelism()?.get() {
            1 => ([].as_slice(), [].as_slice()),
            _ => (["--pin", "1"].as_slice(), ["--pin", "0"].as_slice()),
        };
        let options: Vec<&str> = faults.chain(theirs.iter().copied()).collect();
        let server = bench.serve(&options)?;
        let generator = bench
            .uaperf()
            .args(["read", &server.url, "--node", "nsu=urn:bench;i=1000..1099"])
            .args(["--batch", "100", "--rate", RATE, "--quiet"])
            .args(["--duration", duration, "--warmup", "500ms"])
            .args(["--server-pid", &server.id().to_string()])
            .args(ours)
            .arg("--out")
            .arg(&file)
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Self {
            generator,
            file,
            _server: server,
        })
    }

    fn finish(mut self) -> Fallible<()> {
        self.generator.wait()?;
        Run::read(&self.file)?;
        Ok(())
    }
}
