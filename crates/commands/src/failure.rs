//! A failure of the program: what happened, where, what to type next, and the exit code that scripts rely on.

use std::fmt;

use judge::Exit;

use crate::time_limit;

/// A failure that knows its exit code and what to try next.
#[derive(Debug)]
pub struct Failure {
    what: String,
    hint: Option<String>,
    exit: Exit,
    most: Option<u32>,
}

impl Failure {
    /// The operation failed: exit code 1.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: None,
            exit: Exit::Nothing,
            most: None,
        }
    }

    /// The arguments are wrong in a way that only shows later: exit code 2.
    pub fn usage(what: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            ..Self::new(what)
        }
    }

    /// Somebody did not want to wait: exit code 130.
    pub fn interrupted() -> Self {
        Self {
            exit: Exit::Interrupted,
            ..Self::new(format!(
                "{} before anything was measured",
                time_limit::why()
            ))
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

    /// What the program ends with.
    pub const fn exit(&self) -> Exit {
        self.exit
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
