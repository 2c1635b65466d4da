//! Processors that threads are to stay on (`--pin`).

use observe::Tree;

use crate::failure::Failure;

/// Refuses processors that this process cannot be pinned to, before anything begins.
pub fn check(pins: &[usize]) -> Result<(), Failure> {
    if pins.is_empty() {
        return Ok(());
    }
    let allowed = observe::processors().map_err(|why| {
        Failure::usage(format!("--pin: cannot pin threads here: {}", why.reason()))
    })?;
    // Those that are isolated are no process's from the beginning, and everybody's who asks for them. Where the system does not
    // tell of them there are none.
    let isolated = observe::isolated(&Tree::here()).unwrap_or_default();
    match pins
        .iter()
        .find(|pin| !allowed.contains(pin) && !isolated.contains(pin))
    {
        None => Ok(()),
        Some(pin) => {
            let allowed: Vec<String> = allowed.iter().map(usize::to_string).collect();
            Err(Failure::usage(format!(
                "--pin {pin}: want processors that this process may use: {}",
                allowed.join(", ")
            )))
        }
    }
}
