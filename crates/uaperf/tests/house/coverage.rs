//! `docs/coverage.md` speaks of requirements that exist, and counts them right.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::files::text;

/// The studies by the letter of their requirements, in the order of the page.
const STUDIES: &[(&str, &str)] = &[
    ("T", "Tahvanainen 2016"),
    ("B", "Burger et al. 2019"),
    ("M", "Morato et al. 2021"),
    ("G", "González Vázquez 2015"),
    ("C", "Cavalieri et al. 2010"),
];

const STATUSES: &[&str] = &["met", "partly", "declined"];

/// Every `T-12` in a text, wherever it stands.
fn cited(text: &str) -> Vec<&str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .filter(|word| {
            word.split_once('-').is_some_and(|(letter, number)| {
                STUDIES.iter().any(|(known, _)| *known == letter)
                    && !number.is_empty()
                    && number.chars().all(|c| c.is_ascii_digit())
            })
        })
        .collect()
}

/// Rows of the tables of ids: (id, status, how).
fn rows(page: &str) -> Vec<(&str, &str, &str)> {
    page.lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
            let id = cells.next()?;
            (cited(id) == [id]).then(|| {
                (
                    id,
                    cells.next().unwrap_or_default(),
                    cells.next().unwrap_or_default(),
                )
            })
        })
        .collect()
}

/// The ids that `docs/requirements.md` defines.
fn defined(page: &str) -> BTreeSet<&str> {
    page.lines()
        .filter_map(|line| line.strip_prefix("- **")?.split_once("**"))
        .map(|(id, _)| id)
        .collect()
}

/// The count table as it has to stand on the page.
fn counts(defined: &BTreeSet<&str>, rows: &[(&str, &str, &str)]) -> String {
    let mut table = String::from(
        "| study | met | partly | declined | open | all |\n|---|---|---|---|---|---|\n",
    );
    let mut sums = [0; 5];
    for (letter, study) in STUDIES {
        let of_study = |id: &str| {
            id.split_once('-')
                .is_some_and(|(start, _)| start == *letter)
        };
        let all = defined.iter().filter(|id| of_study(id)).count();
        let of_status = STATUSES.iter().map(|wanted| {
            rows.iter()
                .filter(|(id, status, _)| of_study(id) && status == wanted)
                .count()
        });
        let mut line: Vec<usize> = of_status.collect();
        line.push(all.saturating_sub(line.iter().sum()));
        line.push(all);
        for (sum, value) in sums.iter_mut().zip(&line) {
            *sum += value;
        }
        table += &row(study, &line);
    }
    table + &row("all", &sums)
}

fn row(name: &str, values: &[usize]) -> String {
    let cells: Vec<String> = values.iter().map(usize::to_string).collect();
    format!("| {name} | {} |\n", cells.join(" | "))
}

#[test]
fn coverage_cites_only_requirements_that_exist() {
    let requirements = text(Path::new("docs/requirements.md"));
    let defined = defined(&requirements);
    assert_eq!(defined.len(), 530, "ids defined in docs/requirements.md");
    let page = text(Path::new("docs/coverage.md"));
    for id in cited(&page) {
        assert!(
            defined.contains(id),
            "docs/coverage.md cites {id}, which does not exist"
        );
    }
}

#[test]
fn every_requirement_stands_at_most_once_under_its_study_with_a_status_and_a_how() {
    let page = text(Path::new("docs/coverage.md"));
    let mut seen = BTreeMap::new();
    let mut section = "";
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading;
        }
        for (id, status, how) in rows(line) {
            let (letter, _) = id.split_once('-').unwrap();
            let wanted = STUDIES
                .iter()
                .find(|(known, _)| *known == letter)
                .unwrap()
                .1;
            assert_eq!(section, wanted, "{id} stands under the wrong heading");
            assert!(
                STATUSES.contains(&status),
                "{id}: status {status:?}, want one of {STATUSES:?}"
            );
            assert!(!how.is_empty(), "{id} is {status}, but how or why?");
            if let Some(before) = seen.insert(id.to_owned(), status.to_owned()) {
                panic!("{id} stands twice: {before} and {status}");
            }
        }
    }
}

#[test]
fn coverage_counts_are_up_to_date() {
    let requirements = text(Path::new("docs/requirements.md"));
    let page = text(Path::new("docs/coverage.md"));
    let wanted = counts(&defined(&requirements), &rows(&page));
    assert!(
        page.contains(&wanted),
        "the table of counts in docs/coverage.md has to be:\n\n{wanted}"
    );
}

#[test]
fn ids_are_found_in_prose_and_in_tables() {
    assert_eq!(
        cited("T-1, (B-22) and M-3; UTF-8, T-x, AT-5, C-"),
        ["T-1", "B-22", "M-3"]
    );
    let page = "| id | status | how |\n|---|---|---|\n| T-1 | met | so |\n";
    assert_eq!(rows(page), [("T-1", "met", "so")]);
    let table = counts(&BTreeSet::from(["T-1", "T-2"]), &rows(page));
    assert!(
        table.contains("| Tahvanainen 2016 | 1 | 0 | 0 | 1 | 2 |"),
        "{table}"
    );
}
