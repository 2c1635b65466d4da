//! The planned times of one session.

use std::time::Duration;

use crate::arrival::Pace;
use crate::phase::{Phase, Warmup};
use crate::random::Random;
use crate::seat::Seat;
use crate::unit::Rate;
use crate::unit::duration::nanos;

/// When each request of one session is due: nanoseconds since the phase began, never falling.
///
/// It follows from the arrivals, the seed and the session's seat alone, so that any division of the
/// sessions among threads or hosts gives the same load, and it can be computed twice. Constant arrivals are
/// exact: the k-th request of session i of n is due at (k + i/n) periods, rounded down to a
/// nanosecond, after a day as well. One step costs about two nanoseconds, eight with Poisson's
/// logarithm or a ramp's root; `benches/schedule.rs` measures it.
#[derive(Debug, Clone)]
pub struct Schedule {
    current: Part,
    /// Where the parts behind the current one begin and end, the next one last.
    later: Vec<(Pace, u64, u64)>,
    seat: Seat,
    of: u32,
    random: Random,
}

/// A stretch of one kind of arrivals.
#[derive(Debug, Clone)]
enum Part {
    Constant {
        /// The next time, and the part of a nanosecond beyond it in units of `1 / count`.
        at: u64,
        rest: u64,
        /// The period: whole nanoseconds and the same units.
        step: u64,
        step_rest: u64,
        count: u64,
        end: u64,
    },
    Poisson {
        /// The next time, in nanoseconds with their fractions.
        at: f64,
        mean: f64,
        end: f64,
    },
    Ramp {
        /// How many requests are due before the next: the area under the rate.
        area: f64,
        /// That of the whole ramp.
        total: f64,
        /// In requests per nanosecond, and the growth of that per nanosecond.
        from: f64,
        growth: f64,
        begin: u64,
        end: u64,
    },
    Burst {
        at: u64,
        left: u32,
        requests: u32,
        period: u64,
        end: u64,
    },
    Done,
}

impl Schedule {
    /// The times of the session at `seat`, one of `sessions` of its target, in a phase of this length.
    pub fn new(pace: &Pace, seat: Seat, sessions: u32, seed: u64, duration: Duration) -> Self {
        Self::of_parts(
            vec![(pace.clone(), 0, nanos(duration))],
            seat,
            sessions,
            seed,
        )
    }

    /// The times of a whole phase: its warm-up at the rate with which it begins, the measured time, and
    /// its cool-down at the rate with which it ends. None for a closed loop.
    pub fn of_phase(phase: &Phase, seat: Seat) -> Option<Self> {
        Self::of_phase_and(phase, seat, nanos(phase.cooldown))
    }

    /// The same, and on and on at the rate with which the phase ends: for one in which the plan's time
    /// may pass faster than the clock's.
    pub fn beyond_phase(phase: &Phase, seat: Seat) -> Option<Self> {
        Self::of_phase_and(phase, seat, u64::MAX)
    }

    /// So long behind the measured time.
    fn of_phase_and(phase: &Phase, seat: Seat, behind: u64) -> Option<Self> {
        let pace = phase.pace()?;
        let warmup = match phase.warmup {
            Warmup::Given { warmup } => nanos(warmup),
            Warmup::Auto => 0,
        };
        // Limited by a number of requests alone: until they are done.
        let measured = match (phase.duration, pace.length()) {
            (Some(given), Some(own)) => nanos(given.min(own)),
            (Some(length), None) | (None, Some(length)) => nanos(length),
            (None, None) => u64::MAX,
        };
        let end = warmup.saturating_add(measured);
        let last = end.saturating_add(behind);
        let parts = match pace {
            Pace::Ramp { from, to } => vec![
                (Pace::Constant { rate: *from }, 0, warmup),
                (pace.clone(), warmup, end),
                (Pace::Constant { rate: *to }, end, last),
            ],
            Pace::Steps { steps } => {
                let mut parts = Vec::with_capacity(steps.len() + 2);
                let mut rate = steps.first().map(|step| step.rate);
                if let Some(rate) = rate {
                    parts.push((Pace::Constant { rate }, 0, warmup));
                }
                let mut at = warmup;
                for step in steps {
                    let until = at.saturating_add(nanos(step.duration)).min(end);
                    parts.push((Pace::Constant { rate: step.rate }, at, until));
                    if at < end {
                        rate = Some(step.rate);
                    }
                    at = until;
                }
                if let Some(rate) = rate {
                    parts.push((Pace::Constant { rate }, end, last));
                }
                parts
            }
            pace => vec![(pace.clone(), 0, last)],
        };
        Some(Self::of_parts(parts, seat, phase.sessions, phase.seed))
    }

