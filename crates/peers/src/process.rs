//! Starting processes, and telling one from another.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use platform::System;
use platform::process::ENDINGS;

pub use platform::process::started;

/// A command from its words. No words make a command that cannot be started.
pub(crate) fn command(words: impl IntoIterator<Item = String>) -> Command {
    let mut words = words.into_iter();
    let program = words.next().unwrap_or_default();
    // npm and mvn are batch files on Windows, which are not found without their ending.
    let found = on_path(&program).unwrap_or_else(|| PathBuf::from(&program));
    let mut command = Command::new(found);
    command.args(words);
    command
}

/// The same command, but one that the kernel kills when the thread that started it ends, where
/// there is a program that can arrange it (util-linux on Linux). For commands that a thread waits
/// for: nothing of them is left when this process is killed.
pub(crate) fn tied(words: Vec<String>) -> Vec<String> {
    if !System::IS_LINUX || on_path("setpriv").is_none() {
        return words;
    }
    let tie = ["setpriv", "--pdeathsig", "KILL", "--"].map(str::to_owned);
    tie.into_iter().chain(words).collect()
}

/// Where a program is, if its name is a path or it stands in one of the folders of `PATH`.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).map(|dir| dir.join(program));
    let places: Vec<PathBuf> = match Path::new(program).components().count() {
        0 => return None,
        1 => folders.collect(),
        _ => vec![PathBuf::from(program)],
    };
    places.into_iter().find_map(|place| {
        let with_endings = ENDINGS.iter().map(|ending| match ending.is_empty() {
            true => place.clone(),
            false => place.with_extension(ending),
        });
        with_endings
            .chain([place.clone()])
            .find(|file| file.is_file())
    })
}

/// Runs a command to its end: the first line that it printed, or why it failed.
pub(crate) fn first_line_of(words: &[&str]) -> Result<String, String> {
    let output = command(words.iter().map(|word| word.to_string()))
        .stdin(Stdio::null())
        .output()
        .map_err(|e| e.to_string())?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    match (output.status.success(), line) {
        (true, Some(line)) => Ok(line.to_owned()),
        (true, None) => Err("it printed nothing".to_owned()),
        (false, Some(line)) => Err(format!("{}: {line}", output.status)),
        (false, None) => Err(output.status.to_string()),
    }
}

/// The last lines of a file, for an error message.
pub(crate) fn tail(file: &Path, lines: usize) -> String {
    // A log that is not there has no last lines; what failed is said beside it.
    let text = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_process_is_told_from_another_by_when_it_started() {
        let me = started(std::process::id()).unwrap();
        assert_eq!(started(std::process::id()), Some(me.clone()));
        // Linux counts starts in hundredths of a second: in the same one both look alike.
        std::thread::sleep(Duration::from_millis(30));
        let mut other = Command::new("sleep").arg("5").spawn().unwrap();
        assert!(started(other.id()).is_some_and(|start| start != me));
        platform::child::end(&mut other, Duration::from_secs(1));
        assert_eq!(started(other.id()), None);
    }

    #[test]
    fn what_a_check_prints_first_is_its_answer() {
        assert_eq!(
            first_line_of(&["sh", "-c", "echo; echo 1.2; echo 3"]),
            Ok("1.2".into())
        );
        let failed = first_line_of(&["sh", "-c", "echo no >&2; exit 1"]).unwrap_err();
        assert!(failed.ends_with("no"), "{failed}");
        let nothing = first_line_of(&["sh", "-c", "echo"]);
        assert_eq!(nothing, Err("it printed nothing".into()));
        assert!(first_line_of(&["no-such-program-here"]).is_err());
        assert!(first_line_of(&[]).is_err());
    }
}
