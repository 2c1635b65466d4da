//! Endpoint URLs: `opc.tcp://host:port/path`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The port registered for OPC UA.
pub const DEFAULT_PORT: u16 = 4840;

/// Where an endpoint is, as typed by a user or advertised by a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Url {
    host: String,
    port: u16,
    path: String,
}

/// Why a text is no endpoint URL.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum UrlError {
    /// Another scheme, or none.
    #[error("{0:?} does not begin with opc.tcp://")]
    Scheme(String),
    /// Nothing between the slashes and the port.
    #[error("{0:?} names no host")]
    Host(String),
    /// Not a number from 1 to 65535.
    #[error("{0:?} is no port (want 1 to 65535)")]
    Port(String),
    /// Blanks or control characters, or longer than the protocol takes.
    #[error("{0:?} has characters or a length that no endpoint has")]
    Text(String),
}

impl Url {
    /// The host, without the brackets of an IPv6 address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether it leads to this machine, as far as that can be told without a name service.
    pub fn is_loopback(&self) -> bool {
        let address = self.host.parse::<std::net::IpAddr>();
        self.host == "localhost" || address.is_ok_and(|it| it.is_loopback())
    }

    /// The port; 4840 if the text named none.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// From the slash behind the port on; empty if there is none.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The same endpoint at another host and port: a server may advertise a name that cannot be
    /// reached from here.
    #[must_use]
    pub fn at(&self, host: &str, port: u16) -> Self {
        Self {
            host: host.to_owned(),
            port,
            path: self.path.clone(),
        }
    }
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let whole = || text.to_owned();
        let sound = |c: char| !c.is_whitespace() && !c.is_control();
        if text.len() >= crate::frame::MAX_TEXT || !text.chars().all(sound) {
            return Err(UrlError::Text(whole()));
        }
        let rest = text
            .get(..10)
            .filter(|scheme| scheme.eq_ignore_ascii_case("opc.tcp://"))
            .and_then(|_| text.get(10..))
            .ok_or_else(|| UrlError::Scheme(whole()))?;
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (host, port) = match authority.strip_prefix('[') {
            Some(bracketed) => {
                let (host, port) = bracketed
                    .split_once(']')
                    .ok_or_else(|| UrlError::Host(whole()))?;
                match port.strip_prefix(':') {
                    None if !port.is_empty() => return Err(UrlError::Port(port.to_owned())),
                    port => (host, port),
                }
            }
            None => match authority.rsplit_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        // Brackets stand around an address or nowhere (RFC 3986, 3.2.2).
        if host.is_empty() || host.contains(['[', ']']) {
            return Err(UrlError::Host(whole()));
        }
        let port = match port {
            None => DEFAULT_PORT,
            Some(port) => port
                .parse()
                .ok()
                .filter(|&number| number != 0 && !port.starts_with('+'))
                .ok_or_else(|| UrlError::Port(port.to_owned()))?,
        };
        Ok(Self {
            host: host.to_owned(),
            port,
            path: path.to_owned(),
        })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, path } = self;
        if host.contains(':') {
            write!(f, "opc.tcp://[{host}]:{port}{path}")
        } else {
            write!(f, "opc.tcp://{host}:{port}{path}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_this_machine_is_told() {
        for (text, here) in [
            ("opc.tcp://localhost", true),
            ("opc.tcp://127.3.0.1:4841/a", true),
            ("opc.tcp://[::1]", true),
            ("opc.tcp://10.0.0.1", false),
            ("opc.tcp://localhost.example", false),
        ] {
            assert_eq!(text.parse::<Url>().unwrap().is_loopback(), here, "{text}");
        }
    }

    #[test]
    fn a_url_has_a_host_a_port_and_a_path() {
        for (text, host, port, path) in [
            ("opc.tcp://plc:4841/a/b", "plc", 4841, "/a/b"),
            ("opc.tcp://plc", "plc", 4840, ""),
            ("OPC.TCP://10.0.0.1/", "10.0.0.1", 4840, "/"),
            ("opc.tcp://[::1]:1", "::1", 1, ""),
            ("opc.tcp://[fe80::1%eth0]", "fe80::1%eth0", 4840, ""),
        ] {
            let url: Url = text.parse().unwrap();
            assert_eq!((url.host(), url.port(), url.path()), (host, port, path));
            assert_eq!(url.to_string().parse(), Ok(url));
        }
    }

    #[test]
    fn what_is_no_url_is_told_why() {
        let error = |text: &str| text.parse::<Url>().unwrap_err();
        assert!(matches!(error("http://plc"), UrlError::Scheme(_)));
        assert!(matches!(error("plc:4840"), UrlError::Scheme(_)));
        assert!(matches!(error("opc.tcp://:4840"), UrlError::Host(_)));
        assert!(matches!(error("opc.tcp://[::1"), UrlError::Host(_)));
        assert!(matches!(error("opc.tcp://plc:0"), UrlError::Port(_)));
        assert!(matches!(error("opc.tcp://plc:70000"), UrlError::Port(_)));
        assert!(matches!(error("opc.tcp://plc:"), UrlError::Port(_)));
        assert!(matches!(error("opc.tcp://plc:+4840"), UrlError::Port(_)));
        assert!(matches!(error("opc.tcp://[::1]4841"), UrlError::Port(_)));
        assert!(matches!(error("opc.tcp://a:b]c:1"), UrlError::Host(_)));
        assert!(matches!(error("opc.tcp://p lc"), UrlError::Text(_)));
    }
}
