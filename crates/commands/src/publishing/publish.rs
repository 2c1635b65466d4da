//! `uaperf publish`: signals as PubSub datagrams.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use judge::Exit;
use load::pubsub::{
    Address, Delivered, Discovery, EthernetUrl, KeySupply, Mapping, Publish, PublishError,
    Published, Target, Values, publish_and_tell,
};
use plan::Work;
use plan::unit::duration::{parse, show, show_ns};
use record::run::{Kind, whole_datagram};

use super::broker::{self, Broker, Url};
use super::keys::KeySource;
use super::message::{self, Message};
use super::{Common, Verdict, parent, results};
use crate::failure::Failure;
use crate::global::Global;
use crate::time_limit;

/// Publish signals (PubSub): over UDP to a host or a multicast group, in Ethernet frames, or to an MQTT broker
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where to: opc.udp://HOST:PORT (without a port 4840); opc.eth://MAC[:VID[.PCP]] in frames without IP; or mqtt://HOST:PORT/PREFIX with the prefix of its topics
    /// (port 1883, prefix opcua), or mqtts:// inside TLS (port 8883)
    #[arg(value_name = "URL")]
    to: Url,
    /// How messages are written: uadp; or to a broker json, json-verbose, json-reversible
    #[arg(long, value_name = "MAPPING", default_value = "uadp", hide_possible_values = true, value_parser = broker::MAPPINGS)]
    mapping: String,
    #[command(flatten)]
    message: Message,
    /// Answer probes at this address, over UDP, and announce there what is sent: a group such as
    /// opc.udp://224.0.2.14, or an address of this host, from which answers go to the sender of a probe
    #[arg(long, value_name = "URL")]
    discovery: Option<Address>,
    /// Repeat the announcements to a group at this interval [default: once]
    #[arg(long, value_name = "TIME", requires = "discovery", value_parser = parse)]
    announce: Option<Duration>,
    /// End after so many cycles
    #[arg(long, value_name = "N")]
    cycles: Option<u64>,
    /// For a parent: READY is written, secrets and keys are read from standard input up to an empty line, BEGUN is
    /// written with the first cycle, the result is one line, and the end of standard input ends it
    #[arg(long, hide = true)]
    with_parent: bool,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    broker: Broker,
    /// Messages that may wait for their acknowledgement; the broker may want fewer
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..=65534), help_heading = "With a broker")]
    in_flight: u16,
}

const EXAMPLES: &str = "\
Examples:
  uaperf publish opc.udp://127.0.0.1:4840 --signals 100 --interval 1ms
  uaperf publish opc.udp://239.0.0.1 --interface 127.0.0.1 --layout periodic-fixed --encoding raw
  uaperf publish opc.eth://01-00-5e-00-00-01:5.3 --interface eth0 --interval 1ms
  uaperf publish mqtt://127.0.0.1/line4 --mapping json --qos 1
  uaperf publish mqtts://broker.example --user line4 --password-file secret
  uaperf publish opc.udp://239.0.0.1 --security sign-and-encrypt --keys opc.tcp://plc1 \\
    --security-group line4
  uaperf publish opc.udp://127.0.0.1 --max --cycles 100000 --keys group.keys \\
    --security sign-and-encrypt";

