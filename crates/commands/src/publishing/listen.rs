//! `uaperf listen`: what publishers send, and what of it does not come.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use judge::Exit;
use load::pubsub::{
    Address, Choice, KeyFeed, Listen, ListenerReport, Place, Reading, Subscribe, listen_and_tell,
    read_capture, subscribe_and_tell,
};
use observe::{Link, Tree, links};
use plan::Work;
use plan::unit::Bytes;
use plan::unit::duration::show_ns;
use pubsub::security::{KeyRing, Mode};

use super::broker::{self, Broker, Url};
use super::keys::KeySource;
use super::server::{self, Origin};
use super::{Common, Taking, Verdict, heard};
use crate::failure::Failure;
use crate::global::Global;
use crate::interrupt;
use crate::quick::stage;
use crate::screen::tell;
use crate::time_limit;

/// Listen to PubSub publishers over UDP, Ethernet or MQTT: who, what, how often, and what was lost
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where messages come to: opc.udp://ADDRESS:PORT of this host, or of a multicast group to join; frames without IP to
    /// opc.eth://MAC[:VID[.PCP]], or to an interface of this host, opc.eth://NAME[:VID[.PCP]]; or mqtt://HOST:PORT/FILTER of a broker (without a filter, all topics), mqtts:// inside TLS. Or a server that says in
    /// its PublishSubscribe object what it publishes and where: opc.tcp://HOST:PORT
    #[arg(value_name = "URL", required_unless_present = "pcap")]
    from: Option<Origin>,
    /// Take the datagrams of a capture (pcap, pcapng) instead: those to the URL, or to port 4840 and in Ethernet frames
    #[arg(long, value_name = "FILE", conflicts_with_all = ["interface", "duration", "receive_buffer"])]
    pcap: Option<PathBuf>,
    /// End after so many datagrams
    #[arg(long, value_name = "N")]
    datagrams: Option<u64>,
    /// Listeners to the same group, each with a socket and a thread; the first is shown in full
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024), conflicts_with = "pcap")]
    listeners: u32,
    /// Take messages of this publisher only, by its PublisherId as it is printed; may be repeated
    #[arg(long, value_name = "ID")]
    publisher: Vec<String>,
    /// Take messages of this writer group only, by its id (in JSON its name); may be repeated
    #[arg(long, value_name = "ID")]
    group: Vec<String>,
    #[command(flatten)]
    taking: Taking,
    /// Ask publishers what they send, over UDP: at a group such as opc.udp://224.0.2.14, or at the address of one
    /// publisher. With what they tell RawData is read
    #[arg(long, value_name = "URL", conflicts_with = "pcap")]
    discovery: Option<Address>,
    /// Room for datagrams that wait to be read
    #[arg(long, value_name = "SIZE", default_value = "4MiB")]
    receive_buffer: Bytes,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    broker: Broker,
    /// Publishers have the clock of this host: tell delays. A broker does not say where they are
    #[arg(long, help_heading = "With a broker")]
    same_clock: bool,
}

const EXAMPLES: &str = "\
Examples:
  uaperf listen opc.udp://0.0.0.0:4840
  uaperf listen opc.udp://224.0.2.14 --interface 192.168.1.10 --duration 1m
  uaperf listen opc.udp://127.0.0.1:4840 --keys group.keys --security sign --expect loss=0
  uaperf listen opc.udp://239.0.0.1 --keys opc.tcp://plc1 --security-group line4
  uaperf listen opc.udp://239.0.0.1 --publisher 7 --group 2
  uaperf listen opc.eth://eth0
  uaperf listen opc.eth://01-00-5e-00-00-01:5 --interface eth0
  uaperf listen opc.tcp://plc1
  uaperf listen 'mqtt://127.0.0.1/opcua/#' --qos 1
  uaperf listen --pcap line3.pcapng";

