//! What watching costs the machine that is watched.

use std::time::Instant;

use observe::Process;
use record::run::Figure;
use serde::Serialize;

/// The account of this process.
pub struct Cost {
    own: Process,
    began: Instant,
    before: observe::Figure<std::time::Duration>,
    looks: u64,
}

/// What it came to.
#[derive(Debug, Clone, Serialize)]
pub struct Spent {
    /// How often it was looked.
    pub looks: u64,
    /// CPU of this process, all of it: looking, writing, drawing, being scraped.
    pub cpu_ns: Figure<u64>,
    /// Of one core, between 0 and 1.
    pub cores: Figure<f64>,
}

impl Cost {
    /// From now on.
    pub fn begin() -> Self {
        let own = Process::own();
        Self {
            began: Instant::now(),
            before: own.cpu(),
            own,
            looks: 0,
        }
    }

    /// Once more.
    pub const fn looked(&mut self) {
        self.looks += 1;
    }

    /// Up to now.
    pub fn end(self) -> Spent {
        let cpu = self
            .own
            .cpu()
            .and_then(|now| Ok(now.saturating_sub(self.before?)));
        let long = self.began.elapsed().as_secs_f64();
        Spent {
            looks: self.looks,
            cpu_ns: cpu.clone().map(plan::unit::duration::nanos).into(),
            cores: cpu
                .map(|it| it.as_secs_f64() / long.max(f64::MIN_POSITIVE))
                .into(),
        }
    }
}
