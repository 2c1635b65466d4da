//! What a connection over `opc.wss` goes through before chunks of UACP do: TLS, and the upgrade to a WebSocket. Over
//! `opc.https` and to brokers it is TLS alone.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use wire::url::Url;
use wss::{Media, TlsClient, Tunnel, TunnelError};

use super::clock::fill;
use super::tasks::{blocking, reactor};
use super::{Clock, LinkError, Steps, TransportStep};

/// Shakes hands and upgrades, each for no longer than `timeout`; to messages in JSON of at most so many bytes, if it is
/// to be those.
pub async fn open(
    socket: &mut TcpStream,
    url: &Url,
    (tls, texts): (&TlsClient, Option<usize>),
    timeout: Duration,
    steps: &mut Steps,
) -> Result<Box<Tunnel>, LinkError> {
    let start = Instant::now();
    let host = (url.host(), url.port());
    let mut tunnel = match texts {
        None => Tunnel::connect(tls, host, url.path(), fill)?,
        Some(longest) => Tunnel::connect_texts(tls, host, url.path(), longest, fill)?,
    };
    let is_secured = |tunnel: &Tunnel| tunnel.is_upgrading() || tunnel.is_open();
    wait_for(&mut tunnel, socket, TransportStep::Tls, timeout, is_secured).await?;
    steps.push((TransportStep::Tls, start.elapsed()));
    let start = Instant::now();
    wait_for(
        &mut tunnel,
        socket,
        TransportStep::Upgrade,
        timeout,
        Tunnel::is_open,
    )
    .await?;
    steps.push((TransportStep::Upgrade, start.elapsed()));
    Ok(Box::new(tunnel))
}

/// Shakes hands for no longer than `timeout`; requests of HTTP go through it then, and answers of at most so many bytes.
pub async fn post(
    socket: &mut TcpStream,
    url: &Url,
    (tls, longest, media): (&TlsClient, usize, Media),
    timeout: Duration,
    steps: &mut Steps,
) -> Result<Box<Tunnel>, LinkError> {
    let start = Instant::now();
    let mut tunnel = Tunnel::post(tls, (url.host(), url.port()), url.path(), (longest, media))?;
    wait_for(
        &mut tunnel,
        socket,
        TransportStep::Tls,
        timeout,
        Tunnel::is_open,
    )
    .await?;
    steps.push((TransportStep::Tls, start.elapsed()));
    Ok(Box::new(tunnel))
}

/// Shakes hands for no longer than `timeout`; what goes through it then is up to the caller.
pub fn secure(
    socket: &mut TcpStream,
    host: &str,
    tls: &TlsClient,
    timeout: Duration,
) -> Result<Box<Tunnel>, LinkError> {
    let mut tunnel = Tunnel::bare(tls, host)?;
    blocking(wait_for(
        &mut tunnel,
        socket,
        TransportStep::Tls,
        timeout,
        Tunnel::is_open,
    ))?;
    Ok(Box::new(tunnel))
}

async fn wait_for(
    tunnel: &mut Tunnel,
    socket: &mut TcpStream,
    step: TransportStep,
    timeout: Duration,
    done: impl Fn(&Tunnel) -> bool,
) -> Result<(), LinkError> {
    let until = Instant::now() + timeout;
    let late = || LinkError::NoAnswer {
        step,
        after: timeout,
    };
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => late(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => {
            LinkError::ClosedAt(step)
        }
        _ => match error.downcast::<TunnelError>() {
            Ok(error) => error.into(),
            Err(error) => error.into(),
        },
    };
    let reactor = reactor();
    if let Some(reactor) = &reactor {
        socket.set_nonblocking(true)?;
        reactor.watch(socket)?;
    }
    let would_block =
        |error: &io::Error| reactor.is_some() && error.kind() == ErrorKind::WouldBlock;
    loop {
        // Among tasks, what does not go now goes when the socket takes it.
        match tunnel.flush(socket) {
            Err(error) if would_block(&error) => {}
            result => {
                result.map_err(failed)?;
                if done(tunnel) {
                    return Ok(());
                }
            }
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(late());
        }
        if reactor.is_none() {
            socket.set_read_timeout(Some(left))?;
        }
        match tunnel.read(socket, &mut []) {
            Ok(_) if done(tunnel) => {}
            Ok(_) => return Err(LinkError::ClosedAt(step)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => match &reactor {
                Some(reactor) if would_block(&error) => {
                    reactor.wait(Clock::new().mono() + left).await;
                }
                _ => return Err(failed(error)),
            },
        }
    }
}
