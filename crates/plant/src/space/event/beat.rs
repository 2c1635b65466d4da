//! When events are due: evenly, or many at once.

use std::time::Duration;

use plan::unit::Rate;

/// The times of a group's events, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beat {
    /// One after the other.
    Even(Rate),
    /// So many at the end of each period.
    Burst {
        /// How many.
        count: u64,
        /// The period.
        period: Duration,
    },
}

impl Beat {
    fn parts(self) -> (u128, u128) {
        match self {
            Self::Even(rate) => (rate.count().into(), rate.per_ns().into()),
            Self::Burst { count, period } => (count.into(), period.as_nanos().max(1)),
        }
    }

    /// How many there were after so many nanoseconds.
    pub fn count(self, nanos: u64) -> u64 {
        let (count, per) = self.parts();
        let n = match self {
            Self::Even(_) => u128::from(nanos) * count / per,
            Self::Burst { .. } => u128::from(nanos) / per * count,
        };
        u64::try_from(n).unwrap_or(u64::MAX)
    }

    /// When that one is due, in nanoseconds.
    pub fn at(self, n: u64) -> u64 {
        let (count, per) = self.parts();
        let n = u128::from(n);
        let nanos = match self {
            Self::Even(_) => (n * per).div_ceil(count.max(1)),
            Self::Burst { .. } => n.div_ceil(count.max(1)) * per,
        };
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }

    /// How many a second, on average.
    pub fn per_second(self) -> f64 {
        let (count, per) = self.parts();
        count as f64 * 1e9 / per as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_events_and_the_time_of_each_tell_the_same() {
        let beats = [
            Beat::Even("5000/s".parse().unwrap()),
            Beat::Even("7/m".parse().unwrap()),
            Beat::Burst {
                count: 500,
                period: Duration::from_millis(250),
            },
        ];
        for beat in beats {
            for n in [1, 2, 499, 500, 501, 123_456] {
                let at = beat.at(n);
                assert!(beat.count(at) >= n, "{beat:?} {n}");
                assert!(beat.count(at - 1) < n, "{beat:?} {n}");
            }
            assert_eq!(beat.count(0), 0);
        }
        assert_eq!(beats[0].count(1_000_000_000), 5000);
        assert_eq!(beats[2].count(1_000_000_000), 2000);
        assert_eq!(beats[2].at(500), beats[2].at(1));
    }
}
