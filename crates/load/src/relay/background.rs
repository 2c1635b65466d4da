//! A relay on a thread of its own.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use link::Spec;

use super::{Relay, Settings};

/// A relay that works for as long as this is kept.
#[derive(Debug)]
pub struct Background {
    address: SocketAddr,
    spec: Spec,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Listens, and goes to work.
    pub fn start(settings: Settings) -> io::Result<Self> {
        let spec = settings.spec;
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        // A relay belongs to the thread that it runs on: what it carries is counted without atomics.
        let (ready, made) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("link".to_owned())
            .spawn(move || match Relay::bind(&settings) {
                Err(error) => drop(ready.send(Err(error))),
                Ok(relay) => {
                    drop(ready.send(relay.address()));
                    // Without a poll there is no connection any more; clients see that theirs have ended.
                    drop(relay.run(&told, None, &mut |_| ()));
                }
            })?;
        let address = made
            .recv()
            .unwrap_or_else(|_| Err(io::Error::other("the relay's thread ended")))?;
        Ok(Self {
            address,
            spec,
            stop,
            thread: Some(thread),
        })
    }

    /// What it does to what crosses it.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// Where clients come to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
