//! The same phase with more load, or less: what a search for a capacity changes.

use std::fmt;
use std::str::FromStr;

use crate::arrival::{Arrival, Pace};
use crate::error::PlanError;
use crate::history::History;
use crate::phase::Phase;
use crate::request::{Browse, Call, Read, Register, Translate, Write};
use crate::unit::Rate;
use crate::work::Work;

/// What grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grow {
    /// Requests per second, of all sessions together: an open loop.
    Rate,
    /// Sessions with each target.
    Sessions,
    /// Requests in flight, in each session: a closed loop.
    InFlight,
    /// Nodes in a request.
    Batch,
    /// Subscriptions in each session.
    Subscriptions,
    /// Items in each subscription.
    Items,
}

impl Grow {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Rate,
        Self::Sessions,
        Self::InFlight,
        Self::Batch,
        Self::Subscriptions,
        Self::Items,
    ];

    /// As people type it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Sessions => "sessions",
            Self::InFlight => "in-flight",
            Self::Batch => "batch",
            Self::Subscriptions => "subscriptions",
            Self::Items => "items",
        }
    }

    /// Whether it comes in whole numbers.
    pub const fn is_whole(self) -> bool {
        !matches!(self, Self::Rate)
    }

    /// A load, with its unit.
    pub fn show(self, load: f64) -> String {
        match (self, load) {
            (Self::Rate, load) => Rate::show(load),
            (Self::InFlight, load) => format!("{load} in flight"),
            (Self::Batch, load) => format!("{load} a request"),
            (_, 1.0) => format!("1 {}", self.name().trim_end_matches('s')),
            (_, load) => format!("{load} {}", self.name()),
        }
    }
}

impl fmt::Display for Grow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Grow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|it| it.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("{text:?} cannot grow (want one of {names})")
        })
    }
}

impl Phase {
    /// The same phase under another load, with so many targets.
    pub fn grown(&self, grow: Grow, load: f64, targets: u32) -> Result<Self, PlanError> {
        let mut phase = self.clone();
        let bad = |want| PlanError::new("grow", grow.name(), want);
        let whole = load as u32;
        match grow {
            Grow::Rate => {
                let sessions = self.sessions.saturating_mul(targets.max(1));
                // A thousandth of a request per second is fine enough.
                let total = Rate::new((load * 1e3).round() as u64, 1_000_000_000_000);
                let each = total
                    .and_then(|total| total.divided(sessions))
                    .ok_or_else(|| PlanError::new("rate", load, "0.001/s to 1000000000/s"))?;
                phase.arrival = Arrival::Open(match &self.arrival {
                    Arrival::Open(Pace::Poisson { .. }) => Pace::Poisson { rate: each },
                    Arrival::Open(Pace::Constant { .. }) | Arrival::Closed { .. } => {
                        Pace::Constant { rate: each }
                    }
                    Arrival::Open(_) => {
                        return Err(bad("something else, or arrival constant or poisson"));
                    }
                });
                phase.coalesce = 1;
            }
            Grow::Sessions => phase.sessions = whole,
            Grow::InFlight => match &mut phase.arrival {
                Arrival::Closed { in_flight, .. } => *in_flight = whole,
                Arrival::Open(_) => {
                    return Err(bad("something else in an open loop, such as rate"));
                }
            },
            Grow::Batch => match &mut phase.work {
                Work::Read(Read { batch, .. })
                | Work::Register(Register {
                    read: Read { batch, .. },
                    ..
                })
                | Work::Write(Write { batch, .. })
                | Work::Browse(Browse { batch, .. })
                | Work::Translate(Translate { batch, .. })
                | Work::Call(Call { batch, .. })
                | Work::History(History { batch, .. }) => *batch = whole,
                Work::Subscribe(_) => return Err(bad("items, subscriptions or sessions")),
                Work::Items(items) => items.items_per_call = Some(whole),
                Work::Nodes(new) => new.nodes_per_call = Some(whole),
                Work::Connect(_) | Work::Sequence(_) => return Err(bad("rate or sessions")),
                Work::Publish(_) | Work::Listen(_) => return Err(bad("a scenario with a sweep")),
            },
            Grow::Subscriptions | Grow::Items => match &mut phase.work {
                Work::Items(it) if grow == Grow::Items => it.items = Some(whole),
                Work::Items(it) => it.subscriptions = whole,
                Work::Subscribe(it) if grow == Grow::Items => it.items = Some(whole),
                Work::Subscribe(it) => it.subscriptions = whole,
                _ => return Err(bad("rate, sessions, in-flight or batch")),
            },
        }
        phase.check()?;
        Ok(phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::{NodeSpec, Nodes};

    fn read() -> Phase {
        let node: NodeSpec = "i=2258".parse().unwrap();
        Phase::new(Work::Read(Read::new(Nodes::from(node))))
    }

    #[test]
    fn a_rate_is_of_all_sessions_of_all_targets_together() {
        let phase = Phase {
            sessions: 4,
            ..read()
        };
        let grown = phase.grown(Grow::Rate, 1_000.0, 2).unwrap();
        assert_eq!(grown.pace().unwrap().mean_rate(), 125.0);
    }

    #[test]
    fn random_arrivals_stay_random() {
        let rate = Rate::per_second(1).unwrap();
        let phase = Phase {
            arrival: Arrival::Open(Pace::Poisson { rate }),
            ..read()
        };
        let grown = phase.grown(Grow::Rate, 0.5, 1).unwrap();
        let half = Rate::new(1, 2_000_000_000).unwrap();
        assert_eq!(grown.arrival, Arrival::Open(Pace::Poisson { rate: half }));
    }

    #[test]
    fn what_a_load_has_not_cannot_grow() {
        for grow in [Grow::Items, Grow::Subscriptions] {
            let refused = read().grown(grow, 2.0, 1).unwrap_err();
            assert!(refused.to_string().contains("want rate"), "{refused}");
        }
        let open = read().grown(Grow::Rate, 10.0, 1).unwrap();
        assert!(open.grown(Grow::InFlight, 2.0, 1).is_err());
        assert!(read().grown(Grow::Sessions, 0.0, 1).is_err());
    }

    #[test]
    fn names_are_read_as_they_are_shown() {
        for grow in Grow::ALL {
            assert_eq!(grow.to_string().parse(), Ok(grow));
        }
        assert!("threads".parse::<Grow>().is_err());
    }
}
