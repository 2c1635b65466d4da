//! What a machine takes from its supply, as far as it measures that itself.

use platform::System;

use crate::figure::{Figure, NotAvailable};
use crate::tree::Tree;

/// A part of a machine whose energy is counted (RAPL and its like, by powercap).
#[derive(Debug, Clone, PartialEq)]
pub struct Domain {
    /// Its path among the domains, such as `package-0` or `package-0/dram`.
    pub name: String,
    /// The counter.
    pub microjoules: Figure<u64>,
    /// Beyond this it begins at 0 again.
    pub range_microjoules: Figure<u64>,
}

impl Domain {
    /// Joules since an earlier look at the same domain. The counter may have begun again once meanwhile; a
    /// package at 100 W takes 40 minutes for the usual range, so looks have to be closer than that.
    pub fn joules_since(&self, earlier: &Self) -> Figure<f64> {
        let (now, then) = (self.microjoules.clone()?, earlier.microjoules.clone()?);
        let spent = match now.checked_sub(then) {
            Some(spent) => spent,
            // The range itself is the largest value, so that the next one is 0.
            None => (self.range_microjoules.clone()? - then.min(self.range_microjoules.clone()?))
                .saturating_add(now)
                .saturating_add(1),
        };
        Ok(spent as f64 / 1e6)
    }
}

const POWERCAP: &str = "/sys/class/powercap";

/// The domains whose energy is counted.
pub fn domains(tree: &Tree) -> Figure<Vec<Domain>> {
    let names = tree.names(POWERCAP).map_err(|reason| match System::IS_LINUX {
        true => NotAvailable::because(
            "there is no /sys/class/powercap (no RAPL: a virtual machine, or intel_rapl_msr is not loaded)",
        ),
        false => reason,
    })?;
    let mut domains = Vec::new();
    for name in &names {
        let of = |file: &str| format!("{POWERCAP}/{name}/{file}");
        // `intel-rapl` itself is the control, `intel-rapl:0` a package, `intel-rapl:0:1` a part of it.
        let Ok(own) = tree.line(&of("name")) else {
            continue;
        };
        let above = name.rsplit_once(':').map(|(above, _)| above);
        let above = above.filter(|above| above.contains(':'));
        let above = above.and_then(|it| tree.line(&format!("{POWERCAP}/{it}/name")).ok());
        domains.push(Domain {
            name: match above {
                Some(above) => format!("{above}/{own}"),
                None => own,
            },
            microjoules: tree.number(&of("energy_uj")),
            range_microjoules: tree.number(&of("max_energy_range_uj")),
        });
    }
    match domains.is_empty() {
        true => Err(NotAvailable::because("/sys/class/powercap has no domain")),
        false => Ok(domains),
    }
}

/// A sensor on the board.
#[derive(Debug, Clone, PartialEq)]
pub struct Sensor {
    /// The chip.
    pub chip: String,
    /// Its label, or its number where it has none.
    pub label: String,
    /// What it measures now.
    pub reading: Reading,
}

/// What a sensor measures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reading {
    /// Power.
    Watts(f64),
    /// Energy, counted since whenever.
    Joules(f64),
    /// Voltage.
    Volts(f64),
    /// Current.
    Amperes(f64),
    /// Temperature.
    Celsius(f64),
}

/// The sensors of hwmon: power, energy, voltage, current, temperature.
pub fn sensors(tree: &Tree) -> Figure<Vec<Sensor>> {
    const FOLDER: &str = "/sys/class/hwmon";
    let chips = tree
        .names(FOLDER)
        .map_err(|reason| match System::IS_LINUX {
            true => {
                NotAvailable::because("there is no /sys/class/hwmon (usual in virtual machines)")
            }
            false => reason,
        })?;
    let mut sensors = Vec::new();
    for chip in chips {
        let folder = format!("{FOLDER}/{chip}");
        let name = tree.line(&format!("{folder}/name")).unwrap_or(chip);
        // A chip that has gone meanwhile has no sensors.
        for file in tree.names(&folder).unwrap_or_default() {
            // Some chips have an average only.
            let stem = file
                .strip_suffix("_input")
                .or_else(|| file.strip_suffix("_average"));
            let Some(stem) = stem else {
                continue;
            };
            let Ok(value) = tree.number::<i64>(&format!("{folder}/{file}")) else {
                continue;
            };
            let Some(reading) = reading(stem, value as f64) else {
                continue;
            };
            let label = tree.line(&format!("{folder}/{stem}_label"));
            sensors.push(Sensor {
                chip: name.clone(),
                label: label.unwrap_or_else(|_| stem.to_owned()),
                reading,
            });
        }
    }
    match sensors.is_empty() {
        true => Err(NotAvailable::because("no chip of hwmon has a sensor")),
        false => Ok(sensors),
    }
}

/// The kernel's units: microwatts, microjoules, milli for the rest.
fn reading(stem: &str, value: f64) -> Option<Reading> {
    let kind = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    Some(match kind {
        "power" => Reading::Watts(value / 1e6),
        "energy" => Reading::Joules(value / 1e6),
        "in" => Reading::Volts(value / 1e3),
        "curr" => Reading::Amperes(value / 1e3),
        "temp" => Reading::Celsius(value / 1e3),
        _ => return None,
    })
}

/// A battery.
#[derive(Debug, Clone, PartialEq)]
pub struct Battery {
    /// Its name.
    pub name: String,
    /// `Charging`, `Discharging`, `Full`: only while it discharges does it tell what the machine takes.
    pub status: Figure<String>,
    /// What goes in or out of it.
    pub watts: Figure<f64>,
    /// What is left, in percent.
    pub percent: Figure<f64>,
}

/// The batteries.
pub fn batteries(tree: &Tree) -> Figure<Vec<Battery>> {
    const FOLDER: &str = "/sys/class/power_supply";
    let mut batteries = Vec::new();
    for name in tree.names(FOLDER)? {
        let of = |file: &str| format!("{FOLDER}/{name}/{file}");
        if !tree.line(&of("type")).is_ok_and(|kind| kind == "Battery") {
            continue;
        }
        let micro = |file: &str| tree.number::<i64>(&of(file)).map(|it| it as f64 / 1e6);
        batteries.push(Battery {
            status: tree.line(&of("status")),
            // Most tell current and voltage only. Some drivers count what flows out as negative.
            watts: micro("power_now")
                .or_else(|_| Ok(micro("current_now")? * micro("voltage_now")?))
                .map(f64::abs),
            percent: tree.number(&of("capacity")),
            name,
        });
    }
    match batteries.is_empty() {
        true => Err(NotAvailable::because("this machine has no battery")),
        false => Ok(batteries),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn at(microjoules: u64) -> Domain {
        Domain {
            name: "package-0".into(),
            microjoules: Ok(microjoules),
            range_microjoules: Ok(262_143_328_850),
        }
    }

    #[test]
    fn a_counter_that_began_again_goes_on() {
        let spent = |then, now| at(now).joules_since(&at(then)).unwrap();
        assert!((spent(1_000_000, 3_500_000) - 2.5).abs() < 1e-9);
        // One at the largest value takes one step to 0.
        assert!((spent(262_143_328_850, 999_999) - 1.0).abs() < 1e-9);
        assert!((spent(262_142_328_851, 1_500_000) - 2.5).abs() < 1e-9);
    }

    #[test]
    fn without_a_range_a_counter_that_went_back_says_nothing() {
        let lost = Domain {
            range_microjoules: Err(NotAvailable::because("no range")),
            ..at(1)
        };
        assert!(lost.joules_since(&at(2)).is_err());
    }
}
