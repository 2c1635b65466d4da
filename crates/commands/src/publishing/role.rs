//! What an agent does of a phase: it publishes or listens, for others on other hosts.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::Context;
use fleet::frame::{pack, unpack};
use load::engine::{Control, Progress};
use load::pubsub::{ListenerReport, Published};
use observe::Process;
use plan::{Phase, Work};
use record::Tally;
use record::run::{Figure, Fingerprint, Run, UsageSeries};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::broker::{self, Secret};
use super::listener_display::{length, now};
use super::phase;
use super::publisher::Publisher;
use super::watched::LOOK;
use crate::failure::Failure;
use crate::fleet::{Hint, Listens, Publishes, Role, wait_until};
use crate::global::Global;
use crate::quick::usage::{self, UsageWatch};

/// What an agent has while it does so.
pub struct Stage<'a> {
    /// Says that all is prepared, and waits for the moment to begin; none: it does not begin.
    pub ready: &'a dyn Fn() -> Option<wire::time::Instant>,
    /// Says what goes on.
    pub tell: &'a dyn Fn(Vec<u8>),
    /// What it hears meanwhile.
    pub hints: &'a Receiver<Vec<u8>>,
    /// Whether it is to end.
    pub control: &'a Control,
    /// Where certificates are.
    pub global: &'a Global,
}

/// What a publisher tells at the end. Texts are JSON: not all of it can be written otherwise.
#[derive(Debug, Serialize, Deserialize)]
pub struct OfPublisher {
    published: String,
    resources: String,
    machine: String,
}

impl OfPublisher {
    /// As values.
    pub fn read(bytes: &[u8]) -> anyhow::Result<(Published, Vec<UsageSeries>, Fingerprint)> {
        let it: Self = unpack(bytes)?;
        Ok((
            serde_json::from_str(&it.published)?,
            serde_json::from_str(&it.resources)?,
            serde_json::from_str(&it.machine)?,
        ))
    }
}

/// What each listener heard, and the CPU of its thread.
pub type Listeners = Vec<(ListenerReport, Figure<u64>)>;

/// What listeners tell at the end.
#[derive(Debug, Serialize, Deserialize)]
pub struct OfListeners {
    heard: String,
    /// What came, bin by bin.
    pub tally: Tally,
    run: String,
    /// They ended before their time.
    pub interrupted: bool,
}

impl OfListeners {
    /// What each of them heard, and the result of this agent alone.
    pub fn read(&self) -> anyhow::Result<(Listeners, Run)> {
        Ok((
            serde_json::from_str(&self.heard)?,
            Run::from_agent(&self.run)?,
        ))
    }
}

/// Does it, and gives what came of it.
pub fn carry_out(role: Role, stage: &Stage<'_>) -> anyhow::Result<Vec<u8>> {
    match role {
        Role::Publish(it) => publish(it, stage),
        Role::Listen(it) => listen(&it, stage),
        Role::Serve(_) | Role::Watch(_) | Role::Link(_) => {
            let what = format!("{} is no PubSub", role.name().1);
            Err(Failure::usage(what).into())
        }
    }
}

fn publish(role: Publishes, stage: &Stage<'_>) -> anyhow::Result<Vec<u8>> {
    let to: broker::Url = role.url.parse().map_err(Failure::usage)?;
    let mut words = vec![role.url];
    words.extend(role.words);
    if to.is_broker() {
        words.push(format!("--pki={}", stage.global.pki()?.display()));
    }
    let secret: Secret = role.secret.map(Zeroizing::new);
    let keys = Zeroizing::new(role.keys);
    let mut publisher = Publisher::start(&words)?;
    let asked = usage::WatchTargets {
        server: Process::of(publisher.pid()).ok(),
        ..usage::WatchTargets::default()
    };
    let at = (stage.ready)().ok_or_else(Failure::interrupted)?;
    let watch = UsageWatch::start(asked).context("cannot start a thread")?;
    if !wait_until(at, stage.control) {
        return Err(Failure::interrupted().into());
    }
    let began_ns = publisher.begin([&secret, &None], &keys)?;
    let began = Instant::now();
    let ago = Duration::from_nanos(now().saturating_sub(began_ns));
    let began = began.checked_sub(ago).unwrap_or(began);
    (stage.tell)(pack(&began_ns)?);
    let published = loop {
        if let Some(ended) = publisher.ended(LOOK) {
            break ended?;
        }
        if stage.control.is_over() {
            break publisher.end()?;
        }
    };
    let (from, to) = role.window_ns;
    let seen = watch.finish();
    // Who does not watch says nothing of what it spent.
    let resources = seen.map(|it| it.series(began, from, to, None));
    let told = OfPublisher {
        published: serde_json::to_string(&published)?,
        resources: serde_json::to_string(&resources.unwrap_or_default())?,
        machine: serde_json::to_string(&observe::fingerprint())?,
    };
    Ok(pack(&told)?)
}

