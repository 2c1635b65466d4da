//! The results of all agents as one outcome, and what is to be said of each.

use std::time::{Instant, SystemTime};

use judge::Missing;
use load::engine::Outcome;
use plan::Phase;
use plan::unit::duration::nanos;
use record::run::{Figure, Host, Kind, Run};

use super::task::AgentResults;

/// An agent at the end.
#[derive(Debug)]
pub struct AgentResult {
    /// Who it was, with its sessions and its clock; why nothing is known of what it did.
    pub host: Host,
    /// What it told.
    pub results: Option<AgentResults>,
    /// It told that when the load was long over, and nobody had told it to stop.
    pub late: bool,
}

/// What a fleet did.
#[derive(Debug)]
pub struct Shared {
    /// Each agent.
    pub hosts: Vec<Host>,
    /// Agents of which something is missing.
    pub missing: Vec<Missing>,
    /// By how much delays can be wrong, at the agent where it is most.
    pub clock_error: Figure<u64>,
    /// All began within this of each other.
    pub spread_ns: Option<u64>,
}

impl Shared {
    /// Agents that were the limit themselves: name, share of the load, and why.
    pub fn limits(&self) -> impl Iterator<Item = (&str, f64, String)> {
        self.hosts.iter().filter_map(|host| {
            let verdict = host.verdict.as_ref()?;
            let limited = verdict.kind == Kind::GeneratorLimited;
            limited.then(|| (&*host.name, host.offered_share, verdict.evidence.join("; ")))
        })
    }

    /// What should be known of how they worked together at a phase.
    pub fn note(&self, phase: Option<&str>) -> String {
        let of = phase.map_or_else(String::new, |name| format!("{name}: "));
        let there = self.hosts.iter().filter(|it| it.lost.is_none()).count();
        let within = match self.spread_ns {
            Some(ns) => format!(
                ", which began within {} of each other",
                plan::unit::duration::show_ns(ns)
            ),
            None => String::new(),
        };
        match there {
            1 => format!("{of}the load came from 1 agent"),
            n => format!("{of}the load came from {n} agents{within}"),
        }
    }

    /// Whether a note is one of these about a phase: another one takes its place when results came late.
    pub fn is_note(text: &str, phase: Option<&str>) -> bool {
        let of = phase.map_or_else(String::new, |name| format!("{name}: "));
        text.strip_prefix(&of)
            .is_some_and(|rest| rest.starts_with("the load came from "))
    }
}

/// Agents that begin within this of the agreed moment have begun together.
const TOGETHER_NS: u64 = 100_000_000;

/// Adds up what agents told of a phase.
pub fn add_up(
    phase: &Phase,
    targets: usize,
    (origin, began): (Instant, SystemTime),
    agents: Vec<AgentResult>,
) -> (Outcome, Shared) {
    let mut outcome = Outcome::blank(phase, targets, origin, began);
    let mut shared = Shared {
        hosts: Vec::new(),
        missing: Vec::new(),
        clock_error: Figure::Known(0),
        spread_ns: None,
    };
    let results = || agents.iter().filter_map(|it| it.results.as_ref());
    let planned: u64 = results().map(|it| it.part.planned()).sum();
    let sessions: u64 = agents.iter().map(|it| it.host.sessions).sum();
    let mut bounds = Vec::new();
    for AgentResult {
        mut host,
        results,
        late,
    } in agents
    {
        let began_late = results.as_ref().map_or(0, |it| it.late_ns);
        if began_late > 0
            && let Figure::Known(error) = &mut host.clock.begin_error_ns
        {
            *error = error.saturating_add(began_late);
        }
        if began_late > TOGETHER_NS {
            shared.missing.push(Missing::Begin {
                name: host.name.clone(),
                late_ns: began_late,
            });
        }
        if host.lost.is_none() && host.sessions > 0 {
            bounds.extend(host.clock.begin_error_ns.known().copied());
        }
        if let Some(why) = &host.lost {
            shared.missing.push(Missing::Agent {
                name: host.name.clone(),
                sessions: host.sessions,
                why: why.clone(),
            });
        }
        if let Some(results) = results {
            host.offered_share = match planned {
                0 => host.sessions as f64 / sessions.max(1) as f64,
                all => results.part.planned() as f64 / all as f64,
            };
            shared.clock_error = match (&shared.clock_error, results.clock_error_ns) {
                (Figure::Known(most), Some(error)) => Figure::Known(error.max(*most)),
                (Figure::Known(_), None) => {
                    Figure::missing("a server does not tell an agent its time")
                }
                (missing, _) => missing.clone(),
            };
            tell_of(&mut host, &results.run);
            let stopped = outcome.stopped;
            if let Some(after_ns) = results.part.stopped_at().filter(|_| late) {
                shared.missing.extend(cut(phase, &host.name, after_ns));
            }
            outcome.add(results.part);
            if late {
                // Nobody stopped all of them.
                outcome.stopped = stopped;
            }
        }
        shared.hosts.push(host);
    }
    bounds.sort_unstable();
    shared.spread_ns = match bounds.as_slice() {
        [.., second, first] => Some(first + second),
        _ => None,
    };
    (outcome, shared)
}

/// An agent that stopped by itself, unless its time had come.
fn cut(phase: &Phase, name: &str, after_ns: u64) -> Option<Missing> {
    let planned = phase.measured_until();
    let planned_ns = planned.map(|it| nanos(it.saturating_add(phase.cooldown)));
    let early = planned_ns.is_none_or(|end| after_ns < end);
    early.then(|| Missing::Cut {
        name: name.to_owned(),
        after_ns,
        planned_ns,
    })
}

/// What an agent's own result says of its host.
fn tell_of(host: &mut Host, run: &str) {
    let Ok(mut run) = Run::from_agent(run) else {
        return;
    };
    host.machine = run.machine;
    if let Some(phase) = run.phases.pop() {
        host.verdict = Some(phase.verdict);
        host.total = Some(phase.total);
        host.resources = phase.resources;
    }
}
