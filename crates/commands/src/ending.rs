//! How the program ends: what failed and what was lost is said, and the exit code follows.

use std::io::Write as _;
use std::process::ExitCode;

use judge::Exit;

use crate::failure::Failure;
use crate::lost;
use crate::screen::{self, tell};

/// Prints the error with its causes and its hint, and gives the exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    tell!("error: {error:#}");
    let failure = error.downcast_ref::<Failure>();
    if let Some(hint) = failure.and_then(Failure::next) {
        tell!("  try: {hint}");
    }
    ExitCode::from(failure.map_or(Exit::Nothing, Failure::exit))
}

/// Reports the files that could not be written. Then the exit code is 1, unless it says already that something
/// else went wrong than a measurement can.
pub fn with_lost(code: ExitCode) -> ExitCode {
    // What is still on its way to standard output may find the disk full as well.
    let _ = screen::out().flush();
    let all = lost::take();
    if all.is_empty() {
        return code;
    }
    for it in all {
        report(&it.into());
    }
    let stays = [Exit::Usage, Exit::Interrupted];
    match stays.into_iter().any(|stays| code == ExitCode::from(stays)) {
        true => code,
        false => ExitCode::from(Exit::Nothing),
    }
}
