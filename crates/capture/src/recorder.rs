//! A recording: who is told what happens on connections, and the end of it.

use std::fmt;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use wire::channel::KeyLog;

use crate::conversation::Side;
use crate::queue::{Event, Queue};
use crate::tap::Tap;
use crate::writer::{Outcome, Writer};

/// So many bytes wait for the disk at most.
const WAITING: usize = 64 * 1024 * 1024;

/// Takes what happens on connections. Clones write into the same file.
#[derive(Clone)]
pub struct Recorder(Arc<Queue>);

impl Recorder {
    /// A connection that this side made.
    pub fn connected(&self, own: SocketAddr, peer: SocketAddr) -> Tap {
        Tap::new(Arc::clone(&self.0), own, peer, Side::Client)
    }

    /// A connection that this side accepted.
    pub fn accepted(&self, own: SocketAddr, peer: SocketAddr) -> Tap {
        Tap::new(Arc::clone(&self.0), own, peer, Side::Server)
    }

    /// What takes the keys of channels. They come in the file before the bytes that they protect.
    pub fn key_log(&self) -> KeyLog {
        let queue = Arc::clone(&self.0);
        KeyLog::new(move |keys| queue.send(Event::Keys(Box::new(keys))))
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}

/// A file that is being written.
#[derive(Debug)]
pub struct Recording {
    recorder: Recorder,
    thread: JoinHandle<Outcome>,
}

impl Recording {
    /// Begins, with empty files for the capture and the keys. The capture gets `longest` bytes at most.
    ///
    /// # Errors
    /// The capture cannot be begun, or there is no thread for it.
    pub fn start(capture: File, keys: File, longest: u64) -> io::Result<Self> {
        Self::start_with(capture, keys, longest, WAITING)
    }

    fn start_with(capture: File, keys: File, longest: u64, most: usize) -> io::Result<Self> {
        let (queue, events) = Queue::new(most);
        let queue = Arc::new(queue);
        let writer = Writer::begin(capture, keys, longest, Arc::clone(&queue))?;
        let thread = std::thread::Builder::new()
            .name("capture".to_owned())
            .spawn(move || writer.run(&events))?;
        Ok(Self {
            recorder: Recorder(queue),
            thread,
        })
    }

    /// What connections are recorded with.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Writes what waits. What happens from now on is not recorded.
    pub fn finish(self) -> Outcome {
        let queue = &self.recorder.0;
        queue.finish();
        let mut outcome = self.thread.join().unwrap_or_else(|_| Outcome {
            error: Some(io::Error::other("its thread ended early")),
            ..Outcome::default()
        });
        queue.close(0);
        outcome.missed = queue.missed();
        outcome
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
