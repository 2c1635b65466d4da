//! `uaperf ca serve`: an OCSP responder and a host of revocation lists, in trouble if that is asked for.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use judge::Exit;
use plan::unit::{Percent, duration};
use revocation::{Address, Outage, Responder, Trouble};
use serde::Serialize;

use super::folder::Folder;
use super::responder::RevocationAnswers;
use crate::failure::Failure;
use crate::interrupt;
use crate::screen::{self, tell};

/// Answer whether certificates were revoked: OCSP at /ocsp, lists at /NAME.crl, over HTTP
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uaperf ca serve lab
  uaperf ca serve lab --delay 50ms                   one that is far away
  uaperf ca serve lab --error-rate 10%               each tenth answer is an error
  uaperf ca serve lab --outage 10s..40s              nobody is answered for half a minute

What is revoked meanwhile (uaperf ca revoke) counts at once. Ctrl-C ends it.")]
pub struct Args {
    /// The folder of the authorities
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Where to listen; anything but the loopback opens it to the network; port 0 takes a free one [default: the address
    /// in the certificates, or 127.0.0.1:8889]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Each answer waits so long
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration::parse)]
    delay: Duration,
    /// The share of answers that are errors: tryLater of OCSP, 503 of HTTP
    #[arg(long, value_name = "PERCENT", default_value = "0%")]
    error_rate: Percent,
    /// When connections are taken and nobody is answered, from the start on; may be given several times
    #[arg(long, value_name = "FROM..TO", value_parser = outage)]
    outage: Vec<Outage>,
    /// How long an answer of OCSP is good; 0s: it says nothing of that, and is not kept by anybody
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = duration::parse)]
    valid: Duration,
    /// How long to serve [default: until Ctrl-C]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    duration: Option<Duration>,
    /// JSON for machines at the end instead of a line for people
    #[arg(long)]
    json: bool,
}

fn outage(text: &str) -> Result<Outage, String> {
    let wrong = || format!("{text:?} is no outage (want 10s..40s)");
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let time = |text| duration::parse(text).map_err(|error| error.to_string());
    let outage = Outage {
        from: time(from)?,
        to: time(to)?,
    };
    (outage.from < outage.to)
        .then_some(outage)
        .ok_or_else(wrong)
}

#[derive(Debug, Serialize)]
struct Summary {
    format: &'static str,
    version: u32,
    listen: String,
    statuses: u64,
    lists: u64,
    errors: u64,
    unanswered: u64,
    refused: u64,
    failure: Option<String>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let share = args.error_rate.fraction();
    if !(0.0..=1.0).contains(&share) {
        let told = format!(
            "--error-rate {} is out of range (want 0% to 100%)",
            args.error_rate
        );
        return Err(Failure::usage(told).into());
    }
    let folder = Folder::open(&args.folder)?;
    let at = args.listen.unwrap_or_else(|| listen(&folder));
    let trouble = Trouble {
        delay: args.delay,
        errors: share,
        outages: args.outage,
    };
    let answers = Box::new(RevocationAnswers::new(folder, args.valid)?);
    let responder = Responder::bind(at, answers, trouble).map_err(|error| {
        Failure::new(format!("cannot listen at {at}: {error}"))
            .hint("--listen ADDRESS:PORT with an address of this host and a free port, or port 0")
    })?;
    let stop = interrupt::flag()?;
    let listen = format!("http://{}", responder.address()?);
    let mut out = screen::out();
    writeln!(out, "READY {listen}")?;
    out.flush()?;
    tell!("OCSP at {listen}/ocsp, revocation lists at {listen}/NAME.crl; Ctrl-C ends it");
    let begun = Instant::now();
    let over = || args.duration.is_some_and(|it| begun.elapsed() >= it);
    responder.run(|| over() || stop.load(Ordering::Relaxed))?;
    let account = responder.account();
    let count = |it: &AtomicU64| it.load(Ordering::Relaxed);
    let told = Summary {
        format: "uaperf-ca",
        version: 1,
        listen,
        statuses: count(&account.statuses),
        lists: count(&account.lists),
        errors: count(&account.errors),
        unanswered: count(&account.unanswered),
        refused: count(&account.refused),
        failure: account.failure(),
    };
    screen::print(&told, args.json, write)?;
    let early = stop.load(Ordering::Relaxed) && args.duration.is_some();
    // Without a duration there is no other end.
    Ok(match early {
        true => ExitCode::from(Exit::Interrupted),
        false => ExitCode::SUCCESS,
    })
}

fn write(out: &mut String, it: &Summary) -> std::fmt::Result {
    writeln!(
        out,
        "{} answers of OCSP, {} lists, {} errors and {} left without an answer on purpose, {} refused",
        it.statuses, it.lists, it.errors, it.unanswered, it.refused
    )?;
    match &it.failure {
        Some(why) => writeln!(out, "some could not be answered: {why}"),
        None => Ok(()),
    }
}

/// Where certificates say that it is, if that is an address of the loopback.
fn listen(folder: &Folder) -> SocketAddr {
    let at = folder.made.at.as_deref();
    let at = at.and_then(|at| at.parse::<Address>().ok());
    let at = at.and_then(|at| Some(SocketAddr::new(host(&at.host)?, at.port)));
    at.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 8889)))
}

fn host(text: &str) -> Option<IpAddr> {
    let named = (text == "localhost").then_some(IpAddr::from([127, 0, 0, 1]));
    let host = named.or_else(|| text.parse().ok());
    host.filter(IpAddr::is_loopback)
}
