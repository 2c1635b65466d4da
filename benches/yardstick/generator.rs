//! The generator: crate `load`, as the program uses it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use load::access::{Access, Security, TrustRule};
use load::engine::{self, Control, Options, Outcome, Target};
use pki::Store;
use plan::{Arrival, NodeSpec, Nodes, Pace, Phase, Read, Timestamps, Warmup};
use record::Measure;
use wire::channel::Protection;

use crate::slice::{Slice, Work};

/// A server that was looked at; each turn has a session of its own.
pub struct Generator {
    target: Arc<Target>,
    core: Option<usize>,
}

/// Requests of an open loop, one by one.
#[derive(Debug, Clone, Copy)]
pub struct Paced {
    /// A second, evenly spaced.
    pub rate: u32,
    pub spin: bool,
}

impl Generator {
    pub fn connect(
        url: &str,
        protection: Protection,
        folder: &Path,
        core: Option<usize>,
    ) -> anyhow::Result<Self> {
        let access = Access {
            security: Security::Exactly(protection),
            trust: TrustRule::Everyone,
            ..Access::new(
                url.parse()?,
                Store::new(folder),
                pki::make::Request::application("urn:uaperf:yardstick:load").dns("localhost"),
            )
        };
        let target = Arc::new(Target::look(access).map_err(|failed| failed.1)?);
        Ok(Self { target, core })
    }

    /// Closed loop.
    pub fn read(&self, work: Work, coalesce: u32, duration: Duration) -> anyhow::Result<Slice> {
        let arrival = Arrival::Closed {
            in_flight: u32::try_from(work.in_flight)?,
            think: Duration::ZERO,
        };
        let phase = Phase {
            coalesce,
            ..phase(work.batch, arrival, work.spin, duration)?
        };
        let outcome = self.run(&phase)?;
        let mut slice = slice(&outcome)?;
        if work.in_flight != 1 {
            slice.p50 = None;
        }
        Ok(slice)
    }

    /// Open loop: how late the pacer was counts.
    pub fn paced(&self, paced: Paced, duration: Duration) -> anyhow::Result<Slice> {
        let arrival = Arrival::Open(Pace::Constant {
            rate: format!("{}/s", paced.rate).parse()?,
        });
        let outcome = self.run(&phase(1, arrival, paced.spin, duration)?)?;
        let slice = slice(&outcome)?;
        let window = outcome.total().first().map(|tally| tally.whole());
        let late = window.and_then(|window| window.histogram(Measure::Pacer).quantile(0.99));
        Ok(Slice {
            late_p99: late.map(Duration::from_nanos),
            p50: None,
            ..slice
        })
    }

    fn run(&self, phase: &Phase) -> anyhow::Result<Outcome> {
        let prepared = Arc::new(self.target.prepare(phase, true)?);
        let options = Options {
            pin: self.core.into_iter().collect(),
            ..Options::default()
        };
        let target = Arc::clone(&self.target);
        let control = Control::default();
        let outcome = engine::run(phase, &[target], &[prepared], &options, &control, |_| {})?;
        if let Some((_, loss)) = outcome.losses.first() {
            bail!("the session was lost: {}", loss.reason);
        }
        Ok(outcome)
    }
}

fn phase(batch: usize, arrival: Arrival, spin: bool, duration: Duration) -> anyhow::Result<Phase> {
    let node: NodeSpec = match batch {
        1 => "nsu=urn:bench;i=1000".parse()?,
        _ => format!("nsu=urn:bench;i=1000..{}", 999 + batch).parse()?,
    };
    let read = Read {
        batch: u32::try_from(batch)?,
        timestamps: Timestamps::Neither,
        ..Read::new(Nodes::from(node))
    };
    Ok(Phase {
        arrival,
        duration: Some(duration),
        warmup: Warmup::Given {
            warmup: Duration::ZERO,
        },
        spin,
        ..Phase::new(plan::Work::Read(read))
    })
}

fn slice(outcome: &Outcome) -> anyhow::Result<Slice> {
    let total = outcome.total();
    let Some(tally) = total.first() else {
        bail!("nothing was written down");
    };
    let window = tally.whole();
    let sum = |of: fn(&engine::LoopSpent) -> Option<u64>| -> Option<u64> {
        outcome.cores.iter().map(of).sum()
    };
    let response = window.histogram(Measure::Response);
    Ok(Slice {
        calls: window.sum.counters.completed,
        bad: window.sum.statuses.bad() + window.sum.value_statuses.bad(),
        elapsed: Duration::from_nanos(outcome.drained_ns),
        client_cpu: sum(|core| core.cpu_ns).map(Duration::from_nanos),
        reads: sum(|core| Some(core.reads)),
        p50: response.quantile(0.5).map(Duration::from_nanos),
        ..Slice::default()
    })
}
