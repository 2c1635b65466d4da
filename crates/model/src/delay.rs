//! How long a value is on its way: it waits for its publishing, its message for others, and then it is made and carried.
//!
//! Nothing here is fitted but what a message costs. Publishing is periodic, so that the queue is one of periodic jobs,
//! ΣD/D/1, and not one of chance arrivals.

use link::{HEADERS, SEGMENT, Spec};
use record::average::mean;
use serde::Serialize;

use crate::fitted::{Model, Prediction};
use crate::plant::Phases;
use crate::term::Term;
use crate::workload::Workload;

/// A delay and what it is made of, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Delay {
    /// On average.
    pub mean_ms: f64,
    /// Half of all values are there by then.
    pub p50_ms: f64,
    /// 95 of 100.
    pub p95_ms: f64,
    /// 99 of 100.
    pub p99_ms: f64,
    /// From the change of a value to the publishing that it is in, on average.
    pub phase_ms: f64,
    /// What its message waits for others, on average.
    pub queue_ms: f64,
    /// What 95 of 100 messages wait for others at most.
    pub queue_p95_ms: f64,
    /// What making the message takes.
    pub service_ms: f64,
    /// What the link takes.
    pub link_ms: f64,
}

/// Values of each part that are combined: their strata.
const STRATA: usize = 24;

/// What a server does with its core while it publishes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Serving {
    /// CPU time of a message, in milliseconds.
    pub message_ms: f64,
    /// The share of the core that other things take.
    pub background: f64,
}

impl Serving {
    /// From what is spent in a second on each term, in microseconds.
    pub fn of(workload: &Workload, spent: &[(Term, f64)]) -> Self {
        let publishing = |term: Term| match term {
            Term::Message | Term::Value | Term::SampleAtPublishing | Term::SpreadSample => true,
            Term::WakeUp => true,
            Term::SignedMessage | Term::EncryptedMessage | Term::SecuredBytes => {
                workload.messages_per_s() > 0.0
            }
            _ => false,
        };
        let (mut of_messages, mut others) = (0.0, 0.0);
        for &(term, us) in spent {
            match publishing(term) {
                true => of_messages += us,
                false => others += us,
            }
        }
        Self {
            message_ms: of_messages / workload.messages_per_s().max(f64::MIN_POSITIVE) / 1e3,
            background: others / 1e6,
        }
    }
}

/// The bytes of a message without values, and of a value, where nothing was measured: as open62541 sends them.
const HEAD_BYTES: f64 = 160.0;
const VALUE_BYTES: f64 = 26.0;

/// The delay of values of a workload whose CPU was predicted, over a link of its own: what others send over it is not
/// in it.
pub fn predicted(
    model: &Model,
    workload: &Workload,
    cpu: &Prediction,
    phases: Phases,
    link: Option<&Spec>,
) -> Option<Delay> {
    let bytes = match model.bytes(workload, 0.5) {
        Some(all) => all.value / workload.sent_per_s().max(f64::MIN_POSITIVE),
        None => HEAD_BYTES + VALUE_BYTES * workload.items,
    };
    let link_ms = link.map_or(0.0, |it| {
        let segments = (bytes / SEGMENT as f64).ceil();
        let bits = (bytes + segments * HEADERS as f64) * 8.0;
        let way = it.down.delay.as_secs_f64() * 1e3;
        way + it
            .down
            .rate
            .map_or(0.0, |rate| bits / rate.get() as f64 * 1e3)
    });
    let serving = Serving::of(workload, &cpu.parts);
    delay(workload, serving, phases, link_ms)
}

