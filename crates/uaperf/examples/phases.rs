//! How much of the delay of notifications is phase: the same subscription again and again, each time begun
//! at another moment of its publishing interval. `phases [RUNS] [PUBLISHING] [DURATION]`. Server and
//! generator are this program's build of `uaperf`.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use record::Run;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let mut word = |otherwise: &str| words.next().unwrap_or_else(|| otherwise.to_owned());
    let runs: usize = word("12").parse()?;
    let (publishing, duration) = (word("200ms"), word("4s"));
    // Examples are built into a folder beside the program.
    let program: PathBuf = std::env::current_exe()?
        .ancestors()
        .nth(2)
        .ok_or("no folder above")?
        .join("uaperf");
    let folder = std::env::temp_dir().join(format!("uaperf-phases-{}", std::process::id()));
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
        // Values are renewed as often as they are published, at moments of their own.
        .args(["--update", &publishing])
        .env("UAPERF_PKI", &folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut ready = String::new();
    let out = server.stdout.take().ok_or("no output")?;
    BufReader::new(out).read_line(&mut ready)?;
    let url = ready.trim().strip_prefix("READY ").ok_or("no server")?;
    println!(
        "{:>4}{:>12}{:>12}{:>12}",
        "run", "delay p50", "phase p50", "the rest"
    );
    let (mut delays, mut rests) = (Vec::new(), Vec::new());
    for n in 1..=runs {
        let file = folder.join(format!("{n}.json"));
        Command::new(&program)
            .args(["subscribe", url, "--node", "nsu=urn:bench;i=1000..1099"])
            .args([
                "--publishing",
                &publishing,
                "--sampling",
                "fastest",
                "--queue",
                "10",
            ])
            .args([
                "--duration",
                &duration,
                "--quiet",
                "--seed",
                &n.to_string(),
                "--out",
            ])
            .arg(&file)
            .env("UAPERF_PKI", &folder)
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
    server.kill()?;
    server.wait()?;
    let (whole, rest) = (deviation(&delays), deviation(&rests));
    println!(
        "deviation of p50 between runs {whole:.2} ms, without phase {rest:.3} ms: {:.2} % of it",
        100.0 * rest / whole
    );
    Ok(std::fs::remove_dir_all(&folder)?)
}

fn deviation(values: &[f64]) -> f64 {
    let n = values.len().max(2) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares = values.iter().map(|value| (value - mean).powi(2));
    (squares.sum::<f64>() / (n - 1.0)).sqrt()
}
