//! The ways through the code that the page on the architecture describes are there.

use std::fs;
use std::path::{Path, PathBuf};

use crate::files::{root, tracked};

/// A step of the page: the file that it begins with, and what it says.
struct Step {
    file: String,
    text: String,
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        if let Some((file, text)) = begin(line) {
            let (file, text) = (file.to_owned(), text.to_owned());
            steps.push(Step { file, text });
            inside = true;
        } else if inside && line.starts_with("  ") {
            let step = steps.last_mut().unwrap();
            step.text.push('\n');
            step.text.push_str(line);
        } else {
            inside = false;
        }
    }
    steps
}

fn begin(line: &str) -> Option<(&str, &str)> {
    let (number, rest) = line.split_once(". **")?;
    number.parse::<u32>().ok()?;
    rest.split_once("**")
}

/// What a text has in backticks, but for what has a space in it.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let named = text.split('`').skip(1).step_by(2);
    named.filter(|name| !name.contains(' '))
}

fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".rs")
}

/// `wire/frame/inbox.rs`, of whichever crate; `frame/inbox.rs`, of the crate of the step; `inbox.rs`, beside its file or another
/// that the step names.
fn find(name: &str, beside: &[PathBuf], root: &Path) -> Option<PathBuf> {
    let (of, inside) = name.split_once('/').unwrap_or((name, ""));
    let mut places = vec![root.join("crates").join(of).join("src").join(inside)];
    for file in beside {
        let folders = file.ancestors().skip(1);
        let folders = folders.take_while(|it| !it.ends_with("crates"));
        places.extend(folders.map(|folder| folder.join(name)));
    }
    places.retain(|place| place.exists());
    places.into_iter().next()
}

/// Whether a file has a function: `Link::read`, with the type that it is of, or `answer_now`.
fn has(code: &str, function: &str) -> bool {
    let (of, name) = function.rsplit_once("::").unwrap_or(("", function));
    let is_of = |line: &str| {
        let types = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        line.starts_with("impl") && types.into_iter().any(|it| it == of)
    };
    let named = [format!("fn {name}("), format!("fn {name}<")];
    named.iter().any(|it| code.contains(it)) && (of.is_empty() || code.lines().any(is_of))
}

/// What of a step is not there.
fn missing(step: &Step, root: &Path) -> Vec<String> {
    let Some(first) = find(&step.file, &[], root) else {
        return vec![format!("{}: there is no such file", step.file)];
    };
    let (mut files, mut gone) = (vec![first], Vec::new());
    for name in named(&step.text).filter(|name| is_path(name)) {
        match find(name, &files, root) {
            Some(file) => files.push(file),
            None => gone.push(format!("{}: there is no {name}", step.file)),
        }
    }
    let files = files.iter().filter(|it| it.is_file());
    let code: Vec<String> = files.map(|it| fs::read_to_string(it).unwrap()).collect();
    let functions = named(&step.text).filter(|name| !is_path(name));
    let lost = functions.filter(|name| !code.iter().any(|code| has(code, name)));
    gone.extend(lost.map(|name| format!("{}: no file of this step has {name}", step.file)));
    gone
}

#[test]
fn every_step_of_the_ways_through_the_code_is_there() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let steps = steps(&page);
    assert_eq!(steps.len(), 24, "two ways of twelve steps at most");
    let missing: Vec<String> = steps.iter().flat_map(|it| missing(it, &root())).collect();
    assert_eq!(missing, [""; 0]);
}

/// Files that a page names without a way that leads to them.
fn named_files(page: &str) -> Vec<String> {
    let code = page.split('`').skip(1).step_by(2);
    code.filter(|it| it.ends_with(".rs") && !it.contains(char::is_whitespace))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_files_that_the_architecture_names_are_there() {
    let all = tracked();
    let is_there = |name: &String| {
        all.iter().any(|it| it.ends_with(name)) || find(name, &[], &root()).is_some()
    };
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let files = named_files(&page);
    assert!(files.len() > 20, "{files:?}");
    let gone: Vec<String> = files.into_iter().filter(|it| !is_there(it)).collect();
    assert_eq!(gone, [""; 0]);
}

#[test]
fn what_is_gone_of_a_step_is_found() {
    let page = "\
1. **judge/exit.rs**, `Exit::of`: so, and
   then `Exit::lost` (`threshold.rs`).
2. **judge/nowhere.rs**: no
3. **judge/exit.rs**: `Threshold::of` (`away.rs`)

   `Exit::after` is said elsewhere.";
    let found: Vec<Vec<String>> = steps(page).iter().map(|it| missing(it, &root())).collect();
    assert_eq!(
        found,
        [
            vec!["judge/exit.rs: no file of this step has Exit::lost"],
            vec!["judge/nowhere.rs: there is no such file"],
            vec![
                "judge/exit.rs: there is no away.rs",
                "judge/exit.rs: no file of this step has Threshold::of",
            ],
        ]
    );
}
