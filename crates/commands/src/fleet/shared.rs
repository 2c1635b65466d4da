//! A phase that agents share: shares for all of them, and their results as one outcome.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use fleet::frame::{pack, unpack};
use fleet::{Event, Settings, Share, Stage, deal};
use load::engine::{Control, Outcome, Progress, Target};
use plan::{Phase, Seat, Work};
use record::run::{Figure, Host, HostClock};

use super::agent_pool::{AgentPool, Standing, instant};
use super::ledger::{self, Ledger};
use super::nats;
use super::result_folder::{self, ResultFolder};
use super::spec::{Place, Spec, Way, places};
use super::sum::{AgentResult, Shared, add_up};
use super::task::{AgentResults, Load, Task};
use super::{Args, VERSION};
use crate::failure::Failure;
use crate::global::Global;
use crate::screen::tell;

/// How often an interrupt is looked for.
const LOOK_UP: Duration = Duration::from_millis(50);

/// Threads of an agent are told apart in this many numbers.
const THREADS: usize = 1024;

/// What agents need beside a phase and its servers.
pub struct Wanted {
    /// The command.
    pub service: String,
    /// What was asked for, for the result.
    pub request: serde_json::Map<String, serde_json::Value>,
    /// The servers, for the result.
    pub targets: Vec<record::run::Target>,
    /// Options of the command.
    pub words: Vec<String>,
    /// The user's.
    pub password: Option<String>,
}

/// The agents of a run.
#[derive(Debug)]
pub struct Fleet {
    pub(super) pool: AgentPool,
    pub(super) places: Vec<Place>,
    /// Why an agent gives nothing.
    pub(super) gone: Vec<Option<LostAgent>>,
}

/// Why an agent gives nothing.
#[derive(Debug, Clone)]
pub(super) enum LostAgent {
    /// It is not heard any more, and may have results: when, and why.
    Lost(String),
    /// It said that it cannot, and why.
    Failed(String),
}

impl LostAgent {
    const fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_))
    }
}

impl fmt::Display for LostAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(how) => write!(f, "was lost {how}"),
            Self::Failed(why) => write!(f, "could not do its share: {why}"),
        }
    }
}

impl Fleet {
    /// Starts the agents of a command, and waits until they have said who they are and their clocks are known.
    pub fn gather(args: &Args, control: &Control, global: &Global) -> anyhow::Result<Self> {
        let settings = Settings {
            orphan: args.orphan,
            // Who is not heard there does not hear here.
            silence: args.orphan,
            ..Settings::default()
        };
        Self::at(
            places(&nats::resolved(args.specs())?),
            settings,
            control,
            global,
        )
    }

    /// The same at places that are known.
    pub(super) fn at(
        places: Vec<Place>,
        settings: Settings,
        control: &Control,
        global: &Global,
    ) -> anyhow::Result<Self> {
        let pool = AgentPool::start(&places, global.pki()?, settings)?;
        let mut fleet = Self {
            pool,
            gone: vec![None; places.len()],
            places,
        };
        let mut mismatched = Vec::new();
        loop {
            if control.is_over() {
                return Err(Failure::interrupted().into());
            }
            match fleet.pool.next(LOOK_UP) {
                Some(None) => {}
                Some(Some(Event::Mismatched { agent, version })) => {
                    mismatched.push(format!("{} has {version}", fleet.name(agent)));
                }
                Some(Some(Event::Lost { agent, why, stage })) => fleet.lose(agent, stage, &why),
                Some(Some(Event::Gathered)) => break,
                Some(Some(Event::Over)) | None => break,
                Some(Some(_)) => {}
            }
        }
        if !mismatched.is_empty() {
            return Err(Failure::usage(format!(
                "agents of other versions: {} (want {VERSION}, as here)",
                mismatched.join(", ")
            ))
            .hint("copy this program there, and name it: --fleet ssh:HOST:/path/to/uaperf")
            .into());
        }
        if fleet.gone.iter().all(Option::is_some) {
            let first = fleet.gone.iter().flatten().next();
            let first = first.map(LostAgent::to_string).unwrap_or_default();
            return Err(
                Failure::new(format!("no agent is there: {} {first}", fleet.name(0)))
                    .hint("uaperf fleet check SPEC says more about each")
                    .into(),
            );
        }
        Ok(fleet)
    }

