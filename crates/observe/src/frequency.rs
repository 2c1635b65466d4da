//! How fast cores run, how hot they are, and whether they were slowed down for it.

use platform::System;

use crate::figure::{Figure, NotAvailable};
use crate::tree::Tree;

const CPUS: &str = "/sys/devices/system/cpu";

/// The clock of one core.
#[derive(Debug, Clone, PartialEq)]
pub struct CoreClock {
    /// Its number.
    pub core: u32,
    /// What it runs at, or was last asked to.
    pub hertz: Figure<u64>,
    /// The slowest that it may run.
    pub least_hertz: Figure<u64>,
    /// The fastest.
    pub most_hertz: Figure<u64>,
    /// Who chooses between the two.
    pub governor: Figure<String>,
    /// How often it was slowed down because it, or its package, was too hot.
    pub throttled: Figure<u64>,
}

/// The clocks of all cores.
pub fn core_clocks(tree: &Tree) -> Figure<Vec<CoreClock>> {
    let mut cores: Vec<u32> = tree
        .names(CPUS)?
        .iter()
        .filter_map(|name| name.strip_prefix("cpu")?.parse().ok())
        .collect();
    cores.sort_unstable();
    let clock = |core: u32| {
        let of = |file: &str| -> Figure<u64> {
            let kilohertz: Figure<u64> = tree.number(&format!("{CPUS}/cpu{core}/cpufreq/{file}"));
            kilohertz.map(|it| it * 1000).map_err(|_| no_driver())
        };
        let throttled = |file: &str| -> Figure<u64> {
            tree.number(&format!("{CPUS}/cpu{core}/thermal_throttle/{file}"))
        };
        CoreClock {
            core,
            hertz: of("scaling_cur_freq"),
            least_hertz: of("scaling_min_freq"),
            most_hertz: of("scaling_max_freq"),
            governor: tree
                .line(&format!("{CPUS}/cpu{core}/cpufreq/scaling_governor"))
                .map_err(|_| no_driver()),
            throttled: throttled("core_throttle_count")
                .and_then(|n| Ok(n + throttled("package_throttle_count")?))
                .map_err(|_| {
                    NotAvailable::because(
                        "this CPU does not count it (only Intel's do, not in virtual machines)",
                    )
                }),
        }
    };
    Ok(cores.into_iter().map(clock).collect())
}

fn no_driver() -> NotAvailable {
    match System::IS_LINUX {
        true => NotAvailable::because("the core has no cpufreq driver (usual in virtual machines)"),
        false => NotAvailable::here(),
    }
}

/// Whether cores may run faster than their base clock for a while.
pub fn turbo(tree: &Tree) -> Figure<bool> {
    if let Ok(no_turbo) = tree.number::<u8>(&format!("{CPUS}/intel_pstate/no_turbo")) {
        return Ok(no_turbo == 0);
    }
    match tree.number::<u8>(&format!("{CPUS}/cpufreq/boost")) {
        Ok(boost) => Ok(boost == 1),
        Err(_) => Err(no_driver()),
    }
}

/// A place whose temperature is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone {
    /// What it is, such as `x86_pkg_temp`.
    pub kind: String,
    /// How hot.
    pub celsius: Figure<f64>,
    /// From here on the kernel slows things down.
    pub passive_celsius: Figure<f64>,
}

/// The thermal zones.
pub fn zones(tree: &Tree) -> Figure<Vec<Zone>> {
    const FOLDER: &str = "/sys/class/thermal";
    let mut zones = Vec::new();
    for name in tree.names(FOLDER)? {
        if !name.starts_with("thermal_zone") {
            continue;
        }
        let of = |file: &str| format!("{FOLDER}/{name}/{file}");
        let celsius = |file: &str| tree.number::<i64>(&of(file)).map(|it| it as f64 / 1000.0);
        let passive = (0..16).find(|n| {
            let kind = tree.line(&of(&format!("trip_point_{n}_type")));
            kind.is_ok_and(|kind| kind == "passive")
        });
        zones.push(Zone {
            kind: tree.line(&of("type")).unwrap_or_else(|_| name.clone()),
            celsius: celsius("temp"),
            passive_celsius: match passive {
                Some(n) => celsius(&format!("trip_point_{n}_temp")),
                None => Err(NotAvailable::because("no trip point slows it down")),
            },
        });
    }
    match zones.is_empty() {
        true => Err(NotAvailable::because(
            "this machine has no thermal zone (usual in virtual machines)",
        )),
        false => Ok(zones),
    }
}
