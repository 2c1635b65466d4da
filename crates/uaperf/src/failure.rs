//! How the program fails: what happened, where, what to type next; and the exit
//! code that scripts rely on.

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;

use judge::Exit;

use crate::screen::{self, tell};
use crate::written;

/// Nothing could be measured, or the operation failed.
const FAILED: u8 = 1;
/// The arguments do not make sense together.
const USAGE: u8 = 2;

/// A failure that knows its exit code and what to try next.
#[derive(Debug)]
pub struct Failure {
    what: String,
    hint: Option<String>,
    code: u8,
    most: Option<u32>,
}

impl Failure {
    /// The operation failed: exit code 1.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: None,
            code: FAILED,
            most: None,
        }
    }

    /// The arguments are wrong in a way that only shows later: exit code 2.
    pub fn usage(what: impl Into<String>) -> Self {
        Self {
            code: USAGE,
            ..Self::new(what)
        }
    }

    /// Somebody did not want to wait: exit code 130.
    pub fn interrupted() -> Self {
        Self {
            code: Exit::Interrupted.code(),
            ..Self::new("interrupted before anything was measured")
        }
    }

    /// What to type next.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Something was too large, and this is the most.
    pub fn at_most(mut self, most: u32) -> Self {
        self.most = Some(most);
        self
    }

    /// The most that would have been taken, of something that was too large.
    pub const fn most(&self) -> Option<u32> {
        self.most
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Failure {}

/// Prints the error with its causes and its hint, and gives the exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    tell!("error: {error:#}");
    let failure = error.downcast_ref::<Failure>();
    if let Some(hint) = failure.and_then(|failure| failure.hint.as_ref()) {
        tell!("  try: {hint}");
    }
    ExitCode::from(failure.map_or(FAILED, |failure| failure.code))
}

/// Reports the files that could not be written. Then the exit code is 1, unless it says already that something
/// else went wrong than a measurement can.
pub fn with_lost(code: ExitCode) -> ExitCode {
    // What is still on its way to standard output may find the disk full as well.
    let _ = screen::out().flush();
    let lost = written::take_lost();
    if lost.is_empty() {
        return code;
    }
    for it in lost {
        report(&it.into());
    }
    let stays = [USAGE, Exit::Interrupted.code()];
    match stays.into_iter().any(|stays| code == ExitCode::from(stays)) {
        true => code,
        false => ExitCode::from(FAILED),
    }
}
