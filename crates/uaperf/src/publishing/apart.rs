//! A phase of PubSub whose publisher or listeners are on other hosts: who is where, when it began for each of them, and
//! how far their clocks agree.

use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use fleet::Band;
use fleet::frame::unpack;
use load::engine::{Control, Progress};
use load::pubsub::{Delay, Heard, Published};
use load::transport::Clock;
use observe::Process;
use plan::unit::duration::{nanos, show};
use plan::{Phase, Work};
use record::Tally;
use record::run::{ClockBound, Figure, Fingerprint, Host, Run, UsageSeries};

use super::broker::{Secret, Url};
use super::carried_out::{Open, Secured, knowledge, words};
use super::hearing::{Hearing, Outcome, length, now};
use super::phase::Asked;
use super::publisher::Publisher;
use super::role::{OfListeners, OfPublisher};
use super::watched::LOOK;
use crate::failure::Failure;
use crate::fleet::{Came, Hint, Listens, Publishes, Role, Roles, Spec, now_ns};
use crate::global::Global;
use crate::quick::live::Watcher;
use crate::quick::usage::Watch;

/// Threads of an agent are told apart in this many numbers.
const THREADS: usize = 1024;

/// An agent that was told to end has so long to say what it did.
const ENDING: Duration = Duration::from_secs(15);

/// OPC UA's times are in steps of this (Part 6, 5.2.2.5).
const STEP_NS: f64 = 100.0;

/// Everybody who takes part.
struct Cast {
    roles: Roles,
    /// The publisher's agent, where it is on one.
    publisher: Option<usize>,
    /// What it told.
    published: Option<Published>,
    resources: Vec<UsageSeries>,
    machine: Option<Fingerprint>,
    /// What each agent's listeners told.
    heard: Vec<Option<OfListeners>>,
    gone: Vec<bool>,
    /// Nobody is left to wait for.
    over: bool,
    /// When the publisher began, on our monotonic clock.
    began_ns: u64,
}

impl Cast {
    /// Takes what has come, and waits for something so long at most.
    fn turn(&mut self, within: Duration, watcher: Option<&mut Watcher>) -> anyhow::Result<()> {
        match self.roles.next(within) {
            Came::Progress(agent, bytes) => {
                let told: Vec<Progress> = unpack(&bytes).unwrap_or_default();
                if let Some(watcher) = watcher {
                    for mut it in told {
                        it.core += agent * THREADS;
                        watcher.tell(&it);
                    }
                }
            }
            Came::Books(agent, bytes) if self.publisher == Some(agent) => {
                let (published, resources, machine) = OfPublisher::read(&bytes)?;
                self.published = Some(published);
                self.resources = resources;
                self.machine = Some(machine);
            }
            Came::Books(agent, bytes) => {
                if let Some(place) = self.heard.get_mut(agent) {
                    *place = Some(unpack(&bytes)?);
                }
            }
            Came::Gone(agent) => {
                if let Some(gone) = self.gone.get_mut(agent) {
                    *gone = true;
                }
            }
            Came::Nothing => {}
            Came::Over => self.over = true,
        }
        Ok(())
    }

    fn is_gone(&self, agent: usize) -> bool {
        self.over || self.gone.get(agent).copied().unwrap_or(true)
    }

    /// The publisher on an agent has told what it did, or will not.
    fn publisher_is_done(&self) -> bool {
        let gone = self.publisher.is_some_and(|it| self.is_gone(it));
        self.published.is_some() || gone
    }

    /// The agents that listen.
    fn listeners(&self) -> std::ops::Range<usize> {
        usize::from(self.publisher.is_some())..self.roles.count()
    }

    /// By how much the clock of one is ahead of ours: of nobody, our own.
    fn ahead(&self, agent: Option<usize>, at_ns: u64) -> Option<Band> {
        match agent {
            None => Some(Band {
                low: 0.0,
                high: 0.0,
            }),
            Some(agent) => self.roles.ahead(agent, at_ns),
        }
    }

