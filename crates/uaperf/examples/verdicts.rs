//! Many healthy runs, every other one spinning, and what was said of them:
//! `verdicts [RUNS] [RATE] [DURATION]`. Server and generator are this program's build of `uaperf`.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use record::Run;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let mut word = |otherwise: &str| words.next().unwrap_or_else(|| otherwise.to_owned());
    let runs: usize = word("50").parse()?;
    let (rate, duration) = (word("1k/s"), word("2s"));
    // Examples are built into a folder beside the program.
    let program: PathBuf = std::env::current_exe()?
        .ancestors()
        .nth(2)
        .ok_or("no folder above")?
        .join("uaperf");
    let folder = std::env::temp_dir().join(format!("uaperf-verdicts-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut server = Command::new(&program)
        .args([
            "serve",
            "--port",
            "0",
            "--security",
            "none",
            "--with-parent",
        ])
        .env("UAPERF_PKI", &folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut ready = String::new();
    let out = server.stdout.take().ok_or("no output")?;
    BufReader::new(out).read_line(&mut ready)?;
    let url = ready.trim().strip_prefix("READY ").ok_or("no server")?;
    println!("before    load average {}", load_average());
    let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
    for n in 0..runs {
        let file = folder.join(format!("{n}.json"));
        let mut command = Command::new(&program);
        command
            .args([
                "read",
                url,
                "--rate",
                &rate,
                "--duration",
                &duration,
                "--quiet",
            ])
            .arg("--out")
            .arg(&file)
            .args((n % 2 == 1).then_some("--spin"))
            .env("UAPERF_PKI", &folder)
            .stdout(Stdio::null());
        let status = command.status()?;
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
    server.kill()?;
    server.wait()?;
    println!("after     load average {}", load_average());
    for (verdict, n) in verdicts {
        println!("{n:>4}  {verdict}");
    }
    Ok(std::fs::remove_dir_all(&folder)?)
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
