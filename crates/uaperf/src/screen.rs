//! What a command prints: a screen for people, or JSON for machines.

use std::fmt;
use std::io::{self, Write as _};

use serde::Serialize;

/// Writes a screen of it into a text.
pub type Draw<T> = fn(&mut String, &T) -> fmt::Result;

/// A screen of text.
pub fn text<T>(it: &T, draw: Draw<T>) -> String {
    let mut out = String::new();
    // Writing into a String does not fail.
    let _ = draw(&mut out, it);
    out
}

/// Prints a screen of it, or all of it as JSON.
pub fn print<T: Serialize>(it: &T, as_json: bool, draw: Draw<T>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match as_json {
        true => json(&mut out, it),
        false => out.write_all(text(it, draw).as_bytes()),
    }
}

/// Writes it as JSON, with a line's end.
pub fn json(out: &mut impl io::Write, it: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, it)?;
    writeln!(out)
}