    /// By how much the publisher's clock is ahead of a listener's.
    fn between(&self, listener: Option<usize>, at_ns: u64) -> Option<Band> {
        let publisher = self.ahead(self.publisher, at_ns)?;
        let listener = self.ahead(listener, at_ns)?;
        Some(Band {
            low: publisher.low - listener.high,
            high: publisher.high - listener.low,
        })
    }

    /// By how much delays can be wrong that were taken with the publisher so much ahead; none if a clock was set.
    fn error_ns(&self, listener: Option<usize>, taken_ns: i64) -> Option<u64> {
        let ends = [self.began_ns, now_ns()].map(|at| self.between(listener, at));
        let taken = taken_ns as f64;
        let off = |band: Band| (band.low - taken).abs().max((band.high - taken).abs());
        let [begin, end] = ends;
        Some((off(begin?).max(off(end?)) + STEP_NS).ceil() as u64)
    }

    fn name(&self, agent: Option<usize>) -> &str {
        agent.map_or("this host", |it| self.roles.name(it))
    }
}

/// What came of both sides.
struct Whole {
    outcome: Outcome,
    /// The agent of each listener.
    on: Vec<Option<String>>,
    /// Why no delay is known.
    no_delay: Option<String>,
}

impl Asked {
    /// Whether somebody is on another host.
    pub(super) fn is_apart(&self) -> bool {
        self.publish_on.is_some() || !self.listen_on.is_empty()
    }

    /// Measures.
    pub(super) fn measure_apart(
        &self,
        phase: &Phase,
        (quiet, control): (bool, &Control),
        global: &Global,
    ) -> anyhow::Result<Run> {
        let mut asked = self.common.observed.asked()?;
        let secured = self.secured(&phase.work, global)?;
        let secret = match self.at.is_broker() {
            true => self.broker.secret()?,
            false => None,
        };
        // Sockets of this host are open before anybody publishes, and have their port then.
        let mut open = match self.listen_on.is_empty() {
            true => Some(self.open(&phase.work, &secret, global)?),
            false => None,
        };
        let at = open.as_ref().map_or(&self.at, |it| &it.at).clone();
        let mut publisher = match (&phase.work, &self.publish_on) {
            (Work::Publish(plan), None) => {
                let words = self.words(plan, &at, length(phase), global)?;
                let publisher = Publisher::start(&words)?;
                asked.server = Process::of(publisher.pid()).ok();
                Some(publisher)
            }
            _ => None,
        };
        let specs: Vec<Spec> = self
            .publish_on
            .iter()
            .chain(&self.listen_on)
            .cloned()
            .collect();
        let mut roles = Roles::gather(&specs, control, global)?;
        let (tasks, many) = self.tasks(phase, &at, (&secured, &secret), roles.count())?;
        roles.begin(tasks, &many, control)?;
        let count = roles.count();
        let mut cast = Cast {
            roles,
            publisher: self.publish_on.as_ref().map(|_| 0),
            published: None,
            resources: Vec::new(),
            machine: None,
            heard: std::iter::repeat_with(|| None).take(count).collect(),
            gone: vec![false; count],
            over: false,
            began_ns: now_ns(),
        };
        let watch = Watch::start(asked).context("cannot start a thread")?;
        let origin_ns = match (&mut publisher, cast.publisher) {
            (Some(it), _) => it.begin([&secret, &None], &secured.text)?,
            (None, Some(agent)) => begun(&mut cast, agent, control)?,
            (None, None) => now(),
        };
        cast.began_ns = now_ns();
        let whole = match open.take() {
            Some(open) => {
                let hearing = (quiet, control, watch, origin_ns);
                hear_here(phase, &mut cast, open, &secured, hearing)
            }
            None => {
                let hearing = (quiet, control, watch, origin_ns);
                hear_there(phase, &mut cast, &at, publisher.as_mut(), hearing)
            }
        }?;
        Ok(self.put_together(phase, &at, (cast, whole), control))
    }

