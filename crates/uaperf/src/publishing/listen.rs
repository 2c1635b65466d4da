//! `uaperf listen`: what publishers send, and what of it does not come.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use judge::Exit;
use load::pubsub::{
    Address, Captured, Counted, Delay, EthernetUrl, Heard, KeyFeed, Listen, Place, Reading, Stream,
    Subscribe, Subscribed, Writer, listen_and_tell, read_capture, subscribe_and_tell,
};
use observe::{Link, Tree, links};
use plan::Work;
use plan::unit::Bytes;
use plan::unit::duration::{show, show_nanos};
use pubsub::security::{KeyRing, Mode};

use super::broker::{self, Broker, Url};
use super::keys::KeySource;
use super::server::{self, Origin};
use super::{Common, Taking, Verdict};
use crate::failure::Failure;
use crate::global::Global;
use crate::quick::stage;
use crate::screen::{plain, tell};

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
    let mut keys = KeyRing::new(required, tolerance);
    match &args.common.keys {
        None => {}
        Some(KeySource::File(file)) => {
            for (token, key) in super::keys::read(file)? {
                keys.insert(token, key);
            }
        }
        Some(KeySource::Service(url)) => {
            let service = &args.common.key_service;
            supply = Some(service.supply(url, &service.secret()?, trusting, true, global)?);
        }
    }
    let mut feed = supply.as_ref().map(|it| KeyFeed::new(it.times()));
    if let Some(feed) = &mut feed {
        feed.turn(&mut keys, None);
    }
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
            };
            let stop = crate::quick::interrupt::flag()?;
            read_capture(file, plan, &stop)
                .map_err(|error| Failure::new(format!("--pcap {}: {error}", file.display())))?
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
            Heard { cpu_ns, ..heard }
        }
        (None, Some(Ok(from))) => {
            let at = from.to_string();
            let plan = Listen {
                from,
                interface: args.common.interface.clone(),
                buffer: usize::try_from(args.receive_buffer.0).unwrap_or(usize::MAX),
                duration: args.common.duration,
                datagrams: args.datagrams,
                keys,
                feed,
                tolerance,
                discovery: args.discovery,
                server: told,
            };
            let shown = (args.work(&at, required), args.common.duration, at.clone());
            let ready = || listening(&at);
            let before = links(&Tree::here()).unwrap_or_default();
            let (heard, cpu_ns) = args.common.watched.show(shown, |stop, told| {
                listen_and_tell(plan, stop, ready, Some(told))
            })?;
            let hint = "listen at an address of this host, or 0.0.0.0, or at a multicast group, or at an interface";
            let heard = heard
                .map_err(|failed| super::no_socket(failed.to_string(), &failed.error, hint))?;
            Heard {
                cpu_ns,
                interface_drops: dropped_since(&before, &links(&Tree::here()).unwrap_or_default()),
                ..heard
            }
        }
        (None, None) => return Err(Failure::usage("want a URL, or --pcap FILE").into()),
    };
    let verdict = verdict(&heard, args.datagrams);
    super::conclude(&args.common, super::HEARD, verdict, heard, write_screen)
}

/// Packets that came in meanwhile and found no room, by the interface.
fn dropped_since(before: &[Link], now: &[Link]) -> BTreeMap<String, u64> {
    let dropped = |it: &Link| it.received_dropped.clone().unwrap_or(0);
    let since = |now: &Link| {
        let was = before.iter().find(|it| it.name == now.name)?;
        let more = dropped(now).saturating_sub(dropped(was));
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
            security: super::message::name(required).to_owned(),
            key_service: None,
            discovery: self.discovery.map(|it| it.to_string()),
            listeners: 1,
            receive_buffer: self.receive_buffer.0,
            strict: self.taking.strict,
            constant_nonce: self.taking.allow_constant_nonce,
        }))
    }
}

fn verdict(it: &Heard, wanted: Option<u64>) -> Verdict {
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
            show(Duration::from_nanos(mqtt.away_ns))
        ));
    } else if it.interrupted {
        name = "INCOMPLETE";
        evidence.push("interrupted".to_owned());
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

/// What comes: by a broker, without IP, or over UDP.
fn carried(it: &Heard) -> &'static str {
    match &it.mqtt {
        Some(_) => "messages",
        None if EthernetUrl::is_one(&it.from) => "frames",
        None => "datagrams",
    }
}

