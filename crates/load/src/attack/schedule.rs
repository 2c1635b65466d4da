//! When attacks fall due: at absolute times, whoever is late.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use plan::unit::duration::nanos;

/// A sleep that long at most, so that an end is seen.
const NAP: Duration = Duration::from_millis(20);
/// Who comes so late had not slept.
const LATE: Duration = Duration::from_millis(1);

/// Attacks one after the other at a rate, dealt out to whoever is free.
pub struct Schedule<'a> {
    from: Instant,
    until: Instant,
    rate_per_s: f64,
    most: u64,
    next: AtomicU64,
    held_up: AtomicU64,
    latest_ns: AtomicU64,
    ended: OnceLock<Instant>,
    goes_on: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> Schedule<'a> {
    /// From then on for so long, at most so many.
    pub fn new(
        (from, length): (Instant, Duration),
        rate_per_s: f64,
        most: u64,
        goes_on: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        Self {
            from,
            until: from + length,
            rate_per_s,
            most,
            next: AtomicU64::new(0),
            held_up: AtomicU64::new(0),
            latest_ns: AtomicU64::new(0),
            ended: OnceLock::new(),
            goes_on,
        }
    }

    fn due(&self, n: u64) -> Instant {
        self.from + Duration::from_secs_f64(n as f64 / self.rate_per_s)
    }

    /// How many there are to be.
    fn planned(&self) -> u64 {
        self.due_by(self.until)
    }

    /// How many fell due until the time was over, or the end came.
    pub fn fell_due(&self) -> u64 {
        self.due_by(
            self.ended
                .get()
                .map_or(self.until, |&it| it.min(self.until)),
        )
    }

    fn due_by(&self, end: Instant) -> u64 {
        let seconds = end.saturating_duration_since(self.from).as_secs_f64();
        ((seconds * self.rate_per_s).ceil() as u64).min(self.most)
    }

    /// Waits until the next one is due; none if there is none any more. `late` is kept by who waits, and zero at first: how
    /// much too late its turn before began.
    pub fn wait(&self, late: &mut Duration) -> Option<u64> {
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        if n >= self.planned() {
            return None;
        }
        let due = self.due(n);
        let came = Instant::now();
        loop {
            let now = Instant::now();
            if !(self.goes_on)() || now >= self.until {
                self.ended.get_or_init(|| now);
                return None;
            }
            let left = due.saturating_duration_since(now);
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(NAP));
        }
        // Whoever is free waits for its turn: who comes behind it was busy, and so were all others. Whoever began its turn
        // before too late may be behind for want of CPU, and as much is not held up.
        let behind = came.saturating_duration_since(due);
        if behind > LATE + *late {
            self.held_up.fetch_add(1, Ordering::Relaxed);
            *late = Duration::ZERO;
        } else if behind.is_zero() {
            *late = Instant::now().saturating_duration_since(due);
            self.latest_ns.fetch_max(nanos(*late), Ordering::Relaxed);
        } else {
            *late = behind.min(*late);
        }
        Some(n)
    }

    /// How many fell due while nobody was free.
    pub fn held_up(&self) -> u64 {
        self.held_up.load(Ordering::Relaxed)
    }

    /// The most that one came too late though somebody was free.
    pub fn latest_ns(&self) -> u64 {
        self.latest_ns.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(100);

    fn taken(schedule: &Schedule<'_>, mut each: impl FnMut()) -> u64 {
        let (mut taken, mut late) = (0, Duration::ZERO);
        while schedule.wait(&mut late).is_some() {
            taken += 1;
            each();
        }
        taken
    }

    #[test]
    fn as_many_fall_due_as_the_rate_says_whatever_each_takes() {
        let on = || true;
        let schedule = Schedule::new((Instant::now(), SOON), 200.0, 1_000, &on);
        // Each takes a fifth of its time: they come when they are due all the same.
        let taken = taken(&schedule, || {
            std::thread::sleep(Duration::from_millis(1));
        });
        assert!((18..=20).contains(&taken), "{taken}");
        assert_eq!(schedule.fell_due(), 20);
    }

    #[test]
    fn nobody_makes_more_than_were_allowed_and_none_before_its_time() {
        let (on, began) = (|| true, Instant::now());
        let schedule = Schedule::new((began + SOON, SOON), 1_000.0, 3, &on);
        let mut first = None;
        let taken = taken(&schedule, || {
            first.get_or_insert_with(Instant::now);
        });
        assert_eq!(taken, 3);
        assert!(first.is_some_and(|it| it >= began + SOON));
    }

    #[test]
    fn who_is_held_up_is_counted_and_an_end_ends_it() {
        let on = || true;
        let schedule = Schedule::new((Instant::now(), SOON), 1_000.0, 1_000, &on);
        let slow = taken(&schedule, || {
            std::thread::sleep(Duration::from_millis(10));
        });
        assert!(slow <= 11, "{slow}");
        assert!(schedule.held_up() >= slow / 2, "{}", schedule.held_up());
        let off = || false;
        let schedule = Schedule::new((Instant::now(), SOON), 1_000.0, 1_000, &off);
        assert_eq!(taken(&schedule, || {}), 0);
    }

    #[test]
    fn what_would_have_fallen_due_after_an_end_did_not() {
        let began = Instant::now();
        let on = || began.elapsed() < SOON;
        let schedule = Schedule::new((began, SOON * 100), 100.0, 1_000, &on);
        let taken = taken(&schedule, || {});
        let due = schedule.fell_due();
        // It is looked for an end each few hundredths of a second at least.
        assert!((taken..taken + 20).contains(&due), "{taken} of {due}");
    }

    #[test]
    fn who_is_late_for_want_of_cpu_is_not_held_up() {
        let on = || true;
        let schedule = Schedule::new((Instant::now(), SOON * 10), 1_000.0, 3, &on);
        // As if the turn before had begun that late.
        let mut late = SOON * 9;
        std::thread::sleep(SOON / 2);
        assert_eq!(schedule.wait(&mut late), Some(0));
        assert_eq!(schedule.held_up(), 0);
        // That excuses the turn behind it, and no more.
        std::thread::sleep(SOON);
        assert_eq!(schedule.wait(&mut late), Some(1));
        assert_eq!(schedule.held_up(), 1);
    }
}