    /// What agents are to do, and how many of it.
    fn tasks(
        &self,
        phase: &Phase,
        at: &Url,
        (secured, secret): (&Secured, &Secret),
        agents: usize,
    ) -> anyhow::Result<(Vec<Role>, Vec<u64>)> {
        let (mut tasks, mut many) = (Vec::new(), Vec::new());
        let secret = || secret.as_ref().map(|it| it.to_string());
        if let (Work::Publish(plan), Some(_)) = (&phase.work, &self.publish_on) {
            let mut words = words(plan, at, length(phase));
            // Where to stands beside them.
            words.retain(|it| it.starts_with("--"));
            if at.is_broker() {
                words.extend(self.broker.words());
                words.push(format!("--in-flight={}", self.in_flight));
            }
            many.push(1);
            tasks.push(Role::Publish(Publishes {
                url: at.to_string(),
                words,
                secret: secret(),
                keys: secured.text.to_string(),
                window_ns: (nanos(phase.warmup.given()), nanos(length(phase))),
            }));
        }
        let (service, listeners) = match &phase.work {
            Work::Publish(plan) => ("publish", plan.listeners),
            Work::Listen(plan) => ("listen", plan.listeners),
            _ => return Err(Failure::usage(format!("{} is no PubSub", phase.work.name())).into()),
        };
        let mut words = Vec::new();
        if at.is_broker() {
            words.extend(self.broker.words());
        }
        if let (true, "publish") = (at.is_broker(), service) {
            words.push(format!("--in-flight={}", self.in_flight));
        }
        if let Work::Listen(plan) = &phase.work {
            let same = plan.broker.as_ref().is_some_and(|it| it.same_clock);
            words.extend(same.then(|| "--same-clock".to_owned()));
            words.extend(self.discovery.map(|it| format!("--discovery={it}")));
        }
        for _ in tasks.len()..agents {
            many.push(u64::from(listeners));
            tasks.push(Role::Listen(Listens {
                url: at.to_string(),
                service: service.to_owned(),
                words: words.clone(),
                phase: serde_json::to_string(phase)?,
                secret: secret(),
                keys: secured.text.to_string(),
            }));
        }
        Ok((tasks, many))
    }

    /// One result of both sides.
    fn put_together(
        &self,
        phase: &Phase,
        at: &Url,
        (cast, whole): (Cast, Whole),
        control: &Control,
    ) -> Run {
        let Cast {
            roles,
            publisher,
            resources,
            machine,
            heard,
            ..
        } = cast;
        let listens_here = self.listen_on.is_empty();
        let mut run = self.run(phase, at, whole.outcome, control);
        run.hosts = roles.end();
        for (agent, (host, heard)) in run.hosts.iter_mut().zip(&heard).enumerate() {
            if publisher == Some(agent) {
                host.resources.clone_from(&resources);
                host.machine = machine.clone().unwrap_or_default();
            }
            if let Some((_, of_agent)) = heard.as_ref().and_then(|it| it.read().ok()) {
                tell_of(host, of_agent);
            }
        }
        let missing: Vec<judge::Missing> = run
            .hosts
            .iter()
            .filter_map(|host| {
                Some(judge::Missing::Role {
                    name: host.name.clone(),
                    role: host.role.clone().unwrap_or_default(),
                    why: host.lost.clone()?,
                })
            })
            .collect();
        if let Some(measured) = run.phases.last_mut() {
            // Of the publisher what its own host saw; this process listened only if it did.
            let own = resources.into_iter().filter(|it| it.who == "server");
            measured
                .resources
                .retain(|it| listens_here || it.who != "generator");
            measured.resources.extend(own);
            if let Some(told) = &mut measured.pubsub {
                for (listener, on) in told.listeners.iter_mut().zip(whole.on) {
                    listener.on = on;
                    if whole.no_delay.is_some() {
                        listener.no_delay.clone_from(&whole.no_delay);
                    }
                }
                if whole.no_delay.is_some() {
                    measured.total.histograms.remove("delay");
                    measured.series.delay = None;
                }
                if let Some(clock) = &mut told.clock {
                    clock.tell(&measured.total.histograms, |ns| {
                        show(Duration::from_nanos(ns))
                    });
                }
            }
            measured.verdict = judge::lower(std::mem::take(&mut measured.verdict), &missing);
            measured.expectations = judge::expectations(&phase.expect, measured);
            run.verdict = measured.verdict.clone();
        }
        run
    }
}

