//! Failures are no start-up: what failed, and for how long nothing succeeded.

use super::{PhaseCourse, Settling};

/// Without an objective, nothing may succeed for so long at the beginning.
const GAP: u64 = 500_000_000;

/// An outage of more than so much of the phase did not pass: it is most of what was measured.
const MOST: u64 = 4;

/// What failed, or when nothing succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// From.
    pub from_ns: u64,
    /// To.
    pub to_ns: u64,
    /// Nothing succeeded in it; otherwise some did.
    pub is_silent: bool,
    /// How many operations failed in it.
    pub failed: u64,
    /// It went on to the end of the phase.
    pub lasts: bool,
}

/// What speaks against leaving out the beginning.
pub(super) struct Failures {
    /// What is no start-up and did not pass.
    pub outages: Vec<Outage>,
    /// So many operations failed in what is to be left out, as others do in the rest.
    pub like: u64,
}

/// What failed in a beginning that is to be left out, and outages that are no excursion. `wanted_ns` would
/// be left out if as much as half of the phase might be; none if nobody looks for it.
pub(super) fn failures(
    course: &PhaseCourse,
    settling: &Settling,
    wanted_ns: Option<u64>,
    gap_ns: Option<u64>,
) -> Failures {
    let longest = gap_ns.unwrap_or(GAP).max(course.natural_gap_ns);
    let cut_ns = settling.cut_ns;
    let passed = |from: u64, to: u64| {
        settling
            .excursions
            .iter()
            .any(|it| it.from_ns <= from + course.bin_ns && it.to_ns + course.bin_ns >= to)
    };
    let speaks = |&(from, to): &(u64, u64)| match wanted_ns {
        _ if (to - from) * MOST > course.length_ns || to >= course.length_ns => {
            wanted_ns.is_some() || to > cut_ns
        }
        Some(wanted) => from < cut_ns || from <= wanted + course.bin_ns && !passed(from, to),
        None => false,
    };
    let gaps = course.gaps.iter().filter(|(from, to)| to - from > longest);
    let silent = |&(from_ns, to_ns): &(u64, u64)| Outage {
        from_ns,
        to_ns,
        is_silent: true,
        failed: failed(course, from_ns, to_ns),
        lasts: to_ns >= course.length_ns,
    };
    let mut outages: Vec<Outage> = gaps.filter(|it| speaks(it)).map(silent).collect();
    let mut like = 0;
    if wanted_ns.is_some() && cut_ns > 0 {
        let inside = failed(course, 0, cut_ns);
        if inside > 0 && is_unlike(course, cut_ns, inside) {
            if !outages.iter().any(|it| it.from_ns < cut_ns) {
                outages.push(failing(course, cut_ns, inside));
            }
        } else {
            like = inside;
        }
    }
    Failures { outages, like }
}

/// The bins of a time.
fn bins(course: &PhaseCourse, from_ns: u64, to_ns: u64) -> std::ops::Range<usize> {
    let bin = |n: u64| {
        usize::try_from(n)
            .unwrap_or(usize::MAX)
            .min(course.failed.len())
    };
    let width = course.bin_ns.max(1);
    bin(from_ns / width)..bin(to_ns.div_ceil(width))
}

/// How many operations failed in a time, to the edges of its bins.
fn failed(course: &PhaseCourse, from_ns: u64, to_ns: u64) -> u64 {
    let range = bins(course, from_ns, to_ns);
    course.failed.get(range).unwrap_or_default().iter().sum()
}

/// Whether more of the beginning failed than what follows it explains: by more than three deviations of
/// a Poisson count. Where nothing fails later, one failure is unlike it.
fn is_unlike(course: &PhaseCourse, cut_ns: u64, inside: u64) -> bool {
    let all = |cells: &[f64]| cells.iter().sum::<f64>();
    let cut = bins(course, 0, cut_ns).end.min(course.completed.len());
    let (before, behind) = course.completed.split_at(cut);
    let later: u64 = course.failed.iter().sum::<u64>() - inside;
    let expected = all(before) * later as f64 / all(behind).max(1.0);
    inside as f64 > expected + 3.0 * expected.sqrt()
}

/// From the first failure of the beginning to the last one.
fn failing(course: &PhaseCourse, cut_ns: u64, inside: u64) -> Outage {
    let range = bins(course, 0, cut_ns);
    let beginning = course.failed.get(range).unwrap_or_default();
    let first = beginning.iter().position(|&n| n > 0).unwrap_or(0) as u64;
    let last = beginning.iter().rposition(|&n| n > 0).unwrap_or(0) as u64;
    Outage {
        from_ns: first * course.bin_ns,
        to_ns: (last + 1) * course.bin_ns,
        is_silent: false,
        failed: inside,
        lasts: false,
    }
}
