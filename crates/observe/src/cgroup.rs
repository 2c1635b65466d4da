//! The control group of a process: what it may have, what it has, how often it was held back.

use crate::figure::{Figure, NotAvailable};
use crate::files;
use crate::pressure::{self, Pressure, Resource};
use crate::tree::Tree;

/// A limit; none is an answer too.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit<T> {
    /// As much as the machine has.
    None,
    /// At most that.
    At(T),
}

/// The control group of a process.
#[derive(Debug, Clone, PartialEq)]
pub struct Cgroup {
    /// Its path below the folder of control groups.
    pub path: String,
    /// Cores' worth of time in each period.
    pub cpu_cores: Figure<Limit<f64>>,
    /// How often it was held back because it had used that up, and for how long.
    pub throttled: Figure<Throttled>,
    /// Memory that it may have.
    pub memory_limit_bytes: Figure<Limit<u64>>,
    /// Memory that it has, with the page cache of its files.
    pub memory_bytes: Figure<u64>,
    /// The CPUs that it may run on, such as `0-3,8`.
    pub cpus: Figure<String>,
    /// How long it stood still for want of a core.
    pub cpu_pressure: Figure<Pressure>,
    /// For want of memory.
    pub memory_pressure: Figure<Pressure>,
}

/// How often a group was held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Throttled {
    /// Periods in which it wanted to run.
    pub periods: u64,
    /// Those in which its time was used up.
    pub held_back: u64,
    /// For how long, in all.
    pub held_back_ns: u64,
}

/// A group that is given more memory than any machine has: version 1 writes "none" so.
const NO_LIMIT: u64 = 1 << 60;

/// The control group of a process. Above it there may be stricter ones.
pub fn cgroup(tree: &Tree, id: u32) -> Figure<Cgroup> {
    let file = format!("/proc/{id}/cgroup");
    let text = tree.text(&file)?;
    if tree.line("/sys/fs/cgroup/cgroup.controllers").is_ok() {
        let path = member(&text, "").ok_or_else(|| unknown(&file))?;
        return Ok(unified(tree, path));
    }
    let of = |controller: &str| {
        let path = member(&text, controller);
        path.ok_or_else(|| {
            NotAvailable::because(format!("there is no control group for {controller}"))
        })
    };
    let cpu = of("cpu").map(|path| folder("/sys/fs/cgroup/cpu", path));
    let memory = of("memory").map(|path| folder("/sys/fs/cgroup/memory", path));
    let cpus = of("cpuset").map(|path| folder("/sys/fs/cgroup/cpuset", path));
    let version_1 = || {
        Err(NotAvailable::because(
            "control groups of version 1 do not say it",
        ))
    };
    Ok(Cgroup {
        path: of("memory").or_else(|_| of("cpu"))?.to_owned(),
        cpu_cores: cpu.clone().and_then(|it| {
            let quota: i64 = tree.number(&format!("{it}/cpu.cfs_quota_us"))?;
            let period: u64 = tree.number(&format!("{it}/cpu.cfs_period_us"))?;
            Ok(match (quota, period) {
                (..=0, _) | (_, 0) => Limit::None,
                (quota, period) => Limit::At(quota as f64 / period as f64),
            })
        }),
        throttled: cpu.and_then(|it| {
            let file = format!("{it}/cpu.stat");
            throttled(&tree.text(&file)?, ("throttled_time", 1), &file)
        }),
        memory_limit_bytes: memory.clone().and_then(|it| {
            let limit: u64 = tree.number(&format!("{it}/memory.limit_in_bytes"))?;
            Ok(match limit {
                NO_LIMIT.. => Limit::None,
                bytes => Limit::At(bytes),
            })
        }),
        memory_bytes: memory.and_then(|it| tree.number(&format!("{it}/memory.usage_in_bytes"))),
        cpus: cpus.and_then(|it| tree.line(&format!("{it}/cpuset.cpus"))),
        cpu_pressure: version_1(),
        memory_pressure: version_1(),
    })
}

