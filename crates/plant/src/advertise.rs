//! Under which URL a client is told that the server is (Part 4, 5.4.4).
//!
//! An address that stands for all of a machine's is nowhere to connect to. A server that listens on it gives each
//! client what that one came by: the name in its Hello message if the server's certificate is for it, else the
//! address that its connection reached.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use wire::types::EndpointDescription;
use wire::url::Url;

use crate::config::Config;

/// The URLs of a server.
#[derive(Debug, Clone)]
pub struct Advertised {
    /// The one that is told to everybody, or that works on this machine.
    pub url: String,
    /// Each client is told another one.
    by_client: bool,
}

impl Advertised {
    /// What was asked for, or what follows from the address that the server listens on.
    pub fn new(config: &Config, address: SocketAddr) -> Self {
        let fixed = |url| Self {
            url,
            by_client: false,
        };
        if let Some(url) = &config.advertise {
            return fixed(url.clone());
        }
        if let Some(host) = &config.host {
            return fixed(format!("opc.tcp://{host}:{}", address.port()));
        }
        let here: IpAddr = match address {
            address if !address.ip().is_unspecified() => return fixed(url(address)),
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        };
        Self {
            url: url(SocketAddr::new(here, address.port())),
            by_client: true,
        }
    }

    /// What a client is told, if it is another URL than that of everybody: it said hello to `asked`, and its
    /// connection reached `reached`.
    pub fn for_client(
        &self,
        own: Option<&pki::Identity>,
        asked: &str,
        reached: Option<SocketAddr>,
    ) -> Option<String> {
        let reached = reached.filter(|_| self.by_client)?;
        let named = asked.parse::<Url>().ok().filter(|asked| {
            let address = asked.host().parse::<IpAddr>();
            address.is_err() && own.is_some_and(|own| own.certificate.names_host(asked.host()))
        });
        Some(match named {
            Some(named) => format!("opc.tcp://{}:{}", named.host(), reached.port()),
            None => url(reached),
        })
    }
}

/// Endpoints, and the server in them, at this URL.
pub fn move_to(endpoints: &mut [EndpointDescription], url: &str) {
    for endpoint in endpoints {
        endpoint.endpoint_url = url.into();
        endpoint.server.discovery_urls = Some(vec![url.into()]);
    }
}

/// Of an address as others know it: an IPv4 client of an IPv6 socket is one of IPv4, and the numbers of interfaces
/// mean nothing elsewhere.
fn url(address: SocketAddr) -> String {
    let address = SocketAddr::new(address.ip().to_canonical(), address.port());
    format!("opc.tcp://{address}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(listen: &str, reached: &str) -> (String, Option<String>) {
        let advertised = Advertised::new(&Config::default(), listen.parse().unwrap());
        let other = advertised.for_client(None, "opc.tcp://plc:4840", reached.parse().ok());
        (advertised.url, other)
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
}