/// Carries out `uaperf publish`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    args.common.check()?;
    let Message {
        interval,
        roll_over,
        ..
    } = &args.message;
    let mode = message::mode(&args.message.security);
    let secret = match (args.with_parent, &args.to) {
        (true, _) => {
            parent::ready()?;
            let logs_in = args.broker.has_user();
            logs_in.then(parent::secret).transpose()?
        }
        (false, Url::Mqtt(_)) => args.broker.secret()?,
        (false, _) => None,
    };
    let service = &args.common.key_service;
    let (mut service_secret, mut given) = (None, Vec::new());
    if args.with_parent {
        service_secret = service.has_user().then(parent::secret).transpose()?;
        given = parent::keys()?;
    }
    let mut supply = None;
    let keys = match (&args.common.keys, mode) {
        (Some(KeySource::Service(_)), Some(_)) if roll_over.is_some() => {
            let what = "--roll-over with a key service, which says itself how long a key holds";
            return Err(Failure::usage(what).into());
        }
        (Some(KeySource::Service(url)), Some(_)) => {
            if !args.with_parent {
                service_secret = service.secret()?;
            }
            let trusting = args.broker.trusting();
            supply = Some(service.supply(url, &service_secret, trusting, false, global)?);
            Vec::new()
        }
        _ if args.with_parent => given,
        (Some(KeySource::File(file)), Some(_)) => super::keys::read(file)?,
        (Some(_), None) => {
            return Err(
                Failure::usage("--keys without --security: nothing would be secured")
                    .hint("add --security sign-and-encrypt")
                    .into(),
            );
        }
        (None, Some(_)) => {
            return Err(Failure::usage("--security needs keys")
                .hint("add --keys FILE, with a line POLICY TOKEN HEX for each key")
                .into());
        }
        (None, None) => Vec::new(),
    };
    if roll_over.is_some() && args.common.keys.is_none() && !args.with_parent {
        return Err(Failure::usage("--roll-over without --keys: there is no next key").into());
    }
    let zero = [Some(*interval), *roll_over].contains(&Some(Duration::ZERO));
    if zero && !args.message.max {
        return Err(Failure::usage("a time of zero; for no pause between cycles use --max").into());
    }
    let all = u32::from(args.message.groups) * u32::from(args.message.writers);
    if all > u32::from(u16::MAX) {
        let what = format!("{all} DataSetWriters in all groups; their ids end at 65535");
        return Err(Failure::usage(what).into());
    }
    let mapping = broker::mapping(&args.mapping);
    if let (Some(_), Url::Mqtt(url)) = (args.discovery, &args.to) {
        let what = format!("--discovery with {url}: a broker keeps what is told of messages");
        return Err(Failure::usage(what).into());
    }
    if args.announce == Some(Duration::ZERO) {
        return Err(Failure::usage("--announce 0s: want more than nothing").into());
    }
    let dscp = args.message.dscp;
    let dscp = dscp.map(|it| message::can_be_marked(it, &args.to));
    let dscp = dscp.transpose()?;
    let to = match args.to.clone() {
        Url::Udp(_) | Url::Ethernet(_) if mapping != Mapping::Uadp => {
            let way = args.to.way().unwrap_or_default();
            let what = format!("--mapping {}: messages over {way} are UADP", args.mapping);
            return Err(Failure::usage(what)
                .hint("JSON goes to brokers: mqtt://HOST")
                .into());
        }
        Url::Udp(to) => Target::Udp(to),
        Url::Ethernet(to) => Target::Ethernet(to),
        Url::Mqtt(_) if mapping != Mapping::Uadp && mode.is_some() => {
            let what = format!("--security with --mapping {}: JSON has none", args.mapping);
            return Err(Failure::usage(what)
                .hint("secured messages are UADP")
                .into());
        }
        Url::Mqtt(url) => {
            let mqtt = args.broker.at(url, args.in_flight, &secret, global)?;
            Target::Mqtt(Box::new(mqtt))
        }
    };
    let signal = message::signal(&args.message.kind);
    let plan = Publish {
        mapping,
        interface: args.common.interface.clone(),
        ttl: args.message.ttl,
        dscp,
        publisher_id: message::publisher_id(&args.message.publisher),
        groups: args.message.groups,
        writers: args.message.writers,
        encoding: message::encoding(&args.message.encoding),
        layout: args.message.layout,
        mode,
        keys,
        roll_over: *roll_over,
        key_times: supply.as_ref().map(KeySupply::times),
        interval: args.message.interval(),
        duration: args.common.duration,
        cycles: args.cycles,
        discovery: args.discovery.map(|at| Discovery {
            at,
            each: args.announce,
        }),
        ..Publish::new(to, Values::Count(signal, args.message.signals))
    };
    let failed = |error| {
        let failure = Failure::new(format!("{}: {error}", args.to));
        match error {
            PublishError::Broker(error) => broker::failed(&args.to, &error),
            PublishError::Io(error) => {
                let what = format!("{}: {error}", args.to);
                super::no_socket(what, &error, "is --interface one of this host?")
            }
            _ => failure,
        }
    };
    if args.with_parent {
        let stop = parent::end();
        let published = load::pubsub::publish(plan, &stop, parent::begun).map_err(failed)?;
        parent::tell(&published, &stop)?;
        return Ok(ExitCode::SUCCESS);
    }
    let shown = (args.work(), args.common.duration, args.to.to_string());
    let (published, cpu_ns) = args.common.watched.show(shown, |stop, told| {
        publish_and_tell(plan, stop, |_| (), Some(told))
    })?;
    let published = Published {
        cpu_ns,
        ..published.map_err(failed)?
    };
    let interval = args.message.interval();
    let verdict = verdict(&published, interval);
    super::conclude(
        &args.common,
        super::PUBLISHED,
        verdict,
        published,
        write_screen,
    )
}

impl Args {
    /// What it does, as phases say it.
    fn work(&self) -> Work {
        let interface = self.common.interface.as_ref();
        let broker = || self.broker.plan(Some(self.in_flight), false);
        Work::Publish(Box::new(plan::Publish {
            broker: self.to.is_broker().then(broker),
            ..self.message.plan(&self.to, &self.mapping, interface)
        }))
    }
}

