//! What takes long is done beside the loops: RSA, and getting a lost session back.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mio::Waker;

use super::host::{Errand, Mail, Reopened};
use crate::transport::Socket;

/// Where an errand's result goes.
pub struct Letter {
    /// The loop's mail.
    pub post: Sender<Mail<Socket>>,
    /// Wakes it.
    pub waker: Arc<Waker>,
}

/// Opens one of the sessions again.
pub type Reopen = dyn Fn(usize) -> Result<Reopened<Socket>, String> + Send + Sync;

/// Threads that run errands. They end with the last of those who send them.
#[derive(Clone)]
pub struct Helpers {
    jobs: Sender<(Letter, Errand)>,
    reopens: Sender<(Letter, Errand)>,
}

/// Sessions that are opened again at the same time.
const REOPENERS: usize = 4;
/// Between two attempts at the same session.
const PAUSE: Duration = Duration::from_millis(100);

impl Helpers {
    /// Starts them.
    pub fn start(reopen: Arc<Reopen>) -> std::io::Result<Self> {
        let start = |name: &str, threads: usize| {
            let (sender, receiver) = channel::<(Letter, Errand)>();
            let receiver = Arc::new(Mutex::new(receiver));
            for _ in 0..threads {
                let (receiver, reopen) = (Arc::clone(&receiver), Arc::clone(&reopen));
                let thread = std::thread::Builder::new().name(name.to_owned());
                thread.spawn(move || run(&receiver, &*reopen))?;
            }
            Ok::<_, std::io::Error>(sender)
        };
        Ok(Self {
            jobs: start("load-keys", 1)?,
            reopens: start("load-reopen", REOPENERS)?,
        })
    }

    /// Has an errand run.
    pub fn submit(&self, letter: Letter, errand: Errand) {
        let to = match errand {
            Errand::Job(..) => &self.jobs,
            Errand::Reopen(..) => &self.reopens,
        };
        // The threads live as long as this.
        let _ = to.send((letter, errand));
    }
}

fn run(errands: &Mutex<Receiver<(Letter, Errand)>>, reopen: &Reopen) {
    loop {
        let next = match errands.lock() {
            Ok(errands) => errands.recv(),
            Err(_) => return,
        };
        let Ok((letter, errand)) = next else {
            return;
        };
        let mail = match errand {
            Errand::Job(seat, job) => Mail::Job(seat, job.run()),
            Errand::Reopen(seat, session) => {
                let opened = reopen(session);
                if opened.is_err() {
                    std::thread::sleep(PAUSE);
                }
                Mail::Reopened(seat, opened.map(Box::new))
            }
        };
        if letter.post.send(mail).is_ok() {
            // A loop that cannot be woken has ended.
            let _ = letter.waker.wake();
        }
    }
}
