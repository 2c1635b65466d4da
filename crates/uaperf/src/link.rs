//! `uaperf link`: a slow or bad network between a client and a server.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use judge::Exit;
use link::{Spec, presets};
use load::relay::{Account, Carried, Relay, Settings};
use plan::unit::Bytes;
use plan::unit::duration::{parse, show, show_nanos};
use serde::Serialize;
use wire::url::Url;

use crate::failure::Failure;
use crate::quick;
use crate::screen::{self, tell};

/// Put a slow or bad network between clients and a server: a relay with rate, delay, jitter and loss
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The server, such as opc.tcp://plc1:4840
    #[arg(long, value_name = "URL", required_unless_present = "list", value_parser = plan::typed)]
    to: Option<Url>,
    /// Where clients come to; anything but the loopback opens the relay to the network; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4841")]
    listen: SocketAddr,
    /// What the network is like: a preset, or 2Mbit/s,delay=20ms,jitter=5ms,loss=1%,queue=64KiB; up. and down. in
    /// front for one direction
    #[arg(value_name = "PRESET|SPEC", required_unless_present = "list")]
    link: Option<Spec>,
    /// Of losses and jitter: the same seed gives the same ones for the same packets
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Connections at a time; more are turned away
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
    /// How long [default: until Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = parse)]
    duration: Option<Duration>,
    /// JSON for machines at the end instead of a screen for people
    #[arg(long)]
    json: bool,
    /// Print the presets, and what they stand for
    #[arg(long, conflicts_with_all = ["to", "link"])]
    list: bool,
}

const EXAMPLES: &str = "\
All connections share the two lines of the link. Clients that take the server's own URL from its list of endpoints go
around the relay; uaperf does not, and takes --link with every command that loads.

Examples:
  uaperf link 4g --to opc.tcp://plc1:4840
  uaperf link 2Mbit/s,delay=20ms,loss=0.5% --to opc.tcp://127.0.0.1:4840 --listen 127.0.0.1:4841
  uaperf link --list
  uaperf read opc.tcp://plc1:4840 --link satellite";

/// What a relay was and did.
#[derive(Debug, Serialize)]
struct Told {
    format: &'static str,
    version: u32,
    listen: String,
    to: String,
    link: String,
    seed: u64,
    interrupted: bool,
    account: Account,
}

/// Carries out `uaperf link`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (Some(to), Some(spec)) = (args.to, args.link) else {
        screen::print(&list(), args.json, write_list)?;
        return Ok(ExitCode::SUCCESS);
    };
    let settings = Settings {
        seed: args.seed,
        connections: args.connections as usize,
        ..Settings::to(&to, args.listen, spec).map_err(|error| Failure::new(error.to_string()))?
    };
    let relay = Relay::bind(&settings).map_err(|error| {
        Failure::new(format!("cannot listen at {}: {error}", args.listen))
            .hint("--listen ADDRESS:PORT with an address of this host and a free port, or port 0")
    })?;
    let stop = quick::interrupt::flag()?;
    let listen = format!("opc.tcp://{}", relay.address()?);
    tell!("listening at {listen}, {spec} to {to}; Ctrl-C ends it");
    let account = relay.run(&stop, args.duration, &mut |account| {
        screen::status(&line(account));
    })?;
    screen::status("");
    let told = Told {
        format: "uaperf-link",
        version: 1,
        listen,
        to: to.to_string(),
        link: spec.to_string(),
        seed: args.seed,
        interrupted: stop.load(Ordering::Relaxed),
        account,
    };
    screen::print(&told, args.json, write_screen)?;
    // Without a duration there is no other end.
    Ok(match told.interrupted && args.duration.is_some() {
        true => ExitCode::from(Exit::Interrupted.code()),
        false => ExitCode::SUCCESS,
    })
}

/// How things stand.
fn line(it: &Account) -> String {
    format!(
        "{} connections, {} up, {} down, {} and {} wait for the line, {} packets lost",
        it.open,
        Bytes(it.up.bytes),
        Bytes(it.down.bytes),
        Bytes(it.up.queued_bytes),
        Bytes(it.down.queued_bytes),
        it.up.lost + it.up.full + it.down.lost + it.down.full,
    )
}

fn write_screen(out: &mut String, told: &Told) -> std::fmt::Result {
    let it = &told.account;
    writeln!(
        out,
        "{} for {}: {}",
        told.listen,
        show(it.elapsed()),
        told.link
    )?;
    writeln!(
        out,
        "  {} connections, {} at a time at most; {} not taken by {}, {} broken off, {} turned away",
        it.connections, it.most_open, it.refused, told.to, it.broken, it.turned_away
    )?;
    for (name, carried) in [("up", &it.up), ("down", &it.down)] {
        write_carried(out, name, carried)?;
    }
    Ok(())
}

fn write_carried(out: &mut String, name: &str, it: &Carried) -> std::fmt::Result {
    writeln!(
        out,
        "  {name:<5} {} in {} packets; {} lost, {} found the queue full, {} sent again; waited for the line {} \
         (mean), {} (longest)",
        Bytes(it.bytes),
        it.packets,
        it.lost,
        it.full,
        it.again,
        show_nanos(it.waited_mean_ns as f64),
        show_nanos(it.waited_max_ns as f64),
    )
}

/// A link with a name.
#[derive(Debug, Serialize)]
struct Named {
    name: &'static str,
    link: &'static str,
    about: &'static str,
}

fn list() -> Vec<Named> {
    let named = presets().into_iter().map(|it| Named {
        name: it.name,
        link: it.text,
        about: it.about,
    });
    named.collect()
}

fn write_list(out: &mut String, all: &Vec<Named>) -> std::fmt::Result {
    for it in all {
        writeln!(out, "{:<17} {}\n{:<17} {}", it.name, it.link, "", it.about)?;
    }
    Ok(())
}
