//! What `uaperf publish` and `uaperf listen` show while they run: what all commands show, a line or a screen.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use load::engine::{Control, Progress};
use load::pubsub::SoFar;
use plan::unit::duration::nanos;
use plan::{Phase, Warmup, Work};
use record::notification_ledger::Stretch;

use crate::failure::Failure;
use crate::interrupt;
use crate::quick::live::Watcher;
use crate::quick::{feed, stage};

/// So often it is looked whether it was ended by hand, and whether there is something to show.
pub const LOOK: Duration = Duration::from_millis(20);

/// What is shown.
#[derive(Debug, clap::Args)]
#[group(id = "watched")]
#[command(next_help_heading = "Output")]
pub struct Args {
    #[command(flatten)]
    pub feed: feed::Args,
    /// No progress while it runs
    #[arg(long)]
    quiet: bool,
    /// On a terminal, a line each second instead of a screen with charts and keys
    #[arg(long)]
    plain: bool,
}

/// What a listener or publisher told, as a loop of requests would tell it. What comes unasked is no request.
pub fn progress(core: usize, it: SoFar, cpu: Option<Duration>) -> Progress {
    let closed = it.closed.into_iter().map(|mut closed| {
        closed.counters.sent = 0;
        closed.counters.completed = 0;
        (0, closed)
    });
    let mut heard = Stretch::default();
    heard.values.received = it.values;
    heard.messages.notifications = it.messages;
    heard.messages.missing_messages = it.lost;
    // Without its CPU it is not known how busy it is.
    let ran_ns = if cpu.is_some() { it.heard_for_ns } else { 0 };
    Progress {
        core,
        closed: closed.collect(),
        heard: Some(Box::new(heard)),
        ran_ns,
        idle_ns: ran_ns.saturating_sub(cpu.map_or(0, nanos)),
        last: it.last,
    }
}

impl Args {
    /// Does this work in a thread of its own, and shows meanwhile what it tells. What it is given is set when it is to
    /// end before its time: by Ctrl-C or by a key. What came of it, and the CPU that the thread took for it.
    pub fn show<T: Send>(
        &self,
        (work, duration, at): (Work, Duration, String),
        carry_out: impl FnOnce(&AtomicBool, &mut dyn FnMut(SoFar)) -> T + Send,
    ) -> anyhow::Result<(T, Option<u64>)> {
        let phase = Phase {
            duration: Some(duration),
            warmup: Warmup::Given {
                warmup: Duration::ZERO,
            },
            ..Phase::new(work)
        };
        let control = Control::default();
        interrupt::stops(&control)?;
        if !self.quiet {
            stage::open(self.plain);
        }
        let name = phase.work.name();
        let mut watcher = Watcher::new(name, &phase, vec![at], self.quiet, &control);
        let stop = AtomicBool::new(false);
        let (tells, told) = channel();
        std::thread::scope(|scope| {
            let stop = &stop;
            let worker = std::thread::Builder::new().name(name.to_owned());
            let worker = worker.spawn_scoped(scope, move || {
                let before = observe::thread_cpu();
                let spent = || observe::thread_cpu().and_then(|now| Ok(now - before.clone()?));
                let mut tell = |mut so_far: SoFar| {
                    // Nobody may be listening.
                    let senders = std::mem::take(&mut so_far.senders);
                    let _ = tells.send((progress(0, so_far, spent().ok()), senders));
                };
                let done = carry_out(stop, &mut tell);
                (done, spent().ok().map(nanos))
            })?;
            loop {
                match told.recv_timeout(LOOK) {
                    Ok((progress, senders)) => {
                        watcher.tell(&progress);
                        watcher.senders(senders);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if control.is_over() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            watcher.end();
            let done = worker.join();
            done.map_err(|_| Failure::new(format!("uaperf {name} panicked")).into())
        })
    }
}
