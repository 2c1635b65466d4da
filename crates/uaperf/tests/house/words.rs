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

/// Names of types and files that say nothing of what they hold.
const NAMES: &[(&str, &str)] = &[
    ("about", "facts, request"),
    ("around", "observers"),
    ("asked", "request, query, parameters"),
    ("astray", "lossy path"),
    ("book", "recorder, ledger, file"),
    ("books", "recorder, results"),
    ("came", "event, message"),
    ("clerk", "registrar"),
    ("courier", "connection"),
    ("crew", "pool, threads"),
    ("deed", "action"),
    ("desk", "context, resources"),
    ("each", "what each of them is"),
    ("elsewhere", "remote"),
    ("errand", "task"),
    ("evenly", "schedule"),
    ("eye", "observation"),
    ("footing", "totals"),
    ("gate", "barrier"),
    ("got", "outcome"),
    ("hall", "context"),
    ("here", "state"),
    ("house", "store"),
    ("ink", "style, colour"),
    ("inks", "styles, colours"),
    ("kept", "file, cache, queue"),
    ("lent", "memory"),
    ("letter", "message, reply address"),
    ("looker", "sampler, source"),
    ("made", "what was made"),
    ("outlet", "path"),
    ("outpost", "remote agent"),
    ("parcel", "message"),
    ("passage", "direction"),
    ("pen", "writer"),
    ("rang", "outcome"),
    ("receipt", "ledger, tracker"),
    ("rung", "method, level"),
    ("said", "reply"),
    ("scribe", "writer"),
    ("seen", "value, usage"),
    ("shelf", "folder"),
    ("so_far", "progress"),
    ("talk", "session"),
    ("teller", "sender, announcements"),
    ("told", "info, outcome, summary"),
    ("vouch", "check"),
    ("wish", "request"),
    ("witness", "server diagnostics"),
];

/// What a line of code names, if it names a type or a module.
fn named(line: &str) -> Option<String> {
    let mut words = line
        .trim_start()
        .split(|it: char| !(it.is_alphanumeric() || it == '_'))
        .filter(|it| !matches!(*it, "" | "pub" | "crate" | "super" | "in" | "self"));
    let kind = words.next()?;
    let name = words.next()?;
    let names = matches!(kind, "struct" | "enum" | "trait" | "type" | "mod");
    names.then(|| name.to_lowercase())
}

fn badly_named(source: &str) -> Vec<(usize, &'static str, &'static str)> {
    let lines = source.lines().enumerate();
    let named = lines.filter_map(|(i, line)| Some((i + 1, named(line)?)));
    let bad = |(line, name): (usize, String)| {
        let (bad, instead) = NAMES.iter().find(|(bad, _)| *bad == name)?;
        Some((line, *bad, *instead))
    };
    named.filter_map(bad).collect()
}

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
fn types_and_modules_say_what_they_hold() {
    let mut wrong = Vec::new();
    for file in tracked() {
        let name = file.to_string_lossy().into_owned();
        if name.starts_with("crates/") && name.contains("/src/") && name.ends_with(".rs") {
            for (line, bad, instead) in badly_named(&text(&file)) {
                wrong.push(format!("{name}:{line}: {bad}; say, such as {instead}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_bad_name_is_found_where_it_is_given_and_not_where_it_is_used() {
    let source = "mod asked;\npub(crate) struct Books<'a> {\n    told: Books,\n}\nstruct BooksRead;\nenum Asked {}\n    Asked,\n";
    let lines: Vec<usize> = badly_named(source).into_iter().map(|it| it.0).collect();
    assert_eq!(lines, [1, 2, 6]);
}

#[test]
fn a_word_is_found_in_names_and_in_prose_and_not_inside_another() {
    let page = "//! Who is at the door.\nlet plant_door = 1;\nlet year = indoor;\n";
    let lines: Vec<usize> = objections(page).into_iter().map(|it| it.0).collect();
    assert_eq!(lines, [1, 2]);
}