/// What listeners say of their host.
fn tell_of(host: &mut Host, mut run: Run) {
    host.machine = run.machine;
    if let Some(phase) = run.phases.pop() {
        host.total = Some(phase.total);
        host.resources = phase.resources;
    }
}

/// Waits until the publisher on an agent has begun: when, on our wall clock.
fn begun(cast: &mut Cast, agent: usize, control: &Control) -> anyhow::Result<u64> {
    loop {
        if control.is_over() {
            return Err(Failure::interrupted().into());
        }
        match cast.roles.next(LOOK) {
            Came::Progress(from, bytes) if from == agent => {
                let there: u64 = unpack(&bytes)?;
                let band = cast.ahead(Some(agent), now_ns());
                let middle = band.ok_or_else(|| {
                    let what = format!("the clock of {} was set meanwhile", cast.name(Some(agent)));
                    Failure::new(what).hint("run it again")
                })?;
                return Ok(there.saturating_add_signed(-(middle.middle() as i64)));
            }
            Came::Gone(from) if from == agent => return Err(cast.roles.failed(agent).into()),
            Came::Gone(from) => {
                if let Some(gone) = cast.gone.get_mut(from) {
                    *gone = true;
                }
            }
            Came::Over => return Err(cast.roles.failed(agent).into()),
            _ => {}
        }
    }
}

