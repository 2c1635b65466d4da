//! The end of processes that this one started.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use crate::process::{interrupt, terminate};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(5);

/// So long a child may go on whose input has ended, where it cannot be asked to end.
const UNASKED: Duration = Duration::from_millis(200);

/// Waits for its end, but not longer than `limit`.
pub fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() >= limit {
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

/// Asks it to end, as a service manager does, and kills it when it has not within `grace`.
pub fn end(child: &mut Child, grace: Duration) {
    match asked(child, terminate) {
        true => leave(child, grace),
        // It may end by itself, as its input has ended.
        false => leave(child, grace.min(UNASKED)),
    }
}

/// Asks it to end as Ctrl-C does, and kills it when it has not within `grace`.
pub fn end_in_order(child: &mut Child, grace: Duration) {
    match asked(child, interrupt) {
        true => leave(child, grace),
        false => kill(child),
    }
}

/// Asks it with a signal, if it is there: the id of one that was waited for may be another's.
fn asked(child: &mut Child, signal: fn(u32) -> bool) -> bool {
    matches!(child.try_wait(), Ok(None)) && signal(child.id())
}

/// It was told to end in words of its own, such as the end of its input. Kills it when it has not within `grace`.
pub fn leave(child: &mut Child, grace: Duration) {
    if !matches!(wait(child, grace), Ok(Some(_))) {
        kill(child);
    }
}

/// Ends it now. One that has ended already is no trouble.
pub fn kill(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "tests may fail")]
mod tests {
    use std::io::Read;
    use std::process::{Command, Stdio};

    use super::*;

    /// A shell that writes a line when these words are carried out.
    fn shell(words: &str) -> Child {
        let mut child = Command::new("sh")
            .args(["-c", words])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0];
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut line)
            .unwrap();
        child
    }

    fn is_over(child: &mut Child) -> bool {
        child.try_wait().unwrap().is_some()
    }

    #[test]
    fn one_that_ignores_the_signal_is_killed() {
        for asked in [end, end_in_order] {
            // The line comes after the trap is set.
            let mut deaf = shell("trap '' INT TERM; echo; while :; do sleep 0.1; done");
            let begin = Instant::now();
            asked(&mut deaf, Duration::from_millis(300));
            assert!(begin.elapsed() >= Duration::from_millis(300));
            assert!(is_over(&mut deaf));
        }
    }

    #[test]
    fn one_that_is_asked_ends_in_its_own_way() {
        let mut polite = shell("trap 'exit 7' TERM; echo; while :; do sleep 0.01; done");
        end(&mut polite, Duration::from_secs(10));
        assert_eq!(polite.wait().unwrap().code(), Some(7));
    }

    #[test]
    fn one_whose_input_ends_leaves_by_itself_or_is_killed() {
        let mut reader = shell("echo; cat; exit 3");
        assert_eq!(wait(&mut reader, Duration::ZERO).unwrap(), None);
        drop(reader.stdin.take());
        leave(&mut reader, Duration::from_secs(10));
        assert_eq!(reader.wait().unwrap().code(), Some(3));
        let mut stays = shell("echo; while :; do sleep 0.1; done");
        drop(stays.stdin.take());
        leave(&mut stays, Duration::ZERO);
        assert!(is_over(&mut stays));
    }
}