/// The delay of values of a workload, at a server that publishes with one core. None where nothing is published, or where
/// the core is not fast enough: delays grow without end then.
pub fn delay(of: &Workload, serving: Serving, phases: Phases, link_ms: f64) -> Option<Delay> {
    let sources = of.all_subscriptions().round();
    let period_ms = of.publishing_ms.max(of.change_ms).max(of.sampling_ms);
    let left = 1.0 - serving.background;
    if of.messages_per_s() <= 0.0 || left <= 0.0 {
        return None;
    }
    let service_ms = serving.message_ms / left;
    if sources * service_ms >= period_ms {
        return None;
    }
    // Values that change at one moment go out in the publishing interval that follows, however long nothing changes then.
    let within_ms = of.publishing_ms.max(of.sampling_ms);
    let phases = match sources * service_ms < within_ms {
        true => phases,
        false => Phases::Aligned,
    };
    let queue = queue(sources as u32, service_ms, within_ms, phases);
    let (first, second) = phase(of);
    let evenly = |longest: f64| -> Vec<f64> {
        let middle = |at: usize| (at as f64 + 0.5) / STRATA as f64 * longest;
        (0..STRATA).map(middle).collect()
    };
    let mut all = Vec::with_capacity(STRATA * STRATA * STRATA);
    for first in evenly(first) {
        for second in evenly(second) {
            for wait in &queue {
                all.push(first + second + wait + service_ms + link_ms);
            }
        }
    }
    all.sort_by(f64::total_cmp);
    let quantile = |share: f64| all[((all.len() as f64 * share) as usize).min(all.len() - 1)];
    Some(Delay {
        mean_ms: mean(&all)?,
        p50_ms: quantile(0.5),
        p95_ms: quantile(0.95),
        p99_ms: quantile(0.99),
        phase_ms: (first + second) / 2.0,
        queue_ms: mean(&queue)?,
        queue_p95_ms: queue[STRATA * 95 / 100],
        service_ms,
        link_ms,
    })
}

/// How long a value waits at most to be sampled, and then to be published; each wait is evenly spread from 0 on.
fn phase(of: &Workload) -> (f64, f64) {
    let (publishing, sampling, change) = (of.publishing_ms, of.sampling_ms, of.change_ms);
    match sampling < publishing {
        // Sampling that is as slow as publishing happens when there is a publishing.
        false if sampling <= publishing => (change.min(publishing), 0.0),
        false => (change.min(sampling), publishing),
        // The newest sample goes out, and it holds the newest change.
        true if change < publishing => (change.min(sampling), sampling),
        true => (sampling, publishing),
    }
}

/// What messages wait for others, in strata of equal probability.
fn queue(sources: u32, service_ms: f64, period_ms: f64, phases: Phases) -> Vec<f64> {
    let strata = (0..STRATA).map(|at| (at as f64 + 0.5) / STRATA as f64);
    match phases {
        Phases::Staggered => vec![0.0; STRATA],
        Phases::Aligned => strata
            .map(|it| (it * f64::from(sources)).floor() * service_ms)
            .collect(),
        Phases::Random => {
            let others = sources.saturating_sub(1);
            let waits = Waits::of(others, period_ms / service_ms);
            strata.map(|it| waits.quantile(it) * service_ms).collect()
        }
    }
}

/// How the wait of a periodic source among others is distributed (Roberts and Virtamo 1991), in services.
struct Waits {
    others: u32,
    /// In services.
    period: f64,
    /// ln C(others, n).
    choose: Vec<f64>,
}

impl Waits {
    fn of(others: u32, period: f64) -> Self {
        let factorial = |n: u32| libm::lgamma(f64::from(n) + 1.0);
        let choose = |n| factorial(others) - factorial(n) - factorial(others - n);
        Self {
            others,
            period,
            choose: (0..=others).map(choose).collect(),
        }
    }

    /// How probable a wait longer than this is.
    fn longer(&self, x: f64) -> f64 {
        let others = f64::from(self.others);
        let first = x.floor() as u32 + 1;
        let term = |n: u32| {
            let at = (f64::from(n) - x) / self.period;
            let rest = (self.period - others + x) / (self.period - f64::from(n) + x);
            let logs = self.choose[n as usize]
                + f64::from(n) * libm::log(at)
                + f64::from(self.others - n) * libm::log(1.0 - at);
            libm::exp(logs) * rest
        };
        (first..=self.others).map(term).sum()
    }

    /// The wait that so many (0.95) do not exceed.
    fn quantile(&self, share: f64) -> f64 {
        let (mut low, mut high) = (0.0, f64::from(self.others));
        if self.longer(0.0) <= 1.0 - share {
            return 0.0;
        }
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            match self.longer(middle) > 1.0 - share {
                true => low = middle,
                false => high = middle,
            }
        }
        high
    }
}
