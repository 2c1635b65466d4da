//! How a server is reached: who dials, through what, and what a link is opened with.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use capture::Recorder;
use socket2::SockRef;
use wire::certificate::Certificate;
use wire::channel::{Identity, Protection};
use wire::frame::Limits;
use wire::url::{Transport, Url};
use wss::{Media, TlsClient};

use super::callers::Callers;
use super::check::ServerCheck;
use super::connection_set::ExtraConnection;
use super::dial::{Own, connect_in_turn, look_up_in_turn};
use super::dscp::Dscp;
use super::proxy::Proxy;
use super::{LinkError, Steps, Stream, TransportStep, tunnel};

/// How a server is reached.
#[derive(Debug, Clone, Default)]
pub enum Way {
    /// At the addresses of its URL.
    #[default]
    Dial,
    /// At the address of a relay that leads there.
    Through(SocketAddr),
    /// In a tunnel that a proxy makes to it.
    Proxied(Arc<Proxy>),
    /// It dials.
    Called(Arc<Callers>),
}

impl Way {
    /// A socket to a server, or from it, with what it has said already.
    pub(super) async fn take(
        &self,
        url: &Url,
        options: &Options,
        steps: &mut Steps,
    ) -> Result<(Stream, SocketAddr, Vec<u8>), LinkError> {
        let recorder = options.recorder.as_ref();
        let own = Own {
            source: options.source,
            dscp: options.dscp,
        };
        let mut start = Instant::now();
        let addresses = match self {
            Self::Called(_) if url.transport() != Transport::Tcp => {
                return Err(LinkError::NotReverse(url.clone()));
            }
            Self::Called(callers) => {
                let call = callers.next_in_turn(url, options.timeout).await?;
                steps.push((TransportStep::Connect, start.elapsed()));
                if let Some(dscp) = options.dscp {
                    dscp.mark(&SockRef::from(&call.socket), call.address)?;
                }
                let socket = Stream::called(call.socket, &call.hello, recorder)?;
                return Ok((socket, call.address, call.hello));
            }
            Self::Through(relay) => vec![*relay],
            Self::Proxied(proxy) => proxy.look_up().await?,
            Self::Dial => look_up_in_turn(url.host(), url.port()).await?,
        };
        steps.push((TransportStep::Lookup, start.elapsed()));
        start = Instant::now();
        let (mut socket, address) = self.connect(&addresses, own, options.timeout).await?;
        steps.push((TransportStep::Connect, start.elapsed()));
        self.pass_the_proxy(&mut socket, url, options.timeout, steps)
            .await?;
        // What it answers is as long as over any other transport.
        let longest = match options.limits.receive_message {
            0 => usize::MAX,
            bytes => bytes as usize,
        };
        let mut beside = Vec::new();
        let tunnel = match (url.transport(), &options.tls) {
            (Transport::Tcp, _) if options.json => return Err(LinkError::NoJson),
            (Transport::Tcp, _) => None,
            (Transport::Wss, Some(tls)) => {
                let texts = options.json.then_some(longest);
                let tls = (tls, texts);
                Some(tunnel::open(&mut socket, url, tls, options.timeout, steps).await?)
            }
            (Transport::Https, Some(tls)) => {
                let media = match options.json {
                    true => Media::Json,
                    false => Media::Binary,
                };
                let timeout = options.timeout;
                let media = (tls, longest, media);
                let tunnel = tunnel::post(&mut socket, url, media, timeout, steps).await?;
                for _ in 0..options.connections {
                    // As long as those of the first one, and at the same time as others of other sessions: no steps of their own.
                    let (mut socket, _) = self.connect(&[address], own, timeout).await?;
                    let mut steps = Steps::new();
                    self.pass_the_proxy(&mut socket, url, timeout, &mut steps)
                        .await?;
                    let tunnel = tunnel::post(&mut socket, url, media, timeout, &mut steps).await?;
                    socket.set_nonblocking(true)?;
                    beside.push(ExtraConnection { socket, tunnel });
                }
                Some(tunnel)
            }
            // Nobody said whom to trust.
            (over, None) => return Err(LinkError::NoTls(over.scheme())),
        };
        let stream = Stream::new(socket, tunnel, recorder)?.with_posts(beside);
        Ok((stream, address, Vec::new()))
    }

    /// A socket to the server, or to what lies before it.
    async fn connect(
        &self,
        addresses: &[SocketAddr],
        own: Own,
        timeout: Duration,
    ) -> Result<(TcpStream, SocketAddr), LinkError> {
        let connected = connect_in_turn(addresses, own, timeout).await;
        match self {
            Self::Proxied(proxy) => connected.map_err(|error| proxy.unreachable(error)),
            _ => connected,
        }
    }

    /// Goes on to the server from a proxy, if that is what was connected to.
    async fn pass_the_proxy(
        &self,
        socket: &mut TcpStream,
        url: &Url,
        timeout: Duration,
        steps: &mut Steps,
    ) -> Result<(), LinkError> {
        let Self::Proxied(proxy) = self else {
            return Ok(());
        };
        let start = Instant::now();
        proxy.open(socket, url, timeout).await?;
        steps.push((TransportStep::Proxy, start.elapsed()));
        Ok(())
    }
}

/// What a link is opened with.
#[derive(Debug, Clone)]
pub struct Options {
    /// Policy and mode.
    pub protection: Protection,
    /// Certificate and key, for any policy but None.
    pub identity: Option<Identity>,
    /// The server's certificate, trusted by the caller; for any policy but None.
    pub server: Option<Certificate>,
    /// Judges that certificate at each opening and renewal.
    pub check: Option<ServerCheck>,
    /// How TLS is begun, where the transport has it.
    pub tls: Option<TlsClient>,
    /// Whether messages are JSON, where the transport has that.
    pub json: bool,
    /// Connections of HTTPS beside the first one, over which Publish requests go.
    pub connections: u32,
    /// The EndpointUrl to say hello with, if it is not the one that is dialled.
    pub endpoint_url: Option<String>,
    /// What this side takes at most.
    pub limits: Limits,
    /// How long each step may take.
    pub timeout: Duration,
    /// The channel lifetime to ask for.
    pub lifetime: Duration,
    /// The own address to connect from; none: the system's choice.
    pub source: Option<IpAddr>,
    /// The class of traffic that packets to the server say they are of.
    pub dscp: Option<Dscp>,
    /// How the server is reached.
    pub way: Way,
    /// Records what goes over the socket, and the keys of the channel.
    pub recorder: Option<Recorder>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            protection: Protection::NONE,
            identity: None,
            server: None,
            check: None,
            tls: None,
            json: false,
            connections: 0,
            endpoint_url: None,
            limits: Limits::default(),
            timeout: Duration::from_secs(10),
            lifetime: Duration::from_secs(3600),
            source: None,
            dscp: None,
            way: Way::Dial,
            recorder: None,
        }
    }
}
