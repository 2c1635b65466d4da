//! What may stand in a file of the repository, wherever it is.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder that holds the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Every file that belongs to the repository, relative to its root.
///
/// In a source archive without history it is every file that a build did not make.
pub fn tracked() -> Vec<PathBuf> {
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output();
    match listed {
        Ok(output) if output.status.success() && !output.stdout.is_empty() => output
            .stdout
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty())
            .map(|name| PathBuf::from(String::from_utf8_lossy(name).into_owned()))
            // Listed but deleted in the work tree: nothing to read.
            .filter(|name| root().join(name).is_file())
            .collect(),
        _ => walk(&root(), Path::new("")),
    }
}

fn walk(root: &Path, folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        let path = folder.join(&name);
        if entry.file_type().unwrap().is_dir() {
            let made_by_a_build = ["target", "node_modules", ".git"];
            if !made_by_a_build.iter().any(|made| name == *made) {
                found.extend(walk(root, &path));
            }
        } else {
            found.push(path);
        }
    }
    found
}

/// The text of a tracked file; bytes that are no UTF-8 are replaced.
pub fn text(file: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(root().join(file)).unwrap()).into_owned()
}

/// Lines of the program that have one of these words, but for those of one file.
pub fn outside(place: &str, words: &[&str]) -> Vec<String> {
    let place = Path::new(place);
    let mut found = Vec::new();
    for file in tracked() {
        if !file.starts_with("crates/commands/src") || file == place {
            continue;
        }
        for (number, line) in text(&file).lines().enumerate() {
            if words.iter().any(|word| line.contains(word)) {
                found.push(format!("{}:{}: {line}", file.display(), number + 1));
            }
        }
    }
    found
}

/// Absolute paths into somebody's machine that stand in a line.
fn machine_paths(line: &str) -> Vec<&str> {
    // Put together here so that this file does not contain what it looks for.
    let homes = ["root", "work", "home", "Users"].map(|name| format!("/{name}/"));
    let mut found = Vec::new();
    for home in &homes {
        for (at, _) in line.match_indices(home.as_str()) {
            // `load/src/work/` and `../home/` are relative: only a path that starts
            // here counts.
            let continues = |c: char| c.is_alphanumeric() || "._-*~$})>".contains(c);
            if !line[..at].ends_with(continues) {
                let end = line[at..]
                    .find(|c: char| c.is_whitespace() || "\"'`)<>".contains(c))
                    .map_or(line.len(), |length| at + length);
                found.push(&line[at..end]);
            }
        }
    }
    found
}

/// The hosts of the URLs in a line.
fn hosts(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("://").map(|(at, _)| {
        let rest = &line[at + 3..];
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || ".-_@:".contains(c)))
            .unwrap_or(rest.len());
        rest[..end].rsplit('@').next().unwrap_or_default()
    })
}

/// Files in which a package manager writes down where it got a package from, or is told
/// where to get it.
fn names_registries(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let in_cargo_folder = file
        .parent()
        .is_some_and(|folder| folder.ends_with(".cargo"));
    name.ends_with(".lock")
        || in_cargo_folder
        || matches!(
            name.as_ref(),
            "package-lock.json"
                | ".npmrc"
                | "pip.conf"
                | "requirements.txt"
                | "pom.xml"
                | "settings.xml"
                | "go.mod"
        )
}

#[test]
fn no_file_names_a_path_of_a_machine() {
    let mut found = Vec::new();
    for file in tracked() {
        for (number, line) in text(&file).lines().enumerate() {
            for path in machine_paths(line) {
                found.push(format!("{}:{}: {path}", file.display(), number + 1));
            }
        }
    }
    assert!(
        found.is_empty(),
        "paths of somebody's machine; write them relative to the repository:\n{}",
        found.join("\n")
    );
}

#[test]
fn packages_come_from_the_public_registries_only() {
    const PUBLIC: &[&str] = &[
        "github.com",
        "index.crates.io",
        "registry.npmjs.org",
        "pypi.org",
        "files.pythonhosted.org",
        "repo.maven.apache.org",
        "proxy.golang.org",
    ];
    // The words by which each of the formats says where a package comes from. Home pages
    // and schema names stand on other lines.
    const ORIGIN: &[&str] = &["source", "resolved", "registry", "index", "proxy", "<url>"];
    let origin = |line: &&str| ORIGIN.iter().any(|word| line.contains(word));
    let mut found = Vec::new();
    for file in tracked().into_iter().filter(|file| names_registries(file)) {
        let text = text(&file);
        for line in text.lines().filter(origin) {
            for host in hosts(line).filter(|host| !PUBLIC.contains(host)) {
                found.push(format!("{}: {host}", file.display()));
            }
        }
    }
    assert!(
        found.is_empty(),
        "not a public registry; lock the file against the public one:\n{}",
        found.join("\n")
    );
}

#[test]
fn the_readme_gives_the_two_commands_that_ci_runs() {
    let readme = text(Path::new("README.md"));
    let ci = text(Path::new(".ci/run"));
    for command in [
        "cargo test --workspace --locked",
        "cargo run --release --locked -- demo",
    ] {
        assert!(readme.contains(command), "README.md lacks `{command}`");
        assert!(ci.contains(command), ".ci/run does not run `{command}`");
    }
}

#[test]
fn a_machine_path_is_told_from_a_relative_one() {
    let own = format!("see /{}/me/notes.md, please", "home");
    assert_eq!(machine_paths(&own), [format!("/{}/me/notes.md,", "home")]);
    let quoted = format!("cd \"/{}/main\"", "work");
    assert_eq!(machine_paths(&quoted), [format!("/{}/main", "work")]);
    assert!(machine_paths("crates/load/src/work/read.rs and ../home/x").is_empty());
}

#[test]
fn hosts_are_found_behind_users_and_before_paths() {
    let line = "a+https://me@mirror.example:8080/index b https://pypi.org";
    assert_eq!(
        hosts(line).collect::<Vec<_>>(),
        ["mirror.example:8080", "pypi.org"]
    );
}
