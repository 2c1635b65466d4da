//! What is wrong with a text that people wrote: where, which field, what is allowed.

use std::fmt;
use std::ops::Range;

/// Something in a scenario or a test description that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Complaint {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1 on.
    pub line: usize,
    /// The column in it, from 1 on, in characters.
    pub column: usize,
    /// The field, from the top: `phase[0].batch`. Empty where TOML itself ends.
    pub field: String,
    /// What is wrong with it, and what is allowed.
    pub what: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.field.is_empty() {
            write!(f, "bad {}: ", self.field)?;
        }
        write!(
            f,
            "{}, {} line {} column {}",
            self.what, self.file, self.line, self.column
        )
    }
}

/// The same before anybody has looked up its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Where, in bytes.
    pub at: Range<usize>,
    /// The field.
    pub field: String,
    /// What is wrong with it, and what is allowed.
    pub what: String,
}

impl Wrong {
    /// About a field at a place.
    pub fn new(at: &Range<usize>, field: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            at: at.clone(),
            field: field.into(),
            what: what.into(),
        }
    }

    /// With its line and column.
    pub fn in_text(self, file: &str, text: &str) -> Complaint {
        let before = text
            .as_bytes()
            .get(..self.at.start.min(text.len()))
            .unwrap_or_default();
        let line = before.split(|byte| *byte == b'\n').next_back();
        Complaint {
            file: file.to_owned(),
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            column: 1 + line.map_or(0, |line| String::from_utf8_lossy(line).chars().count()),
            field: self.field,
            what: self.what,
        }
    }
}

/// The known name that is nearest to one that is not, if any is near.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|known| (distance(name, known), known))
        .min()
        .filter(|(far, known)| *far <= 1 + known.chars().count().min(name.chars().count()) / 3)
        .map(|(_, known)| known)
}

/// That a name is unknown, with the nearest known one, or else all of them.
pub fn unknown<'a>(name: &str, what: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("there is no {what} of this name (did you mean {near}?)"),
        None => format!(
            "there is no {what} of this name (want one of {})",
            known.join(", ")
        ),
    }
}

/// Letters that have to be changed, added or taken away (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut corner = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (above, to) in row.iter().skip(1).zip(&b) {
            left = (corner + usize::from(from != *to)).min(left.min(*above) + 1);
            corner = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered_if_it_is_near() {
        let known = ["batch", "duration", "rate", "rate_total"];
        assert_eq!(nearest("bacth", known), Some("batch"));
        assert_eq!(nearest("durations", known), Some("duration"));
        assert_eq!(nearest("frequency", known), None);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }

    #[test]
    fn a_place_in_a_text_has_a_line_and_a_column() {
        let text = "a = 1\nü = 2\n";
        let complaint = Wrong::new(&(9..12), "ü", "is odd").in_text("x.toml", text);
        assert_eq!(
            complaint.to_string(),
            "bad ü: is odd, x.toml line 2 column 3"
        );
    }
}
