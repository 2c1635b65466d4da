//! What came of it, as a screen and as JSON.

use std::fmt::{self, Write as _};

use judge::Line;
use plan::unit::{Bytes, duration};
use record::run::{Figure, Fingerprint};
use serde::{Deserialize, Serialize};

use super::design::Per;

/// What a table calls itself in its file.
pub const FORMAT: &str = "uaperf-cost";
/// The only version so far.
pub const VERSION: u32 = 1;

/// What a server spends.
#[derive(Debug, Serialize, Deserialize)]
pub struct Table {
    /// Always [`FORMAT`]: what kind of file this is.
    pub format: String,
    /// Of the format.
    pub version: u32,
    pub url: String,
    /// What the server calls itself, as far as it does.
    pub server: String,
    pub security: String,
    /// Its process.
    pub pid: u32,
    pub process: Option<String>,
    /// Of this machine.
    pub machine: Fingerprint,
    pub step_ns: u64,
    pub reads_per_s: f64,
    pub interrupted: bool,
    pub costs: Vec<Cost>,
}

/// What one thing costs.
#[derive(Debug, Serialize, Deserialize)]
pub struct Cost {
    pub per: Per,
    /// For whoever reads the file.
    #[serde(skip_deserializing)]
    pub about: &'static str,
    /// CPU of each, in nanoseconds; of what is held, in a second.
    pub cpu_ns: Figure<UnitCost>,
    /// Memory of each that is held.
    pub memory_bytes: Figure<UnitCost>,
    pub points: Vec<Point>,
    /// Steps that are in no line, and why.
    pub left_out: Vec<String>,
}

/// A slope, with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct UnitCost {
    pub each: f64,
    /// Half of the interval's width.
    pub error: f64,
    /// How far the middle lies from a straight line, as a share of the rise; none of a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bend: Option<f64>,
}

impl UnitCost {
    /// Whether it depends on how many there are.
    pub fn is_bent(&self) -> bool {
        self.bend.is_some_and(|bend| bend > BENT)
    }
}

/// A step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// How many were held, or came in a second.
    pub amount: f64,
    pub cpu_cores: f64,
    pub rss_bytes: Option<f64>,
}

impl Cost {
    /// From what was seen in the steps.
    pub fn of(per: Per, points: Vec<Point>, left_out: Vec<String>) -> Self {
        let cpu: Vec<_> = points
            .iter()
            .map(|it| (it.amount, it.cpu_cores * 1e9))
            .collect();
        let memory: Vec<_> = points
            .iter()
            .filter_map(|it| Some((it.amount, it.rss_bytes?)))
            .collect();
        Self {
            per,
            about: per.about(),
            cpu_ns: each(&cpu, &left_out, duration::show_nanos),
            memory_bytes: match per.is_held() {
                true => each(&memory, &left_out, Bytes::show),
                false => Figure::missing("it holds nothing"),
            },
            points,
            left_out,
        }
    }