pub(super) fn write_screen(out: &mut String, it: &Heard) -> std::fmt::Result {
    let seconds = it.elapsed_ns.max(1) as f64 / 1e9;
    writeln!(
        out,
        "{}: {} {}, {} bytes in {}",
        it.from,
        it.datagrams,
        carried(it),
        it.bytes,
        show(Duration::from_nanos(it.elapsed_ns))
    )?;
    if let Some(mqtt) = &it.mqtt {
        write_broker(out, mqtt)?;
    }
    match (&it.capture, it.socket_drops) {
        // A broker's messages wait for a reader, or are dropped there.
        (None, None) if it.mqtt.is_some() => {}
        (Some(captured), _) => write_captured(out, captured)?,
        (None, Some(drops)) => writeln!(out, "  dropped by this host's socket buffer: {drops}")?,
        (None, None) => writeln!(
            out,
            "  dropped by this host's socket buffer: not told by this system"
        )?,
    }
    for (interface, drops) in &it.interface_drops {
        writeln!(
            out,
            "  dropped by {interface} meanwhile, whatever it was: {drops} packets"
        )?;
    }
    super::cpu(out, it.cpu_ns, (it.values, it.datagrams))?;
    if !it.kernel_stamps && it.datagrams > 0 {
        writeln!(
            out,
            "  times of arrival are the program's, not the kernel's"
        )?;
    }
    for unread in &it.unread {
        writeln!(out, "  {} not read: {}", unread.datagrams, unread.reason)?;
    }
    if it.not_followed > 0 {
        writeln!(
            out,
            "  {} of more publishers than are followed",
            it.not_followed
        )?;
    }
    if it.discovery > 0 {
        writeln!(out, "  probes and announcements: {}", it.discovery)?;
    }
    if let Some(keys) = &it.keys {
        super::keys::write(out, keys)?;
    }
    if let Some(connections) = &it.server {
        server::write(out, connections)?;
    }
    for stream in &it.streams {
        write_stream(out, stream, seconds, carried(it))?;
    }
    Ok(())
}

fn write_broker(out: &mut String, it: &Subscribed) -> std::fmt::Result {
    broker::write_version(out, &it.version, it.tls.as_deref())?;
    writeln!(
        out,
        ", QoS {}; {} connections, {} retained messages from before, {} perhaps sent again",
        it.qos, it.connections, it.retained, it.maybe_again
    )?;
    for why in &it.lost_connections {
        writeln!(out, "  connection lost: {why}")?;
    }
    Ok(())
}

fn write_captured(out: &mut String, it: &Captured) -> std::fmt::Result {
    write!(out, "  {}: {} packets", it.format, it.packets)?;
    let unknown: u64 = it.unknown_links.values().sum();
    let counts = [
        (it.others, "to other places or of other protocols"),
        (it.fragments, "parts of datagrams that are not whole"),
        (it.cut, "captured in part"),
        (unknown, "of links that are not known"),
    ];
    for (n, what) in counts.into_iter().filter(|(n, _)| *n > 0) {
        write!(out, ", {n} {what}")?;
    }
    if it.reassembled > 0 {
        write!(
            out,
            "; {} datagrams put together of their parts",
            it.reassembled
        )?;
    }
    writeln!(out)
}

