//! Files that are written whole or not at all, and read within bounds.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use zeroize::Zeroizing;

use super::{BrokenFile, StoreError, broken};
use crate::certificate::hex;
use crate::name::Name;

/// Revocation lists of large authorities weigh megabytes; nothing weighs more.
const MAX_BYTES: u64 = 32 << 20;

pub(super) fn failed(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(std::io::Error) -> StoreError {
    let path = path.to_owned();
    move |error| StoreError::File {
        action,
        path,
        error,
    }
}

/// The files of a folder by name, but for hidden ones; none when it is not there.
pub(super) fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(failed("read", folder))?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed("read", folder))?;
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if !hidden && entry.path().is_file() {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

pub(super) fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, BrokenFile> {
    let file = File::open(path).map_err(|error| broken(path, error))?;
    let mut bytes = Zeroizing::new(Vec::new());
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| broken(path, error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(broken(path, "more than 32 MiB"));
    }
    Ok(bytes)
}

pub(super) fn is_called_pem(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ["pem", "crt"].contains(&ending.to_ascii_lowercase().as_str()))
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_as(path, bytes, Care::Synced)
}

/// The same, but nobody else can read it.
pub(super) fn write_secret(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_as(path, bytes, Care::Secret)
}

/// The same, without waiting until it is on the disk.
pub(super) fn write_unsynced(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_as(path, bytes, Care::Unsynced)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Care {
    Synced,
    Secret,
    Unsynced,
}

fn write_as(path: &Path, bytes: &[u8], care: Care) -> Result<(), StoreError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    if let Some(folder) = path.parent() {
        make_folder(folder, false)?;
    }
    let unique = format!(
        ".{}-{}.tmp",
        std::process::id(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    );
    let temporary = path.with_file_name(unique);
    let written = create(&temporary, care == Care::Secret).and_then(|mut file| {
        file.write_all(bytes)?;
        match care {
            Care::Unsynced => Ok(()),
            Care::Synced | Care::Secret => file.sync_all(),
        }
    });
    let renamed = written.and_then(|()| fs::rename(&temporary, path));
    renamed.map_err(|error| {
        // Best effort: the first error is the one to report.
        let _ = fs::remove_file(&temporary);
        failed("write", path)(error)
    })
}

fn create(path: &Path, secret: bool) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    if secret {
        platform::file::private(&mut options);
    }
    options.open(path)
}

/// Makes a folder and those above it; a secret one is its owner's alone.
pub(super) fn make_folder(folder: &Path, secret: bool) -> Result<(), StoreError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    if secret {
        platform::file::private_folder(&mut builder);
    }
    builder.create(folder).map_err(failed("make", folder))
}

pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        // Another process was faster.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other.map_err(failed("remove", path)),
    }
}

/// Moves a file to another folder, where it replaces one of the same name.
pub(super) fn move_to(path: &Path, folder: &Path) -> Result<(), StoreError> {
    let Some(name) = path.file_name() else {
        return Ok(());
    };
    make_folder(folder, false)?;
    match fs::rename(path, folder.join(name)) {
        // Another process was faster.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other.map_err(failed("move", path)),
    }
}

/// Removes the oldest files until so many are left, with so many bytes in all; never `except`.
pub(super) fn keep_newest(
    folder: &Path,
    count: usize,
    bytes: u64,
    except: &Path,
) -> Result<(), StoreError> {
    let mut dated: Vec<(SystemTime, PathBuf, u64)> = in_folder(folder)?
        .into_iter()
        .filter(|path| path != except)
        .filter_map(|path| {
            let there = path.metadata().ok()?;
            Some((there.modified().ok()?, path, there.len()))
        })
        .collect();
    dated.sort();
    let mut room = bytes.saturating_sub(except.metadata().map_or(0, |there| there.len()));
    let newest = dated.iter().rev().take(count.saturating_sub(1));
    let kept = newest.take_while(|(_, _, length)| {
        let fits = *length <= room;
        room = room.saturating_sub(*length);
        fits
    });
    let surplus = dated.len() - kept.count();
    dated
        .iter()
        .take(surplus)
        .try_for_each(|(_, path, _)| remove(path))
}

/// `common name [thumbprint].ending`, with a common name that is safe as a file's
/// name: it comes from an unauthenticated client.
pub(super) fn name(subject: &Name, thumbprint: &[u8; 20], ending: &str) -> String {
    let common = subject.common_name().unwrap_or_default();
    let safe = |c: char| {
        if c.is_alphanumeric() || " -_.()+@,".contains(c) {
            c
        } else {
            '_'
        }
    };
    let common: String = common.chars().take(50).map(safe).collect();
    let common = common.trim_matches(|c: char| c == '.' || c.is_whitespace());
    let common = if common.is_empty() {
        "certificate"
    } else {
        common
    };
    format!("{common} [{}].{ending}", hex(thumbprint))
}
