//! Families in the line protocol of InfluxDB: a measurement for each, labels as tags.

use std::fmt::Write;

use super::{Family, Value};

/// The lines, as of this moment in nanoseconds since 1970, each with the tags of whose figures they are. Numbers are all
/// floats, so that a field never changes its type. Times have fields `count` and `sum`, and for each bound `le` a line with
/// the field `bucket`.
pub fn lines(families: &[Family], source: &[(&str, String)], at_ns: u64) -> String {
    let mut text = String::new();
    for family in families {
        for sample in &family.samples {
            let head = head(family.name, source, &sample.labels);
            // Writing into a String does not fail.
            match &sample.value {
                Value::Number(number) if number.is_finite() => {
                    let _ = writeln!(text, "{head} value={number} {at_ns}");
                }
                // The protocol has no words for others.
                Value::Number(_) => {}
                Value::Times(times) => {
                    let (sum, count) = (times.sum(), times.count);
                    let _ = writeln!(text, "{head} count={count},sum={sum} {at_ns}");
                    for (le, below) in times.bounded() {
                        let _ = writeln!(text, "{head},le={le} bucket={below} {at_ns}");
                    }
                    let _ = writeln!(text, "{head},le=+Inf bucket={count} {at_ns}");
                }
            }
        }
    }
    text
}

fn head<'a>(
    name: &str,
    source: &'a [(&'a str, String)],
    labels: &'a [(&'a str, String)],
) -> String {
    let mut head = name.to_owned();
    // A tag is something, or it is not there.
    let tags = source.iter().chain(labels);
    for (tag, text) in tags.filter(|it| !it.1.is_empty()) {
        let _ = write!(head, ",{tag}={}", escaped(text));
    }
    head
}

/// As the protocol wants values of tags. It has no way to write the end of a line, nor a backslash at the end of a value.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for it in text.chars() {
        match it {
            ',' | '=' | ' ' => {
                out.push('\\');
                out.push(it);
            }
            '\\' => out.push('/'),
            it if it.is_control() => out.push('_'),
            it => out.push(it),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_end_its_tag_or_its_line() {
        let labels = vec![("x", "a b,c=d\ne\\".to_owned()), ("none", String::new())];
        let family = Family::gauge("a", "A.")
            .with(labels, 1.5)
            .with(Vec::new(), f64::NAN)
            .with(Vec::new(), 2.0);
        let source = [("host", "pc 1".to_owned())];
        assert_eq!(
            lines(&[family], &source, 7),
            "a,host=pc\\ 1,x=a\\ b\\,c\\=d_e/ value=1.5 7\na,host=pc\\ 1 value=2 7\n"
        );
    }
}
