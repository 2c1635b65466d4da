//! Which operating system it is, one crate asks. The others have its answers, or whole modules that there are on one system
//! only.

use std::path::Path;

use crate::files::{text, tracked};

/// The crate that asks.
const ASKS: &str = "crates/platform/";

/// Files with a module that there is on some systems only, and what it needs of them.
const DOORS: &[(&str, &str)] = &[
    ("crates/load/src/lib.rs", "network namespaces"),
    ("crates/load/src/pubsub/mod.rs", "a packet filter"),
    ("crates/load/src/pubsub/ethernet.rs", "packet sockets"),
    (
        "crates/load/src/transport/tasks/mod.rs",
        "any socket in a poll",
    ),
    ("crates/observe/src/counters/mod.rs", "perf_event_open(2)"),
    ("crates/plant/src/event_loop/hosted.rs", "a poll in a poll"),
    ("crates/plant/src/site.rs", "a poll in a poll"),
    ("crates/commands/src/link/mod.rs", "network namespaces"),
    ("crates/commands/src/screen.rs", "a command in them"),
    ("crates/without/src/lib.rs", "nothing: it is of tests"),
];

/// What names systems in code.
const NAMES: [&str; 4] = ["target_os", "windows", "unix", "target_family"];

/// The lines of a file, tests left out, that ask which system it is.
fn questions(source: &str) -> Vec<&str> {
    let tests = ["#[cfg(test)]", "#[cfg(all(test,"];
    let end = tests.iter().filter_map(|it| source.find(it)).min();
    let code = source.get(..end.unwrap_or(source.len())).unwrap_or(source);
    // The condition may stand on the lines behind the word.
    let lines: Vec<&str> = code.lines().collect();
    let asks =
        |line: &str| line.contains("cfg(") || line.contains("cfg!(") || line.contains("cfg_attr(");
    let names = |line: &&str| NAMES.iter().any(|name| line.contains(name));
    lines
        .iter()
        .enumerate()
        .filter(|(at, line)| asks(line) && lines.iter().skip(*at).take(2).any(names))
        .map(|(_, line)| line.trim())
        .collect()
}

#[test]
fn one_crate_asks_which_system_it_is_and_doors_lead_to_whole_modules() {
    let mut wrong = Vec::new();
    let mut doors: Vec<&str> = DOORS.iter().map(|it| it.0).collect();
    for file in tracked() {
        let name = file.to_string_lossy();
        let is_code =
            name.starts_with("crates/") && name.contains("/src/") && name.ends_with(".rs");
        if !is_code || name.starts_with(ASKS) || Path::new(&*name).ends_with("tests.rs") {
            continue;
        }
        let source = text(&file);
        let found = questions(&source);
        match doors.iter().position(|door| *door == name) {
            Some(at) if !found.is_empty() => drop(doors.remove(at)),
            Some(_) => {}
            None => wrong.extend(found.iter().map(|line| format!("{name}: {line}"))),
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nAsk in crates/platform, and use its answer.",
        wrong.join("\n")
    );
    assert!(
        doors.is_empty(),
        "no door any more, take it from the list: {doors:?}"
    );
}

#[test]
fn questions_are_seen_in_code_and_not_in_tests() {
    let source = "#[cfg(unix)]\nfn a() {}\nlet b = cfg!(windows);\n#[cfg(all(\n    target_os = \"linux\",\n))]\n\
                  #[cfg(debug_assertions)]\nfn c() {}\n#[cfg(test)]\nmod tests {\n#[cfg(unix)]\n}";
    let found = ["#[cfg(unix)]", "let b = cfg!(windows);", "#[cfg(all("];
    assert_eq!(questions(source), found);
}
