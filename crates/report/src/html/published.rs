//! What others published for the same experiment: sweeps of `reference/`.

use std::collections::BTreeMap;

use crate::points::{described, number};
use record::Run;

/// A sweep that was published.
pub(super) struct Published {
    /// Where.
    pub(super) source: &'static str,
    /// On what.
    pub(super) setting: &'static str,
    axis: &'static str,
    service: &'static str,
    /// What was held, and at which value.
    held: &'static [(&'static str, f64)],
    csv: &'static str,
    column: &'static str,
}

/// What a service's tables have of a curve: a column, and of what it is.
const TIMES: [(&str, [(&str, &str); 2]); 2] = [
    ("read", [("avg_ms", "mean"), ("p90_ms", "p90")]),
    (
        "subscribe",
        [("avg_delay_ms", "mean"), ("p90_delay_ms", "p90")],
    ),
];

macro_rules! table {
    ($($file:expr),+) => {
        include_str!(concat!("../../../../reference/", $($file),+))
    };
}
pub(super) use table;

const JAVA: &str = "SampleConsoleServer (Java) on one host, UaPerfClient on another, fast LAN; times are from \
     sending to receiving, as service times are here";
const DEMO: &str = "UA Demo Server (C++) on one host, UaPerfClient on another, fast LAN; times are from sending \
     to receiving, as service times are here";

const JAVA_PUBLISHED: &str = "SampleConsoleServer (Java) on one host, UaPerfClient on another, fast LAN; delays are \
     from the value's source timestamp, values changed once a second";
const DEMO_PUBLISHED: &str = "UA Demo Server (C++) on one host, UaPerfClient on another, fast LAN; delays are from \
     the value's source timestamp";

const ALL: &[Published] = &[
    Published {
        source: "Tahvanainen 2016, table 11",
        setting: JAVA,
        axis: "rate",
        service: "read",
        held: &[("sessions", 1.0), ("batch", 1.0)],
        csv: table!("tahvanainen2016/table_11.csv"),
        column: "rate_per_s",
    },
    Published {
        source: "Tahvanainen 2016, table 13",
        setting: JAVA,
        axis: "batch",
        service: "read",
        held: &[("sessions", 1.0), ("rate", 100.0)],
        csv: table!("tahvanainen2016/table_13.csv"),
        column: "batch_size",
    },
    Published {
        source: "Tahvanainen 2016, table 14",
        setting: JAVA,
        axis: "sessions",
        service: "read",
        held: &[("batch", 100.0), ("rate", 100.0)],
        csv: table!("tahvanainen2016/table_14.csv"),
        column: "sessions",
    },
    Published {
        source: "Tahvanainen 2016, table 17",
        setting: DEMO,
        axis: "sessions",
        service: "read",
        held: &[("batch", 100.0), ("rate", 100.0)],
        csv: table!("tahvanainen2016/table_17.csv"),
        column: "sessions",
    },
    Published {
        source: "Tahvanainen 2016, table 19",
        setting: JAVA_PUBLISHED,
        axis: "items",
        service: "subscribe",
        held: &[("sessions", 1.0), ("subscriptions", 1.0)],
        csv: table!("tahvanainen2016/table_19.csv"),
        column: "monitored_items",
    },
    Published {
        source: "Tahvanainen 2016, table 21",
        setting: JAVA_PUBLISHED,
        axis: "subscriptions",
        service: "subscribe",
        held: &[("sessions", 1.0), ("items", 1000.0)],
        csv: table!("tahvanainen2016/table_21.csv"),
        column: "subscriptions",
    },
    Published {
        source: "Tahvanainen 2016, table 22",
        setting: JAVA_PUBLISHED,
        axis: "sessions",
        service: "subscribe",
        held: &[("subscriptions", 10.0), ("items", 1000.0)],
        csv: table!("tahvanainen2016/table_22.csv"),
        column: "sessions",
    },
    Published {
        source: "Tahvanainen 2016, table 24",
        setting: DEMO_PUBLISHED,
        axis: "sessions",
        service: "subscribe",
        held: &[("subscriptions", 10.0), ("items", 1000.0)],
        csv: table!("tahvanainen2016/table_24.csv"),
        column: "sessions",
    },
];

/// Points of a published figure: where on the axis, and the value in nanoseconds or per second.
pub(super) type Points = Vec<(f64, f64)>;

