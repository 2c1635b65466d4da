//! The turns of tasks on a thread.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mio::{Events, Token};
use wire::time::Instant;

use super::super::{Clock, Timer};
use super::{Helpers, NEVER, Placed, Reactor, Task, TaskResults};

const WAKER: Token = Token(usize::MAX);
const TIMER: Token = Token(usize::MAX - 1);

/// A moment that is further away than this is waited for by a poll's timeout at first, which is a millisecond wide.
const FAR: Duration = Duration::from_millis(10);

/// A task that is not over.
struct Waiting<'a, T> {
    task: Task<'a, T>,
    /// It has its turn then, whatever happens.
    until: Instant,
    /// It has its next turn at once.
    is_ready: bool,
}

/// Runs these tasks on this thread, until the last of them is over.
pub fn run<T>(tasks: Vec<Task<'_, T>>, helpers: &Arc<Helpers>) -> io::Result<TaskResults<T>> {
    let mut poll = mio::Poll::new()?;
    let clock = Clock::new();
    let mut timer = Timer::new(poll.registry(), TIMER, clock)?;
    let waker = Arc::new(mio::Waker::new(poll.registry(), WAKER)?);
    let (post, mail) = channel();
    let registry = poll.registry().try_clone()?;
    let reactor = Rc::new(Reactor::new(registry, Arc::clone(helpers), post, waker));
    let _placed = Placed::new(Some(Rc::clone(&reactor)));
    let mut context = Context::from_waker(Waker::noop());
    let mut events = Events::with_capacity(1024);
    let mut done: Vec<Option<T>> = tasks.iter().map(|_| None).collect();
    let mut ready: Vec<usize> = (0..tasks.len()).collect();
    let begun = tasks.into_iter().map(|task| {
        Some(Waiting {
            task,
            until: NEVER,
            is_ready: true,
        })
    });
    let mut tasks: Vec<Option<Waiting<'_, T>>> = begun.collect();
    let (mut left, mut waited_ns) = (tasks.len(), 0);
    // By the moment of their next turn; those that wait for something else are not in it.
    let mut due: BTreeSet<(Instant, usize)> = BTreeSet::new();
    loop {
        for n in ready.drain(..) {
            let Some(place) = tasks.get_mut(n) else {
                continue;
            };
            let Some(waiting) = place else {
                continue;
            };
            due.remove(&(waiting.until, n));
            waiting.is_ready = false;
            reactor.turn(n, left);
            match waiting.task.as_mut().poll(&mut context) {
                Poll::Pending => {
                    waiting.until = reactor.until();
                    if waiting.until < NEVER {
                        due.insert((waiting.until, n));
                    }
                }
                Poll::Ready(it) => {
                    *place = None;
                    left -= 1;
                    if let Some(done) = done.get_mut(n) {
                        *done = Some(it);
                    }
                }
            }
        }
        if left == 0 {
            break;
        }
        let before = clock.mono();
        let timeout = match due.first() {
            None => None,
            // Arming a timer is a system call: most answers come long before they are late.
            Some((at, _)) if at.since(before) > FAR => Some(at.since(before) - FAR / 2),
            Some((at, _)) => timer.until(*at, before),
        };
        match poll.poll(&mut events, timeout) {
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        let now = clock.mono();
        waited_ns += now.nanos_since(before);
        let mut wake = |n: usize| {
            if let Some(Some(waiting)) = tasks.get_mut(n)
                && !std::mem::replace(&mut waiting.is_ready, true)
            {
                ready.push(n);
            }
        };
        for event in &events {
            match event.token() {
                TIMER => {}
                WAKER => mail.try_iter().for_each(&mut wake),
                Token(n) => wake(n),
            }
        }
        for &(_, n) in due.iter().take_while(|(at, _)| *at <= now) {
            wake(n);
        }
    }
    // All of them are over: each has its place filled.
    let done: Vec<T> = done.into_iter().flatten().collect();
    Ok(TaskResults { done, waited_ns })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::RefCell;

    use super::super::{aside, blocking, reactor, sleep_until};
    use super::*;

    fn boxed<'a, T>(task: impl Future<Output = T> + 'a) -> Task<'a, T> {
        Box::pin(task)
    }

    #[test]
    fn tasks_wait_beside_each_other_and_come_back_in_the_order_of_their_moments() {
        let (clock, woken) = (Clock::new(), RefCell::new(Vec::new()));
        let begin = clock.mono();
        let tasks = [30, 10, 20, 10].into_iter().enumerate().map(|(n, ms)| {
            let woken = &woken;
            boxed(async move {
                let at = begin + Duration::from_millis(ms);
                sleep_until(at).await;
                assert!(clock.mono() >= at);
                woken.borrow_mut().push(n);
                n
            })
        });
        let ran = run(tasks.collect(), &Arc::default()).unwrap();
        assert_eq!(ran.done, [0, 1, 2, 3]);
        assert_eq!(woken.into_inner(), [1, 3, 2, 0]);
    }

    #[test]
    fn who_is_alone_has_nobody_to_hold_up() {
        let here = std::thread::current().id();
        let task = boxed(aside(|| std::thread::current().id()));
        assert_eq!(run(vec![task], &Arc::default()).unwrap().done, [here]);
    }

    #[test]
    fn what_a_helper_does_holds_up_nobody() {
        let (sender, receiver) = channel();
        // The first waits for what the second sends: on one thread without helpers it would wait for ever.
        let first = boxed(aside(move || receiver.recv().unwrap()));
        let second = boxed(async move {
            sender.send(7).unwrap();
            8
        });
        let ran = run(vec![first, second], &Arc::default()).unwrap();
        assert_eq!(ran.done, [7, 8]);
    }

    #[test]
    fn a_call_that_blocks_does_so_among_tasks_too() {
        let task = boxed(async {
            assert!(reactor().is_some());
            let inside = blocking(async { reactor().is_none() });
            assert!(reactor().is_some());
            inside
        });
        assert_eq!(run(vec![task], &Arc::default()).unwrap().done, [true]);
        assert!(reactor().is_none());
    }
}
