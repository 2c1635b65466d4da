//! A phase with PubSub carried out: sockets first, then the publisher, and what came of it as a run.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use load::engine::{Control, Progress};
use load::pubsub::{
    Address, Choice, Interface, KeyFeed, KeySupply, Knowledge, ListenError, ListenerReport, Place,
    Post, Published,
};
use observe::Process;
use plan::unit::duration::nanos;
use plan::{Phase, Plan, Targets, Work};
use pubsub::Tolerance;
use pubsub::mqtt::topic::{PREFIX, Tree};
use pubsub::security::{KeyRing, Mode};
use record::Tally;
use record::run::{Figure, Mark, Phase as Measured, PubSub, Run, Target, UsageSeries, WarmUp};
use zeroize::Zeroizing;

use super::broker::{self, Secret, Url};
use super::keys::{self, KeySource, Keys};
use super::listener_display::{Hearing, Outcome, length, now};
use super::message;
use super::phase::PubSubCommand;
use super::publisher::Publisher;
use super::results;
use super::watched::LOOK;
use crate::failure::Failure;
use crate::global::Global;
use crate::quick::usage::{self, UsageWatch};
use crate::quick::{by_hand, status_name};

/// What secures messages, for both ends.
#[derive(Default)]
pub(super) struct Secured {
    /// Keys as a file has them, and prepared.
    pub(super) text: Zeroizing<String>,
    keys: Keys,
    /// Or a key service that is asked, and the secret of who logs in there.
    supply: Option<KeySupply>,
    secret: Secret,
}

/// Listeners with their sockets open.
pub(super) struct Open {
    pub(super) posts: Vec<Post>,
    /// Where they listen: with the port that was free.
    pub(super) at: Url,
}

/// What listeners of an agent have.
pub(super) struct Listened {
    pub(super) heard: Vec<(ListenerReport, Figure<u64>)>,
    pub(super) tally: Tally,
    pub(super) interrupted: bool,
    /// As a result of its own.
    pub(super) run: Run,
}

impl PubSubCommand {
    /// Measures, with the energy that it takes where that was asked for.
    pub fn measure(
        &self,
        phase: &Phase,
        (quiet, control): (bool, &Control),
        global: &Global,
    ) -> anyhow::Result<Run> {
        let counting = self.common.energy.begin(control, quiet, None)?;
        let mut run = self.carry_out(phase, (quiet, control), global)?;
        if let Some(counted) = counting.map(|it| it.finish(control))
            && let Some(measured) = run.phases.first_mut()
        {
            measured.energy = counted.of(measured);
        }
        Ok(run)
    }

    fn carry_out(
        &self,
        phase: &Phase,
        (quiet, control): (bool, &Control),
        global: &Global,
    ) -> anyhow::Result<Run> {
        if self.is_apart() {
            return self.measure_apart(phase, (quiet, control), global);
        }
        let mut asked = self.common.observed.asked()?;
        let secured = self.secured(&phase.work, global)?;
        let secret = match self.at.is_broker() {
            true => self.broker.secret()?,
            false => None,
        };
        let open = self.open(&phase.work, &secret, global)?;
        let knowledge = || knowledge(&phase.work, &secured);
        let hearing = |watch, origin_ns| Hearing {
            phase,
            at: &open.at,
            control,
            quiet,
            watch,
            origin_ns,
            ahead_ns: None,
            relay: None,
        };
        let outcome = match &phase.work {
            Work::Publish(plan) => {
                let words = self.words(plan, &open.at, length(phase), global)?;
                let mut publisher = Publisher::start(&words)?;
                // Whatever server the scenario has started, it is not this one.
                asked.server = Process::of(publisher.pid()).ok();
                let watch = UsageWatch::start(asked).context("cannot start a thread")?;
                // What it sends until the listeners read waits in their sockets.
                let origin = publisher.begin([&secret, &secured.secret], &secured.text)?;
                let publish = |wait: &mut dyn FnMut(Duration) -> bool| {
                    // It ends by itself; the rest is for a machine that is very busy.
                    while wait(LOOK) {
                        if let Some(ended) = publisher.ended(Duration::ZERO) {
                            return ended.map(Some);
                        }
                    }
                    publisher.end().map(Some)
                };
                hearing(watch, origin).carry_out(open.posts, knowledge, publish)
            }
            _ => {
                let watch = UsageWatch::start(asked).context("cannot start a thread")?;
                hearing(watch, now()).carry_out(open.posts, knowledge, |_| Ok(None))
            }
        }?;
        self.run(phase, &open.at, outcome, control)
    }

