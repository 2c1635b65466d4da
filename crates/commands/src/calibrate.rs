//! `uaperf calibrate`: what this host can do, before a server is blamed.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use load::calibrate::{self, Calibration, Measured};
use load::engine::{Progress, Target};
use plan::NodeSpec;
use plan::unit::{Rate, duration};
use wire::channel::Protection;
use wire::policy::Policy;

use crate::global::Global;
use crate::interrupt;
use crate::quick::{self, feed::FeedSender};
use crate::screen::tell;
use crate::serving::{Folder, Serving};
use crate::{calibrated, results, screen, written};

/// Measure what this host can do: clocks, timers, sockets, the generator, cryptography
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
    #[command(flatten)]
    feed: quick::feed::Args,
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
        None => calibrated::file()?,
    };
    written::check([("--live-file", &args.feed.live_file)], &[])?;
    args.feed.open()?;
    interrupt::quits()?;
    let calibration = measure(args.budget, args.quiet)?;
    let text = serde_json::to_string_pretty(&calibration)?;
    let taken = args.feed.live_file.as_deref();
    let mut out = screen::Out::beside_file(taken.is_some_and(written::is_output));
    match args.json {
        true => screen::json(&mut out, &calibration)?,
        false => out.write_all(screen::text(&calibration, write_screen).as_bytes())?,
    }
    results::write(&file, &(text + "\n"))?;
    if !args.json {
        writeln!(out, "\nkept in {}", file.display())?;
    }
    Ok(ExitCode::SUCCESS)
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
    let mut feed_sender: Option<(&str, FeedSender)> = None;
    let told = |name: &'static str, progress: &Progress| {
        // Each slice is a measurement of its own. One in which nothing happened tells nothing.
        let goes_on = feed_sender.take().filter(|it| it.0 == name);
        feed_sender = goes_on.or_else(|| Some((name, FeedSender::of("calibrate", name)?)));
        let Some((_, it)) = feed_sender.as_mut() else {
            return;
        };
        it.follow(progress);
        feed_sender = feed_sender.take().filter(|_| !progress.last);
    };
    Ok(calibrate::generator(
        &Arc::new(target),
        &nodes,
        budget,
        told,
    )?)
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
        duration::show_ns(clocks.step_ns)
    )?;
    writeln!(
        out,
        "\nlateness{:>26}{:>12}{:>12}{:>12}",
        "p50", "p99", "p99.9", "max"
    )?;
    for it in &it.pacing {
        let how = if it.spin { "spinning" } else { "sleeping" };
        let name = format!("{}, {how}", Rate::show(f64::from(it.rate_per_s)));
        let times = [it.p50_ns, it.p99_ns, it.p999_ns, it.max_ns].map(duration::show_ns);
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

fn one(figure: &Measured) -> String {
    duration::show_nanos(figure.median)
}

fn spread(figure: &Measured) -> String {
    format!(
        "{:>10}   ({} to {})",
        duration::show_nanos(figure.median),
        duration::show_nanos(figure.low),
        duration::show_nanos(figure.high)
    )
}
