//! What came of another host: samples, and gaps where none came.

use std::time::{Duration, Instant};

use observe::{Figure, NotAvailable, Totals};
use plan::unit::duration::nanos;
use record::average::median_ns;

/// What had been spent up to a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// When, on our clock.
    pub at: Instant,
    /// How far that may be off.
    pub error: Duration,
    /// When, on the clock of who found it, where that is told.
    pub clock_ns: Option<u64>,
    /// It.
    pub totals: Totals,
    /// What looking took there since it began, where that is told.
    pub cost_ns: Option<u64>,
}

/// Something came, or failed to.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A sample.
    Point(Box<Point>),
    /// None, for this reason.
    Gap {
        /// When it should have come.
        at: Instant,
        /// The reason.
        why: String,
    },
}

impl Event {
    fn at(&self) -> Instant {
        match self {
            Self::Point(point) => point.at,
            Self::Gap { at, .. } => *at,
        }
    }
}

/// Time without samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    /// The last sample before it; the first failure, where there was none.
    pub from: Instant,
    /// The next sample behind it; the last failure, where there was none.
    pub to: Instant,
    /// When samples failed to come.
    pub failed: Vec<Instant>,
    /// Why the last one did.
    pub why: String,
    /// Whether a sample came behind it.
    ended: bool,
}

/// More samples are thinned out: an hour of one a second, and ten minutes of the shortest interval.
const MOST: usize = 6000;
/// More gaps are one gap: who answers now and then only.
const GAPS: usize = 100;

/// Samples and gaps in the order in which they came.
#[derive(Debug, Default)]
pub struct SampleCourse {
    points: Vec<Point>,
    gaps: Vec<Gap>,
    /// What was not taken yet, for who watches.
    fresh: Vec<Event>,
    /// Looks in all that brought something.
    looks: u64,
    /// Looks that brought what was there before: the exporter looks less often than it is asked.
    stale: u64,
}

impl SampleCourse {
    /// One more.
    pub fn push(&mut self, event: Event) {
        match &event {
            Event::Point(point) => {
                self.looks += 1;
                let last = self.points.last();
                if last.is_some_and(|it| it.clock_ns.is_some() && it.clock_ns == point.clock_ns) {
                    self.stale += 1;
                    return;
                }
                if let Some(gap) = self.gaps.last_mut().filter(|it| !it.ended) {
                    gap.to = point.at;
                    gap.ended = true;
                }
                self.points.push((**point).clone());
                self.thin();
            }
            Event::Gap { at, why } => self.fail(*at, why),
        }
        // Nobody takes them while a load runs: the last ones are enough.
        if self.fresh.len() >= MOST {
            self.fresh.clear();
        }
        self.fresh.push(event);
    }

    fn fail(&mut self, at: Instant, why: &str) {
        let full = self.gaps.len() >= GAPS;
        match self.gaps.last_mut() {
            Some(gap) if !gap.ended || full => {
                gap.to = at;
                gap.why = why.to_owned();
                gap.ended = false;
                if gap.failed.len() < MOST {
                    gap.failed.push(at);
                }
            }
            _ => self.gaps.push(Gap {
                from: self.points.last().map_or(at, |it| it.at),
                to: at,
                failed: vec![at],
                why: why.to_owned(),
                ended: false,
            }),
        }
    }

    /// Each second one goes, but for the first and the last.
    fn thin(&mut self) {
        if self.points.len() < MOST {
            return;
        }
        let last = self.points.len() - 1;
        let mut n = 0;
        self.points.retain(|_| {
            n += 1;
            n % 2 == 1 || n > last
        });
    }

    /// What came since it was taken last.
    pub fn take(&mut self) -> Vec<Event> {
        let mut events = std::mem::take(&mut self.fresh);
        events.sort_by_key(Event::at);
        events
    }

    /// The samples.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The gaps.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// Looks that brought something, and how many of them what was there before.
    pub fn looks(&self) -> (u64, u64) {
        (self.looks, self.stale)
    }

    /// Each sample with the one before it.
    pub fn steps(&self) -> impl Iterator<Item = SamplePair<'_>> {
        self.points.windows(2).filter_map(|two| match two {
            [from, to] => Some(SamplePair { from, to }),
            _ => None,
        })
    }

    /// The median of the times between samples.
    pub fn resolution(&self) -> Option<Duration> {
        let lengths = self.steps().map(|it| nanos(it.length()));
        median_ns(lengths).map(Duration::from_nanos)
    }

    /// How much of a window lies between samples of one life, in seconds.
    pub fn covered(&self, window: (Instant, Instant)) -> f64 {
        let steps = self.steps().filter(|it| !it.is_restart());
        steps.map(|it| it.within(window)).sum()
    }

    /// What a counter rose in a window: between two samples by as much in each moment.
    pub fn spent(
        &self,
        window: (Instant, Instant),
        of: impl Fn(&Totals) -> Figure<u64>,
    ) -> Figure<u64> {
        let length = seconds(window.0, window.1);
        let covered = self.covered(window);
        if covered < 0.99 * length - 0.05 {
            let restarted = |it: SamplePair<'_>| it.is_restart() && it.within(window) > 0.0;
            // Counters go on over a gap that has ended: such a one is not the reason.
            let why = match self.gaps.last().filter(|it| !it.ended) {
                _ if self.steps().any(restarted) => "it was started again",
                Some(gap) => gap.why.as_str(),
                None => "the samples end",
            };
            return Err(NotAvailable::because(format!(
                "samples cover {covered:.1} s of {length:.1} s: {why}"
            )));
        }
        let mut sum = 0.0;
        for step in self.steps().filter(|it| !it.is_restart()) {
            let within = step.within(window);
            if within > 0.0 {
                sum += step.rate(&of)? * within;
            }
        }
        Ok(sum.round() as u64)
    }
}

