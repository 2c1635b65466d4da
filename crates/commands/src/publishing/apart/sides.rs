//! Listeners of this host or of others, and a publisher that is elsewhere.

use std::time::{Duration, Instant, SystemTime};

use load::engine::Control;
use load::pubsub::{Delay, ListenerReport};
use load::transport::Clock;
use plan::{Phase, Work};
use record::Tally;

use super::super::broker::Url;
use super::super::carried_out::{Open, Secured, knowledge};
use super::super::listener_display::{Hearing, Outcome, length, now};
use super::super::publisher::Publisher;
use super::super::watched::LOOK;
use super::cast::{Cast, bound, refused};
use crate::failure::Failure;
use crate::fleet::Hint;
use crate::quick::live::Watcher;
use crate::quick::usage::UsageWatch;

/// An agent that was told to end has so long to say what it did.
const ENDING: Duration = Duration::from_secs(15);

/// What a phase is watched with.
pub struct PhaseWatched<'a> {
    pub quiet: bool,
    pub control: &'a Control,
    pub watch: UsageWatch,
    /// When the publisher began, on our wall clock.
    pub origin_ns: u64,
}

/// What came of both sides.
pub struct Whole {
    pub outcome: Outcome,
    /// The agent of each listener.
    pub on: Vec<Option<String>>,
    /// Why no delay is known.
    pub no_delay: Option<String>,
}

/// Listeners of this host hear a publisher on another one.
pub fn hear_here(
    phase: &Phase,
    cast: &mut Cast,
    open: Open,
    secured: &Secured,
    course: PhaseWatched<'_>,
) -> anyhow::Result<Whole> {
    let ahead = cast.between(None, cast.began_ns);
    let ahead_ns = ahead.map(|it| it.middle() as i64);
    let hearing = Hearing {
        phase,
        at: &open.at,
        control: course.control,
        quiet: course.quiet,
        watch: course.watch,
        origin_ns: course.origin_ns,
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
pub fn hear_there(
    phase: &Phase,
    cast: &mut Cast,
    at: &Url,
    mut publisher: Option<&mut Publisher>,
    course: PhaseWatched<'_>,
) -> anyhow::Result<Whole> {
    let PhaseWatched {
        quiet,
        control,
        watch,
        origin_ns,
    } = course;
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
    // When it was, and not when the last one had said what it did.
    let over = stopped.or_else(|| control.is_over().then(Instant::now));
    let mut interrupted =
        over.is_some_and(|it| it.saturating_duration_since(began) < length(phase));
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
    let compared = |it: &ListenerReport| {
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
