//! Where the warm-up ends, and whether what follows stays as it is.

mod course;
mod drift;
mod mser;
mod outage;

pub use course::PhaseCourse;
pub use outage::Outage;

use course::Row;
use drift::{Shift, change_point, trend};
use outage::{Failures, failures};

/// A drift of less than this is not worth mentioning.
const WORTH: f64 = 0.03;

/// A drift is believed when chance would make it less often than this, in all looks at a run together.
const P: f64 = 0.001;

/// Looks at each figure: in all of it, and in what is left after the cut. A change and a trend are
/// mostly the same thing twice.
const LOOKS: usize = 2;

/// A start-up is at most so much of a phase, unless somebody says otherwise.
const START_UP: u64 = 5;

/// What may be left out at the beginning without anybody's having asked for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allowed {
    /// So much at most; otherwise a fifth of the phase.
    pub warm_up_ns: Option<u64>,
    /// The longest time without a success that the objective of the run forgives; otherwise half a
    /// second.
    pub gap_ns: Option<u64>,
}

/// What a phase did before and after it had settled.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settling {
    /// How much of the beginning is to be left out.
    pub cut_ns: u64,
    /// Which figure took longest: `rate`, `response`, `cpu`; none when nothing is left out.
    pub longest: Option<&'static str>,
    /// Failures that are no start-up, and outages that did not pass; a run with any is unsteady.
    pub outages: Vec<Outage>,
    /// So many operations failed in what would have been left out, as others did later: nothing is.
    pub kept_for: u64,
    /// What does not stay as it is after the cut; a run with any is unsteady.
    pub drifts: Vec<Drift>,
    /// Excursions that passed: a stall of the server is one. They are no drift.
    pub excursions: Vec<Excursion>,
    /// Why the phase was not judged, if it was not: too short, or the plan changes the load.
    pub not_judged: Option<&'static str>,
}

/// Something that does not stay as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Drift {
    /// Of what: `rate`, `response`, `cpu`, `backlog`.
    pub of: &'static str,
    /// Since when.
    pub at_ns: u64,
    /// The median before.
    pub before: f64,
    /// The median after.
    pub after: f64,
    /// How often chance alone would do this, in all looks at the run together (Bonferroni).
    pub p: f64,
}

/// A part of a phase that was unlike what came before and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Excursion {
    /// Of what.
    pub of: &'static str,
    /// From.
    pub from_ns: u64,
    /// To.
    pub to_ns: u64,
}

impl Settling {
    /// Looks for the end of the warm-up, and at what follows it.
    pub fn of(course: &PhaseCourse) -> Self {
        Self::within(course, Allowed::default())
    }

    /// The same, with what may be left out.
    pub fn within(course: &PhaseCourse, allowed: Allowed) -> Self {
        Self::after(course, None, allowed)
    }

    /// Looks only at what follows a warm-up that was given.
    pub fn after_given(course: &PhaseCourse, warm_up_ns: u64) -> Self {
        Self::after(course, Some(warm_up_ns), Allowed::default())
    }

    fn after(course: &PhaseCourse, given: Option<u64>, allowed: Allowed) -> Self {
        let mut settling = Self {
            cut_ns: given.unwrap_or(0),
            ..Self::default()
        };
        if course.varies {
            settling.not_judged = Some("the plan changes the load");
            return settling;
        }
        let rows: Vec<Row> = course.rows();
        if rows.is_empty() {
            settling.not_judged = Some("too short to tell");
            // For how long nothing succeeded can be told all the same.
            let wanted_ns = given.is_none().then_some(0);
            settling.outages = failures(course, &settling, wanted_ns, allowed.gap_ns).outages;
            return settling;
        }
        for row in &rows {
            let excursions = row.excursions.iter().map(|&(from, to)| Excursion {
                of: row.of,
                from_ns: row.time(from),
                to_ns: row.time(to),
            });
            settling.excursions.extend(excursions);
        }
        let length_ns = course.bin_ns * course.completed.len() as u64;
        let most_ns = match given {
            // What is no warm-up although nobody looks for one.
            Some(_) => length_ns / 2,
            None => allowed.warm_up_ns.unwrap_or(length_ns / START_UP),
        };
        // What would be left out if as much as half might be.
        let mut wanted_ns = None;
        if given.is_none() {
            for row in rows.iter().filter(|row| row.settles) {
                let cut_ns = row.time(mser::cut(&row.values, row.most(most_ns)).values);
                if cut_ns > settling.cut_ns {
                    settling.cut_ns = cut_ns;
                    settling.longest = Some(row.of);
                }
                let half = row.values.len() / 2;
                let free_ns = row.time(mser::cut(&row.values, half).values);
                wanted_ns = wanted_ns.max(Some(free_ns.max(cut_ns)));
            }
        }
        // A change that comes later than a start-up may is none, and then there is nothing to leave out.
        let looks = (LOOKS * rows.len()) as f64;
        let late: Vec<Option<Shift>> = rows
            .iter()
            .map(|row| row.late_change(most_ns, looks))
            .collect();
        if given.is_none() && late.iter().any(Option::is_some) {
            (settling.cut_ns, settling.longest) = (0, None);
        }
        let Failures { outages, like } = failures(course, &settling, wanted_ns, allowed.gap_ns);
        if given.is_none() && (like > 0 || outages.iter().any(|it| it.from_ns < settling.cut_ns)) {
            (settling.cut_ns, settling.longest) = (0, None);
        }
        (settling.outages, settling.kept_for) = (outages, like);
        for (row, late) in rows.iter().zip(late) {
            let from = row.index(settling.cut_ns).min(row.values.len());
            let rest = &row.values[from..];
            let found = if row.settles {
                late.or_else(|| {
                    let found = change_point(rest).filter(|it| row.is_worth(it, looks));
                    let found = found.or_else(|| trend(rest).filter(|it| row.is_worth(it, looks)));
                    found.map(|it| it.behind(from))
                })
            } else {
                // A backlog that grows by more than a hundredth of what was asked for.
                let grows = |it: &Shift| it.p * looks < P && it.after - it.before > row.median;
                trend(rest).filter(grows).map(|it| it.behind(from))
            };
            settling.drifts.extend(found.map(|it| Drift {
                of: row.of,
                at_ns: row.time(it.at),
                before: it.before,
                after: it.after,
                p: it.p * looks,
            }));
        }
        settling
    }
}

impl Row {
    /// How many values a start-up of at most so long has.
    fn most(&self, most_ns: u64) -> usize {
        usize::try_from(most_ns / self.width_ns).unwrap_or(usize::MAX)
    }

    /// Whether a drift is worth mentioning, and chance would not do it.
    fn is_worth(&self, it: &Shift, looks: f64) -> bool {
        it.p * looks < P && (it.after - it.before).abs() > WORTH * self.median
    }

    /// A change of all of the phase that is too late for a start-up: past the half, or past what a
    /// start-up may take while MSER would rather leave out more than that.
    fn late_change(&self, most_ns: u64, looks: f64) -> Option<Shift> {
        if !self.settles {
            return None;
        }
        let (most, all) = (self.most(most_ns), self.values.len());
        let would_more = mser::cut(&self.values, most).would_more;
        let is_late = |it: &Shift| it.at > most && (would_more || it.at * 2 > all);
        let change = change_point(&self.values);
        let drifts = would_more && change.as_ref().is_some_and(is_late);
        change
            .filter(|it| is_late(it) && self.is_worth(it, looks))
            .or_else(|| trend(&self.values).filter(|it| drifts && self.is_worth(it, looks)))
    }
}
