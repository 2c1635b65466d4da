//! What holds for all sessions of a phase.

use std::time::Duration;

use plan::Phase;
use plan::unit::duration::nanos;

/// What holds for all sessions of a phase.
#[derive(Debug)]
pub struct Settings {
    /// When the figures begin, in nanoseconds since the phase began.
    pub warmup_ns: u64,
    /// When sending ends.
    end_ns: Option<u64>,
    /// Where the measured window begins and ends, as far as that is known before.
    cuts: Vec<u64>,
    /// Poll without sleeping.
    pub spin: bool,
    /// Answers to wait for before a thread wakes up.
    pub coalesce: u32,
    /// All sessions send at the same moment, so long after the last answer.
    pub together: Option<u64>,
    /// Connect again when a connection breaks.
    pub reconnect: bool,
    /// What is unanswered at the end is not awaited.
    pub abandons: bool,
    /// Ask the kernel when bytes came in.
    pub stamps: bool,
    /// Between the last item's creation and the begin.
    pub settle: Duration,
}

impl Settings {
    /// Those of a phase.
    pub fn new(phase: &Phase) -> Self {
        let warmup = phase.warmup.given();
        let until = phase.measured_until();
        let until = until.filter(|_| !phase.cooldown.is_zero());
        Self {
            cuts: until.into_iter().chain([warmup]).map(nanos).collect(),
            warmup_ns: nanos(warmup),
            end_ns: phase
                .measured_until()
                .map(|end| nanos(end.saturating_add(phase.cooldown))),
            spin: phase.spin,
            coalesce: phase.coalesce,
            together: match &phase.arrival {
                plan::Arrival::Closed { think, .. } if phase.together => Some(nanos(*think)),
                _ => None,
            },
            reconnect: phase.reconnect,
            abandons: false,
            stamps: true,
            settle: Duration::ZERO,
        }
    }

    /// Where the measured window begins and ends, as far as that is known before the phase begins: there
    /// its figures can be cut exactly.
    pub fn cuts(&self) -> &[u64] {
        &self.cuts
    }

    /// When sending ends, in nanoseconds since the phase began; the far end of time when a number
    /// of requests alone ends it.
    pub fn end_ns(&self) -> u64 {
        self.end_ns.unwrap_or(u64::MAX)
    }
}
