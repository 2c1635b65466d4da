//! Figures as people say them.

pub(crate) use plan::unit::duration::show_nanos as time;

/// `99.2 %`; not rounded up to all, and not down to none.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p > 0.0 && p < 0.1 => "less than 0.1 %".to_owned(),
        p if p < 100.0 && p > 99.9 => "more than 99.9 %".to_owned(),
        p if p == p.round() => format!("{p:.0} %"),
        p => format!("{p:.1} %"),
    }
}

/// A probability.
pub(super) fn chance(p: f64) -> String {
    match p {
        p if p < 1e-6 => "less than 0.000001".to_owned(),
        p => format!("{p:.6}"),
    }
}
