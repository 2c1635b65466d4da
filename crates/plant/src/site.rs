//! Threads that many servers have in common, so that a thousand of them are a few threads: each server is one loop, which
//! takes its turns on one of these threads. Helpers and the thread that writes values are shared as well.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use mio::{Poll, Registry, Token, Waker};

use crate::event_loop::EventLoop;
use crate::pool::Pool;
use crate::update::SharedThread;

const WAKER: Token = Token(usize::MAX - 1);
const ALARM: Token = Token(usize::MAX - 2);

/// Threads for servers; cheap to copy. They end with the last server, and the last copy.
#[derive(Clone)]
pub struct Site(Arc<Threads>);

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Site")
            .field("threads", &self.0.inboxes.len())
            .finish_non_exhaustive()
    }
}

struct Threads {
    inboxes: Vec<Inbox>,
    turn: AtomicUsize,
    pool: Pool,
    updates: SharedThread,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The way of a loop to a thread.
struct Inbox {
    arrivals: Sender<Arrival>,
    waker: Waker,
    registry: Registry,
}

/// What comes to a thread.
enum Arrival {
    /// A loop with its number, and what is dropped with it.
    Loop(usize, Box<EventLoop>, Sender<()>),
    /// No more work.
    End,
}

/// A loop's place at a thread.
pub(crate) struct Place {
    /// Its threads are there as long as it is.
    _site: Site,
    gone: Mutex<Receiver<()>>,
}

impl Place {
    /// Until the loop has ended.
    pub fn wait(&self) {
        let gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        // Nothing is ever sent: the other end is dropped with the loop.
        let _ = gone.recv();
    }
}

impl Site {
    /// Starts so many threads for loops (0 for half of the processors), and helpers; with `asks` those that wait for
    /// authorities to answer, too.
    #[cfg(unix)]
    pub fn start(threads: usize, asks: bool) -> io::Result<Self> {
        let all = std::thread::available_parallelism().map_or(1, |all| all.get());
        let threads = match threads {
            0 => all / 2,
            threads => threads,
        };
        let threads = threads.clamp(1, 254);
        let helpers = all.saturating_sub(threads).clamp(1, crate::pool::HELPERS);
        let (pool, helpers) = Pool::start(helpers, asks, || ())?;
        let mut running = Threads {
            inboxes: Vec::new(),
            turn: AtomicUsize::new(0),
            pool,
            updates: SharedThread::start("site-updates")?,
            threads: Mutex::new(helpers),
        };
        for n in 0..threads {
            let poll = Poll::new()?;
            let waker = Waker::new(poll.registry(), WAKER)?;
            let registry = poll.registry().try_clone()?;
            let (arrivals, arrived) = channel();
            let mut resources = resources::Rows::new(poll, arrived)?;
            let thread = std::thread::Builder::new().name(format!("site-{n}"));
            let thread = thread.spawn(move || resources.run())?;
            running.inboxes.push(Inbox {
                arrivals,
                waker,
                registry,
            });
            running.list().push(thread);
        }
        Ok(Self(Arc::new(running)))
    }

    /// Polls of polls are a thing of Unix.
    #[cfg(not(unix))]
    pub fn start(_: usize, _: bool) -> io::Result<Self> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "many servers on a few threads need Linux or another Unix; `uaperf serve --count` has threads for each",
        ))
    }

    /// Helpers of all servers.
    pub(crate) fn pool(&self) -> &Pool {
        &self.0.pool
    }

    /// Who writes their values.
    pub(crate) fn updates(&self) -> &SharedThread {
        &self.0.updates
    }

    /// Gives a loop to one of the threads.
    pub(crate) fn host(&self, core: EventLoop) -> io::Result<Place> {
        let (here, gone) = channel();
        let id = self.0.turn.fetch_add(1, Ordering::Relaxed);
        let inbox = self.0.inboxes.get(id % self.0.inboxes.len().max(1));
        let inbox = inbox.ok_or(io::ErrorKind::NotFound)?;
        // What happens before it arrives is seen in the turn that it has then.
        watch(&core, &inbox.registry, Token(id))?;
        // The thread is there as long as this is.
        let _ = inbox.arrivals.send(Arrival::Loop(id, Box::new(core), here));
        let _ = inbox.waker.wake();
        Ok(Place {
            _site: self.clone(),
            gone: Mutex::new(gone),
        })
    }
}

