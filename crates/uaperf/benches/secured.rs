//! Thousands of secured sessions at once: `cargo bench -p uaperf --bench secured -- [OPTIONS]`
//!
//! A plant that has room for them, and several `uaperf connect --kind storm` that open them and hold them.
//! Told is how long it took, how many the plant itself says there were at once, and what each weighs.

#![allow(clippy::print_stdout, reason = "a bench says what it found")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use load::access::{Access, Security, Session, TrustRule};
use load::transport::Steps;
use observe::Process;
use plan::unit::{Bytes, duration};
use wire::channel::Protection;
use wire::types::{
    AttributeId, NodeId, ReadRequest, ReadValueId, TimestampsToReturn, VariableId, Variant,
};

const USAGE: &str = "\
cargo bench -p uaperf --bench secured
  --sessions N       of each process [default: 5000]
  --processes N      that open them [default: 2]
  --hold DURATION    how long each process holds its own [default: 40s]
  --security WAY     POLICY:MODE, or none [default: Basic256Sha256:SignAndEncrypt]
  --at-once N        sessions that a process opens at the same time [default: that of uaperf connect]
  --threads N        loops of the plant [default: that of uaperf serve]
It takes a minute or two, and wants an idle machine.";

/// What is asked of it.
const MOST_SECONDS: f64 = 60.0;
const MOST_BYTES: f64 = 20.0 * 1024.0;

/// How often is looked.
const LOOK: Duration = Duration::from_millis(200);
/// For steps that take moments.
const PATIENCE: Duration = Duration::from_secs(60);

struct Options {
    sessions: u64,
    processes: u64,
    hold: Duration,
    security: String,
    at_once: Option<u64>,
    threads: Option<u64>,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> anyhow::Result<Option<Self>> {
        let mut options = Self {
            sessions: 5_000,
            processes: 2,
            hold: Duration::from_secs(40),
            security: "Basic256Sha256:SignAndEncrypt".into(),
            at_once: None,
            threads: None,
        };
        while let Some(word) = words.next() {
            if word == "--bench" {
                // Added by cargo.
                continue;
            }
            if word == "--help" {
                return Ok(None);
            }
            let text = words
                .next()
                .with_context(|| format!("{word}: wants a value, or is no option\n{USAGE}"))?;
            let number = || {
                let number = text.parse().ok().filter(|&n: &u64| n > 0);
                number.with_context(|| format!("bad {word}: {text} (want 1 or more)"))
            };
            match word.as_str() {
                "--sessions" => options.sessions = number()?,
                "--processes" => options.processes = number()?,
                "--at-once" => options.at_once = Some(number()?),
                "--threads" => options.threads = Some(number()?),
                "--hold" => options.hold = duration::parse(&text).map_err(anyhow::Error::msg)?,
                "--security" => options.security = text,
                _ => bail!("{word}: no such option\n{USAGE}"),
            }
        }
        Ok(Some(options))
    }

    fn all(&self) -> u64 {
        self.sessions * self.processes
    }
}

fn main() -> anyhow::Result<()> {
    let Some(options) = Options::read(std::env::args().skip(1))? else {
        println!("{USAGE}");
        return Ok(());
    };
    run(&options)
}

/// A process that does not outlive this one by much.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn uaperf(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_uaperf"));
    command.args(words).current_dir(folder);
    command
}

/// A plant with room for so many.
fn serve(folder: &Path, options: &Options) -> anyhow::Result<(Running, String)> {
    let all = options.all();
    let (sessions, connections) = (all + all / 10 + 10, all + all / 5 + 10);
    let plant = format!(
        "[limits]\nsessions = {sessions}\nconnections = {connections}\n\n[[namespace]]\nuri = \"urn:uaperf:secured\"\n\n\
         [[namespace.signals]]\nname = \"Value\"\ntype = \"Double\"\n"
    );
    std::fs::write(folder.join("plant.toml"), plant)?;
    let words = ["serve", "plant.toml", "--port", "0"];
    let mut command = uaperf(folder, &words);
    command.args(["--trust", "--with-parent", "--pki", "server"]);
    if let Some(threads) = options.threads {
        command.args(["--threads", &threads.to_string()]);
    }
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut running = Running(child.context("start the plant")?);
    let mut line = String::new();
    if let Some(out) = running.0.stdout.take() {
        BufReader::new(out).read_line(&mut line)?;
    }
    let url = line.trim().strip_prefix("READY ");
    let url = url.context("the plant did not start")?.to_owned();
    Ok((running, url))
}

