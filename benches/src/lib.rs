//! Comparing the cost of two ways to do the same, in one run.
//!
//! Absolute times say more about the machine and its mood than about the code. So subjects take
//! turns, in short slices, and what counts is the ratio within a turn.

pub mod child;

use std::time::{Duration, Instant};

/// One way to do the work.
pub struct Subject<'a> {
    /// What to call it.
    pub name: &'a str,
    /// Does the work once.
    pub work: Box<dyn FnMut() + 'a>,
}

impl<'a> Subject<'a> {
    /// Names a piece of work.
    pub fn new(name: &'a str, work: impl FnMut() + 'a) -> Self {
        Self {
            name,
            work: Box::new(work),
        }
    }
}

/// What a subject was seen to take.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    /// Which subject.
    pub name: String,
    /// Nanoseconds for one piece of work.
    pub nanos: Spread,
    /// Its time over that of the last subject, the yardstick, in the same turn.
    pub ratio: Spread,
}

/// A median between the tenth and the ninetieth percentile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Tenth percentile.
    pub low: f64,
    /// Median.
    pub median: f64,
    /// Ninetieth percentile.
    pub high: f64,
}

impl Spread {
    /// Of at least one value.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let at = |part: usize| values.get((values.len().saturating_sub(1)) * part / 100);
        Some(Self {
            low: *at(10)?,
            median: *at(50)?,
            high: *at(90)?,
        })
    }
}

/// How long a subject works before the next takes over: long against a clock's resolution,
/// short against changes of frequency and load.
const SLICE: Duration = Duration::from_micros(500);

/// Lets the subjects take turns, `turns` times, after a tenth of that for warming up.
pub fn compare(turns: usize, subjects: &mut [Subject<'_>]) -> Vec<Timing> {
    let repeats: Vec<u32> = subjects.iter_mut().map(repeats).collect();
    let mut nanos: Vec<Vec<f64>> = vec![Vec::with_capacity(turns); subjects.len()];
    for turn in 0..turns + turns / 10 {
        for ((subject, &repeats), nanos) in subjects.iter_mut().zip(&repeats).zip(&mut nanos) {
            let start = Instant::now();
            for _ in 0..repeats {
                (subject.work)();
            }
            let each = start.elapsed().as_secs_f64() * 1e9 / f64::from(repeats);
            if turn >= turns / 10 {
                nanos.push(each);
            }
        }
    }
    let yardstick = nanos.last().cloned().unwrap_or_default();
    subjects
        .iter()
        .zip(nanos)
        .filter_map(|(subject, nanos)| {
            let ratios = nanos.iter().zip(&yardstick).map(|(a, b)| a / b).collect();
            Some(Timing {
                name: subject.name.to_owned(),
                nanos: Spread::of(nanos)?,
                ratio: Spread::of(ratios)?,
            })
        })
        .collect()
}

/// How often the work fits into a slice.
fn repeats(subject: &mut Subject<'_>) -> u32 {
    let mut repeats = 1;
    loop {
        let start = Instant::now();
        for _ in 0..repeats {
            (subject.work)();
        }
        if start.elapsed() >= SLICE || repeats > u32::MAX / 2 {
            return repeats;
        }
        repeats *= 2;
    }
}

/// Prints what [`compare`] found.
pub fn print(title: &str, timings: &[Timing]) {
    println!("{title}");
    for Timing { name, nanos, ratio } in timings {
        println!(
            "  {name:<34} {:>8.0} ns ({:.0} to {:.0})   ratio {:.2} ({:.2} to {:.2})",
            nanos.median, nanos.low, nanos.high, ratio.median, ratio.low, ratio.high
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_work_takes_about_twice_the_time() {
        let spin = |micros: u64| {
            let end = Instant::now() + Duration::from_micros(micros);
            while Instant::now() < end {}
        };
        let timings = compare(
            50,
            &mut [
                Subject::new("double", || spin(40)),
                Subject::new("single", || spin(20)),
            ],
        );
        let ratio = timings[0].ratio.median;
        assert!((1.7..2.3).contains(&ratio), "{timings:?}");
        assert_eq!(timings[1].ratio.median, 1.0);
    }

    #[test]
    fn a_spread_of_nothing_is_none() {
        assert_eq!(Spread::of(Vec::new()), None);
        let hundred = Spread::of((0..=100).map(f64::from).collect()).unwrap();
        assert_eq!(
            (hundred.low, hundred.median, hundred.high),
            (10.0, 50.0, 90.0)
        );
    }
}
