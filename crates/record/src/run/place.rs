//! Where files go: a file is there as a whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// More links than these in a row lead in a circle.
const LINKS: usize = 40;

/// What is written to find out whether there is room.
const BLOCK: [u8; 4096] = [0; 4096];

/// Writes a file as a whole or not at all, and makes its folder. Symbolic links are followed: they stay, and what
/// they lead to is replaced. A device or a pipe is written to as it is.
pub fn replace(file: &Path, text: &[u8]) -> io::Result<()> {
    make_folder(file)?;
    place(text, file, true)
}

/// A file that is written as it grows, in a folder that is made if need be. A device or a pipe is written to as it
/// is.
pub fn create(file: &Path) -> io::Result<File> {
    if is_special(file, &target(file)) {
        return OpenOptions::new().append(true).open(file);
    }
    make_folder(file)?;
    File::create(file)
}

/// Where writing to this file ends up: symbolic links are followed, to a file that may not be there yet.
pub fn target(file: &Path) -> PathBuf {
    let mut at = file.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&at) {
            // A target that is not absolute is one beside the link.
            Ok(to) => at = at.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return at,
        }
    }
    at
}

/// Finds out whether a file could be written: its folder is made, and a block is written beside it. Nothing of that
/// stays.
pub fn try_out(file: &Path) -> io::Result<()> {
    let target = target(file);
    if is_special(file, &target) {
        return Ok(());
    }
    if target.exists() {
        // One that may not be written is not to be replaced either.
        OpenOptions::new().write(true).open(&target)?;
    }
    let missing: Vec<PathBuf> = target
        .ancestors()
        .skip(1)
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        .map(Path::to_owned)
        .collect();
    let beside = beside(&target);
    let tried = make_folder(&target)
        .and_then(|()| File::create(&beside))
        .and_then(|mut file| file.write_all(&BLOCK));
    let _ = fs::remove_file(&beside);
    for folder in missing {
        let _ = fs::remove_dir(folder);
    }
    tried
}

/// Makes the folder of a file.
pub(super) fn make_folder(file: &Path) -> io::Result<()> {
    match file.parent().filter(|it| !it.as_os_str().is_empty()) {
        Some(folder) => fs::create_dir_all(folder),
        None => Ok(()),
    }
}

/// What is no file (a pipe, a terminal, a device) cannot be replaced by one. Names in `/dev` and `/proc` stand for
/// something that is open: `/dev/stdout` may well be a file, which has to stay the one that it is.
fn is_special(file: &Path, target: &Path) -> bool {
    let open = |it: &Path| {
        it.starts_with("/proc") || it.starts_with("/dev") && !it.starts_with("/dev/shm")
    };
    open(file) || open(target) || fs::metadata(target).is_ok_and(|it| !it.is_file() && !it.is_dir())
}

/// Where a file is written before it is complete.
fn beside(target: &Path) -> PathBuf {
    let mut beside = target.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    beside.into()
}

/// Writes beside the wanted place first, then moves there.
pub(super) fn place(text: &[u8], wanted: &Path, over: bool) -> io::Result<()> {
    let target = target(wanted);
    if over && is_special(wanted, &target) {
        return OpenOptions::new()
            .append(true)
            .open(wanted)?
            .write_all(text);
    }
    let wanted = &target;
    let beside = beside(wanted);
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(text)?;
        file.sync_all()
    });
    let placed = written.and_then(|()| {
        if over {
            return fs::rename(&beside, wanted);
        }
        // Takes the name if nobody has it, then fills it. Two runs that end in the same second
        // cannot both succeed.
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(wanted)?;
        fs::rename(&beside, wanted)
    });
    if placed.is_err() {
        // The error that matters is the one above.
        let _ = fs::remove_file(&beside);
    }
    placed
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("data")).unwrap();
        symlink("second", at("first")).unwrap();
        symlink("data/file", at("second")).unwrap();
        // Nothing is there yet.
        replace(&at("first"), b"one").unwrap();
        replace(&at("first"), b"two").unwrap();
        assert!(at("first").is_symlink() && at("second").is_symlink());
        assert_eq!(fs::read(at("data/file")).unwrap(), b"two");
        assert_eq!(fs::read_dir(at("data")).unwrap().count(), 1);
        assert_eq!(target(&at("first")), at("data/file"));
    }

    #[test]
    fn trying_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        try_out(&at("a/b/c.json")).unwrap();
        assert!(!at("a").exists());
        fs::write(at("taken"), "a file").unwrap();
        try_out(&at("taken")).unwrap();
        assert_eq!(fs::read(at("taken")).unwrap(), b"a file");
        assert!(try_out(&at("taken/r.json")).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_is_written_to_as_it_is() {
        try_out(Path::new("/dev/full")).unwrap();
        let full = replace(Path::new("/dev/full"), b"text").unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        replace(Path::new("/dev/null"), b"text").unwrap();
    }
}
