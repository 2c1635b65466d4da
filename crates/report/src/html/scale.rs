//! From values to places on a page.

use crate::unit::Kind;

/// How values are spread along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    /// Evenly.
    Linear,
    /// By their logarithm.
    Log,
    /// Percentiles: each nine behind the comma takes as much room.
    Nines,
}

/// So much smaller or larger than what is seen may what is hidden be, and still have its place.
const ROOM: f64 = 12.0;

/// An axis that knows its range.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) spread: Spread,
    pub(crate) kind: Kind,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Scale {
    /// Wide enough for the values. Logarithms need values above zero; without any, the axis is even.
    pub(crate) fn around(spread: Spread, kind: Kind, values: impl Iterator<Item = f64>) -> Self {
        let usable = |value: &f64| value.is_finite() && (spread != Spread::Log || *value > 0.0);
        let (low, high) = values
            .filter(usable)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        if low > high {
            return Self {
                spread: Spread::Linear,
                kind,
                low: 0.0,
                high: 1.0,
            };
        }
        match spread {
            Spread::Log => {
                // Room above and below, and a factor of two at least.
                let (low, high) = (low / 1.15, high * 1.15);
                let wide = (2.0 / (high / low)).max(1.0).sqrt();
                Self {
                    spread,
                    kind,
                    low: low / wide,
                    high: high * wide,
                }
            }
            Spread::Nines => Self {
                spread,
                kind,
                low: 0.0,
                high,
            },
            Spread::Linear => {
                let high = if high > 0.0 { high * 1.12 } else { 1.0 };
                Self {
                    spread,
                    kind,
                    low: low.min(0.0),
                    high,
                }
            }
        }
    }

    /// As [`around`](Self::around) what is seen at first, with a little room for what is switched off: that
    /// does not press the rest into a corner.
    pub(crate) fn around_seen(
        spread: Spread,
        kind: Kind,
        seen: impl Iterator<Item = f64>,
        hidden: impl Iterator<Item = f64>,
    ) -> Self {
        let seen = Self::around(spread, kind, seen);
        match seen.spread {
            Spread::Log => {
                let near = |value: &f64| *value > seen.low / ROOM && *value < seen.high * ROOM;
                let ends = [seen.low * 1.15, seen.high / 1.15];
                Self::around(spread, kind, hidden.filter(near).chain(ends))
            }
            Spread::Linear => {
                let near = |value: &f64| *value <= 2.0 * seen.high;
                let ends = [seen.low, seen.high / 1.12];
                Self::around(spread, kind, hidden.filter(near).chain(ends))
            }
            Spread::Nines => seen,
        }
    }

    /// Exactly this range.
    pub(crate) fn exactly(kind: Kind, low: f64, high: f64) -> Self {
        Self {
            spread: Spread::Linear,
            kind,
            low,
            high: if high > low { high } else { low + 1.0 },
        }
    }

    fn bent(&self, value: f64) -> f64 {
        match self.spread {
            Spread::Linear => value,
            Spread::Log => value.max(f64::MIN_POSITIVE).ln(),
            Spread::Nines => -(1.0 - value).max(1e-12).log10(),
        }
    }

    /// 0 at the low end, 1 at the high one.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let (low, high) = (self.bent(self.low), self.bent(self.high));
        ((self.bent(value) - low) / (high - low)).clamp(-0.02, 1.02)
    }

    /// Where lines are drawn and numbers stand.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        let all: Vec<f64> = match self.spread {
            Spread::Linear if self.kind == Kind::Bytes => {
                // Round in KiB or MiB.
                let power = (self.high.max(1.0).ln() / 1024_f64.ln()).floor();
                let unit = 1024_f64.powf(power);
                let all = linear(self.low / unit, self.high / unit);
                all.into_iter().map(|tick| tick * unit).collect()
            }
            Spread::Linear => linear(self.low, self.high),
            Spread::Log if self.kind == Kind::Bytes => {
                // Round in the unit that each is shown in.
                let units = (0..5).map(|power| 1024_f64.powi(power));
                let of = |unit: f64| {
                    let all = log(self.low / unit, self.high / unit);
                    let shown = all.into_iter().filter(|tick| (1.0..1024.0).contains(tick));
                    shown.map(move |tick| tick * unit).collect::<Vec<_>>()
                };
                units.flat_map(of).collect()
            }
            Spread::Log => log(self.low, self.high),
            Spread::Nines => vec![
                0.0,
                0.5,
                0.75,
                0.9,
                0.95,
                0.99,
                0.999,
                0.9999,
                0.99999,
                0.999_999,
                0.999_999_9,
            ],
        };
        let inside = |tick: &f64| {
            let at = self.at(*tick);
            *tick >= self.low && at <= 1.0001
        };
        all.into_iter().filter(inside).collect()
    }
}

