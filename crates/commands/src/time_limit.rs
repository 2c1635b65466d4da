//! Whether a command was interrupted because its time (`--max-time`) is over.

use std::sync::OnceLock;
use std::time::Duration;

use judge::EndedBy;

static REACHED: OnceLock<Duration> = OnceLock::new();

/// The time is over.
pub fn reach(limit: Duration) {
    REACHED.get_or_init(|| limit);
}

/// What interrupted the command.
pub fn by() -> EndedBy {
    match REACHED.get() {
        Some(&allowed) => EndedBy::Limit { allowed },
        None => EndedBy::Interrupt,
    }
}

/// The same in words.
pub fn why() -> String {
    by().to_string()
}
