//! The session that means well: a read a millisecond, and how long its answers take.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use load::access::{Access, Credentials, Security, TrustRule};
use load::engine::{self, Control, Options, Target};
use load::work::Prepared;
use pki::Store;
use plan::unit::Rate;
use plan::{Arrival, NodeSpec, Nodes, Pace, Phase, Read, Warmup, Work};
use record::Measure;

/// Reads of the good session in a second.
const RATE: u32 = 1_000;

/// How to get to the plant.
pub fn access(
    url: &str,
    security: Security,
    folder: &Path,
    user: Credentials,
) -> anyhow::Result<Access> {
    Ok(Access {
        security,
        trust: TrustRule::Everyone,
        user,
        plain_password: true,
        timeout: Duration::from_secs(30),
        ..Access::new(
            url.parse()?,
            Store::new(folder),
            pki::make::Request::application("urn:uaperf:hostile"),
        )
    })
}

pub struct Good {
    target: Arc<Target>,
    prepared: Arc<Prepared>,
    phase: Phase,
    /// The processor it runs on.
    place: usize,
}

/// What a stretch of it brought.
#[derive(Debug)]
pub struct Stretch {
    /// The 99th percentile of each second, in nanoseconds.
    pub p99s: Vec<f64>,
    pub errors: u64,
}

/// What settles first.
const WARMUP: Duration = Duration::from_millis(200);

impl Good {
    pub fn new(url: &str, folder: &Path, stretch: Duration, place: usize) -> anyhow::Result<Self> {
        let plain = Security::Exactly(wire::channel::Protection::NONE);
        let access = access(url, plain, folder, Credentials::Anonymous)?;
        let target = Arc::new(Target::look(access).map_err(|failed| failed.1)?);
        let node: NodeSpec = "nsu=urn:bench;i=1000..1009".parse()?;
        let rate = Rate::per_second(RATE).ok_or_else(|| anyhow::anyhow!("no such rate"))?;
        let phase = Phase {
            arrival: Arrival::Open(Pace::Constant { rate }),
            duration: Some(stretch),
            warmup: Warmup::Given { warmup: WARMUP },
            ..Phase::new(Work::Read(Read {
                batch: 10,
                ..Read::new(Nodes::from(node))
            }))
        };
        let prepared = Arc::new(target.prepare(&phase, true)?);
        Ok(Self {
            target,
            prepared,
            phase,
            place,
        })
    }

    /// Reads for a while.
    pub fn stretch(&self) -> anyhow::Result<Stretch> {
        let outcome = engine::run(
            &self.phase,
            &[Arc::clone(&self.target)],
            &[Arc::clone(&self.prepared)],
            &Options {
                pin: vec![self.place],
                ..Options::default()
            },
            &Control::default(),
            |_| {},
        )?;
        let total = outcome.total();
        let tally = total
            .first()
            .ok_or_else(|| anyhow::anyhow!("nothing was measured"))?;
        let at = |second: u64| (WARMUP + Duration::from_secs(second)).as_nanos() as u64;
        let p99s = (0..self.seconds()).filter_map(|second| {
            let window = tally.window(at(second), at(second + 1));
            window.histogram(Measure::Response).quantile(0.99)
        });
        let all = tally.window(at(0), u64::MAX);
        Ok(Stretch {
            p99s: p99s.map(|p99| p99.max(1) as f64).collect(),
            errors: all.sum.statuses.bad() + outcome.losses.len() as u64,
        })
    }

    /// Whole ones behind what settles.
    fn seconds(&self) -> u64 {
        let stretch = self.phase.duration.unwrap_or_default();
        stretch.saturating_sub(WARMUP).as_secs()
    }
}
