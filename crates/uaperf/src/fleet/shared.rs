//! A phase that agents share: shares for all of them, and their books as one outcome.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use fleet::frame::{pack, unpack};
use fleet::{Event, Settings, Share, Stage, deal};
use judge::Missing;
use load::engine::{Control, Outcome, Progress, Target};
use plan::{Phase, Seat, Work};
use record::run::{Figure, Host, HostClock, Kind, Run};

use super::crew::{Crew, Standing, instant};
use super::spec::{Place, places};
use super::task::{Books, Task};
use super::{Args, VERSION};
use crate::failure::Failure;
use crate::global::Global;
use crate::quick::Common;
use crate::screen::tell;

/// How often an interrupt is looked for.
const LOOK_UP: Duration = Duration::from_millis(50);

/// Threads of an agent are told apart in this many numbers.
const THREADS: usize = 1024;

/// The agents of a run.
#[derive(Debug)]
pub struct Fleet {
    crew: Crew,
    places: Vec<Place>,
    /// Why an agent is not there.
    lost: Vec<Option<String>>,
}

/// What a fleet did.
#[derive(Debug)]
pub struct Shared {
    /// Each agent.
    pub hosts: Vec<Host>,
    /// Agents of which something is missing.
    pub missing: Vec<Missing>,
    /// By how much delays can be wrong, at the agent where it is most.
    pub clock_error: Figure<u64>,
    /// All began within this of each other.
    pub spread_ns: Option<u64>,
}

impl Shared {
    /// Agents that were the limit themselves: name, share of the load, and why.
    pub fn limits(&self) -> impl Iterator<Item = (&str, f64, String)> {
        self.hosts.iter().filter_map(|host| {
            let verdict = host.verdict.as_ref()?;
            let limited = verdict.kind == Kind::GeneratorLimited;
            limited.then(|| (&*host.name, host.offered_share, verdict.evidence.join("; ")))
        })
    }

    /// What should be known of how they worked together at a phase.
    pub fn note(&self, phase: Option<&str>) -> String {
        let of = phase.map_or_else(String::new, |name| format!("{name}: "));
        let there = self.hosts.iter().filter(|it| it.lost.is_none()).count();
        let within = match self.spread_ns {
            Some(ns) => format!(
                ", which began within {} of each other",
                plan::unit::duration::show(Duration::from_nanos(ns))
            ),
            None => String::new(),
        };
        match there {
            1 => format!("{of}the load came from 1 agent"),
            n => format!("{of}the load came from {n} agents{within}"),
        }
    }
}

impl Fleet {
    /// Starts the agents of a command, and waits until they have said who they are and their clocks are known.
    pub fn gather(args: &Args, control: &Control, global: &Global) -> anyhow::Result<Self> {
        let places = places(args.specs());
        let crew = Crew::start(&places, global.pki()?, Settings::default())?;
        let mut fleet = Self {
            crew,
            lost: vec![None; places.len()],
            places,
        };
        let mut strangers = Vec::new();
        loop {
            if control.is_over() {
                return Err(Failure::interrupted().into());
            }
            match fleet.crew.next(LOOK_UP) {
                Some(None) => {}
                Some(Some(Event::Stranger { agent, version })) => {
                    strangers.push(format!("{} has {version}", fleet.name(agent)));
                }
                Some(Some(Event::Lost { agent, why, stage })) => fleet.lose(agent, stage, &why),
                Some(Some(Event::Gathered)) => break,
                Some(Some(Event::Over)) | None => break,
                Some(Some(_)) => {}
            }
        }
        if !strangers.is_empty() {
            return Err(Failure::usage(format!(
                "agents of other versions: {} (want {VERSION}, as here)",
                strangers.join(", ")
            ))
            .hint("copy this program there, and name it: --fleet ssh:HOST:/path/to/uaperf")
            .into());
        }
        if fleet.lost.iter().all(Option::is_some) {
            let first = fleet.lost.iter().flatten().next().cloned();
            let first = first.unwrap_or_default();
            return Err(
                Failure::new(format!("no agent is there: {} {first}", fleet.name(0)))
                    .hint("uaperf fleet check SPEC tells more of each")
                    .into(),
            );
        }
        Ok(fleet)
    }

