//! `uaperf connect`: channels and sessions that come and go.

use std::time::Duration;

use plan::unit::duration;
use plan::{ConnectKind, Targets, Warmup, Work};

use super::Common;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  uaperf connect opc.tcp://plc1:4840 --allow storm
  uaperf connect opc.tcp://plc1:4840 --sessions 20 --rate-total 50/s --duration 30s --allow storm
  uaperf connect opc.tcp://plc1:4840 --kind storm --sessions 1000 --hold 1m --allow storm
  uaperf connect opc.tcp://plc1:4840 --kind reconnect --sessions 100 --security best --allow storm
  uaperf connect opc.tcp://127.0.0.1:4840 --kind storm --sessions 50000 \\
    --source-addresses 4 --allow storm

A round ends when the session is there and its reads are answered; closing has times of its own. Each client \
has one round at a time: --rate, --rate-total and --think say when they come, without them the next one \
comes as soon as it can.";

/// Open and close channels and sessions, and time each step
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Connect {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(flatten)]
    pub(super) work: Args,
}

/// How sessions come and go.
#[derive(Debug, clap::Args)]
#[group(id = "work")]
#[command(next_help_heading = "How sessions come and go")]
pub struct Args {
    /// storm (each session is opened once, all are held), churn (open, close, come again), reconnect (drop the
    /// socket, activate the session over a new channel), renewal (of the channel's security token)
    #[arg(long, value_name = "KIND", default_value_t = ConnectKind::default())]
    kind: ConnectKind,
    /// Reads of the server's state in each round, once the session is there
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    reads: u32,
    /// A storm holds all sessions for so long; churn keeps each one so long before it closes it
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration::parse)]
    hold: Duration,
    /// Clients that are at it at the same time, at most
    #[arg(long, value_name = "N", default_value_t = plan::Connect::AT_ONCE, value_parser = clap::value_parser!(u32).range(1..=i64::from(plan::Connect::MOST_AT_ONCE)))]
    at_once: u32,
    /// Connect from so many addresses of 127.0.0.0/8, in turn, to a server on this machine: each has
    /// ports of its own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(plan::Connect::MOST_SOURCES)))]
    source_addresses: Option<u32>,
}

impl super::Does for Args {
    fn work(&self) -> anyhow::Result<Work> {
        Ok(Work::Connect(plan::Connect {
            kind: self.kind,
            reads: self.reads,
            hold: self.hold,
            at_once: self.at_once,
            source_addresses: self.source_addresses.unwrap_or(0),
        }))
    }
}

/// A storm is over when all have come, however long that takes, and nothing about it is to settle.
pub(super) fn complete(
    plan: &plan::Connect,
    length: &mut Option<Duration>,
    warmup: &mut Warmup,
    load: &super::options::Args,
) {
    if plan.kind == ConnectKind::Storm {
        *length = load.duration();
        *warmup = warmup.or_none();
    }
}

/// Whether clients can come from the addresses that they are to come from.
pub(super) fn check_sources(plan: &plan::Connect, targets: &Targets) -> anyhow::Result<()> {
    if plan.source_addresses == 0 {
        return Ok(());
    }
    let here = |host: &str| {
        let address = host.parse::<std::net::Ipv4Addr>();
        host == "localhost" || address.is_ok_and(|it| it.is_loopback())
    };
    match targets.urls().iter().find(|url| !here(url.host())) {
        Some(url) => Err(Failure::usage(format!(
            "--source-addresses {}: {url} (want a server on 127.0.0.0/8: others do not answer to these addresses)",
            plan.source_addresses
        ))
        .into()),
        None => Ok(()),
    }
}
