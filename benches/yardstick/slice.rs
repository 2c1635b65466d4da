//! What a subject is told to do, and what came of it.

use std::time::Duration;

/// What a subject does in its turn: calls, so many in flight, each for so many values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    pub in_flight: usize,
    pub batch: usize,
    /// Both sides poll without sleeping, where a side can.
    pub spin: bool,
}

impl Work {
    /// One call after the other.
    pub const ROUND_TRIP: Self = Self {
        in_flight: 1,
        batch: 1,
        spin: false,
    };
    pub const SPINNING: Self = Self {
        spin: true,
        ..Self::ROUND_TRIP
    };
    pub const PIPELINED: Self = Self {
        in_flight: 64,
        ..Self::ROUND_TRIP
    };
    pub const BATCHES: Self = Self {
        in_flight: 64,
        batch: 100,
        spin: false,
    };
}

/// What came of one turn.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Slice {
    pub calls: u64,
    /// Answered with anything but a good value for each node.
    pub bad: u64,
    pub elapsed: Duration,
    pub client_cpu: Option<Duration>,
    pub server_cpu: Option<Duration>,
    /// Median of the round trips, with one call in flight.
    pub p50: Option<Duration>,
    /// How often the client took bytes from its socket.
    pub reads: Option<u64>,
    /// 99th percentile of how late the generator sent, where it had a plan.
    pub late_p99: Option<Duration>,
}

impl Slice {
    /// Calls in a second.
    pub fn rate(&self) -> Option<f64> {
        let seconds = self.elapsed.as_secs_f64();
        (seconds > 0.0 && self.calls > 0).then(|| self.calls as f64 / seconds)
    }

    /// Microseconds of the client's CPU for a call.
    pub fn client_us(&self) -> Option<f64> {
        self.each(self.client_cpu?)
    }

    /// Microseconds of the server's CPU for a call.
    pub fn server_us(&self) -> Option<f64> {
        self.each(self.server_cpu?)
    }

    /// Microseconds of the median round trip.
    pub fn p50_us(&self) -> Option<f64> {
        Some(self.p50?.as_secs_f64() * 1e6)
    }

    /// Calls whose answers one read brought.
    pub fn calls_a_read(&self) -> Option<f64> {
        let reads = self.reads.filter(|reads| *reads > 0)?;
        Some(self.calls as f64 / reads as f64)
    }

    /// Microseconds of lateness that one in a hundred requests exceeded.
    pub fn late_us(&self) -> Option<f64> {
        Some(self.late_p99?.as_secs_f64() * 1e6)
    }

    fn each(&self, cpu: Duration) -> Option<f64> {
        (self.calls > 0).then(|| cpu.as_secs_f64() * 1e6 / self.calls as f64)
    }
}

/// Round trips of a turn, as far as they are remembered.
#[derive(Debug, Default)]
pub struct Trips(Vec<Duration>);

impl Trips {
    /// Enough for a second of the fastest, and 16 MB.
    const MOST: usize = 1_000_000;

    pub fn add(&mut self, trip: Duration) {
        if self.0.len() < Self::MOST {
            self.0.push(trip);
        }
    }

    pub fn median(mut self) -> Option<Duration> {
        self.0.sort_unstable();
        self.0.get(self.0.len() / 2).copied()
    }
}
