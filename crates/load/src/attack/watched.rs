//! What was seen of a kind, by the good clients and at the server's process, stage by stage.

use std::time::{Duration, Instant};

use plan::unit::duration::nanos;
use record::Tally;
use record::attack::{Attackers, Held, Stage, Stages};
use record::run::Figure;

use super::good::{self, NewcomerOutcome, SETTLING};
use crate::engine::Outcome;

/// A look at the server's process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Look {
    /// CPU that it has taken so far.
    pub cpu: Option<Duration>,
    /// Its resident memory.
    pub rss_bytes: Option<u64>,
    /// Its open files and sockets.
    pub descriptors: Option<u64>,
    /// Whether it is known to be gone.
    pub gone: bool,
}

/// What says how the generator is off, given what became of a stage: by the Reads from one time to another.
pub type Limits<'a> = dyn Fn(&Outcome, &Tally, (u64, u64)) -> Vec<String> + 'a;

/// What was seen by the good clients and at the process.
pub(super) struct Watched<'a> {
    pub outcome: &'a Outcome,
    pub looks: &'a [(Instant, Look)],
    pub came: &'a [NewcomerOutcome],
    pub step: Duration,
}

impl Watched<'_> {
    pub fn seen(&self, limits: &Limits<'_>) -> Stages {
        let reads = good::reads(self.outcome);
        let width = reads.width_ns();
        let (settling, step) = (nanos(SETTLING), nanos(self.step));
        let end = self.outcome.ended_ns;
        let even = |at: u64| (at / width * width).min(end);
        let edges = [settling, settling + step, settling + 2 * step, end].map(even);
        let [first, begin, over, _] = edges;
        let spans = [(first, begin), (begin, over), (over, end)];
        let [calm, attacked, after] = spans.map(|span| self.stage(&reads, span, limits));
        let account = self.outcome.account.as_ref();
        Stages {
            memory: self.held((begin, end), |it| it.rss_bytes),
            descriptors: self.held((begin, end), |it| it.descriptors),
            sessions: Held::default(),
            calm,
            attacked,
            after,
            attackers: Attackers::default(),
            ratios: Vec::new(),
            lost_values: account.map_or_else(
                || Figure::missing("no subscription came about"),
                |it| Figure::Known(it.measured.places.lost() + it.measured.messages.lost()),
            ),
            limits: Vec::new(),
            turned_away: None,
            died: None,
        }
    }

    fn at(&self, ns: u64) -> Instant {
        self.outcome.origin + Duration::from_nanos(ns)
    }

    fn stage(&self, reads: &Tally, (from, to): (u64, u64), limits: &Limits<'_>) -> Stage {
        if to <= from {
            return Stage::default();
        }
        Stage {
            newcomers: good::newcomers(self.came, (self.at(from), self.at(to))),
            server_cores: self.cores((self.at(from), self.at(to))),
            limits: limits(self.outcome, reads, (from, to)),
            ..good::stage(self.outcome, reads, (from, to))
        }
    }

    fn cores(&self, (from, to): (Instant, Instant)) -> Figure<f64> {
        let inside = self.looks.iter().filter(|it| it.0 >= from && it.0 <= to);
        let inside: Vec<_> = inside.filter_map(|it| Some((it.0, it.1.cpu?))).collect();
        match (inside.first(), inside.last()) {
            (Some((begin, first)), Some((end, last))) if end > begin => {
                let spent = last.saturating_sub(*first);
                Figure::Known(spent.as_secs_f64() / (*end - *begin).as_secs_f64())
            }
            _ => Figure::missing(UNSEEN),
        }
    }

    /// Before an attack, at most from then on, and at the end.
    fn held(&self, (begin, _): (u64, u64), of: fn(&Look) -> Option<u64>) -> Held {
        let begin = self.at(begin);
        let before = self.looks.iter().rev().filter(|it| it.0 < begin);
        let since = || self.looks.iter().filter(|it| it.0 >= begin);
        let known = |it: Option<u64>| it.map_or_else(|| Figure::missing(UNSEEN), Figure::Known);
        Held {
            before: known(before.clone().find_map(|it| of(&it.1))),
            most: known(since().filter_map(|it| of(&it.1)).max()),
            after: known(since().rev().find_map(|it| of(&it.1))),
        }
    }
}

const UNSEEN: &str = "the server's process is not seen from here";
