//! Memory and bytes that a model says of loads.

use std::fmt::{self, Write as _};

use model::{Estimate, Model, Workload};
use serde::Serialize;

use super::show::{number, wrapped};

/// What a model says of a load besides CPU time.
#[derive(Debug, Clone, Serialize)]
pub struct Amounts {
    /// Memory of the server, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<Estimate>,
    /// Bytes of its messages to clients, in a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<Estimate>,
}

impl Amounts {
    pub fn of(model: &Model, workload: &Workload, level: f64) -> Self {
        Self {
            memory_bytes: model.memory(workload, level),
            bytes_per_s: model.bytes(workload, level),
        }
    }

    fn each(&self) -> impl Iterator<Item = (&'static str, &'static str, f64, &Estimate)> {
        let memory = self.memory_bytes.as_ref();
        let memory = memory.map(|it| ("memory", "MB", 1e-6, it));
        // As links are sold: bits.
        let sent = self.bytes_per_s.as_ref();
        let sent = sent.map(|it| ("sends", "Mbit/s", 8e-6, it));
        memory.into_iter().chain(sent)
    }

    /// A line for each, behind so many blanks.
    pub fn draw(&self, out: &mut String, indent: &str, width: usize) -> fmt::Result {
        for (name, unit, scale, it) in self.each() {
            let of = |it: f64| number(it * scale);
            let place = match it.extrapolated {
                Some((factor, term)) => format!("; {factor:.1} x the {}s measured", term.name()),
                None => String::new(),
            };
            writeln!(
                out,
                "{indent}{name:<width$}{} {unit} ({:.0} % interval {} to {}{place})",
                of(it.value),
                it.level * 100.0,
                of(it.low),
                of(it.high)
            )?;
            for unknown in &it.unknown {
                wrapped(out, &format!("{indent}not known {unknown}"))?;
            }
        }
        Ok(())
    }

    /// The same in columns of a table, without intervals.
    pub fn cells(&self) -> String {
        let cells = self.each().map(|(_, unit, scale, it)| {
            format!("{:>18}", format!("{} {unit}", number(it.value * scale)))
        });
        cells.collect()
    }
}
