//! A thread that looks at something again and again, from where it disturbs nobody who is measured.

use std::ops::Range;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::places;

pub struct Looking<T> {
    stop: Sender<()>,
    thread: JoinHandle<Vec<T>>,
}

impl<T: Send + 'static> Looking<T> {
    /// Looks after a time for the first time, then with so much time between, and once more at the end.
    pub fn start(
        places: Range<usize>,
        first: Duration,
        between: Duration,
        mut look: impl FnMut() -> T + Send + 'static,
    ) -> Self {
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || {
            places::keep_to(&places);
            let (mut looks, mut wait) = (Vec::new(), first);
            while stopped.recv_timeout(wait).is_err() {
                looks.push(look());
                wait = between;
            }
            looks.push(look());
            looks
        });
        Self { stop, thread }
    }

    /// What it saw.
    pub fn finish(self) -> Vec<T> {
        // Gone only if the thread has ended.
        let _ = self.stop.send(());
        self.thread.join().unwrap_or_default()
    }
}
