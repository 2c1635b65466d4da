//! Ctrl-C, and SIGTERM and SIGHUP with it. What the first one does is the command's; the second one quits, whatever the
//! command is at. The time limit of `--max-time` is an interrupt, too, but one that no signal brings.
//!
//! Nothing else in the program sets a handler, and nothing else ends the process from within: whoever takes something that
//! outlives the process says here how it is given back.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use judge::Exit;
use load::engine::Control;
use plan::unit::duration;

use crate::screen::tell;
use crate::time_limit;

/// What is given back before this process quits, in this order.
#[derive(Debug, Clone, Copy)]
pub enum Taken {
    /// First: what is said from then on should be seen.
    Terminal,
    /// Processors and priority of a server.
    Schedule,
    /// Processes and folders. Last: processes may take a while to end.
    Started,
}

/// How each of it is given back.
static GIVE_BACK: [OnceLock<fn()>; 3] = [const { OnceLock::new() }; 3];

/// Whether this process is about to be ended by whoever gives back what it took.
static QUITTING: AtomicBool = AtomicBool::new(false);

/// Giving back may take so long: a command that was started has three seconds to end by itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// So long a command may take to end in good order once its time is over. It awaits answers, closes sessions and writes what it
/// has meanwhile; a command that still waits then quits without a result.
const GRACE: Duration = Duration::from_secs(60);

/// What the next interrupt does.
static NEXT: Mutex<Next> = Mutex::new(Next::Quits);

enum Next {
    /// Nothing but to end this process.
    Quits,
    /// The first one of a command that ends in good order.
    Does(Cleanup),
    /// That has been, and the command ends: the second one quits.
    Ends,
}

impl Next {
    /// What it is, which it is no longer.
    fn take() -> Self {
        let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
        let after = match *next {
            Self::Quits => Self::Quits,
            Self::Does(_) | Self::Ends => Self::Ends,
        };
        std::mem::replace(&mut *next, after)
    }
}

type Cleanup = Box<dyn FnOnce() + Send>;

/// Before this process quits, `how` gives back what was taken. It may be called when all was given back already.
pub fn before_quitting(taken: Taken, how: fn()) {
    if let Some(place) = GIVE_BACK.get(taken as usize) {
        place.get_or_init(|| how);
    }
}

/// From now on the first Ctrl-C does this, and the second one quits. Before anything shows that the program is at work: who
/// sees it may interrupt it.
pub fn first(doing: impl FnOnce() + Send + 'static) -> anyhow::Result<()> {
    *NEXT.lock().unwrap_or_else(PoisonError::into_inner) = Next::Does(Box::new(doing));
    ctrlc::set_handler(interrupted)?;
    Ok(())
}

fn interrupted() {
    match Next::take() {
        Next::Does(doing) => doing(),
        Next::Quits | Next::Ends => quit(Exit::Interrupted),
    }
}

/// After this time the command is interrupted, whether or not it takes signals. If it has not ended within [`GRACE`] it quits.
pub fn after(limit: Duration) -> anyhow::Result<()> {
    let waits = move || {
        thread::sleep(limit);
        let next = Next::take();
        // Who was interrupted before is ending already, and not for want of time.
        if !matches!(next, Next::Ends) {
            time_limit::reach(limit);
            give_back(Taken::Terminal);
            tell!("\n{}", time_limit::why());
        }
        match next {
            Next::Does(doing) => doing(),
            Next::Quits => quit(Exit::Interrupted),
            Next::Ends => {}
        }
        thread::sleep(GRACE);
        tell!(
            "it has not ended {} later; it quits without a result",
            duration::typed(GRACE)
        );
        quit(Exit::Interrupted);
    };
    thread::Builder::new()
        .name("time limit".to_owned())
        .spawn(waits)
        .context("cannot keep --max-time")?;
    Ok(())
}

/// The first Ctrl-C ends the phase; what was measured is kept.
pub fn stops(control: &Control) -> anyhow::Result<()> {
    let control = control.clone();
    first(move || {
        control.stop();
        give_back(Taken::Terminal);
        tell!("\nstopping; once more to quit without a result");
    })
}

/// The first Ctrl-C sets this, for work that ends by itself when it sees that.
pub fn flag() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    first(move || told.store(true, Ordering::Relaxed))?;
    Ok(stop)
}

/// The first Ctrl-C quits: for commands that have nothing to keep of what they did so far.
pub fn quits() -> anyhow::Result<()> {
    first(|| quit(Exit::Interrupted))
}

/// Gives back what outlives this process, and ends it.
pub fn quit(exit: Exit) -> ! {
    if QUITTING.swap(true, Ordering::SeqCst) {
        wait_for_end();
    }
    let code = exit.code().into();
    if GIVE_BACK.iter().any(|it| it.get().is_some()) {
        // Somebody may hold what is to be given back, or a terminal takes nothing. Without a thread that is waited for.
        let _ = thread::Builder::new().spawn(move || {
            thread::sleep(PATIENCE);
            process::exit(code);
        });
    }
    for taken in [Taken::Terminal, Taken::Schedule, Taken::Started] {
        give_back(taken);
    }
    process::exit(code);
}

/// Does not come back if this process is about to be ended.
pub fn wait_if_quitting() {
    if QUITTING.load(Ordering::SeqCst) {
        wait_for_end();
    }
}

fn wait_for_end() -> ! {
    loop {
        thread::park();
    }
}

fn give_back(taken: Taken) {
    let how = GIVE_BACK.get(taken as usize).and_then(OnceLock::get);
    if let Some(how) = how {
        how();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    const WAITS: &str = "interrupt::tests::takes_something_and_never_ends";

    #[test]
    #[ignore = "never ends; the test below interrupts it in a process of its own"]
    fn takes_something_and_never_ends() {
        before_quitting(Taken::Started, || tell!("ends what was started"));
        before_quitting(Taken::Terminal, || tell!("gives back the terminal"));
        before_quitting(Taken::Schedule, || tell!("gives back the schedule"));
        first(|| tell!("stops")).unwrap();
        tell!("waits");
        wait_for_end();
    }

    #[test]
    fn the_second_interrupt_gives_back_what_was_taken_and_quits() {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", WAITS, "--ignored", "--nocapture"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let err = BufReader::new(child.stderr.take().unwrap());
        let mut lines = err.lines().map(Result::unwrap);
        for said in ["waits", "stops"] {
            assert_eq!(lines.next().as_deref(), Some(said));
            assert!(platform::process::interrupt(child.id()));
        }
        let rest: Vec<String> = lines.collect();
        let in_order = [
            "gives back the terminal",
            "gives back the schedule",
            "ends what was started",
        ];
        assert_eq!(rest, in_order);
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }
}