    pub(super) fn name(&self, agent: usize) -> &str {
        self.places.get(agent).map_or("", |it| &it.name)
    }

    pub(super) fn lose(&mut self, agent: usize, stage: Stage, why: &str) {
        self.give_up(agent, LostAgent::Lost(format!("{stage}: {why}")));
    }

    pub(super) fn give_up(&mut self, agent: usize, why: LostAgent) {
        tell!("warning: agent {} {why}", self.name(agent));
        if let Some(gone) = self.gone.get_mut(agent) {
            *gone = Some(why);
        }
    }

    /// All agents with what they are to do, for a ledger.
    fn agents(&self, hands: &[Vec<Seat>]) -> Vec<ledger::Agent> {
        let standings = self.pool.standings();
        let each = self.places.iter().zip(&standings).zip(hands);
        let agent = |((place, standing), seats): ((&Place, &Standing), &Vec<Seat>)| ledger::Agent {
            spec: place.spec(),
            host: Host {
                lost: Some(LostAgent::Lost("with its controller".to_owned()).to_string()),
                ..host(place, standing, seats.len() as u64, None)
            },
        };
        each.map(agent).collect()
    }

    /// How much of the load each agent gets; nothing where it is lost.
    pub(super) fn weights(&self) -> Vec<u32> {
        let standings = self.pool.standings();
        let cores = standings.iter().map(|it| it.hello.as_ref()?.cores.into());
        let cores = cores.map(|it: Option<u32>| it.unwrap_or(1));
        let agents = self.places.iter().zip(&self.gone).zip(cores);
        let weight = |((place, gone), cores): ((&Place, &Option<LostAgent>), u32)| match gone {
            None => place.weight.of(cores),
            Some(_) => 0,
        };
        agents.map(weight).collect()
    }

