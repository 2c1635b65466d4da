//! Domain names: case means nothing in them (RFC 6762, 16), and a label may hold any bytes.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Bytes of a name with its lengths and the empty label at its end (RFC 1035, 2.3.4).
const MOST: usize = 255;
/// Bytes of a label.
const LABEL: usize = 63;

/// A domain name.
#[derive(Clone, Default, Debug)]
pub struct Name {
    /// Its labels, each behind its length, without the empty one at the end. As a length is no letter, case can be ignored in all
    /// of it.
    wire: Vec<u8>,
}

/// Why labels are no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// A label is too long, or empty.
    #[error("a label has {0} bytes (want 1 to 63)")]
    Label(usize),
    /// All of it is too long.
    #[error("a name has more than 255 bytes")]
    Long,
}

impl Name {
    /// Of text with dots between its labels, such as `_opcua-tcp._tcp.local`.
    pub fn dotted(text: &str) -> Result<Self, NameError> {
        let mut name = Self::default();
        for label in text.trim_end_matches('.').split('.') {
            name.push(label.as_bytes())?;
        }
        Ok(name)
    }

    /// One label more before a name; dots are part of it.
    pub fn below(label: &str, parent: &Self) -> Result<Self, NameError> {
        let mut name = Self::default();
        name.push(label.as_bytes())?;
        for label in parent.labels() {
            name.push(label)?;
        }
        Ok(name)
    }

    /// One label more at its end.
    pub(crate) fn push(&mut self, label: &[u8]) -> Result<(), NameError> {
        let len = u8::try_from(label.len()).ok();
        let Some(len) = len.filter(|it| (1..=LABEL).contains(&usize::from(*it))) else {
            return Err(NameError::Label(label.len()));
        };
        if self.wire.len() + 1 + label.len() + 1 > MOST {
            return Err(NameError::Long);
        }
        self.wire.push(len);
        self.wire.extend_from_slice(label);
        Ok(())
    }

    /// Its labels, the outermost last.
    pub fn labels(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.wire.as_slice();
        std::iter::from_fn(move || {
            let (len, more) = rest.split_first()?;
            let (label, more) = more.split_at_checked(usize::from(*len))?;
            rest = more;
            Some(label)
        })
    }

    /// Its first label, and what it is below of.
    pub fn split(&self) -> Option<(&[u8], Self)> {
        let label = self.labels().next()?;
        let wire = self.wire.get(1 + label.len()..)?.to_vec();
        Some((label, Self { wire }))
    }

    /// What stands before a name that it ends with. That should be one label, dots and all (RFC 6763, 4.1.1); some that announce
    /// take each dot for the end of one.
    pub fn before(&self, end: &Self) -> Option<String> {
        let (label, mut outer) = self.split()?;
        let mut before = String::from_utf8_lossy(label).into_owned();
        while outer != *end {
            let (label, more) = outer.split()?;
            before = format!("{before}.{}", String::from_utf8_lossy(label));
            outer = more;
        }
        Some(before)
    }

    /// Its first label as text.
    pub fn label(&self) -> String {
        let label = self.labels().next().unwrap_or_default();
        String::from_utf8_lossy(label).into_owned()
    }

    fn folded(&self) -> impl Iterator<Item = u8> {
        self.wire.iter().map(u8::to_ascii_lowercase)
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.wire.eq_ignore_ascii_case(&other.wire)
    }
}

impl Eq for Name {}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        self.folded().cmp(other.folded())
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for byte in self.folded() {
            state.write_u8(byte);
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, label) in self.labels().enumerate() {
            let dot = if at == 0 { "" } else { "." };
            write!(f, "{dot}{}", String::from_utf8_lossy(label))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_means_nothing_and_dots_may_be_part_of_a_label() {
        let service = Name::dotted("_opcua-tcp._TCP.local.").unwrap();
        assert_eq!(service, Name::dotted("_opcua-tcp._tcp.LOCAL").unwrap());
        let line = Name::below("Line 4.1 Süd", &service).unwrap();
        assert_eq!(line.labels().count(), 4);
        assert_eq!(line.split().unwrap().1, service);
        assert_eq!(line.label(), "Line 4.1 Süd");
        let cut = Name::dotted("Line 4.1 Süd._opcua-tcp._tcp.local").unwrap();
        for name in [&line, &cut] {
            assert_eq!(name.before(&service).as_deref(), Some("Line 4.1 Süd"));
        }
        assert_eq!(service.before(&service), None);
        assert_eq!(
            line.before(&Name::dotted("_http._tcp.local").unwrap()),
            None
        );
        assert_ne!(
            line,
            Name::dotted("Line 4.1 Süd._opcua-tcp._tcp.local").unwrap()
        );
    }

    #[test]
    fn what_is_too_long_is_no_name() {
        let long = "x".repeat(64);
        assert_eq!(Name::dotted(&long), Err(NameError::Label(64)));
        assert_eq!(Name::dotted("a..b"), Err(NameError::Label(0)));
        let label = "x".repeat(62);
        let all = [label.as_str(); 4].join(".");
        // Four times 63 bytes and the end are 253; two more are the most.
        assert!(Name::dotted(&format!("{all}.x")).is_ok());
        assert_eq!(Name::dotted(&format!("{all}.xy")), Err(NameError::Long));
    }
}