    fn of_parts(mut later: Vec<(Pace, u64, u64)>, seat: Seat, of: u32, seed: u64) -> Self {
        later.reverse();
        let which = [u64::from(seat.target), u64::from(seat.index)];
        let mut schedule = Self {
            current: Part::Done,
            later,
            seat,
            of: of.max(1),
            random: Random::stream(seed, &which),
        };
        schedule.begin_next_part();
        schedule
    }

    /// Turns to the next part; false if there is none.
    fn begin_next_part(&mut self) -> bool {
        let Some((pace, begin, end)) = self.later.pop() else {
            self.current = Part::Done;
            return false;
        };
        let (index, of) = (self.seat.index % self.of, self.of);
        self.current = match pace {
            Pace::Constant { rate } => constant(rate, index, of, begin, end),
            Pace::Poisson { rate } => {
                let mean = 1e9 / rate.as_f64();
                Part::Poisson {
                    at: begin as f64 + self.random.exponential() * mean,
                    mean,
                    end: end as f64,
                }
            }
            Pace::Ramp { from, to } => {
                let (from, to) = (from.as_f64() / 1e9, to.as_f64() / 1e9);
                let length = end.saturating_sub(begin) as f64;
                Part::Ramp {
                    area: f64::from(index) / f64::from(of),
                    // A request at the very end belongs to what follows, whatever the rounding.
                    total: f64::midpoint(from, to) * length * (1.0 - 1e-9),
                    from,
                    growth: (to - from) / length.max(1.0),
                    begin,
                    end,
                }
            }
            Pace::Steps { steps } => {
                let mut until = begin;
                let mut parts = Vec::with_capacity(steps.len());
                for step in &steps {
                    let from = until;
                    until = from.saturating_add(nanos(step.duration)).min(end);
                    parts.push((Pace::Constant { rate: step.rate }, from, until));
                }
                self.later.extend(parts.into_iter().rev());
                return self.begin_next_part();
            }
            Pace::Burst { requests, period } => Part::Burst {
                at: begin,
                left: requests,
                requests,
                period: nanos(period).max(1),
                end,
            },
        };
        true
    }
}

/// Periods are `per_ns / count` nanoseconds: a whole number and a rest, carried along so that no error
/// adds up.
fn constant(rate: Rate, index: u32, of: u32, begin: u64, end: u64) -> Part {
    let (count, per_ns) = (rate.count(), rate.per_ns());
    // index/of periods after the beginning, to 1/count of a nanosecond.
    let offset = u128::from(per_ns) * u128::from(index) / u128::from(of);
    let count_wide = u128::from(count);
    let whole = u64::try_from(offset / count_wide).unwrap_or(u64::MAX);
    let rest = u64::try_from(offset % count_wide).unwrap_or(0);
    Part::Constant {
        at: begin.saturating_add(whole),
        rest,
        step: per_ns / count,
        step_rest: per_ns % count,
        count,
        end,
    }
}

impl Iterator for Schedule {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        loop {
            match &mut self.current {
                Part::Constant {
                    at,
                    rest,
                    step,
                    step_rest,
                    count,
                    end,
                } => {
                    let due = *at;
                    if due < *end {
                        let (sum, carried) = rest.overflowing_add(*step_rest);
                        let carry = carried || sum >= *count;
                        *rest = if carry { sum.wrapping_sub(*count) } else { sum };
                        *at = due.saturating_add(*step).saturating_add(carry.into());
                        return Some(due);
                    }
                }
                Part::Poisson { at, mean, end } => {
                    let due = *at;
                    if due < *end {
                        *at = due + self.random.exponential() * *mean;
                        return Some(due as u64);
                    }
                }
                Part::Ramp {
                    area,
                    total,
                    from,
                    growth,
                    begin,
                    end,
                } => {
                    if *area < *total {
                        // from·t + growth·t²/2 = area, solved so that nothing cancels.
                        let root = (*from * *from + 2.0 * *growth * *area).max(0.0).sqrt();
                        let after = 2.0 * *area / (*from + root);
                        let due = begin.saturating_add(after.round() as u64);
                        *area += 1.0;
                        return Some(due.min(end.saturating_sub(1)));
                    }
                }
                Part::Burst {
                    at,
                    left,
                    requests,
                    period,
                    end,
                } => {
                    if *left == 0 {
                        *at = at.saturating_add(*period);
                        *left = *requests;
                    }
                    if *at < *end {
                        *left -= 1;
                        return Some(*at);
                    }
                }
                Part::Done => return None,
            }
            if !self.begin_next_part() {
                return None;
            }
        }
    }
}
