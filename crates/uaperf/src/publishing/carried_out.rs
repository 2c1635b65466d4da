//! A phase with PubSub carried out: sockets first, then the publisher, and what came of it as a run.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context;
use load::engine::Control;
use load::pubsub::{
    Heard, Interface, Knowledge, ListenError, PhaseClock, Place, Post, Published, Until,
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
use super::keys::{self, Keys};
use super::message;
use super::phase::Asked;
use super::publisher::Publisher;
use super::results;
use crate::failure::Failure;
use crate::global::Global;
use crate::quick::status_name;
use crate::quick::usage::{Seen, Watch};

/// So often it is looked whether the phase was ended by hand.
const LOOK: Duration = Duration::from_millis(20);

/// Listeners with their sockets open.
struct Open {
    posts: Vec<Post>,
    /// Where they listen: with the port that was free.
    at: Url,
}

/// What came of all of it.
struct Outcome {
    began: Instant,
    started: SystemTime,
    heard: Vec<(Heard, Figure<u64>)>,
    tally: Tally,
    published: Option<Published>,
    interrupted: bool,
    seen: Option<Seen>,
}

impl Asked {
    /// Measures.
    pub fn measure(
        &self,
        phase: &Phase,
        control: &Control,
        global: &Global,
    ) -> anyhow::Result<Run> {
        let asked = self.common.observed.asked()?;
        let (text, keys) = self.keys(&phase.work)?;
        let secret = match self.at.is_broker() {
            true => self.broker.secret()?,
            false => None,
        };
        let open = self.open(&phase.work, &secret, global)?;
        let knowledge = || knowledge(&phase.work, &keys);
        let outcome = match &phase.work {
            Work::Publish(plan) => {
                let mut words = words(plan, &open.at, length(phase));
                if open.at.is_broker() {
                    words.extend(self.broker.words());
                    words.push(format!("--in-flight={}", self.in_flight));
                    words.push(format!("--pki={}", global.pki()?.display()));
                }
                let mut publisher = Publisher::start(&words)?;
                let process = Process::of(publisher.pid()).ok();
                let mut asked = asked;
                // Whatever server the scenario has started, it is not this one.
                asked.server = process;
                let watch = Watch::start(asked).context("cannot start a thread")?;
                // What it sends until the listeners read waits in their sockets.
                let origin = publisher.begin(&secret, &text)?;
                let publish = |wait: &dyn Fn(Duration) -> bool| {
                    // It ends by itself; the rest is for a machine that is very busy.
                    while wait(LOOK) {
                        if let Some(ended) = publisher.ended(Duration::ZERO) {
                            return ended.map(Some);
                        }
                    }
                    publisher.end().map(Some)
                };
                hear(
                    open.posts,
                    phase,
                    control,
                    watch,
                    (origin, knowledge),
                    publish,
                )
            }
            _ => {
                let watch = Watch::start(asked).context("cannot start a thread")?;
                let origin = now();
                hear(
                    open.posts,
                    phase,
                    control,
                    watch,
                    (origin, knowledge),
                    |_| Ok(None),
                )
            }
        }?;
        Ok(self.run(phase, &open.at, outcome, control))
    }

    /// What a file of keys says, or one made for this phase, and the same as keys.
    fn keys(&self, work: &Work) -> anyhow::Result<(Zeroizing<String>, Keys)> {
        let secured = match work {
            Work::Publish(plan) => message::mode(&plan.security).is_some(),
            _ => false,
        };
        let (text, name) = match &self.common.keys {
            Some(file) => (keys::text(file)?, file.clone()),
            None if secured => (keys::made(self.policy), PathBuf::from("a key")),
            None => return Ok((Zeroizing::default(), Keys::new())),
        };
        let keys = keys::parse(&text, &name)?;
        Ok((text, keys))
    }

    fn run(&self, phase: &Phase, at: &Url, outcome: Outcome, control: &Control) -> Run {
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
        };
        measured.verdict = judge::pubsub(&measured, &told, outcome.interrupted);
        measured.pubsub = Some(told);
        measured.expectations = judge::expectations(&phase.expect, &measured);

        let mut run = Run::new(name, outcome.started.into(), observe::fingerprint());
        crate::tags::put(&mut run);
        let targets = Targets::from_iter([]);
        run.plan = serde_json::to_value(Plan::of(targets, phase.clone())).unwrap_or_default();
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
        run
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
}

/// Load and what is left out before it.
fn length(phase: &Phase) -> Duration {
    phase.measured_until().unwrap_or_default()
}

/// The filter of what a publisher of this plan sends to a broker.
fn filter(plan: &plan::Publish, prefix: Option<&str>) -> String {
    let publisher = message::publisher_id(&plan.publisher).to_string();
    let json = plan.mapping != "uadp";
    Tree::new(prefix.unwrap_or(PREFIX), json, &publisher).all_data()
}

impl Asked {
    /// Listeners, at sockets or at the broker.
    fn open(&self, work: &Work, secret: &Secret, global: &Global) -> anyhow::Result<Open> {
        let Url::Mqtt(url) = &self.at else {
            return open(work);
        };
        let mut of_listeners = url.clone();
        let (listeners, same_clock) = match work {
            Work::Publish(plan) => {
                of_listeners.topic = Some(filter(plan, url.topic.as_deref()));
                // It is a process of this host.
                (plan.listeners, true)
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

fn open(work: &Work) -> anyhow::Result<Open> {
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
        posts.push(post);
    }
    Ok(Open {
        posts,
        at: at.into(),
    })
}

/// What listeners know beforehand.
fn knowledge(work: &Work, keys: &Keys) -> Knowledge {
    let (required, tolerance, types) = match work {
        Work::Publish(plan) => {
            let types = vec![message::signal(&plan.kind).raw(); plan.signals.into()];
            (message::mode(&plan.security), Tolerance::NONE, types)
        }
        Work::Listen(plan) => {
            let tolerance = super::tolerance(plan.strict, plan.constant_nonce);
            (message::mode(&plan.security), tolerance, Vec::new())
        }
        _ => (None::<Mode>, Tolerance::NONE, Vec::new()),
    };
    let mut ring = KeyRing::new(required, tolerance);
    for (token, key) in keys {
        ring.insert(*token, key.clone());
    }
    Knowledge {
        keys: ring,
        tolerance,
        types,
    }
}

/// The command line of the publisher.
fn words(plan: &plan::Publish, to: &Url, duration: Duration) -> Vec<String> {
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
    if let Some(each) = plan.roll_over {
        words.push(format!("--roll-over={}ns", nanos(each)));
    }
    if let Some(interface) = &plan.interface {
        words.push(format!("--interface={interface}"));
    }
    words
}

/// In nanoseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, nanos)
}

/// Listens while something is done, which may ask whether it is to go on after a while.
fn hear(
    posts: Vec<Post>,
    phase: &Phase,
    control: &Control,
    watch: Watch,
    (origin_ns, knowledge): (u64, impl Fn() -> Knowledge),
    mut meanwhile: impl FnMut(&dyn Fn(Duration) -> bool) -> anyhow::Result<Option<Published>>,
) -> anyhow::Result<Outcome> {
    let clock = PhaseClock {
        origin_ns,
        end_ns: nanos(length(phase)),
        cut_ns: nanos(phase.warmup.given()),
    };
    let over = AtomicBool::new(false);
    let until = Until {
        over: &over,
        drain: matches!(phase.work, Work::Publish(_)),
    };
    let since = Duration::from_nanos(now().saturating_sub(origin_ns));
    let (began, started) = (Instant::now(), SystemTime::now());
    let (began, started) = (
        began.checked_sub(since).unwrap_or(began),
        started.checked_sub(since).unwrap_or(started),
    );
    std::thread::scope(|scope| {
        let threads: Vec<_> = posts
            .into_iter()
            .map(|post| {
                let knowledge = knowledge();
                let listen = move || {
                    let before = observe::thread_cpu();
                    let heard = post.hear(knowledge, clock, until);
                    let spent = observe::thread_cpu().and_then(|now| Ok(now - before?));
                    (heard, Figure::from(spent.map(nanos)))
                };
                let named = std::thread::Builder::new().name("listener".into());
                named.spawn_scoped(scope, listen)
            })
            .collect();
        let wait = |time: Duration| {
            std::thread::sleep(time);
            !control.is_over()
        };
        let done = meanwhile(&wait);
        // The last cycle begins an interval before the end, and its time belongs to it.
        let whole = length(phase);
        let goes_on = |done: &anyhow::Result<Option<Published>>| match done {
            Ok(Some(published)) => !published.interrupted,
            Ok(None) => true,
            Err(_) => false,
        };
        while goes_on(&done) && began.elapsed() < whole {
            if !wait(LOOK.min(whole.saturating_sub(began.elapsed()))) {
                break;
            }
        }
        let interrupted = began.elapsed() < whole;
        let seen = watch.finish();
        over.store(true, Ordering::Relaxed);
        let (mut heard, mut tally) = (Vec::new(), Tally::default());
        let mut failed = None;
        for thread in threads {
            let ended = thread.map_err(anyhow::Error::from).and_then(|it| {
                it.join()
                    .map_err(|_| Failure::new("a listener ended").into())
            });
            match ended {
                Ok((Ok((listener, written)), cpu)) => {
                    tally.merge(&written);
                    heard.push((listener, cpu));
                }
                Ok((Err(error), _)) => failed = Some(Failure::new(error.to_string()).into()),
                Err(error) => failed = Some(error),
            }
        }
        let published = done?;
        match failed {
            Some(error) => Err(error),
            None => Ok(Outcome {
                began,
                started,
                heard,
                tally,
                interrupted,
                published,
                seen,
            }),
        }
    })
}
