//! Figures as people read them, and as spreadsheets do.

use plan::Unit;
use plan::unit::{BitRate, Bytes, Rate, duration, energy};

/// What numbers of an axis or a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nanoseconds.
    Nanos,
    /// Per second.
    PerSecond,
    /// A number of things.
    Count,
    /// A fraction, shown in percent.
    Share,
    /// Cores kept busy.
    Cores,
    /// Bytes.
    Bytes,
    /// Joules.
    Joules,
    /// Bits in a second.
    BitsPerSecond,
    /// Seconds of a run's clock.
    Seconds,
    /// A percentile as a fraction, stretched towards one.
    Percentile,
}

impl From<Unit> for Kind {
    fn from(unit: Unit) -> Self {
        match unit {
            Unit::Nanos => Self::Nanos,
            Unit::PerSecond => Self::PerSecond,
            Unit::Count => Self::Count,
            Unit::Share => Self::Share,
            Unit::Bytes => Self::Bytes,
            Unit::Joules => Self::Joules,
            Unit::BitsPerSecond => Self::BitsPerSecond,
        }
    }
}

impl Kind {
    /// The name that the script and the heads of CSV columns know.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Nanos => "ns",
            Self::PerSecond => "1/s",
            Self::Count => "count",
            Self::Share => "share",
            Self::Cores => "cores",
            Self::Bytes => "bytes",
            Self::Joules => "J",
            Self::BitsPerSecond => "bit/s",
            Self::Seconds => "s",
            Self::Percentile => "percentile",
        }
    }

    /// For people.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::Nanos => duration::show_nanos(value),
            Self::PerSecond => Rate::show(value),
            Self::Count => plain(value),
            Self::Share => format!("{} %", plain(value * 100.0)),
            Self::Cores => plain(value),
            Self::Bytes => Bytes::show(value),
            Self::Joules => energy::show(value),
            Self::BitsPerSecond => BitRate::show(value),
            Self::Seconds => format!("{} s", plain(value)),
            Self::Percentile => format!("p{}", nines(value)),
        }
    }

    /// Under a tick: short.
    pub(crate) fn tick(self, value: f64) -> String {
        match self {
            Self::Nanos => {
                let (scale, unit) = match value.abs() {
                    v if v >= 0.999e9 => (1e9, "s"),
                    v if v >= 0.999e6 => (1e6, "ms"),
                    v if v >= 0.999e3 => (1e3, "µs"),
                    _ => (1.0, "ns"),
                };
                match value {
                    0.0 => "0".to_owned(),
                    value => format!("{} {unit}", plain(value / scale)),
                }
            }
            Self::PerSecond | Self::Count => {
                let (scale, unit) = match value.abs() {
                    v if v >= 0.999e6 => (1e6, "M"),
                    v if v >= 0.999e3 => (1e3, "k"),
                    _ => (1.0, ""),
                };
                let rate = if self == Self::PerSecond { "/s" } else { "" };
                match value {
                    0.0 => "0".to_owned(),
                    value => format!("{}{unit}{rate}", plain(value / scale)),
                }
            }
            Self::Percentile => nines(value),
            other => other.show(value),
        }
    }
}

/// Three digits, no noise behind them; thousands in groups.
fn plain(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    if value.abs() >= 1000.0 {
        return crate::page::grouped(value.round() as u64);
    }
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A percentile with all its nines.
fn nines(value: f64) -> String {
    let text = format!("{:.6}", value * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// For the script and for spreadsheets: five digits that matter, integers as they are.
pub(crate) fn raw(value: f64) -> String {
    if !value.is_finite() {
        return "null".to_owned();
    }
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let digits = (4 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// The beginning without fractions.
pub(super) fn when(started: record::Timestamp) -> String {
    let text = started.to_string();
    let whole = text.split('.').next().unwrap_or_default();
    format!("{} UTC", whole.trim_end_matches('Z').replace('T', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_short_and_figures_humane() {
        assert_eq!(Kind::Nanos.tick(200_000.0), "200 µs");
        assert_eq!(Kind::Nanos.tick(1e6), "1 ms");
        assert_eq!(Kind::PerSecond.tick(20_000.0), "20k/s");
        assert_eq!(Kind::Percentile.tick(0.999), "99.9");
        assert_eq!(Kind::Share.show(0.025), "2.5 %");
        assert_eq!(raw(71_600.0), "71600");
        assert_eq!(raw(0.071_234_567), "0.071235");
    }
}
