//! The services that OPC UA has names for, and the text that goes with them (Part 12, Annex C).

use crate::name::{Name, NameError};

/// A service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `_opcua-tcp._tcp`: opc.tcp.
    Tcp,
    /// `_opcua-tls._tcp`: WebSockets, as Table C.1 names them.
    Tls,
    /// `_opcua-wss._tcp`: WebSockets, as the OPC Foundation's own discovery server names them.
    Wss,
    /// `_opcua-https._tcp`: HTTPS (Table C.3 of 1.04).
    Https,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Tcp, Self::Tls, Self::Wss, Self::Https];

    /// As in the names of services.
    pub fn label(self) -> &'static str {
        match self {
            Self::Tcp => "_opcua-tcp",
            Self::Tls => "_opcua-tls",
            Self::Wss => "_opcua-wss",
            Self::Https => "_opcua-https",
        }
    }

    /// What URLs of it begin with.
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Tcp => "opc.tcp",
            Self::Tls | Self::Wss => "opc.wss",
            Self::Https => "opc.https",
        }
    }

    /// The name of the service on this network.
    pub fn name(self) -> Result<Name, NameError> {
        Name::dotted(&format!("{}._tcp.local", self.label()))
    }
}

/// What the text of an instance says (Table C.2).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    /// What stands behind the port in the URL; empty, or it begins with a slash.
    pub path: String,
    /// What the server can do, such as `DA`.
    pub capabilities: Vec<String>,
}

impl Text {
    /// Of the strings of a record. Of a key that comes twice the first one counts, and case means nothing in keys (RFC 6763, 6.4).
    pub fn read(strings: &[Vec<u8>]) -> Self {
        let value = |key: &str| {
            let mut found = strings.iter().filter_map(|it| {
                let at = it.iter().position(|byte| *byte == b'=')?;
                let (name, value) = it.split_at_checked(at)?;
                let is_it = name.eq_ignore_ascii_case(key.as_bytes());
                is_it.then(|| {
                    String::from_utf8_lossy(value.get(1..).unwrap_or_default()).into_owned()
                })
            });
            found.next().unwrap_or_default()
        };
        let path = value("path");
        let capabilities = value("caps");
        let capabilities = capabilities.split(',').map(str::trim);
        Self {
            // "/" says no more than nothing.
            path: match path.trim_end_matches('/') {
                "" => String::new(),
                it if it.starts_with('/') => it.to_owned(),
                it => format!("/{it}"),
            },
            capabilities: capabilities
                .filter(|it| !it.is_empty())
                .map(str::to_owned)
                .collect(),
        }
    }

    /// The strings of its record.
    pub fn write(&self) -> Vec<Vec<u8>> {
        let path = match self.path.as_str() {
            "" => "/",
            it => it,
        };
        // "NA" is for who says nothing (Annex D).
        let capabilities = match self.capabilities.is_empty() {
            true => "NA".to_owned(),
            false => self.capabilities.join(","),
        };
        [format!("path={path}"), format!("caps={capabilities}")]
            .map(String::into_bytes)
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(strings: &[&str]) -> Text {
        let strings: Vec<_> = strings.iter().map(|it| it.as_bytes().to_vec()).collect();
        Text::read(&strings)
    }

    #[test]
    fn text_is_a_path_and_capabilities_whatever_else_there_is() {
        let text = read(&[
            "txtvers=1",
            "Path=/line4/",
            "caps=DA, HD,",
            "path=/other",
            "alone",
        ]);
        assert_eq!(text.path, "/line4");
        assert_eq!(text.capabilities, ["DA", "HD"]);
        assert_eq!(Text::read(&text.write()), text);
        assert_eq!(read(&["path=UA/Server", "caps="]).path, "/UA/Server");
        let nothing = read(&["", "path=/"]);
        assert_eq!(nothing, Text::default());
        assert_eq!(nothing.write(), [b"path=/".to_vec(), b"caps=NA".to_vec()]);
    }
}
