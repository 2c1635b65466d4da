//! Rates and times over the whole of a phase, in intervals that double when there are too many.

use record::{Closed, Histogram};

/// The first width of an interval.
const WIDTH_NS: u64 = 200_000_000;
/// More intervals than these are merged in pairs.
const MOST: usize = 400;

/// One interval.
#[derive(Debug, Clone, Default)]
struct Interval {
    /// Operations that succeeded.
    completed: u64,
    values: u64,
    /// Response times, or delays of notified values.
    times: Histogram,
    /// The median and the 99th percentile, once they were asked for.
    quantiles: Option<[Option<u64>; 2]>,
}

impl Interval {
    fn merge(&mut self, other: &Self) {
        self.completed += other.completed;
        self.values += other.values;
        self.times.merge(&other.times);
        self.quantiles = None;
    }
}

/// A phase in intervals.
#[derive(Debug, Clone)]
pub struct LiveCourse {
    width_ns: u64,
    intervals: Vec<Interval>,
    /// Whether it is delays that are shown.
    notified: bool,
}

/// What an interval says: when its middle was, in seconds, and what.
pub type Line = Vec<(f64, f64)>;

/// What is drawn of a course.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lines {
    /// Operations or values per second.
    pub rate: Line,
    /// Medians, in nanoseconds.
    pub p50: Line,
    /// 99th percentiles, in nanoseconds.
    pub p99: Line,
}

impl LiveCourse {
    /// Of requests, or of notifications.
    pub const fn new(notified: bool) -> Self {
        Self {
            width_ns: WIDTH_NS,
            intervals: Vec::new(),
            notified,
        }
    }

    /// An interval that a core closed.
    pub fn add(&mut self, closed: &Closed) {
        let times = match self.notified {
            true => &closed.delay,
            false => &closed.response,
        };
        let interval = self.of(closed.start_ns);
        interval.completed += closed.succeeded();
        interval.times.merge(times);
        interval.quantiles = None;
    }

    /// So many values were notified by then.
    pub fn hear(&mut self, at_ns: u64, values: u64) {
        self.of(at_ns).values += values;
    }

    fn of(&mut self, at_ns: u64) -> &mut Interval {
        while at_ns / self.width_ns >= MOST as u64 {
            let pairs = self.intervals.chunks(2).map(|pair| {
                let mut sum = pair.first().cloned().unwrap_or_default();
                if let Some(second) = pair.get(1) {
                    sum.merge(second);
                }
                sum
            });
            self.intervals = pairs.collect();
            self.width_ns *= 2;
        }
        let place = (at_ns / self.width_ns) as usize;
        if place >= self.intervals.len() {
            self.intervals.resize_with(place + 1, Interval::default);
        }
        &mut self.intervals[place]
    }

    /// What is known of all that was over by then.
    pub fn lines(&mut self, until_ns: u64) -> Lines {
        let mut lines = Lines::default();
        let seconds = self.width_ns as f64 / 1e9;
        let over = (until_ns / self.width_ns) as usize;
        for (n, interval) in self.intervals.iter_mut().enumerate().take(over) {
            let at = (n as f64 + 0.5) * seconds;
            let count = match self.notified {
                true => interval.values,
                false => interval.completed,
            };
            lines.rate.push((at, count as f64 / seconds));
            let times = &interval.times;
            let quantiles = interval
                .quantiles
                .get_or_insert_with(|| [0.5, 0.99].map(|q| times.quantile(q)));
            let [p50, p99] = quantiles.map(|ns| ns.map(|ns| ns as f64));
            lines.p50.extend(p50.map(|ns| (at, ns)));
            lines.p99.extend(p99.map(|ns| (at, ns)));
        }
        // Nothing was told of the rest: nothing happened.
        for n in self.intervals.len()..over.min(MOST) {
            lines.rate.push(((n as f64 + 0.5) * seconds, 0.0));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(at_ms: u64, completed: u64, response_ns: u64) -> Closed {
        let mut closed = Closed {
            start_ns: at_ms * 1_000_000,
            width_ns: 100_000_000,
            response: Histogram::of(response_ns, completed),
            ..Closed::default()
        };
        closed.counters.completed = completed;
        closed
    }

    #[test]
    fn a_rate_is_what_an_interval_completed_over_its_width() {
        let mut course = LiveCourse::new(false);
        for tenth in 0..10 {
            course.add(&tick(tenth * 100, 50, 1000));
        }
        let lines = course.lines(1_000_000_000);
        assert_eq!(lines.rate.len(), 5);
        assert!(lines.rate.iter().all(|(_, rate)| *rate == 500.0));
        // The one that is not over yet is not drawn.
        assert_eq!(course.lines(999_000_000).rate.len(), 4);
    }

    #[test]
    fn an_hour_has_no_more_intervals_than_a_minute_and_loses_nothing() {
        let mut course = LiveCourse::new(false);
        for second in 0..3600 {
            course.add(&tick(second * 1000, 7, 1000));
        }
        // All of them are over by then.
        let lines = course.lines(course.width_ns * MOST as u64);
        assert!(lines.rate.len() <= MOST);
        let width = course.width_ns as f64 / 1e9;
        let all: f64 = lines.rate.iter().map(|(_, rate)| rate * width).sum();
        assert_eq!(all.round() as u64, 7 * 3600);
    }

    #[test]
    fn while_nothing_happens_the_rate_is_drawn_as_zero() {
        let mut course = LiveCourse::new(false);
        course.add(&tick(0, 10, 1000));
        let lines = course.lines(1_000_000_000);
        assert_eq!(lines.rate.last().map(|it| it.1), Some(0.0));
        assert_eq!(lines.rate.len(), 5);
    }
}
