//! `uaperf simulate handshake` and `requests`: our client and server, over a link in virtual time.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use judge::Exit;
use plan::unit::{Bytes, duration};
use simulate::protocol::SessionCourse;

use super::protocol_result::SessionResult;
use super::scene::{self, Reading, Set};
use super::{protocol_file, protocol_screen};
use crate::failure::Failure;
use crate::interrupt;
use crate::screen::{self, tell};
use crate::written;

/// Simulate connecting: every step of a session over a link, with what cryptography costs
#[derive(Debug, clap::Args)]
#[command(after_help = HANDSHAKE)]
pub struct Handshake {
    /// Sessions, each with a connection of its own
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    sessions: u32,
    #[command(flatten)]
    common: Common,
}

/// Simulate requests: round trips of Reads over a link, with what cryptography costs
#[derive(Debug, clap::Args)]
#[command(after_help = REQUESTS)]
pub struct Requests {
    /// Sessions, each with a connection of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    sessions: u32,
    /// Read requests of each session, one after the other
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    requests: u32,
    /// Values that each of them asks for
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    batch: u32,
    /// Bytes of each value [default: a double with both time stamps]
    #[arg(long, value_name = "SIZE")]
    value: Option<Bytes>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, clap::Args)]
struct Common {
    #[command(flatten)]
    scene: scene::Args,
    /// All sessions share the link and the server; they begin so far apart, with 0s at once
    /// [default: each has a link of its own]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    every: Option<Duration>,
    /// Write a run file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

const HANDSHAKE: &str = "\
Our own client and server result, byte for byte; what is simulated is TCP, the link, and the time that cryptography takes.

Examples:
  uaperf simulate handshake --link satellite --security best
  uaperf simulate handshake --link 2Mbit/s,delay=20ms,loss=2% --sessions 1000
  uaperf simulate handshake --security best --every 0s --sessions 500 --cores 2
  uaperf simulate handshake --security best --revocation online --authority 200ms --out run.json
  uaperf simulate handshake --costs cavalieri2010 --security Basic256Sha256:Sign";

const REQUESTS: &str = "\
Examples:
  uaperf simulate requests --link 4g --security best --batch 100
  uaperf simulate requests --link cavalieri-2mbps --value 100kB --requests 20 --out run.json
  uaperf simulate requests --sessions 50 --every 0s --batch 1000";

/// More rows than these are not kept.
const MOST: u64 = 2_000_000;

/// Carries out `uaperf simulate handshake`.
pub fn handshake(args: Handshake) -> anyhow::Result<ExitCode> {
    let reading = Reading {
        requests: 0,
        batch: 1,
        value: None,
    };
    run(&args.common, args.sessions, reading)
}

/// Carries out `uaperf simulate requests`.
pub fn requests(args: Requests) -> anyhow::Result<ExitCode> {
    let reading = Reading {
        requests: args.requests,
        batch: args.batch,
        value: args.value,
    };
    let all = u64::from(args.sessions) * u64::from(args.requests);
    if all > MOST {
        let told =
            format!("--sessions and --requests: that would be {all} requests (at most {MOST})");
        return Err(Failure::usage(told).into());
    }
    run(&args.common, args.sessions, reading)
}

fn run(common: &Common, sessions: u32, reading: Reading) -> anyhow::Result<ExitCode> {
    let files = [("--out", &common.out)];
    written::check(files, &[])?;
    let set = common.scene.set(reading)?;
    let stop = interrupt::flag()?;
    let began = Instant::now();
    let courses = match common.every {
        Some(every) => {
            let every = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
            set.scene.together(sessions, every, |now| {
                if began.elapsed() > Duration::from_secs(1) {
                    let at = duration::show_ns(now);
                    screen::status(&format!("simulated {at}"));
                }
                match stop.load(Ordering::Relaxed) {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            })
        }
        None => each(&set, sessions, &stop, began),
    };
    screen::status("");
    let result = SessionResult {
        set,
        reading,
        sessions,
        every: common.every,
        courses,
        interrupted: stop.load(Ordering::Relaxed),
    };
    let took = began.elapsed();
    let summary = protocol_screen::Summary::of(&result, &common.scene);
    let takes_output = common.out.as_deref().is_some_and(written::is_output);
    let mut out = screen::Out::beside_file(takes_output);
    if common.json {
        screen::json(&mut out, &summary)?;
    } else {
        let mut text = String::new();
        protocol_screen::draw(&mut text, &summary)?;
        out.write_all(text.as_bytes())?;
    }
    tell!(
        "simulated {} sessions in {}",
        result.courses.len(),
        duration::show(took)
    );
    if let Some(file) = &common.out {
        let run = protocol_file::run(&result, &common.scene)?;
        written::put("--out", file, &run.to_json()?);
    }
    let good = result.courses.iter().any(|it| it.failed.is_none());
    Ok(ExitCode::from(match (result.interrupted, good) {
        (true, _) => Exit::Interrupted,
        (_, false) => Exit::Nothing,
        _ => Exit::Good,
    }))
}

/// Sessions that have nothing to do with each other, on all processors. They come back in order.
fn each(set: &Set, sessions: u32, stop: &AtomicBool, began: Instant) -> Vec<SessionCourse> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicU32::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= sessions || stop.load(Ordering::Relaxed) {
                return done;
            }
            let scene = match (number, &set.first) {
                (0, Some(first)) => first,
                _ => &set.scene,
            };
            done.push((number, scene.session(number)));
            if number.is_multiple_of(256) && began.elapsed() > Duration::from_secs(1) {
                screen::status(&format!("simulated {number} of {sessions} sessions"));
            }
        }
    };
    let mut all = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        // A thread that panicked has no sessions.
        let done = threads.into_iter().filter_map(|it| it.join().ok());
        done.flatten().collect::<Vec<_>>()
    });
    all.sort_by_key(|it| it.0);
    all.into_iter().map(|it| it.1).collect()
}