fn write_stream(out: &mut String, it: &Stream, seconds: f64, what: &str) -> std::fmt::Result {
    let id = match (&it.publisher_id, &it.publisher_id_type) {
        (Some(id), Some(kind)) => format!("{} ({kind})", plain(id)),
        _ => "without an id".to_owned(),
    };
    write!(out, "\npublisher {id}")?;
    match (it.writer_group_id, &it.writer_group_name) {
        (Some(id), Some(name)) => write!(out, ", group {id} ({})", plain(name))?,
        (Some(id), None) => write!(out, ", group {id}")?,
        (None, Some(name)) => write!(out, ", group {}", plain(name))?,
        (None, None) => {}
    }
    if let Some(source) = &it.source {
        write!(out, ", from {source}")?;
    }
    if let Some(vlan) = it.vlan {
        let priority = it.priority.unwrap_or(0);
        write!(out, " in VLAN {vlan} with priority {priority}")?;
    }
    if let Some(topic) = &it.topic {
        write!(out, ", {} at {}", it.mapping, plain(topic))?;
    }
    if let Some(status) = &it.status {
        write!(out, ", status {}", plain(status))?;
    }
    writeln!(out, ", security {}", it.security)?;
    // While it sent, if that is known; else while we listened.
    let rate = match &it.arrival {
        Some(arrival) if arrival.mean_ns > 0.0 => 1e9 / arrival.mean_ns,
        _ => it.datagrams as f64 / seconds,
    };
    write!(
        out,
        "  {} {what}, {rate:.1}/s, {} bytes",
        it.datagrams, it.bytes
    )?;
    if it.chunks > 0 {
        write!(out, ", {} of them parts of larger messages", it.chunks)?;
    }
    if let Some(each) = it.interval_ms.filter(|it| *it > 0.0) {
        write!(out, ", one each {} as it says", show_nanos(each * 1e6))?;
    }
    writeln!(out)?;
    if !it.endpoints.is_empty() {
        writeln!(out, "  server:   {}", plain(&it.endpoints.join(", ")))?;
    }
    if let Some(counted) = &it.sequence {
        writeln!(out, "  group:    {}", told(counted))?;
    }
    if let Some(arrival) = &it.arrival {
        super::spread(out, "arrival", arrival)?;
    }
    if let Some(jitter) = &it.jitter {
        super::spread(out, "jitter", jitter)?;
    }
    match &it.delay {
        Delay::SameClock(delay) => super::spread(out, "delay", delay)?,
        Delay::UnknownClock => writeln!(out, "  delay     unknown: the sender's clock is another")?,
        Delay::NoTimestamp => writeln!(out, "  delay     unknown: messages say no time")?,
    }
    for writer in &it.writers {
        write_writer(out, writer)?;
    }
    Ok(())
}

fn write_writer(out: &mut String, it: &Writer) -> std::fmt::Result {
    let name = match it.writer_id {
        Some(id) => format!("writer {id}"),
        None => format!("writer without an id, place {}", it.place),
    };
    let name = match &it.name {
        Some(called) => format!("{name} ({})", plain(called)),
        None => name,
    };
    write!(out, "  {name}: {} messages", it.messages)?;
    if it.fields > 0 {
        let of = if it.fields_are_bytes {
            "bytes"
        } else {
            "fields"
        };
        write!(out, " of {} {of}", it.fields)?;
    }
    if !it.encoding.is_empty() {
        write!(out, ", {}", it.encoding)?;
    }
    if let Some(set) = &it.data_set {
        let (major, minor) = (set.major_version, set.minor_version);
        write!(
            out,
            ", DataSet {} of {} fields, version {major}.{minor}",
            plain(&set.name),
            set.fields
        )?;
    }
    let kinds = [
        (it.delta_frames, "delta frames"),
        (it.events, "events"),
        (it.keep_alives, "keep-alives"),
        (it.invalid, "not valid"),
    ];
    for (n, what) in kinds.into_iter().filter(|(n, _)| *n > 0) {
        write!(out, ", {n} {what}")?;
    }
    match &it.sequence {
        Some(counted) => writeln!(out, "; {}", told(counted)),
        None => writeln!(out, "; no sequence numbers, so nothing is known of loss"),
    }
}

fn told(it: &Counted) -> String {
    let mut text = format!("lost {}", it.lost);
    if it.gaps > 0 {
        text += &format!(" in {} gaps, the longest of {}", it.gaps, it.longest_gap);
    }
    text += &format!(", repeated {}, late {}", it.duplicates, it.late);
    if it.too_old > 0 {
        text += &format!(", too late to tell {}", it.too_old);
    }
    if it.restarts > 0 {
        text += &format!(", begun anew {}", it.restarts);
    }
    text
}
