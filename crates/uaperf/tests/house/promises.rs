//! The tests that are written run, and those that the page on security names are there.

use std::collections::HashSet;
use std::path::Path;

use crate::files::{text, tracked};

/// Names of tests in the rows of the table below this head.
fn named(page: &str) -> Vec<&str> {
    let table = page.split_once("| promise | held by |");
    let rows = table.map_or("", |(_, rest)| rest).lines().skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| row.split('|').nth(2))
        .flat_map(|tests| tests.split('`').skip(1).step_by(2))
        .collect()
}

/// Names of the functions that follow the mark of a test.
fn tests(code: &str) -> impl Iterator<Item = &str> {
    code.split("#[test]").skip(1).filter_map(|rest| {
        let name = rest.split_once("fn ")?.1;
        name.split('(').next()
    })
}

#[test]
fn every_test_that_holds_a_promise_is_there() {
    let page = text(Path::new("docs/security.md"));
    let named = named(&page);
    assert!(named.len() > 50, "{}", named.len());
    let code = tracked().into_iter();
    let code = code.filter(|file| file.extension().is_some_and(|it| it == "rs"));
    let code: Vec<String> = code.map(|file| text(&file)).collect();
    let known: HashSet<&str> = code.iter().flat_map(|code| tests(code)).collect();
    let missing: Vec<_> = named.iter().filter(|name| !known.contains(*name)).collect();
    assert!(missing.is_empty(), "no such tests: {missing:?}");
}

#[test]
fn names_are_those_of_the_second_column() {
    let page = "`no`\n| promise | held by |\n|---|---|\n| `a` | `b`, `c`; d |\n\n| x | `y` |";
    assert_eq!(named(page), ["b", "c"]);
    let code = "#[test]\nfn one() {}\nfn two() {}\n#[test]\n#[cfg(unix)]\nfn three() {}";
    assert!(tests(code).eq(["one", "three"]));
}

/// Where the files of a crate's tests are one binary, Cargo looks for no others by itself.
#[test]
fn every_file_of_tests_is_a_module_of_their_binary() {
    let files = tracked();
    let roots: Vec<_> = files
        .iter()
        .filter(|file| file.ends_with("tests/all.rs"))
        .collect();
    assert!(roots.len() > 3, "{roots:?}");
    for root in roots {
        let code = text(root);
        let modules: HashSet<&str> = code
            .lines()
            .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
            .collect();
        let tests = root.parent().unwrap();
        let forgotten: Vec<_> = files
            .iter()
            .filter_map(|file| file.strip_prefix(tests).ok()?.to_str()?.strip_suffix(".rs"))
            .map(|name| name.strip_suffix("/mod").unwrap_or(name))
            .filter(|name| !name.contains('/') && *name != "all" && !modules.contains(name))
            .collect();
        assert!(
            forgotten.is_empty(),
            "no modules of {root:?}: {forgotten:?}"
        );
    }
}