#[cfg(unix)]
fn watch(core: &EventLoop, registry: &Registry, token: Token) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let mut source = mio::unix::SourceFd(&core.as_raw_fd());
    registry.register(&mut source, token, mio::Interest::READABLE)
}

#[cfg(not(unix))]
fn watch(_: &EventLoop, _: &Registry, _: Token) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Threads {
    fn list(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        for inbox in &self.inboxes {
            let _ = inbox.arrivals.send(Arrival::End);
            let _ = inbox.waker.wake();
        }
        self.pool.close();
        for thread in self.list().drain(..) {
            // One that panicked has nothing left to stop.
            let _ = thread.join();
        }
    }
}

#[cfg(unix)]
mod resources {
    //! A thread with its loops: the polls of all of them stand in one poll, their next moments in one order.

    use std::collections::{BTreeSet, HashMap};
    use std::io::{self, ErrorKind};
    use std::os::fd::AsRawFd;
    use std::sync::mpsc::{Receiver, Sender};
    use std::time::Duration;

    use mio::unix::SourceFd;
    use mio::{Events, Poll, Token};
    use wire::time::Instant;

    use super::{ALARM, Arrival, WAKER};
    use crate::clock::Clock;
    use crate::event_loop::{Alarm, EventLoop, Next, ThreadResources};

    struct Row {
        core: Box<EventLoop>,
        /// When it has its next turn, if nothing happens.
        at: Option<Instant>,
        _here: Sender<()>,
    }

    pub struct Rows {
        poll: Poll,
        alarm: Alarm,
        clock: Clock,
        arrived: Receiver<Arrival>,
        rows: HashMap<usize, Row>,
        due: BTreeSet<(Instant, usize)>,
        resources: ThreadResources,
    }

    impl Rows {
        pub fn new(poll: Poll, arrived: Receiver<Arrival>) -> io::Result<Self> {
            Ok(Self {
                alarm: Alarm::new(poll.registry(), ALARM)?,
                poll,
                clock: Clock::start(),
                arrived,
                rows: HashMap::new(),
                due: BTreeSet::new(),
                resources: ThreadResources::default(),
            })
        }

        /// Until there is no more work.
        pub fn run(&mut self) {
            let mut events = Events::with_capacity(1024);
            let mut turns = Vec::new();
            loop {
                let timeout = self.sleep();
                match self.poll.poll(&mut events, timeout) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    // Without the poll nothing can be served.
                    Err(_) => return,
                }
                for event in &events {
                    match event.token() {
                        ALARM => self.alarm.rang(),
                        WAKER => {
                            if self.take_in(&mut turns) {
                                return;
                            }
                        }
                        Token(id) => turns.push(id),
                    }
                }
                let now = self.clock.now().mono;
                while let Some(&(at, id)) = self.due.first()
                    && at <= now
                {
                    self.due.pop_first();
                    turns.push(id);
                }
                for id in turns.drain(..) {
                    self.turn(id);
                }
            }
        }

        fn sleep(&mut self) -> Option<Duration> {
            let &(at, _) = self.due.first()?;
            match self.alarm.is_set_to(at) {
                true => None,
                false => self.alarm.until(at, self.clock.now().mono),
            }
        }

        /// Takes in who arrives. Whether all is over.
        fn take_in(&mut self, turns: &mut Vec<usize>) -> bool {
            while let Ok(arrival) = self.arrived.try_recv() {
                let Arrival::Loop(id, core, here) = arrival else {
                    return true;
                };
                let row = Row {
                    core,
                    at: None,
                    _here: here,
                };
                self.rows.insert(id, row);
                turns.push(id);
            }
            false
        }

        fn turn(&mut self, id: usize) {
            let Some(row) = self.rows.get_mut(&id) else {
                return;
            };
            if let Some(at) = row.at.take() {
                self.due.remove(&(at, id));
            }
            match row.core.turn_at(&mut self.resources) {
                Next::In(time) => {
                    let at = self.clock.now().mono + time;
                    row.at = Some(at);
                    self.due.insert((at, id));
                }
                Next::Idle => {}
                Next::Over => {
                    let mut source = SourceFd(&row.core.as_raw_fd());
                    // It is closed next.
                    let _ = self.poll.registry().deregister(&mut source);
                    self.rows.remove(&id);
                }
            }
        }
    }
}
