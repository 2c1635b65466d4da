//! Words of our own that the trade has better ones for stay out of code and pages.

use crate::files::{text, tracked};

/// A word, and what the glossary has for it.
const REPLACED: &[(&str, &str)] = &[
    ("door", "acceptor"),
    ("stranger", "unauthenticated client, unknown sender"),
    ("strangers", "unauthenticated clients"),
    ("ear", "tracker"),
    ("ears", "trackers"),
    ("parcel", "what it is that is handed over"),
];

fn objections(page: &str) -> Vec<(usize, &'static str, &'static str)> {
    let mut found = Vec::new();
    for (i, line) in page.lines().enumerate() {
        let words = line
            .split(|it: char| !it.is_alphanumeric())
            .map(str::to_lowercase);
        for (word, instead) in REPLACED {
            if words.clone().any(|it| it == *word) {
                found.push((i + 1, *word, *instead));
            }
        }
    }
    found
}

#[test]
fn the_words_that_the_glossary_replaces_stay_out() {
    let mut wrong = Vec::new();
    for file in tracked() {
        let name = file.to_string_lossy().into_owned();
        let ours = name.starts_with("crates/") && name.contains("/src/") && name.ends_with(".rs")
            || name.starts_with("docs/") && name.ends_with(".md")
            || name == "README.md";
        if ours {
            for (line, word, instead) in objections(&text(&file)) {
                wrong.push(format!("{name}:{line}: {word}; say {instead}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_word_is_found_in_names_and_in_prose_and_not_inside_another() {
    let page = "//! Who is at the door.\nlet plant_door = 1;\nlet year = indoor;\n";
    let lines: Vec<usize> = objections(page).into_iter().map(|it| it.0).collect();
    assert_eq!(lines, [1, 2]);
}
