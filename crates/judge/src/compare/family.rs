//! All figures of a comparison are one family: each is another chance to be wrong.

use super::{Row, failures};

/// Corrects the p of all figures that are compared together, of all points and phases, and says what each comes to.
/// Success and completeness are a family of their own: they are judged before the others.
///
/// A figure that is the same in all runs can be called different by no way to deal them out. It is no further chance, and
/// does not count (Tarone 1990).
pub(super) fn correct(rows: &mut [&mut Row]) {
    for first in [true, false] {
        let is_of = |row: &Row| failures::FAILURES.contains(&row.metric) == first;
        let mut members: Vec<&mut Row> = rows
            .iter_mut()
            .filter(|row| is_of(row))
            .map(|row| &mut **row)
            .collect();
        holm(&mut members);
        let family = members.iter().filter(|row| varies(row)).count().max(1);
        for row in members {
            row.comparison.decide(family);
        }
    }
}

fn varies(row: &Row) -> bool {
    let it = &row.comparison;
    let first = it.base.first();
    it.p.is_some()
        && it
            .base
            .iter()
            .chain(&it.new)
            .any(|value| Some(value) != first)
}

/// Holm's correction: the smallest p times their number, the next times one less, never falling.
fn holm(rows: &mut [&mut Row]) {
    let mut order: Vec<(f64, usize)> = rows
        .iter()
        .enumerate()
        .filter(|(_, row)| varies(row))
        .filter_map(|(i, row)| Some((row.comparison.p?.value, i)))
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (all, mut least) = (order.len(), 0.0_f64);
    for row in rows.iter_mut() {
        row.comparison.adjusted = row.comparison.p.map(|p| p.value);
    }
    for (rank, (p, i)) in order.into_iter().enumerate() {
        least = least.max(p * (all - rank) as f64).min(1.0);
        if let Some(row) = rows.get_mut(i) {
            row.comparison.adjusted = Some(least);
        }
    }
}
