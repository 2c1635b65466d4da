//! `uaperf demo pubsub`: the same signals to a client, over UDP and through a broker, beside each other.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use judge::Measured;
use judge::compare::Metric;
use load::pubsub::BrokerUrl;
use plan::unit::{Bytes, Rate, duration};
use plan::{Figures, Measure, Stat};
use record::run::Phase;
use report::Named;

use super::broker::Broker;
use super::typed;
use crate::failure::Failure;
use crate::interrupt;
use crate::serving::Folder;
use crate::{results, screen};

/// The same signals by client and server, over UDP, and through an MQTT broker, beside each other
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Publish to this broker, mqtt://HOST:PORT/PREFIX, instead of a mosquitto that the demo starts; none leaves MQTT out
    #[arg(long, value_name = "URL|none")]
    broker: Option<Choice>,
    /// How long each way is measured
    #[arg(long, value_name = "DURATION", default_value = "4s", value_parser = duration::parse)]
    duration: Duration,
}

/// Which broker.
#[derive(Debug, Clone)]
enum Choice {
    None,
    Broker(BrokerUrl),
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "none" {
            return Ok(Self::None);
        }
        let url: BrokerUrl = text.parse().map_err(|error| format!("{error}"))?;
        match url.is_secured() {
            true => Err("want mqtt://; uaperf publish and listen speak to mqtts://".to_owned()),
            false => Ok(Self::Broker(url)),
        }
    }
}

/// What the demo writes down, to be changed and run again.
const FILES: [(&str, &str); 4] = [
    ("plant.toml", include_str!("plant.toml")),
    ("client_server.toml", include_str!("client_server.toml")),
    ("udp.toml", include_str!("udp.toml")),
    ("mqtt.toml", include_str!("mqtt.toml")),
];

/// A way that signals take: its name in two lines, its scenario, and parameters of it.
struct Way {
    name: [&'static str; 2],
    scenario: &'static str,
    parameters: Vec<String>,
}

/// Carries it out.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.duration.is_zero() {
        return Err(Failure::usage("--duration 0s: want more than nothing").into());
    }
    interrupt::quits()?;
    let folder = Folder::make("demo")?;
    let mut own = None;
    let broker = match args.broker {
        Some(Choice::Broker(url)) => Ok(reached(&url)?),
        Some(Choice::None) => Err("--broker none".to_owned()),
        None => Broker::start(&folder.0).map(|it| {
            let url = format!("mqtt://{}/{}", it.at, prefix());
            own = Some(it);
            url
        }),
    };
    let mut out = screen::out();
    writeln!(
        out,
        "A hundred signals, each a hundred times a second: to a client, over UDP, and through a broker. Each way has\n\
         the same plant, in a process of its own, on the loopback of this machine."
    )?;
    match &broker {
        Ok(url) if own.is_some() => {
            writeln!(out, "The broker is a mosquitto of our own at {url}.")?
        }
        Ok(url) => writeln!(out, "The broker is {url}.")?,
        Err(why) => writeln!(
            out,
            "MQTT is left out: {why}. To have it: apt install mosquitto, or --broker mqtt://HOST for one that runs."
        )?,
    }
    out.flush()?;
    let place = results::fresh(SystemTime::now().into(), "demo-pubsub");
    for (name, text) in FILES {
        results::write(&place.join(name), text)?;
    }
    let ways = ways(broker.ok(), args.duration)?;
    let pki = folder.0.join("client");
    for way in &ways {
        measure(&mut out, way, &place, &pki)?;
    }
    let mut measured = Vec::new();
    let mut folders = Vec::new();
    for way in &ways {
        let folder = place.join(way.scenario);
        // One that failed has said so, and the rest is worth a look.
        if let Ok(runs) = results::read(std::slice::from_ref(&folder)) {
            measured.extend(runs.into_iter().map(|run| (way, run)));
            folders.push(folder.display().to_string());
        }
    }
    if !folders.is_empty() {
        summary(&mut out, &measured)?;
        let page = place.join("report.html").display().to_string();
        let mut words = vec!["report"];
        words.extend(folders.iter().map(String::as_str));
        words.extend(["-o", &page]);
        let told = words.join(" ").replace(" results", " \\\n    results");
        typed(&mut out, &told, &words, &pki)?;
    }
    writeln!(
        out,
        "\nWhat a publisher of yours sends:  uaperf listen opc.udp://ADDRESS:4840, or mqtt://BROKER"
    )?;
    let is_missing = |it: &&Way| !folders.iter().any(|folder| folder.ends_with(it.scenario));
    match ways.iter().find(is_missing) {
        Some(way) => Err(Failure::new(format!("{}: nothing was measured", way.name[0])).into()),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// What topics of this demo begin with: those of another one are not heard.
fn prefix() -> String {
    format!("uaperf-demo-{}", std::process::id())
}

/// A broker that was named, if somebody is there.
fn reached(url: &BrokerUrl) -> Result<String, Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(format!("no broker at {url}: {error}")).hint(
            "omit --broker: the demo starts a mosquitto, if there is one (apt install mosquitto)",
        )
    };
    let mut last = std::io::ErrorKind::AddrNotAvailable.into();
    for at in (url.host(), url.port()).to_socket_addrs().map_err(failed)? {
        match TcpStream::connect_timeout(&at, Duration::from_secs(3)) {
            Ok(_) => {
                let mut url = url.clone();
                let topic = url.topic.unwrap_or_else(prefix);
                url.topic = Some(topic.trim_end_matches('/').to_owned());
                return Ok(url.to_string());
            }
            Err(error) => last = error,
        }
    }
    Err(failed(last))
}

