//! The database of an authority, in the form of `openssl ca`: `openssl ocsp -index` reads ours, and we read its.
//!
//! A line is a certificate: status (V, R, E), when it expires, when and why it was revoked, its serial number, a file,
//! its subject; with tabs between.

use std::collections::HashMap;
use std::fmt::Write as _;

use pki::{Certificate, Moment};

use crate::failure::Failure;

/// The certificates that an authority issued.
#[derive(Debug, Clone, Default)]
pub struct Index {
    entries: Vec<Entry>,
    by_serial: HashMap<Vec<u8>, usize>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its serial number, without leading zeros.
    pub serial: Vec<u8>,
    /// When it expires.
    pub expires: Moment,
    /// When it was taken back, and for which reason.
    pub revoked: Option<(Moment, Option<Reason>)>,
    /// Whom it names, as OpenSSL writes it.
    pub subject: String,
    file: String,
}

/// Why a certificate was taken back (RFC 5280, 5.3.1), as `openssl ca -crl_reason` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Reason {
    /// Somebody else may have the key.
    #[value(name = "keyCompromise")]
    KeyCompromise,
    /// Somebody else may have the authority's key.
    #[value(name = "CACompromise")]
    CaCompromise,
    /// Its owner has another name now.
    #[value(name = "affiliationChanged")]
    AffiliationChanged,
    /// There is a newer one.
    #[value(name = "superseded")]
    Superseded,
    /// It is not needed any more.
    #[value(name = "cessationOfOperation")]
    CessationOfOperation,
}

impl Reason {
    /// Its number in lists and answers.
    pub fn number(self) -> u8 {
        match self {
            Self::KeyCompromise => 1,
            Self::CaCompromise => 2,
            Self::AffiliationChanged => 3,
            Self::Superseded => 4,
            Self::CessationOfOperation => 5,
        }
    }

    fn name(self) -> String {
        let value = clap::ValueEnum::to_possible_value(&self);
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

impl Index {
    /// Reads a file; `name` is for messages.
    pub fn read(text: &str, name: &str) -> anyhow::Result<Self> {
        let mut index = Self::default();
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let entry = entry(line).ok_or_else(|| {
                let number = number + 1;
                Failure::new(format!("{name} line {number}: not a line of `openssl ca`"))
            })?;
            index.add(entry);
        }
        Ok(index)
    }

    fn add(&mut self, entry: Entry) {
        self.by_serial
            .insert(entry.serial.clone(), self.entries.len());
        self.entries.push(entry);
    }

    /// The certificates in the order in which they were issued.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The certificate with this serial number.
    pub fn find(&self, serial: &[u8]) -> Option<&Entry> {
        self.entries.get(*self.by_serial.get(serial)?)
    }

    /// Notes one that was issued.
    pub fn issued(&mut self, certificate: &Certificate) {
        // A slash or a tab would begin another part.
        let plain = |text: &str| text.replace(['/', '\t'], "_");
        let parts = certificate.subject().parts();
        let parts = parts.map(|(kind, value)| format!("/{kind}={}", plain(value)));
        self.add(Entry {
            serial: certificate.serial().to_vec(),
            expires: certificate.not_after(),
            revoked: None,
            subject: parts.collect(),
            file: "unknown".to_owned(),
        });
    }

    /// Takes one back. Whether it is there and was not before.
    pub fn revoke(&mut self, serial: &[u8], at: Moment, reason: Option<Reason>) -> bool {
        let place = self.by_serial.get(serial).copied();
        let entry = place.and_then(|place| self.entries.get_mut(place));
        match entry {
            Some(entry) if entry.revoked.is_none() => {
                entry.revoked = Some((at, reason));
                true
            }
            _ => false,
        }
    }

    /// The file.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for entry in &self.entries {
            let (status, revoked) = match entry.revoked {
                None => ("V", String::new()),
                Some((at, None)) => ("R", time(at)),
                Some((at, Some(reason))) => ("R", format!("{},{}", time(at), reason.name())),
            };
            let (expires, serial) = (time(entry.expires), hex(&entry.serial));
            let (file, subject) = (&entry.file, &entry.subject);
            // Writing into a String does not fail.
            let _ = writeln!(
                text,
                "{status}\t{expires}\t{revoked}\t{serial}\t{file}\t{subject}"
            );
        }
        text
    }
}

