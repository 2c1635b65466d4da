//! What this host can do, before any server is asked: the cost of its clocks, how exactly it wakes
//! up, what raw sockets take, what cryptography costs.
//!
//! Every figure is the median of several short slices, with the lowest and the highest beside it.

mod clock;
mod crypto;
mod generator;
mod pacing;
mod sockets;

use std::io;
use std::time::{Duration, Instant};

use record::average::median;
use serde::{Deserialize, Serialize};

pub use clock::{Clocks, clocks};
pub use crypto::{Chunk, KeyOperations, PolicyCost, policy};
pub use generator::{Generated, generator};
pub use pacing::{Pacing, pacing};
pub use sockets::{Raw, raw};

/// What a host can do: kept, and held beside later results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// When it was measured.
    pub taken: record::Timestamp,
    /// On which machine, with which build.
    pub machine: record::run::Fingerprint,
    /// Its clocks.
    pub clocks: Clocks,
    /// How exactly threads are on time.
    pub pacing: Vec<Pacing>,
    /// Sockets over the loopback.
    pub raw: Raw,
    /// The generator, with one thread, against the built-in server.
    pub generator: Vec<Generated>,
    /// Security.
    pub policies: Vec<PolicyCost>,
}

impl Calibration {
    /// The most values per second that one thread asked for with as many of them in a request, or
    /// fewer.
    pub fn values_per_s(&self, batch: u32) -> Option<f64> {
        let fitting = self.generator.iter().filter(|it| it.batch <= batch.max(1));
        let values = fitting.map(|it| it.rate_per_s.median * f64::from(it.batch));
        values.reduce(f64::max)
    }

    /// Whether it speaks of this machine and build.
    pub fn is_of(&self, machine: &record::run::Fingerprint) -> bool {
        let of = |it: &record::run::Fingerprint| {
            (
                it.host.clone(),
                it.cpu.clone(),
                it.cores.clone(),
                it.build.version.clone(),
                it.build.profile.clone(),
            )
        };
        of(&self.machine) == of(machine)
    }
}

/// A figure: the median of several slices.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Half of the slices were below.
    pub median: f64,
    /// The lowest slice.
    pub low: f64,
    /// The highest slice.
    pub high: f64,
}

/// Slices that a figure is the median of.
const SLICES: usize = 7;

impl Measured {
    /// Of slices; none if there are none.
    pub fn of(slices: impl IntoIterator<Item = f64>) -> Option<Self> {
        let slices: Vec<f64> = slices.into_iter().collect();
        let each = || slices.iter().copied();
        Some(Self {
            median: median(&slices)?,
            low: each().reduce(f64::min)?,
            high: each().reduce(f64::max)?,
        })
    }

    /// Nanoseconds that an action takes, called over and over for `budget` in all.
    fn time<E>(budget: Duration, mut action: impl FnMut() -> Result<(), E>) -> Result<Self, E> {
        let slice = budget / SLICES as u32;
        let mut slices = Vec::with_capacity(SLICES);
        // As many calls as keep the clock out of the figure.
        let mut calls = 1u32;
        while slices.len() < SLICES {
            let start = Instant::now();
            for _ in 0..calls {
                action()?;
            }
            let took = start.elapsed();
            if took < slice / 2 && calls < u32::MAX / 2 {
                calls *= 2;
                continue;
            }
            slices.push(took.as_nanos() as f64 / f64::from(calls));
        }
        let (low, high) = (0.0, 0.0);
        Ok(Self::of(slices).unwrap_or(Self {
            median: 0.0,
            low,
            high,
        }))
    }
}

/// Why something could not be calibrated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrateError {
    /// A socket, a timer or a thread.
    #[error("the system refused: {0}")]
    System(#[from] io::Error),
    /// A key.
    #[error("no key could be made: {0}")]
    Key(String),
    /// An operation with a key.
    #[error("a key could not be used: {0}")]
    Use(#[from] wire::policy::KeyUseError),
    /// An encryption.
    #[error("a chunk could not be encrypted: {0}")]
    Cipher(#[from] wire::policy::CipherError),
    /// The server that was to be loaded.
    #[error("the server could not be loaded: {0}")]
    Server(String),
    /// A thread ended before its time.
    #[error("a thread ended too early")]
    Thread,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_stands_between_the_lowest_and_the_highest() {
        let of = |slices: &[f64]| Measured::of(slices.iter().copied());
        let three = of(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!((three.low, three.median, three.high), (1.0, 2.0, 3.0));
        assert_eq!(of(&[4.0, 1.0]).unwrap().median, 2.5);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn an_action_that_sleeps_takes_its_time() {
        let nap = Duration::from_micros(200);
        let measured = Measured::time::<io::Error>(Duration::from_millis(20), || {
            std::thread::sleep(nap);
            Ok(())
        });
        assert!(measured.unwrap().low >= 200_000.0);
    }
}