impl Published {
    /// Its times: a column, and of what it is.
    pub(super) fn times(&self) -> &'static [(&'static str, &'static str)] {
        let found = TIMES.iter().find(|(service, _)| *service == self.service);
        found.map_or(&[], |(_, columns)| columns)
    }

    /// Whether its times are delays of a publisher's messages.
    pub(super) fn is_of_messages(&self) -> bool {
        self.service == "subscribe"
    }

    /// Its values per second.
    pub(super) fn values_per_second(&self) -> Points {
        let column = match self.service {
            "subscribe" => "items_per_s",
            _ => "responses_per_s",
        };
        self.points(column, 1.0)
    }

    /// One of its columns; cells that the source left empty are left out.
    pub(super) fn points(&self, column: &str, scale: f64) -> Points {
        let mut lines = self.csv.lines();
        let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        let at = |name: &str| head.iter().position(|it| *it == name);
        let (Some(x), Some(y)) = (at(self.column), at(column)) else {
            return Vec::new();
        };
        let point = |line: &str| {
            // Notes with commas come last.
            let cells: Vec<&str> = line.split(',').collect();
            let cell = |i: usize| cells.get(i)?.parse::<f64>().ok();
            Some((cell(x)?, cell(y)? * scale))
        };
        lines.filter_map(point).collect()
    }
}

/// The published sweeps over the same axis with everything else alike.
pub(super) fn same_experiment(axis: &str, run: &Run) -> Vec<&'static Published> {
    let settings: BTreeMap<String, String> = described(run);
    let setting = |name: &str| {
        settings
            .iter()
            .find(|(path, _)| path.rsplit('/').next() == Some(name))
            .map(|(_, value)| value.as_str())
    };
    let alike = |it: &&Published| {
        it.axis == axis
            && setting("service") == Some(it.service)
            // Who subscribes asks for nothing; who reads has to ask at the same rate.
            && (it.service == "subscribe" || setting("loop") == Some("open"))
            && it.held.iter().all(|(name, value)| {
                setting(name)
                    .and_then(number)
                    .is_some_and(|found| (found - value).abs() < 1e-6)
            })
    };
    ALL.iter().filter(alike).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use record::run::Fingerprint;
    use serde_json::json;

    fn run(sessions: u64, per_second: u64) -> Run {
        let started = "2026-03-01T09:30:00Z".parse().unwrap();
        let mut run = Run::new("read", started, Fingerprint::default());
        run.plan = json!({"phases": [{
            "sessions": sessions,
            "arrival": {"loop": "open", "arrival": "constant",
                        "rate": {"count": per_second, "per_ns": 1_000_000_000}},
            "work": {"service": "read", "batch": 500},
        }]});
        run
    }

    #[test]
    fn the_published_points_of_the_same_experiment_are_found_with_their_values() {
        let found = same_experiment("batch", &run(1, 100));
        assert_eq!(found.len(), 1);
        let points = found[0].points("p90_ms", 1e6);
        assert_eq!(points.first(), Some(&(100.0, 1.9e6)));
        assert_eq!(points.len(), 7);
        // The lost cell of the source stays lost.
        assert_eq!(found[0].points("avg_ms", 1e6).len(), 6);
    }

    #[test]
    fn subscriptions_are_found_by_what_was_held() {
        let mut run = run(1, 100);
        run.plan = json!({"phases": [{
            "sessions": 1,
            "arrival": {"loop": "closed"},
            "work": {"service": "subscribe", "items": 1000, "subscriptions": 1},
        }]});
        let sources = |axis: &str, run: &Run| -> Vec<&str> {
            same_experiment(axis, run)
                .iter()
                .map(|it| it.source)
                .collect()
        };
        assert_eq!(sources("items", &run), ["Tahvanainen 2016, table 19"]);
        assert_eq!(
            sources("subscriptions", &run),
            ["Tahvanainen 2016, table 21"]
        );
        assert!(sources("sessions", &run).is_empty());
        let table = same_experiment("items", &run)[0];
        assert_eq!(table.values_per_second()[1], (1000.0, 999.0));
        let (mean, _) = table.times()[0];
        assert_eq!(table.points(mean, 1e6)[2], (10_000.0, 22e6));
    }

    #[test]
    fn another_experiment_has_no_published_points() {
        assert!(same_experiment("batch", &run(2, 100)).is_empty());
        assert!(same_experiment("batch", &run(1, 200)).is_empty());
        assert!(same_experiment("sessions", &run(1, 100)).is_empty());
    }
}
