//! What asks servers before anything is measured: several at a time, so that servers that do not answer take one
//! timeout and not one each; and only as long as nobody interrupts it.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use load::engine::Control;

use crate::failure::Failure;

/// So many servers are asked at a time.
const AT_ONCE: usize = 64;

/// An interrupt is noticed within this.
const LOOK_UP: Duration = Duration::from_millis(20);

/// Does it for each, several at a time; gives what came of them in their order. After an interrupt nobody waits for
/// the rest: threads that wait for a server are left behind, and end with the program.
pub fn each<T, U, D>(all: Vec<T>, control: &Control, does: D) -> anyhow::Result<Vec<U>>
where
    T: Send + 'static,
    U: Send + 'static,
    D: Fn(T) -> U + Send + Sync + 'static,
{
    let count = all.len();
    let does = Arc::new(does);
    let next = Arc::new(Mutex::new(all.into_iter().enumerate()));
    let (tell, told) = channel();
    for _ in 0..count.min(AT_ONCE) {
        let (does, next, tell) = (Arc::clone(&does), Arc::clone(&next), tell.clone());
        let work = move || {
            loop {
                let one = next.lock().ok().and_then(|mut next| next.next());
                let Some((n, one)) = one else {
                    return;
                };
                if tell.send((n, does(one))).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("look".into())
            .spawn(work)?;
    }
    drop(tell);
    let mut came = Vec::with_capacity(count);
    loop {
        if control.is_stopped() {
            return Err(Failure::interrupted().into());
        }
        match told.recv_timeout(LOOK_UP) {
            Ok(one) => came.push(one),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    if came.len() < count {
        return Err(Failure::new("a thread ended too early").into());
    }
    came.sort_by_key(|(n, _)| *n);
    Ok(came.into_iter().map(|(_, it)| it).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;
    use std::sync::Barrier;

    #[test]
    fn all_are_asked_at_a_time_and_told_in_their_order() {
        // Nobody passes before all have come.
        let together = Arc::new(Barrier::new(8));
        let control = Control::default();
        let came = each((0..8).collect(), &control, move |n: u64| {
            together.wait();
            std::thread::sleep(Duration::from_millis(8 - n));
            n * 10
        });
        assert_eq!(came.unwrap(), [0, 10, 20, 30, 40, 50, 60, 70]);
        let more = each((0..200).collect(), &control, |n: u64| n).unwrap();
        assert_eq!(more, (0..200).collect::<Vec<_>>());
    }

    #[test]
    fn an_interrupt_is_heard_while_a_server_does_not_answer() {
        let control = Control::default();
        let stop = control.clone();
        let (_never, silent) = channel::<()>();
        let silent = Mutex::new(silent);
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            stop.stop();
        });
        let error = each(vec![()], &control, move |()| {
            let _ = silent.lock().unwrap().recv();
        });
        assert!(error.unwrap_err().to_string().contains("interrupted"));
    }
}