fn verdict(it: &Published, interval: Option<Duration>) -> Verdict {
    let (mut kind, mut evidence) = (Kind::Valid, Vec::new());
    let mut find = |found: Kind, what| {
        // What explains most is the verdict.
        kind = kind.max(found);
        evidence.push(what);
    };
    let late = it.lateness.map_or(0, |it| it.p99_ns);
    if let Some(interval) = interval.filter(|each| u128::from(late) > each.as_nanos()) {
        let what = format!(
            "1 of 100 cycles began {} late or more, at an interval of {}",
            show_ns(late),
            show(interval)
        );
        find(Kind::GeneratorLimited, what);
    }
    let all = it.refused + it.datagrams;
    if let Some(mqtt) = &it.mqtt {
        for (found, _, what, _) in judge::delivered(&results::delivered(mqtt), all) {
            find(found, what);
        }
    } else if it.refused > 0 {
        let what = format!(
            "the kernel refused {} of {all} datagrams: nobody listens there, or a buffer is full",
            it.refused
        );
        find(Kind::Incomplete, what);
    }
    if let Some(keys) = it.keys.as_ref().filter(|keys| keys.expired > 0) {
        let what = judge::expired(&results::keys(keys), "datagrams");
        find(Kind::Incomplete, what);
    }
    if it.interrupted {
        find(Kind::Incomplete, time_limit::why());
    }
    Verdict {
        name: kind.name(),
        exit: match kind {
            _ if it.interrupted => Exit::Interrupted,
            Kind::Valid | Kind::ServerSaturated => Exit::Good,
            Kind::GeneratorLimited | Kind::Unsteady => Exit::Verdict,
            Kind::Incomplete | Kind::Failed => Exit::Nothing,
        },
        evidence,
    }
}

fn write_broker(out: &mut String, it: &Delivered) -> std::fmt::Result {
    broker::write_version(out, &it.version, it.tls.as_deref())?;
    write!(out, ", QoS {}", it.qos)?;
    if it.qos > 0 {
        write!(
            out,
            ": {} acknowledged, {} not, {} refused; at most {} at a time",
            it.acknowledged, it.unacknowledged, it.refused, it.window
        )?;
    }
    writeln!(out, "; {} connections", it.connections)?;
    let unsent = [
        (it.not_connected, "without a connection"),
        (it.window_full, "with too many unacknowledged"),
        (it.socket_full, "with a full socket"),
    ];
    for (n, why) in unsent.into_iter().filter(|(n, _)| *n > 0) {
        writeln!(out, "  not sent {why}: {n}")?;
    }
    for why in &it.lost_connections {
        writeln!(out, "  connection lost: {why}")?;
    }
    match &it.acknowledgement {
        Some(times) => super::spread(out, "ack", times),
        None => Ok(()),
    }
}

pub(super) fn write_screen(out: &mut String, it: &Published) -> std::fmt::Result {
    let seconds = it.elapsed_ns.max(1) as f64 / 1e9;
    writeln!(out, "published to {}", it.to)?;
    write!(out, "  {} cycles", it.cycles)?;
    if let Some(planned) = it.planned_cycles {
        write!(out, " of {planned}")?;
    }
    writeln!(out, " in {}", show_ns(it.elapsed_ns))?;
    writeln!(
        out,
        "  {} {} of {} bytes, {:.0}/s; {} values, {:.0}/s",
        it.datagrams,
        match &it.mqtt {
            Some(_) => "messages",
            None if EthernetUrl::is_one(&it.to) => "frames",
            None => "datagrams",
        },
        it.datagram_bytes,
        it.datagrams as f64 / seconds,
        it.values,
        it.values as f64 / seconds
    )?;
    if let Some(mqtt) = &it.mqtt {
        write_broker(out, mqtt)?;
    } else if it.datagram_bytes > whole_datagram(&it.to) && !EthernetUrl::is_one(&it.to) {
        writeln!(
            out,
            "  a datagram of more than {} bytes is cut into fragments by IP on links of 1500 bytes",
            whole_datagram(&it.to)
        )?;
    }
    if let Some(dscp) = &it.dscp {
        writeln!(out, "  DSCP {dscp}")?;
    }
    super::cpu(out, it.cpu_ns, (it.values, it.datagrams))?;
    if let Some(asked) = &it.discovery {
        writeln!(
            out,
            "  {} probes, {} announcements",
            asked.probes, asked.announcements
        )?;
    }
    if it.roll_overs > 0 {
        writeln!(out, "  {} key changes", it.roll_overs)?;
    }
    if let Some(keys) = &it.keys {
        super::keys::write(out, keys)?;
    }
    match &it.lateness {
        Some(late) => super::spread(out, "lateness", late),
        None => Ok(()),
    }
}
