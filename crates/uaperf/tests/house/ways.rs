//! The ways through the code that the page on the architecture describes are there.

use std::fs;
use std::path::Path;

use crate::files::root;

/// Steps of the page: the file that each begins with, and the rest of its first line.
fn steps(page: &str) -> Vec<(&str, &str)> {
    page.lines().filter_map(step).collect()
}

fn step(line: &str) -> Option<(&str, &str)> {
    let (number, rest) = line.split_once(". **")?;
    number.parse::<u32>().ok()?;
    rest.split_once("**")
}

/// The functions that a line names: `Core::run`, `answer_now`; not files, and not what has a space in it.
fn functions(line: &str) -> Vec<&str> {
    let named = line.split('`').skip(1).step_by(2);
    let function = |name: &&str| !name.contains(['/', '.', ' ']);
    named
        .filter(function)
        .filter_map(|name| name.rsplit("::").next())
        .collect()
}

fn missing(step: (&str, &str), root: &Path) -> Option<String> {
    let (file, line) = step;
    let (name, inside) = file.split_once('/')?;
    let path = root.join("crates").join(name).join("src").join(inside);
    let Ok(code) = fs::read_to_string(&path) else {
        return Some(format!("{file}: there is no such file"));
    };
    // The first function is the step; others may be where it leads.
    let function = functions(line.split(": ").next().unwrap_or(line));
    let gone = function
        .into_iter()
        .find(|it| !code.contains(&format!("fn {it}")))?;
    Some(format!("{file}: has no {gone}"))
}

#[test]
fn every_step_of_the_ways_through_the_code_is_there() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let steps = steps(&page);
    assert_eq!(steps.len(), 24, "two ways of twelve steps at most");
    let missing: Vec<String> = steps
        .into_iter()
        .filter_map(|step| missing(step, &root()))
        .collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn a_step_that_is_gone_is_found() {
    let page = "1. **judge/exit.rs**, `Exit::of`: so\n2. **judge/nowhere.rs**: no\n3. **judge/exit.rs**, `Exit::lost`: no";
    let found: Vec<Option<String>> = steps(page)
        .into_iter()
        .map(|step| missing(step, &root()))
        .collect();
    let told = |it: &str| Some(it.to_owned());
    assert_eq!(
        found,
        [
            None,
            told("judge/nowhere.rs: there is no such file"),
            told("judge/exit.rs: has no lost"),
        ]
    );
}
