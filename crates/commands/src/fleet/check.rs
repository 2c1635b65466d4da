//! `uaperf fleet check`: what each host is, how its clock stands, and what would limit it.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use fleet::{Event, Settings};
use judge::Exit;
use observe::{Idle, Standing, Tree};
use plan::unit::duration;
use serde::Serialize;

use super::VERSION;
use super::agent_pool::{AgentPool, Standing as Known};
use super::nats;
use super::spec::{Place, Spec, places};
use crate::global::Global;
use crate::screen;

/// Say what each host of a fleet is, how its clock stands, and what would limit it; nothing is loaded
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Agents: local:N (processes on this machine), ssh:host, ssh:user@host, ssh:host:/path/to/uaperf, nats:TAG,
    /// nats:TAG/NAME, with *N or *cores for their weight
    #[arg(value_name = "SPEC", required = true, value_delimiter = ',')]
    specs: Vec<Spec>,
    /// Read the clocks for so long: the longer, the better the drift is known
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = duration::parse)]
    clocks: Duration,
    /// JSON for machines instead of a screen for people
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Exit code 1 if an agent is not there or has another version.

Examples:
  uaperf fleet check local:2
  uaperf fleet check ssh:lab@plc1,ssh:lab@plc2 --clocks 10s";

/// What is told of all of them.
#[derive(Serialize)]
struct Summary {
    agents: Vec<Agent>,
    /// Agents that are there, and of this version.
    good: usize,
}

/// What is told of an agent.
#[derive(Serialize)]
struct Agent {
    name: String,
    version: Option<String>,
    host: Option<String>,
    platform: Option<String>,
    cores: Option<u32>,
    /// How much of a load it gets beside the others; none of one that is not there.
    weight: Option<u32>,
    services: Vec<String>,
    clock: Option<Clock>,
    /// What would limit it, or make it measure badly.
    limits: Vec<String>,
    /// Why it is of no use.
    wrong: Option<String>,
}

/// Its clock beside ours.
#[derive(Serialize)]
struct Clock {
    ahead_ns: Option<i64>,
    error_ns: Option<u64>,
    drift_low_ppb: Option<i64>,
    drift_high_ppb: Option<i64>,
    round_trip_ns: u64,
    exchanges: u64,
}

/// Carries out `uaperf fleet check`.
pub fn run(args: &Args, global: &Global) -> anyhow::Result<ExitCode> {
    let places = places(&nats::resolved(&args.specs)?);
    let settings = Settings {
        every: Duration::from_millis(100),
        ..Settings::default()
    };
    let pool = AgentPool::start(&places, global.pki()?, settings)?;
    let mut wrong: Vec<Option<String>> = vec![None; places.len()];
    let note = |wrong: &mut Vec<Option<String>>, agent: usize, why: String| {
        if let Some(place) = wrong.get_mut(agent) {
            *place = Some(why);
        }
    };
    let mut until = None;
    loop {
        let left = until.map(|until: std::time::Instant| {
            until.saturating_duration_since(std::time::Instant::now())
        });
        if left.is_some_and(|left| left.is_zero()) {
            break;
        }
        match pool.next(left.unwrap_or(Duration::from_secs(60))) {
            Some(Some(Event::Mismatched { agent, version })) => {
                let why = format!("it has version {version} (want {VERSION}, as here)");
                note(&mut wrong, agent, why);
            }
            Some(Some(Event::Lost { agent, why, .. })) => note(&mut wrong, agent, why),
            Some(Some(Event::Gathered)) => until = Some(std::time::Instant::now() + args.clocks),
            Some(Some(Event::Over)) | None => break,
            Some(_) => {}
        }
    }
    let now = super::pipe::stamp().mono_ns;
    let standings = pool.standings();
    let agents: Vec<Agent> = places
        .into_iter()
        .zip(standings)
        .zip(wrong)
        .map(|((place, known), wrong)| told(place, known, wrong, now))
        .collect();
    let good = agents.iter().filter(|it| it.wrong.is_none()).count();
    let told = Summary { good, agents };
    screen::print(&told, args.json, write_screen)?;
    Ok(match told.good == told.agents.len() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(Exit::Nothing),
    })
}