    /// Listens as an agent does, to a publisher that is elsewhere: sockets are open when `begun` is asked when it has begun
    /// and by how much its clock is ahead, and `meanwhile` goes on until it has ended.
    pub(super) fn hear(
        &self,
        phase: &Phase,
        (secret, keys): (Secret, &str),
        (control, global): (&Control, &Global),
        begun: impl FnOnce() -> anyhow::Result<(u64, Option<i64>)>,
        relay: Sender<Progress>,
        meanwhile: impl FnMut(&mut dyn FnMut(Duration) -> bool) -> anyhow::Result<Option<Published>>,
    ) -> anyhow::Result<Listened> {
        let text = Zeroizing::new(keys.to_owned());
        let prepared = match text.is_empty() {
            true => Keys::new(),
            false => keys::parse(&text, Path::new("keys"))?,
        };
        let secured = Secured {
            keys: prepared,
            text,
            ..Secured::default()
        };
        let open = self.open(&phase.work, &secret, global)?;
        let (origin_ns, ahead_ns) = begun()?;
        let watch =
            UsageWatch::start(usage::WatchTargets::default()).context("cannot start a thread")?;
        let hearing = Hearing {
            phase,
            at: &open.at,
            control,
            quiet: true,
            watch,
            origin_ns,
            ahead_ns,
            relay: Some(relay),
        };
        let knowledge = || knowledge(&phase.work, &secured);
        let outcome = hearing.carry_out(open.posts, knowledge, meanwhile)?;
        let (heard, tally) = (outcome.heard.clone(), outcome.tally.clone());
        let interrupted = outcome.interrupted;
        Ok(Listened {
            heard,
            tally,
            interrupted,
            run: self.run(phase, &open.at, outcome, control)?,
        })
    }

    /// Keys of a file or a key service, or one that is made for this phase alone.
    pub(super) fn secured(&self, work: &Work, global: &Global) -> anyhow::Result<Secured> {
        let is_secured = match work {
            Work::Publish(plan) => message::mode(&plan.security).is_some(),
            _ => false,
        };
        let (text, name) = match &self.common.keys {
            Some(KeySource::Service(url)) => {
                let service = &self.common.key_service;
                let secret = service.secret()?;
                let trusting = self.broker.trusting();
                let supply = service.supply(url, &secret, trusting, true, global)?;
                return Ok(Secured {
                    supply: Some(supply),
                    secret,
                    ..Secured::default()
                });
            }
            Some(KeySource::File(file)) => (keys::text(file)?, file.clone()),
            None if is_secured => (keys::made(self.policy), PathBuf::from("a key")),
            None => return Ok(Secured::default()),
        };
        let keys = keys::parse(&text, &name)?;
        Ok(Secured {
            text,
            keys,
            ..Secured::default()
        })
    }