fn linear(low: f64, high: f64) -> Vec<f64> {
    let raw = (high - low) / 5.0;
    let power = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|nice| nice * power)
        .find(|step| *step >= raw)
        .unwrap_or(power * 10.0);
    let first = (low / step).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last.min(first + 20))
        .map(|n| n as f64 * step)
        .collect()
}

fn log(low: f64, high: f64) -> Vec<f64> {
    let decades = (high / low).log10();
    if decades <= 0.4 {
        // Within less than a factor of three even steps are what one expects.
        return linear(low, high);
    }
    let marks: &[f64] = match decades {
        d if d <= 1.2 => &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
        d if d <= 3.0 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    // Of very many decades every other one has a number.
    let every = (decades / 8.0).ceil().max(1.0) as i32;
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    (first..=last)
        .filter(|power| power.rem_euclid(every) == 0)
        .flat_map(|power| marks.iter().map(move |mark| mark * 10_f64.powi(power)))
        .filter(|tick| (low..=high).contains(tick))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let scale = Scale::exactly(Kind::Seconds, 0.0, 6.0);
        assert_eq!(scale.ticks(), [0.0, 2.0, 4.0, 6.0]);
        let scale = Scale::around(Spread::Log, Kind::Nanos, [20_000.0, 3e6].into_iter());
        assert_eq!(scale.ticks().first(), Some(&20_000.0));
        assert!(scale.at(20_000.0) > 0.0 && scale.at(3e6) < 1.0);
        let nines = Scale::around(Spread::Nines, Kind::Percentile, [0.0, 0.9999].into_iter());
        assert!((nines.at(0.99) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_narrow_range_has_ticks_and_what_is_hidden_takes_little_room() {
        let narrow = Scale {
            spread: Spread::Log,
            kind: Kind::Nanos,
            low: 255e6,
            high: 266e6,
        };
        assert!(narrow.ticks().len() >= 4, "{:?}", narrow.ticks());
        let seen = || [5e6, 40e6].into_iter();
        let both = Scale::around_seen(Spread::Log, Kind::Nanos, seen(), [100.0, 1e6].into_iter());
        assert!(both.low < 1e6 && both.low > 400e3, "{both:?}");
        let memory = Scale::exactly(Kind::Bytes, 0.0, 42.0 * 1_048_576.0);
        assert_eq!(memory.ticks()[1], 10.0 * 1_048_576.0);
        let memory = Scale::around(Spread::Log, Kind::Bytes, [2e3, 40e6].into_iter());
        let shown: Vec<String> = memory
            .ticks()
            .iter()
            .map(|it| Kind::Bytes.tick(*it))
            .collect();
        assert!(
            shown.contains(&"10 KiB".to_owned()) && shown.contains(&"1 MiB".to_owned()),
            "{shown:?}"
        );
        let alone = Scale::around_seen(Spread::Log, Kind::Nanos, seen(), [100.0].into_iter());
        assert!(alone.low > 3e6, "{alone:?}");
    }

    #[test]
    fn nothing_to_show_is_no_reason_to_divide_by_zero() {
        let empty = Scale::around(Spread::Log, Kind::Nanos, [0.0, f64::NAN].into_iter());
        assert!(empty.at(0.5).is_finite() && !empty.ticks().is_empty());
        let one = Scale::around(Spread::Log, Kind::Nanos, [5.0].into_iter());
        assert!((one.at(5.0) - 0.5).abs() < 1e-9);
        let zero = Scale::around(Spread::Linear, Kind::Count, [0.0].into_iter());
        assert!(zero.at(0.0).is_finite());
    }
}
