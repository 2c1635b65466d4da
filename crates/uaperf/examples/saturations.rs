//! What `uaperf saturate` finds, again and again.
//!
//! `saturations plant [TIMES] [SERVICE_TIME] [DURATION] [OBJECTIVE]`: of plants that take so long for each Read, one
//! after the other, so that what there is to find is known: one over the service time. `saturations read NAME [TIMES]
//! [DURATION] [OBJECTIVE]`: how many single Reads a second another stack's server answers within the
//! objective. `saturations subscribe NAME [TIMES] [DURATION] [OBJECTIVE]`: how many items that change every 20 ms it
//! tells. NAME is one of `uaperf peers list`, or `plant`. Each search of `plant` has a process of its own, the
//! searches of a NAME have one together, on the first CPU; the generator is on the second. Server and generator are this program's build of `uaperf`.

use std::path::Path;
use std::time::{Duration, Instant};

use peers::{Server as Peer, Stack, StartOptions};
use plan::unit::duration;
use support::{Bench, Fallible};

mod support;

fn main() -> Fallible<()> {
    let mut word = support::words();
    let what = word("plant");
    let bench = Bench::new("saturations")?;
    let done = match what.as_str() {
        "plant" => plants(&bench, &mut word),
        "read" | "subscribe" => servers(&bench, &what, &mut word),
        other => Err(format!("{other}: want plant, read or subscribe").into()),
    };
    bench.clear()?;
    done
}

/// Searches whose result is known.
fn plants(bench: &Bench, word: &mut impl FnMut(&str) -> String) -> Fallible<()> {
    let times: usize = word("10").parse()?;
    let service_time = word("2ms");
    let length = word("2s");
    let objective = word("p99<50ms");
    let capacity = 1.0 / duration::parse(&service_time)?.as_secs_f64();
    println!("a Read takes {service_time}: {capacity:.1}/s; {objective}, trials of {length}");
    let mut ratios = Vec::new();
    for n in 1..=times {
        let fault = format!("service_time={service_time},on=read");
        let server = bench.serve(&["--pin", "0", "--fault", &fault])?;
        let found = search(bench, "read", &server.url, &length, &objective, n)?;
        let ratio = found.knee / capacity;
        println!("{n:>3}  {found}  {:+.2} % off", (ratio - 1.0) * 100.0);
        ratios.push(ratio);
    }
    let right = ratios.iter().filter(|ratio| (*ratio - 1.0).abs() <= 0.03);
    println!(
        "within 3 %: {} of {times}; {}",
        right.count(),
        spread(&ratios)
    );
    Ok(())
}

/// Searches of servers, whose results are to agree.
fn servers(bench: &Bench, what: &str, word: &mut impl FnMut(&str) -> String) -> Fallible<()> {
    let name = word("open62541");
    let times: usize = word("2").parse()?;
    let length = word("3s");
    let objective = word(if what == "read" { "p99<20ms" } else { "loss=0" });
    println!("{name}, {what}: {objective}, trials of {length}");
    // One process for all searches: two of the same program differ by more than searches do.
    let (plant, peer);
    let url = if name == "plant" {
        plant = bench.serve(&["--pin", "0", "--update", "20ms"])?;
        plant.url.as_str()
    } else {
        let stack = Stack::named(&name).ok_or("no such stack")?;
        let options = StartOptions {
            update: (what == "subscribe").then_some(Duration::from_millis(20)),
            pin: Some("0".to_owned()),
            ..StartOptions::default()
        };
        peer = Peer::start(stack, &options)?;
        // Runtimes that compile what they run often are another server in the first seconds.
        warm_up(bench, peer.url())?;
        peer.url()
    };
    let mut knees = Vec::new();
    for n in 1..=times {
        let found = search(bench, what, url, &length, &objective, n)?;
        println!("{n:>3}  {found}");
        knees.push(found.knee);
    }
    println!("{}", spread(&knees));
    Ok(())
}

/// What a search found, and what it took.
struct Found {
    knee: f64,
    range: String,
    trials: usize,
    took: Duration,
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            knee,
            range,
            trials,
            took,
        } = self;
        write!(
            f,
            "{knee:>9.1}  {range:<22} {trials:>3} trials in {:>3} s",
            took.as_secs()
        )
    }
}

fn search(
    bench: &Bench,
    what: &str,
    url: &str,
    length: &str,
    objective: &str,
    n: usize,
) -> Fallible<Found> {
    let folder = bench.folder.join(format!("search-{n}"));
    let begun = Instant::now();
    let mut command = bench.uaperf();
    command.args([
        "saturate",
        what,
        url,
        "--quiet",
        "--pin",
        "1",
        "--security",
        "none",
    ]);
    command.args([
        "--duration",
        length,
        "--slo",
        objective,
        "--seed",
        &n.to_string(),
    ]);
    match what {
        "read" => command.args(["-n", "nsu=urn:bench;i=1000", "--from", "100/s"]),
        _ => command
            .args([
                "-n",
                "nsu=urn:bench;i=1000..1999",
                "--grow",
                "items",
                "--from",
                "50",
            ])
            .args([
                "--sampling",
                "100ms",
                "--publishing",
                "100ms",
                "--queue",
                "10",
            ])
            .args(["--change-rate", "50/s"]),
    };
    let output = command.arg("--out").arg(&folder).output()?;
    let file = folder.join("search.json");
    let read = |file: &Path| -> Fallible<serde_json::Value> {
        Ok(serde_json::from_slice(&std::fs::read(file)?)?)
    };
    let kept = read(&file).unwrap_or_default();
    let at = |name: &str| kept["capacity"][name].as_f64();
    let Some(((knee, low), high)) = at("knee").zip(at("low")).zip(at("high")) else {
        let said = [output.stdout, output.stderr].concat();
        return Err(String::from_utf8_lossy(&said).into_owned().into());
    };
    Ok(Found {
        knee,
        range: format!("{low:.1} to {high:.1}"),
        trials: kept["trials"].as_array().map_or(0, Vec::len),
        took: begun.elapsed(),
    })
}

fn warm_up(bench: &Bench, url: &str) -> Fallible<()> {
    bench
        .uaperf()
        .args([
            "read",
            url,
            "-n",
            "nsu=urn:bench;i=1000",
            "--quiet",
            "--pin",
            "1",
        ])
        .args([
            "--in-flight",
            "16",
            "--duration",
            "10s",
            "--security",
            "none",
        ])
        .arg("--out")
        .arg(bench.folder.join("warm-up.json"))
        .output()?;
    Ok(())
}

fn spread(figures: &[f64]) -> String {
    let least = figures.iter().copied().fold(f64::MAX, f64::min);
    let most = figures.iter().copied().fold(f64::MIN, f64::max);
    format!(
        "the largest is {:.2} % above the smallest",
        (most / least - 1.0) * 100.0
    )
}
