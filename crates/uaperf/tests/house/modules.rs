//! Modules of a crate use each other in one direction: no ring of files.
//!
//! Read are `use` declarations and paths that begin with `crate`, `self` or `super`. A name that a module only hands
//! on (`pub use`) counts as used from where it is defined. A module may use the ones that it is inside of. Unit tests (`#[cfg(test)]` at the end of a file) are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::files::{root, text};

/// Which modules use which.
pub type Arrows = BTreeMap<Names, BTreeSet<Names>>;

/// A path of names: `["subscription", "item"]`.
pub type Names = Vec<String>;

/// A module's file.
#[derive(Default)]
struct Module {
    /// What its paths name, resolved to the crate's root as far as they are of this crate.
    named: Vec<Names>,
    /// Names that it hands on, and what they are.
    handed_on: BTreeMap<String, Names>,
    /// Names that it takes for itself, which submodules reach by `super::`.
    taken: BTreeMap<String, Names>,
}

/// A crate's modules by their paths; the root has none.
pub struct Crate {
    modules: BTreeMap<Names, Module>,
}

impl Crate {
    pub fn read(name: &str) -> Self {
        let folder = root().join("crates").join(name).join("src");
        let mut files = Vec::new();
        gather(&folder, &mut Vec::new(), &mut files);
        let paths: BTreeSet<Names> = files.iter().map(|(path, _)| path.clone()).collect();
        let modules = files
            .into_iter()
            .map(|(path, source)| {
                let module = Module::read(&source, &path, &paths);
                (path, module)
            })
            .collect();
        Self { modules }
    }

    /// The module in which a name is defined, as far as it can be followed.
    fn home(&self, name: &[String]) -> Option<Names> {
        let mut name = name.to_vec();
        // As often as names are handed on, and not for ever.
        for _ in 0..16 {
            let depth = (0..=name.len())
                .rev()
                .find(|&depth| self.modules.contains_key(&name[..depth]))?;
            let (path, rest) = name.split_at(depth);
            let module = &self.modules[path];
            let Some(next) = rest.first().and_then(|first| {
                let elsewhere = module.handed_on.get(first).or(module.taken.get(first))?;
                (elsewhere[..] != name[..=depth]).then_some(elsewhere)
            }) else {
                return Some(path.to_vec());
            };
            name = [next, &rest[1..]].concat();
        }
        None
    }

    /// Which modules use which.
    pub fn arrows(&self) -> Arrows {
        let arrows = self.modules.iter().map(|(path, module)| {
            let homes = module.named.iter().filter_map(|name| self.home(name));
            // What a module takes from one around it is a part of that one.
            let others = homes.filter(|home| !path.starts_with(home));
            (path.clone(), others.collect())
        });
        arrows.collect()
    }
}

/// All source files below a folder, with the path of their modules.
fn gather(folder: &Path, path: &mut Names, files: &mut Vec<(Names, String)>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for entry in entries {
        let stem = entry.file_stem().unwrap().to_str().unwrap().to_owned();
        if entry.is_dir() && stem != "tests" {
            path.push(stem);
            gather(&entry, path, files);
            path.pop();
        } else if entry.extension().is_some_and(|it| it == "rs") && stem != "tests" {
            let mut own = path.clone();
            if !["lib", "main", "mod"].contains(&stem.as_str()) {
                own.push(stem);
            }
            files.push((own, text(&entry)));
        }
    }
}

impl Module {
    fn read(source: &str, path: &[String], modules: &BTreeSet<Names>) -> Self {
        let mut this = Self::default();
        let source = code(source);
        // What is left when the imports are taken out.
        let mut body = String::new();
        let mut rest = source.as_str();
        while let Some(at) = find_word(rest, "use") {
            let before = rest[..at].trim_end();
            let public =
                before.ends_with("pub") || before.ends_with(')') && before.contains("pub(");
            let after = &rest[at + 3..];
            let Some(end) = after.find(';') else { break };
            for (alias, names) in leaves(&after[..end]) {
                let Some(names) = absolute(&names, path, modules) else {
                    continue;
                };
                let kept = match public {
                    true => &mut this.handed_on,
                    false => &mut this.taken,
                };
                kept.insert(alias, names.clone());
                if !public {
                    this.named.push(names);
                }
            }
            body.push_str(&rest[..at]);
            rest = &after[end..];
        }
        body.push_str(rest);
        for start in ["crate::", "super::", "self::"] {
            for (at, _) in body.match_indices(start) {
                if body[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                    continue;
                }
                let names = names_at(&body[at..]);
                if let Some(names) = absolute(&names, path, modules) {
                    this.named.push(names);
                }
            }
        }
        this
    }
}

