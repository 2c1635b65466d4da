//! Subscribes to every installed stack's server, few items, many items, and more than it can serve, and
//! writes what came of it into `docs/interop.md`. See `--help`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use interop::page;
use peers::{Server, Stack, StackState, StartOptions};
use serde_json::Value;

const HELP: &str = "\
Runs `uaperf subscribe` against each installed stack's server: 1 session with 1 subscription of 1000
items each 100 ms; 10 x 10 x 100 items each second; and 4 x 5 x 1000 items each 50 ms, which is more
than most can do. Writes the tables of docs/interop.md.

Usage: subscriptions [--only STACK,…] [--program UAPERF] [--duration 10s]

UAPERF is the program beside this one if not given. Needs a release build for figures that mean anything.

Exit: 0 done, 1 something could not be run, 2 wrong usage.";

/// A load: its name, options, and how often values change.
struct Case {
    title: &'static str,
    options: &'static [&'static str],
    update: Duration,
}

const CASES: [Case; 3] = [
    Case {
        title: "1 × 1 × 1000 items, publishing, sampling and changing each 100 ms",
        options: &[
            "--items",
            "1000",
            "--publishing",
            "100ms",
            "--sampling",
            "100ms",
            "--queue",
            "10",
            "--change-rate",
            "10/s",
        ],
        update: Duration::from_millis(100),
    },
    Case {
        title: "10 × 10 × 100 items, publishing, sampling and changing each second",
        options: &[
            "--sessions",
            "10",
            "--subscriptions",
            "10",
            "--items",
            "100",
            "--publishing",
            "1s",
            "--sampling",
            "1s",
            "--queue",
            "10",
            "--change-rate",
            "1/s",
        ],
        update: Duration::from_secs(1),
    },
    Case {
        title: "overload: 4 × 5 × 1000 items, publishing, sampling and changing each 50 ms",
        options: &[
            "--sessions",
            "4",
            "--subscriptions",
            "5",
            "--items",
            "1000",
            "--publishing",
            "50ms",
            "--sampling",
            "50ms",
            "--queue",
            "2",
            "--change-rate",
            "20/s",
        ],
        update: Duration::from_millis(50),
    },
];

