//! What takes long is done beside the loops: RSA, and getting a lost session back.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mio::Waker;

use super::host::{Mail, Reopened, SlowTask};
use crate::transport::Socket;

/// Where an errand's result goes.
pub struct ReplyAddress {
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
    jobs: Sender<(ReplyAddress, SlowTask)>,
    reopens: Sender<(ReplyAddress, SlowTask)>,
}

/// Sessions that are opened again at the same time.
const REOPENERS: usize = 4;
/// Between two attempts at the same session.
const PAUSE: Duration = Duration::from_millis(100);

impl Helpers {
    /// Starts them.
    pub fn start(reopen: Arc<Reopen>) -> std::io::Result<Self> {
        let start = |name: &str, threads: usize| {
            let (sender, receiver) = channel::<(ReplyAddress, SlowTask)>();
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
    pub fn submit(&self, reply_to: ReplyAddress, task: SlowTask) {
        let to = match task {
            SlowTask::Job(..) => &self.jobs,
            SlowTask::Reopen(..) => &self.reopens,
        };
        // The threads live as long as this.
        let _ = to.send((reply_to, task));
    }
}

fn run(tasks: &Mutex<Receiver<(ReplyAddress, SlowTask)>>, reopen: &Reopen) {
    loop {
        let next = match tasks.lock() {
            Ok(tasks) => tasks.recv(),
            Err(_) => return,
        };
        let Ok((reply_to, task)) = next else {
            return;
        };
        let mail = match task {
            SlowTask::Job(seat, job) => Mail::Job(seat, job.run()),
            SlowTask::Reopen(seat, session) => {
                let opened = reopen(session);
                if opened.is_err() {
                    std::thread::sleep(PAUSE);
                }
                Mail::Reopened(seat, opened.map(Box::new))
            }
        };
        if reply_to.post.send(mail).is_ok() {
            // A loop that cannot be woken has ended.
            let _ = reply_to.waker.wake();
        }
    }
}
