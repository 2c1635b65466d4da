//! `uaperf publish` and `uaperf listen`: PubSub over UDP, Ethernet and MQTT; and phases of scenarios that do both.

mod account;
mod apart;
mod beside;
pub mod broker;
mod carried_out;
pub mod command;
mod heard;
mod keys;
mod keys_command;
pub mod listen;
mod listener_display;
pub mod message;
mod parent;
pub mod phase;
pub mod publish;
mod publisher;
pub mod results;
pub mod role;
mod server;
mod watched;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use judge::Exit;
use load::pubsub::{Interface, Spread};
use plan::unit::duration::{parse, show_nanos, show_ns};
use plan::{Figures, Threshold};
use pubsub::Tolerance;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::results::ResultFile;
use crate::screen::{self, Out};
use crate::written;

use keys::KeySource;

/// The formats of their files.
const PUBLISHED: &str = "uaperf-publish";
const HEARD: &str = "uaperf-listen";

/// Their version.
const VERSION: u32 = 1;

/// Whether so many listeners hear the same there.
fn can_listen(listeners: u32, to: &broker::Url) -> Result<(), Failure> {
    if listeners > 1 && to.is_one_host() {
        return Err(Failure::usage(format!(
            "--listeners {listeners}: {to} (want a group such as opc.udp://239.255.0.1:0: a datagram to one host has one \
             listener)"
        )));
    }
    Ok(())
}

/// What of what comes is taken.
#[derive(Debug, clap::Args)]
#[group(id = "taking")]
struct Taking {
    /// Refuse messages that are secured less: none, sign, sign-and-encrypt [default: none, or what the server says that
    /// publishes them]
    #[arg(long, value_name = "HOW", hide_possible_values = true, value_parser = ["none", "sign", "sign-and-encrypt"])]
    security: Option<String>,
    /// Take only what the specification has, not what other stacks are known to write
    #[arg(long)]
    strict: bool,
    /// Take secured messages whose nonce stands still, as open62541 before 1.5.10 sends them
    #[arg(long)]
    allow_constant_nonce: bool,
}

/// What is taken though the specification has it otherwise.
fn tolerance(strict: bool, constant_nonce: bool) -> Tolerance {
    Tolerance {
        constant_nonce,
        ..match strict {
            true => Tolerance::NONE,
            false => Tolerance::HARMLESS,
        }
    }
}

/// Options that both commands have.
#[derive(Debug, clap::Args)]
struct Common {
    /// How long [default: 10s]
    #[arg(long, value_name = "TIME", default_value = "10s", hide_default_value = true, value_parser = parse)]
    duration: Duration,
    /// Interface that frames go by, or that a multicast group is reached by, as its address or name [default: the system's
    /// choice]
    #[arg(long, value_name = "IP|NAME")]
    interface: Option<Interface>,
    /// File with keys: a line `POLICY TOKEN HEX` for each, as `PubSub-Aes256-CTR 1 0a0b…`; or a key service, such as
    /// opc.tcp://HOST:PORT, which is asked over an encrypted channel
    #[arg(long, value_name = "FILE|URL")]
    keys: Option<KeySource>,
    #[command(flatten)]
    key_service: keys::Args,
    /// A condition on the result, such as loss=0: exit code 3 if it is not met
    #[arg(long, value_name = "THRESHOLD", value_delimiter = ',')]
    expect: Vec<Threshold>,
    /// JSON for machines instead of a screen for people
    #[arg(long)]
    json: bool,
    /// Keep the JSON in this file too, for `uaperf show`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    watched: watched::Args,
}

impl Common {
    /// Finds out before anything is sent or heard whether the result can be kept.
    fn check(&self) -> Result<(), Failure> {
        let live = &self.watched.feed.live_file;
        written::check([("--out", &self.out), ("--live-file", live)], &[])?;
        self.watched.feed.open()
    }
}

/// A result with what it is worth.
#[derive(Debug, Serialize, Deserialize)]
struct Judged<T> {
    format: String,
    version: u32,
    verdict: String,
    evidence: Vec<String>,
    expectations: Vec<Expectation>,
    machine: record::run::Fingerprint,
    result: T,
}

#[derive(Debug, Serialize, Deserialize)]
struct Expectation {
    threshold: String,
    figure: Option<f64>,
    met: bool,
}

