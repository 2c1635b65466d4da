//! What every ready scenario of `scenarios/` says.

use crate::files::{text, tracked};

/// A publisher waits for no answer.
const PUBSUB: &str = "service = \"publish\"";

/// Sections of a scenario whose phases have no timeout: their own, or that of all.
fn without_timeout(scenario: &str) -> usize {
    let is_header = |line: &&str| line.starts_with('[') && line.ends_with(']');
    let mut sections: Vec<(&str, bool)> = Vec::new();
    for line in scenario.lines().map(str::trim_end) {
        if is_header(&line) {
            sections.push((line, false));
        } else if (line.starts_with("timeout = ") || line == PUBSUB)
            && let Some((_, has)) = sections.last_mut()
        {
            *has = true;
        }
    }
    let of_all = sections.contains(&("[defaults]", true));
    let phases = sections.iter().filter(|(name, _)| *name == "[[phase]]");
    phases.filter(|(_, has)| !has && !of_all).count()
}

#[test]
fn every_phase_of_a_ready_scenario_says_its_timeout() {
    let files = tracked().into_iter();
    let scenarios = files
        .filter(|it| it.starts_with("scenarios") && it.extension().is_some_and(|it| it == "toml"));
    let mut seen = 0;
    for file in scenarios {
        // The studies waited for answers; what is given up early is missing from their figures.
        let missing = without_timeout(&text(&file));
        assert_eq!(missing, 0, "{}: a phase without timeout", file.display());
        seen += 1;
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn a_phase_without_a_timeout_is_seen() {
    let with = "[defaults]\ntimeout = \"60s\"\n[[phase]]\n[[phase]]\n";
    assert_eq!(without_timeout(with), 0);
    let without = "[defaults]\nrate = \"1/s\"\n[[phase]]\ntimeout = \"60s\"\n[[phase]]\n";
    assert_eq!(without_timeout(without), 1);
    assert_eq!(without_timeout(&format!("[[phase]]\n{PUBSUB}\n")), 0);
}
