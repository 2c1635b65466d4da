//! What was asked and did not happen: less than was planned is INCOMPLETE, however good the rest looks.

use std::fmt;
use std::time::Duration;

use plan::unit::duration;
use record::run::{EvidenceTopic, Kind, Verdict};

use super::words::time;

/// Something that was asked and did not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// The phase ended before its time.
    Time {
        /// Who ended it.
        by: EndedBy,
        /// When, since it began.
        after_ns: u64,
        /// How long it was to be, where that was said.
        planned_ns: Option<u64>,
    },
    /// A server that was named, and is not loaded.
    Target {
        /// Its URL.
        url: String,
        /// What went wrong.
        why: String,
    },
    /// Sessions that were not opened.
    Sessions {
        /// How many were asked for.
        wanted: u64,
        /// How many were opened.
        opened: u64,
        /// What became of the first that was not.
        why: Option<String>,
    },
    /// Sessions that were lost on the way and did not come back.
    Lost {
        /// How many were opened.
        opened: u64,
        /// How many of them were lost.
        lost: u64,
        /// What became of the first.
        why: Option<String>,
    },
    /// Requests that were to be sent.
    Requests {
        /// How many were asked for.
        wanted: u64,
        /// How many were sent.
        sent: u64,
    },
    /// Subscriptions that were not created.
    Subscriptions {
        /// How many.
        refused: u64,
        /// By their status.
        status: String,
    },
    /// Monitored items that were not created.
    Items {
        /// How many.
        refused: u64,
        /// By their status.
        status: String,
    },
    /// An agent of a fleet that was lost, or could not do its share.
    Agent {
        /// Its name.
        name: String,
        /// How many sessions it had.
        sessions: u64,
        /// What happened to it.
        why: String,
    },
    /// An agent that published or listened, and was lost or could not do so.
    Role {
        /// Its name.
        name: String,
        /// `publishes`, `listens`.
        role: String,
        /// What happened to it.
        why: String,
    },
    /// An agent of a fleet that did not begin with the others.
    Begin {
        /// Its name.
        name: String,
        /// How long after the agreed moment it began.
        late_ns: u64,
    },
    /// An agent of a fleet that stopped before its time, when it had lost its controller.
    Cut {
        /// Its name.
        name: String,
        /// When, since the phase began.
        after_ns: u64,
        /// How long it was to be, where that was said.
        planned_ns: Option<u64>,
    },
    /// A phase that was not carried out.
    Phase {
        /// Its name.
        name: String,
        /// Why not.
        why: String,
    },
}

/// Who ended a phase before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedBy {
    /// A signal, or the key that ends all phases.
    Interrupt,
    /// The key that ends one phase.
    Hand,
    /// The time limit of the whole command.
    Limit {
        /// How long it was allowed to take.
        allowed: Duration,
    },
}

impl fmt::Display for EndedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupt => f.write_str("interrupted"),
            Self::Hand => f.write_str("ended by hand"),
            Self::Limit { allowed } => {
                write!(f, "time limit of {} reached", duration::typed(*allowed))
            }
        }
    }
}

