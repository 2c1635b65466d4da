//! What a person did to a phase while it ran, in its verdict.

use record::run::{ByHand, Hand, Kind, Verdict};

use crate::verdict::words::time;

/// More changes than these are only counted.
const TOLD: usize = 6;

/// Says so in the verdict where the offered load was changed by hand: such a phase has no load that
/// another could be compared with, so it is not valid, however good it looks.
pub fn by_hand(mut verdict: Verdict, changes: &[ByHand]) -> Verdict {
    let changes: Vec<&ByHand> = changes.iter().filter(|it| it.did.changes_load()).collect();
    if changes.is_empty() {
        return verdict;
    }
    if verdict.kind == Kind::Valid {
        verdict.kind = Kind::Unsteady;
        verdict.evidence.clear();
    }
    let mut told: Vec<String> = changes.iter().take(TOLD).map(|it| sentence(it)).collect();
    match changes.len().saturating_sub(TOLD) {
        0 => {}
        1 => told.push("and once more".to_owned()),
        more => told.push(format!("and {more} times more")),
    }
    let told = format!("the offered load was changed by hand: {}", told.join(", "));
    verdict.evidence.insert(0, told);
    let again = "run it again and leave it alone, for figures that can be compared";
    verdict.advice.insert(0, again.to_owned());
    verdict
}

fn sentence(change: &ByHand) -> String {
    let at = time(change.at_ns as f64);
    match change.did {
        Hand::Paused => format!("paused at {at}"),
        Hand::Resumed => format!("resumed at {at}"),
        _ => format!("{} % of the plan from {at}", change.offered_percent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(seconds: u64, did: Hand, offered_percent: u32) -> ByHand {
        ByHand {
            at_ns: seconds * 1_000_000_000,
            did,
            offered_percent,
        }
    }

    #[test]
    fn a_load_that_was_changed_by_hand_is_never_valid_and_says_how() {
        let valid = Verdict {
            evidence: vec!["100 % of what was planned was sent".to_owned()],
            ..Verdict::default()
        };
        assert_eq!(valid.kind, Kind::Valid);
        let changes = [
            change(3, Hand::Paused, 0),
            change(5, Hand::Resumed, 100),
            change(6, Hand::Offered, 110),
        ];
        let verdict = by_hand(valid, &changes);
        assert_eq!(verdict.kind, Kind::Unsteady);
        assert_eq!(
            verdict.evidence,
            [
                "the offered load was changed by hand: paused at 3 s, resumed at 5 s, 110 % of the \
                 plan from 6 s"
            ]
        );
    }

    #[test]
    fn what_explains_more_stays_the_verdict() {
        for kind in [Kind::Failed, Kind::GeneratorLimited, Kind::ServerSaturated] {
            let verdict = Verdict {
                kind,
                evidence: vec!["why".to_owned()],
                ..Verdict::default()
            };
            let verdict = by_hand(verdict, &[change(1, Hand::Offered, 90)]);
            assert_eq!(verdict.kind, kind);
            assert_eq!(verdict.evidence.len(), 2);
        }
    }

    #[test]
    fn a_phase_that_was_only_ended_has_the_load_that_was_planned() {
        let verdict = by_hand(Verdict::default(), &[change(1, Hand::EndedPhase, 100)]);
        assert_eq!(verdict, Verdict::default());
    }
}
