//! All that speaks for or against a phase, and the one verdict that is made of it.

use record::run::{ByHand, Phase, Verdict};

use super::Evidence;
use super::missing::{Missing, lower};
use super::reason::{Reason, ReasonKind};
use super::subscriptions;
use crate::diagnostics;

/// What is known of a phase, until nothing more comes.
#[derive(Debug, Clone, Default)]
pub struct Judgement {
    reasons: Vec<Reason>,
    missing: Vec<Missing>,
    notes: Vec<String>,
    /// What would help whatever the verdict is.
    advice: Vec<&'static str>,
}

impl Judgement {
    /// What was recorded of requests, of the generator, and of the server's process.
    pub fn of(evidence: &Evidence) -> Self {
        Self {
            reasons: evidence.reasons(),
            notes: evidence.notes(),
            ..Self::default()
        }
    }

    /// Hears what a phase's subscriptions and the server's own counts say.
    pub fn hear(&mut self, phase: &Phase) {
        if let Some(told) = &phase.subscriptions {
            let reasons = subscriptions::reasons(told, phase);
            let failed = reasons.iter().any(|it| it.ground() == ReasonKind::Failed);
            if failed && told.subscriptions > 0 {
                // The server answers; of other requests there were none to be completed.
                let none = |it: &Reason| matches!(it, Reason::NothingCompleted { unanswered: 0 });
                self.reasons.retain(|it| !none(it));
            }
            self.reasons.extend(reasons);
            self.advice.extend(subscriptions::advice(told));
            self.notes.extend(subscriptions::notes(told, phase));
        }
        self.notes.extend(diagnostics::notes(phase));
    }

    /// What a person did while it ran. Where the offered load was changed by hand, a phase has no load that another could be
    /// compared with: it is not valid, however good it looks.
    pub fn by_hand(&mut self, changes: &[ByHand]) {
        let changes: Vec<ByHand> = changes
            .iter()
            .filter(|it| it.did.changes_load())
            .cloned()
            .collect();
        if !changes.is_empty() {
            self.reasons.insert(0, Reason::ByHand(changes));
        }
    }

    /// An agent of a fleet was the limit itself, with such a share of the offered load: the sum of all may hide it.
    pub fn limited_by(&mut self, agent: &str, share: f64, why: &str) {
        self.reasons.push(Reason::AgentLimited {
            agent: agent.to_owned(),
            share,
            why: why.to_owned(),
        });
    }

    /// What was asked and did not happen.
    pub fn lacks(&mut self, missing: impl IntoIterator<Item = Missing>) {
        for it in missing {
            if !self.missing.contains(&it) {
                self.missing.push(it);
            }
        }
    }

    /// The verdict. FAILED comes before INCOMPLETE, that before GENERATOR-LIMITED, that before what interrupts a phase, that
    /// before SERVER-SATURATED, that before drift: what comes first explains what comes later.
    pub fn verdict(mut self) -> Verdict {
        // Who ended it before its time did not wait for what had not come yet.
        if self
            .missing
            .iter()
            .any(|it| matches!(it, Missing::Time { .. }))
        {
            let waits = |it: &Reason| matches!(it, Reason::NothingCame { .. });
            self.reasons.retain(|it| !waits(it));
        }
        let ground = |it: &Reason| it.ground();
        let strongest = self.reasons.iter().map(ground).min();
        let strongest = strongest.unwrap_or(ReasonKind::Sound);
        let has_say = |it: &&Reason| {
            it.ground() == strongest
                || it.ground() == ReasonKind::ByHand
                || strongest == ReasonKind::Outage && it.ground() == ReasonKind::Drift
        };
        let mut verdict = Verdict {
            kind: strongest.kind(),
            notes: self.notes,
            ..Verdict::default()
        };
        for it in self.reasons.iter().filter(has_say) {
            verdict.add(it.about(), it.text(), it.advice());
        }
        // That all is well has none, and a silence has its own.
        if strongest != ReasonKind::Silence {
            self.advice.iter().for_each(|it| verdict.advise(it));
        }
        lower(verdict, &self.missing)
    }
}

#[cfg(test)]
mod tests {
    use record::run::{EvidenceTopic, Kind, OperatorAction};

    use super::*;
    use crate::EndedBy;

    fn change(seconds: u64, did: OperatorAction, offered_percent: u32) -> ByHand {
        ByHand {
            at_ns: seconds * 1_000_000_000,
            did,
            offered_percent,
        }
    }

