//! Lines that are never wider than the page.

use crate::style::{Style, TextStyle};

/// No line is wider.
pub const WIDTH: usize = 100;

/// The width of the first column.
pub(crate) const LABEL: usize = 12;

/// A page that is being written.
pub(crate) struct Page {
    text: String,
    style: Style,
}

impl Page {
    pub(crate) fn new(style: Style) -> Self {
        Self {
            text: String::new(),
            style,
        }
    }

    pub(crate) fn finish(mut self) -> String {
        if self.text.ends_with("\n\n") {
            self.text.pop();
        }
        self.text
    }

    /// An empty line, but never two and never the first.
    pub(crate) fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// A line that is known to fit; colours take no room.
    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// A label and what it stands for, on as many lines as it takes.
    pub(crate) fn row(&mut self, label: &str, text: &str) {
        self.inked_row(label, TextStyle::Faint, text);
    }

    pub(crate) fn inked_row(&mut self, label: &str, ink: TextStyle, text: &str) {
        let label = cut(&clean(label), LABEL - 1);
        let pad = LABEL - label.chars().count();
        let mut first = Some(format!("{}{:pad$}", self.style.ink(ink, &label), ""));
        for line in wrapped(text, WIDTH - LABEL) {
            let start = first.take().unwrap_or_else(|| " ".repeat(LABEL));
            self.line(&format!("{start}{line}"));
        }
    }

    /// That a sheet is not whole.
    pub(crate) fn interrupted(&mut self) {
        self.inked_row(
            "INTERRUPTED",
            TextStyle::Bad,
            "what was not measured by then is missing",
        );
    }

    /// A sentence with an indentation that stays.
    pub(crate) fn sentence(&mut self, indent: usize, text: &str) {
        for line in wrapped(text, WIDTH - indent) {
            self.line(&format!("{:indent$}{line}", ""));
        }
    }
}

/// What comes from a server or a file may hold anything; on a terminal it must not do anything.
pub(crate) fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// At most so many characters; what is cut off leaves a sign.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// At most so many characters, out of its beginning and its end: the names of servers differ in either.
pub(crate) fn cut_inside(text: &str, width: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= width {
        return text.to_owned();
    }
    let end = width / 2;
    let begin = width.saturating_sub(end + 1);
    let mut short: String = letters.iter().take(begin).collect();
    short.push('…');
    short.extend(letters.iter().skip(letters.len() - end));
    short
}

/// Broken at blanks; words that are longer than a line are broken anywhere.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in clean(text).split_whitespace() {
        let mut rest: Vec<char> = word.chars().collect();
        if used > 0 && used + 1 + rest.len() > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        while rest.len() > width {
            lines.push(rest.drain(..width).collect());
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        used += rest.len();
        line.extend(rest);
    }
    if used > 0 || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 session`, `2 sessions`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        n => format!("{} {many}", grouped(n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_broken_at_blanks_and_long_words_anywhere() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a abcdefgh b", 3), ["a", "abc", "def", "gh", "b"]);
        assert_eq!(wrapped("", 7), [""]);
        assert_eq!(wrapped("µµµ µµµ", 7), ["µµµ µµµ"]);
    }

    #[test]
    fn what_a_server_says_cannot_steer_the_terminal() {
        assert_eq!(clean("a\x1b[2Jb\nc\u{9b}d"), "a [2Jb c d");
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(counted(1, "error", "errors"), "1 error");
        assert_eq!(counted(2000, "error", "errors"), "2,000 errors");
    }
}