    pub(super) fn run(
        &self,
        phase: &Phase,
        at: &Url,
        outcome: Outcome,
        control: &Control,
    ) -> anyhow::Result<Run> {
        let (warmup, name) = (nanos(phase.warmup.given()), phase.work.name());
        let warm_up = WarmUp {
            given_ns: Some(warmup),
            cut_ns: warmup,
            ..WarmUp::default()
        };
        let mut measured = Measured::new(
            phase.name.clone().unwrap_or_else(|| name.to_owned()),
            outcome.started.into(),
            &outcome.tally,
            warm_up,
            0,
            &status_name,
        );
        let (from, to) = (measured.from_ns, measured.to_ns);
        if let Some(seen) = &outcome.seen {
            measured.resources = seen.series(outcome.began, from, to, None);
            measured.resources.iter_mut().for_each(|it| within(it, to));
            measured.observing.clone_from(&seen.observing);
        }
        let interval = match &phase.work {
            Work::Publish(plan) => plan.interval.map(nanos),
            _ => None,
        };
        if let Some(published) = &outcome.published {
            let lateness = published.lateness_histogram.clone();
            if !lateness.is_empty() {
                let named = "lateness".to_owned();
                measured.total.histograms.insert(named, lateness);
            }
        }
        if let Some(jitter) = results::jitter(measured.total.histogram("arrival"), interval) {
            measured.total.histograms.insert("jitter".into(), jitter);
        }
        let sent = outcome.published.as_ref();
        let listeners = outcome.heard.iter();
        let told = PubSub {
            to: at.to_string(),
            multicast: at.is_multicast(),
            published: sent.map(|it| results::published(it, interval)),
            listeners: listeners
                .map(|(heard, cpu)| results::listener(heard, cpu.clone(), sent))
                .collect(),
            clock: outcome.clock,
        };
        measured.by_hand = by_hand(&outcome.by_hand);
        measured.verdict = judge::pubsub(&measured, &told, outcome.interrupted);
        measured.pubsub = Some(told);
        measured.expectations = judge::expectations(&phase.expect, &measured);

        let mut run = Run::new(name, outcome.started.into(), observe::fingerprint());
        crate::tags::put(&mut run);
        let targets = Targets::from_iter([]);
        run.plan = Plan::of(targets, phase.clone()).to_value()?;
        run.request = crate::usage::asked().into();
        run.targets = vec![Target {
            url: at.to_string(),
            security: results::security(&phase.work, self.policy, self.common.keys.is_some()),
            ..Target::default()
        }];
        run.verdict = measured.verdict.clone();
        run.phases.push(measured);
        if outcome.interrupted {
            run.marks.push(match control.is_aborted() {
                true => Mark::Aborted,
                false => Mark::Interrupted,
            });
        }
        run.ended = SystemTime::now().into();
        Ok(run)
    }
}

/// Leaves out looks behind the end: how a publisher tells what it did is no load.
fn within(usage: &mut UsageSeries, to_ns: u64) {
    let rows = usage.at_ns.iter().take_while(|at| **at <= to_ns).count();
    usage.at_ns.truncate(rows);
    usage.cpu_cores.truncate(rows);
    usage.rss_bytes.truncate(rows);
    usage.waited_cores.truncate(rows);
    usage.switches_per_s.truncate(rows);
    if let Some(course) = &mut usage.cpu_course {
        course.keep_until(to_ns);
    }
}

/// The filter of what a publisher of this plan sends to a broker.
fn filter(plan: &plan::Publish, prefix: Option<&str>) -> String {
    let publisher = message::publisher_id(&plan.publisher).to_string();
    let json = plan.mapping != "uadp";
    Tree::new(prefix.unwrap_or(PREFIX), json, &publisher).all_data()
}

impl PubSubCommand {
    /// Listeners, at sockets or at the broker.
    pub(super) fn open(
        &self,
        work: &Work,
        secret: &Secret,
        global: &Global,
    ) -> anyhow::Result<Open> {
        let Url::Mqtt(url) = &self.at else {
            return open(work, self.discovery);
        };
        let mut of_listeners = url.clone();
        let (listeners, same_clock) = match work {
            Work::Publish(plan) => {
                of_listeners.topic = Some(filter(plan, url.topic.as_deref()));
                // It is a process of this host, where nothing else was said.
                (plan.listeners, self.one_host && !self.is_apart())
            }
            Work::Listen(plan) => {
                let same_clock = plan.broker.as_ref().is_some_and(|it| it.same_clock);
                (plan.listeners, same_clock)
            }
            _ => return Err(Failure::usage(format!("{} is no PubSub", work.name())).into()),
        };
        let mqtt = self
            .broker
            .at(of_listeners, self.in_flight, secret, global)?;
        let post = |_| {
            Post::subscribe(mqtt.clone(), same_clock)
                .map_err(|error| broker::failed(&mqtt.url, &error).into())
        };
        Ok(Open {
            posts: (0..listeners).map(post).collect::<anyhow::Result<_>>()?,
            at: self.at.clone(),
        })
    }
}

