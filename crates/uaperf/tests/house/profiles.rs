//! What is built for size, and what for speed.

use std::collections::BTreeSet;
use std::path::Path;

use toml::Table;

use crate::files::text;

/// What a message passes through, and the package whose level is that of optimisation at link time.
const FOR_SPEED: &[&str] = &[
    "uaperf",
    "load",
    "plant",
    "pubsub",
    "link",
    "wss",
    "wire",
    "async-opcua-types",
    "rustls",
    "mio",
];

/// Packages that are not built for speed in releases.
fn for_size(manifest: &str) -> Vec<String> {
    let manifest: Table = manifest.parse().unwrap();
    let packages = &manifest["profile"]["release"]["package"];
    packages.as_table().unwrap().keys().cloned().collect()
}

/// The packages of a lock file.
fn locked(lock: &str) -> BTreeSet<String> {
    let lock: Table = lock.parse().unwrap();
    let packages = lock["package"].as_array().unwrap().iter();
    packages
        .map(|it| it["name"].as_str().unwrap().to_owned())
        .collect()
}

/// What is wrong with the list, among the packages that there are.
fn objections(for_size: &[String], there: &BTreeSet<String>) -> Vec<String> {
    let gone = for_size.iter().filter(|name| !there.contains(*name));
    let gone = gone.map(|name| format!("{name} is no package any more"));
    let hot = for_size
        .iter()
        .filter(|name| FOR_SPEED.contains(&name.as_str()));
    let hot = hot.map(|name| format!("messages pass through {name}"));
    gone.chain(hot).collect()
}

#[test]
fn what_is_built_for_size_is_there_and_no_message_passes_through_it() {
    let for_size = for_size(&text(Path::new("Cargo.toml")));
    assert!(!for_size.is_empty());
    let wrong = objections(&for_size, &locked(&text(Path::new("Cargo.lock"))));
    assert!(
        wrong.is_empty(),
        "[profile.release.package]:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn a_package_that_is_gone_and_a_loop_that_is_built_for_size_are_named() {
    let of =
        "[profile.release.package]\ngone = { opt-level = \"s\" }\nload = { opt-level = \"s\" }\n";
    let there = locked("[[package]]\nname = \"load\"\n");
    assert_eq!(objections(&for_size(of), &there).len(), 2);
}
