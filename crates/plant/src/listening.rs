//! The sockets at which a server waits for clients: over TCP, and through TLS.

use std::net::SocketAddr;

use mio::net::TcpListener;
use wire::url::Transport;
use wss::TlsServer;

use crate::advertise::TlsPorts;
use crate::config::Config;
use crate::start_error::StartError;
use crate::tls_acceptor::Inside;

/// All of them, open.
pub struct Listening {
    /// For clients over TCP.
    pub tcp: TcpListener,
    /// Where that is.
    pub address: SocketAddr,
    /// For those who come through TLS.
    pub ways: Vec<Way>,
    /// Their ports.
    pub ports: TlsPorts,
}

/// A socket for what is inside TLS, and what TLS begins with.
pub struct Way {
    /// The socket.
    pub listener: TcpListener,
    /// What TLS begins with.
    pub tls: TlsServer,
    /// What is inside.
    pub inside: Inside,
    port: u16,
}

impl Listening {
    /// Opens all that is asked for.
    pub fn open(config: &Config) -> Result<Self, StartError> {
        let (tcp, address) = listen_at(config.listen)?;
        let longest = match config.limits.sizes.receive_message {
            0 => usize::MAX,
            bytes => bytes as usize,
        };
        let text = longest.min(config.limits.json_request);
        let inside = [
            (
                config.wss,
                Inside::Wss(config.has_json_sockets().then_some(text)),
            ),
            (
                config.https,
                Inside::Https((longest, text), config.cors.clone()),
            ),
        ];
        let asked = inside
            .into_iter()
            .filter_map(|(port, inside)| Some((port?, inside)));
        let ways = asked.map(|(port, inside)| Way::open(config, port, inside));
        let ways: Vec<Way> = ways.collect::<Result<_, _>>()?;
        let port_for = |transport: Transport| {
            let of = ways.iter().find(|it| it.inside.transport() == transport);
            of.map(|it| it.port)
        };
        let ports = TlsPorts {
            wss: port_for(Transport::Wss),
            https: port_for(Transport::Https),
        };
        Ok(Self {
            tcp,
            address,
            ways,
            ports,
        })
    }
}

impl Way {
    fn open(config: &Config, port: u16, inside: Inside) -> Result<Self, StartError> {
        let scheme = inside.transport().scheme();
        let own = config.identity.as_ref();
        let own = own.ok_or(StartError::NoCertificate(scheme))?;
        let chain = std::iter::once(&own.certificate).chain(&own.above);
        let chain = chain
            .map(|certificate| certificate.der().to_vec())
            .collect();
        let tls = TlsServer::new(chain, own.key.pkcs8(), true);
        let tls = tls.map_err(|error| StartError::Tls(scheme, error))?;
        let (listener, address) = listen_at(SocketAddr::new(config.listen.ip(), port))?;
        Ok(Self {
            listener,
            tls,
            inside,
            port: address.port(),
        })
    }
}

fn listen_at(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let listen = |source| StartError::Listen { address, source };
    let listener = TcpListener::bind(address).map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    Ok((listener, address))
}
