//! A figure is computed in one place, and shown in one way: a second function of the same name differs from the first one day.

use std::path::Path;

use crate::files::{text, tracked};

/// What a function is called, and the file that has the one.
const ONCE: &[(&str, &str)] = &[
    ("mean", "crates/record/src/average.rs"),
    ("median", "crates/record/src/average.rs"),
    ("nanos", "crates/plan/src/unit/duration.rs"),
    ("percent", "crates/plan/src/unit/share.rs"),
];

/// The functions of a page that another file has. A method gives what its value knows, and a mean may be of other things
/// than of a sample.
fn second(page: &str) -> Vec<(usize, &'static str, &'static str)> {
    let mut found = Vec::new();
    for (at, line) in page.lines().enumerate() {
        for (name, place) in ONCE {
            let Some((_, rest)) = line.split_once(&format!("fn {name}")) else {
                continue;
            };
            let is_it = rest.starts_with(['(', '<']);
            let is_method = ["(self", "(&self", "(&mut self"]
                .iter()
                .any(|it| rest.starts_with(it));
            let of_a_sample = ["[", "Vec<", "Iterator"].iter().any(|it| rest.contains(it));
            if is_it && !is_method && (*name != "mean" || of_a_sample) {
                found.push((at + 1, *name, *place));
            }
        }
    }
    found
}

/// Ways to show whole nanoseconds beside `show_ns`.
fn detours(page: &str) -> Vec<usize> {
    let detour = |line: &str| line.contains("show(Duration::from_nanos(");
    let lines = page.lines().enumerate().filter(|(_, line)| detour(line));
    lines.map(|(at, _)| at + 1).collect()
}

#[test]
fn means_medians_times_and_percentages_have_one_function_each() {
    let mut wrong = Vec::new();
    for file in tracked() {
        let name = file.to_string_lossy().into_owned();
        if !name.starts_with("crates/") || !name.contains("/src/") || !name.ends_with(".rs") {
            continue;
        }
        let page = text(&file);
        for (line, function, place) in second(&page) {
            if name != place {
                wrong.push(format!(
                    "{name}:{line}: fn {function}; use what {place} has"
                ));
            }
        }
        if name != "crates/plan/src/unit/duration.rs" {
            wrong.extend(detours(&page).into_iter().map(|line| {
                format!("{name}:{line}: whole nanoseconds are shown by duration::show_ns")
            }));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_places_that_have_them_are_there() {
    for (name, place) in ONCE {
        let page = text(Path::new(place));
        // A share is shown by share::show.
        let function = if *name == "percent" { "show" } else { name };
        assert!(
            page.contains(&format!("pub fn {function}(")),
            "{place} has no {function}"
        );
    }
}

#[test]
fn a_second_function_is_found_and_a_method_is_none() {
    let page = "fn median(sorted: &[f64]) -> f64 {\n\
                pub fn mean(&self) -> Option<f64> {\n\
                pub(crate) fn percent(share: f64) -> String {\n\
                fn mean(host: &Host) -> f64 {\n\
                fn means(of: &[f64]) {\n\
                fn mean(values: &[f64]) -> f64 {\n\
                fn nanos(ns: u64) -> String {\n\
                fn show_nanos(ns: u64) -> String {\n";
    let lines: Vec<usize> = second(page).into_iter().map(|it| it.0).collect();
    assert_eq!(lines, [1, 3, 6, 7]);
    assert_eq!(
        detours("a\nduration::show(Duration::from_nanos(ns))\n"),
        [2]
    );
}
