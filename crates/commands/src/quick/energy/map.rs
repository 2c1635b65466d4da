//! Which columns of a power meter's file are what, as typed.

use std::str::FromStr;

use observe::{Columns, Power};

/// Which column is what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Map(pub(super) Columns);

impl Default for Map {
    fn default() -> Self {
        Self(Columns {
            time: "time".into(),
            power: Power::Watts("watts".into()),
            separator: ',',
            decimal: '.',
        })
    }
}

impl FromStr for Map {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Self(mut columns) = Self::default();
        let (mut watts, mut volts, mut amperes) = (None, None, None);
        for part in text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let value = value.trim().to_owned();
            match (key.trim(), value.as_str()) {
                ("time" | "watts" | "volts" | "amperes", "") => {
                    return Err(format!("{part:?}: want the name or the number of a column"));
                }
                ("time", _) => columns.time = value,
                ("watts", _) => watts = Some(value),
                ("volts", _) => volts = Some(value),
                ("amperes", _) => amperes = Some(value),
                ("separator", "comma") => columns.separator = ',',
                ("separator", "semicolon") => columns.separator = ';',
                ("separator", "tab") => columns.separator = '\t',
                ("decimal", "point") => columns.decimal = '.',
                ("decimal", "comma") => columns.decimal = ',',
                _ => {
                    return Err(format!(
                        "{part:?} (want time, watts, volts, amperes, separator=comma|semicolon|tab or decimal=point|comma)"
                    ));
                }
            }
        }
        columns.power = match (watts, volts, amperes) {
            (Some(watts), None, None) => Power::Watts(watts),
            (None, Some(volts), Some(amperes)) => Power::VoltsTimesAmperes(volts, amperes),
            _ => return Err("want watts=…, or volts=… and amperes=…".to_owned()),
        };
        Ok(Self(columns))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_map_names_the_columns_and_says_what_it_wants() {
        let map: Map = "time=1,volts=2,amperes=3,separator=semicolon,decimal=comma"
            .parse()
            .unwrap();
        assert_eq!(map.0.separator, ';');
        assert_eq!(map.0.decimal, ',');
        assert_eq!(
            map.0.power,
            Power::VoltsTimesAmperes("2".into(), "3".into())
        );
        for wrong in [
            "time=t",
            "watts=",
            "volts=2",
            "power=3",
            "watts=1,volts=2",
            "watts=1,separator=x",
        ] {
            assert!(
                wrong.parse::<Map>().unwrap_err().contains("want"),
                "{wrong}"
            );
        }
    }
}