impl Missing {
    pub(super) fn text(&self) -> String {
        let because = |why: &Option<String>| match why {
            Some(why) => format!(": {why}"),
            None => String::new(),
        };
        match self {
            Self::Time {
                by,
                after_ns,
                planned_ns,
            } => {
                let after = time(*after_ns as f64);
                match planned_ns {
                    Some(planned) => format!("{by} after {after} of {}", time(*planned as f64)),
                    None => format!("{by} after {after}"),
                }
            }
            Self::Target { url, why } => match why.contains(url.as_str()) {
                true => format!("a server was not loaded: {why}"),
                false => format!("{url} was not loaded: {why}"),
            },
            Self::Sessions {
                wanted,
                opened,
                why,
            } => {
                let were = if *opened == 1 { "was" } else { "were" };
                format!(
                    "of {wanted} sessions {opened} {were} opened{}",
                    because(why)
                )
            }
            Self::Lost { opened, lost, why } => match opened {
                // Of sessions that come and go nobody knows how many there were.
                0 if *lost > 1 => format!("{lost} sessions were lost{}", because(why)),
                0 | 1 => format!("the session was lost{}", because(why)),
                _ => {
                    let were = if *lost == 1 { "was" } else { "were" };
                    format!("of {opened} sessions {lost} {were} lost{}", because(why))
                }
            },
            Self::Requests { wanted, sent } => format!("{sent} of {wanted} requests were sent"),
            Self::Subscriptions { refused, status } => match refused {
                1 => format!("1 subscription was not created: {status}"),
                n => format!("{n} subscriptions were not created: {status}"),
            },
            Self::Items { refused, status } => match refused {
                1 => format!("1 item was not created: {status}"),
                n => format!("{n} items were not created: {status}"),
            },
            Self::Role { name, role, why } => {
                let what = match role.as_str() {
                    "publishes" => "what it published is not known",
                    _ => "what it heard is missing",
                };
                format!("agent {name} {why}: {what}")
            }
            Self::Agent {
                name,
                sessions,
                why,
            } => {
                let what = match sessions {
                    0 => String::new(),
                    1 => ": what its session did is missing".to_owned(),
                    n => format!(": what its {n} sessions did is missing"),
                };
                format!("agent {name} {why}{what}")
            }
            Self::Begin { name, late_ns } => format!(
                "agent {name} began {} after the others",
                time(*late_ns as f64)
            ),
            Self::Cut {
                name,
                after_ns,
                planned_ns,
            } => {
                let of =
                    planned_ns.map_or_else(String::new, |it| format!(" of {}", time(it as f64)));
                format!(
                    "agent {name} had lost its controller and stopped after {}{of}",
                    time(*after_ns as f64)
                )
            }
            Self::Phase { name, why } => format!("{name} was not measured: {why}"),
        }
    }

    /// What it is about, for programs.
    pub(super) fn about(&self) -> EvidenceTopic {
        match self {
            Self::Time { .. } => EvidenceTopic::EndedEarly,
            Self::Target { .. } => EvidenceTopic::Target,
            Self::Sessions { .. } => EvidenceTopic::FewerSessions,
            Self::Lost { .. } => EvidenceTopic::LostSessions,
            Self::Requests { .. } => EvidenceTopic::FewerRequests,
            Self::Subscriptions { .. } => EvidenceTopic::FewerSubscriptions,
            Self::Items { .. } => EvidenceTopic::FewerItems,
            Self::Agent { .. } | Self::Role { .. } | Self::Begin { .. } | Self::Cut { .. } => {
                EvidenceTopic::Agent
            }
            Self::Phase { .. } => EvidenceTopic::Phase,
        }
    }

    pub(super) fn advice(&self) -> &'static str {
        match self {
            Self::Time { .. } => "let it run to its end",
            Self::Target { .. } => {
                "see with `uaperf probe` what is wrong there, or leave that server out"
            }
            Self::Sessions { .. } => "ask for fewer sessions, or let the server take more",
            Self::Lost { .. } => {
                "see in the server's log why it closed them; --reconnect goes on all the same"
            }
            // What took them is named by another line.
            Self::Requests { .. } => "",
            Self::Subscriptions { .. } => "the server grants no more: fewer with --subscriptions",
            Self::Items { status, .. } => super::status::advice(status),
            Self::Agent { .. } | Self::Role { .. } => {
                "see on that host what ended it; `uaperf fleet check` tells whether it is there"
            }
            Self::Begin { .. } => {
                "see whether its host or the way there stood still, and run it again"
            }
            Self::Cut { .. } => "--orphan lets agents go on alone for longer",
            Self::Phase { .. } => "mend what it says, and run it again",
        }
    }
}

