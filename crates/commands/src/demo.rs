//! `uaperf demo`: everything that works, shown on a server of our own.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail};
use load::probe::{Probe, probe};
use load::transport::TransportStep;
use wire::channel::{Protection, all_protections};
use wire::url::Url;

use crate::failure::Failure;
use crate::global::Global;
use crate::interrupt;
use crate::serving::{self, Folder, Serving};
use crate::{advice, results, screen, settings};
use plan::unit::duration::show;

mod broker;
mod pubsub;

/// Show what uaperf does, on a server of its own on this machine
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Debug, clap::Subcommand)]
enum Part {
    #[command(name = "pubsub")]
    PubSub(pubsub::Args),
}

/// Carries out `uaperf demo`.
pub fn run(args: Args, _: &Global) -> anyhow::Result<ExitCode> {
    if let Some(Part::PubSub(args)) = args.part {
        return pubsub::run(args);
    }
    interrupt::quits()?;
    let folder = Folder::make("demo")?;
    // Asked for one by one, curves have certificates made for them.
    let offered: Vec<String> = all_protections().map(|it| it.to_string()).collect();
    let mut words = vec!["--profile", "demo", "--trust"];
    words.extend(offered.iter().flat_map(|it| ["--security", it]));
    let server = Serving::start(&words, &folder.0.join("server"))?;
    let mut out = screen::out();
    writeln!(out, "A server of our own, in a process of its own.\n")?;
    out.flush()?;
    let pki = folder.0.join("client");
    let access = server.access(Protection::NONE, &pki);
    let found = probe(&access, REPEAT).map_err(|error| advice::on(&error, &access))?;
    out.write_all(screen::text(&found, crate::probe::write_screen).as_bytes())?;
    security(&mut out, &server, &pki)?;
    measure(&mut out, &server.url, &pki)?;
    writeln!(
        out,
        "\nThe same on a server of yours:  uaperf probe opc.tcp://HOST:4840"
    )?;
    Ok(ExitCode::SUCCESS)
}

/// How often each way of connecting is tried.
const REPEAT: usize = 5;

/// A line to type, and what comes of it; the demo types it itself. `told` is how it is shown.
fn typed(out: &mut impl Write, told: &str, words: &[&str], pki: &Path) -> anyhow::Result<()> {
    writeln!(out, "\n$ uaperf {told}\n")?;
    out.flush()?;
    let mut command = settings::this_program()?;
    command.args(words).arg("--pki").arg(pki);
    let done = serving::carried_out(command).context("cannot start a measurement")?;
    // Whatever the verdict: a busy machine is no reason for a demonstration to fail.
    if done.stdout.is_empty() {
        let reason = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        bail!(Failure::new(format!("nothing came of it: {reason}")));
    }
    out.write_all(&done.stdout)?;
    Ok(())
}

/// The scenarios of the demo, to be changed and run again.
const SCENARIO: &str = include_str!("demo.toml");
const PUBSUB: &str = include_str!("demo_pubsub.toml");

/// A scenario, a subscription, a publisher with its listener, and a page about all of them.
fn measure(out: &mut impl Write, url: &Url, pki: &Path) -> anyhow::Result<()> {
    let folder = results::fresh(SystemTime::now().into(), "demo");
    let place = |name: &str| folder.join(name).display().to_string();
    let (file, reads, subscription, page) = (
        place("demo.toml"),
        place("reads"),
        place("subscription.json"),
        place("report.html"),
    );
    results::write(Path::new(&file), SCENARIO)?;
    let url = url.to_string();
    let told = format!("run {file} --target {url} --out {reads}");
    typed(
        out,
        &told,
        &[
            "run", &file, "--target", &url, "--out", &reads, "--trust", "--quiet",
        ],
        pki,
    )?;
    let told = format!(
        "subscribe {url} -n 'browse:/Objects/Demo/*' --publishing 100ms --sampling 50ms --queue 10 \\\n    \
         --duration 5s --expect loss=0 --out {subscription}"
    );
    let words = [
        "subscribe",
        &url,
        "-n",
        "browse:/Objects/Demo/*",
        "--publishing",
        "100ms",
        "--sampling",
        "50ms",
        "--queue",
        "10",
        "--duration",
        "5s",
        "--expect",
        "loss=0",
        "--out",
        &subscription,
        "--security",
        "none",
        "--quiet",
    ];
    typed(out, &told, &words, pki)?;
    let (file, published) = (place("pubsub.toml"), place("published"));
    results::write(Path::new(&file), PUBSUB)?;
    let told = format!("run {file} --out {published}");
    let words = ["run", &file, "--out", &published, "--quiet"];
    typed(out, &told, &words, pki)?;
    let told = format!("report {reads} {subscription} {published} -o {page}");
    let words = ["report", &reads, &subscription, &published, "-o", &page];
    typed(out, &told, &words, pki)
}

/// What connecting costs under each policy and mode: the mean price of security.
fn security(out: &mut impl Write, server: &Serving, pki: &Path) -> anyhow::Result<()> {
    writeln!(
        out,
        "\nUntil a session is active, median of {REPEAT}\n\n  {:<38}{:>12}{:>12}{:>12}",
        "security", "channel", "session", "first read"
    )?;
    for protection in all_protections() {
        let access = server.access(protection, pki);
        let found = probe(&access, REPEAT).map_err(|error| advice::on(&error, &access))?;
        let channel = medians(&found, &[TransportStep::Hello, TransportStep::OpenChannel]);
        let session = medians(
            &found,
            &[TransportStep::CreateSession, TransportStep::ActivateSession],
        );
        let read = medians(&found, &[TransportStep::FirstRead]);
        writeln!(
            out,
            "  {:<38}{:>12}{:>12}{:>12}",
            protection.to_string(),
            show(channel),
            show(session),
            show(read)
        )?;
    }
    Ok(())
}

/// The medians of some steps, added up.
fn medians(probe: &Probe, steps: &[TransportStep]) -> Duration {
    let wanted = |step: &&load::probe::StepTimes| steps.iter().any(|s| s.name() == step.step);
    let nanos = probe.steps.iter().filter(wanted).map(|step| step.median_ns);
    Duration::from_nanos(nanos.sum())
}