/// The command of those who come.
fn connect(folder: &Path, url: &str, options: &Options, out: &str) -> Command {
    let words = ["connect", url, "--quiet", "--trust", "--allow", "storm"];
    let mut command = uaperf(folder, &words);
    command.args(["--pki", "client", "--security", &options.security]);
    command.args(["--timeout", "60s", "--out", out]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// A session of our own, to ask the plant how many there are.
fn asking(url: &str, folder: &Path) -> anyhow::Result<Session> {
    let way = Access {
        security: Security::Exactly(Protection::NONE),
        trust: TrustRule::Everyone,
        timeout: PATIENCE,
        ..Access::new(
            url.parse()?,
            pki::Store::new(folder.join("asking")),
            pki::make::Request::application("urn:uaperf:secured"),
        )
    };
    Ok(way.open(&way.discover()?, &mut Steps::new())?)
}

/// CurrentSessionCount of ServerDiagnosticsSummary, without the one that asks.
fn sessions(asking: &mut Session) -> anyhow::Result<u64> {
    let count = VariableId::Server_ServerDiagnostics_ServerDiagnosticsSummary_CurrentSessionCount;
    let request_header = asking.header();
    let response = asking.call(ReadRequest {
        request_header,
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(vec![ReadValueId {
            node_id: NodeId::from(count),
            attribute_id: AttributeId::Value as u32,
            ..Default::default()
        }]),
    })?;
    let value = response.results.unwrap_or_default().pop();
    match value.and_then(|value| value.value) {
        Some(Variant::UInt32(n)) => Ok(u64::from(n.saturating_sub(1))),
        other => bail!("CurrentSessionCount is {other:?}"),
    }
}

/// What was seen of the plant while they came and were there.
#[derive(Default)]
struct Seen {
    /// From the start of the processes until all were there.
    connected: Option<Duration>,
    /// The most that there were at once.
    most: u64,
    /// Looks at the plant's memory while all were there.
    memory: Vec<f64>,
    /// The most that each process took.
    clients: Vec<u64>,
    /// CPU of the plant until all were there.
    cpu: Option<Duration>,
}

fn figure(pid: u32, of: fn(observe::Sample) -> observe::Figure<u64>) -> Option<u64> {
    of(Process::of(pid).ok()?.sample()).ok()
}

fn run(options: &Options) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("uaperf-secured-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let done = held(options, &folder);
    std::fs::remove_dir_all(&folder).ok();
    done
}

fn held(options: &Options, folder: &Path) -> anyhow::Result<()> {
    let (plant, url) = serve(folder, options)?;
    let pid = plant.0.id();
    // Certificates are made once, not while the clock runs.
    let mut first = connect(folder, &url, options, "first.json");
    let first = first.args(["--sessions", "1", "--requests", "10"]).status();
    let code = first?.code();
    // Whether its figures are any good is not asked here.
    let failed = errors(&folder.join("first.json")).map_or(true, |errors| errors > 0);
    ensure!(
        !failed,
        "the first session did not come: exit code {code:?}"
    );
    let mut asking = asking(&url, folder)?;
    let rss = |pid| figure(pid, |sample| sample.rss_bytes);
    let cpu = || figure(pid, |sample| sample.cpu_ns).map(Duration::from_nanos);
    let (before, cpu_before) = (rss(pid), cpu());

    let start = Instant::now();
    let mut clients = Vec::new();
    for n in 0..options.processes {
        let mut command = connect(folder, &url, options, &format!("{n}.json"));
        let hold = format!("{}ms", options.hold.as_millis());
        let sessions = options.sessions.to_string();
        command.args(["--kind", "storm", "--sessions", &sessions, "--hold", &hold]);
        if let Some(at_once) = options.at_once {
            command.args(["--at-once", &at_once.to_string()]);
        }
        clients.push(Running(command.spawn().context("start a client")?));
    }
    let mut seen = Seen {
        clients: vec![0; clients.len()],
        ..Seen::default()
    };
    let mut ended = vec![None; clients.len()];
    while ended.iter().any(Option::is_none) {
        let now = sessions(&mut asking)?;
        seen.most = seen.most.max(now);
        if now >= options.all() {
            if seen.connected.is_none() {
                seen.connected = Some(start.elapsed());
                seen.cpu = cpu().zip(cpu_before).map(|(now, before)| now - before);
            }
            seen.memory.extend(rss(pid).map(|bytes| bytes as f64));
        }
        for ((client, ended), most) in clients.iter_mut().zip(&mut ended).zip(&mut seen.clients) {
            *most = (*most).max(rss(client.0.id()).unwrap_or(0));
            *ended = ended.or(client.0.try_wait()?);
        }
        std::thread::sleep(LOOK);
    }
    let codes = ended.iter().flatten().map(std::process::ExitStatus::code);
    let codes: Vec<_> = codes.map(known).collect();
    let errors = (0..options.processes).map(|n| errors(&folder.join(format!("{n}.json"))));
    let errors: u64 = errors.sum::<anyhow::Result<u64>>()?;
    tell(options, &seen, before, errors, &codes.join(" and "));
    Ok(())
}

fn known(code: Option<i32>) -> String {
    code.map_or_else(|| "none".to_owned(), |code| code.to_string())
}

/// Errors in a result file.
fn errors(file: &Path) -> anyhow::Result<u64> {
    let text = std::fs::read(file).with_context(|| file.display().to_string())?;
    let run: serde_json::Value = serde_json::from_slice(&text)?;
    let errors = run["phases"][0]["total"]["errors"].as_u64();
    errors.with_context(|| format!("{}: no errors are told", file.display()))
}

fn tell(options: &Options, seen: &Seen, before: Option<u64>, errors: u64, codes: &str) {
    let all = options.all();
    let bar = |holds: bool| if holds { "pass" } else { "FAIL" };
    println!(
        "{} processes with {} sessions each, {}, held for {} s",
        options.processes,
        options.sessions,
        options.security,
        options.hold.as_secs_f64()
    );
    println!(
        "held at once  {} by the plant's own count: {}",
        seen.most,
        bar(seen.most >= all)
    );
    match seen.connected {
        Some(took) => println!(
            "connected     in {:.1} s, {:.0} sessions/s: {}",
            took.as_secs_f64(),
            all as f64 / took.as_secs_f64(),
            bar(took.as_secs_f64() < MOST_SECONDS)
        ),
        None => println!("connected     never all of them: FAIL"),
    }
    let memory = seen.memory.iter().sum::<f64>() / seen.memory.len().max(1) as f64;
    match before.filter(|_| !seen.memory.is_empty()) {
        Some(before) => {
            let each = (memory - before as f64) / all as f64;
            let (from, to) = (Bytes::show(before as f64), Bytes::show(memory));
            println!(
                "memory        {} a session in the plant ({from} before, {to} with them): {}",
                Bytes::show(each),
                bar(each < MOST_BYTES)
            );
        }
        None => println!("memory        n/a"),
    }
    let client = seen.clients.iter().copied().max().unwrap_or(0) as f64;
    println!(
        "clients       {} a session at most, {errors} errors: {} (exit codes {codes})",
        Bytes::show(client / options.sessions as f64),
        bar(errors == 0)
    );
    if let Some(cpu) = seen.cpu {
        println!(
            "CPU           {:.2} ms a session in the plant",
            cpu.as_secs_f64() * 1e3 / all as f64
        );
    }
}
