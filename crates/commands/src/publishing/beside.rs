//! Listeners to the same group beside the first.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

use load::pubsub::{Listen, ListenError, ListenerReport, listen};
use observe::thread_cpu;
use plan::unit::duration::nanos;

/// Has others listen in threads of their own as long as this one does.
pub fn beside(
    others: Vec<Listen>,
    stop: &AtomicBool,
    listens: impl FnOnce(&AtomicBool) -> Result<ListenerReport, ListenError>,
) -> Result<ListenerReport, ListenError> {
    std::thread::scope(|scope| {
        let (begins, begun) = channel();
        let one = |plan: Listen| {
            let at = plan.from.to_string();
            let begins = begins.clone();
            let hears = move || {
                let before = thread_cpu();
                // Whoever cannot begin does not say so.
                let heard = listen(plan, stop, move || {
                    let _ = begins.send(());
                });
                let spent = thread_cpu().and_then(|now| Ok(now - before?));
                heard.map(|it| ListenerReport {
                    cpu_ns: spent.ok().map(nanos),
                    ..it
                })
            };
            let thread = std::thread::Builder::new().name("listener".to_owned());
            let thread = thread.spawn_scoped(scope, hears);
            thread.map_err(|error| ListenError { at, error })
        };
        let others: Vec<_> = others.into_iter().map(one).collect();
        drop(begins);
        let all = begun.iter().count() == others.len();
        let mut heard = all.then(|| listens(stop));
        if !matches!(heard, Some(Ok(_))) {
            stop.store(true, Ordering::Relaxed);
        }
        for other in others {
            let joined = other.and_then(|it| {
                it.join().unwrap_or_else(|_| {
                    let error = std::io::Error::other("a listener panicked");
                    Err(ListenError {
                        at: String::new(),
                        error,
                    })
                })
            });
            match (joined, &mut heard) {
                (Ok(other), Some(Ok(heard))) => heard.others.push(other),
                (Err(error), Some(Ok(_)) | None) => heard = Some(Err(error)),
                _ => {}
            }
        }
        heard.unwrap_or_else(|| {
            Err(ListenError {
                at: String::new(),
                error: std::io::Error::other("no listener began"),
            })
        })
    })
}
