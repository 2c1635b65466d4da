//! Links between the pages of the repository lead somewhere.

use std::path::{Component, Path, PathBuf};

use crate::files::{root, text, tracked};

/// The text outside of fenced code, where brackets are not links.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    page.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    })
}

/// Destinations of `[text](destination)` and `[label]: destination`, code spans left out.
fn destinations(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(page) {
        let outside: String = line.split('`').step_by(2).collect();
        for (at, _) in outside.match_indices("](") {
            let rest = &outside[at + 2..];
            if let Some(end) = rest.find([')', ' ']) {
                found.push(rest[..end].to_owned());
            }
        }
        if let Some((_, destination)) = outside
            .strip_prefix('[')
            .and_then(|label| label.split_once("]: "))
        {
            found.push(destination.trim().to_owned());
        }
    }
    found
}

/// The anchor that a heading gets: lower case, spaces to hyphens, other signs dropped.
fn anchor(heading: &str) -> String {
    heading
        .trim()
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

fn anchors(page: &str) -> Vec<String> {
    prose(page)
        .filter(|line| line.starts_with('#'))
        .map(|line| anchor(line.trim_start_matches('#')))
        .collect()
}

/// `docs/../README.md` as `README.md`; a path that leaves the repository as nothing.
fn resolved(path: &Path) -> Option<PathBuf> {
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::CurDir => {}
            other => parts.push(other),
        }
    }
    Some(parts.iter().collect())
}

/// What is wrong with one destination on one page, if anything is.
fn objection(file: &Path, page: &str, destination: &str) -> Option<String> {
    if destination.contains("://") || destination.starts_with("mailto:") {
        return None;
    }
    let (path, fragment) = destination.split_once('#').unwrap_or((destination, ""));
    let wrong = |what: &str| Some(format!("{}: {destination}: {what}", file.display()));
    let (target, target_page) = if path.is_empty() {
        (file.to_owned(), page.to_owned())
    } else {
        let Some(target) = resolved(&file.parent()?.join(path)) else {
            return wrong("leaves the repository");
        };
        let on_disk = root().join(&target);
        if on_disk.is_dir() {
            return None;
        }
        if !on_disk.is_file() {
            return wrong("no such file");
        }
        let target_page = text(&target);
        (target, target_page)
    };
    let is_page = target
        .extension()
        .is_some_and(|extension| extension == "md");
    if is_page && !fragment.is_empty() && !anchors(&target_page).contains(&fragment.to_owned()) {
        return wrong("no such heading");
    }
    None
}

#[test]
fn links_between_pages_resolve() {
    let pages: Vec<PathBuf> = tracked()
        .into_iter()
        .filter(|file| file.extension().is_some_and(|extension| extension == "md"))
        .collect();
    assert!(pages.contains(&PathBuf::from("README.md")));
    let mut broken = Vec::new();
    let mut checked = 0;
    for file in &pages {
        let page = text(file);
        for destination in destinations(&page) {
            checked += 1;
            broken.extend(objection(file, &page, &destination));
        }
    }
    assert!(
        checked > 0,
        "not one link found: are they still read right?"
    );
    assert!(
        broken.is_empty(),
        "links that lead nowhere:\n{}",
        broken.join("\n")
    );
}

#[test]
fn a_link_into_nothing_is_found() {
    let page =
        "# A page\n[one](docs/nothing.md) `[code](x.md)`\n```\n[fenced](y.md)\n```\n[two]: z.md\n";
    assert_eq!(destinations(page), ["docs/nothing.md", "z.md"]);
    let file = Path::new("README.md");
    assert!(
        objection(file, page, "docs/nothing.md")
            .unwrap()
            .contains("no such file")
    );
    assert!(
        objection(file, page, "../elsewhere.md")
            .unwrap()
            .contains("leaves")
    );
    assert!(
        objection(file, page, "#other")
            .unwrap()
            .contains("no such heading")
    );
    assert_eq!(objection(file, page, "#a-page"), None);
    assert_eq!(objection(file, page, "https://opcfoundation.org"), None);
}

#[test]
fn anchors_are_made_as_the_forges_make_them() {
    assert_eq!(anchor(" Verdict and exit code"), "verdict-and-exit-code");
    assert_eq!(
        anchor("What `wire` does: bytes in"),
        "what-wire-does-bytes-in"
    );
}
