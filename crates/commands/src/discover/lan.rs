//! `uaperf discover --lan`: who says on this network that it is there, by multicast DNS.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use load::lan::{Card, LanError, LanReport, Server, Spoken, browse};
use load::pubsub::Interface;
use plan::unit::duration::{parse, show_ns};

use crate::failure::Failure;
use crate::screen::{self, plain};

/// How this network is asked, as typed.
#[derive(Debug, clap::Args)]
#[group(id = "on-lan")]
pub struct Args {
    /// Search this network for servers (multicast DNS, Part 12 Annex C); nothing else is sent, and nobody connected to
    #[arg(long, conflicts_with_all = ["url", "repeat", "timeout", "proxy", "pcap"])]
    lan: bool,
    /// How long to listen for answers
    #[arg(long, value_name = "DURATION", default_value = "3s", requires = "lan", value_parser = wait)]
    wait: Duration,
    /// Ask over this interface only, by its name or an address of it [default: all that are up]
    #[arg(long, value_name = "NAME", requires = "lan")]
    interface: Option<Interface>,
}

/// As long as nobody would wait for an answer any more.
const LONGEST: Duration = Duration::from_secs(3600);

fn wait(text: &str) -> Result<Duration, String> {
    let wait = parse(text).map_err(|error| error.to_string())?;
    match (Duration::from_millis(100)..=LONGEST).contains(&wait) {
        true => Ok(wait),
        false => Err("want 100ms to 1h".to_owned()),
    }
}

/// Asks, and prints who answered.
pub fn run(args: &Args, json: bool) -> anyhow::Result<ExitCode> {
    let cards = Card::chosen(args.interface.as_ref()).map_err(|error| failure(&error))?;
    let heard = browse(&cards, args.wait).map_err(|error| failure(&error))?;
    if json || !heard.servers.is_empty() {
        screen::print(&heard, json, write_screen)?;
    }
    match heard.servers.is_empty() {
        false => Ok(ExitCode::SUCCESS),
        true => Err(nobody(&heard).into()),
    }
}

fn failure(error: &LanError) -> Failure {
    let told = Failure::new(error.to_string());
    match error {
        LanError::NoInterface(_) => told.hint("ip link lists the interfaces"),
        LanError::Nowhere => {
            told.hint("start one, or ask a server by its URL: uaperf discover opc.tcp://HOST:4840")
        }
        LanError::Silent { .. } => told.hint(
            "another program may keep UDP port 5353 for itself, or the interface has no address",
        ),
        LanError::Interfaces(_) | LanError::Wait(_) | LanError::Name { .. } => told,
    }
}

/// Nobody is there, or nobody says so.
fn nobody(heard: &LanReport) -> Failure {
    let wait = show_ns(heard.wait_ns);
    let over = over(&heard.interfaces);
    let others = match heard.packets {
        0 => "nothing at all was heard".to_owned(),
        n => format!("{n} packets of multicast DNS were heard, our own among them"),
    };
    Failure::new(format!("no server said within {wait} that it is there: asked over {over}; {others}")).hint(
        "servers say so only if they are set to, and not beyond their subnet; a firewall has to let UDP port 5353 in. Ask a \
         discovery server instead: uaperf discover opc.tcp://HOST:4840",
    )
}

/// The interfaces by which questions went out.
fn over(interfaces: &[Spoken]) -> String {
    let named = interfaces.iter().filter_map(|it| match (it.ipv4, it.ipv6) {
        (true, true) => Some(it.name.clone()),
        (true, false) => Some(format!("{} (IPv4)", it.name)),
        (false, true) => Some(format!("{} (IPv6)", it.name)),
        (false, false) => None,
    });
    named.collect::<Vec<_>>().join(", ")
}

fn write_screen(out: &mut String, heard: &LanReport) -> std::fmt::Result {
    let wait = show_ns(heard.wait_ns);
    let count = heard.servers.len();
    let are = if count == 1 {
        "says it is"
    } else {
        "say they are"
    };
    writeln!(
        out,
        "{count} {are} on this network: asked over {}, {wait}",
        over(&heard.interfaces)
    )?;
    if heard.unreadable > 0 {
        writeln!(
            out,
            "{} packets that came nobody can read",
            heard.unreadable
        )?;
    }
    for server in &heard.servers {
        write_server(out, server)?;
    }
    if let Some(url) = heard.servers.iter().find_map(|it| it.by_address.first()) {
        writeln!(out)?;
        writeln!(
            out,
            "Whether it is true nobody has checked. Look at one: uaperf probe {}",
            plain(url)
        )?;
    }
    Ok(())
}

fn write_server(out: &mut String, server: &Server) -> std::fmt::Result {
    writeln!(out)?;
    let can = match server.capabilities.is_empty() {
        true => String::new(),
        false => format!("  {}", server.capabilities.join(", ")),
    };
    writeln!(out, "{}{}", plain(&server.name), plain(&can))?;
    let url = server.url.as_deref().unwrap_or("did not say where");
    writeln!(out, "  {}", plain(url))?;
    let at = match server.addresses.is_empty() {
        true => "no address was told".to_owned(),
        false => server.addresses.join(", "),
    };
    writeln!(out, "  {}", plain(&at))
}
