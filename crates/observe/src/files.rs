//! The files by which Linux tells about itself. Elsewhere there are none, and every figure that
//! comes from them says so.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};

use platform::System;

use crate::figure::{Figure, NotAvailable};

/// No file of the kind is as long.
const MOST: u64 = 1 << 30;

/// The text of a file.
pub fn text(path: &str) -> Figure<String> {
    opened(path).map(|(_, text)| text)
}

/// A file and its text.
pub fn opened(path: &str) -> Figure<(File, String)> {
    here()?;
    let read = || -> io::Result<(File, String)> {
        let mut file = File::open(path)?;
        let text = rest(&mut file)?;
        Ok((file, text))
    };
    read().map_err(|error| refused(path, error.kind()))
}

/// What is left of a file.
pub fn rest(file: &mut File) -> io::Result<String> {
    // Files of /proc say that they are empty: who asks for their size, as `fs::read` does, asks in vain.
    let mut text = String::with_capacity(4096);
    file.take(MOST).read_to_string(&mut text)?;
    Ok(text)
}

/// The text of a file with one line.
pub fn line(path: &str) -> Figure<String> {
    let text = text(path)?;
    match text.trim() {
        "" => Err(NotAvailable::because(format!("{path} is empty"))),
        line => Ok(line.to_owned()),
    }
}

/// The names in a folder.
pub fn names(path: &str) -> Figure<Vec<String>> {
    here()?;
    let folder = fs::read_dir(path).map_err(|error| refused(path, error.kind()))?;
    let names = folder.flatten().map(|entry| entry.file_name());
    Ok(names.filter_map(|name| name.into_string().ok()).collect())
}

/// How many entries a folder has.
pub fn count(path: &str) -> Figure<u64> {
    here()?;
    // Since Linux 6.2 the size of /proc/PID/fd is the number of descriptors; before, it is 0.
    let size = fs::metadata(path)
        .map_err(|error| refused(path, error.kind()))?
        .len();
    match size {
        0 => Ok(names(path)?.len() as u64),
        size => Ok(size),
    }
}

fn here() -> Figure<()> {
    match System::IS_LINUX {
        true => Ok(()),
        false => Err(NotAvailable::here()),
    }
}

fn refused(path: &str, kind: ErrorKind) -> NotAvailable {
    NotAvailable::because(match kind {
        ErrorKind::NotFound => format!("there is no {path}"),
        ErrorKind::PermissionDenied => format!("{path} may not be read by this user"),
        other => format!("{path}: {other}"),
    })
}

/// A number that stands where it should.
pub fn number<'a>(words: &mut impl Iterator<Item = &'a str>, path: &str) -> Figure<u64> {
    words
        .next()
        .and_then(|word| word.parse().ok())
        .ok_or_else(|| NotAvailable::because(format!("{path} is not as proc(5) describes it")))
}

/// The number behind `key:` in a file of lines `key: value unit`.
pub fn keyed(text: &str, key: &str, path: &str) -> Figure<u64> {
    let line = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name == key).then_some(value)
    });
    match line {
        Some(value) => number(&mut value.split_whitespace(), path),
        None => Err(NotAvailable::because(format!("{path} has no {key}"))),
    }
}
