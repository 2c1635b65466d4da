//! A step of load that is made for a power meter, so that its clock can be found out.

use std::time::Duration;

use load::engine::Control;
use plan::Targets;

use super::{Common, asked, definition};
use crate::failure::Failure;
use crate::global::Global;

/// One session that has so many Reads on their way keeps most servers as busy as they can be.
const WORDS: &str = "--in-flight 16 --warmup 0s --quiet";

/// Reads as fast as the servers answer, for so long: when that began and when it ended, in seconds since 1970.
pub fn make(
    common: &Common,
    targets: &Targets,
    long: Duration,
    control: &Control,
    global: &Global,
) -> anyhow::Result<(f64, f64)> {
    let mut words: Vec<String> = targets.urls().iter().map(ToString::to_string).collect();
    words.extend(WORDS.split(' ').map(str::to_owned));
    words.push(format!("--duration={}ms", long.as_millis()));
    // There is one for this name.
    let typed = definition("read")
        .unwrap_or_default()
        .no_binary_name(true)
        .try_get_matches_from(words)
        .map_err(|error| Failure::usage(crate::usage::in_one_line(&error)))?;
    let read = asked("read", &typed)?.through(common.access.clone());
    let targets = read.targets()?;
    let phase = read.phase(targets.len())?;
    let control = control.for_measurement();
    let run = read
        .measure(&targets, &phase, &control, global)
        .map_err(|error| error.context("--meter-align: no step of load could be made"))?;
    let phase = run.phases.first();
    let phase = phase.ok_or_else(|| Failure::new("--meter-align: no step of load was made"))?;
    let began = phase.started.unix_ns() as f64 / 1e9;
    Ok((began, began + phase.end_ns as f64 / 1e9))
}