/// A file's code, without comments, texts and unit tests.
fn code(source: &str) -> String {
    let source = source.split("#[cfg(test)]\nmod tests").next().unwrap();
    let lines = source.lines().map(|line| {
        let line = line.split("//").next().unwrap();
        // What stands between quotes is no path.
        line.split('"').step_by(2).collect::<Vec<_>>().join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn find_word(text: &str, word: &str) -> Option<usize> {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '#';
    text.match_indices(word).map(|(at, _)| at).find(|&at| {
        !text[..at].ends_with(part) && text[at + word.len()..].starts_with(char::is_whitespace)
    })
}

/// The names of a path at the beginning of a text: `crate::a::b(` has three.
fn names_at(text: &str) -> Names {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut names = Vec::new();
    let mut rest = text;
    loop {
        let end = rest.find(|c| !part(c)).unwrap_or(rest.len());
        if end == 0 {
            return names;
        }
        names.push(rest[..end].to_owned());
        match rest[end..].strip_prefix("::") {
            Some(more) => rest = more,
            None => return names,
        }
    }
}

/// The single names of a tree such as `crate::a::{self, b::{c, d as e}}`, each with the name it gets.
fn leaves(tree: &str) -> Vec<(String, Names)> {
    let tree = tree.trim();
    if let Some((head, body)) = tree.split_once('{') {
        let body = body.trim_end().strip_suffix('}').unwrap_or(body);
        let head = names_at(head.trim_end().trim_end_matches("::"));
        let mut all = Vec::new();
        let (mut depth, mut from) = (0, 0);
        for (at, c) in body.char_indices().chain([(body.len(), ',')]) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    for (alias, names) in leaves(&body[from..at]) {
                        all.push(match names[..] == ["self".to_owned()] {
                            true => (head.last().cloned().unwrap_or_default(), head.clone()),
                            false => (alias, [&head[..], &names].concat()),
                        });
                    }
                    from = at + 1;
                }
                _ => {}
            }
        }
        return all;
    }
    let (path, alias) = match tree.split_once(" as ") {
        Some((path, alias)) => (path, Some(alias.trim().to_owned())),
        None => (tree, None),
    };
    let names = names_at(path.trim());
    match names.last().cloned() {
        Some(last) => vec![(alias.unwrap_or(last), names)],
        None => Vec::new(),
    }
}

/// A path from the crate's root on; none for what is of another crate.
fn absolute(names: &[String], path: &[String], modules: &BTreeSet<Names>) -> Option<Names> {
    let mut base = path.to_vec();
    let mut rest = names;
    let first = rest.first()?;
    match first.as_str() {
        "crate" => {
            base.clear();
            rest = &rest[1..];
        }
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|name| name == "super") {
                base.pop()?;
                rest = &rest[1..];
            }
        }
        // A module of its own, or another crate.
        _ => {
            let own = [&base[..], std::slice::from_ref(first)].concat();
            modules.contains(&own).then_some(())?;
        }
    }
    Some([&base[..], rest].concat())
}

/// A ring of modules, if there is one.
pub fn ring(arrows: &Arrows) -> Option<Vec<Names>> {
    let mut done = BTreeSet::new();
    for start in arrows.keys() {
        let mut way = Vec::new();
        if let Some(ring) = follow(start, arrows, &mut way, &mut done) {
            return Some(ring);
        }
    }
    None
}

fn follow(
    at: &Names,
    arrows: &Arrows,
    way: &mut Vec<Names>,
    done: &mut BTreeSet<Names>,
) -> Option<Vec<Names>> {
    if let Some(from) = way.iter().position(|module| module == at) {
        let mut ring = way[from..].to_vec();
        ring.push(at.clone());
        return Some(ring);
    }
    if !done.insert(at.clone()) {
        return None;
    }
    way.push(at.clone());
    for next in arrows.get(at).into_iter().flatten() {
        if let Some(ring) = follow(next, arrows, way, done) {
            return Some(ring);
        }
    }
    way.pop();
    None
}

pub fn shown(ring: &[Names]) -> String {
    let name = |module: &Names| match module.is_empty() {
        true => "the root".to_owned(),
        false => module.join("::"),
    };
    ring.iter().map(name).collect::<Vec<_>>().join(" -> ")
}

pub fn crates() -> Vec<String> {
    let folder = std::fs::read_dir(root().join("crates")).unwrap();
    let mut names: Vec<String> = folder
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("src").is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn modules_use_each_other_in_one_direction() {
    let mut wrong = Vec::new();
    for name in crates() {
        if let Some(ring) = ring(&Crate::read(&name).arrows()) {
            wrong.push(format!("{name} has a ring: {}", shown(&ring)));
        }
    }
    assert!(wrong.is_empty(), "in {}:\n{}", file!(), wrong.join("\n"));
}

#[test]
fn a_ring_is_found_where_names_are_handed_on() {
    let sources = [
        (&[][..], "mod a; mod b;\npub use a::A;"),
        (
            &["a"][..],
            "use super::b::{self, B as Other};\npub struct A;",
        ),
        (&["b"][..], "pub struct B;\nfn f(it: crate::A) {}"),
    ];
    let paths: BTreeSet<Names> = sources.iter().map(|(path, _)| owned(path)).collect();
    let modules = sources
        .iter()
        .map(|(path, source)| (owned(path), Module::read(source, &owned(path), &paths)));
    let house = Crate {
        modules: modules.collect(),
    };
    let found = ring(&house.arrows()).unwrap();
    assert_eq!(shown(&found), "a -> b -> a");
}

fn owned(path: &[&str]) -> Names {
    path.iter().map(|&name| name.to_owned()).collect()
}
