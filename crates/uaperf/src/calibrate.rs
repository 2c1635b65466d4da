//! `uaperf calibrate`: what this host can do, before a server is blamed.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use load::calibrate::{self, Calibration, Measured};
use load::engine::Target;
use plan::NodeSpec;
use plan::unit::{Rate, duration};
use wire::channel::Protection;
use wire::policy::Policy;

use crate::failure::Failure;
use crate::global::Global;
use crate::screen::tell;
use crate::serving::{self, Folder, Serving};
use crate::{place, results, screen};

/// Find out what this host can do: clocks, timers, sockets, the generator, cryptography
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// How long to measure in all
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = budget)]
    budget: Duration,
    /// JSON for machines instead of a screen for people
    #[arg(long)]
    json: bool,
    /// Keep it in this file [default: calibration.json in the user's configuration folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// No progress while it runs
    #[arg(short, long)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Results of later runs on this host say how much of it they used.

Examples:
  uaperf calibrate
  uaperf calibrate --budget 2m --json > host.json";

fn budget(text: &str) -> Result<Duration, String> {
    let long = duration::parse(text).map_err(|error| error.to_string())?;
    match (Duration::from_secs(1)..=Duration::from_secs(3600)).contains(&long) {
        true => Ok(long),
        false => Err("want 1s to 1h".to_owned()),
    }
}

