//! An alarm by a thread that sleeps until it is time and sends a datagram then: for a system whose polls have no timer and
//! whose timeouts go by a clock of 16 ms. The standard library sleeps as exactly as such a system can.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::{Interest, Registry, Token};

#[derive(Debug)]
pub struct Alarm {
    origin: Instant,
    heard: mio::net::UdpSocket,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<TimerState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct TimerState {
    at: Option<Instant>,
    is_over: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, TimerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waiting for a change goes by the coarse clock: what is nearer than this is slept for.
const NEAR: Duration = Duration::from_millis(40);
/// Somebody may want to be woken earlier meanwhile: it is looked for that so often.
const LOOK: Duration = Duration::from_millis(1);

impl Alarm {
    pub fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        let heard = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let rings = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        // Each hears the other and nobody else.
        rings.connect(heard.local_addr()?)?;
        heard.connect(rings.local_addr()?)?;
        heard.set_nonblocking(true)?;
        let mut heard = mio::net::UdpSocket::from_std(heard);
        registry.register(&mut heard, token, Interest::READABLE)?;
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("alarm".to_owned());
        let thread = thread.spawn(move || run(&theirs, &rings))?;
        Ok(Self {
            origin: Instant::now(),
            heard,
            shared,
            thread: Some(thread),
        })
    }

    pub fn now(&self) -> Option<Duration> {
        Some(self.origin.elapsed())
    }

    pub fn set(&mut self, at: Duration) -> io::Result<()> {
        self.arm(self.origin + at)
    }

    pub fn set_after(&mut self, left: Duration) -> io::Result<()> {
        self.arm(Instant::now() + left)
    }

    fn arm(&mut self, at: Instant) -> io::Result<()> {
        self.shared.state().at = Some(at);
        self.shared.changed.notify_one();
        // A poll tells of a socket again once it was read until nothing is left.
        loop {
            match self.heard.recv(&mut [0; 8]) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.shared.state().is_over = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(shared: &Shared, rings: &UdpSocket) {
    let mut state = shared.state();
    while !state.is_over {
        let left = state
            .at
            .map(|at| at.saturating_duration_since(Instant::now()));
        state = match left {
            None => shared
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner),
            Some(Duration::ZERO) => {
                state.at = None;
                // Who has no room for it has one that was not read yet.
                let _ = rings.send(&[1]);
                state
            }
            Some(left) if left > NEAR => {
                let waited = shared.changed.wait_timeout(state, left - NEAR);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            Some(left) => {
                drop(state);
                std::thread::sleep(left.min(LOOK));
                shared.state()
            }
        };
    }
}
