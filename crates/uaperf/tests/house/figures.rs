//! What `docs/measuring.md` says of each figure is tested.

use std::collections::BTreeSet;
use std::path::Path;

use crate::files::{text, tracked};

/// Names of tests in backticks in the last cell of each row of the table.
fn named(page: &str) -> Vec<Vec<String>> {
    let from = "## What is in each figure\n";
    let section = page.split_once(from).expect("the section").1;
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| "));
    let rows = rows.filter(|line| !line.starts_with("| figure |"));
    rows.map(|row| {
        let cell = row.trim_end_matches('|').rsplit('|').next().unwrap_or("");
        let names = cell.split('`').skip(1).step_by(2);
        names.map(str::to_owned).collect()
    })
    .collect()
}

/// Names of functions right below `#[test]`.
fn tests(source: &str) -> impl Iterator<Item = &str> {
    let lines = source.lines().zip(source.lines().skip(1));
    let tests = lines.filter(|(attribute, _)| attribute.trim() == "#[test]");
    tests.filter_map(|(_, line)| line.trim().strip_prefix("fn ")?.split('(').next())
}

#[test]
fn every_figure_of_the_table_names_tests_that_exist() {
    let files = tracked();
    let sources = files
        .iter()
        .filter(|file| file.extension().is_some_and(|it| it == "rs"));
    let mut known = BTreeSet::new();
    for file in sources {
        known.extend(tests(&text(file)).map(str::to_owned));
    }
    let rows = named(&text(Path::new("docs/measuring.md")));
    assert!(rows.len() > 10, "{rows:?}");
    for row in rows {
        assert!(!row.is_empty(), "a row of the table names no test");
        for test in row {
            assert!(known.contains(&test), "there is no test `{test}`");
        }
    }
}
