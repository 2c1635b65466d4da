//! A failure of the program: what happened, where, what to type next, and the exit code that scripts rely on.

use std::fmt;

use judge::Exit;

/// Nothing could be measured, or the operation failed.
pub const FAILED: u8 = 1;
/// The arguments do not make sense together.
pub const USAGE: u8 = 2;

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

    /// What to type next, if that is known.
    pub fn next(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The exit code.
    pub const fn code(&self) -> u8 {
        self.code
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
