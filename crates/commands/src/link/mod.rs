//! `uaperf link`: a slow or bad network between a client and a server.
//!
//! A relay between sockets for any client, here or on the host of an agent, or, for a command that stands behind `--`,
//! network namespaces of its own with the link between them.

mod apart;
#[cfg(target_os = "linux")]
mod command;
#[cfg(target_os = "linux")]
mod signals;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
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
use crate::fleet::{self, Links};
use crate::global::Global;
use crate::interrupt;
use crate::screen::{self, tell};
pub use apart::carry_out;

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
    /// [default: 127.0.0.1:4841, on another host 0.0.0.0:4841]
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "command")]
    listen: Option<SocketAddr>,
    /// The relay runs on the host of an agent, as --fleet names one, until this command ends: ssh:user@host, nats:TAG/NAME,
    /// local:1; --to is the server as that host reaches it
    #[arg(long, value_name = "SPEC", conflicts_with = "command")]
    on: Option<fleet::Spec>,
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
    #[arg(long, conflicts_with_all = ["to", "link", "far", "on", "command"])]
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
  uaperf link 4g --to opc.tcp://plc1:4840 --on ssh:lab@pc1
  uaperf link 3g --to opc.tcp://plc1:4840 -- uaperf read {url}
  uaperf link loss=5% --far 'uaperf listen opc.udp://198.18.0.2:4840' --far-port 4840 -- \\
    uaperf publish opc.udp://198.18.0.2:4840
  uaperf link --list
  uaperf read opc.tcp://plc1:4840 --link satellite";

/// What a relay was and did.
#[derive(Debug, Serialize)]
struct Summary {
    format: &'static str,
    version: u32,
    listen: String,
    /// The agent that it ran at; none on this host.
    #[serde(skip_serializing_if = "Option::is_none")]
    on: Option<String>,
    to: String,
    link: String,
    seed: u64,
    interrupted: bool,
    /// Why the account is not that of the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<String>,
    account: Account,
}

/// Where a relay ran, and what it did there.
struct Relayed {
    listen: String,
    on: Option<String>,
    interrupted: bool,
    lost: Option<String>,
    account: Account,
}

/// Carries out `uaperf link`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
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
    let listen = args
        .listen
        .unwrap_or_else(|| usual(args.on.as_ref().is_some_and(|it| !is_here(it))));
    let links = Links {
        to: to.to_string(),
        listen,
        link: spec.to_string(),
        seed: args.seed,
        connections: args.connections,
    };
    let relayed = match &args.on {
        None => here(&links, args.duration)?,
        Some(on) => apart::run(on, links, args.duration, global)?,
    };
    screen::status("");
    let told = Summary {
        format: "uaperf-link",
        version: 1,
        listen: relayed.listen,
        on: relayed.on,
        to: to.to_string(),
        link: spec.to_string(),
        seed: args.seed,
        interrupted: relayed.interrupted,
        lost: relayed.lost,
        account: relayed.account,
    };
    screen::print(&told, args.json, write_screen)?;
    if let Some(why) = told.lost {
        return Err(Failure::new(why).into());
    }
    // Without a duration there is no other end.
    Ok(match told.interrupted && args.duration.is_some() {
        true => ExitCode::from(Exit::Interrupted),
        false => ExitCode::SUCCESS,
    })
}

/// Where clients come to if nothing is said: over the network only where others have to reach it.
fn usual(is_apart: bool) -> SocketAddr {
    let host = match is_apart {
        true => Ipv4Addr::UNSPECIFIED,
        false => Ipv4Addr::LOCALHOST,
    };
    SocketAddr::from((host, 4841))
}

/// Whether an agent is of this host.
const fn is_here(on: &fleet::Spec) -> bool {
    matches!(on.way(), fleet::Way::Local(_))
}

/// A relay that takes connections from now on.
fn bind(links: &Links) -> anyhow::Result<Relay> {
    let to: Url = links
        .to
        .parse()
        .map_err(|error| Failure::usage(format!("{}: {error}", links.to)))?;
    let spec: Spec = links
        .link
        .parse()
        .map_err(|error| Failure::usage(format!("{}: {error}", links.link)))?;
    let settings = Settings {
        seed: links.seed,
        connections: links.connections as usize,
        ..Settings::to(&to, links.listen, spec).map_err(|error| Failure::new(error.to_string()))?
    };
    Relay::bind(&settings).map_err(|error| {
        Failure::new(format!("cannot listen at {}: {error}", links.listen))
            .hint("--listen ADDRESS:PORT with an address of its host and a free port, or port 0")
            .into()
    })
}

/// Carries connections until it is ended, or for so long.
fn here(links: &Links, duration: Option<Duration>) -> anyhow::Result<Relayed> {
    let relay = bind(links)?;
    let stop = interrupt::flag()?;
    let listen = format!("opc.tcp://{}", relay.address()?);
    begun(&listen, None, links);
    let is_over = || stop.load(Ordering::Relaxed);
    let account = relay.run(&is_over, duration, &mut |account| {
        screen::status(&line(account));
    })?;
    Ok(Relayed {
        listen,
        on: None,
        interrupted: is_over(),
        lost: None,
        account,
    })
}

/// Says that clients may come.
fn begun(listen: &str, on: Option<&str>, links: &Links) {
    let on = on.map_or_else(String::new, |it| format!(" ({it})"));
    let Links { link, to, .. } = links;
    tell!("listening at {listen}{on}, {link} to {to}; Ctrl-C ends it");
}

#[cfg(target_os = "linux")]
fn of_command(args: Args, spec: Spec) -> anyhow::Result<ExitCode> {
    command::run(command::LinkCommand {
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
    Err(Failure::usage(
        "a link as the only network of a command needs the network namespaces of Linux",
    )
    .hint("uaperf link PRESET|SPEC --to URL, a relay that clients connect to, works here too")
    .into())
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

fn write_screen(out: &mut String, told: &Summary) -> std::fmt::Result {
    let it = &told.account;
    writeln!(
        out,
        "{}{} for {}: {}",
        told.listen,
        told.on
            .as_ref()
            .map_or_else(String::new, |on| format!(" ({on})")),
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