/// What clocks allow to say of delays between the publisher and these listeners, each with the difference that was taken.
fn bound(
    cast: &Cast,
    taken: &[(Option<usize>, Option<i64>)],
    heard: &[(Heard, Figure<u64>)],
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
fn refused(clock: &ClockBound) -> Option<String> {
    let whose = clock.between.join(" and ");
    let unknown = clock.error_ns.known().is_none();
    unknown.then(|| format!("one of the clocks of {whose} was set meanwhile"))
}

/// Listeners of this host hear a publisher on another one.
fn hear_here(
    phase: &Phase,
    cast: &mut Cast,
    open: Open,
    secured: &Secured,
    (quiet, control, watch, origin_ns): (bool, &Control, Watch, u64),
) -> anyhow::Result<Whole> {
    let ahead = cast.between(None, cast.began_ns);
    let ahead_ns = ahead.map(|it| it.middle() as i64);
    let hearing = Hearing {
        phase,
        at: &open.at,
        control,
        quiet,
        watch,
        origin_ns,
        ahead_ns,
        relay: None,
    };
    let publish = |wait: &mut dyn FnMut(Duration) -> bool| {
        while wait(LOOK) && !cast.publisher_is_done() {
            cast.turn(Duration::ZERO, None)?;
        }
        if !cast.publisher_is_done() {
            cast.roles.stop();
        }
        let until = Instant::now() + ENDING;
        while !cast.publisher_is_done() && Instant::now() < until {
            cast.turn(LOOK, None)?;
        }
        Ok(cast.published.clone())
    };
    let mut outcome = hearing.carry_out(open.posts, || knowledge(&phase.work, secured), publish)?;
    let clock = bound(cast, &[(None, ahead_ns)], &outcome.heard);
    let no_delay = refused(&clock);
    outcome.clock = Some(clock);
    Ok(Whole {
        on: vec![None; outcome.heard.len()],
        outcome,
        no_delay,
    })
}

/// Listeners of other hosts hear a publisher, wherever that is.
fn hear_there(
    phase: &Phase,
    cast: &mut Cast,
    at: &Url,
    mut publisher: Option<&mut Publisher>,
    (quiet, control, watch, origin_ns): (bool, &Control, Watch, u64),
) -> anyhow::Result<Whole> {
    let publishes = matches!(phase.work, Work::Publish(_));
    let mut taken = Vec::new();
    for agent in cast.listeners() {
        let ahead = cast.between(Some(agent), cast.began_ns);
        let ahead_ns = ahead.map(|it| it.middle() as i64);
        let own = cast.ahead(Some(agent), cast.began_ns);
        let own = own.map_or(0, |it| it.middle() as i64);
        cast.roles.say(
            agent,
            &Hint::Begun {
                at_ns: origin_ns.saturating_add_signed(own),
                ahead_ns,
            },
        );
        taken.push((Some(agent), ahead_ns));
    }
    let since = Duration::from_nanos(now().saturating_sub(origin_ns));
    let (began, started) = (Instant::now(), SystemTime::now());
    let began = began.checked_sub(since).unwrap_or(began);
    let started = started.checked_sub(since).unwrap_or(started);
    let targets = vec![at.to_string()];
    let mut watcher = Watcher::new(phase.work.name(), phase, targets, quiet, control);
    let (mut told, mut stopped) = (!publishes, None::<Instant>);
    let waits = |cast: &Cast| {
        let told = |agent: usize| cast.heard.get(agent).is_some_and(Option::is_some);
        let mut all = cast.listeners();
        all.any(|agent| !told(agent) && !cast.is_gone(agent))
    };
    while waits(cast) {
        cast.turn(LOOK, Some(&mut watcher))?;
        if control.is_over() && stopped.is_none() {
            stopped = Some(Instant::now());
            if let Some(publisher) = publisher.as_deref_mut().filter(|_| !told) {
                cast.published = Some(publisher.end()?);
            }
            cast.roles.stop();
        }
        if let Some(publisher) = publisher
            .as_deref_mut()
            .filter(|_| cast.published.is_none())
            && let Some(ended) = publisher.ended(Duration::ZERO)
        {
            cast.published = Some(ended?);
        }
        if !told && cast.publisher_is_done() {
            told = true;
            for agent in cast.listeners() {
                cast.roles.say(agent, &Hint::Ended);
            }
        }
        if stopped.is_some_and(|it| it.elapsed() > ENDING) {
            break;
        }
    }
    watcher.end();
    let until = Instant::now() + ENDING;
    while cast.publisher.is_some() && !cast.publisher_is_done() && Instant::now() < until {
        cast.roles.stop();
        cast.turn(LOOK, None)?;
    }
    let seen = watch.finish();
    let (mut heard, mut on, mut tally) = (Vec::new(), Vec::new(), Tally::default());
    let mut interrupted = control.is_over() && began.elapsed() < length(phase);
    for agent in cast.listeners() {
        let Some(Some(of_agent)) = cast.heard.get(agent) else {
            continue;
        };
        let (all, _) = of_agent.read()?;
        tally.merge(&of_agent.tally);
        interrupted |= of_agent.interrupted;
        on.extend(all.iter().map(|_| Some(cast.name(Some(agent)).to_owned())));
        heard.extend(all);
    }
    if heard.is_empty() {
        return Err(match cast.listeners().next() {
            _ if control.is_stopped() => Failure::interrupted().into(),
            Some(agent) => cast.roles.failed(agent).into(),
            None => Failure::new("nobody listened").into(),
        });
    }
    let compared = |it: &Heard| {
        let mut streams = it.streams.iter();
        streams.any(|it| matches!(it.delay, Delay::Compared(_)))
    };
    let mut clock = None;
    if publishes || heard.iter().any(|(it, _)| compared(it)) {
        clock = Some(bound(cast, &taken, &heard));
    }
    let origin = Clock::new().at(began);
    let changes = control.changes().into_iter();
    Ok(Whole {
        no_delay: clock.as_ref().and_then(refused),
        on,
        outcome: Outcome {
            began,
            started,
            heard,
            tally,
            published: cast.published.take(),
            interrupted,
            by_hand: changes.map(|it| (it.at.nanos_since(origin), it)).collect(),
            seen,
            clock,
        },
    })
}
