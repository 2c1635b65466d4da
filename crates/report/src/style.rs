//! Colours, where they are wanted.

use std::fmt::Display;
use std::io::IsTerminal;

/// Whether words are coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    colour: bool,
}

/// How a word stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextStyle {
    Good,
    Warning,
    Bad,
    Bold,
    Faint,
}

impl Style {
    /// Text only.
    pub const PLAIN: Self = Self { colour: false };
    /// With colours.
    pub const COLOUR: Self = Self { colour: true };

    /// Colours only for a terminal that knows them, and never against the user's will
    /// (<https://no-color.org>). `variable` reads the environment.
    pub fn detect(
        stream: &impl IsTerminal,
        variable: impl Fn(&str) -> Option<std::ffi::OsString>,
    ) -> Self {
        let set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
        let dumb = variable("TERM").is_some_and(|term| term == "dumb");
        Self {
            colour: stream.is_terminal() && !set("NO_COLOR") && !dumb,
        }
    }

    pub(crate) fn ink(self, ink: TextStyle, text: impl Display) -> String {
        let code = match ink {
            TextStyle::Good => "1;32",
            TextStyle::Warning => "1;33",
            TextStyle::Bad => "1;31",
            TextStyle::Bold => "1",
            TextStyle::Faint => "2",
        };
        match self.colour {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_string(),
        }
    }
}