    fn name(&self, agent: usize) -> &str {
        self.places.get(agent).map_or("", |it| &it.name)
    }

    fn lose(&mut self, agent: usize, stage: Stage, why: &str) {
        let what = format!("was lost {stage}: {why}");
        tell!("warning: agent {} {what}", self.name(agent));
        if let Some(lost) = self.lost.get_mut(agent) {
            *lost = Some(what);
        }
    }

    /// How much of the load each agent gets; nothing where it is lost.
    fn weights(&self) -> Vec<u32> {
        let standings = self.crew.standings();
        let cores = standings.iter().map(|it| it.hello.as_ref()?.cores.into());
        let cores = cores.map(|it: Option<u32>| it.unwrap_or(1));
        let agents = self.places.iter().zip(&self.lost).zip(cores);
        let weight = |((place, lost), cores): ((&Place, &Option<String>), u32)| match lost {
            None => place.weight.of(cores),
            Some(_) => 0,
        };
        agents.map(weight).collect()
    }

    /// Has the agents carry a phase out; gives what became of it, as one generator would.
    pub fn carry_out(
        mut self,
        service: &str,
        phase: &Phase,
        looked: &[Arc<Target>],
        common: &Common,
        control: &Control,
        mut progress: impl FnMut(Progress),
    ) -> anyhow::Result<(Outcome, Shared)> {
        let targets = looked.iter().map(|it| it.access.url.to_string()).collect();
        let mut words = common.reached_by();
        words.extend(common.load.words());
        let task = Task {
            service: service.to_owned(),
            phase: serde_json::to_string(&of_agents(phase))?,
            targets,
            words,
            password: common.access.secret()?.map(|it| it.to_string()),
        };
        let task = pack(&task)?;
        let weights = self.weights();
        let hands = deal(looked.len() as u32, phase.sessions, &weights);
        let busy = hands.iter().enumerate();
        let busy = busy.filter(|(_, seats)| !seats.is_empty());
        self.crew.share(
            busy.map(|(agent, seats)| {
                let share = Share {
                    seats: seats.clone(),
                    task: task.clone(),
                };
                (agent, share)
            })
            .collect(),
        );
        let mut books: Vec<Option<Books>> = hands.iter().map(|_| None).collect();
        let mut start = None;
        let mut stopped = false;
        loop {
            if control.is_over() && !std::mem::replace(&mut stopped, true) {
                self.crew.stop();
            }
            match self.crew.next(LOOK_UP) {
                None | Some(Some(Event::Over)) => break,
                Some(None) => {}
                Some(Some(Event::Start { at_ns })) => start = Some(at_ns),
                Some(Some(Event::Progress { agent, bytes })) => {
                    let told: Vec<Progress> = unpack(&bytes).unwrap_or_default();
                    for mut it in told {
                        it.core += agent * THREADS;
                        progress(it);
                    }
                }
                Some(Some(Event::Books { agent, bytes })) => match unpack(&bytes) {
                    Ok(told) => {
                        if let Some(place) = books.get_mut(agent) {
                            *place = Some(told);
                        }
                    }
                    Err(error) => self.lose(agent, Stage::Booking, &error.to_string()),
                },
                Some(Some(Event::Failed { agent, why })) => {
                    let what = format!("could not do its share: {why}");
                    if let Some(lost) = self.lost.get_mut(agent) {
                        *lost = Some(what);
                    }
                }
                Some(Some(Event::Lost { agent, stage, why })) => self.lose(agent, stage, &why),
                Some(Some(_)) => {}
            }
        }
        if books.iter().all(Option::is_none) {
            if control.is_stopped() {
                return Err(Failure::interrupted().into());
            }
            let first = self.lost.iter().position(Option::is_some).unwrap_or(0);
            let why = self.lost.get(first).cloned().flatten();
            let why = why.unwrap_or_else(|| "told nothing".to_owned());
            let what = format!("no agent measured anything: {} {why}", self.name(first));
            return Err(Failure::new(what).into());
        }
        Ok(self.put_together(phase, looked, &hands, books, start))
    }