    /// Has the agents carry a phase out; gives what became of it, as one generator would.
    pub fn carry_out(
        mut self,
        phase: &Phase,
        looked: &[Arc<Target>],
        wanted: Wanted,
        control: &Control,
        mut progress: impl FnMut(Progress),
    ) -> anyhow::Result<(Outcome, Shared)> {
        let targets: Vec<String> = looked.iter().map(|it| it.access.url.to_string()).collect();
        let Wanted {
            service,
            request,
            targets: described,
            words,
            password,
        } = wanted;
        let is_broker = |it: &Place| matches!(it.way, Way::Nats { .. });
        if password.is_some() && self.places.iter().any(is_broker) && !nats::is_private() {
            let what = "--user: its password would pass a broker without TLS";
            return Err(Failure::usage(what)
                .hint("UAPERF_NATS_URL=tls://HOST:PORT")
                .into());
        }
        let weights = self.weights();
        let hands = deal(looked.len() as u32, phase.sessions, &weights);
        let ledger = Ledger {
            version: VERSION.to_owned(),
            load: result_folder::name(),
            command: service.clone(),
            request,
            phase: phase.clone(),
            targets: described,
            words: words.clone(),
            started: SystemTime::now().into(),
            began: None,
            agents: self.agents(&hands),
        };
        let mut shares = Vec::new();
        let phase_of_agents = serde_json::to_string(&of_agents(phase))?;
        for (agent, seats) in hands.iter().enumerate().filter(|(_, it)| !it.is_empty()) {
            let load = Load {
                own: ledger.own(agent),
                service: service.clone(),
                phase: phase_of_agents.clone(),
                targets: targets.clone(),
                words: words.clone(),
                password: password.clone(),
            };
            let task = pack(&Task::Load(Box::new(load)))?;
            shares.push((agent, self.signed(agent, seats.clone(), task)?));
        }
        let kept = ledger.keep().map_err(|error| warn(&error)).ok();
        let kept = kept.map(|folder| (ledger, folder));
        self.pool.share(shares);
        let mut results: Vec<Option<AgentResults>> = hands.iter().map(|_| None).collect();
        let mut start = None;
        let mut stopped = false;
        loop {
            if control.is_over() && !std::mem::replace(&mut stopped, true) {
                self.pool.stop();
            }
            match self.pool.next(LOOK_UP) {
                None | Some(Some(Event::Over)) => break,
                Some(None) => {}
                Some(Some(Event::Start { at_ns })) => start = Some(at_ns),
                Some(Some(Event::Progress { agent, bytes })) => {
                    // Progress is shown and not counted: what cannot be read is not shown.
                    let told: Vec<Progress> = unpack(&bytes).unwrap_or_default();
                    for mut it in told {
                        it.core += agent * THREADS;
                        progress(it);
                    }
                }
                Some(Some(Event::Results { agent, bytes })) => {
                    // Results that cannot be read are not taken: the agent keeps them.
                    let told = match AgentResults::of_bytes(&bytes) {
                        Ok(told) => told,
                        Err(error) => {
                            self.pool.leave(agent);
                            self.lose(agent, Stage::Booking, &format!("{error:#}"));
                            continue;
                        }
                    };
                    let put = kept.as_ref().map_or(Ok(()), |(ledger, folder)| {
                        folder.put(&ledger.own(agent).taken(), &bytes)
                    });
                    match put {
                        Ok(()) => self.pool.taken(agent),
                        Err(error) => {
                            warn(&error.into());
                            self.pool.leave(agent);
                        }
                    }
                    if let Some(place) = results.get_mut(agent) {
                        *place = Some(told);
                    }
                }
                Some(Some(Event::Failed { agent, why })) => {
                    self.give_up(agent, LostAgent::Failed(why))
                }
                Some(Some(Event::Lost { agent, stage, why })) => self.lose(agent, stage, &why),
                Some(Some(_)) => {}
            }
        }
        if results.iter().all(Option::is_none) {
            if control.is_stopped() {
                // Nobody has begun.
                kept.iter().for_each(|(_, folder)| folder.clear());
                return Err(Failure::interrupted().into());
            }
            let first = self.gone.iter().position(Option::is_some).unwrap_or(0);
            let gone = self.gone.get(first).and_then(Option::as_ref);
            let why = gone.map_or_else(|| "told nothing".to_owned(), LostAgent::to_string);
            let what = format!("no agent measured anything: {} {why}", self.name(first));
            let failure = Failure::new(what);
            return Err(match kept {
                Some((ledger, _)) if gone.is_some_and(LostAgent::is_lost) => failure
                    .hint(format!(
                        "uaperf fleet collect {}, once they can be reached",
                        ledger.load
                    ))
                    .into(),
                kept => {
                    kept.iter().for_each(|(_, folder)| folder.clear());
                    failure.into()
                }
            });
        }
        let shape = (start, looked.len());
        Ok(self.put_together(phase, &hands, results, shape, kept))
    }

    /// A share, signed for an agent that wants that.
    pub(super) fn signed(
        &self,
        agent: usize,
        seats: Vec<Seat>,
        task: Vec<u8>,
    ) -> anyhow::Result<Share> {
        self.pool.signed(agent, seats, task)
    }

