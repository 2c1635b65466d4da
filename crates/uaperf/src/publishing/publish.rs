//! `uaperf publish`: signals as PubSub datagrams.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use judge::Exit;
use load::pubsub::{Address, Publish, PublishError, Published, Signal};
use plan::unit::duration::{parse, show};
use pubsub::PublisherId;
use pubsub::layout::Layout;
use pubsub::security::Mode;
use pubsub::view::Encoding;

use super::{Common, Verdict};
use crate::failure::Failure;

/// Publish signals over UDP (PubSub, UADP), to a host or a multicast group
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where to: opc.udp://HOST:PORT; without a port, 4840
    #[arg(value_name = "URL")]
    to: Address,
    /// Fields of each DataSetMessage; each value is the number of its cycle
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..))]
    signals: u16,
    /// Their type
    #[arg(long = "type", value_name = "TYPE", default_value = "float", value_parser = PossibleValuesParser::new(Signal::ALL.map(Signal::name)))]
    kind: String,
    /// DataSetMessages in each NetworkMessage
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=255))]
    writers: u16,
    /// Writer groups: NetworkMessages in each cycle
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    groups: u16,
    /// PublisherId: a number (UInt16 if it fits, else UInt64) or a text
    #[arg(long, value_name = "ID", default_value = "1")]
    publisher: String,
    /// Header layout of Annex A: periodic-fixed, dynamic
    #[arg(long, value_name = "LAYOUT", default_value = "dynamic")]
    layout: Layout,
    /// How fields are encoded
    #[arg(long, default_value = "variant", value_parser = ["variant", "raw", "value"])]
    encoding: String,
    /// How messages are secured, with the keys of --keys
    #[arg(long, default_value = "none", value_parser = ["none", "sign", "sign-and-encrypt"])]
    security: String,
    /// Take the next key of the file after each such time; the last one stays
    #[arg(long, value_name = "TIME", requires = "keys", value_parser = parse)]
    roll_over: Option<Duration>,
    /// Distance of cycles: a cycle has its time, whatever the one before took
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = parse)]
    interval: Duration,
    /// As many cycles as possible, without a pause
    #[arg(long, conflicts_with = "interval")]
    max: bool,
    /// End after so many cycles
    #[arg(long, value_name = "N")]
    cycles: Option<u64>,
    /// Routers that multicast datagrams may pass
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=255))]
    ttl: u32,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
Examples:
  uaperf publish opc.udp://127.0.0.1:4840 --signals 100 --interval 1ms
  uaperf publish opc.udp://239.0.0.1 --interface 127.0.0.1 --layout periodic-fixed --encoding raw
  uaperf publish opc.udp://127.0.0.1 --max --cycles 100000 --keys group.keys \\
    --security sign-and-encrypt";

/// Carries out `uaperf publish`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    args.common.check()?;
    let mode = match args.security.as_str() {
        "none" => None,
        "sign" => Some(Mode::Sign),
        _ => Some(Mode::SignAndEncrypt),
    };
    let keys = match (&args.common.keys, mode) {
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
    let zero = [Some(args.interval), args.roll_over].contains(&Some(Duration::ZERO));
    if zero && !args.max {
        return Err(Failure::usage("a time of zero; for no pause between cycles use --max").into());
    }
    let all = u32::from(args.groups) * u32::from(args.writers);
    if all > u32::from(u16::MAX) {
        let what = format!("{all} DataSetWriters in all groups; their ids end at 65535");
        return Err(Failure::usage(what).into());
    }
    let plan = Publish {
        to: args.to,
        interface: args.common.interface,
        ttl: args.ttl,
        publisher_id: publisher_id(&args.publisher),
        groups: args.groups,
        writers: args.writers,
        signals: args.signals,
        signal: Signal::ALL
            .into_iter()
            .find(|it| it.name() == args.kind)
            .unwrap_or(Signal::Float),
        encoding: match args.encoding.as_str() {
            "raw" => Encoding::Raw,
            "value" => Encoding::DataValue,
            _ => Encoding::Variant,
        },
        layout: args.layout,
        mode,
        keys,
        roll_over: args.roll_over,
        interval: (!args.max).then_some(args.interval),
        duration: args.common.duration,
        cycles: args.cycles,
    };
    let stop = crate::quick::interrupt::flag()?;
    let published = load::pubsub::publish(plan, &stop).map_err(|error| {
        let failure = Failure::new(format!("{}: {error}", args.to));
        match error {
            PublishError::Io(_) => failure.hint("is --interface an address of this host?"),
            _ => failure,
        }
    })?;
    let interval = (!args.max).then_some(args.interval);
    let verdict = verdict(&published, interval);
    super::conclude(
        &args.common,
        super::PUBLISHED,
        verdict,
        published,
        write_screen,
    )
}

/// A number where it is one.
fn publisher_id(text: &str) -> PublisherId<'static> {
    if let Ok(id) = text.parse::<u16>() {
        return PublisherId::UInt16(id);
    }
    match text.parse::<u64>() {
        Ok(id) => PublisherId::UInt64(id),
        Err(_) => PublisherId::String(text.to_owned().into()),
    }
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
    if it.refused > 0 {
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
        "  {} datagrams of {} bytes, {:.0}/s; {} values, {:.0}/s",
        it.datagrams,
        it.datagram_bytes,
        it.datagrams as f64 / seconds,
        it.values,
        it.values as f64 / seconds
    )?;
    if it.datagram_bytes > 1472 {
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
