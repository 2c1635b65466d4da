//! What goes on while a phase runs, for other programs: a line of JSON each second, and families of figures.

use std::time::Duration;

use plan::unit::duration;
use record::notification_ledger::Stretch;
use record::underway::{Notified, Underway};
use record::{Closed, Histogram, Timestamp};

use crate::family::{self, Family};

/// Sums of a phase that is running.
#[derive(Debug, Clone)]
pub struct Running {
    command: String,
    phase: String,
    // Of all its measurements, and of this one.
    all: Closed,
    own: Underway,
    // What subscriptions brought in measurements before this one.
    before: Notified,
    // Attacks beside them, of measurements before this one and of this; none where none are made.
    attacks: Option<(u64, u64)>,
    point: Option<String>,
}

impl Running {
    /// For a phase of a command.
    pub fn new(command: impl Into<String>, phase: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            phase: phase.into(),
            all: Closed::default(),
            own: Underway::default(),
            before: Notified::default(),
            attacks: None,
            point: None,
        }
    }

    /// Whether it is this phase of this command, measured now or before.
    pub fn is(&self, command: &str, phase: &str) -> bool {
        self.command == command && self.phase == phase
    }

    /// Its next measurement begins, at a point of a sweep. What counts goes on counting: a metric is there
    /// once, however often a phase is measured.
    pub fn begin(&mut self, point: Option<String>) {
        self.before.add(self.own.notified());
        self.own = Underway::default();
        self.attacks = self.attacks.map(|(before, own)| (before + own, 0));
        self.point = point;
    }

    /// What goes on beside it now: a part of the measurement, in which so many attacks were made until now.
    pub fn attacked(&mut self, part: &str, so_far: u64) {
        self.point = Some(part.to_owned());
        self.attacks = Some((self.attacks.unwrap_or_default().0, so_far));
    }

    /// What the subscriptions of a core brought since the measurement began.
    pub fn hear(&mut self, core: usize, so_far: &Stretch) {
        self.own.hear(core, so_far);
    }

    /// Of all measurements.
    fn notified(&self) -> Notified {
        let mut all = self.before;
        all.add(self.own.notified());
        all
    }

    /// Whether it is about subscriptions.
    fn is_notified(&self) -> bool {
        self.own.is_notified() || self.before != Notified::default()
    }

    /// An interval that a core closed in one of its ledgers.
    pub fn add(&mut self, core: usize, ledger: usize, closed: &Closed) {
        self.all.merge(closed);
        self.own.add(core, ledger, closed);
    }

    /// What happened since the last line, as one line of JSON.
    pub fn line(&mut self, now: Timestamp, elapsed: Duration) -> String {
        let news = self.own.take();
        let recent = &news.closed;
        let times = |histogram: &Histogram| {
            serde_json::json!({
                "p50_ns": histogram.quantile(0.5),
                "p90_ns": histogram.quantile(0.9),
                "p99_ns": histogram.quantile(0.99),
                "max_ns": histogram.max(),
            })
        };
        let mut line = serde_json::json!({
            "time": now.to_string(),
            "at_ns": duration::nanos(elapsed),
            "command": self.command,
            "phase": self.phase,
            "completed": recent.counters.completed,
            "errors": recent.errors,
            "values": recent.counters.values,
            "rate_per_s": news.per_second(recent.succeeded()),
            "attempted_per_s": news.per_second(recent.counters.sent),
            "failed_per_s": news.per_second(recent.errors),
            "timed_out_per_s": news.per_second(recent.counters.timeouts),
            "values_per_s": news.per_second(recent.counters.values),
            "in_flight": self.own.in_flight(),
            "response": times(&recent.response),
            "total_completed": self.own.all().counters.completed,
            "total_errors": self.own.all().errors,
        });
        if let Some(point) = &self.point {
            line["point"] = point.as_str().into();
        }
        if let Some((_, own)) = self.attacks {
            line["total_attacks"] = own.into();
        }
        if self.own.is_notified() {
            let own = self.own.notified();
            line["delay"] = times(&recent.delay);
            line["total_notified"] = own.values.into();
            line["total_messages"] = own.messages.into();
            line["total_lost"] = own.lost.into();
        }
        line.to_string()
    }

    fn labels(&self) -> Vec<(&'static str, String)> {
        vec![
            ("command", self.command.clone()),
            ("phase", self.phase.clone()),
        ]
    }
}

/// A counter or gauge: what it is, and what it says.
type Simple = (
    fn(&'static str, &'static str) -> Family,
    &'static str,
    &'static str,
    fn(&Running) -> f64,
);

const SIMPLE: [Simple; 6] = [
    (
        Family::counter,
        "uaperf_requests_sent_total",
        "Requests sent.",
        |it| it.all.counters.sent as f64,
    ),
    (
        Family::counter,
        "uaperf_requests_completed_total",
        "Requests that ended, well or badly.",
        |it| it.all.counters.completed as f64,
    ),
    (
        Family::counter,
        "uaperf_requests_failed_total",
        "Requests that ended with a Bad status, timeouts among them.",
        |it| it.all.errors as f64,
    ),
    (
        Family::counter,
        "uaperf_requests_timed_out_total",
        "Requests that were not answered in time.",
        |it| it.all.counters.timeouts as f64,
    ),
    (
        Family::counter,
        "uaperf_values_total",
        "Values carried.",
        |it| it.all.counters.values as f64,
    ),
    (
        Family::gauge,
        "uaperf_requests_in_flight",
        "Requests without an answer yet.",
        |it| it.own.in_flight() as f64,
    ),
];

