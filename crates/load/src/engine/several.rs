//! What takes each of many sessions a while, before a phase begins, is done for several at a time.

use std::sync::Mutex;

use super::control::Control;
use super::error::{Failed, RunError};

/// Does it for all of them, so many at a time, until somebody stops it. Gives those for which it
/// went well, in any order, and the others with the reason why not, by seat.
pub fn several<T, U: Send>(
    all: impl Iterator<Item = T> + Send,
    at_once: usize,
    control: &Control,
    does: impl Fn(T) -> Result<U, Failed> + Sync,
) -> Result<(Vec<U>, Vec<Failed>), RunError> {
    let next = Mutex::new(all);
    let done = Mutex::new((Vec::new(), Vec::new()));
    let work = || {
        loop {
            let one = next.lock().ok().and_then(|mut next| next.next());
            let Some(one) = one.filter(|_| !control.is_over()) else {
                return;
            };
            let came = does(one);
            if let Ok(mut done) = done.lock() {
                match came {
                    Ok(it) => done.0.push(it),
                    Err(failed) => done.1.push(failed),
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..at_once {
            scope.spawn(work);
        }
        work();
    });
    let (there, mut failed) = done.into_inner().map_err(|_| RunError::Thread)?;
    failed.sort_by_key(|it| it.seat);
    Ok((there, failed))
}
