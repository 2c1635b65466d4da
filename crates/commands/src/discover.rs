//! `uaperf discover`: which servers and endpoints somebody knows of, and who says on this network that it is there.

mod lan;

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use load::discover::{Discovered, ServiceAnswers, discover};
use load::transport::LinkError;
use plan::unit::duration::{parse, show_ns};
use wire::url::Url;

use crate::advice;
use crate::failure::Failure;
use crate::pcap;
use crate::proxy;
use crate::screen;

/// Ask a server or a discovery server what it knows: FindServers, GetEndpoints, FindServersOnNetwork; or search
/// this network
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Whom to ask, such as opc.tcp://plc1:4840
    #[arg(value_parser = plan::typed, required_unless_present = "lan")]
    url: Option<Url>,
    #[command(flatten)]
    lan: lan::Args,
    /// How often to ask each, for the spread of the times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: u32,
    /// How long each step and call may take
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse)]
    timeout: Duration,
    /// JSON for machines instead of a screen for people
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    proxies: proxy::Args,
    #[command(flatten)]
    pcap: pcap::Args,
}

const EXAMPLES: &str = "\
Nothing but a channel without security is needed: no session, no certificate.

Examples:
  uaperf discover opc.tcp://plc1:4840
  uaperf discover opc.tcp://localhost:4840 --repeat 100 --json
  uaperf discover --lan                        who says on this network that it is there
  uaperf discover --lan --interface eth0 --wait 10s";

/// Carries out `uaperf discover`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let Some(url) = &args.url else {
        return lan::run(&args.lan, args.json);
    };
    let proxy = args.proxies.to(url)?;
    let has_login = proxy.as_ref().map(|it| it.has_login());
    let around = (proxy, args.pcap.begin()?);
    let found = discover(url, args.repeat, args.timeout, around).map_err(|error| {
        let told = Failure::new(format!("{url}: {error}"));
        told.hint(match &error {
            LinkError::Proxy { error, .. } => advice::proxy(error, has_login == Some(true)),
            _ => "is a server running there, and is it the right port?".to_owned(),
        })
    })?;
    screen::print(&found, args.json, write_screen)?;
    // Every server has these two (Part 4, 5.5.2 and 5.5.4).
    let refused = [
        ("FindServers", &found.servers.refused),
        ("GetEndpoints", &found.endpoints.refused),
    ];
    for (service, refused) in refused {
        if let Some(status) = refused {
            return Err(Failure::new(format!("{url}: {service} was refused: {status}")).into());
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn write_screen(out: &mut String, found: &Discovered) -> std::fmt::Result {
    writeln!(out, "{}", found.url)?;
    head(out, "FindServers", &found.servers)?;
    for server in &found.servers.found {
        writeln!(out, "  {}  {} ({})", server.name, server.uri, server.kind)?;
        for url in &server.urls {
            writeln!(out, "    {url}")?;
        }
    }
    head(out, "GetEndpoints", &found.endpoints)?;
    for offer in &found.endpoints.found {
        let users = offer.users.join(", ");
        let security = format!("{}:{}", offer.policy, offer.mode);
        writeln!(out, "  {security:<38} level {:<4} {users}", offer.level)?;
        writeln!(out, "    {}", offer.url)?;
    }
    head(out, "FindServersOnNetwork", &found.network)?;
    for server in &found.network.found {
        let can = server.capabilities.join(", ");
        writeln!(out, "  {}  {}  {can}", server.name, server.url)?;
    }
    Ok(())
}

/// The service, what came of it, and how long it took.
fn head<T>(out: &mut String, service: &str, asked: &ServiceAnswers<T>) -> std::fmt::Result {
    let mut times = asked.times_ns.clone();
    times.sort_unstable();
    let time = |at: usize| times.get(at).map_or(String::new(), |ns| show_ns(*ns));
    let took = match times.len() {
        0 | 1 => time(0),
        n => format!(
            "{} median, {} to {}, {n} times",
            time(n / 2),
            time(0),
            time(n - 1)
        ),
    };
    let what = match &asked.refused {
        Some(status) => format!("refused: {status}"),
        None => format!("{} found", asked.found.len()),
    };
    writeln!(out)?;
    writeln!(out, "{service}: {what}, {took}")
}