fn entry(line: &str) -> Option<Entry> {
    let mut fields = line.split('\t');
    let status = fields.next()?;
    let expires = moment(fields.next()?)?;
    let revoked = fields.next()?;
    let serial = bytes(fields.next()?)?;
    let (file, subject) = (fields.next()?.to_owned(), fields.next()?.to_owned());
    let revoked = match status {
        "R" => {
            let (at, reason) = revoked.split_once(',').unwrap_or((revoked, ""));
            let reason = <Reason as clap::ValueEnum>::from_str(reason, true).ok();
            Some((moment(at)?, reason))
        }
        // E has expired: `openssl ca -updatedb` writes so. It was not revoked.
        "V" | "E" => None,
        _ => return None,
    };
    Some(Entry {
        serial,
        expires,
        revoked,
        subject,
        file,
    })
}

/// Serial numbers have whole bytes there.
pub fn hex(serial: &[u8]) -> String {
    match serial {
        [] => "00".to_owned(),
        serial => serial.iter().map(|byte| format!("{byte:02X}")).collect(),
    }
}

/// The other way, without leading zeros.
pub fn bytes(hex: &str) -> Option<Vec<u8>> {
    let even = !hex.is_empty() && hex.len().is_multiple_of(2) && hex.is_ascii();
    even.then_some(())?;
    let digits = (0..hex.len()).step_by(2);
    let bytes: Option<Vec<u8>> = digits
        .map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok())
        .collect();
    let bytes = bytes?;
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    Some(bytes.get(zeros..)?.to_vec())
}

/// UTCTime, or GeneralizedTime beyond 2049, as RFC 5280, 4.1.2.5 has it.
fn time(moment: Moment) -> String {
    let digits = moment.to_string();
    let digits: String = digits.chars().filter(char::is_ascii_digit).collect();
    match digits.get(..4).and_then(|year| year.parse::<u32>().ok()) {
        Some(1950..2050) => format!("{}Z", digits.get(2..).unwrap_or_default()),
        _ => format!("{digits}Z"),
    }
}

fn moment(text: &str) -> Option<Moment> {
    let digits = text.strip_suffix('Z')?;
    let long = match digits.len() {
        12 if digits.get(..2)? < "50" => format!("20{digits}"),
        12 => format!("19{digits}"),
        14 => digits.to_owned(),
        _ => return None,
    };
    Moment::from_digits(&long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_of_openssl_is_read_and_written_as_it_was() {
        let text = "V\t271126092332Z\t\t4A01\tunknown\t/CN=plc1/O=Plant\n\
                    R\t20511126092332Z\t261126092332Z,keyCompromise\t00\tunknown\t/CN=plc2\n\
                    R\t271126092332Z\t261126092332Z\t7F\tunknown\t/CN=plc3\n";
        let index = Index::read(text, "index").unwrap();
        assert_eq!(index.text(), text);
        let [first, second, third] = index.entries() else {
            panic!("{index:?}")
        };
        assert_eq!(first.serial, [0x4a, 1]);
        assert_eq!(second.expires.to_string(), "2051-11-26T09:23:32Z");
        let reason = second.revoked.map(|it| it.1);
        assert_eq!(reason, Some(Some(Reason::KeyCompromise)));
        assert_eq!(third.revoked.map(|it| it.1), Some(None));
        assert_eq!(index.find(&[0x7f]), Some(third));
    }

    #[test]
    fn a_line_of_something_else_is_named() {
        for wrong in ["X\t271126092332Z\t\t01\tunknown\t/CN=a", "V\t27\t\t01", "V"] {
            let error = Index::read(wrong, "a.index").unwrap_err();
            assert!(error.to_string().contains("a.index line 1"), "{error}");
        }
    }
}
