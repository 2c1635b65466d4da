//! Families as a request of OTLP, the protocol of OpenTelemetry, in its JSON encoding: protobuf's own, with integers of
//! 64 bits as texts.

use serde_json::{Value as Json, json};

use super::{BOUNDS, Buckets, Family, Kind, Sample, Unit, Value};

/// Whose figures they are, and of when.
#[derive(Debug, Clone)]
pub struct Source {
    /// Attributes of the resource, such as `service.name`.
    pub resource: Vec<(&'static str, String)>,
    /// The version of this program.
    pub version: &'static str,
    /// Since when is counted, since 1970.
    pub since_ns: u64,
    /// When the figures were read, since 1970.
    pub at_ns: u64,
}

/// All totals are of the time since then: a request that was lost is made up for by the next one.
const CUMULATIVE: u8 = 2;

/// The body of an ExportMetricsServiceRequest.
pub fn request(families: &[Family], source: &Source) -> String {
    let some = families.iter().filter(|it| !it.samples.is_empty());
    let metrics: Vec<Json> = some.map(|it| metric(it, source)).collect();
    let resource: Vec<Json> = source
        .resource
        .iter()
        .map(|(name, text)| attribute(name, text))
        .collect();
    json!({
        "resourceMetrics": [{
            "resource": { "attributes": resource },
            "scopeMetrics": [{
                "scope": { "name": "uaperf", "version": source.version },
                "metrics": metrics,
            }],
        }],
    })
    .to_string()
}

fn metric(family: &Family, source: &Source) -> Json {
    let points: Vec<Json> = family.samples.iter().map(|it| point(it, source)).collect();
    let mut metric = json!({
        "name": family.base(),
        "description": family.about,
        "unit": match family.unit() {
            Unit::Seconds => "s",
            Unit::Bytes => "By",
            Unit::Number => "1",
        },
    });
    let (name, data) = match family.kind {
        Kind::Counter => (
            "sum",
            json!({
                "aggregationTemporality": CUMULATIVE,
                "isMonotonic": true,
                "dataPoints": points,
            }),
        ),
        Kind::Gauge => ("gauge", json!({ "dataPoints": points })),
        Kind::Histogram => (
            "histogram",
            json!({
                "aggregationTemporality": CUMULATIVE,
                "dataPoints": points,
            }),
        ),
    };
    metric[name] = data;
    metric
}

fn point(sample: &Sample, source: &Source) -> Json {
    let labels = sample.labels.iter();
    let labels: Vec<Json> = labels.map(|(name, text)| attribute(name, text)).collect();
    let mut point = json!({
        "attributes": labels,
        "startTimeUnixNano": source.since_ns.to_string(),
        "timeUnixNano": source.at_ns.to_string(),
    });
    match &sample.value {
        Value::Number(number) => point["asDouble"] = (*number).into(),
        Value::Times(times) => {
            point["count"] = times.count.to_string().into();
            point["sum"] = times.sum().into();
            point["bucketCounts"] = apart(times).into();
            let bounds = BOUNDS.iter().map(|bound| *bound as f64 / 1e9);
            point["explicitBounds"] = bounds.collect::<Vec<f64>>().into();
        }
    }
    point
}

/// Each bucket alone, and behind the last bound those that were longer.
fn apart(times: &Buckets) -> Vec<String> {
    let before = std::iter::once(0).chain(times.up_to.iter().copied());
    let up_to = times.up_to.iter().copied().chain([times.count]);
    let each = up_to
        .zip(before)
        .map(|(all, shorter)| all - shorter.min(all));
    each.map(|n| n.to_string()).collect()
}

fn attribute(name: &str, text: &str) -> Json {
    json!({ "key": name, "value": { "stringValue": text } })
}

#[cfg(test)]
mod tests {
    use record::Histogram;

    use super::*;

    fn source() -> Source {
        Source {
            resource: vec![("service.name", "uaperf".to_owned())],
            version: "0",
            since_ns: 1,
            at_ns: 2,
        }
    }

    #[test]
    fn buckets_stand_alone_and_add_up_to_the_count() {
        let mut times = Histogram::of(15_000, 3);
        times.merge(&Histogram::of(30_000_000_000, 2));
        let mut family = Family::histogram("a_seconds", "A.");
        family.add_times(vec![("x", "y".to_owned())], &times);
        let request: Json =
            serde_json::from_str(&request(&[family], &source())).unwrap_or_default();
        let metric = &request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0];
        let point = &metric["histogram"]["dataPoints"][0];
        assert_eq!(
            (&metric["unit"], &point["count"]),
            (&"s".into(), &"5".into())
        );
        let counts = point["bucketCounts"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        assert_eq!(counts.len(), BOUNDS.len() + 1);
        assert_eq!((&counts[1], &counts[19]), (&"3".into(), &"2".into()));
        let sum: u64 = counts
            .iter()
            .filter_map(|it| it.as_str()?.parse::<u64>().ok())
            .sum();
        assert_eq!(sum, 5);
    }

    #[test]
    fn a_counter_is_a_sum_that_only_grows() {
        let family = Family::counter("a_total", "A.").with(Vec::new(), 7.0);
        let request: Json =
            serde_json::from_str(&request(&[family], &source())).unwrap_or_default();
        let metric = &request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0];
        assert_eq!(metric["name"], "a");
        assert_eq!(metric["sum"]["isMonotonic"], true);
        let point = &metric["sum"]["dataPoints"][0];
        assert_eq!(
            (&point["asDouble"], &point["startTimeUnixNano"]),
            (&7.0.into(), &"1".into())
        );
    }
}
