//! What disturbs measuring on a machine, and the command that mends it. Nothing is changed here.

use std::time::{Duration, Instant, SystemTime};

use platform::System;

use crate::figure::{Figure, NotAvailable};
use crate::frequency::{core_clocks, turbo, zones};
use crate::host::{Host, Times};
use crate::tree::Tree;

/// One thing that may disturb measuring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at.
    pub subject: &'static str,
    /// What comes of it.
    pub standing: Standing,
    /// What was found, or why nothing could be.
    pub found: String,
    /// What it does to results.
    pub effect: &'static str,
    /// The command that mends it, or shows more where nothing mends it.
    pub mend: Option<String>,
}

/// What comes of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It disturbs nothing.
    Good,
    /// It disturbs.
    Disturbs,
    /// This machine does not say.
    Unknown,
}

/// What was seen over a stretch of time in which nothing was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idle {
    /// Where CPU time went, of all cores.
    pub spent: Figure<Times>,
    /// By how much the clock of the day went further than the clock that is never set, in nanoseconds.
    pub stepped_ns: i64,
    /// How long it was.
    pub length: Duration,
}

impl Idle {
    /// What is seen of this machine in so long.
    pub fn seen(look: Duration) -> Self {
        let (before, at, day) = (Host::cpu(), Instant::now(), SystemTime::now());
        std::thread::sleep(look);
        let (length, moved) = (at.elapsed(), SystemTime::now());
        let after = Host::cpu();
        // Negative when the clock of the day was set back behind where it was.
        let day_ns = match moved.duration_since(day) {
            Ok(ahead) => signed(ahead),
            Err(behind) => -signed(behind.duration()),
        };
        Self {
            spent: match (after, before) {
                (Ok(after), Ok(before)) => Ok(after.since(&before)),
                (Err(why), _) | (_, Err(why)) => Err(why),
            },
            stepped_ns: day_ns.saturating_sub(signed(length)),
            length,
        }
    }
}

fn signed(length: Duration) -> i64 {
    i64::try_from(length.as_nanos()).unwrap_or(i64::MAX)
}

/// Of cores: what others may use before they are in the way.
const OTHERS: f64 = 0.05;
/// Of the time of all cores.
const STOLEN: f64 = 0.005;
/// A clock that is steered, and not set, moves by at most half a thousandth of the time.
const STEERED: i64 = 1_000_000;
/// A socket that carries 1 Gbit/s over 30 ms holds that much.
const BUFFER_BYTES: u64 = 4 << 20;
/// Linux rounds sleeps up by that, if nobody says otherwise.
const SLACK_NS: u64 = 50_000;

/// Everything that is looked at, in the order in which it matters.
pub fn bench(tree: &Tree, idle: &Idle) -> Vec<Finding> {
    vec![
        others(idle),
        stolen(idle),
        governor(tree),
        boost(tree),
        heat(tree),
        isolated(tree),
        swap(tree),
        slack(tree),
        buffers(tree),
        conntrack(tree),
        clock_source(tree),
        stepped(idle),
    ]
}

/// What is good, or disturbs and what mends that; or the reason why nothing is known.
fn finding(
    subject: &'static str,
    effect: &'static str,
    seen: Figure<(String, Option<String>)>,
) -> Finding {
    let (standing, found, mend) = match seen {
        Ok((found, None)) => (Standing::Good, found, None),
        Ok((found, mend)) => (Standing::Disturbs, found, mend),
        Err(why) => (Standing::Unknown, why.reason().to_owned(), None),
    };
    Finding {
        subject,
        standing,
        found,
        effect,
        mend,
    }
}

fn others(idle: &Idle) -> Finding {
    let seen = idle.spent.clone().map(|spent| {
        let cores = spent.busy_ns() as f64 / (idle.length.as_nanos() as f64).max(1.0);
        let mend = (cores > OTHERS).then(|| "ps -eo pid,pcpu,comm --sort=-pcpu | head".to_owned());
        (format!("other programs keep {cores:.2} cores busy"), mend)
    });
    finding(
        "other load",
        "it takes cores from server and generator in turns",
        seen,
    )
}

fn stolen(idle: &Idle) -> Finding {
    let seen = idle.spent.clone().and_then(|spent| {
        let share = spent.stolen()?;
        let mend = (share > STOLEN).then(|| "vmstat 1".to_owned());
        Ok((
            format!(
                "{:.1} % of the time was stolen by the hypervisor",
                share * 100.0
            ),
            mend,
        ))
    });
    finding(
        "steal",
        "the machine stands still and does not know it",
        seen,
    )
}