/// Carries out `uaperf calibrate`.
pub fn run(args: Args, _: &Global) -> anyhow::Result<ExitCode> {
    let file = match &args.out {
        Some(file) => file.clone(),
        None => file()?,
    };
    serving::clear_on_interrupt()?;
    let calibration = measure(args.budget, args.quiet)?;
    let text = serde_json::to_string_pretty(&calibration)?;
    screen::print(&calibration, args.json, write_screen)?;
    results::write(&file, &(text + "\n"))?;
    if !args.json {
        writeln!(screen::out(), "\nkept in {}", file.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the calibration of this host is kept.
fn file() -> anyhow::Result<PathBuf> {
    Ok(place::configuration()?.join("calibration.json"))
}

/// From this share on, a server that could do more would not show it.
const NEAR: f64 = 0.8;

/// What was kept of a calibration, if anything was.
pub fn kept() -> Option<Calibration> {
    serde_json::from_slice(&std::fs::read(file().ok()?).ok()?).ok()
}

/// Whether a calibration is of this host and build; nothing if there is none.
pub fn is_current() -> Option<bool> {
    Some(kept()?.is_of(&observe::fingerprint()))
}

/// How fast this host is: values in a second that one thread asked of the built-in server.
pub fn speed() -> Result<f64, Failure> {
    let current = kept().filter(|it| it.is_of(&observe::fingerprint()));
    let speed = current.and_then(|it| it.values_per_s(u32::MAX));
    speed.ok_or_else(|| {
        Failure::usage("how fast this host is was not measured by this build")
            .hint("uaperf calibrate")
    })
}

/// How much of what this host can do a load was: to be said beside a result. Nothing if it was
/// never calibrated, or as another build.
pub fn headroom(values_per_s: f64, batch: u32, threads: u32) -> Option<String> {
    let calibration = kept()?;
    if !calibration.is_of(&observe::fingerprint()) {
        return None;
    }
    let most = calibration.values_per_s(batch)? * f64::from(threads.max(1));
    let share = values_per_s / most;
    Some(format!(
        "{:.0} % of the {} values that {} asked of the built-in server when this host was calibrated{}",
        share * 100.0,
        Rate::show(most),
        match threads {
            0 | 1 => "one thread".to_owned(),
            n => format!("{n} threads"),
        },
        match share >= NEAR {
            true => ": the generator may be the limit, which more --threads would show",
            false => "",
        }
    ))
}

/// Shares of the time: clocks 1, timers 4, sockets 3, the generator 7, five policies 1 each.
const SHARES: u32 = 20;

fn measure(budget: Duration, quiet: bool) -> anyhow::Result<Calibration> {
    let say = |what: &str| {
        if !quiet {
            tell!("{what} …");
        }
    };
    let share = budget / SHARES;
    say("clocks");
    let clocks = calibrate::clocks(share);
    let mut pacing = Vec::new();
    for (rate, spin) in [(1_000, false), (10_000, false), (10_000, true)] {
        let how = if spin { "spinning" } else { "sleeping" };
        say(&format!("timers, {rate} a second, {how}"));
        pacing.push(calibrate::pacing(rate, spin, share * 4 / 3)?);
    }
    say("sockets over the loopback");
    let raw = calibrate::raw(share * 3)?;
    say("the generator against the built-in server");
    let generator = generator(share * 7)?;
    let mut policies = Vec::new();
    for policy in Policy::OF_RSA.into_iter().filter(|it| *it != Policy::None) {
        say(policy.name());
        policies.push(calibrate::policy(policy, share)?);
    }
    Ok(Calibration {
        taken: SystemTime::now().into(),
        machine: observe::fingerprint(),
        clocks,
        pacing,
        raw,
        generator,
        policies,
    })
}

fn generator(budget: Duration) -> anyhow::Result<Vec<calibrate::Generated>> {
    let folder = Folder::make("calibrate")?;
    let server = Serving::start(&["--profile", "bench", "--trust"], &folder.0)?;
    let access = server.access(Protection::NONE, &folder.0.join("client"));
    let target = Target::look(access).map_err(|failed| failed.1)?;
    let nodes: NodeSpec = "nsu=urn:bench;i=1000..1099".parse()?;
    Ok(calibrate::generator(&Arc::new(target), &nodes, budget)?)
}

fn write_screen(out: &mut String, it: &Calibration) -> std::fmt::Result {
    let cpu = it.machine.cpu.known().map_or("unknown CPU", String::as_str);
    let cores = it.machine.cores.known();
    let cores = cores.map_or("unknown number of".to_owned(), ToString::to_string);
    writeln!(
        out,
        "{cpu}, {cores} cores; median (lowest to highest) of 7 slices\n"
    )?;
    let clocks = &it.clocks;
    writeln!(
        out,
        "clock       {} a look, both clocks {}; steps of {}",
        one(&clocks.monotonic_ns),
        one(&clocks.both_ns),
        time(clocks.step_ns as f64)
    )?;
    writeln!(
        out,
        "\nlateness{:>26}{:>12}{:>12}{:>12}",
        "p50", "p99", "p99.9", "max"
    )?;
    for it in &it.pacing {
        let how = if it.spin { "spinning" } else { "sleeping" };
        let name = format!("{}, {how}", Rate::show(f64::from(it.rate_per_s)));
        let times = [it.p50_ns, it.p99_ns, it.p999_ns, it.max_ns].map(|ns| time(ns as f64));
        let [p50, p99, p999, max] = times;
        writeln!(out, "  {name:<20}{p50:>12}{p99:>12}{p999:>12}{max:>12}")?;
    }
    let raw = &it.raw;
    writeln!(
        out,
        "\nraw sockets over the loopback, {} and {} bytes",
        raw.request_bytes, raw.response_bytes
    )?;
    for (name, figure) in [
        ("round trip, sleeping", &raw.sleeping_ns),
        ("round trip, spinning", &raw.spinning_ns),
        ("64 in flight, each", &raw.pipelined_ns),
    ] {
        writeln!(out, "  {name:<38}{}", spread(figure))?;
    }
    writeln!(
        out,
        "\none thread of the generator against the built-in server\n  {:<38}{:>14}{:>14}{:>14}",
        "", "requests/s", "CPU each", "round trip"
    )?;
    for it in &it.generator {
        writeln!(
            out,
            "  {:<38}{:>14}{:>14}{:>14}",
            it.name,
            Rate::show(it.rate_per_s.median),
            it.cpu_ns.map_or_else(|| "n/a".to_owned(), |ns| one(&ns)),
            one(&it.round_trip_ns)
        )?;
    }
    writeln!(
        out,
        "\na chunk of 8 KiB{:>30}{:>12}{:>12}{:>12}",
        "sign", "encrypt", "decrypt", "verify"
    )?;
    for it in &it.policies {
        let Some(chunk) = it.chunks.iter().max_by_key(|chunk| chunk.bytes) else {
            continue;
        };
        let times = [
            &chunk.sign_ns,
            &chunk.encrypt_ns,
            &chunk.decrypt_ns,
            &chunk.verify_ns,
        ];
        row(out, &it.policy, times)?;
    }
    writeln!(out, "\na block with an RSA key")?;
    for it in &it.policies {
        let key = &it.key;
        let name = format!("{}, {} bits", it.policy, key.bits);
        row(
            out,
            &name,
            [
                &key.sign_ns,
                &key.encrypt_ns,
                &key.decrypt_ns,
                &key.verify_ns,
            ],
        )?;
    }
    Ok(())
}

fn row(out: &mut String, name: &str, times: [&Measured; 4]) -> std::fmt::Result {
    let [a, b, c, d] = times.map(one);
    writeln!(out, "  {name:<34}{a:>10}{b:>12}{c:>12}{d:>12}")
}

fn time(ns: f64) -> String {
    duration::show_nanos(ns)
}

fn one(figure: &Measured) -> String {
    time(figure.median)
}

fn spread(figure: &Measured) -> String {
    format!(
        "{:>10}   ({} to {})",
        time(figure.median),
        time(figure.low),
        time(figure.high)
    )
}
