//! From the time of a plan to the time of a phase: the same, until a person changes what is offered.

use super::control::Level;

/// How a plan's time passes. At 110 % it passes faster by a tenth, so that a tenth more falls due in
/// each second, evenly; in a pause it stands still.
#[derive(Debug)]
pub struct PlanTime {
    /// Stretches of one level each, in order.
    stretches: Vec<Stretch>,
    /// The stretch that the last time asked for lies in; times are asked for in rising order.
    at: usize,
}

#[derive(Debug, Clone, Copy)]
struct Stretch {
    /// When it began, in the phase.
    phase: u64,
    /// When it began, in the plan.
    plan: u64,
    /// 0 in a pause.
    percent: u32,
}

impl Default for PlanTime {
    fn default() -> Self {
        Self {
            stretches: vec![Stretch {
                phase: 0,
                plan: 0,
                percent: 100,
            }],
            at: 0,
        }
    }
}

impl PlanTime {
    /// From this time of the phase on, so much is offered.
    pub fn change(&mut self, t: u64, level: Level) {
        let percent = match level.paused {
            true => 0,
            false => level.percent,
        };
        let Some(last) = self.stretches.last() else {
            return;
        };
        let since = u128::from(t.saturating_sub(last.phase)) * u128::from(last.percent) / 100;
        self.stretches.push(Stretch {
            phase: t.max(last.phase),
            plan: last.plan.saturating_add(narrow(since)),
            percent,
        });
    }

    /// When what was planned for this time falls due; at the end of time in a pause.
    #[inline]
    pub fn due(&mut self, planned: u64) -> u64 {
        if self.stretches.len() == 1 {
            return planned;
        }
        self.changed(planned)
    }

    #[cold]
    fn changed(&mut self, planned: u64) -> u64 {
        while let Some(next) = self.stretches.get(self.at + 1)
            && next.plan <= planned
        {
            self.at += 1;
        }
        let Some(stretch) = self.stretches.get(self.at) else {
            return planned;
        };
        if stretch.percent == 0 {
            return u64::MAX;
        }
        let since = u128::from(planned.saturating_sub(stretch.plan));
        let since = narrow(since * 100 / u128::from(stretch.percent));
        stretch.phase.saturating_add(since)
    }
}

fn narrow(ns: u128) -> u64 {
    u64::try_from(ns).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn level(percent: u32) -> Level {
        Level {
            paused: false,
            percent,
        }
    }

    #[test]
    fn nothing_changes_the_plan_until_a_person_does() {
        let mut course = PlanTime::default();
        for planned in [0, 1, 999, u64::MAX] {
            assert_eq!(course.due(planned), planned);
        }
    }

    #[test]
    fn at_twice_the_load_what_is_left_falls_due_in_half_the_time() {
        let mut course = PlanTime::default();
        course.change(1000, level(200));
        assert_eq!(course.due(900), 900);
        assert_eq!(course.due(1000), 1000);
        assert_eq!(course.due(1400), 1200);
        course.change(1500, level(50));
        // By then 1000 + 2 × 500 were due.
        assert_eq!(course.due(1900), 1450);
        assert_eq!(course.due(2000), 1500);
        assert_eq!(course.due(2100), 1700);
    }

    #[test]
    fn in_a_pause_nothing_falls_due_and_after_it_the_plan_goes_on_where_it_stopped() {
        let mut course = PlanTime::default();
        course.change(
            1000,
            Level {
                paused: true,
                percent: 100,
            },
        );
        assert_eq!(course.due(999), 999);
        assert_eq!(course.due(1000), u64::MAX);
        course.change(4000, level(100));
        assert_eq!(course.due(1000), 4000);
        assert_eq!(course.due(1500), 4500);
    }
}