/// Carries out `uaperf listen`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    args.common.check()?;
    let tolerance = super::tolerance(args.taking.strict, args.taking.allow_constant_nonce);
    let asked_for = args.taking.security.as_deref();
    let mut required = asked_for.and_then(super::message::mode);
    let mut supply = None;
    let (trusting, mut told) = (args.broker.trusting(), None);
    let from = match &args.from {
        Some(Origin::Server(url)) if args.pcap.is_some() => {
            let what = format!("--pcap with {url}: nobody is asked what a capture has");
            return Err(Failure::usage(what).into());
        }
        Some(Origin::Server(url)) => {
            let (service, has_keys) = (&args.common.key_service, args.common.keys.is_some());
            let asked = server::ask(url, service, trusting, has_keys, global)?;
            supply = asked.supply;
            if asked_for.is_none() {
                // Whoever can send there could leave out what the server says that it does.
                required = asked.security;
            }
            told = Some((url.to_string(), asked.connections));
            Some(Url::Udp(asked.at))
        }
        Some(Origin::There(url)) => Some(url.clone()),
        None => None,
    };
    if let Some(at) = &from {
        super::can_listen(args.listeners, at)?;
    }
    let mut known = Vec::new();
    match &args.common.keys {
        None => {}
        Some(KeySource::File(file)) => known = super::keys::read(file)?,
        Some(KeySource::Service(url)) => {
            let service = &args.common.key_service;
            supply = Some(service.supply(url, &service.secret()?, trusting, true, global)?);
        }
    }
    // Each listener has its own: which messages it has seen belongs to them.
    let secured = || {
        let mut keys = KeyRing::new(required, tolerance);
        for (token, key) in &known {
            keys.insert(*token, key.clone());
        }
        let mut feed = supply.as_ref().map(|it| KeyFeed::new(it.times()));
        if let Some(feed) = &mut feed {
            feed.turn(&mut keys, None);
        }
        (keys, feed)
    };
    let (keys, feed) = secured();
    let choice = Choice {
        publishers: args.publisher.clone(),
        groups: args.group.clone(),
    };
    let heard = match (&args.pcap, from.map(Url::without_broker)) {
        (Some(_), Some(Err(url))) => {
            let what = format!("--pcap with {url}: what goes to brokers is not read of captures");
            return Err(Failure::usage(what).into());
        }
        (Some(file), to) => {
            let to = to.and_then(Result::ok);
            if let Some(Place::Ethernet(url)) = &to
                && url.mac().is_none()
            {
                let what = format!("--pcap with {url}: a capture does not say which interface");
                return Err(Failure::usage(what)
                    .hint("name an address, opc.eth://01-00-5e-00-00-01, or nothing for all frames")
                    .into());
            }
            let plan = Reading {
                to,
                datagrams: args.datagrams,
                keys,
                tolerance,
                choice,
            };
            let stop = interrupt::flag()?;
            read_capture(file, plan, &stop)
                .map_err(|error| Failure::new(format!("--pcap {}: {error}", file.display())))?
        }
        (None, Some(Err(url))) if args.listeners > 1 => {
            let what = format!("--listeners {} with {url}", args.listeners);
            return Err(Failure::usage(what)
                .hint("several that subscribe at a broker are a phase of a scenario: service = \"listen\"")
                .into());
        }
        (None, Some(Err(url))) if args.discovery.is_some() => {
            let what = format!("--discovery with {url}: a broker keeps what publishers tell");
            return Err(Failure::usage(what).into());
        }
        (None, Some(Err(url))) => {
            let at = url.to_string();
            let plan = Subscribe {
                mqtt: args.broker.at(url, 1, &args.broker.secret()?, global)?,
                client_id: format!("uaperf-listen-{}", std::process::id()),
                duration: args.common.duration,
                messages: args.datagrams,
                keys,
                feed,
                tolerance,
                choice,
                same_clock: args.same_clock,
            };
            let shown = (
                args.work(&at, required),
                args.common.duration,
                at.to_string(),
            );
            let ready = || listening(&at);
            let (heard, cpu_ns) = args.common.watched.show(shown, |stop, told| {
                subscribe_and_tell(plan, stop, ready, Some(told))
            })?;
            let heard = heard.map_err(|error| broker::failed(&at, &error))?;
            ListenerReport { cpu_ns, ..heard }
        }
        (None, Some(Ok(from))) => {
            let at = from.to_string();
            let plan = |(keys, feed), discovery| Listen {
                from: from.clone(),
                interface: args.common.interface.clone(),
                buffer: usize::try_from(args.receive_buffer.0).unwrap_or(usize::MAX),
                duration: args.common.duration,
                datagrams: args.datagrams,
                keys,
                feed,
                tolerance,
                choice: choice.clone(),
                discovery,
                server: told.clone(),
            };
            // One that asks is enough: publishers answer to all.
            let others: Vec<Listen> = (1..args.listeners).map(|_| plan(secured(), None)).collect();
            let plan = plan((keys, feed), args.discovery);
            let shown = (args.work(&at, required), args.common.duration, at.clone());
            let ready = || listening(&at);
            // Where the system does not count nothing is said of interfaces.
            let before = links(&Tree::here()).unwrap_or_default();
            let (heard, cpu_ns) = args.common.watched.show(shown, |stop, told| {
                super::beside::beside(others, stop, |stop| {
                    listen_and_tell(plan, stop, ready, Some(told))
                })
            })?;
            let hint = "listen at an address of this host, or 0.0.0.0, or at a multicast group, or at an interface";
            let heard = heard
                .map_err(|failed| super::no_socket(failed.to_string(), &failed.error, hint))?;
            ListenerReport {
                cpu_ns,
                interface_drops: dropped_since(&before, &links(&Tree::here()).unwrap_or_default()),
                ..heard
            }
        }
        (None, None) => return Err(Failure::usage("give a URL, or --pcap FILE").into()),
    };
    let verdict = verdict(&heard, args.datagrams);
    super::conclude(
        &args.common,
        super::HEARD,
        verdict,
        heard,
        heard::write_screen,
    )
}

/// Packets that came in meanwhile and found no room, by the interface; nothing of one that was not counted all the time.
fn dropped_since(before: &[Link], now: &[Link]) -> BTreeMap<String, u64> {
    let dropped = |it: &Link| it.received_dropped.as_ref().ok().copied();
    let since = |now: &Link| {
        let was = before.iter().find(|it| it.name == now.name)?;
        let more = dropped(now)?.saturating_sub(dropped(was)?);
        (more > 0).then(|| (now.name.clone(), more))
    };
    now.iter().filter_map(since).collect()
}

