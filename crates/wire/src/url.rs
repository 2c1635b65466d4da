//! Endpoint URLs: `opc.tcp://host:port/path`, and the transports that they name.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The port registered for OPC UA.
pub const DEFAULT_PORT: u16 = 4840;

/// What carries messages (Part 6, 7).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Transport {
    /// A TCP connection.
    #[default]
    Tcp,
    /// WebSocket frames over TLS.
    Wss,
    /// Requests of HTTP over TLS.
    Https,
}

impl Transport {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tcp, Self::Wss, Self::Https];

    /// What its URLs begin with, before `://`.
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Tcp => "opc.tcp",
            Self::Wss => "opc.wss",
            Self::Https => "opc.https",
        }
    }

    /// The port of URLs that name none.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Tcp => DEFAULT_PORT,
            Self::Wss => 4843,
            Self::Https => 443,
        }
    }

    /// Its TransportProfileUri with binary encoding (Part 7).
    pub fn profile(self) -> &'static str {
        match self {
            Self::Tcp => "http://opcfoundation.org/UA-Profile/Transport/uatcp-uasc-uabinary",
            Self::Wss => "http://opcfoundation.org/UA-Profile/Transport/wss-uasc-uabinary",
            Self::Https => "http://opcfoundation.org/UA-Profile/Transport/https-uabinary",
        }
    }

    /// The same with messages in JSON, where there is that.
    pub fn json_profile(self) -> Option<&'static str> {
        match self {
            Self::Tcp => None,
            Self::Wss => Some("http://opcfoundation.org/UA-Profile/Transport/wss-uajson"),
            Self::Https => Some("http://opcfoundation.org/UA-Profile/Transport/https-uajson"),
        }
    }

    /// The one of a TransportProfileUri, with either encoding, if it is one of these.
    pub fn of_profile(uri: &str) -> Option<Self> {
        let is_its = |it: &Self| it.profile() == uri || it.json_profile() == Some(uri);
        Self::ALL.into_iter().find(is_its)
    }
}

/// Where an endpoint is, as typed by a user or advertised by a server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Url {
    transport: Transport,
    host: String,
    port: u16,
    path: String,
}

/// Why a text is no endpoint URL.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum UrlError {
    /// Another scheme, or none.
    #[error("{0:?} does not begin with opc.tcp://, opc.wss:// or opc.https://")]
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
    /// What carries it.
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// The host, without the brackets of an IPv6 address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether it leads to this machine, as far as that can be told without a name service.
    pub fn is_loopback(&self) -> bool {
        let address = self.host.parse::<std::net::IpAddr>();
        self.host == "localhost" || address.is_ok_and(|it| it.is_loopback())
    }

    /// The port; that of the transport if the text named none.
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
            transport: self.transport,
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
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| UrlError::Scheme(whole()))?;
        let transport = Transport::ALL
            .into_iter()
            .find(|it| it.scheme().eq_ignore_ascii_case(scheme))
            // As Part 6, 7.4.1 has it: the prefix is for people, and HTTP has none.
            .or_else(|| {
                scheme
                    .eq_ignore_ascii_case("https")
                    .then_some(Transport::Https)
            })
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
            None => transport.default_port(),
            Some(port) => port
                .parse()
                .ok()
                .filter(|&number| number != 0 && !port.starts_with('+'))
                .ok_or_else(|| UrlError::Port(port.to_owned()))?,
        };
        Ok(Self {
            transport,
            host: host.to_owned(),
            port,
            path: path.to_owned(),
        })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            host, port, path, ..
        } = self;
        let scheme = self.transport.scheme();
        match host.contains(':') {
            true => write!(f, "{scheme}://[{host}]:{port}{path}"),
            false => write!(f, "{scheme}://{host}:{port}{path}"),
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
            ("opc.wss://plc", "plc", 4843, ""),
            ("OPC.WSS://[::1]:443/ua", "::1", 443, "/ua"),
            ("opc.https://plc/ua", "plc", 443, "/ua"),
            ("https://plc:8443", "plc", 8443, ""),
        ] {
            let url: Url = text.parse().unwrap();
            assert_eq!((url.host(), url.port(), url.path()), (host, port, path));
            assert_eq!(url.to_string().parse(), Ok(url));
        }
    }

    #[test]
    fn a_transport_is_known_by_its_profile() {
        for transport in Transport::ALL {
            assert_eq!(Transport::of_profile(transport.profile()), Some(transport));
            let url: Url = format!("{}://plc", transport.scheme()).parse().unwrap();
            assert_eq!(url.transport(), transport);
            assert_eq!(url.at("other", 1).transport(), transport);
        }
        assert_eq!(Transport::of_profile(""), None);
    }

    #[test]
    fn what_is_no_url_is_told_why() {
        let error = |text: &str| text.parse::<Url>().unwrap_err();
        assert!(matches!(error("http://plc"), UrlError::Scheme(_)));
        assert!(matches!(error("plc:4840"), UrlError::Scheme(_)));
        assert!(matches!(error("opc.ws://plc"), UrlError::Scheme(_)));
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