/// Two samples that follow each other.
#[derive(Debug, Clone, Copy)]
pub struct SamplePair<'a> {
    /// The earlier one.
    pub from: &'a Point,
    /// The later one.
    pub to: &'a Point,
}

impl SamplePair<'_> {
    /// Whether what is observed was started again between them.
    pub fn is_restart(&self) -> bool {
        let cpu = |it: &Point| it.totals.cpu_ns.clone().ok();
        cpu(self.to) < cpu(self.from)
    }

    /// The time between them, by the clock of who found them where it is told.
    pub fn length(&self) -> Duration {
        let clocks = self.from.clock_ns.zip(self.to.clock_ns);
        let theirs = clocks.and_then(|(from, to)| to.checked_sub(from));
        let theirs = theirs.filter(|it| *it > 0).map(Duration::from_nanos);
        theirs.unwrap_or_else(|| self.to.at.saturating_duration_since(self.from.at))
    }

    /// What a counter rose between them.
    pub fn more(&self, of: impl Fn(&Totals) -> Figure<u64>) -> Figure<u64> {
        let (from, to) = (of(&self.from.totals)?, of(&self.to.totals)?);
        to.checked_sub(from)
            .ok_or_else(|| NotAvailable::because("its counters began again: it was started again"))
    }

    /// The same in a second.
    pub fn rate(&self, of: impl Fn(&Totals) -> Figure<u64>) -> Figure<f64> {
        Ok(self.more(of)? as f64 / self.length().as_secs_f64().max(1e-9))
    }

    /// So many seconds of it lie in a window.
    pub fn within(&self, (from, to): (Instant, Instant)) -> f64 {
        seconds(self.from.at.max(from), self.to.at.min(to))
    }
}

fn seconds(from: Instant, to: Instant) -> f64 {
    to.saturating_duration_since(from).as_secs_f64()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn point(at: Instant, cpu_ms: u64, clock_ms: Option<u64>) -> Event {
        let mut totals = Totals::unknown(&NotAvailable::because("none"));
        totals.cpu_ns = Ok(cpu_ms * 1_000_000);
        Event::Point(Box::new(Point {
            at,
            error: Duration::ZERO,
            clock_ns: clock_ms.map(|it| it * 1_000_000),
            totals,
            cost_ns: None,
        }))
    }

    fn cpu(totals: &Totals) -> Figure<u64> {
        totals.cpu_ns.clone()
    }

    #[test]
    fn a_window_between_samples_has_its_part_of_what_lies_between_them() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let mut course = SampleCourse::default();
        for (ms, cpu_ms) in [(0, 1000), (1000, 1100), (2000, 1500), (3000, 1500)] {
            course.push(point(at(ms), cpu_ms, None));
        }
        // Half of the first second, and half of the second one.
        let spent = course.spent((at(500), at(1500)), cpu).unwrap();
        assert_eq!(spent, 250_000_000);
        assert_eq!(course.resolution(), Some(Duration::from_secs(1)));
        let late = course.spent((at(2000), at(5000)), cpu).unwrap_err();
        assert!(late.reason().contains("1.0 s of 3.0 s"), "{late}");
    }

    #[test]
    fn who_looks_less_often_than_it_is_asked_has_fewer_samples() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let mut course = SampleCourse::default();
        for n in 0..20 {
            // It looks every five seconds, and is asked each second.
            course.push(point(at(n * 1000), n / 5 * 500, Some(7000 + n / 5 * 5000)));
        }
        assert_eq!((course.points().len(), course.looks()), (4, (20, 16)));
        assert_eq!(course.resolution(), Some(Duration::from_secs(5)));
        let rates: Vec<f64> = course.steps().map(|it| it.rate(cpu).unwrap()).collect();
        assert_eq!(rates, [1e8; 3]);
    }

    #[test]
    fn a_gap_is_named_and_what_was_started_again_is_not_what_it_was_before() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let mut course = SampleCourse::default();
        course.push(point(at(0), 1000, None));
        for ms in [1000, 2000] {
            let why = "no answer in time".to_owned();
            course.push(Event::Gap { at: at(ms), why });
        }
        course.push(point(at(3000), 1300, None));
        course.push(point(at(4000), 50, None));
        course.push(point(at(5000), 150, None));
        let [gap] = course.gaps() else { unreachable!() };
        assert_eq!((gap.from, gap.to, gap.failed.len()), (at(0), at(3000), 2));
        // Counters go on over a gap; not over a new start.
        assert_eq!(course.spent((at(0), at(3000)), cpu).unwrap(), 300_000_000);
        let again = course.spent((at(0), at(5000)), cpu).unwrap_err();
        assert!(again.reason().contains("started again"), "{again}");
        assert_eq!(course.covered((at(0), at(5000))), 4.0);
        assert_eq!(course.take().len(), 6);
        assert_eq!(course.take().len(), 0);
    }

    #[test]
    fn a_long_course_keeps_its_ends() {
        let began = Instant::now();
        let mut course = SampleCourse::default();
        for n in 0..20_000 {
            course.push(point(began + Duration::from_secs(n), n, None));
        }
        assert!(course.points().len() < MOST);
        let ends = [course.points().first(), course.points().last()];
        let ends = ends.map(|it| it.unwrap().at.duration_since(began).as_secs());
        assert_eq!(ends, [0, 19_999]);
    }
}
