//! The first word about a run.
//!
//! A stalled or slow server is never blamed on the generator: only pacer lateness, the generator's own
//! CPU and its own limits make a run generator-limited.

mod evidence;
mod generator;
mod judgement;
mod missing;
pub(crate) mod reason;
mod server;
pub(crate) mod status;
pub mod subscriptions;
mod text;
pub(crate) mod words;

use record::run::{EvidenceTopic, Kind, Verdict};

pub use evidence::{CoreUse, Evidence, Load, OwnLimit, ServerUse, Sessions};
pub use judgement::Judgement;
pub use missing::{EndedBy, Missing, lower};

use reason::Reason;
use words::{percent, time};

/// Little's law is held to so much, where it can be.
const LITTLE: f64 = 0.2;

impl Evidence {
    /// The verdict, where nothing else has a say in it.
    pub fn verdict(&self) -> Verdict {
        Judgement::of(self).verdict()
    }

    /// All that speaks for one verdict or another.
    pub(crate) fn reasons(&self) -> Vec<Reason> {
        let mut reasons = self.failures();
        reasons.extend(generator::reasons(self));
        reasons.extend(self.settling.outages.iter().copied().map(Reason::Outage));
        reasons.extend(server::reasons(self));
        reasons.extend(self.drifts());
        reasons.extend(self.soundness());
        reasons
    }

    fn failures(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        // Who was interrupted before the first answer has not failed.
        if self.completed == 0 && !self.interrupted {
            reasons.push(Reason::NothingCompleted {
                unanswered: self.unfinished,
            });
        } else if self.completed > 0 && self.errors >= self.completed {
            reasons.push(Reason::AllFailed {
                count: self.completed,
                common: self.common_error.clone(),
            });
        }
        if self.sessions.wanted > 0 && self.sessions.lost >= self.sessions.wanted {
            reasons.push(Reason::SessionsGone(self.sessions.wanted));
        }
        reasons
    }

    fn drifts(&self) -> Vec<Reason> {
        let drifts = self.settling.drifts.iter().cloned();
        let mut reasons: Vec<Reason> = drifts
            .map(|drift| Reason::Drift {
                drift,
                bin_ns: self.bin_ns,
            })
            .collect();
        if let Some((in_flight, law)) = self.little()
            && (in_flight - law).abs() > LITTLE * in_flight.max(law)
            && (in_flight - law).abs() > 1.0
        {
            reasons.push(Reason::Little { in_flight, law });
        }
        reasons
    }

    /// Mean number in flight, and what Little's law makes of rate and service time. None where the
    /// law need not hold: few operations, or a window that is short beside a service time.
    fn little(&self) -> Option<(f64, f64)> {
        let seconds = self.window_ns as f64 / 1e9;
        let service = self.service.mean()? / 1e9;
        let settled = self.completed >= 100 && seconds > 20.0 * service;
        let in_flight = self.mean_in_flight?;
        settled.then(|| {
            let law = self.completed_in_time as f64 / seconds * service;
            (in_flight, law)
        })
    }

    fn soundness(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        if self.load.is_open() && self.planned > 0 {
            reasons.push(Reason::Sent {
                share: self.sent as f64 / self.planned as f64,
            });
            let p99 = self.pacer.quantile(0.99);
            reasons.extend(p99.map(|p99_ns| Reason::PacerOnTime { p99_ns }));
        }
        let busy = self.busiest();
        reasons.extend(busy.map(|busy| Reason::GeneratorIdle { busy }));
        reasons
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.errors > 0 && self.errors < self.completed {
            notes.push(format!(
                "{} of the operations failed{}",
                percent(self.errors as f64 / self.completed as f64),
                self.most_common_error()
            ));
        }
        if self.skipped > 0 {
            notes.push(format!(
                "{} planned operations were left out to catch up (--catch-up skip): response times know \
                 nothing of them",
                self.skipped
            ));
        }
        for excursion in &self.settling.excursions {
            if excursion.of == "rate" {
                notes.push(format!(
                    "from {} to {} the rate was unlike the rest of the run",
                    time(excursion.from_ns as f64),
                    time(excursion.to_ns as f64)
                ));
            }
        }
        if self.settling.kept_for > 0 {
            notes.push(format!(
                "nothing was left out as warm-up: {} operations failed in it",
                self.settling.kept_for
            ));
        }
        if let Some(reason) = self.settling.not_judged {
            notes.push(format!("steadiness was not judged: {reason}"));
        }
        notes.extend(generator::note(self));
        if let Some(stolen) = self.stolen_share
            && stolen >= 0.02
        {
            notes.push(format!(
                "the hypervisor took {} of this machine's time",
                percent(stolen)
            ));
        }
        if !self.load.is_open() && self.server.is_none() {
            notes.push(
                "closed loop: the server sets the rate; whether it is at its limit, its CPU or more in \
                 flight would tell"
                    .to_owned(),
            );
        }
        notes.extend(self.remarks.iter().cloned());
        notes
    }
}

/// The verdict of a run: the worst of its phases, with the name of each that had a say.
pub fn worst<'a>(phases: impl IntoIterator<Item = (&'a str, &'a Verdict)>) -> Verdict {
    let phases: Vec<(&str, &Verdict)> = phases.into_iter().collect();
    let mut sum = Verdict::default();
    let Some(kind) = phases.iter().map(|(_, verdict)| verdict.kind).max() else {
        sum.kind = Kind::Failed;
        sum.add(EvidenceTopic::Phase, "there was no phase".to_owned(), "");
        return sum;
    };
    sum.kind = kind;
    let several = phases.len() > 1;
    for (name, verdict) in phases {
        if verdict.kind != kind {
            continue;
        }
        let named = |text: &str| match several {
            true => format!("{name}: {text}"),
            false => text.to_owned(),
        };
        for (about, text) in verdict.reasons() {
            sum.add(about, named(text), "");
        }
        sum.notes.extend(verdict.notes.iter().map(|it| named(it)));
        verdict.advice.iter().for_each(|it| sum.advise(it));
    }
    sum
}
