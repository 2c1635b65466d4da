//! `uaperf publish`: signals as PubSub datagrams.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use judge::Exit;
use load::pubsub::{Delivered, Mapping, Publish, PublishError, Published, Target, Values};
use plan::unit::duration::show;

use super::broker::{self, Broker, Url};
use super::message::{self, Message};
use super::{Common, Verdict, parent};
use crate::failure::Failure;

/// Publish signals (PubSub): over UDP to a host or a multicast group, or to an MQTT broker
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where to: opc.udp://HOST:PORT (without a port 4840), or mqtt://HOST:PORT/PREFIX with the prefix of its topics
    /// (port 1883, prefix opcua)
    #[arg(value_name = "URL")]
    to: Url,
    /// How messages are written: uadp; or to a broker json, json-verbose, json-reversible
    #[arg(long, value_name = "MAPPING", default_value = "uadp", hide_possible_values = true, value_parser = broker::MAPPINGS)]
    mapping: String,
    #[command(flatten)]
    message: Message,
    /// End after so many cycles
    #[arg(long, value_name = "N")]
    cycles: Option<u64>,
    /// For a parent: READY is written, keys are read from standard input up to an empty line, BEGUN is written with
    /// the first cycle, the result is one line, and the end of standard input ends it
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
  uaperf publish mqtt://127.0.0.1/line4 --mapping json --qos 1
  uaperf publish opc.udp://127.0.0.1 --max --cycles 100000 --keys group.keys \\
    --security sign-and-encrypt";

/// Carries out `uaperf publish`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    args.common.check()?;
    let Message {
        interval,
        roll_over,
        ..
    } = &args.message;
    let mode = message::mode(&args.message.security);
    let keys = match (&args.common.keys, mode) {
        _ if args.with_parent => parent::keys()?,
        (Some(file), Some(_)) => super::keys::read(file)?,
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
    let to = match args.to.clone() {
        Url::Udp(_) if mapping != Mapping::Uadp => {
            let what = format!("--mapping {}: messages over UDP are UADP", args.mapping);
            return Err(Failure::usage(what)
                .hint("JSON goes to brokers: mqtt://HOST")
                .into());
        }
        Url::Udp(to) => Target::Udp(to),
        Url::Mqtt(_) if mapping != Mapping::Uadp && mode.is_some() => {
            let what = format!("--security with --mapping {}: JSON has none", args.mapping);
            return Err(Failure::usage(what)
                .hint("secured messages are UADP")
                .into());
        }
        Url::Mqtt(url) => Target::Mqtt(Box::new(args.broker.at(url, args.in_flight)?)),
    };
    let plan = Publish {
        to,
        mapping,
        interface: args.common.interface,
        ttl: args.message.ttl,
        publisher_id: message::publisher_id(&args.message.publisher),
        groups: args.message.groups,
        writers: args.message.writers,
        values: Values::Count(message::signal(&args.message.kind), args.message.signals),
        encoding: message::encoding(&args.message.encoding),
        layout: args.message.layout,
        mode,
        keys,
        roll_over: *roll_over,
        interval: args.message.interval(),
        duration: args.common.duration,
        cycles: args.cycles,
    };
    let stop = match args.with_parent {
        true => parent::end(),
        false => crate::quick::interrupt::flag()?,
    };
    let published = load::pubsub::publish(plan, &stop, |at_ns| {
        if args.with_parent {
            parent::begun(at_ns);
        }
    })
    .map_err(|error| {
        let failure = Failure::new(format!("{}: {error}", args.to));
        match error {
            PublishError::Broker(error) => broker::failed(&args.to, &error),
            PublishError::Io(_) => failure.hint("is --interface an address of this host?"),
            _ => failure,
        }
    })?;
    if args.with_parent {
        parent::tell(&published, &stop)?;
        return Ok(ExitCode::SUCCESS);
    }
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

fn verdict(it: &Published, interval: Option<Duration>) -> Verdict {
    let (mut name, mut exit, mut evidence) = ("VALID", Exit::Good, Vec::new());
    let late = it.lateness.map_or(0, |it| it.p99_ns);
    if let Some(interval) = interval.filter(|each| u128::from(late) > each.as_nanos()) {
        (name, exit) = ("GENERATOR-LIMITED", Exit::Verdict);
        evidence.push(format!(
            "1 of 100 cycles began {} late or more, at an interval of {}",
            show(Duration::from_nanos(late)),
            show(interval)
        ));
    }
    if let Some(mqtt) = &it.mqtt {
        if let Some(taken) = judge_broker(mqtt, &mut evidence, it.datagrams + it.refused) {
            (name, exit) = taken;
        }
    } else if it.refused > 0 {
        (name, exit) = ("INCOMPLETE", Exit::Nothing);
        let all = it.refused + it.datagrams;
        evidence.push(format!(
            "the kernel refused {} of {all} datagrams: nobody listens there, or a buffer is full",
            it.refused
        ));
    }
    if it.interrupted {
        (name, exit) = ("INCOMPLETE", Exit::Nothing);
        evidence.push("interrupted".to_owned());
    }
    Verdict {
        name,
        exit,
        evidence,
    }
}

/// What a broker did not take, or did not say.
fn judge_broker(
    it: &Delivered,
    evidence: &mut Vec<String>,
    all: u64,
) -> Option<(&'static str, Exit)> {
    let mut verdict = None;
    let full = it.window_full + it.socket_full;
    if full > 0 {
        verdict = Some(("SERVER-SATURATED", Exit::Good));
        evidence.push(format!(
            "the broker did not take {full} of {all} messages in time: {} with {} unacknowledged, {} since its socket was \
             full",
            it.window_full, it.window, it.socket_full
        ));
    }
    let mut incomplete = |what| {
        verdict = Some(("INCOMPLETE", Exit::Nothing));
        evidence.push(what);
    };
    if it.refused > 0 {
        let why = it.refused_because.as_deref().unwrap_or("without a reason");
        incomplete(format!(
            "the broker refused {} of {all} messages: {why}",
            it.refused
        ));
    }
    match it.lost_connections.first() {
        Some(why) => incomplete(format!(
            "the connection was lost ({why}): {} of {all} messages not sent, {} unacknowledged",
            it.not_connected, it.unacknowledged
        )),
        None if it.unacknowledged > 0 => incomplete(format!(
            "the broker did not acknowledge {} of {all} messages within 2 s of the last",
            it.unacknowledged
        )),
        None => {}
    }
    verdict
}

fn write_broker(out: &mut String, it: &Delivered) -> std::fmt::Result {
    write!(out, "  MQTT {}, QoS {}", it.version, it.qos)?;
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
    writeln!(out, " in {}", show(Duration::from_nanos(it.elapsed_ns)))?;
    writeln!(
        out,
        "  {} {} of {} bytes, {:.0}/s; {} values, {:.0}/s",
        it.datagrams,
        if it.mqtt.is_some() {
            "messages"
        } else {
            "datagrams"
        },
        it.datagram_bytes,
        it.datagrams as f64 / seconds,
        it.values,
        it.values as f64 / seconds
    )?;
    if let Some(mqtt) = &it.mqtt {
        write_broker(out, mqtt)?;
    } else if it.datagram_bytes > 1472 {
        writeln!(
            out,
            "  a datagram of more than 1472 bytes is cut into fragments by IP"
        )?;
    }
    if it.roll_overs > 0 {
        writeln!(out, "  {} times another key", it.roll_overs)?;
    }
    match &it.lateness {
        Some(late) => super::spread(out, "lateness", late),
        None => Ok(()),
    }
}
