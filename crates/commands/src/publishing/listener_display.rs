//! The listeners of a phase while it runs: what they hear, what of it is shown meanwhile, and what came of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use load::engine::{Change, Control, Progress};
use load::pubsub::{Knowledge, ListenerReport, PhaseClock, Post, Published, Until};
use load::transport::Clock;
use plan::unit::duration::nanos;
use plan::{Phase, Work};
use record::Tally;
use record::run::{ClockBound, Figure};

use super::broker::Url;
use super::watched::{LOOK, progress};
use crate::failure::Failure;
use crate::quick::live::Watcher;
use crate::quick::usage::{ObservedUsage, UsageWatch};

/// What came of all of it.
pub(super) struct Outcome {
    pub began: Instant,
    pub started: SystemTime,
    pub heard: Vec<(ListenerReport, Figure<u64>)>,
    pub tally: Tally,
    pub published: Option<Published>,
    pub interrupted: bool,
    /// What a person did, in nanoseconds since the begin.
    pub by_hand: Vec<(u64, Change)>,
    pub seen: Option<ObservedUsage>,
    /// What the clocks of both sides allow to say, where they were compared.
    pub clock: Option<ClockBound>,
}

/// A phase whose listeners hear now.
pub(super) struct Hearing<'a> {
    pub phase: &'a Phase,
    /// Where they listen.
    pub at: &'a Url,
    pub control: &'a Control,
    /// Nothing is shown meanwhile.
    pub quiet: bool,
    pub watch: UsageWatch,
    /// When it began, in nanoseconds since 1970.
    pub origin_ns: u64,
    /// By how much the publisher's clock is ahead of this host's, where both were compared.
    pub ahead_ns: Option<i64>,
    /// Who is told what is heard, too.
    pub relay: Option<Sender<Progress>>,
}

/// Load and what is left out before it.
pub(super) fn length(phase: &Phase) -> Duration {
    phase.measured_until().unwrap_or_default()
}

/// In nanoseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, nanos)
}

/// Shows what listeners tell.
struct ListenerDisplay {
    watcher: Watcher,
    told: Receiver<Progress>,
    relay: Option<Sender<Progress>>,
}

impl ListenerDisplay {
    fn show(&mut self) {
        for progress in self.told.try_iter() {
            self.watcher.tell(&progress);
            if let Some(relay) = &self.relay {
                // Nobody may be listening.
                let _ = relay.send(progress);
            }
        }
    }
}

impl Hearing<'_> {
    /// Listens while something is done, which may ask whether it is to go on after a while.
    pub fn carry_out(
        self,
        posts: Vec<Post>,
        knowledge: impl Fn() -> Knowledge,
        mut meanwhile: impl FnMut(&mut dyn FnMut(Duration) -> bool) -> anyhow::Result<Option<Published>>,
    ) -> anyhow::Result<Outcome> {
        let (phase, control) = (self.phase, self.control);
        let clock = PhaseClock {
            origin_ns: self.origin_ns,
            end_ns: nanos(length(phase)),
            cut_ns: nanos(phase.warmup.given()),
            ahead_ns: self.ahead_ns,
        };
        let over = AtomicBool::new(false);
        let until = Until {
            over: &over,
            drain: matches!(phase.work, Work::Publish(_)),
        };
        let since = Duration::from_nanos(now().saturating_sub(self.origin_ns));
        let (began, started) = (Instant::now(), SystemTime::now());
        let (began, started) = (
            began.checked_sub(since).unwrap_or(began),
            started.checked_sub(since).unwrap_or(started),
        );
        let (tells, told) = channel();
        let targets = vec![self.at.to_string()];
        let mut board = ListenerDisplay {
            watcher: Watcher::new(phase.work.name(), phase, targets, self.quiet, control),
            told,
            relay: self.relay,
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = posts
                .into_iter()
                .enumerate()
                .map(|(core, post)| {
                    let (knowledge, tells) = (knowledge(), tells.clone());
                    let listen = move || {
                        let before = observe::thread_cpu();
                        let spent = || {
                            let now = observe::thread_cpu();
                            now.and_then(|now| Ok(now - before.clone()?))
                        };
                        let mut tell = |so_far| {
                            // Nobody may be listening.
                            let _ = tells.send(progress(core, so_far, spent().ok()));
                        };
                        let heard = post.hear(knowledge, clock, until, &mut tell);
                        (heard, Figure::from(spent().map(nanos)))
                    };
                    let named = std::thread::Builder::new().name("listener".into());
                    named.spawn_scoped(scope, listen)
                })
                .collect();
            let mut wait = |time: Duration| {
                std::thread::sleep(time);
                board.show();
                !control.is_over()
            };
            let done = meanwhile(&mut wait);
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
            let seen = self.watch.finish();
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
            board.show();
            board.watcher.end();
            let published = done?;
            let origin = Clock::new().at(began);
            let changes = control.changes().into_iter();
            match failed {
                Some(error) => Err(error),
                None => Ok(Outcome {
                    began,
                    started,
                    heard,
                    tally,
                    interrupted,
                    by_hand: changes.map(|it| (it.at.nanos_since(origin), it)).collect(),
                    published,
                    seen,
                    clock: None,
                }),
            }
        })
    }
}