fn governor(tree: &Tree) -> Finding {
    let seen = core_clocks(tree).and_then(|clocks| {
        let mut all: Vec<String> = Vec::new();
        let mut why = NotAvailable::because("no core is known");
        for clock in clocks {
            match clock.governor {
                Ok(governor) => all.push(governor),
                Err(reason) => why = reason,
            }
        }
        all.sort();
        all.dedup();
        if all.is_empty() {
            return Err(why);
        }
        let mend = all.iter().any(|it| it != "performance");
        let mend = mend.then(|| "sudo cpupower frequency-set -g performance".to_owned());
        Ok((all.join(", "), mend))
    });
    finding(
        "governor",
        "cores are slow at first and faster under load",
        seen,
    )
}

fn boost(tree: &Tree) -> Finding {
    let seen = turbo(tree).map(|on| match on {
        false => ("off".to_owned(), None),
        true => {
            let intel = "/sys/devices/system/cpu/intel_pstate/no_turbo";
            let mend = match tree.line(intel) {
                Ok(_) => format!("echo 1 | sudo tee {intel}"),
                Err(_) => "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost".to_owned(),
            };
            ("on".to_owned(), Some(mend))
        }
    });
    finding(
        "turbo",
        "speed depends on heat and on how many cores are busy",
        seen,
    )
}

fn heat(tree: &Tree) -> Finding {
    // Where nothing is counted zones are looked at, and where there are none either it is said.
    let throttled: Vec<u64> = core_clocks(tree)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|it| it.throttled.ok())
        .collect();
    let near = |zone: &crate::frequency::Zone| {
        let (now, passive) = (
            zone.celsius.clone().ok()?,
            zone.passive_celsius.clone().ok()?,
        );
        (now + 5.0 >= passive)
            .then(|| format!("{} is at {now:.0} °C of {passive:.0} °C", zone.kind))
    };
    let zones = zones(tree);
    let hot = zones.iter().flatten().find_map(near);
    let seen = match (hot, throttled.iter().max(), zones) {
        (Some(hot), _, _) => Ok((hot, Some("sensors".to_owned()))),
        (None, Some(times @ 1..), _) => Ok((
            format!("a core was slowed down {times} times since the machine started"),
            Some("sudo turbostat --show Core,Bzy_MHz,CoreTmp".to_owned()),
        )),
        (None, Some(0), _) => Ok(("no core was slowed down".to_owned(), None)),
        (None, None, Ok(zones)) if zones.iter().any(|it| it.celsius.is_ok()) => {
            Ok(("no place is near its limit".to_owned(), None))
        }
        (None, None, Ok(_)) => Err(NotAvailable::because(
            "no thermal zone says its temperature",
        )),
        (None, None, Err(why)) => Err(why),
    };
    finding(
        "heat",
        "hot cores are slowed down in the middle of a run",
        seen,
    )
}

fn isolated(tree: &Tree) -> Finding {
    // The file is empty when no core is isolated, and that is an answer.
    let seen = tree
        .text("/sys/devices/system/cpu/isolated")
        .map(|list| match list.trim() {
            "" => (
                "no core is kept free of other programs".to_owned(),
                Some(
                    "sudo grubby --update-kernel=ALL --args='isolcpus=1 nohz_full=1', then --isolated server"
                        .to_owned(),
                ),
            ),
            list => (format!("cores {list}"), None),
        });
    finding(
        "isolated cores",
        "other programs run between two requests",
        seen,
    )
}

fn swap(tree: &Tree) -> Finding {
    let seen = tree.text("/proc/swaps").map(|text| {
        let used = |line: &str| line.split_whitespace().nth(3)?.parse::<u64>().ok();
        let areas: Vec<u64> = text.lines().skip(1).filter_map(used).collect();
        match areas.len() {
            0 => ("none".to_owned(), None),
            _ => (
                format!("on, {} MiB in use", areas.iter().sum::<u64>() / 1024),
                Some("sudo swapoff -a".to_owned()),
            ),
        }
    });
    finding(
        "swap",
        "memory that was written out comes back in the middle of a run",
        seen,
    )
}

