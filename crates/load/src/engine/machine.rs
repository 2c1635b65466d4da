//! The machine that a loop runs on: a poll, a timer, the clocks, helper threads.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use mio::{Events, Poll, Token, Waker};
use wire::time::{Instant, Now};

use super::helper::{Helpers, ReplyAddress};
use super::host::{Host, Mail, ReadySocket, SlowTask};
use crate::transport::{Clock, ReadOutcome, Socket, Timer};

const WAKER: Token = Token(usize::MAX);
const TIMER: Token = Token(usize::MAX - 1);

/// What belongs to one thread of it.
pub struct Machine {
    clock: Clock,
    poll: Poll,
    events: Events,
    timer: Timer,
    helpers: Helpers,
    waker: Arc<Waker>,
    mail: Receiver<Mail<Socket>>,
    post: Sender<Mail<Socket>>,
}

impl Machine {
    /// A poll of its own.
    pub fn new(helpers: Helpers) -> io::Result<Self> {
        let poll = Poll::new()?;
        let clock = Clock::new();
        let (post, mail) = std::sync::mpsc::channel();
        Ok(Self {
            clock,
            timer: Timer::new(poll.registry(), TIMER, clock)?,
            waker: Arc::new(Waker::new(poll.registry(), WAKER)?),
            poll,
            events: Events::with_capacity(1024),
            helpers,
            mail,
            post,
        })
    }

    /// Has it come back when it waits for something to happen.
    pub fn waker(&self) -> Arc<Waker> {
        Arc::clone(&self.waker)
    }
}

impl Host for Machine {
    type Socket = Socket;

    #[inline]
    fn mono(&self) -> Instant {
        self.clock.mono()
    }

    #[inline]
    fn now(&self) -> Now {
        self.clock.now()
    }

    fn cpu(&self) -> Option<u64> {
        u64::try_from(platform::clock::thread_cpu()?.as_nanos()).ok()
    }

    fn sleep_until(&mut self, at: Instant) {
        // The last bit is spun: all loops begin at once.
        const LAST: Duration = Duration::from_millis(1);
        let left = at.since(self.clock.mono());
        std::thread::sleep(left.saturating_sub(LAST));
        while self.clock.mono() < at {
            std::hint::spin_loop();
        }
    }

    fn register(&mut self, seat: usize, socket: &mut Socket) -> io::Result<()> {
        socket.register(self.poll.registry(), Token(seat))
    }

    fn deregister(&mut self, socket: &mut Socket) {
        socket.deregister(self.poll.registry());
    }

    #[inline]
    fn read(&mut self, socket: &mut Socket, into: &mut [u8]) -> io::Result<ReadOutcome> {
        socket.read(into)
    }

    #[inline]
    fn write(&mut self, socket: &mut Socket, bytes: &[u8]) -> io::Result<usize> {
        socket.write(bytes)
    }

    fn low_water(&mut self, socket: &Socket, bytes: usize) -> bool {
        socket.low_water(bytes)
    }

    fn stamp(&mut self, socket: &mut Socket) -> bool {
        socket.stamp()
    }

    fn wait(
        &mut self,
        until: Option<Instant>,
        now: Instant,
        ready: &mut Vec<ReadySocket>,
    ) -> io::Result<bool> {
        let timeout = match until {
            None => Some(Duration::ZERO),
            Some(at) => self.timer.until(at, now),
        };
        match self.poll.poll(&mut self.events, timeout) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(false),
            Err(error) => return Err(error),
        }
        let mut mail = false;
        for event in &self.events {
            match event.token() {
                TIMER => {}
                WAKER => mail = true,
                Token(seat) => ready.push(ReadySocket {
                    seat,
                    readable: event.is_readable(),
                    writable: event.is_writable(),
                }),
            }
        }
        Ok(mail)
    }

    fn submit(&mut self, task: SlowTask) {
        let letter = ReplyAddress {
            post: self.post.clone(),
            waker: Arc::clone(&self.waker),
        };
        self.helpers.submit(letter, task);
    }

    fn mail(&mut self) -> Option<Mail<Socket>> {
        self.mail.try_recv().ok()
    }
}
