//! `--tag` and `--note`, and `uaperf results list`, which finds by them.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;

use serde_json::Value;

use crate::support;
use crate::support::{Said, Server, command};

fn says(folder: &Path, words: &[&str]) -> Said {
    Said::by(&mut command(folder, words))
}

/// The files that a list has, in its order.
fn listed(folder: &Path, more: &[&str]) -> Vec<String> {
    let words = [&["results", "list", "--json"], more].concat();
    let said = says(folder, &words);
    let all: Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{}", said.err));
    let all = all.as_array().unwrap();
    assert_eq!(said.code, i32::from(all.is_empty()), "{}", said.err);
    let file = |it: &Value| {
        Path::new(it["file"].as_str().unwrap())
            .file_name()
            .unwrap()
            .to_owned()
    };
    all.iter()
        .map(|it| file(it).into_string().unwrap())
        .collect()
}

#[test]
fn results_are_found_by_what_was_said_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("server"), &[]);
    let read = |out: &str, more: &[&str]| {
        let words = [
            "read",
            &server.url,
            "-n",
            "i=2258",
            "--security",
            "none",
            "--requests",
            "5",
            "--quiet",
            "--out",
            out,
        ];
        let said = says(folder.path(), &[&words, more].concat());
        assert!([0, 4].contains(&said.code), "{}", said.err);
        said
    };
    let said = read(
        "results/a.json",
        &[
            "--tag",
            "build=1.4.2",
            "--tag",
            "line=4",
            "--note",
            "before the switch",
        ],
    );
    assert!(
        said.out.contains("tags        build=1.4.2, line=4"),
        "{}",
        said.out
    );
    assert!(said.out.contains("before the switch"), "{}", said.out);
    read("results/deeper/b.json", &["--tag", "build=1.4.3"]);
    read("results/c.json", &[]);
    std::fs::write(folder.path().join("results/index.json"), "{}").unwrap();
    std::fs::write(
        folder.path().join("results/cut.json"),
        "{\"format\": \"uaperf run\"",
    )
    .unwrap();

    let run = support::json(&folder.path().join("results/a.json"));
    assert_eq!(run["tags"]["build"], "1.4.2");
    assert_eq!(listed(folder.path(), &[]), ["a.json", "b.json", "c.json"]);
    assert_eq!(listed(folder.path(), &["--tag", "build=1.4.3"]), ["b.json"]);
    assert_eq!(
        listed(folder.path(), &["--tag", "build=1.4.2", "--tag", "line=5"]),
        [""; 0]
    );
    assert_eq!(listed(folder.path(), &["--command", "subscribe"]), [""; 0]);
    assert_eq!(listed(folder.path(), &["--target", "127.0.0.1"]).len(), 3);
    assert_eq!(listed(folder.path(), &["--since", "2020-01-01"]).len(), 3);
    assert_eq!(listed(folder.path(), &["--since", "2999-01-01"]).len(), 0);
    let screen = says(folder.path(), &["results", "list", "--tag", "line=4"]);
    assert!(screen.out.contains("build=1.4.2  line=4"), "{}", screen.out);

    let page = says(folder.path(), &["report", "results/a.json", "-o", "a.html"]);
    assert_eq!(page.code, 0, "{}", page.err);
    let page = std::fs::read_to_string(folder.path().join("a.html")).unwrap();
    assert!(page.contains("build=1.4.2, line=4"));
}

#[test]
fn all_results_of_a_scenario_have_its_tags() {
    let folder = tempfile::tempdir().unwrap();
    let text = "name = \"t\"\n[start]\nplant = \"bench\"\n[[phase]]\nservice = \"read\"\nnodes = [\"i=2258\"]\nrequests = 5\n\
                batch = { sweep = [1, 2] }\n";
    std::fs::write(folder.path().join("t.toml"), text).unwrap();
    let said = says(
        folder.path(),
        &[
            "run",
            "t.toml",
            "--out",
            "results/t",
            "--quiet",
            "--tag",
            "night=7",
        ],
    );
    assert!([0, 4].contains(&said.code), "{}", said.err);
    assert_eq!(listed(folder.path(), &["--tag", "night=7"]).len(), 2);
    assert_eq!(listed(folder.path(), &["--before", "2020-01-01"]).len(), 0);
    are_removed(folder.path());
}

/// What is a result goes, and nothing else.
fn are_removed(folder: &Path) {
    let rm = |more: &[&str]| says(folder, &[&["results", "rm"], more].concat());
    let said = rm(&["results"]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("which of its results"), "{}", said.err);
    let said = rm(&["results", "t.toml", "--tag", "night=7"]);
    assert_eq!(said.code, 1, "{}", said.err);
    let said = rm(&["results", "--tag", "night=8"]);
    assert_eq!((said.code, said.out.as_str()), (1, "0 removed\n"));
    let said = rm(&["results", "--tag", "night=7", "--dry-run"]);
    assert!(said.out.ends_with("\n2 would be removed\n"), "{}", said.out);
    let left = listed(folder, &[]);
    assert_eq!(left.len(), 2);
    std::fs::write(folder.join("results/t/page.html"), "kept").unwrap();
    std::fs::create_dir(folder.join("results/u")).unwrap();
    for name in [left[0].as_str(), "index.json"] {
        std::fs::copy(
            folder.join("results/t").join(name),
            folder.join("results/u").join(name),
        )
        .unwrap();
    }
    let copy = Path::new("results/u").join(&left[0]);
    assert_eq!(rm(&[copy.to_str().unwrap()]).code, 0);
    assert!(
        !folder.join("results/u").exists(),
        "only its index was left of it"
    );
    let one = Path::new("results/t").join(&left[0]);
    let said = rm(&[one.to_str().unwrap()]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(listed(folder, &[]), left[1..]);
    let said = rm(&["results", "--tag", "night=7"]);
    assert!(said.out.ends_with("\n1 removed\n"), "{}", said.out);
    assert!(folder.join("results/t/page.html").exists());
}

#[test]
fn what_is_no_tag_and_no_folder_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let said = says(
        folder.path(),
        &["read", "opc.tcp://127.0.0.1:9", "--tag", "build"],
    );
    assert_eq!(said.code, 2);
    assert!(said.err.contains("want NAME=VALUE"), "{}", said.err);
    let said = says(folder.path(), &["results", "list", "gone"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("cannot read gone"), "{}", said.err);
    let said = says(folder.path(), &["results", "list", "--since", "yesterday"]);
    assert_eq!(said.code, 2);
}
