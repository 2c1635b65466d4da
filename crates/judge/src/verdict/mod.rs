//! The first word about a run.
//!
//! A stalled or slow server is never blamed on the generator: only pacer lateness, the generator's own
//! CPU and its own limits make a run generator-limited.

mod evidence;
mod generator;
mod missing;
mod server;
pub(crate) mod status;
pub(crate) mod words;

use record::run::{Kind, Verdict};

pub use evidence::{CoreUse, Evidence, Load, OwnLimit, ServerUse, Sessions};
pub use missing::{EndedBy, Missing, lower};

use words::{percent, time};

/// One reason for a verdict, and what would help.
pub(crate) struct Finding {
    evidence: String,
    advice: &'static str,
}

/// Little's law is held to so much, where it can be.
const LITTLE: f64 = 0.2;

impl Evidence {
    /// The verdict. FAILED comes before GENERATOR-LIMITED, that before SERVER-SATURATED, that before
    /// UNSTEADY: what comes first explains what comes later.
    pub fn verdict(&self) -> Verdict {
        let mut verdict = self.decide();
        verdict.notes = self.notes();
        verdict
    }

    fn decide(&self) -> Verdict {
        let of = |kind, findings: Vec<Finding>| {
            let mut advice: Vec<String> = Vec::new();
            for finding in &findings {
                if !finding.advice.is_empty() && !advice.iter().any(|it| it == finding.advice) {
                    advice.push(finding.advice.to_owned());
                }
            }
            Verdict {
                kind,
                evidence: findings.into_iter().map(|it| it.evidence).collect(),
                advice,
                notes: Vec::new(),
            }
        };
        // A server that was away is not one that was asked for too much, and looks like it.
        let mut outages = self.outages();
        let saturated = server::findings(self);
        if !outages.is_empty() {
            outages.extend(self.drifts());
        }
        let kinds: [(Kind, Vec<Finding>); 5] = [
            (Kind::Failed, self.failures()),
            (Kind::GeneratorLimited, generator::findings(self)),
            (Kind::Unsteady, outages),
            (Kind::ServerSaturated, saturated),
            (Kind::Unsteady, self.drifts()),
        ];
        for (kind, findings) in kinds {
            if !findings.is_empty() {
                return of(kind, findings);
            }
        }
        of(Kind::Valid, self.soundness())
    }

    fn failures(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add = |evidence: String, advice| findings.push(Finding { evidence, advice });
        // Who was interrupted before the first answer has not failed.
        if self.completed == 0 && !self.interrupted {
            add(
                match self.unfinished {
                    0 => "no operation was completed".to_owned(),
                    n => format!("none of {n} operations was answered"),
                },
                "see with `uaperf probe` whether the server answers at all, or allow more time with --timeout",
            );
        } else if self.completed > 0 && self.errors >= self.completed {
            add(
                format!(
                    "all {} operations failed{}",
                    self.completed,
                    self.most_common_error()
                ),
                status::advice(self.common_error.as_ref().map_or("", |(name, _)| name)),
            );
        }
        if self.sessions.wanted > 0 && self.sessions.lost >= self.sessions.wanted {
            add(
                match self.sessions.wanted {
                    1 => "the session was lost".to_owned(),
                    n => format!("all {n} sessions were lost"),
                },
                "see in the server's log why it closed them; --reconnect goes on all the same",
            );
        }
        findings
    }

    fn outages(&self) -> Vec<Finding> {
        let outages = self.settling.outages.iter();
        outages
            .map(|outage| {
                let (from, to) = (time(outage.from_ns as f64), time(outage.to_ns as f64));
                let length = time(outage.to_ns.saturating_sub(outage.from_ns) as f64);
                let until = if outage.lasts { "the end" } else { &*to };
                let failed = outage.failed;
                let evidence = match (outage.is_silent, failed) {
                    (true, 0) => {
                        format!("no operation succeeded from {from} to {until} ({length})")
                    }
                    (true, _) => format!(
                        "no operation succeeded from {from} to {until} ({length}), and {failed} failed"
                    ),
                    (false, _) => format!(
                        "{failed} operations failed between {from} and {to}: a failure is no warm-up"
                    ),
                };
                Finding {
                    evidence,
                    advice: "find out in the server's log what it did then; a start that fails is left out \
                             with --warmup only",
                }
            })
            .collect()
    }

    fn drifts(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self
            .settling
            .drifts
            .iter()
            .map(|drift| {
                let show = |value: f64| match drift.of {
                    "response" => time(value),
                    "cpu" => format!("{value:.2} cores"),
                    "rate" => format!("{:.0}/s", value * 1e9 / self.bin_ns.max(1) as f64),
                    _ => format!("{value:.0} operations"),
                };
                let what = match drift.of {
                    "response" => "median response time",
                    "backlog" => "backlog",
                    "cpu" => "CPU of the server",
                    other => other,
                };
                Finding {
                    evidence: format!(
                        "{what} went from {} to {} at {} (by chance: p = {})",
                        show(drift.before),
                        show(drift.after),
                        time(drift.at_ns as f64),
                        words::chance(drift.p)
                    ),
                    advice: match drift.of {
                        "backlog" => {
                            "the rate is above what the server can do for long: lower it, or run longer to see"
                        }
                        _ => {
                            "find out what changed at that time, run longer, or leave out more with --warmup or --max-warmup"
                        }
                    },
                }
            })
            .collect();
        if let Some((in_flight, law)) = self.little()
            && (in_flight - law).abs() > LITTLE * in_flight.max(law)
            && (in_flight - law).abs() > 1.0
        {
            findings.push(Finding {
                evidence: format!(
                    "in flight were {in_flight:.1} operations, but rate times service time makes {law:.1} \
                     (Little's law): what came in is not what went out"
                ),
                advice: "run longer, so that what is under way at both ends weighs less",
            });
        }
        findings
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

    fn soundness(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add = |evidence| {
            findings.push(Finding {
                evidence,
                advice: "",
            });
        };
        if self.load.is_open() && self.planned > 0 {
            add(format!(
                "{} of what was planned was sent",
                percent(self.sent as f64 / self.planned as f64)
            ));
            if let Some(p99) = self.pacer.quantile(0.99) {
                add(format!("pacer lateness p99 {}", time(p99 as f64)));
            }
        }
        if let Some(busy) = self.busiest() {
            add(format!("busiest core of the generator {}", percent(busy)));
        }
        findings
    }

    fn notes(&self) -> Vec<String> {
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
    let Some(kind) = phases.iter().map(|(_, verdict)| verdict.kind).max() else {
        return Verdict {
            kind: Kind::Failed,
            evidence: vec!["there was no phase".to_owned()],
            ..Verdict::default()
        };
    };
    let mut sum = Verdict {
        kind,
        ..Verdict::default()
    };
    let several = phases.len() > 1;
    for (name, verdict) in phases {
        if verdict.kind != kind {
            continue;
        }
        let named = |text: &String| match several {
            true => format!("{name}: {text}"),
            false => text.clone(),
        };
        sum.evidence.extend(verdict.evidence.iter().map(named));
        sum.notes.extend(verdict.notes.iter().map(named));
        for advice in &verdict.advice {
            if !sum.advice.contains(advice) {
                sum.advice.push(advice.clone());
            }
        }
    }
    sum
}
