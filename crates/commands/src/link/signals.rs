//! Signals to a program that waits for another one: what the terminal sends to both reaches both, all else is
//! handed on.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use signal_hook::flag;

/// What ends programs, and is for the one that is waited for.
const ENDING: [Signal; 4] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
];

/// Signals that are waited for instead of being caught.
pub struct Signals {
    set: SigSet,
    waiting: SignalFd,
    /// Whether one was caught all the same, while a thread let them through.
    caught: [Arc<AtomicBool>; ENDING.len()],
}

/// A signal.
pub struct ReceivedSignal {
    pub signal: Signal,
    /// By a process and to this one, not by the terminal and to all of the foreground.
    pub for_us_alone: bool,
}

/// What a thread needs to let signals through for a moment.
#[derive(Clone, Copy)]
pub struct BlockedSignals(SigSet);

impl BlockedSignals {
    /// Does something while signals come through: processes inherit what their thread holds back.
    pub fn open<T>(self, doing: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.0.thread_unblock()?;
        let done = doing();
        self.0.thread_block()?;
        done
    }
}

impl Signals {
    /// Begins to wait, for the calling thread and those that it starts.
    pub fn wait_for() -> io::Result<Self> {
        let mut set = SigSet::empty();
        set.add(Signal::SIGCHLD);
        let caught = ENDING.map(|_| Arc::new(AtomicBool::new(false)));
        for (signal, caught) in ENDING.into_iter().zip(&caught) {
            set.add(signal);
            flag::register(signal as i32, Arc::clone(caught))?;
        }
        set.thread_block()?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let waiting = SignalFd::with_flags(&set, flags)?;
        Ok(Self {
            set,
            waiting,
            caught,
        })
    }

    /// For threads that start processes.
    pub fn gate(&self) -> BlockedSignals {
        BlockedSignals(self.set)
    }

    /// A signal that came while a gate was open. By whom is not known.
    pub fn caught(&self) -> Option<Signal> {
        let mut all = ENDING.into_iter().zip(&self.caught);
        let found = all.find(|(_, caught)| caught.swap(false, Ordering::Relaxed));
        found.map(|(signal, _)| signal)
    }

    /// The next signal, if one comes in time.
    pub fn next(&self, within: Option<Duration>) -> nix::Result<Option<ReceivedSignal>> {
        let within = match within {
            None => PollTimeout::NONE,
            Some(within) => PollTimeout::try_from(within).unwrap_or(PollTimeout::MAX),
        };
        let mut fds = [PollFd::new(self.waiting.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, within) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
        Ok(self.waiting.read_signal()?.and_then(|it| {
            let signal = Signal::try_from(i32::try_from(it.ssi_signo).ok()?).ok()?;
            // signal(7): codes of kill, tkill and sigqueue are zero and less, those of the kernel above.
            let for_us_alone = it.ssi_code <= 0 && signal != Signal::SIGCHLD;
            Some(ReceivedSignal {
                signal,
                for_us_alone,
            })
        }))
    }
}
