//! Agents that do different things at the same time: one publishes, others listen; each serves devices of its own.

use std::time::{Duration, Instant};

use fleet::frame::pack;
use fleet::{Band, Event, Settings};
use load::engine::Control;
use record::run::Host;

use super::nats;
use super::pipe::stamp;
use super::shared::{Fleet, LostAgent, host};
use super::spec::{Spec, Way, places};
use super::task::{Hint, Role, Task};
use crate::failure::Failure;
use crate::global::Global;
use crate::screen::tell;

/// What happened.
#[derive(Debug)]
pub enum RoleEvent {
    /// An agent said what goes on.
    Progress(usize, Vec<u8>),
    /// What came of its role.
    Results(usize, Vec<u8>),
    /// Nothing more comes of an agent.
    Gone(usize),
    /// Nothing yet.
    Nothing,
    /// Nobody is left to wait for.
    Over,
}

/// Agents with a role each.
#[derive(Debug)]
pub struct Roles {
    fleet: Fleet,
    /// What each does, and how many of it.
    does: Vec<(&'static str, u64)>,
    /// When all began, on our monotonic clock.
    start_ns: Option<u64>,
}

/// An interrupt is looked for so often.
const LOOK_UP: Duration = Duration::from_millis(20);

impl Roles {
    /// Starts an agent for each, in their order; of a tag, the first that is free. Waits until their clocks are known.
    pub fn gather(specs: &[Spec], control: &Control, global: &Global) -> anyhow::Result<Self> {
        let mut each = Vec::new();
        for spec in specs {
            let mut named = nats::resolved(std::slice::from_ref(spec))?;
            // Two roles at a tag are for two agents.
            named.retain(|it| spec.tag().is_none() || !each.contains(it));
            let first = named.into_iter().next();
            each.push(first.ok_or_else(|| {
                Failure::new(format!("{spec}: no further agent is free under that tag"))
            })?);
        }
        let fleet = Fleet::at(places(&each), Settings::default(), control, global)?;
        if let Some((place, gone)) = fleet
            .places
            .iter()
            .zip(&fleet.gone)
            .find(|it| it.1.is_some())
        {
            let why = gone.as_ref().map(ToString::to_string).unwrap_or_default();
            return Err(Failure::new(format!("{} {why}", place.name))
                .hint("uaperf fleet check SPEC says more about it")
                .into());
        }
        Ok(Self {
            fleet,
            does: Vec::new(),
            start_ns: None,
        })
    }

