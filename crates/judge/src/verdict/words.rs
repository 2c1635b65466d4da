//! Figures as people say them.

/// `12.3 ms`.
pub(super) fn time(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    match value {
        v if v == v.round() || v >= 100.0 => format!("{v:.0} {unit}"),
        v if v >= 10.0 => format!("{v:.1} {unit}"),
        v => format!("{v:.2} {unit}"),
    }
}

/// `99.2 %`; not rounded up to all, and not down to none.
pub(super) fn percent(share: f64) -> String {
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
