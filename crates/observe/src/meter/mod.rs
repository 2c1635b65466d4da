//! What a power meter wrote down: a CSV file of its own form, on its own clock.

mod align;

pub use align::{Aligned, LoadStep};

use crate::figure::{Figure, NotAvailable};

/// Which columns of the file are read: by name, or by number from 1 where there is no line of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// Time, in seconds since 1970 or since any moment that the offset makes up for.
    pub time: String,
    /// Power in watts; or voltage in volts and current in amperes.
    pub power: Power,
    /// Between columns.
    pub separator: char,
    /// Of numbers: `,` in files made in many places, with `;` between columns.
    pub decimal: char,
}

/// How a meter tells power.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Power {
    /// In a column.
    Watts(String),
    /// As the product of two.
    VoltsTimesAmperes(String, String),
}

/// What a meter measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Meter {
    /// Seconds on our clock, and watts; in order.
    readings: Vec<(f64, f64)>,
}

/// What was taken between two moments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Taken {
    /// Energy.
    pub joules: f64,
    /// Power, on average.
    pub watts: f64,
    /// The longest time between two readings: what happens in less does not show.
    pub widest_gap_s: f64,
}

impl Meter {
    /// From the text of a file. `offset_s` is what is added to the meter's time to have ours.
    pub fn parse(text: &str, columns: &Columns, offset_s: f64) -> Figure<Self> {
        let mut lines = (1..)
            .zip(text.lines())
            .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
            .peekable();
        let cells = |line: &str| -> Vec<String> {
            let cells = line.split(columns.separator);
            cells
                .map(|cell| cell.trim().trim_matches('"').to_owned())
                .collect()
        };
        let heading = lines
            .peek()
            .map(|(_, line)| cells(line))
            .unwrap_or_default();
        let named = |name: &str| heading.iter().position(|cell| cell == name);
        let place = |name: &str| -> Figure<usize> {
            let numbered = || name.parse::<usize>().ok()?.checked_sub(1);
            named(name).or_else(numbered).ok_or_else(|| {
                NotAvailable::because(format!(
                    "the meter's file has no column {name:?} (it has {})",
                    heading.join(", ")
                ))
            })
        };
        let time = place(&columns.time)?;
        let (first, second) = match &columns.power {
            Power::Watts(watts) => (place(watts)?, None),
            Power::VoltsTimesAmperes(volts, amperes) => (place(volts)?, Some(place(amperes)?)),
        };
        if named(&columns.time).is_some() {
            lines.next();
        }
        let mut readings: Vec<(f64, f64)> = Vec::new();
        for (number, line) in lines {
            let cells = cells(line);
            let value = |place: usize| -> Figure<f64> {
                let cell = cells.get(place).map_or("", String::as_str);
                let cell = cell.replace(columns.decimal, ".");
                let value = cell.parse().ok().filter(|value: &f64| value.is_finite());
                value.ok_or_else(|| {
                    NotAvailable::because(format!(
                        "line {number} of the meter's file has {cell:?} in column {}, no number",
                        place + 1
                    ))
                })
            };
            let at = value(time)? + offset_s;
            if readings.last().is_some_and(|last| at <= last.0) {
                return Err(NotAvailable::because(format!(
                    "the meter's time goes back in line {number}"
                )));
            }
            let watts = match second {
                Some(second) => value(first)? * value(second)?,
                None => value(first)?,
            };
            readings.push((at, watts));
        }
        match readings.len() {
            0 | 1 => Err(NotAvailable::because(
                "the meter's file has fewer than two readings",
            )),
            _ => Ok(Self { readings }),
        }
    }

    /// What was taken from one moment to another. Between readings power is taken to change evenly.
    pub fn between(&self, from_s: f64, to_s: f64) -> Figure<Taken> {
        let (Some(first), Some(last)) = (self.readings.first(), self.readings.last()) else {
            return Err(NotAvailable::because("the meter has no readings"));
        };
        if from_s < first.0 || to_s > last.0 || from_s >= to_s {
            return Err(NotAvailable::because(format!(
                "the meter's readings go from {} s to {} s, not from {from_s} s to {to_s} s",
                first.0, last.0
            )));
        }
        let (mut joules, mut widest) = (0.0, 0.0_f64);
        for pair in self.readings.windows(2) {
            let &[(a, p), (b, q)] = pair else {
                continue;
            };
            let (from, to) = (a.max(from_s), b.min(to_s));
            if from >= to {
                continue;
            }
            widest = widest.max(b - a);
            let at = |t: f64| p + (q - p) * (t - a) / (b - a);
            joules += (at(from) + at(to)) / 2.0 * (to - from);
        }
        Ok(Taken {
            joules,
            watts: joules / (to_s - from_s),
            widest_gap_s: widest,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn watts() -> Columns {
        Columns {
            time: "t".into(),
            power: Power::Watts("P".into()),
            separator: ',',
            decimal: '.',
        }
    }

    #[test]
    fn energy_is_the_area_under_the_readings() {
        let meter = Meter::parse(
            "# made by hand\nt,U,P\n0,5,1\n1,5,3\n3,5,3\n",
            &watts(),
            100.0,
        );
        let meter = meter.unwrap();
        let all = meter.between(100.0, 103.0).unwrap();
        assert!((all.joules - 8.0).abs() < 1e-9, "{all:?}");
        assert!((all.widest_gap_s - 2.0).abs() < 1e-9);
        // From 2 W at half a second to 3 W.
        let part = meter.between(100.5, 101.0).unwrap();
        assert!((part.joules - 1.25).abs() < 1e-9, "{part:?}");
        assert!((part.watts - 2.5).abs() < 1e-9);
        assert!(meter.between(99.0, 101.0).is_err());
    }

    #[test]
    fn a_file_without_names_and_with_commas_in_numbers_is_read_by_number() {
        let columns = Columns {
            time: "1".into(),
            power: Power::VoltsTimesAmperes("2".into(), "3".into()),
            separator: ';',
            decimal: ',',
        };
        let meter = Meter::parse("0,0;5,0;0,5\n2,0;5,0;0,5\n", &columns, 0.0).unwrap();
        assert!((meter.between(0.0, 2.0).unwrap().joules - 5.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said_with_its_line() {
        let reason = |text: &str| {
            Meter::parse(text, &watts(), 0.0)
                .unwrap_err()
                .reason()
                .to_owned()
        };
        assert!(reason("t,W\n0,1\n").contains("no column \"P\" (it has t, W)"));
        assert!(reason("t,P\n0,1\n1,x\n").contains("line 3"));
        assert!(reason("t,P\n1,1\n1,2\n").contains("goes back in line 3"));
        assert!(reason("t,P\n1,1\n").contains("fewer than two"));
    }
}