    /// Gives each its role, and waits until all are ready and have a moment to begin at. `many` says how many listeners,
    /// publishers or devices each of them is.
    pub fn begin(
        &mut self,
        roles: Vec<Role>,
        many: &[u64],
        control: &Control,
    ) -> anyhow::Result<()> {
        let mut shares = Vec::new();
        for (agent, role) in roles.into_iter().enumerate() {
            self.does
                .push((role.name().0, many.get(agent).copied().unwrap_or(1)));
            let is_secret = match &role {
                Role::Publish(it) => it.secret.is_some() || !it.keys.is_empty(),
                Role::Listen(it) => it.secret.is_some() || !it.keys.is_empty(),
                Role::Serve(_) | Role::Watch(_) | Role::Link(_) => false,
            };
            let place = self.fleet.places.get(agent).map(|it| &it.way);
            if is_secret && matches!(place, Some(Way::Nats { .. })) && !nats::is_private() {
                let what = "keys or a password of PubSub would pass a broker without TLS";
                return Err(Failure::usage(what)
                    .hint("UAPERF_NATS_URL=tls://HOST:PORT")
                    .into());
            }
            let task = pack(&Task::Role(Box::new(role)))?;
            shares.push((agent, self.fleet.signed(agent, Vec::new(), task)?));
        }
        self.fleet.pool.share(shares);
        while self.start_ns.is_none() {
            if control.is_over() {
                return Err(Failure::interrupted().into());
            }
            match self.next(LOOK_UP) {
                RoleEvent::Gone(agent) => return Err(self.failed(agent).into()),
                RoleEvent::Over => return Err(Failure::new("no agent is left").into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.fleet.places.len()
    }

    /// How much each of them is given, beside the others.
    pub fn weights(&self) -> Vec<u32> {
        self.fleet.weights()
    }

    /// The name by which the host of an agent is reached; none of one on this machine.
    pub fn host(&self, agent: usize) -> Option<String> {
        let way = &self.fleet.places.get(agent)?.way;
        if !matches!(way, Way::Nats { .. }) {
            return way.host().map(str::to_owned);
        }
        let hello = self.fleet.pool.standings().into_iter().nth(agent)?.hello;
        hello.map(|it| it.host)
    }

    /// Why an agent gives nothing.
    pub fn failed(&self, agent: usize) -> Failure {
        let why = self.fleet.gone.get(agent).and_then(Option::as_ref);
        let why = why.map(ToString::to_string).unwrap_or_default();
        Failure::new(format!("{} {why}", self.name(agent)))
    }

    /// As results name it.
    pub fn name(&self, agent: usize) -> &str {
        self.fleet.name(agent)
    }

    /// What happened next within so long.
    pub fn next(&mut self, within: Duration) -> RoleEvent {
        match self.fleet.pool.next(within) {
            None | Some(Some(Event::Over)) => RoleEvent::Over,
            Some(Some(Event::Start { at_ns })) => {
                self.start_ns = Some(at_ns);
                RoleEvent::Nothing
            }
            Some(Some(Event::Progress { agent, bytes })) => RoleEvent::Progress(agent, bytes),
            Some(Some(Event::Results { agent, bytes })) => RoleEvent::Results(agent, bytes),
            Some(Some(Event::Failed { agent, why })) => {
                tell!(
                    "warning: agent {} could not do its part: {why}",
                    self.name(agent)
                );
                if let Some(gone) = self.fleet.gone.get_mut(agent) {
                    *gone = Some(LostAgent::Failed(why));
                }
                RoleEvent::Gone(agent)
            }
            Some(Some(Event::Lost { agent, stage, why })) => {
                self.fleet.lose(agent, stage, &why);
                RoleEvent::Gone(agent)
            }
            Some(_) => RoleEvent::Nothing,
        }
    }

    /// What an agent has to know.
    pub fn say(&self, agent: usize, hint: &Hint) {
        // It is short.
        if let Ok(bytes) = pack(hint) {
            self.fleet.pool.word(agent, bytes);
        }
    }

    /// No more of it.
    pub fn stop(&self) {
        self.fleet.pool.stop();
    }

    /// By how much the wall clock of an agent is ahead of ours, at a moment; none if one of both was set meanwhile.
    pub fn ahead(&self, agent: usize, at_ns: u64) -> Option<Band> {
        let standings = self.fleet.pool.standings();
        standings.get(agent)?.bands.utc(at_ns)
    }

    /// All of them, as results say it; their results are kept now.
    pub fn end(self) -> Vec<Host> {
        let standings = self.fleet.pool.standings();
        let each = self.fleet.places.iter().zip(&standings);
        let each = each.zip(&self.fleet.gone).zip(&self.does);
        let hosts = each.map(|(((place, standing), gone), (does, many))| Host {
            role: Some((*does).to_owned()),
            lost: gone.as_ref().map(ToString::to_string),
            ..host(place, standing, *many, self.start_ns)
        });
        let hosts = hosts.collect();
        for agent in 0..self.fleet.places.len() {
            self.fleet.pool.taken(agent);
        }
        hosts
    }
}

/// Now, on our monotonic clock.
pub fn now_ns() -> u64 {
    stamp().mono_ns
}

/// Waits until a moment of the monotonic clock, or until it is over.
pub fn wait_until(at: wire::time::Instant, control: &Control) -> bool {
    let at: Instant = super::agent_pool::instant(at.as_nanos());
    while !control.is_over() {
        let left = at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(LOOK_UP));
    }
    false
}