fn slack(tree: &Tree) -> Finding {
    let seen = tree.number::<u64>("/proc/self/timerslack_ns").map(|ns| {
        let found = format!("sleeps may be late by {} µs", ns / 1000);
        (
            found,
            (ns > SLACK_NS).then(|| format!("echo {SLACK_NS} | sudo tee /proc/$$/timerslack_ns")),
        )
    });
    finding(
        "timer slack",
        "requests are sent late; --spin does not sleep",
        seen,
    )
}

fn buffers(tree: &Tree) -> Finding {
    let seen = ["rmem_max", "wmem_max"]
        .iter()
        .map(|name| {
            Ok((
                *name,
                tree.number::<u64>(&format!("/proc/sys/net/core/{name}"))?,
            ))
        })
        .collect::<Figure<Vec<_>>>()
        .map(|all| {
            let found: Vec<String> = all
                .iter()
                .map(|(name, bytes)| format!("{name} {} KiB", bytes / 1024))
                .collect();
            let small = all.iter().filter(|(_, bytes)| *bytes < BUFFER_BYTES);
            let mend: Vec<String> = small
                .map(|(name, _)| format!("net.core.{name}={BUFFER_BYTES}"))
                .collect();
            let mend = (!mend.is_empty()).then(|| format!("sudo sysctl -w {}", mend.join(" ")));
            (found.join(", "), mend)
        });
    finding(
        "socket buffers",
        "large answers over a long way wait for room",
        seen,
    )
}

fn conntrack(tree: &Tree) -> Finding {
    let of = |name: &str| tree.number::<u64>(&format!("/proc/sys/net/netfilter/{name}"));
    let seen = match (of("nf_conntrack_count"), of("nf_conntrack_max")) {
        (Ok(count), Ok(most)) => {
            let found = format!("{count} of {most} connections are tracked");
            let mend = (count.saturating_mul(2) > most).then(|| {
                format!(
                    "sudo sysctl -w net.netfilter.nf_conntrack_max={}",
                    most.saturating_mul(4)
                )
            });
            Ok((found, mend))
        }
        _ if System::IS_LINUX => Ok(("connections are not tracked".to_owned(), None)),
        (Err(why), _) | (_, Err(why)) => Err(why),
    };
    finding(
        "conntrack",
        "connections beyond its table are refused",
        seen,
    )
}

fn clock_source(tree: &Tree) -> Finding {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let seen = tree.line(path).map(|source| {
        // Those that are read without asking the kernel, or a device behind it.
        let fast = [
            "tsc",
            "kvm-clock",
            "hyperv_clocksource_tsc_page",
            "arch_sys_counter",
        ];
        let mend =
            (!fast.contains(&source.as_str())).then(|| format!("echo tsc | sudo tee {path}"));
        (source, mend)
    });
    finding(
        "clock source",
        "each look at the clock takes a microsecond",
        seen,
    )
}

fn stepped(idle: &Idle) -> Finding {
    let found = format!(
        "the clock moved by {} µs against a clock that is never set, in {} ms",
        idle.stepped_ns / 1000,
        idle.length.as_millis()
    );
    let mend = (idle.stepped_ns.abs() > STEERED)
        .then(|| "chronyc tracking; timedatectl status".to_owned());
    finding(
        "clock set",
        "delays from timestamps jump; times from our own clock do not",
        Ok((found, mend)),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn idle(busy: u64, steal: u64, stepped_ns: i64) -> Idle {
        let times = Times {
            user_ns: busy,
            steal_ns: steal,
            idle_ns: 2_000_000_000 - busy - steal,
            ..Times::default()
        };
        Idle {
            spent: Ok(times),
            stepped_ns,
            length: Duration::from_secs(1),
        }
    }

    #[test]
    fn what_others_use_and_what_is_stolen_is_told_from_idle() {
        assert_eq!(others(&idle(20_000_000, 0, 0)).standing, Standing::Good);
        let busy = others(&idle(600_000_000, 0, 0));
        assert_eq!(busy.standing, Standing::Disturbs);
        assert!(busy.found.contains("0.60 cores"), "{}", busy.found);
        assert_eq!(stolen(&idle(0, 5_000_000, 0)).standing, Standing::Good);
        assert_eq!(stolen(&idle(0, 50_000_000, 0)).standing, Standing::Disturbs);
    }

    #[test]
    fn a_clock_that_is_steered_is_good_and_one_that_is_set_is_not() {
        assert_eq!(stepped(&idle(0, 0, 400_000)).standing, Standing::Good);
        assert_eq!(
            stepped(&idle(0, 0, -30_000_000)).standing,
            Standing::Disturbs
        );
    }
}
