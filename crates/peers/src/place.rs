//! Where peers are installed and keep their logs.

use std::path::{Path, PathBuf};

use platform::System;

/// The folder of all peers: `$UAPERF_PEERS`, or `target/peers` of the repository that this
/// program runs in or was built in, or `uaperf/peers` in the user's cache folder.
pub fn home() -> PathBuf {
    if let Some(dir) = set("UAPERF_PEERS") {
        return std::path::absolute(&dir).unwrap_or(dir);
    }
    let here = std::env::current_dir().ok();
    let program = std::env::current_exe().ok();
    here.as_deref()
        .and_then(repository)
        .or_else(|| program.as_deref().and_then(repository))
        .map(|root| root.join("target").join("peers"))
        .unwrap_or_else(|| cache().join("uaperf").join("peers"))
}

/// One folder for each server or client that ran, with its log.
pub(crate) fn runs() -> PathBuf {
    home().join("runs")
}

/// A new folder for one run. Those older than a week are removed on the way.
pub(crate) fn new_run(name: &str) -> std::io::Result<PathBuf> {
    const WEEK: std::time::Duration = std::time::Duration::from_secs(7 * 24 * 3600);
    let runs = runs();
    std::fs::create_dir_all(&runs)?;
    for old in std::fs::read_dir(&runs)?.flatten() {
        let age = old
            .metadata()
            .and_then(|m| m.modified())
            .map(|t| t.elapsed());
        if matches!(age, Ok(Ok(age)) if age > WEEK) {
            // Another process may be removing the same one.
            let _ = std::fs::remove_dir_all(old.path());
        }
    }
    let millis = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |t| t.as_millis());
    // Two tests may start the same stack in the same millisecond.
    for n in 0.. {
        let run = runs.join(format!("{name}-{millis}-{n}"));
        match std::fs::create_dir(&run) {
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => continue,
            other => return other.map(|()| run),
        }
    }
    Err(std::io::ErrorKind::AlreadyExists.into())
}

fn repository(start: &Path) -> Option<PathBuf> {
    start
        .ancestors()
        .find(|dir| dir.join("crates/peers/stacks/README.md").is_file())
        .map(Path::to_owned)
}

fn cache() -> PathBuf {
    let below_home = |path: &str| set("HOME").map(|home| home.join(path));
    let dir = match System::HERE {
        System::Windows => set("LOCALAPPDATA"),
        System::MacOs => below_home("Library/Caches"),
        System::Linux | System::Other => set("XDG_CACHE_HOME").or_else(|| below_home(".cache")),
    };
    dir.unwrap_or_else(std::env::temp_dir)
}

fn set(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}