fn open(work: &Work, discovery: Option<Address>) -> anyhow::Result<Open> {
    let (at, interface, listeners, buffer) = match work {
        Work::Publish(it) => {
            let interface = it.listen_interface.as_ref().or(it.interface.as_ref());
            (&it.to, interface, it.listeners, it.receive_buffer)
        }
        Work::Listen(it) => (
            &it.from,
            it.interface.as_ref(),
            it.listeners,
            it.receive_buffer,
        ),
        _ => return Err(Failure::usage(format!("{} is no PubSub", work.name())).into()),
    };
    let mut at: Place = at.parse().map_err(Failure::usage)?;
    let interface: Option<Interface> = interface.map(|it| it.parse()).transpose()?;
    let buffer = usize::try_from(buffer).unwrap_or(usize::MAX);
    let hint = "listen at an address of this host, or at a multicast group with its interface";
    let failed = |failed: ListenError| super::no_socket(failed.to_string(), &failed.error, hint);
    let mut posts = Vec::new();
    for _ in 0..listeners {
        let post = Post::open(&at, interface.as_ref(), buffer).map_err(failed)?;
        // The first has found a port that is free; the others of a group listen there, too.
        at = post.place().unwrap_or(at);
        posts.push(match discovery {
            None => post,
            Some(there) => post.asking(there, interface.as_ref()).map_err(failed)?,
        });
    }
    Ok(Open {
        posts,
        at: at.into(),
    })
}

/// What listeners know beforehand.
pub(super) fn knowledge(work: &Work, secured: &Secured) -> Knowledge {
    let (mut types, mut choice) = (Vec::new(), Choice::default());
    let (required, tolerance) = match work {
        Work::Publish(plan) => {
            types = vec![message::signal(&plan.kind).raw(); plan.signals.into()];
            (message::mode(&plan.security), Tolerance::NONE)
        }
        Work::Listen(plan) => {
            choice = Choice {
                publishers: plan.publishers.clone(),
                groups: plan.groups.clone(),
            };
            let tolerance = super::tolerance(plan.strict, plan.constant_nonce);
            (message::mode(&plan.security), tolerance)
        }
        _ => (None::<Mode>, Tolerance::NONE),
    };
    let mut ring = KeyRing::new(required, tolerance);
    for (token, key) in &secured.keys {
        ring.insert(*token, key.clone());
    }
    Knowledge {
        keys: ring,
        feed: secured.supply.as_ref().map(|it| KeyFeed::new(it.times())),
        tolerance,
        types,
        choice,
    }
}

impl PubSubCommand {
    /// The command line of the publisher.
    pub(super) fn words(
        &self,
        plan: &plan::Publish,
        to: &Url,
        duration: Duration,
        global: &Global,
    ) -> anyhow::Result<Vec<String>> {
        let mut words = words(plan, to, duration);
        let of_service = self.common.key_service.words(self.common.keys.as_ref());
        if to.is_broker() {
            words.extend(self.broker.words());
            words.push(format!("--in-flight={}", self.in_flight));
        } else if !of_service.is_empty() {
            words.extend(self.broker.trusting().words());
        }
        if to.is_broker() || !of_service.is_empty() {
            words.push(format!("--pki={}", global.pki()?.display()));
        }
        words.extend(of_service);
        Ok(words)
    }
}

/// What it publishes, as a command line.
pub(super) fn words(plan: &plan::Publish, to: &Url, duration: Duration) -> Vec<String> {
    let mut words = vec![
        to.to_string(),
        format!("--signals={}", plan.signals),
        format!("--type={}", plan.kind),
        format!("--writers={}", plan.writers),
        format!("--groups={}", plan.groups),
        format!("--publisher={}", plan.publisher),
        format!("--layout={}", plan.layout),
        format!("--encoding={}", plan.encoding),
        format!("--mapping={}", plan.mapping),
        format!("--security={}", plan.security),
        format!("--ttl={}", plan.ttl),
        format!("--duration={}ns", nanos(duration)),
    ];
    match plan.interval {
        Some(interval) => words.push(format!("--interval={}ns", nanos(interval))),
        None => words.push("--max".to_owned()),
    }
    if let Some(dscp) = &plan.dscp {
        words.push(format!("--dscp={dscp}"));
    }
    if let Some(each) = plan.roll_over {
        words.push(format!("--roll-over={}ns", nanos(each)));
    }
    if let Some(interface) = &plan.interface {
        words.push(format!("--interface={interface}"));
    }
    words
}