fn told(place: Place, known: Known, wrong: Option<String>, now: u64) -> Agent {
    let bands = &known.bands;
    let utc = bands.utc(now);
    let drift = bands.drift();
    let ppb = |share: f64| (share * 1e9).round() as i64;
    let clock = bands.round_trip_ns().map(|round_trip_ns| Clock {
        ahead_ns: utc.map(|band| band.middle().round() as i64),
        error_ns: utc.map(|band| band.error().ceil() as u64),
        drift_low_ppb: drift.map(|band| ppb(band.low)),
        drift_high_ppb: drift.map(|band| ppb(band.high)),
        round_trip_ns,
        exchanges: bands.exchanges(),
    });
    let hello = known.hello;
    Agent {
        name: place.name,
        version: hello.as_ref().map(|it| it.version.clone()),
        host: hello.as_ref().map(|it| it.host.clone()),
        platform: hello.as_ref().map(|it| it.platform.clone()),
        cores: hello.as_ref().map(|it| it.cores),
        weight: hello.as_ref().map(|it| place.weight.of(it.cores)),
        services: hello
            .as_ref()
            .map_or_else(Vec::new, |it| it.services.clone()),
        limits: hello.map_or_else(Vec::new, |it| it.limits),
        clock,
        wrong,
    }
}

fn write_screen(out: &mut String, told: &Summary) -> std::fmt::Result {
    for agent in &told.agents {
        let known = [
            agent.host.clone(),
            agent.platform.clone(),
            agent.cores.map(|n| match n {
                1 => "1 core".to_owned(),
                n => format!("{n} cores"),
            }),
            agent.version.as_ref().map(|it| format!("uaperf {it}")),
            agent
                .weight
                .filter(|it| *it > 1)
                .map(|it| format!("weight {it}")),
        ];
        let known: Vec<String> = known.into_iter().flatten().collect();
        writeln!(out, "{:<18} {}", agent.name, known.join(", "))?;
        if let Some(wrong) = &agent.wrong {
            writeln!(out, "{:18} not usable: {wrong}", "")?;
        }
        if let Some(clock) = &agent.clock {
            writeln!(out, "{:18} clock {}", "", clock.text())?;
        }
        for limit in &agent.limits {
            writeln!(out, "{:18} limit {limit}", "")?;
        }
    }
    writeln!(
        out,
        "\n{} of {} agents can be used; nothing was loaded",
        told.good,
        told.agents.len()
    )
}

impl Clock {
    fn text(&self) -> String {
        let show = duration::show_ns;
        let ahead = match (self.ahead_ns, self.error_ns) {
            (Some(ahead), Some(error)) => {
                let way = if ahead < 0 { "behind" } else { "ahead" };
                format!("{} {way} ± {}", show(ahead.unsigned_abs()), show(error))
            }
            _ => "was set while it was read".to_owned(),
        };
        let drift = match (self.drift_low_ppb, self.drift_high_ppb) {
            (Some(low), Some(high)) => format!(
                ", drift {:+.1} to {:+.1} ppm",
                low as f64 / 1e3,
                high as f64 / 1e3
            ),
            _ => String::new(),
        };
        format!(
            "{ahead}{drift}, {} there and back",
            show(self.round_trip_ns)
        )
    }
}

/// What this host allows and measures badly, as far as it can be told at once.
pub fn limits(debug: bool) -> Vec<String> {
    let mut limits = Vec::new();
    if debug {
        limits.push(
            "the program checks itself (a debug build): it makes a fraction of the load".into(),
        );
    }
    // Raised as far as it goes, as a load does it.
    if let Ok(descriptors) = observe::limits::raise_descriptors(u64::from(u32::MAX)) {
        limits.push(format!(
            "{} file descriptors: sessions at a time",
            descriptors.soft
        ));
    }
    if let Ok(ports) = observe::limits::ports() {
        limits.push(format!(
            "{} local ports: sessions with one server",
            ports.count()
        ));
    }
    let findings = observe::bench(&Tree::here(), &Idle::seen(Duration::from_millis(200)));
    let disturbs = findings
        .iter()
        .filter(|it| it.standing == Standing::Disturbs);
    limits.extend(disturbs.map(|it| format!("{}: {}", it.subject, it.found)));
    limits
}
