//! A relay on a thread of its own.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use link::Spec;

use super::{Account, Relay, Settings};

/// A relay that works for as long as this is kept.
#[derive(Debug)]
pub struct Background {
    address: SocketAddr,
    spec: Spec,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<io::Result<Account>>>,
}

impl Background {
    /// Listens, and goes to work.
    pub fn start(settings: Settings) -> io::Result<Self> {
        Self::begin(settings.spec, move || Relay::bind(&settings))
    }

    /// Goes to work for those who come to a socket that listens already, in another network namespace, say;
    /// what the settings say of listening is left out.
    pub fn with(listener: TcpListener, settings: Settings) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let listener = mio::net::TcpListener::from_std(listener);
        Self::begin(settings.spec, move || Relay::with(listener, &settings))
    }

    // A relay belongs to the thread that it runs on: what it carries is counted without atomics.
    fn begin(
        spec: Spec,
        make: impl FnOnce() -> io::Result<Relay> + Send + 'static,
    ) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let (ready, made) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("link".to_owned())
            .spawn(move || {
                let relay = make()?;
                drop(ready.send(relay.address()));
                // Without a poll there is no connection any more; clients see that theirs have ended.
                relay.run(&|| told.load(Ordering::Relaxed), None, &mut |_| ())
            })?;
        match made.recv() {
            Ok(address) => Ok(Self {
                address: address?,
                spec,
                stop,
                thread: Some(thread),
            }),
            Err(_) => Err(joined(thread).map_or_else(|error| error, |_| ended())),
        }
    }

    /// Takes nobody any more, ends all connections, and tells what was carried.
    pub fn finish(mut self) -> io::Result<Account> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map_or_else(|| Err(ended()), joined)
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

fn joined(thread: JoinHandle<io::Result<Account>>) -> io::Result<Account> {
    thread.join().unwrap_or_else(|_| Err(ended()))
}

fn ended() -> io::Error {
    io::Error::other("the relay's thread ended")
}
