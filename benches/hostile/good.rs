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

use crate::places;
use crate::stolen::{self, Taken};

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
    /// Loops of the plant.
    threads: usize,
}

/// What a stretch of it brought.
#[derive(Debug)]
pub struct Stretch {
    /// The 99th percentile of each second that the host left alone, in nanoseconds.
    pub p99s: Vec<f64>,
    pub errors: u64,
}

/// What settles first.
const WARMUP: Duration = Duration::from_millis(200);

impl Good {
    pub fn new(url: &str, folder: &Path, threads: usize) -> anyhow::Result<Self> {
        let plain = Security::Exactly(wire::channel::Protection::NONE);
        let access = access(url, plain, folder, Credentials::Anonymous)?;
        let target = Arc::new(Target::look(access).map_err(|failed| failed.1)?);
        let node: NodeSpec = "nsu=urn:bench;i=1000..1009".parse()?;
        let rate = Rate::per_second(RATE).ok_or_else(|| anyhow::anyhow!("no such rate"))?;
        let phase = Phase {
            arrival: Arrival::Open(Pace::Constant { rate }),
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
            threads,
        })
    }

    /// Reads for so many seconds.
    pub fn stretch(&self, seconds: u64) -> anyhow::Result<Stretch> {
        let phase = Phase {
            duration: Some(WARMUP + Duration::from_secs(seconds)),
            ..self.phase.clone()
        };
        let stolen = stolen::watch(
            places::measured(self.threads),
            places::attackers(self.threads),
        );
        let outcome = engine::run(
            &phase,
            &[Arc::clone(&self.target)],
            &[Arc::clone(&self.prepared)],
            &Options {
                pin: vec![places::good(self.threads)],
                ..Options::default()
            },
            &Control::default(),
            |_| {},
        )?;
        let taken = Taken(stolen.finish());
        let total = outcome.total();
        let tally = total
            .first()
            .ok_or_else(|| anyhow::anyhow!("nothing was measured"))?;
        let p99s = (0..seconds).filter_map(|second| {
            let [from, to] = [second, second + 1].map(|at| WARMUP + Duration::from_secs(at));
            if !taken.nothing(outcome.began + from, outcome.began + to) {
                return None;
            }
            let reads = tally.window(from.as_nanos() as u64, to.as_nanos() as u64);
            reads.histogram(Measure::Response).quantile(0.99)
        });
        let all = tally.window(0, u64::MAX);
        Ok(Stretch {
            p99s: p99s.map(|p99| p99.max(1) as f64).collect(),
            errors: all.sum.statuses.bad() + outcome.losses.len() as u64,
        })
    }
}