/// The same of phases that subscribe.
const NOTIFIED: [Simple; 3] = [
    (
        Family::counter,
        "uaperf_notified_values_total",
        "Values and events that subscriptions brought.",
        |it| it.notified().values as f64,
    ),
    (
        Family::counter,
        "uaperf_notifications_total",
        "Messages that brought them.",
        |it| it.notified().messages as f64,
    ),
    (
        Family::gauge,
        "uaperf_lost_values",
        "Values that were promised and are missing so far; messages where values cannot be counted.",
        |it| it.notified().lost as f64,
    ),
];

/// The same of phases beside which a server is attacked.
const ATTACKED: Simple = (
    Family::counter,
    "uaperf_attacks_total",
    "Attacks made beside the requests of good clients.",
    |it| {
        let (before, own) = it.attacks.unwrap_or_default();
        (before + own) as f64
    },
);

/// Everything so far of all phases.
pub fn families(phases: &[Running]) -> Vec<Family> {
    let of = |phases: &[&Running], (new, name, about, figure): Simple| {
        let mut family = new(name, about);
        for phase in phases {
            family.add(phase.labels(), figure(phase));
        }
        family
    };
    let all: Vec<&Running> = phases.iter().collect();
    let mut families: Vec<Family> = SIMPLE.map(|it| of(&all, it)).into();
    let about = "Response times, from when requests were due.";
    let mut times = Family::histogram("uaperf_response_seconds", about);
    for phase in &all {
        times.add_times(phase.labels(), &phase.all.response);
    }
    families.push(times);
    let notified: Vec<&Running> = phases.iter().filter(|it| it.is_notified()).collect();
    families.extend(NOTIFIED.map(|it| of(&notified, it)));
    let about = "Delays of notified values, from their change to their arrival.";
    let mut delays = Family::histogram("uaperf_delay_seconds", about);
    for phase in &notified {
        delays.add_times(phase.labels(), &phase.all.delay);
    }
    families.push(delays);
    let attacked: Vec<&Running> = phases.iter().filter(|it| it.attacks.is_some()).collect();
    families.push(of(&attacked, ATTACKED));
    families
}

/// The same in Prometheus's text format 0.0.4.
pub fn prometheus(phases: &[Running]) -> String {
    family::prometheus::text(&families(phases))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-03-01T09:30:00Z".parse().unwrap()
    }

    fn closed(completed: u64) -> Closed {
        let mut closed = Closed {
            width_ns: 100_000_000,
            ..Closed::default()
        };
        closed.counters.completed = completed;
        closed
    }

    #[test]
    fn a_phase_that_is_measured_again_is_the_same_metric_and_goes_on_counting() {
        let mut phase = Running::new("read", "read");
        phase.begin(Some("batch 1".to_owned()));
        phase.add(0, 0, &closed(5));
        phase.begin(Some("batch 10".to_owned()));
        phase.add(0, 0, &closed(7));
        assert!(phase.is("read", "read") && !phase.is("read", "write"));
        let line = phase.line(now(), Duration::from_secs(1));
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&line["total_completed"], &line["point"]),
            (&7.into(), &"batch 10".into())
        );
        let text = prometheus(&[phase]);
        let samples: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("uaperf_requests_completed_total"))
            .collect();
        assert_eq!(
            samples,
            ["uaperf_requests_completed_total{command=\"read\",phase=\"read\"} 12"]
        );
        assert!(!text.contains("uaperf_delay_seconds"), "{text}");
    }

    #[test]
    fn attacks_are_told_by_part_and_go_on_counting_when_a_kind_is_made_again() {
        let mut phase = Running::new("attack", "half-open");
        phase.begin(None);
        phase.attacked("attack", 40);
        phase.begin(None);
        phase.attacked("calm", 0);
        phase.attacked("attack", 2);
        let text = prometheus(&[phase.clone(), Running::new("read", "read")]);
        let sample = "uaperf_attacks_total{command=\"attack\",phase=\"half-open\"} 42\n";
        assert!(text.contains(sample), "{text}");
        assert_eq!(text.matches("uaperf_attacks_total{").count(), 1, "{text}");
        let line = phase.line(now(), Duration::from_secs(1));
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&line["point"], &line["total_attacks"]),
            (&"attack".into(), &2.into())
        );
    }

    #[test]
    fn subscriptions_tell_values_messages_delays_and_what_is_lost() {
        let mut phase = Running::new("subscribe", "subscribe");
        let mut brought = Stretch::default();
        brought.values.received = 100;
        brought.messages.notifications = 4;
        phase.hear(0, &brought);
        phase.hear(1, &brought);
        let mut tick = closed(0);
        tick.delay = Histogram::of(3_000_000, 200);
        phase.add(0, 0, &tick);
        let text = prometheus(&[phase.clone()]);
        let labels = "{command=\"subscribe\",phase=\"subscribe\"}";
        for sample in [
            format!("uaperf_notified_values_total{labels} 200\n"),
            format!("uaperf_notifications_total{labels} 8\n"),
            format!("uaperf_lost_values{labels} 0\n"),
            format!("uaperf_delay_seconds_count{labels} 200\n"),
        ] {
            assert!(text.contains(&sample), "{sample}{text}");
        }
        let line = phase.line(now(), Duration::from_secs(1));
        assert!(line.contains("\"total_notified\":200"), "{line}");
        assert!(line.contains("\"delay\":{\"max_ns\":3"), "{line}");
    }
}