struct Args {
    stacks: Vec<&'static Stack>,
    program: PathBuf,
    duration: String,
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Args>, String> {
    let beside = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut args = Args {
        stacks: Stack::all().to_vec(),
        program: beside.with_file_name("uaperf"),
        duration: "10s".to_owned(),
    };
    while let Some(word) = words.next() {
        let mut next = |what: &str| words.next().ok_or(format!("{word} wants {what}"));
        match word.as_str() {
            "--help" | "-h" => return Ok(None),
            "--program" => args.program = next("a program")?.into(),
            "--duration" => args.duration = next("a duration")?,
            "--only" => {
                let names = next("STACK,…")?;
                let stacks = names.split(',').map(|name| {
                    Stack::named(name).ok_or_else(|| format!("there is no stack named {name}"))
                });
                args.stacks = stacks.collect::<Result<_, _>>()?;
            }
            other => return Err(format!("unknown argument {other}")),
        }
    }
    Ok(Some(args))
}

fn main() -> ExitCode {
    let args = match parse(std::env::args().skip(1)) {
        Ok(Some(args)) => args,
        Ok(None) => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(what) => {
            eprintln!("{what}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let mut text = String::new();
    for case in &CASES {
        writeln!(text, "\n### {}\n", upper(case.title))?;
        text.push_str(TABLE);
        for stack in &args.stacks {
            let name = stack.name;
            if !matches!(stack.state(), StackState::Installed) {
                eprintln!("{name}: not installed, so not tried: uaperf peers install {name}");
                continue;
            }
            let row = match tried(stack, case, args, folder.path()) {
                Ok(run) => row(&run),
                Err(error) => format!(
                    "| {} |||||||||",
                    error.to_string().replace(['\n', '|'], " ")
                ),
            };
            eprintln!("{name} {}: {row}", case.title);
            writeln!(text, "| {name} {row}")?;
        }
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::write(here.join("src/notified.md"), &text)?;
    std::fs::write(here.join("../../docs/interop.md"), page::with(&text))?;
    Ok(())
}

const TABLE: &str = "\
| server | verdict | lost | values/s | delay p50 | p99 | cycle p50 | most unlike (Jain) | CPU of the server | conduct |
|---|---|---|---|---|---|---|---|---|---|
";

/// Starts a stack's server and subscribes to it.
fn tried(
    stack: &'static Stack,
    case: &Case,
    args: &Args,
    folder: &Path,
) -> Result<Value, Box<dyn std::error::Error>> {
    let options = StartOptions {
        update: Some(case.update),
        ..StartOptions::default()
    };
    let server = Server::start(stack, &options)?;
    let file = folder.join("run.json");
    // Of an earlier stack: there need not be any.
    let _ = std::fs::remove_file(&file);
    let output = Command::new(&args.program)
        .args([
            "subscribe",
            server.url(),
            "--quiet",
            "--duration",
            &args.duration,
        ])
        .args(["-n", "nsu=urn:bench;i=1000..1999", "--security", "none"])
        .args(case.options)
        .args(["--server-pid", &server.pid().to_string(), "--out"])
        .arg(&file)
        .env("UAPERF_PKI", folder.join("pki"))
        .output()?;
    match std::fs::read(&file) {
        Ok(text) => Ok(serde_json::from_slice(&text)?),
        Err(_) => Err(String::from_utf8_lossy(&output.stderr)
            .trim()
            .to_owned()
            .into()),
    }
}

/// What a run says, as the rest of a row.
fn row(run: &Value) -> String {
    let phase = &run["phases"][0];
    let told = &phase["subscriptions"];
    let histogram = |name: &str, stat: &str| {
        let figure = phase["total"]["histograms"][name][stat].as_f64();
        figure.map_or("–".to_owned(), |ns| format!("{:.1} ms", ns / 1e6))
    };
    let window = phase["to_ns"].as_f64().unwrap_or(0.0) - phase["from_ns"].as_f64().unwrap_or(0.0);
    // Not by their timestamps: some servers give none.
    let each = told["each"].as_array().into_iter().flatten();
    let values: u64 = each.filter_map(|it| it["values"].as_u64()).sum();
    let rate = values as f64 * 1e9 / window.max(1.0);
    let lost = match (told["lost"].as_u64(), told["by_rate"]["expected"].as_u64()) {
        (Some(0), _) => "0".to_owned(),
        (Some(lost), Some(expected)) if expected > 0 => {
            format!("{:.1} %", 100.0 * lost as f64 / expected as f64)
        }
        (Some(lost), _) => lost.to_string(),
        (None, _) => "–".to_owned(),
    };
    let resources = phase["resources"].as_array();
    let server = resources.and_then(|all| all.iter().find(|it| it["who"] == "server"));
    let cpu = server.and_then(|it| it["window"]["cpu_cores"].as_f64());
    let cpu = cpu.map_or("–".to_owned(), |cores| format!("{:.0} %", cores * 100.0));
    let fair = &told["fairness"];
    let few = fair["min_values_per_item"].as_f64();
    let many = fair["max_values_per_item"].as_f64();
    let fair = match (few, many, fair["jain"].as_f64()) {
        (Some(few), Some(many), Some(jain)) => format!("{few:.1} to {many:.1} ({jain:.3})"),
        _ => "–".to_owned(),
    };
    let verdict = phase["verdict"]["kind"].as_str().unwrap_or("–");
    format!(
        "| {verdict} | {lost} | {rate:.0} | {} | {} | {} | {fair} | {cpu} | {} |",
        histogram("delay", "p50_ns"),
        histogram("delay", "p99_ns"),
        histogram("cycle", "p50_ns"),
        conduct(told),
    )
}

/// How a server bears its load.
fn conduct(told: &Value) -> String {
    let ended = told["ended"].as_array().into_iter().flatten();
    let ended: Vec<String> = ended
        .filter(|it| {
            ["ended", "publish", "item"]
                .iter()
                .any(|what| it["what"] == *what)
        })
        .filter_map(|it| {
            Some(format!(
                "{} {}",
                it["count"].as_u64()?,
                it["name"].as_str()?
            ))
        })
        .collect();
    let fair = match told["fairness"]["jain"].as_f64() {
        Some(jain) if jain < 0.95 => ", unfair",
        _ => ", fair",
    };
    match (ended.is_empty(), told["lost"].as_u64()) {
        (true, Some(0)) => format!("keeps up{fair}"),
        (true, _) => format!("graceful: fewer values{fair}"),
        (false, _) => format!("abrupt: {}{fair}", ended.join(", ")),
    }
}

fn upper(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
