//! The plant in a process of its own: this program, started once more.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use benches::child::{self, Plant};
use plant::{Config, Profile};

use crate::place::pin;

/// The first argument that makes this program a plant.
pub const ROLE: &str = "--serve-plant";

/// What it serves.
#[derive(Debug, Clone, Copy)]
pub enum Served {
    /// The bench address space, renewed this often.
    Bench { update: Duration },
    /// A million counters.
    Large,
}

/// Starts one.
pub fn start(served: Served, threads: usize, core: Option<usize>) -> anyhow::Result<Plant> {
    let core = core.map_or("any".into(), |core| core.to_string());
    let what = match served {
        Served::Bench { update } => update.as_millis().to_string(),
        Served::Large => "large".to_owned(),
    };
    Plant::start(&[ROLE, &threads.to_string(), &core, &what])
}

/// Is a plant until standard input ends.
pub fn serve(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let threads = arguments.next().context("how many threads?")?.parse()?;
    let core = arguments.next().and_then(|core| core.parse().ok());
    let what = arguments.next().context("what is to be served?")?;
    // Before any thread is started: they inherit it.
    pin(core)?;
    let profile = match what.as_str() {
        "large" => {
            let plant = Profile::named("large").context("no profile large")?;
            Profile::Plant(Arc::new(plant?))
        }
        millis => Profile::Bench {
            update: Some(Duration::from_millis(millis.parse()?)),
        },
    };
    let mut config = Config {
        profiles: vec![profile],
        threads,
        ..Config::default()
    };
    config.limits.items_per_subscription = 1_000_000;
    child::serve(config)
}