fn unified(tree: &Tree, path: &str) -> Cgroup {
    let it = folder("/sys/fs/cgroup", path);
    let stalled = |resource: Resource| {
        let file = format!("{it}/{}.pressure", resource.name());
        pressure::parse(&tree.text(&file)?, &file)
    };
    // The group of all, at the root, has no limits and no files for them.
    let limit = |file: &str| match (path, tree.line(&format!("{it}/{file}"))) {
        ("/", Err(_)) => Ok("max".to_owned()),
        (_, line) => line,
    };
    let stat = format!("{it}/cpu.stat");
    Cgroup {
        path: path.to_owned(),
        cpu_cores: limit("cpu.max").and_then(|line| cpu_max(&line)),
        throttled: tree
            .text(&stat)
            .and_then(|text| throttled(&text, ("throttled_usec", 1000), &stat)),
        memory_limit_bytes: limit("memory.max").and_then(|line| match line.as_str() {
            "max" => Ok(Limit::None),
            bytes => bytes
                .parse()
                .map(Limit::At)
                .map_err(|_| unknown("memory.max")),
        }),
        memory_bytes: tree.number(&format!("{it}/memory.current")),
        cpus: tree.line(&format!("{it}/cpuset.cpus.effective")),
        cpu_pressure: stalled(Resource::Cpu),
        memory_pressure: stalled(Resource::Memory),
    }
}

/// cgroups(7): lines of `number:controllers:path`; the unified one has no controllers.
fn member<'a>(text: &'a str, controller: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let mut controllers = parts.next()?.split(',');
        let path = parts.next()?;
        controllers.any(|it| it == controller).then_some(path)
    })
}

fn folder(base: &str, path: &str) -> String {
    format!("{base}{}", path.trim_end_matches('/'))
}

/// `150000 100000`, or `max 100000`.
fn cpu_max(line: &str) -> Figure<Limit<f64>> {
    let mut words = line.split_whitespace();
    let quota = words.next().unwrap_or_default();
    if quota == "max" {
        return Ok(Limit::None);
    }
    let quota: Option<f64> = quota.parse().ok();
    let period: Option<f64> = words.next().and_then(|word| word.parse().ok());
    match (quota, period) {
        (Some(quota), Some(period)) if period > 0.0 => Ok(Limit::At(quota / period)),
        _ => Err(unknown("cpu.max")),
    }
}

fn throttled(text: &str, (key, unit_ns): (&str, u64), path: &str) -> Figure<Throttled> {
    // Lines of `key value`; without the controller the three are not there.
    let value = |key: &str| {
        let line = text.lines().find_map(|line| {
            let (name, value) = line.split_once(' ')?;
            (name == key).then_some(value)
        });
        match line {
            Some(value) => files::number(&mut value.split_whitespace(), path),
            None => Err(NotAvailable::because(format!("{path} has no {key}"))),
        }
    };
    Ok(Throttled {
        periods: value("nr_periods")?,
        held_back: value("nr_throttled")?,
        held_back_ns: value(key)?.saturating_mul(unit_ns),
    })
}

fn unknown(path: &str) -> NotAvailable {
    NotAvailable::because(format!("{path} is not as cgroups(7) describes it"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_group_is_found_by_its_controller_among_several() {
        let text = "12:cpu,cpuacct:/a:b\n5:memory:/docker/x\n0::/unified\n";
        assert_eq!(member(text, "cpu"), Some("/a:b"));
        assert_eq!(member(text, "cpuacct"), Some("/a:b"));
        assert_eq!(member(text, "memory"), Some("/docker/x"));
        assert_eq!(member(text, ""), Some("/unified"));
        assert_eq!(member(text, "pids"), None);
    }

    #[test]
    fn a_limit_of_one_and_a_half_cores_is_told_from_none() {
        assert_eq!(cpu_max("150000 100000"), Ok(Limit::At(1.5)));
        assert_eq!(cpu_max("max 100000"), Ok(Limit::None));
        assert!(cpu_max("150000 0").is_err());
    }
}