    fn put_together(
        self,
        phase: &Phase,
        looked: &[Arc<Target>],
        hands: &[Vec<Seat>],
        books: Vec<Option<Books>>,
        start: Option<u64>,
    ) -> (Outcome, Shared) {
        let standings = self.crew.standings();
        let origin = start.map_or_else(Instant::now, instant);
        let began = SystemTime::now().checked_sub(origin.elapsed());
        let began = began.unwrap_or_else(SystemTime::now);
        let mut outcome = Outcome::blank(phase, looked.len(), origin, began);
        let mut shared = Shared {
            hosts: Vec::new(),
            missing: Vec::new(),
            clock_error: Figure::Known(0),
            spread_ns: None,
        };
        let planned = books.iter().flatten().map(|it| it.part.planned()).sum();
        let sessions = hands.iter().map(Vec::len).sum::<usize>() as u64;
        let mut bounds = Vec::new();
        let of_agents = self
            .places
            .iter()
            .zip(&self.lost)
            .zip(&standings)
            .zip(hands);
        for ((((place, lost), standing), seats), books) in of_agents.zip(books) {
            let wanted = seats.len() as u64;
            let clock = clock(standing, start);
            if lost.is_none() && wanted > 0 {
                bounds.extend(clock.begin_error_ns.known().copied());
            }
            let hello = standing.hello.clone().unwrap_or_default();
            let mut host = Host {
                name: place.name.clone(),
                pid: hello.pid,
                sessions: wanted,
                clock,
                lost: lost.clone(),
                ..Host::default()
            };
            if let Figure::Missing { .. } = host.machine.host
                && !hello.host.is_empty()
            {
                host.machine.host = Figure::Known(hello.host);
            }
            if let Some(why) = lost {
                shared.missing.push(Missing::Agent {
                    name: place.name.clone(),
                    sessions: wanted,
                    why: why.clone(),
                });
            }
            if let Some(books) = books {
                host.offered_share = match planned {
                    0 => wanted as f64 / sessions.max(1) as f64,
                    all => books.part.planned() as f64 / all as f64,
                };
                let error = books.clock_error_ns;
                shared.clock_error = match (&shared.clock_error, error) {
                    (Figure::Known(most), Some(error)) => Figure::Known(error.max(*most)),
                    (Figure::Known(_), None) => {
                        Figure::missing("a server does not tell an agent its time")
                    }
                    (missing, _) => missing.clone(),
                };
                tell_of(&mut host, &books.run);
                outcome.add(books.part);
            }
            shared.hosts.push(host);
        }
        bounds.sort_unstable();
        shared.spread_ns = match bounds.as_slice() {
            [.., second, first] => Some(first + second),
            _ => None,
        };
        (outcome, shared)
    }
}

/// What an agent's own result says of its host.
fn tell_of(host: &mut Host, run: &str) {
    let Ok(mut run) = serde_json::from_str::<Run>(run) else {
        return;
    };
    host.machine = run.machine;
    if let Some(phase) = run.phases.pop() {
        host.verdict = Some(phase.verdict);
        host.total = Some(phase.total);
        host.resources = phase.resources;
    }
}

/// An agent's clock beside ours; now, and when all began.
fn clock(standing: &Standing, start: Option<u64>) -> HostClock {
    const UNKNOWN: &str = "its clock was not read";
    let bands = &standing.bands;
    let now = super::pipe::stamp().mono_ns;
    let utc = bands.utc(start.unwrap_or(now));
    let known =
        |figure: Option<u64>| figure.map_or_else(|| Figure::missing(UNKNOWN), Figure::Known);
    HostClock {
        ahead_ns: utc.map_or_else(
            || Figure::missing(UNKNOWN),
            |band| Figure::Known(band.middle().round() as i64),
        ),
        error_ns: known(utc.map(|band| band.error().ceil() as u64)),
        drift_ppb: bands.drift().map_or_else(
            || Figure::missing(UNKNOWN),
            |band| Figure::Known(((band.low * 1e9) as i64, (band.high * 1e9) as i64)),
        ),
        begin_error_ns: known(start.and_then(|at| Some(bands.there(at)?.1))),
        round_trip_ns: known(bands.round_trip_ns()),
    }
}

/// The phase as agents carry it out: what is put back and what is expected is the controller's affair.
fn of_agents(phase: &Phase) -> Phase {
    let mut phase = phase.clone();
    phase.expect.clear();
    phase.abort_on.clear();
    if let Work::Write(write) = &mut phase.work {
        write.restore = false;
    }
    phase
}