    fn found(reasons: impl IntoIterator<Item = Reason>) -> Judgement {
        Judgement {
            reasons: reasons.into_iter().collect(),
            ..Judgement::default()
        }
    }

    const FAILED: Reason = Reason::SessionsGone(1);
    const LATE: Reason = Reason::LeftOut { share: 0.2 };
    const SILENT: Reason = Reason::Silence {
        from_ns: 0,
        length_ns: 1_000_000_000,
        to_ns: None,
    };
    const AWAY: Reason = Reason::Outage(crate::Outage {
        from_ns: 0,
        to_ns: 1_000_000_000,
        is_silent: true,
        failed: 0,
        lasts: false,
    });
    const BEHIND: Reason = Reason::Unanswered { share: 0.5 };
    const DRIFT: Reason = Reason::Little {
        in_flight: 1.0,
        law: 9.0,
    };
    const SOUND: Reason = Reason::Sent { share: 1.0 };

    #[test]
    fn what_explains_most_is_the_verdict_and_says_nothing_of_the_rest() {
        // From the first to the last: whatever comes behind has no say.
        let order = [FAILED, LATE, SILENT, AWAY, BEHIND, DRIFT, SOUND];
        for (n, first) in order.iter().enumerate() {
            let verdict = found(order[n..].iter().rev().cloned()).verdict();
            assert_eq!(verdict.kind, first.ground().kind());
            let about: Vec<EvidenceTopic> = verdict.reasons().map(|(about, _)| about).collect();
            match first {
                // After an outage figures drift; both are told.
                Reason::Outage(_) => {
                    assert_eq!(about, [EvidenceTopic::Little, EvidenceTopic::Outage])
                }
                first => assert_eq!(about, [first.about()]),
            }
        }
        assert_eq!(found([]).verdict(), Verdict::default());
    }

    #[test]
    fn a_load_that_was_changed_by_hand_is_never_valid_and_says_how() {
        let changes = [
            change(3, OperatorAction::Paused, 0),
            change(5, OperatorAction::Resumed, 100),
            change(6, OperatorAction::Offered, 110),
        ];
        let mut sound = found([SOUND]);
        sound.by_hand(&changes);
        let verdict = sound.verdict();
        assert_eq!(verdict.kind, Kind::Unsteady);
        assert_eq!(
            verdict.evidence,
            [
                "the offered load was changed by hand: paused at 3 s, resumed at 5 s, 110 % of the \
                 plan from 6 s"
            ]
        );
        for first in [FAILED, LATE, BEHIND] {
            let mut judgement = found([first.clone()]);
            judgement.by_hand(&changes[2..]);
            let verdict = judgement.verdict();
            assert_eq!(verdict.kind, first.ground().kind());
            assert_eq!(verdict.about, [EvidenceTopic::ByHand, first.about()]);
        }
        // A phase that was only ended has the load that was planned.
        let mut ended = found([]);
        ended.by_hand(&[change(1, OperatorAction::EndedPhase, 100)]);
        assert_eq!(ended.verdict(), Verdict::default());
    }

    #[test]
    fn who_ended_it_early_did_not_wait_for_the_first_value() {
        let nothing = Reason::NothingCame { events: false };
        assert_eq!(found([nothing.clone()]).verdict().kind, Kind::Failed);
        let mut judgement = found([nothing]);
        let early = Missing::Time {
            by: EndedBy::Interrupt,
            after_ns: 1_000_000_000,
            planned_ns: None,
        };
        // Told twice, it is missing once.
        judgement.lacks([early.clone(), early]);
        let verdict = judgement.verdict();
        assert_eq!(verdict.kind, Kind::Incomplete);
        assert_eq!(verdict.about, [EvidenceTopic::EndedEarly]);
    }

    #[test]
    fn what_it_would_have_been_stays_as_a_note_where_something_is_missing() {
        let lacks = Missing::Requests {
            wanted: 10,
            sent: 5,
        };
        let mut judgement = found([LATE]);
        judgement.lacks([lacks.clone()]);
        let verdict = judgement.verdict();
        assert_eq!(verdict.kind, Kind::Incomplete);
        assert_eq!(verdict.about, [EvidenceTopic::FewerRequests]);
        assert!(
            verdict.notes[0].starts_with("GENERATOR-LIMITED: 20 %"),
            "{verdict:?}"
        );
        let mut judgement = found([FAILED]);
        judgement.lacks([lacks]);
        let verdict = judgement.verdict();
        assert_eq!(
            verdict.about,
            [EvidenceTopic::SessionsLost, EvidenceTopic::FewerRequests]
        );
    }
}
