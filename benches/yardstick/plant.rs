//! The plant in a process of its own: this program, started once more.

use anyhow::Context;
use benches::child::{self, Plant};
use plant::{Config, Profile};

use crate::place::pin;

/// The first argument that makes this program a plant.
pub const ROLE: &str = "--serve-plant";

/// How a plant is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Loops that serve connections.
    pub threads: usize,
    /// Held to this core.
    pub core: Option<usize>,
    /// Polls without sleeping, and offers no security: it starts and ends within a turn.
    pub spin: bool,
}

/// Starts one.
pub fn start(shape: Shape) -> anyhow::Result<Plant> {
    let threads = shape.threads.to_string();
    let core = shape.core.map_or("any".into(), |core| core.to_string());
    let mut words = vec![ROLE, &threads, &core];
    words.extend(shape.spin.then_some("spin"));
    Plant::start(&words)
}

/// Is a plant until standard input ends.
pub fn serve(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let threads = arguments.next().context("how many threads?")?.parse()?;
    let core = arguments.next().and_then(|core| core.parse().ok());
    let spin = arguments.next().is_some_and(|word| word == "spin");
    // Before any thread is started: they inherit it.
    pin(core)?;
    child::serve(Config {
        identity: match spin {
            true => None,
            false => Some(child::identity("urn:uaperf:yardstick:plant")?),
        },
        profiles: vec![Profile::Bench { update: None }],
        threads,
        spin,
        ..Config::default()
    })
}
