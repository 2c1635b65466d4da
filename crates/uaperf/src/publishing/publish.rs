//! `uaperf publish`: signals as PubSub datagrams.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use judge::Exit;
use load::pubsub::{Address, Publish, PublishError, Published, Values};
use plan::unit::duration::show;

use super::message::{self, Message};
use super::{Common, Verdict, parent};
use crate::failure::Failure;

/// Publish signals over UDP (PubSub, UADP), to a host or a multicast group
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where to: opc.udp://HOST:PORT; without a port, 4840
    #[arg(value_name = "URL")]
    to: Address,
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
    let plan = Publish {
        to: args.to,
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