    /// Not measured at all, for this reason.
    pub fn missing(per: Per, why: &str) -> Self {
        Self {
            per,
            about: per.about(),
            cpu_ns: Figure::missing(why),
            memory_bytes: Figure::missing(why),
            points: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// Whether enough steps were of use: then a cost that noise hides has a bound at least.
    pub fn was_measured(&self) -> bool {
        self.points.len() >= Line::FEWEST
    }
}

/// The line, or why there is none to be told.
fn each(
    points: &[(f64, f64)],
    left_out: &[String],
    show: impl Fn(f64) -> String,
) -> Figure<UnitCost> {
    match Line::through(points) {
        Some(line) if line.rises() => Figure::Known(UnitCost {
            each: line.each,
            error: line.error,
            bend: line.bend,
        }),
        Some(line) if line.each + line.error > 0.0 => Figure::missing(format!(
            "cannot be told from noise: less than {}",
            show(line.each + line.error)
        )),
        Some(_) => Figure::missing("cannot be told from noise: it fell while there was more"),
        None => Figure::missing(match left_out.first() {
            Some(why) => format!("{} steps were of use: {why}", points.len()),
            None => format!("{} steps were of use, too few for a line", points.len()),
        }),
    }
}

/// More than this from a straight line is worth a word.
const BENT: f64 = 0.05;

fn told(figure: &Figure<UnitCost>, show: impl Fn(f64) -> String) -> String {
    match figure {
        Figure::Known(it) => format!("{} ± {}", show(it.each), show(it.error)),
        Figure::Missing { .. } => "n/a".to_owned(),
    }
}

/// For people.
pub fn draw(out: &mut String, it: &Table) -> fmt::Result {
    let process = it.process.as_deref().unwrap_or("process");
    writeln!(out, "{}, {}, {}", it.url, it.server, it.security)?;
    writeln!(
        out,
        "{process} {}, steps of {}\n",
        it.pid,
        duration::show_ns(it.step_ns)
    )?;
    writeln!(
        out,
        "{:<18} {:>24}   {:>24}",
        "each", "server CPU", "server memory"
    )?;
    for cost in &it.costs {
        let cpu = told(&cost.cpu_ns, duration::show_nanos);
        let cpu = match (cost.per.is_held(), cost.cpu_ns.known()) {
            (true, Some(_)) => cpu + " /s",
            _ => cpu,
        };
        let memory = match cost.per.is_held() {
            true => told(&cost.memory_bytes, Bytes::show),
            false => String::new(),
        };
        let line = format!("{:<18} {cpu:>24}   {memory:>24}", cost.per.name());
        writeln!(out, "{}", line.trim_end())?;
    }
    writeln!(out)?;
    for cost in &it.costs {
        writeln!(out, "{:<18} {}", cost.per.name(), cost.about)?;
        for (what, figure) in [("CPU", &cost.cpu_ns), ("memory", &cost.memory_bytes)] {
            match figure {
                Figure::Known(it) => {
                    if let Some(bend) = it.bend.filter(|bend| *bend > BENT) {
                        let percent = bend * 100.0;
                        writeln!(
                            out,
                            "  {what}: not a straight line, {percent:.0} % of the rise off in the middle; it depends on how many there are"
                        )?;
                    }
                }
                Figure::Missing { not_available } if what == "CPU" || cost.per.is_held() => {
                    writeln!(out, "  {what} n/a: {not_available}")?;
                }
                Figure::Missing { .. } => {}
            }
        }
        if let Some(why) = cost.left_out.first() {
            writeln!(out, "  {} steps left out: {why}", cost.left_out.len())?;
        }
    }
    if it.interrupted {
        writeln!(out, "\ninterrupted: what follows was not measured")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn points(cores: impl Fn(f64) -> f64) -> Vec<Point> {
        let point = |n: i32| Point {
            amount: f64::from(n) * 100.0,
            cpu_cores: cores(f64::from(n) * 100.0) + f64::from(n % 3) * 1e-6,
            rss_bytes: Some(1e7 + 2048.0 * f64::from(n) * 100.0),
        };
        (0..8).map(point).collect()
    }

    #[test]
    fn the_cost_of_each_is_the_slope_and_noise_is_told_as_a_bound() {
        let cost = Cost::of(Per::Session, points(|n| 0.001 + n * 20e-6), Vec::new());
        let cpu = cost.cpu_ns.known().unwrap();
        assert!((cpu.each - 20_000.0).abs() < 20.0, "{cpu:?}");
        let memory = cost.memory_bytes.known().unwrap();
        assert!(
            (memory.each - 2048.0).abs() < 1e-6 && memory.bend.is_none(),
            "{memory:?}"
        );
        let cost = Cost::of(Per::Item, points(|_| 0.01), vec!["5 items: Bad".into()]);
        let Figure::Missing { not_available } = &cost.cpu_ns else {
            unreachable!("{cost:?}")
        };
        assert!(not_available.contains("less than"), "{not_available}");
        let cost = Cost::of(
            Per::Item,
            points(|_| 0.01)[..3].to_vec(),
            vec!["5 items: Bad".into()],
        );
        let Figure::Missing { not_available } = &cost.cpu_ns else {
            unreachable!("{cost:?}")
        };
        assert_eq!(not_available, "3 steps were of use: 5 items: Bad");
    }
}
