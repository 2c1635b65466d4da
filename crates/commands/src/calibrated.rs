//! What `uaperf calibrate` kept of this host, for whoever holds something beside it.

use std::path::PathBuf;

use load::calibrate::Calibration;
use plan::unit::Rate;

use crate::failure::Failure;
use crate::place;

/// Where the calibration of this host is kept.
pub fn file() -> anyhow::Result<PathBuf> {
    Ok(place::configuration()?.join("calibration.json"))
}

/// From this share on, a server that could do more would not show it.
const NEAR: f64 = 0.8;

/// What was kept of a calibration, if anything was.
pub fn kept() -> Option<Calibration> {
    serde_json::from_slice(&std::fs::read(file().ok()?).ok()?).ok()
}

/// Whether a calibration is of this host and build; nothing if there is none.
pub fn is_current() -> Option<bool> {
    Some(kept()?.is_of(&observe::fingerprint()))
}

/// How fast this host is: values in a second that one thread asked of the built-in server.
pub fn speed() -> Result<f64, Failure> {
    let current = kept().filter(|it| it.is_of(&observe::fingerprint()));
    let speed = current.and_then(|it| it.values_per_s(u32::MAX));
    speed.ok_or_else(|| {
        Failure::usage("the speed of this host was not measured with this build")
            .hint("uaperf calibrate")
    })
}

/// How much of what this host can do a load was: to be said beside a result. Nothing if it was
/// never calibrated, or as another build.
pub fn headroom(values_per_s: f64, batch: u32, threads: u32) -> Option<String> {
    let calibration = kept()?;
    if !calibration.is_of(&observe::fingerprint()) {
        return None;
    }
    let most = calibration.values_per_s(batch)? * f64::from(threads.max(1));
    let share = values_per_s / most;
    Some(format!(
        "{:.0} % of the {} values that {} asked of the built-in server when this host was calibrated{}",
        share * 100.0,
        Rate::show(most),
        match threads {
            0 | 1 => "one thread".to_owned(),
            n => format!("{n} threads"),
        },
        match share >= NEAR {
            true => ": the generator may be the limit, which more --threads would show",
            false => "",
        }
    ))
}
