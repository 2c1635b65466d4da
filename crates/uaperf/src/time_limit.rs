//! Whether a command was interrupted because its time (`--max-time`) is over.

use std::sync::OnceLock;
use std::time::Duration;

use plan::unit::duration;

static REACHED: OnceLock<Duration> = OnceLock::new();

/// The time is over.
pub fn reach(limit: Duration) {
    REACHED.get_or_init(|| limit);
}

/// The time limit, if it was that which interrupted the command.
pub fn reached() -> Option<Duration> {
    REACHED.get().copied()
}

/// What interrupted the command.
pub fn why() -> String {
    match reached() {
        Some(limit) => format!("time limit of {} reached", duration::typed(limit)),
        None => "interrupted".to_owned(),
    }
}
