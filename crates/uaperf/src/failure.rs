//! How the program fails: what happened, where, what to type next; and the exit
//! code that scripts rely on.

use std::fmt;
use std::io;
use std::process::ExitCode;

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
    // `uaperf … | head` is not a failure.
    if let Some(io) = error.downcast_ref::<io::Error>()
        && io.kind() == io::ErrorKind::BrokenPipe
    {
        return ExitCode::SUCCESS;
    }
    eprintln!("error: {error:#}");
    let failure = error.downcast_ref::<Failure>();
    if let Some(hint) = failure.and_then(|failure| failure.hint.as_ref()) {
        eprintln!("  try: {hint}");
    }
    ExitCode::from(failure.map_or(FAILED, |failure| failure.code))
}
