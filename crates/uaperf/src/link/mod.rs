//! `uaperf link`: a slow or bad network between a client and a server.
//!
//! A relay between sockets for any client, or, for a command that stands behind `--`, network namespaces of its own
//! with the link between them.

#[cfg(target_os = "linux")]
mod command;
#[cfg(target_os = "linux")]
mod signals;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use judge::Exit;
use link::{Spec, presets};
use load::relay::{Account, Carried, Relay, Settings};
use plan::unit::Bytes;
use plan::unit::duration::{parse, show, show_ns};
use serde::Serialize;
use wire::url::Url;

use crate::failure::Failure;
use crate::interrupt;
use crate::screen::{self, tell};

/// Put a slow or bad network between clients and a server: a relay, or a command's only network
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The server, such as opc.tcp://plc1:4840
    #[arg(
        long,
        value_name = "URL",
        required_unless_present_any = ["list", "far"],
        value_parser = plan::typed
    )]
    to: Option<Url>,
    /// Where clients come to; anything but the loopback opens the relay to the network; port 0 takes a free one
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:4841",
        conflicts_with = "command"
    )]
    listen: SocketAddr,
    /// What the network is like: a preset, or 2Mbit/s,delay=20ms,jitter=5ms,loss=1%,queue=64KiB; up. and down. in
    /// front for one direction
    #[arg(value_name = "PRESET|SPEC", required_unless_present = "list")]
    link: Option<Spec>,
    /// Of losses and jitter: the same seed gives the same ones for the same packets
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Connections at a time; more are turned away
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        value_parser = clap::value_parser!(u32).range(1..),
        conflicts_with = "command"
    )]
    connections: u32,
    /// How long [default: until Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = parse, conflicts_with = "command")]
    duration: Option<Duration>,
    /// JSON for machines at the end instead of a screen for people; what COMMAND prints goes to standard error then
    #[arg(long)]
    json: bool,
    /// Print the presets, and what they stand for
    #[arg(long, conflicts_with_all = ["to", "link", "far", "command"])]
    list: bool,
    /// A command line at the other end of COMMAND's link, at 198.18.0.2, instead of or beside the server of --to; it is
    /// ended with COMMAND
    #[arg(long, value_name = "LINE", requires = "command")]
    far: Option<String>,
    /// Begin with COMMAND when something at the far end listens at this port of TCP or UDP
    #[arg(long, value_name = "N", requires = "far", value_parser = clap::value_parser!(u16).range(1..))]
    far_port: Option<u16>,
    /// How TCP of both ends finds out how much it may send: cubic, bbr, reno [default: as this host does]
    #[arg(long, value_name = "NAME", requires = "command")]
    congestion: Option<String>,
    /// A command that has the link as its only network (Linux). The server of --to is at 198.18.0.2 there, which is
    /// what {url} becomes, and at its own addresses
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "\
All connections share the two lines of the link. Clients that take the server's own URL from its list of endpoints go
around the relay; uaperf does not, and takes --link with every command that loads. A COMMAND goes over the link with
all it sends: packets are delayed and lost, and TCP of the operating system does what it does on such a line.

Examples:
  uaperf link 4g --to opc.tcp://plc1:4840
  uaperf link 2Mbit/s,delay=20ms,loss=0.5% --to opc.tcp://127.0.0.1:4840 --listen 127.0.0.1:4841
  uaperf link 3g --to opc.tcp://plc1:4840 -- uaperf read {url}
  uaperf link loss=5% --far 'uaperf listen opc.udp://198.18.0.2:4840' --far-port 4840 -- \\
    uaperf publish opc.udp://198.18.0.2:4840
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
    let Some(spec) = args.link else {
        screen::print(&list(), args.json, write_list)?;
        return Ok(ExitCode::SUCCESS);
    };
    if !args.command.is_empty() {
        return of_command(args, spec);
    }
    let Some(to) = args.to else {
        // The arguments say so; who changes them sees it here.
        return Err(Failure::usage("a relay needs --to URL").into());
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
    let stop = interrupt::flag()?;
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
        true => ExitCode::from(Exit::Interrupted),
        false => ExitCode::SUCCESS,
    })
}

#[cfg(target_os = "linux")]
fn of_command(args: Args, spec: Spec) -> anyhow::Result<ExitCode> {
    command::run(command::Asked {
        spec,
        seed: args.seed,
        to: args.to,
        congestion: args.congestion,
        far: args.far,
        far_port: args.far_port,
        words: args.command,
        json: args.json,
    })
}

#[cfg(not(target_os = "linux"))]
fn of_command(args: Args, _: Spec) -> anyhow::Result<ExitCode> {
    let _ = (args.far, args.far_port, args.congestion);
    Err(
        Failure::usage("a link as a command's only network takes the network namespaces of Linux")
            .hint(
                "uaperf link PRESET|SPEC --to URL, a relay that clients connect to, works here too",
            )
            .into(),
    )
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
        show_ns(it.waited_mean_ns),
        show_ns(it.waited_max_ns),
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
