//! The plant, in a process of its own, whose memory and descriptors are looked at.

use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use benches::child::{self, Plant};
use plant::{Config, PasswordHash, Profile, TrustPolicy};

use crate::places;

/// The word that makes this program a plant.
pub const ROLE: &str = "serve";

/// A session that is not heard of ends so soon, so that what dead clients leave can be waited for; a channel
/// that does not open is forgotten after this time, too.
pub const FORGOTTEN: Duration = Duration::from_secs(10);

/// The plant that is measured.
pub fn start(folder: &str, threads: usize) -> anyhow::Result<Plant> {
    Plant::start(&[ROLE, folder, &threads.to_string(), ""])
}

/// One like it, where the attackers are: who attacks it costs the good session only what the machine makes of it.
pub fn start_elsewhere(folder: &str, threads: usize) -> anyhow::Result<Plant> {
    Plant::start(&[ROLE, folder, &threads.to_string(), ELSEWHERE])
}

const ELSEWHERE: &str = "elsewhere";

/// Signals with a history.
pub const HISTORIES: RangeInclusive<u32> = 1..=50;

/// They are behind the bench address space.
const REMEMBERED: &str = r#"
[[namespace]]
uri = "urn:uaperf:hostile:history"

[[namespace.signals]]
ids = "i=1..50"
type = "Double"
pattern = "counter"
update = "100ms"
history = true
"#;

/// Is a plant until standard input ends: it trusts nobody, and knows one user.
pub fn serve(mut words: impl Iterator<Item = String>) -> anyhow::Result<()> {
    places::come_as_any();
    let folder = words.next().context("which folder?")?;
    let threads = words.next().context("how many threads?")?.parse()?;
    let elsewhere = words.next().is_some_and(|word| word == ELSEWHERE);
    if elsewhere {
        places::keep_to(&places::attackers(threads));
    }
    let remembered = plant::Plant::parse(REMEMBERED, "histories", Path::new(""))?;
    let mut config = Config {
        identity: Some(child::identity("urn:uaperf:hostile:plant")?),
        trust: TrustPolicy::from(pki::Store::new(folder)),
        profiles: vec![
            Profile::Bench {
                update: Some(Duration::from_millis(100)),
            },
            Profile::Plant(Arc::new(remembered)),
        ],
        threads,
        pin: match elsewhere {
            true => Vec::new(),
            false => places::loops(threads),
        },
        ..Config::default()
    };
    const ROUNDS: NonZeroU32 = NonZeroU32::MIN.saturating_add(9_999);
    let hash = PasswordHash::new(b"right", [7; 16], ROUNDS);
    config.users.passwords.push(("operator".into(), hash));
    config.limits.session_timeout = Duration::from_millis(100)..=FORGOTTEN;
    observe::limits::raise_descriptors(config.limits.connections as u64 + 200).ok();
    child::serve(config)
}
