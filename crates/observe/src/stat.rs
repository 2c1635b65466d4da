//! The line by which the kernel describes a process or a thread: `/proc/PID/stat`.

use crate::figure::{Figure, NotAvailable};
use crate::files;

/// Its fields, numbered as in proc(5).
pub(crate) struct Stat<'a> {
    words: Vec<&'a str>,
    path: &'a str,
}

impl<'a> Stat<'a> {
    /// From the text of the file at this path.
    pub fn of(text: &'a str, path: &'a str) -> Figure<Self> {
        // proc(5): the name stands in parentheses and may contain any character, so fields are counted
        // from behind it; what follows is the third, the state.
        let rest = text.rfind(')').and_then(|end| text.get(end + 1..));
        let words: Vec<&str> = rest.unwrap_or_default().split_whitespace().collect();
        match words.first() {
            Some(&"Z" | &"X") => Err(NotAvailable::because("the process has ended")),
            _ => Ok(Self { words, path }),
        }
    }

    /// A field, from the fourth on.
    pub fn field(&self, number: usize) -> Figure<u64> {
        let words = self.words.iter().copied();
        files::number(&mut words.skip(number.saturating_sub(3)), self.path)
    }

    /// A field of ticks, in nanoseconds. The kernel counts hundredths of a second here on every architecture.
    pub fn ticks(&self, number: usize) -> Figure<u64> {
        self.field(number).map(|ticks| ticks * 10_000_000)
    }
}
