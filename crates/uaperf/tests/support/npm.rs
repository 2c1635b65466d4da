//! Packages of npm that a test drives a program with.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder below `target` with these files and the packages that its `package.json` names; else why they cannot be had.
pub fn installed(name: &str, files: &[(&str, &str)]) -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("target").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    // Tests of other processes install the same thing at the same time.
    let lock = std::fs::File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    for (name, text) in files {
        if std::fs::read_to_string(folder.join(name)).ok().as_deref() != Some(text) {
            std::fs::write(folder.join(name), text).unwrap();
            let _ = std::fs::remove_file(folder.join("installed"));
        }
    }
    if !folder.join("installed").exists() {
        let npm = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--no-package-lock"])
            .args(["--prefer-offline", "--loglevel=error"])
            .current_dir(&folder)
            .output();
        let output = npm.map_err(|error| format!("npm: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        std::fs::write(folder.join("installed"), "").unwrap();
    }
    Ok(folder)
}