    /// Asks agents of a load for the results that they have kept; whoever takes them keeps them before the agents need to
    /// keep them no more. Gives those that have none, and why.
    pub fn late(
        ledger: &Ledger,
        wanted: &[usize],
        (control, global): (&Control, &Global),
        keep: impl Fn(usize, &[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<(usize, String)>> {
        let place = |n: &usize| {
            let agent = ledger.agents.get(*n)?;
            let spec: Spec = agent.spec.parse().ok()?;
            Some(spec.place(&agent.host.name))
        };
        let places: Option<Vec<Place>> = wanted.iter().map(place).collect();
        let places = places.ok_or_else(|| Failure::new("the ledger of the load is damaged"))?;
        let mut fleet = Self::at(places, Settings::default(), control, global)?;
        let mut shares = Vec::new();
        for (agent, n) in wanted.iter().enumerate() {
            let task = pack(&Task::Late(ledger.own(*n)))?;
            shares.push((agent, fleet.signed(agent, Vec::new(), task)?));
        }
        fleet.pool.share(shares);
        let mut none = Vec::new();
        let who = |agent: usize| wanted.get(agent).copied().unwrap_or(agent);
        loop {
            if control.is_over() {
                return Err(Failure::interrupted().into());
            }
            match fleet.pool.next(LOOK_UP) {
                None | Some(Some(Event::Over)) => break,
                Some(Some(Event::Results { agent, bytes })) => {
                    keep(who(agent), &bytes)?;
                    fleet.pool.taken(agent);
                }
                Some(Some(Event::Failed { agent, why })) => none.push((who(agent), why)),
                Some(Some(Event::Lost { agent, why, stage })) => fleet.lose(agent, stage, &why),
                Some(_) => {}
            }
        }
        Ok(none)
    }

    fn put_together(
        self,
        phase: &Phase,
        hands: &[Vec<Seat>],
        results: Vec<Option<AgentResults>>,
        (start, targets): (Option<u64>, usize),
        mut kept: Option<(Ledger, ResultFolder)>,
    ) -> (Outcome, Shared) {
        let standings = self.pool.standings();
        let origin = start.map_or_else(Instant::now, instant);
        let began = SystemTime::now().checked_sub(origin.elapsed());
        let began = began.unwrap_or_else(SystemTime::now);
        let each = self.places.iter().zip(&self.gone).zip(&standings);
        let hosts = each
            .zip(hands)
            .map(|(((place, gone), standing), seats)| Host {
                lost: gone.as_ref().map(LostAgent::to_string),
                ..host(place, standing, seats.len() as u64, start)
            });
        let mut hosts: Vec<Host> = hosts.collect();
        if let Some((ledger, folder)) = &mut kept {
            let mut is_whole = true;
            for (host, gone) in hosts.iter_mut().zip(&self.gone) {
                if host.sessions > 0 && gone.as_ref().is_some_and(LostAgent::is_lost) {
                    host.results = Some(ledger.load.clone());
                    is_whole = false;
                }
            }
            ledger.began = start.map(|_| began.into());
            for (agent, host) in ledger.agents.iter_mut().zip(&hosts) {
                agent.host = host.clone();
            }
            match is_whole {
                true => result_folder::until_kept(folder.clone()),
                false => drop(ledger.keep().map_err(|error| warn(&error))),
            }
        }
        let told = hosts.into_iter().zip(results);
        let told = told.map(|(host, results)| AgentResult {
            host,
            results,
            late: false,
        });
        add_up(phase, targets, (origin, began), told.collect())
    }
}

/// What cannot be kept is no reason not to measure.
fn warn(error: &anyhow::Error) {
    tell!("warning: results of agents are not kept until all are there: {error:#}");
}

/// What is known of an agent beside what it did.
pub(super) fn host(place: &Place, standing: &Standing, sessions: u64, start: Option<u64>) -> Host {
    // Of one that never said who it is nothing is known: no process has the number 0.
    let hello = standing.hello.clone().unwrap_or_default();
    let mut host = Host {
        name: place.name.clone(),
        pid: hello.pid,
        sessions,
        clock: clock(standing, start),
        ..Host::default()
    };
    if !hello.host.is_empty() {
        host.machine.host = Figure::Known(hello.host);
    }
    host
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