/// A screen says it by itself.
fn listening(at: &str) {
    if !stage::is_open() {
        tell!("listening at {at} …");
    }
}

impl Args {
    /// What it does, as phases say it.
    fn work(&self, at: &str, required: Option<Mode>) -> Work {
        let broker = match &self.from {
            Some(Origin::There(url)) if url.is_broker() => {
                Some(self.broker.plan(None, self.same_clock))
            }
            _ => None,
        };
        Work::Listen(Box::new(plan::Listen {
            from: at.to_owned(),
            broker,
            interface: self.common.interface.as_ref().map(ToString::to_string),
            publishers: self.publisher.clone(),
            groups: self.group.clone(),
            security: super::message::name(required).to_owned(),
            key_service: None,
            discovery: self.discovery.map(|it| it.to_string()),
            listeners: self.listeners,
            receive_buffer: self.receive_buffer.0,
            strict: self.taking.strict,
            constant_nonce: self.taking.allow_constant_nonce,
        }))
    }
}

/// That of the listener that fared worst.
fn verdict(it: &ListenerReport, wanted: Option<u64>) -> Verdict {
    let mut worst = verdict_of_one(it, wanted);
    for (n, other) in (2..).zip(&it.others) {
        let found = verdict_of_one(other, wanted);
        let why = found.evidence.into_iter();
        let why = why.map(|it| format!("listener {n}: {it}"));
        if found.name == worst.name {
            worst.evidence.extend(why);
        } else if worst.name == "VALID" || found.exit == Exit::Nothing {
            worst = Verdict {
                evidence: why.chain(worst.evidence).collect(),
                ..found
            };
        }
    }
    worst
}

fn verdict_of_one(it: &ListenerReport, wanted: Option<u64>) -> Verdict {
    let (mut name, mut exit, mut evidence) = ("VALID", Exit::Good, Vec::new());
    if let Some(drops) = it.socket_drops.filter(|drops| *drops > 0) {
        (name, exit) = ("GENERATOR-LIMITED", Exit::Verdict);
        evidence.push(format!(
            "the kernel dropped {drops} datagrams that this listener did not read in time: \
             try a larger --receive-buffer ({} bytes were given)",
            it.buffer_bytes
        ));
    }
    let lost = it
        .mqtt
        .as_ref()
        .and_then(|it| Some((it, it.lost_connections.first()?)));
    let short = wanted.filter(|wanted| it.datagrams < *wanted);
    if it.datagrams == 0 {
        (name, exit) = ("INCOMPLETE", Exit::Nothing);
        evidence.push(match it.capture {
            Some(_) => "nothing in it was sent there".to_owned(),
            None => "nothing came".to_owned(),
        });
    } else if it.unreadable() == it.datagrams {
        (name, exit) = ("FAILED", Exit::Nothing);
        evidence.push("no datagram could be read".to_owned());
    } else if let Some(wanted) = short {
        (name, exit) = ("INCOMPLETE", Exit::Nothing);
        evidence.push(format!("{} datagrams of {wanted} came", it.datagrams));
    } else if it.capture.as_ref().is_some_and(|it| it.torn) {
        (name, exit) = ("INCOMPLETE", Exit::Nothing);
        evidence.push("the capture ends in the middle of a packet".to_owned());
    } else if let Some((mqtt, why)) = lost {
        (name, exit) = ("INCOMPLETE", Exit::Nothing);
        evidence.push(format!(
            "the connection was lost ({why}), for {} in all",
            show_ns(mqtt.away_ns)
        ));
    } else if it.interrupted {
        name = "INCOMPLETE";
        evidence.push(time_limit::why());
    }
    if it.interrupted {
        exit = Exit::Interrupted;
    }
    Verdict {
        name,
        exit,
        evidence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use observe::{Figure, NotAvailable};

    #[test]
    fn drops_of_before_are_not_those_of_an_interface_that_was_not_counted_then() {
        let unknown = || NotAvailable::because("nobody tells");
        let link = |received_dropped: Figure<u64>| Link {
            name: "eth0".to_owned(),
            speed_bits_per_s: Err(unknown()),
            duplex: Err(unknown()),
            mtu_bytes: Err(unknown()),
            received_bytes: Err(unknown()),
            sent_bytes: Err(unknown()),
            received_packets: Err(unknown()),
            sent_packets: Err(unknown()),
            received_dropped,
            sent_dropped: Err(unknown()),
            errors: Err(unknown()),
        };
        let since = |before, now| dropped_since(&[link(before)], &[link(now)]);
        let seven = BTreeMap::from([("eth0".to_owned(), 7)]);
        assert_eq!(since(Ok(1000), Ok(1007)), seven);
        assert!(since(Err(unknown()), Ok(1007)).is_empty());
        assert!(since(Ok(1000), Err(unknown())).is_empty());
    }
}
