//! Figures as people say them.

pub(crate) use plan::unit::duration::show_nanos as time;
pub(crate) use plan::unit::share::show as percent;

/// A probability.
pub(super) fn chance(p: f64) -> String {
    match p {
        p if p < 1e-6 => "less than 0.000001".to_owned(),
        p => format!("{p:.6}"),
    }
}
