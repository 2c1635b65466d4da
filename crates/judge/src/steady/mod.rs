//! Where the warm-up ends, and whether what follows stays as it is.

mod course;
mod drift;
mod mser;

pub use course::Course;
pub(crate) use course::median;

use course::Row;
use drift::{Found, change_point, trend};

/// A drift of less than this is not worth mentioning.
const WORTH: f64 = 0.03;

/// A drift is believed when chance would make it less often than this, in all looks at a run together.
const P: f64 = 0.001;

/// Looks at each figure: in all of it, and in what is left after the cut. A change and a trend are
/// mostly the same thing twice.
const LOOKS: usize = 2;

/// What a phase did before and after it had settled.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settling {
    /// How much of the beginning is to be left out.
    pub cut_ns: u64,
    /// Which figure took longest: `rate`, `response`, `cpu`; none when nothing is left out.
    pub longest: Option<&'static str>,
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
    pub fn of(course: &Course) -> Self {
        Self::after(course, None)
    }

    /// Looks only at what follows a warm-up that was given.
    pub fn after_given(course: &Course, warm_up_ns: u64) -> Self {
        Self::after(course, Some(warm_up_ns))
    }

    fn after(course: &Course, given: Option<u64>) -> Self {
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
        if given.is_none() {
            for row in rows.iter().filter(|row| row.settles) {
                let cut_ns = row.time(mser::cut(&row.values).values);
                if cut_ns > settling.cut_ns {
                    settling.cut_ns = cut_ns;
                    settling.longest = Some(row.of);
                }
            }
        }
        let looks = (LOOKS * rows.len()) as f64;
        for row in &rows {
            let from = row.index(settling.cut_ns).min(row.values.len());
            let rest = &row.values[from..];
            let found = if row.settles {
                let worth = |it: &Found| {
                    it.p * looks < P && (it.after - it.before).abs() > WORTH * row.median
                };
                // A change past the half is no warm-up; nor is one that MSER would rather leave out
                // with more than half of the phase.
                let past_half = mser::cut(&row.values).past_half;
                let change = change_point(&row.values);
                let late = |it: &Found| {
                    it.at * 2 > row.values.len() || (past_half && it.at * 3 > row.values.len())
                };
                let drifts = past_half && change.as_ref().is_some_and(late);
                change
                    .filter(|it| late(it) && worth(it))
                    .or_else(|| trend(&row.values).filter(|it| drifts && worth(it)))
                    .or_else(|| change_point(rest).filter(worth).map(|it| it.behind(from)))
                    .or_else(|| trend(rest).filter(worth).map(|it| it.behind(from)))
            } else {
                // A backlog that grows by more than a hundredth of what was asked for.
                let grows = |it: &Found| it.p * looks < P && it.after - it.before > row.median;
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
