//! What a command prints: a screen for people, or JSON for machines. Nothing else in the program writes to
//! standard output or standard error.
//!
//! Printing never fails. A reader who has gone (`| head -2`) ends the printing and nothing else: the work goes
//! on, and the exit code is the one that the result has. Output that a full disk did not take is a file that was
//! lost, and is reported as one.

use std::fmt;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use report::Style;
use serde::Serialize;

use crate::failure::Failure;
use crate::lost;

/// A line for people on standard error, whether or not anybody reads it.
macro_rules! tell {
    ($($what:tt)*) => {
        $crate::screen::line(format_args!($($what)*))
    };
}
pub(crate) use tell;

/// Writes a screen of it into a text.
pub type Draw<T> = fn(&mut String, &T) -> fmt::Result;

/// Nobody takes what is written to standard output any more.
static GONE: AtomicBool = AtomicBool::new(false);

/// Whether whoever read standard output has gone.
pub fn is_gone() -> bool {
    GONE.load(Ordering::Relaxed)
}

/// When words are coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Colour {
    /// On a terminal that shows colours, unless NO_COLOR is set
    Auto,
    /// Into files and pipes, too
    Always,
    /// Nowhere
    Never,
}

/// What was asked for.
static COLOUR: OnceLock<Colour> = OnceLock::new();

/// From now on it is so.
pub fn colour(when: Colour) {
    COLOUR.get_or_init(|| when);
}

/// Where a command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Out {
    /// Standard output.
    Output,
    /// Standard error, where standard output is taken by a file that was asked for (`--csv -`).
    Error,
}

/// A text from elsewhere, without what a terminal would take for a command.
pub fn plain(text: &str) -> String {
    let one = |it: char| if it.is_control() { ' ' } else { it };
    text.chars().map(one).collect()
}

/// So many of something: `1 device`, `2 devices`.
pub fn counted(n: impl fmt::Display, what: &str) -> String {
    let n = n.to_string();
    let ending = if n == "1" { "" } else { "s" };
    format!("{n} {what}{ending}")
}

/// Standard output.
pub fn out() -> Out {
    Out::Output
}

/// Standard error, for the output of a program that is started while standard output is a result's.
#[cfg(target_os = "linux")]
pub fn error_for_a_program() -> std::process::Stdio {
    io::stderr().into()
}

/// Standard output as it is, for a program that reads it: whoever writes is told when nobody does.
pub fn pipe() -> io::StdoutLock<'static> {
    io::stdout().lock()
}

impl Out {
    /// Standard error if a file goes to standard output, so that the two do not mix.
    pub fn beside_file(takes_output: bool) -> Self {
        match takes_output {
            true => Self::Error,
            false => Self::Output,
        }
    }

    /// Whether people look at it.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Output => io::stdout().is_terminal(),
            Self::Error => io::stderr().is_terminal(),
        }
    }

    /// Colours, as asked for; else if it is a terminal that wants them.
    pub fn style(self) -> Style {
        let variable = |name: &str| std::env::var_os(name);
        match (COLOUR.get(), self) {
            (Some(Colour::Always), _) => Style::COLOUR,
            (Some(Colour::Never), _) => Style::PLAIN,
            (_, Self::Output) => Style::detect(&io::stdout(), variable),
            (_, Self::Error) => Style::detect(&io::stderr(), variable),
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Error => {
                let _ = io::stderr().lock().write_all(bytes);
            }
            Self::Output if is_gone() => {}
            Self::Output => went(io::stdout().lock().write_all(bytes)),
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if *self == Self::Output && !is_gone() {
            went(io::stdout().lock().flush());
        }
        Ok(())
    }
}

/// Prints no more after an error, and reports one that is not a reader who has gone.
fn went(printed: io::Result<()>) {
    if let Err(error) = printed
        && !GONE.swap(true, Ordering::Relaxed)
        && error.kind() != ErrorKind::BrokenPipe
    {
        lost::add(Failure::new(format!(
            "cannot write to standard output: {error}"
        )));
    }
}

/// Whether a log is written to standard error.
static SHARED: AtomicBool = AtomicBool::new(false);

/// From now on standard error is a log's, too.
pub fn share() {
    SHARED.store(true, Ordering::Relaxed);
}

/// Whether lines of standard error may take each other's place: it is a terminal, and no log is written to it.
pub fn is_drawn_on() -> bool {
    io::stderr().is_terminal() && !SHARED.load(Ordering::Relaxed)
}

/// A line on standard error that takes the place of the one before, where a terminal is.
pub fn status(what: &str) {
    if is_drawn_on() {
        let _ = write!(io::stderr().lock(), "\r\x1b[K{what}");
    }
}

/// What `tell!` does.
pub fn line(what: fmt::Arguments<'_>) {
    let mut err = io::stderr().lock();
    let _ = err.write_fmt(what).and_then(|()| err.write_all(b"\n"));
}

/// A screen of text.
pub fn text<T>(it: &T, draw: Draw<T>) -> String {
    let mut out = String::new();
    // Writing into a String does not fail.
    let _ = draw(&mut out, it);
    out
}

/// Prints a screen of it, or all of it as JSON.
pub fn print<T: Serialize>(it: &T, as_json: bool, draw: Draw<T>) -> io::Result<()> {
    let mut out = out();
    match as_json {
        true => json(&mut out, it),
        false => out.write_all(text(it, draw).as_bytes()),
    }
}

/// Writes it as JSON, with a line's end.
pub fn json(out: &mut impl Write, it: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(it)?;
    text.push(b'\n');
    out.write_all(&text)
}
