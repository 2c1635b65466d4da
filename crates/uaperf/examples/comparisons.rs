//! What `uaperf compare` says of two plants, again and again: `comparisons [TIMES] [SLOWER] [RUNS] [DURATION]`.
//! With SLOWER 0% both are the same (A/A). Each run has a server process of its own; the two sides take
//! turns, and which is first changes each time. Server and generator are this program's build of `uaperf`.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use record::Run;

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    let mut words = std::env::args().skip(1);
    let mut word = |otherwise: &str| words.next().unwrap_or_else(|| otherwise.to_owned());
    let times: usize = word("10").parse()?;
    let slower = word("5%");
    let runs: usize = word("5").parse()?;
    let duration = word("10s");
    // Examples are built into a folder beside the program.
    let program: PathBuf = std::env::current_exe()?
        .ancestors()
        .nth(2)
        .ok_or("no folder above")?
        .join("uaperf");
    let folder = std::env::temp_dir().join(format!("uaperf-comparisons-{}", std::process::id()));
    let bench = Bench {
        program,
        pki: folder.join("pki"),
        duration,
    };
    for n in 0..times {
        let sides = [
            folder.join(format!("{n}-base")),
            folder.join(format!("{n}-new")),
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
                bench.measure(fault, &file)?;
            }
        }
        let compared = Command::new(&bench.program)
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
    Ok(std::fs::remove_dir_all(&folder)?)
}

struct Bench {
    program: PathBuf,
    pki: PathBuf,
    duration: String,
}

impl Bench {
    /// One run against a server of its own.
    fn measure(&self, slower: Option<&str>, file: &Path) -> Fallible<()> {
        let fault = slower.map(|slower| format!("service_time={slower},on=read"));
        let mut server = Command::new(&self.program)
            .args([
                "serve",
                "--port",
                "0",
                "--security",
                "none",
                "--with-parent",
            ])
            .args(fault.iter().flat_map(|fault| ["--fault", fault.as_str()]))
            .env("UAPERF_PKI", &self.pki)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut ready = String::new();
        let out = server.stdout.take().ok_or("no output")?;
        BufReader::new(out).read_line(&mut ready)?;
        let url = ready.trim().strip_prefix("READY ").ok_or("no server")?;
        let measured = Command::new(&self.program)
            .args(["read", url, "--node", "nsu=urn:bench;i=1000..1099"])
            .args(["--batch", "100", "--in-flight", "16", "--quiet"])
            .args([
                "--duration",
                &self.duration,
                "--warmup",
                "500ms",
                "--server-pid",
            ])
            .arg(server.id().to_string())
            .arg("--out")
            .arg(file)
            .env("UAPERF_PKI", &self.pki)
            .stdout(Stdio::null())
            .status();
        server.kill()?;
        server.wait()?;
        measured?;
        Run::read(file)?;
        Ok(())
    }
}
