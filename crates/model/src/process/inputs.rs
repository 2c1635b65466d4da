//! What of a workload a process looks at.

use record::average::mean;
use serde::{Deserialize, Serialize};

use crate::matrix::{Matrix, norm, unexplained};
use crate::workload::{Security, Workload};

/// A quantity of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Sessions.
    Sessions,
    /// Monitored items of all sessions.
    Items,
    /// Subscriptions of each session.
    Subscriptions,
    /// Publishing interval.
    Publishing,
    /// Sampling interval.
    Sampling,
    /// How often values change.
    Change,
    /// Variables that change.
    Variables,
    /// Values kept for each item.
    Queue,
    /// Bytes of a value.
    Payload,
    /// Read requests per second.
    Reads,
    /// Write requests per second.
    Writes,
    /// Operations in each request.
    Batch,
    /// Whether messages are signed.
    Signed,
    /// Whether they are encrypted, too.
    Encrypted,
}

impl Quantity {
    const ALL: [Self; 14] = [
        Self::Sessions,
        Self::Items,
        Self::Subscriptions,
        Self::Publishing,
        Self::Sampling,
        Self::Change,
        Self::Variables,
        Self::Queue,
        Self::Payload,
        Self::Reads,
        Self::Writes,
        Self::Batch,
        Self::Signed,
        Self::Encrypted,
    ];

    /// As people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Items => "items",
            Self::Subscriptions => "subscriptions of each session",
            Self::Publishing => "publishing interval",
            Self::Sampling => "sampling interval",
            Self::Change => "change interval",
            Self::Variables => "variables",
            Self::Queue => "queue",
            Self::Payload => "bytes of a value",
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Batch => "batch",
            Self::Signed => "signed",
            Self::Encrypted => "encrypted",
        }
    }

    /// Amounts as logarithms: a load is twice as large, not so much larger.
    fn of(self, it: &Workload) -> f64 {
        let amount = match self {
            Self::Sessions => it.sessions,
            Self::Items => it.all_items(),
            Self::Subscriptions => it.subscriptions,
            Self::Publishing => it.publishing_ms,
            Self::Sampling => it.sampling_ms,
            Self::Change => it.change_ms,
            Self::Variables => it.variables,
            Self::Queue => it.queue,
            Self::Payload => it.payload_bytes,
            Self::Reads => it.reads_per_s,
            Self::Writes => it.writes_per_s,
            Self::Batch => it.batch,
            Self::Signed => return f64::from(u8::from(it.security != Security::None)),
            Self::Encrypted => {
                return f64::from(u8::from(it.security == Security::SignAndEncrypt));
            }
        };
        libm::log(1.0 + amount)
    }
}

/// A quantity, brought to mean 0 and deviation 1 over what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Which.
    pub quantity: Quantity,
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation.
    pub deviation: f64,
}

/// Less than this share of a quantity's variance of its own, and it says nothing that others do not.
const OWN: f64 = 1e-3;

impl Input {
    /// Where a workload lies on it.
    pub fn of(&self, workload: &Workload) -> f64 {
        (self.quantity.of(workload) - self.mean) / self.deviation
    }

    /// Those that differ over workloads and are no combination of others.
    pub fn all(workloads: &[&Workload]) -> Vec<Self> {
        let n = workloads.len() as f64;
        let mut found: Vec<Self> = Vec::new();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for quantity in Quantity::ALL {
            let values: Vec<f64> = workloads.iter().map(|it| quantity.of(it)).collect();
            let mean = mean(&values).unwrap_or(0.0);
            let column: Vec<f64> = values.iter().map(|it| it - mean).collect();
            let deviation = norm(&column) / n.sqrt();
            if deviation < 1e-6 {
                continue;
            }
            let others = Matrix::of_columns(columns.clone());
            let own = unexplained(&others, &column).map_or(0.0, |rest| norm(&rest));
            if own * own < OWN * norm(&column) * norm(&column) {
                continue;
            }
            columns.push(column);
            found.push(Self {
                quantity,
                mean,
                deviation,
            });
        }
        found
    }
}
