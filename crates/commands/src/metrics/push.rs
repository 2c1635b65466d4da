//! Pushing, by a thread for each receiver: what is measured never waits for one.
//!
//! Nothing is kept for a receiver that is away. Figures are totals since the beginning, so the next push that gets there makes
//! up for those that did not.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver as Ended, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use report::family::Family;

use super::receiver::{Receiver, Refused, Token};
use crate::screen::tell;

/// What is told, each time anew.
pub type Source = dyn Fn() -> Vec<Family> + Send + Sync;
/// Where is said what goes wrong.
pub type Warn = dyn Fn(String) + Send + Sync;

/// A receiver has taken it after so long, or it is left for the next time.
const PATIENCE: Duration = Duration::from_secs(10);
/// A receiver may ask to be left alone for so long.
const LONGEST_REST: Duration = Duration::from_secs(300);
/// The last push may take so long, and its thread a little more.
const LAST: (Duration, Duration) = (Duration::from_secs(2), Duration::from_millis(2500));

/// How long a receiver is left alone that wants so much rest, if it says how much: never less than between two pushes.
fn rest(every: Duration, wanted: Option<Duration>) -> Duration {
    // No clamp: pushes may be further apart than the longest rest, and bounds that cross are a panic.
    wanted.unwrap_or_default().min(LONGEST_REST).max(every)
}

/// What became of pushes to a receiver.
#[derive(Debug, Default)]
struct Account {
    sent: AtomicU64,
    failed: AtomicU64,
    /// Why the last one failed, if it did.
    last: Mutex<Option<String>>,
}

impl Account {
    fn last(&self) -> MutexGuard<'_, Option<String>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that pushes.
struct Pusher {
    name: String,
    account: Arc<Account>,
    end: Sender<()>,
    done: Ended<()>,
}

/// Those of this process.
static PUSHERS: Mutex<Vec<Pusher>> = Mutex::new(Vec::new());

fn pushers() -> MutexGuard<'static, Vec<Pusher>> {
    PUSHERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on a receiver is told, again and again.
pub fn begin(
    receiver: Receiver,
    token: Option<Token>,
    every: Duration,
    told: Arc<Source>,
    warn: Arc<Warn>,
) -> std::io::Result<()> {
    let (end, ended) = channel();
    let (ready, done) = channel();
    let (name, account) = (receiver.to_string(), Arc::<Account>::default());
    let line = Line {
        receiver,
        token,
        every,
        told,
        warn,
        account: Arc::clone(&account),
        since: SystemTime::now(),
    };
    std::thread::Builder::new()
        .name("push".into())
        .spawn(move || {
            line.push_until(&ended);
            // Nobody may wait any more.
            let _ = ready.send(());
        })?;
    pushers().push(Pusher {
        name,
        account,
        end,
        done,
    });
    Ok(())
}

/// Pushes a last time, and says what was lost on the way. It does not wait long for anybody.
pub fn finish() {
    // Who reads the figures for the last push looks at those who push.
    let all = std::mem::take(&mut *pushers());
    // All at once: one that hangs takes no time from the others.
    for it in &all {
        // One that has ended hears nothing any more.
        let _ = it.end.send(());
    }
    let until = Instant::now() + LAST.1;
    for it in all {
        let left = until.saturating_duration_since(Instant::now());
        let is_late = it.done.recv_timeout(left) == Err(RecvTimeoutError::Timeout);
        let sent = it.account.sent.load(Ordering::Relaxed);
        let failed = it.account.failed.load(Ordering::Relaxed) + u64::from(is_late);
        if failed == 0 {
            continue;
        }
        let why = match it.account.last().as_ref() {
            _ if is_late => "the last one, which was not taken in time".to_owned(),
            Some(why) => format!("the last one: {why}"),
            None => "the last one arrived".to_owned(),
        };
        tell!(
            "warning: --push {}: {failed} of {} pushes failed; {why}",
            it.name,
            sent + failed
        );
    }
}

/// What became of pushes so far.
pub fn families() -> Vec<Family> {
    let mut sent = Family::counter("uaperf_pushes_total", "Pushes that a receiver took.");
    let about = "Pushes that failed; the next one that succeeds makes up for them.";
    let mut failed = Family::counter("uaperf_pushes_failed_total", about);
    for it in pushers().iter() {
        let labels = || vec![("receiver", it.name.clone())];
        sent.add(labels(), it.account.sent.load(Ordering::Relaxed) as f64);
        failed.add(labels(), it.account.failed.load(Ordering::Relaxed) as f64);
    }
    vec![sent, failed]
}

/// A thread's work.
struct Line {
    receiver: Receiver,
    token: Option<Token>,
    every: Duration,
    told: Arc<Source>,
    warn: Arc<Warn>,
    account: Arc<Account>,
    since: SystemTime,
}

impl Line {
    fn push_until(&self, ended: &Ended<()>) {
        let mut wait = self.every;
        loop {
            // Anything but a timeout ends it.
            let is_last = ended.recv_timeout(wait) != Err(RecvTimeoutError::Timeout);
            let patience = match is_last {
                true => LAST.0,
                false => PATIENCE.min(self.every),
            };
            let families = (self.told)();
            let until = Instant::now() + patience;
            let sent = self
                .receiver
                .send(&families, self.since, self.token.as_ref(), until);
            wait = self.note(sent);
            if is_last {
                return;
            }
        }
    }

    /// Counts it, says what is new about it, and gives how long to wait.
    fn note(&self, sent: Result<(), Refused>) -> Duration {
        let name = &self.receiver;
        let mut last = self.account.last();
        match sent {
            Ok(()) => {
                self.account.sent.fetch_add(1, Ordering::Relaxed);
                if last.take().is_some() {
                    (self.warn)(format!("--push {name}: it takes figures again"));
                }
                self.every
            }
            Err(Refused { why, after }) => {
                self.account.failed.fetch_add(1, Ordering::Relaxed);
                let wait = rest(self.every, after);
                // Once for each time that it goes away, and not for each push.
                if last.is_none() {
                    (self.warn)(format!(
                        "warning: --push {name}: {why}; what runs goes on, and it is tried again every {}",
                        plan::unit::duration::show(wait)
                    ));
                }
                *last = Some(why);
                wait
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_rests_as_long_as_it_wants_and_pushes_never_come_closer_for_it() {
        let seconds = Duration::from_secs;
        assert_eq!(rest(seconds(5), None), seconds(5));
        assert_eq!(rest(seconds(5), Some(seconds(60))), seconds(60));
        assert_eq!(rest(seconds(5), Some(seconds(1))), seconds(5));
        assert_eq!(rest(seconds(5), Some(seconds(86_400))), LONGEST_REST);
        // Further apart than any rest.
        assert_eq!(rest(seconds(3600), Some(seconds(60))), seconds(3600));
    }
}