/// The ways that there are, on ports that are free.
fn ways(broker: Option<String>, duration: Duration) -> anyhow::Result<Vec<Way>> {
    let local = (Ipv4Addr::LOCALHOST, 0);
    let no_port = "this machine has no free port on its loopback";
    let server = TcpListener::bind(local).context(no_port)?.local_addr()?;
    let sockets = [UdpSocket::bind(local), UdpSocket::bind(local)];
    let [to, probes] = sockets.map(|it| it.and_then(|it| it.local_addr()));
    let (to, probes) = (to.context(no_port)?, probes.context(no_port)?);
    let common = [
        format!("server=opc.tcp://{server}"),
        format!("duration={}", duration::typed(duration)),
    ];
    let way = |name, scenario, own: &[String]| Way {
        name,
        scenario,
        parameters: [&common, own].concat(),
    };
    let over_udp = [
        format!("to=opc.udp://{to}"),
        format!("probes=opc.udp://{probes}"),
    ];
    let mut ways = vec![
        way(["client/server", "secured"], "client_server", &[]),
        way(["UDP, RawData", "secured"], "udp", &over_udp),
    ];
    if let Some(url) = broker {
        ways.push(way(
            ["MQTT, JSON", "not secured"],
            "mqtt",
            &[format!("broker={url}")],
        ));
    }
    Ok(ways)
}

/// Carries out the scenario of a way.
fn measure(out: &mut impl Write, way: &Way, place: &Path, pki: &Path) -> anyhow::Result<()> {
    let file = place.join(way.scenario).with_extension("toml");
    let (file, results) = (
        file.display().to_string(),
        place.join(way.scenario).display().to_string(),
    );
    let mut words = vec!["run", &file, "--out", &results];
    for parameter in &way.parameters {
        words.extend(["-P", parameter]);
    }
    let told = words.join(" ").replace(" -P ", " \\\n    -P ");
    words.push("--quiet");
    typed(out, &told, &words, pki)
}

/// A row of the summary: what it is, and the figure of a phase.
type Row = (&'static str, fn(&Phase) -> Option<String>);

const ROWS: [Row; 9] = [
    ("values a second", |it| it.values_per_s().map(Rate::show)),
    ("lost", |it| {
        figure(it, Measure::Response, Stat::Loss).map(|it| format!("{it:.0}"))
    }),
    ("interval, mean", |it| match &it.pubsub {
        Some(_) => time(it, Measure::Arrival, Stat::Mean),
        None => time(it, Measure::Cycle, Stat::Mean),
    }),
    ("jitter, p90", |it| time(it, Measure::Jitter, Stat::P90)),
    ("delay, p50", |it| time(it, Measure::Delay, Stat::P50)),
    ("delay, p90", |it| time(it, Measure::Delay, Stat::P90)),
    ("bytes a value", |it| it.bytes_per_value().map(Bytes::show)),
    ("CPU a value, plant", |it| {
        Metric::CpuPerValue.of(it).map(duration::show_nanos)
    }),
    ("CPU a value, receiver", |it| {
        Metric::ReceiverCpuPerValue.of(it).map(duration::show_nanos)
    }),
];

fn figure(phase: &Phase, measure: Measure, stat: Stat) -> Option<f64> {
    Measured(phase).figure(measure, stat)
}

fn time(phase: &Phase, measure: Measure, stat: Stat) -> Option<String> {
    figure(phase, measure, stat).map(duration::show_nanos)
}

/// What was seen of each way: a column for each.
fn summary(out: &mut impl Write, measured: &[(&Way, Named)]) -> anyhow::Result<()> {
    let mut row = |name: &str, cells: &mut dyn Iterator<Item = String>| {
        write!(out, "  {name:<24}")?;
        for cell in cells {
            write!(out, "{cell:>16}")?;
        }
        writeln!(out)
    };
    row("\nWhat was seen", &mut std::iter::empty())?;
    let words = |n: usize| measured.iter().map(move |(way, _)| way.name[n].to_owned());
    row("", &mut words(0))?;
    row("", &mut words(1))?;
    for (name, of) in ROWS {
        let cell = |(_, it): &(&Way, Named)| it.run.phases.first().and_then(of);
        let cells = measured.iter().map(cell);
        row(
            name,
            &mut cells.map(|it| it.unwrap_or_else(|| "n/a".to_owned())),
        )?;
    }
    writeln!(
        out,
        "\nA value that is published is made in its cycle, and its delay is the way only; one that is subscribed to waits\n\
         for sampling and publishing. JSON has no message security. CPU of the broker is not among these."
    )?;
    Ok(())
}
