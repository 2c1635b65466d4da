//! The URLs that are followed: of HTTP, and of nothing else.

use std::fmt;
use std::str::FromStr;

/// `http://HOST[:PORT]/PATH`, in characters that cannot end a line of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Name or address, without brackets.
    pub host: String,
    /// 80 if none is written.
    pub port: u16,
    /// With the query, and a `/` in front.
    pub path: String,
}

/// A URL that is not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadAddress(String);

impl fmt::Display for BadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bad address {:?}: want http://HOST:PORT/PATH", self.0)
    }
}

impl std::error::Error for BadAddress {}

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        read(text).ok_or_else(|| BadAddress(text.to_owned()))
    }
}

fn read(text: &str) -> Option<Address> {
    const SCHEME: &str = "http://";
    let (scheme, rest) = text.split_at_checked(SCHEME.len())?;
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic());
    if !scheme.eq_ignore_ascii_case(SCHEME) || !plain {
        return None;
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let path = path.split('#').next().unwrap_or_default();
    let path = match path.starts_with('/') {
        true => path.to_owned(),
        false => format!("/{path}"),
    };
    let (host, port) = match authority.strip_prefix('[') {
        Some(inside) => {
            let (host, rest) = inside.split_once(']')?;
            (
                host,
                rest.strip_prefix(':').or(rest.is_empty().then_some(""))?,
            )
        }
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    // A name and password in front would make the host look like another one.
    if host.is_empty() || authority.contains('@') {
        return None;
    }
    let port = match port {
        "" => 80,
        port => port.parse().ok().filter(|port| *port > 0)?,
    };
    Some(Address {
        host: host.to_owned(),
        port,
        path,
    })
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority(), self.path)
    }
}

impl Address {
    /// Host and port, as the header Host has them.
    pub fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_is_followed() {
        let read = |text: &str| text.parse::<Address>().map(|it| it.to_string());
        for (text, wanted) in [
            ("http://ca.plant/root.crl", "http://ca.plant:80/root.crl"),
            ("HTTP://10.0.0.1:8080", "http://10.0.0.1:8080/"),
            ("http://[::1]:81/a?b#c", "http://[::1]:81/a?b"),
            ("http://ca?x", "http://ca:80/?x"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(wanted));
        }
        for wrong in [
            "https://ca/",
            "ldap://ca/",
            "file:///etc/passwd",
            "http://",
            "http://:80/",
            "http://ca:0/",
            "http://ca:99999/",
            "http://user@ca/",
            "http://ca/a b",
            "http://ca/\r\nHost: x",
            "http://[::1",
            "http://ca/\u{fffd}",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
