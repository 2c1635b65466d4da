//! Who takes part: what each has told, and by how much its clock is ahead.

use std::time::Duration;

use fleet::Band;
use fleet::frame::unpack;
use load::engine::{Control, Progress};
use load::pubsub::{ListenerReport, Published};
use record::run::{ClockBound, Figure, Fingerprint, UsageSeries};

use super::super::role::{OfListeners, OfPublisher};
use super::super::watched::LOOK;
use crate::failure::Failure;
use crate::fleet::{RoleEvent, Roles, now_ns};
use crate::quick::live::Watcher;

/// Threads of an agent are told apart in this many numbers.
const THREADS: usize = 1024;

/// OPC UA's times are in steps of this (Part 6, 5.2.2.5).
const STEP_NS: f64 = 100.0;

/// Everybody who takes part.
pub struct Cast {
    pub roles: Roles,
    /// The publisher's agent, where it is on one.
    pub publisher: Option<usize>,
    /// What it told.
    pub published: Option<Published>,
    pub resources: Vec<UsageSeries>,
    pub machine: Option<Fingerprint>,
    /// What each agent's listeners told.
    pub heard: Vec<Option<OfListeners>>,
    pub gone: Vec<bool>,
    /// Nobody is left to wait for.
    over: bool,
    /// When the publisher began, on our monotonic clock.
    pub began_ns: u64,
}

impl Cast {
    /// Agents that have begun; the first of them publishes, if one does.
    pub fn of(roles: Roles, publishes: bool) -> Self {
        let count = roles.count();
        Self {
            roles,
            publisher: publishes.then_some(0),
            published: None,
            resources: Vec::new(),
            machine: None,
            heard: std::iter::repeat_with(|| None).take(count).collect(),
            gone: vec![false; count],
            over: false,
            began_ns: now_ns(),
        }
    }

    /// Takes what has come, and waits for something so long at most.
    pub fn turn(&mut self, within: Duration, watcher: Option<&mut Watcher>) -> anyhow::Result<()> {
        match self.roles.next(within) {
            RoleEvent::Progress(agent, bytes) => {
                // Progress is shown and not counted: what cannot be read is not shown.
                let told: Vec<Progress> = unpack(&bytes).unwrap_or_default();
                if let Some(watcher) = watcher {
                    for mut it in told {
                        it.core += agent * THREADS;
                        watcher.tell(&it);
                    }
                }
            }
            RoleEvent::Results(agent, bytes) if self.publisher == Some(agent) => {
                let (published, resources, machine) = OfPublisher::read(&bytes)?;
                self.published = Some(published);
                self.resources = resources;
                self.machine = Some(machine);
            }
            RoleEvent::Results(agent, bytes) => {
                if let Some(place) = self.heard.get_mut(agent) {
                    *place = Some(unpack(&bytes)?);
                }
            }
            RoleEvent::Gone(agent) => {
                if let Some(gone) = self.gone.get_mut(agent) {
                    *gone = true;
                }
            }
            RoleEvent::Nothing => {}
            RoleEvent::Over => self.over = true,
        }
        Ok(())
    }

    pub fn is_gone(&self, agent: usize) -> bool {
        self.over || self.gone.get(agent).copied().unwrap_or(true)
    }

    /// The publisher on an agent has told what it did, or will not.
    pub fn publisher_is_done(&self) -> bool {
        let gone = self.publisher.is_some_and(|it| self.is_gone(it));
        self.published.is_some() || gone
    }

    /// The agents that listen.
    pub fn listeners(&self) -> std::ops::Range<usize> {
        usize::from(self.publisher.is_some())..self.roles.count()
    }

    /// By how much the clock of one is ahead of ours: of nobody, our own.
    pub fn ahead(&self, agent: Option<usize>, at_ns: u64) -> Option<Band> {
        match agent {
            None => Some(Band {
                low: 0.0,
                high: 0.0,
            }),
            Some(agent) => self.roles.ahead(agent, at_ns),
        }
    }

    /// By how much the publisher's clock is ahead of a listener's.
    pub fn between(&self, listener: Option<usize>, at_ns: u64) -> Option<Band> {
        let publisher = self.ahead(self.publisher, at_ns)?;
        let listener = self.ahead(listener, at_ns)?;
        Some(Band {
            low: publisher.low - listener.high,
            high: publisher.high - listener.low,
        })
    }

    /// By how much delays can be wrong that were taken with the publisher so much ahead; none if a clock was set.
    pub fn error_ns(&self, listener: Option<usize>, taken_ns: i64) -> Option<u64> {
        let ends = [self.began_ns, now_ns()].map(|at| self.between(listener, at));
        let taken = taken_ns as f64;
        let off = |band: Band| (band.low - taken).abs().max((band.high - taken).abs());
        let [begin, end] = ends;
        Some((off(begin?).max(off(end?)) + STEP_NS).ceil() as u64)
    }

    pub fn name(&self, agent: Option<usize>) -> &str {
        agent.map_or("this host", |it| self.roles.name(it))
    }
}

/// Waits until the publisher on an agent has begun: when, on our wall clock.
pub fn begun(cast: &mut Cast, agent: usize, control: &Control) -> anyhow::Result<u64> {
    loop {
        if control.is_over() {
            return Err(Failure::interrupted().into());
        }
        match cast.roles.next(LOOK) {
            RoleEvent::Progress(from, bytes) if from == agent => {
                let there: u64 = unpack(&bytes)?;
                let band = cast.ahead(Some(agent), now_ns());
                let middle = band.ok_or_else(|| {
                    let what = format!("the clock of {} was set meanwhile", cast.name(Some(agent)));
                    Failure::new(what).hint("run it again")
                })?;
                return Ok(there.saturating_add_signed(-(middle.middle() as i64)));
            }
            RoleEvent::Gone(from) if from == agent => return Err(cast.roles.failed(agent).into()),
            RoleEvent::Gone(from) => {
                if let Some(gone) = cast.gone.get_mut(from) {
                    *gone = true;
                }
            }
            RoleEvent::Over => return Err(cast.roles.failed(agent).into()),
            _ => {}
        }
    }
}

/// What clocks allow to say of delays between the publisher and these listeners, each with the difference that was taken.
pub fn bound(
    cast: &Cast,
    taken: &[(Option<usize>, Option<i64>)],
    heard: &[(ListenerReport, Figure<u64>)],
) -> ClockBound {
    let errors = taken
        .iter()
        .map(|(listener, taken)| cast.error_ns(*listener, (*taken)?));
    let worst = errors.collect::<Option<Vec<u64>>>();
    let streams = heard.iter().flat_map(|(it, _)| &it.streams);
    let first = taken.first().and_then(|it| it.0);
    let receives = match taken.len() {
        0 | 1 => cast.name(first).to_owned(),
        n => format!("{n} listening hosts"),
    };
    ClockBound {
        error_ns: match worst {
            Some(errors) => Figure::Known(errors.into_iter().max().unwrap_or(0)),
            None => Figure::missing("a clock was set meanwhile"),
        },
        ahead: streams.map(|it| it.before).sum(),
        between: vec![cast.name(cast.publisher).to_owned(), receives],
        one_way: Vec::new(),
    }
}

/// Why no delay is known, if the clocks are the reason.
pub fn refused(clock: &ClockBound) -> Option<String> {
    let whose = clock.between.join(" and ");
    let unknown = clock.error_ns.known().is_none();
    unknown.then(|| format!("one of the clocks of {whose} was set meanwhile"))
}
