//! Under which URL a client is told that the server is (Part 4, 5.4.4).
//!
//! An address that stands for all of a machine's is nowhere to connect to. A server that listens on it gives each
//! client what that one came by: the name in its Hello message if the server's certificate is for it, else the
//! address that its connection reached.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use wire::types::{EndpointDescription, UAString};
use wire::url::{Transport, Url};

use crate::config::Config;

/// Where a server is, over each transport that it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Urls {
    /// Over TCP.
    pub tcp: String,
    /// Over WebSockets, if it listens for them.
    pub wss: Option<String>,
    /// Over HTTPS, if it listens for that.
    pub https: Option<String>,
}

/// The ports at which a server listens for what is inside TLS.
#[derive(Debug, Clone, Copy, Default)]
pub struct TlsPorts {
    pub wss: Option<u16>,
    pub https: Option<u16>,
}

impl Urls {
    /// At this host, which is written as in a URL.
    fn at(host: &str, tcp: u16, tls: TlsPorts) -> Self {
        let url = |transport: Transport, port| format!("{}://{host}:{port}", transport.scheme());
        Self {
            tcp: url(Transport::Tcp, tcp),
            wss: tls.wss.map(|port| url(Transport::Wss, port)),
            https: tls.https.map(|port| url(Transport::Https, port)),
        }
    }

    /// The transports, and their URLs.
    pub fn each(&self) -> impl Iterator<Item = (Transport, &str)> {
        let wss = self.wss.iter().map(|url| (Transport::Wss, url.as_str()));
        let https = self.https.iter();
        let https = https.map(|url| (Transport::Https, url.as_str()));
        std::iter::once((Transport::Tcp, self.tcp.as_str()))
            .chain(wss)
            .chain(https)
    }

    /// All of them, for those who ask where a server can be found.
    pub fn discovery(&self) -> Vec<UAString> {
        self.each().map(|(_, url)| url.into()).collect()
    }
}

/// The URLs of a server.
#[derive(Debug, Clone)]
pub struct Advertised {
    /// Those that are told to everybody, or that work on this machine.
    pub urls: Urls,
    /// The ports at which it listens.
    ports: (u16, TlsPorts),
    /// Each client is told others.
    by_client: bool,
}

impl Advertised {
    /// What was asked for, or what follows from the address that the server listens on, and its ports for TLS.
    pub fn new(config: &Config, address: SocketAddr, tls: TlsPorts) -> Self {
        let ports = (address.port(), tls);
        let told = |host: &str| Self {
            urls: Urls::at(host, address.port(), tls),
            ports,
            by_client: false,
        };
        if let Some(url) = &config.advertise {
            let mut advertised = told(&in_url(url.host()));
            advertised.urls.tcp = url.to_string();
            return advertised;
        }
        if let Some(host) = &config.host {
            return told(host);
        }
        let here: IpAddr = match address {
            address if !address.ip().is_unspecified() => return told(&of_ip(address.ip())),
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        };
        Self {
            by_client: true,
            ..told(&of_ip(here))
        }
    }

    /// What a client is told, if it is other URLs than those of everybody: it said hello to `asked`, and its
    /// connection reached `reached`.
    pub fn for_client(
        &self,
        own: Option<&pki::Identity>,
        asked: &str,
        reached: Option<SocketAddr>,
    ) -> Option<Urls> {
        let reached = reached.filter(|_| self.by_client)?;
        let named = asked.parse::<Url>().ok().filter(|asked| {
            let address = asked.host().parse::<IpAddr>();
            address.is_err() && own.is_some_and(|own| own.certificate.names_host(asked.host()))
        });
        let host = named.map_or_else(|| of_ip(reached.ip()), |named| named.host().to_owned());
        Some(Urls::at(&host, self.ports.0, self.ports.1))
    }
}

/// Endpoints, and the server in them, at these URLs.
pub fn move_to(endpoints: &mut [EndpointDescription], urls: &Urls) {
    for endpoint in endpoints {
        let transport = Transport::of_profile(endpoint.transport_profile_uri.as_ref());
        let url = urls.each().find(|(over, _)| Some(*over) == transport);
        if let Some((_, url)) = url {
            endpoint.endpoint_url = url.into();
        }
        endpoint.server.discovery_urls = Some(urls.discovery());
    }
}

/// An address as others know it: an IPv4 client of an IPv6 socket is one of IPv4, and the numbers of interfaces
/// mean nothing elsewhere.
fn of_ip(address: IpAddr) -> String {
    in_url(&address.to_canonical().to_string())
}

fn in_url(host: &str) -> String {
    match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(listen: &str, reached: &str) -> (String, Option<String>) {
        let advertised = Advertised::new(
            &Config::default(),
            listen.parse().unwrap(),
            TlsPorts::default(),
        );
        let other = advertised.for_client(None, "opc.tcp://plc:4840", reached.parse().ok());
        (advertised.urls.tcp, other.map(|urls| urls.tcp))
    }

    #[test]
    fn nobody_is_told_an_address_that_stands_for_all() {
        let all = |told: &str| Some(told.to_owned());
        assert_eq!(
            told("0.0.0.0:4840", "192.0.2.7:4840"),
            (
                "opc.tcp://127.0.0.1:4840".into(),
                all("opc.tcp://192.0.2.7:4840")
            )
        );
        assert_eq!(
            told("[::]:4841", "[2001:db8::7]:4841"),
            (
                "opc.tcp://[::1]:4841".into(),
                all("opc.tcp://[2001:db8::7]:4841")
            )
        );
        // Both families on one socket, and the number of an interface.
        let (_, mapped) = told("[::]:4841", "[::ffff:192.0.2.7]:4841");
        assert_eq!(mapped, all("opc.tcp://192.0.2.7:4841"));
        let (_, local) = told("[::]:4841", "[fe80::7%2]:4841");
        assert_eq!(local, all("opc.tcp://[fe80::7]:4841"));
        // One address is what everybody is told.
        assert_eq!(
            told("192.0.2.7:4840", "192.0.2.7:4840"),
            ("opc.tcp://192.0.2.7:4840".into(), None)
        );
    }

    #[test]
    fn each_transport_has_its_port_at_the_same_host() {
        let advertised = |config: &Config, listen: &str| {
            let tls = TlsPorts {
                wss: Some(4843),
                https: Some(443),
            };
            Advertised::new(config, listen.parse().unwrap(), tls)
        };
        let everybody = advertised(&Config::default(), "[::1]:4840");
        let each: [UAString; 3] = [
            "opc.tcp://[::1]:4840".into(),
            "opc.wss://[::1]:4843".into(),
            "opc.https://[::1]:443".into(),
        ];
        assert_eq!(everybody.urls.discovery(), each);
        let all = advertised(&Config::default(), "0.0.0.0:4840");
        // Whichever port it came by.
        let told = all.for_client(None, "opc.wss://plc", "192.0.2.7:4843".parse().ok());
        let each: [UAString; 3] = [
            "opc.tcp://192.0.2.7:4840".into(),
            "opc.wss://192.0.2.7:4843".into(),
            "opc.https://192.0.2.7:443".into(),
        ];
        assert_eq!(told.unwrap().discovery(), each);
        let named = Config {
            advertise: Some("opc.tcp://plc.example:1/a".parse().unwrap()),
            ..Config::default()
        };
        let each: [UAString; 3] = [
            "opc.tcp://plc.example:1/a".into(),
            "opc.wss://plc.example:4843".into(),
            "opc.https://plc.example:443".into(),
        ];
        assert_eq!(advertised(&named, "127.0.0.1:4840").urls.discovery(), each);
    }
}