/// A verdict and why.
struct Verdict {
    name: &'static str,
    exit: Exit,
    evidence: Vec<String>,
}

/// Prints and keeps a result, and gives the exit code.
fn conclude<T: Serialize + Figures>(
    common: &Common,
    format: &'static str,
    verdict: Verdict,
    result: T,
    draw: screen::Draw<T>,
) -> anyhow::Result<ExitCode> {
    let expectations: Vec<Expectation> = common
        .expect
        .iter()
        .map(|it| {
            let outcome = it.check(&result);
            Expectation {
                threshold: it.to_string(),
                figure: outcome.figure,
                met: outcome.is_met(),
            }
        })
        .collect();
    let judged = Judged {
        format: format.to_owned(),
        version: VERSION,
        verdict: verdict.name.to_owned(),
        evidence: verdict.evidence,
        expectations,
        machine: observe::fingerprint(),
        result,
    };
    let files = [&common.out, &common.watched.feed.live_file];
    let takes_output = files.into_iter().flatten().any(|it| written::is_output(it));
    if let Some(file) = &common.out {
        let text = serde_json::to_string_pretty(&judged)? + "\n";
        written::put("--out", file, text.as_bytes());
    }
    let mut out = Out::beside_file(takes_output);
    match common.json {
        true => screen::json(&mut out, &judged)?,
        false => out.write_all(shown(&judged, draw).as_bytes())?,
    }
    let met = judged.expectations.iter().all(|it| it.met);
    let exit = match verdict.exit {
        Exit::Good if !met => Exit::Threshold,
        other => other,
    };
    Ok(ExitCode::from(exit))
}

/// Its screen.
fn shown<T>(it: &Judged<T>, draw: screen::Draw<T>) -> String {
    let mut text = it.verdict.clone();
    for (n, why) in it.evidence.iter().enumerate() {
        text.push_str(if n == 0 { ": " } else { "; " });
        text.push_str(why);
    }
    text.push_str("\n\n");
    text.push_str(&screen::text(&it.result, draw));
    for it in &it.expectations {
        let met = if it.met { "met" } else { "not met" };
        let figure = it
            .figure
            .map_or("not measured".to_owned(), |it| it.to_string());
        // Writing into a String does not fail.
        let _ = writeln!(text, "\nexpect {}: {met} ({figure})", it.threshold);
    }
    text
}

/// What a file says that one of the two commands kept, as the command has shown it; none if it is another file.
pub fn kept(file: &ResultFile) -> Option<Result<String, Failure>> {
    let published = file.read(PUBLISHED, VERSION);
    let heard = || file.read(HEARD, VERSION);
    match published {
        Some(read) => Some(read.map(|it| shown(&it, publish::write_screen))),
        None => Some(heard()?.map(|it| shown(&it, heard::write_screen))),
    }
}

/// A failure to open a socket, with what to do if that needs a right.
pub fn no_socket(what: String, error: &std::io::Error, hint: &str) -> Failure {
    let hint = match error.kind() {
        std::io::ErrorKind::PermissionDenied => {
            "run it as root, or give the program that right: sudo setcap cap_net_raw+ep \"$(command -v uaperf)\""
        }
        std::io::ErrorKind::AddrInUse => "take another port, or 0 for a free one",
        _ => hint,
    };
    Failure::new(what).hint(hint)
}

/// What CPU it took, for each value if they are known, else for each message.
fn cpu(out: &mut String, spent: Option<u64>, (values, messages): (u64, u64)) -> std::fmt::Result {
    let Some(spent) = spent.filter(|_| messages > 0) else {
        return Ok(());
    };
    let (of, what) = match values {
        0 => (messages, "message"),
        values => (values, "value"),
    };
    writeln!(
        out,
        "  CPU       {}, {} for each {what}",
        show_ns(spent),
        show_nanos(spent as f64 / of as f64)
    )
}

/// One line of figures.
fn spread(out: &mut String, name: &str, it: &Spread) -> std::fmt::Result {
    writeln!(
        out,
        "  {name:<9} p50 {}  p90 {}  p99 {}  p99.9 {}  max {}  mean {}",
        show_ns(it.p50_ns),
        show_ns(it.p90_ns),
        show_ns(it.p99_ns),
        show_ns(it.p999_ns),
        show_ns(it.max_ns),
        show_nanos(it.mean_ns),
    )
}
