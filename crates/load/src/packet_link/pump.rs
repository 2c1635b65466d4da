//! The thread that carries packets from one TUN device to the other.

use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;
use link::{Outcome, Path, Spec};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use rustix::time::{ClockId, clock_gettime};
use tun_rs::SyncDevice;
use wire::time::Instant;

use super::{Account, Carried};
use crate::transport::{Clock, Timer};

const TIMER: Token = Token(0);
const NEAR: Token = Token(1);
const FAR: Token = Token(2);

/// How long the thread sleeps at most: so long may it take until it sees that it has to stop.
const NAP: Duration = Duration::from_millis(50);
/// So many packets are taken from one end before the other one, and what is due, has its turn.
const TURN: usize = 64;
/// More than any packet has.
const LARGEST: usize = 1 << 16;
/// What Ethernet puts in front of a packet, so that bytes on the line are those that the relay counts.
const ETHERNET: u64 = 14;
/// Bytes that may be under way in a direction, however long its queue and its delay are.
const MOST: u64 = 256 << 20;
/// A packet that is later than this is counted as if it were so late.
const LATEST: u64 = 60_000_000_000;

/// Both directions of a link at work.
pub struct Pump {
    pub spec: Spec,
    pub seed: u64,
    /// Neither device blocks.
    pub near: SyncDevice,
    pub far: SyncDevice,
    /// Is told how many packets are on their way.
    pub under_way: Arc<AtomicUsize>,
}

impl Pump {
    /// Carries packets until it is told to stop.
    pub fn run(self, stop: &AtomicBool) -> io::Result<Account> {
        let mut poll = Poll::new()?;
        let clock = Clock::new();
        let mut timer = Timer::new(poll.registry(), TIMER, clock)?;
        for (device, token) in [(&self.near, NEAR), (&self.far, FAR)] {
            let mut source = SourceFd(&device.as_raw_fd());
            poll.registry()
                .register(&mut source, token, Interest::READABLE)?;
        }
        let mut up = Lane::new(&self.near, &self.far, self.spec.up, self.seed, 0)?;
        let mut down = Lane::new(&self.far, &self.near, self.spec.down, self.seed, 1)?;
        let mut buffer = vec![0; LARGEST];
        let mut events = Events::with_capacity(8);
        let began = clock.mono();
        while !stop.load(Ordering::Relaxed) {
            up.take(&clock, &mut buffer)?;
            down.take(&clock, &mut buffer)?;
            up.hand_over(&clock);
            down.hand_over(&clock);
            let under_way = up.path.under_way() + down.path.under_way();
            self.under_way.store(under_way, Ordering::Relaxed);
            let now = clock.mono();
            let due = [up.path.deadline(), down.path.deadline()];
            let next = due.into_iter().flatten().min().map(Instant::from_nanos);
            let next = next.map_or(now + NAP, |at| at.min(now + NAP));
            let timeout = match up.readable || down.readable {
                true => Some(Duration::ZERO),
                false => timer.until(next, now),
            };
            match poll.poll(&mut events, timeout) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            for event in &events {
                match event.token() {
                    NEAR => up.readable = true,
                    FAR => down.readable = true,
                    _ => {}
                }
            }
        }
        let now = clock.mono();
        Ok(Account {
            elapsed_ns: now.nanos_since(began),
            cpu_ns: own_time(),
            up: up.carried(),
            down: down.carried(),
            led: None,
        })
    }
}

/// Processor time of the calling thread, in nanoseconds.
fn own_time() -> u64 {
    // No time is negative.
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or_default()
}

/// One direction.
struct Lane<'a> {
    from: &'a SyncDevice,
    to: &'a SyncDevice,
    path: Path<Rc<[u8]>>,
    /// The kernel said that there is something to read, and has not said since that there is nothing.
    readable: bool,
    /// Bytes that are under way.
    bytes: u64,
    carried: Carried,
    waited: u64,
    late: Histogram<u64>,
}

impl<'a> Lane<'a> {
    fn new(
        from: &'a SyncDevice,
        to: &'a SyncDevice,
        direction: link::Direction,
        seed: u64,
        which: u64,
    ) -> io::Result<Self> {
        Ok(Self {
            from,
            to,
            path: Path::new(direction, seed, which),
            readable: true,
            bytes: 0,
            carried: Carried::default(),
            waited: 0,
            late: Histogram::new_with_bounds(1, LATEST, 2).map_err(io::Error::other)?,
        })
    }

    /// Takes what the sending end has to send.
    fn take(&mut self, clock: &Clock, buffer: &mut [u8]) -> io::Result<()> {
        for _ in 0..TURN {
            if !self.readable {
                break;
            }
            match self.from.recv(buffer) {
                Ok(bytes) => {
                    let packet = buffer.get(..bytes).unwrap_or_default();
                    self.push(clock.mono().as_nanos(), packet);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.readable = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn push(&mut self, now: u64, packet: &[u8]) {
        let bytes = packet.len() as u64 + ETHERNET;
        let it = &mut self.carried;
        it.packets += 1;
        if self.bytes + bytes > MOST {
            it.full += 1;
            return;
        }
        match self.path.push(now, bytes, packet.into()) {
            Outcome::Sent { waits, .. } => {
                self.bytes += bytes;
                self.waited += waits;
                it.waited_max_ns = it.waited_max_ns.max(waits);
            }
            Outcome::Lost { .. } => it.lost += 1,
            Outcome::Full => it.full += 1,
        }
    }

    /// Hands over what has arrived by now.
    fn hand_over(&mut self, clock: &Clock) {
        for _ in 0..TURN {
            let now = clock.mono().as_nanos();
            let Some(at) = self.path.deadline().filter(|at| *at <= now) else {
                return;
            };
            let Some(packet) = self.path.poll(now) else {
                return;
            };
            self.bytes = self.bytes.saturating_sub(packet.len() as u64 + ETHERNET);
            // A packet that the receiving kernel has no memory for is lost, as on any network.
            if self.to.send(&packet).is_ok() {
                self.carried.arrived += 1;
                self.carried.bytes += packet.len() as u64;
                self.late.saturating_record(now - at);
            }
        }
    }

    fn carried(&self) -> Carried {
        let it = &self.carried;
        let sent = it.packets - it.lost - it.full;
        Carried {
            // Of no packets there is no mean, as their number says.
            waited_mean_ns: self.waited.checked_div(sent).unwrap_or_default(),
            late_mean_ns: self.late.mean() as u64,
            late_p99_ns: self.late.value_at_quantile(0.99),
            late_max_ns: self.late.max(),
            under_way: self.path.under_way() as u64,
            ..*it
        }
    }
}