/// Lowers a verdict to INCOMPLETE where something is missing. What it was before stays as a note; FAILED stays
/// FAILED, with what is missing beside its reasons.
#[must_use]
pub fn lower(mut verdict: Verdict, missing: &[Missing]) -> Verdict {
    if missing.is_empty() {
        return verdict;
    }
    let kind = verdict.kind;
    if !matches!(kind, Kind::Failed | Kind::Incomplete) {
        let before = verdict.take_evidence();
        if kind != Kind::Valid {
            let before = before.into_iter().map(|it| format!("{kind}: {it}"));
            verdict.notes = before.chain(verdict.notes).collect();
        }
    }
    verdict.kind = kind.max(Kind::Incomplete);
    for it in missing {
        verdict.add(it.about(), it.text(), it.advice());
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn interrupted() -> Missing {
        Missing::Time {
            by: EndedBy::Interrupt,
            after_ns: 2 * S,
            planned_ns: Some(10 * S),
        }
    }

    fn of(kind: Kind) -> Verdict {
        Verdict {
            kind,
            evidence: vec!["why".to_owned()],
            ..Verdict::default()
        }
    }

    #[test]
    fn whatever_was_found_a_run_that_lacks_something_is_incomplete_and_says_what() {
        for kind in [
            Kind::Valid,
            Kind::ServerSaturated,
            Kind::Unsteady,
            Kind::GeneratorLimited,
        ] {
            let lowered = lower(of(kind), &[interrupted()]);
            assert_eq!(lowered.kind, Kind::Incomplete);
            assert_eq!(lowered.evidence, ["interrupted after 2 s of 10 s"]);
            // What it rested on before is not lost; that all is well is no news.
            let notes: &[String] = match kind {
                Kind::Valid => &[],
                kind => &[format!("{kind}: why")],
            };
            assert_eq!(lowered.notes, notes);
        }
    }

    #[test]
    fn a_time_limit_is_named_as_it_was_typed() {
        let cut = Missing::Time {
            by: EndedBy::Limit {
                allowed: Duration::from_secs(600),
            },
            after_ns: 598 * S,
            planned_ns: Some(3600 * S),
        };
        let lowered = lower(of(Kind::Valid), &[cut]);
        assert_eq!(lowered.kind, Kind::Incomplete);
        let told = lowered.evidence.join("");
        assert!(
            told.starts_with("time limit of 10m reached after "),
            "{told}"
        );
    }

    #[test]
    fn what_failed_has_failed_all_the_same() {
        let lowered = lower(of(Kind::Failed), &[interrupted()]);
        assert_eq!(lowered.kind, Kind::Failed);
        assert_eq!(lowered.evidence, ["why", "interrupted after 2 s of 10 s"]);
        assert_eq!(lower(of(Kind::Unsteady), &[]), of(Kind::Unsteady));
    }

    #[test]
    fn each_thing_that_is_missing_is_told_with_how_many_there_were() {
        let said = |missing| lower(Verdict::default(), &[missing]).evidence.concat();
        let why = Some("session 1: BadTooManySessions".to_owned());
        assert_eq!(
            said(Missing::Sessions {
                wanted: 4,
                opened: 3,
                why
            }),
            "of 4 sessions 3 were opened: session 1: BadTooManySessions"
        );
        assert_eq!(
            said(Missing::Lost {
                opened: 8,
                lost: 1,
                why: None
            }),
            "of 8 sessions 1 was lost"
        );
        assert_eq!(
            said(Missing::Cut {
                name: "ssh:pc1".to_owned(),
                after_ns: 3 * S,
                planned_ns: Some(10 * S),
            }),
            "agent ssh:pc1 had lost its controller and stopped after 3 s of 10 s"
        );
        assert_eq!(
            said(Missing::Begin {
                name: "ssh:pc1".to_owned(),
                late_ns: S + S / 2,
            }),
            "agent ssh:pc1 began 1.50 s after the others"
        );
        assert_eq!(
            said(Missing::Requests {
                wanted: 100,
                sent: 29
            }),
            "29 of 100 requests were sent"
        );
        assert_eq!(
            said(Missing::Target {
                url: "opc.tcp://b:1".to_owned(),
                why: "connection refused".to_owned()
            }),
            "opc.tcp://b:1 was not loaded: connection refused"
        );
    }
}
