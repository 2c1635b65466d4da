//! Families in Prometheus's text format 0.0.4.

use std::fmt::Write;

use super::{Family, Kind, Value};

/// The page. A family without samples is left out.
pub fn text(families: &[Family]) -> String {
    let mut text = String::new();
    for family in families.iter().filter(|it| !it.samples.is_empty()) {
        let (name, kind) = (family.name, kind(family.kind));
        // Writing into a String does not fail.
        let _ = writeln!(
            text,
            "# HELP {name} {}\n# TYPE {name} {kind}",
            family.about.replace('\\', "\\\\").replace('\n', "\\n")
        );
        for sample in &family.samples {
            let labels = labels(&sample.labels);
            match &sample.value {
                Value::Number(number) if labels.is_empty() => {
                    let _ = writeln!(text, "{name} {number}");
                }
                Value::Number(number) => {
                    let _ = writeln!(text, "{name}{{{labels}}} {number}");
                }
                Value::Times(times) => {
                    let lead = match labels.is_empty() {
                        true => String::new(),
                        false => format!("{labels},"),
                    };
                    for (le, below) in times.bounded() {
                        let _ = writeln!(text, "{name}_bucket{{{lead}le=\"{le}\"}} {below}");
                    }
                    let (sum, count) = (times.sum(), times.count);
                    let _ = writeln!(
                        text,
                        "{name}_bucket{{{lead}le=\"+Inf\"}} {count}\n{name}_sum{{{labels}}} {sum}\n\
                         {name}_count{{{labels}}} {count}"
                    );
                }
            }
        }
    }
    text
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    }
}

fn labels(all: &[(&str, String)]) -> String {
    let all = all
        .iter()
        .map(|(name, text)| format!("{name}=\"{}\"", escaped(text)));
    all.collect::<Vec<_>>().join(",")
}

/// As the format wants values of labels.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_end_its_label() {
        let family = Family::gauge("a", "A.").with(vec![("x", "a\"b\\c\nd".to_owned())], 1.0);
        let page = text(&[family, Family::gauge("without", "Nothing.")]);
        let wanted = "# HELP a A.\n# TYPE a gauge\na{x=\"a\\\"b\\\\c\\nd\"} 1\n";
        assert_eq!(page, wanted);
    }
}