fn listen(role: &Listens, stage: &Stage<'_>) -> anyhow::Result<Vec<u8>> {
    let command = phase::definition(&role.service)
        .ok_or_else(|| Failure::usage(format!("{} is no PubSub", role.service)))?;
    let publishes = role.service == "publish";
    let at = if publishes { "--to" } else { "--from" };
    let mut words = vec![role.service.clone(), format!("{at}={}", role.url)];
    words.extend(role.words.iter().cloned());
    let mut asked = phase::asked(&role.service, &command.try_get_matches_from(words)?)?;
    asked.one_host = false;
    let phase = Phase::from_json(&role.phase).context("the phase cannot be read")?;
    phase.check()?;
    // Sockets are opened where the phase says, and allowed is where the role says.
    let there = match &phase.work {
        Work::Publish(plan) => &plan.to,
        Work::Listen(plan) => &plan.from,
        other => return Err(Failure::usage(format!("{} is no PubSub", other.name())).into()),
    };
    if *there != role.url {
        let what = format!("a phase at {there} for listeners at {}", role.url);
        return Err(Failure::usage(what).into());
    }
    let (relay, told) = channel::<Progress>();
    let ready = || {
        let at = (stage.ready)().ok_or_else(Failure::interrupted)?;
        match wait_until(at, stage.control) {
            true => Ok(()),
            false => Err(Failure::interrupted()),
        }
    };
    if !publishes {
        // What somebody else sends before it begins is not to wait in a socket.
        ready()?;
    }
    let begun = || {
        if !publishes {
            return Ok((now(), None));
        }
        ready()?;
        begun(stage)
    };
    let whole = length(&phase);
    let meanwhile = |wait: &mut dyn FnMut(Duration) -> bool| {
        let since = Instant::now();
        loop {
            let goes_on = wait(LOOK);
            let progress: Vec<Progress> = told.try_iter().collect();
            if !progress.is_empty() {
                (stage.tell)(pack(&progress)?);
            }
            let ended = match publishes {
                true => matches!(hint(stage), Some(Hint::Ended)),
                false => since.elapsed() >= whole,
            };
            if !goes_on || ended {
                return Ok(None);
            }
        }
    };
    let secret = role.secret.clone().map(Zeroizing::new);
    let secrets = (secret, role.keys.as_str());
    let (control, global) = (stage.control, stage.global);
    let listened = asked.hear(&phase, secrets, (control, global), begun, relay, meanwhile)?;
    let told = OfListeners {
        heard: serde_json::to_string(&listened.heard)?,
        tally: listened.tally,
        run: serde_json::to_string(&listened.run)?,
        interrupted: listened.interrupted,
    };
    Ok(pack(&told)?)
}

fn hint(stage: &Stage<'_>) -> Option<Hint> {
    unpack(&stage.hints.try_recv().ok()?).ok()
}

/// Waits until the publisher has begun.
fn begun(stage: &Stage<'_>) -> anyhow::Result<(u64, Option<i64>)> {
    while !stage.control.is_over() {
        match hint(stage) {
            Some(Hint::Begun { at_ns, ahead_ns }) => return Ok((at_ns, ahead_ns)),
            Some(Hint::Ended) => return Err(Failure::new("the publisher did not begin").into()),
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    Err(Failure::interrupted().into())
}
