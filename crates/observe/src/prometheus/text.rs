//! The text format 0.0.4 of Prometheus: a row is a name, labels, a value and perhaps a time.

use std::borrow::Cow;

use crate::figure::{Figure, NotAvailable};

/// One figure of a page.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'a> {
    /// Of the metric.
    pub name: &'a str,
    /// In the order in which they stand there.
    pub labels: Vec<(&'a str, Cow<'a, str>)>,
    /// Any number, NaN too.
    pub value: f64,
    /// When it was found, in milliseconds since 1970; most exporters leave that to who reads.
    pub at_ms: Option<i64>,
}

impl Row<'_> {
    /// What a label says.
    pub fn label(&self, name: &str) -> Option<&str> {
        let found = self.labels.iter().find(|it| it.0 == name);
        found.map(|it| it.1.as_ref())
    }
}

/// All rows of a page, or the first line that is none.
pub fn rows(page: &str) -> Figure<Vec<Row<'_>>> {
    let mut rows = Vec::new();
    for (number, line) in (1..).zip(page.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let row = row(line).ok_or_else(|| {
            let line: String = line.chars().take(60).collect();
            NotAvailable::because(format!(
                "line {number} is not in the text format of Prometheus: {line:?}"
            ))
        })?;
        rows.push(row);
    }
    Ok(rows)
}

fn row(line: &str) -> Option<Row<'_>> {
    let end = line
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'))
        .filter(|end| *end > 0)?;
    let (name, rest) = line.split_at_checked(end)?;
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => labels(inside)?,
        None => (Vec::new(), rest),
    };
    let mut words = rest.split_ascii_whitespace();
    let value = number(words.next()?)?;
    let at_ms = match words.next() {
        Some(word) => Some(word.parse().ok()?),
        None => None,
    };
    words.next().is_none().then_some(Row {
        name,
        labels,
        value,
        at_ms,
    })
}

/// As Go writes numbers.
fn number(word: &str) -> Option<f64> {
    match word {
        "+Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        word => word.parse().ok(),
    }
}

/// Labels and their texts.
type Labels<'a> = Vec<(&'a str, Cow<'a, str>)>;

/// What stands between braces, and what follows them.
fn labels(mut rest: &str) -> Option<(Labels<'_>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start().trim_start_matches(',').trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (name, after) = rest.split_once('=')?;
        let (value, after) = quoted(after.trim_start().strip_prefix('"')?)?;
        labels.push((name.trim(), value));
        rest = after;
    }
}

/// A text up to its quotation mark, and what follows that.
fn quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let end = text.find(['"', '\\'])?;
    let (plain, rest) = text.split_at_checked(end)?;
    if let Some(after) = rest.strip_prefix('"') {
        return Some((Cow::Borrowed(plain), after));
    }
    let mut whole = plain.to_owned();
    let mut chars = rest.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((Cow::Owned(whole), rest.get(at + 1..)?)),
            '\\' => match chars.next()?.1 {
                'n' => whole.push('\n'),
                other => whole.push(other),
            },
            c => whole.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_row_has_labels_with_anything_in_them_a_value_and_perhaps_a_time() {
        let page = "# HELP a_total Help.\n# TYPE a_total counter\n\na_total 1.5e+03\n\
                    a_total{} 2 1395066363000\n  b{ x=\"1\", y = \"a\\\"}\\\\\\nb,\" , } +Inf\nc{x=\"\"} NaN\n";
        let rows = rows(page).unwrap();
        assert_eq!(
            (rows[0].name, rows[0].value, rows[0].at_ms),
            ("a_total", 1500.0, None)
        );
        assert_eq!(rows[1].at_ms, Some(1_395_066_363_000));
        assert_eq!(rows[2].label("y"), Some("a\"}\\\nb,"));
        assert_eq!(
            (rows[2].label("x"), rows[2].value),
            (Some("1"), f64::INFINITY)
        );
        assert!(rows[3].value.is_nan() && rows[3].label("x") == Some(""));
        assert_eq!(rows[3].label("z"), None);
    }

    #[test]
    fn a_line_that_is_no_row_is_named() {
        for wrong in [
            "<html>",
            "a",
            "a{",
            "a{x} 1",
            "a{x=\"1} 1",
            "a{x=\"\\",
            "a one",
            "a 1 2 3",
            "a 1 x",
            "{} 1",
        ] {
            let page = format!("fine 1\n{wrong}\n");
            let reason = rows(&page).unwrap_err().reason().to_owned();
            assert!(reason.starts_with("line 2 is not"), "{wrong}: {reason}");
        }
    }
}
