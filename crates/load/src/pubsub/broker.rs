//! A connection to a broker, over TCP or inside TLS.

use std::fmt;
use std::io;
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use mio::{Registry, Token};
use pubsub::mqtt::packet::{reason, write_disconnect, write_ping};
use pubsub::mqtt::{Connect, Packet, PacketError, Version, Will};
use wss::{TlsClient, TunnelError};

use super::BrokerUrl;
use crate::transport::{LinkError, ReadOutcome, Socket, Stream, secure};

/// The largest packet that is read.
const LARGEST: usize = 16 << 20;
/// From one try to connect to the next.
pub(super) const AGAIN: Duration = Duration::from_millis(200);
/// A broker ends connections on which nothing was said for one and a half times as long.
const KEEP_ALIVE_S: u16 = 30;
/// So many reasons why connections ended are kept.
const REASONS: usize = 16;
/// So long a broker has to greet.
const PATIENCE: Duration = Duration::from_secs(5);

/// Who connects to a broker.
#[derive(Clone)]
pub struct Login {
    /// The name.
    pub user: String,
    /// The secret.
    pub password: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login({:?})", self.user)
    }
}

/// A broker and how it is spoken to.
#[derive(Debug, Clone)]
pub struct Mqtt {
    /// Where it is.
    pub url: BrokerUrl,
    /// Which MQTT.
    pub version: Version,
    /// 0, 1 or 2.
    pub qos: u8,
    /// Who connects, if it has to know.
    pub login: Option<Login>,
    /// So many messages may wait for their acknowledgement; the broker may want fewer.
    pub in_flight: u16,
    /// How TLS is begun, for URLs that want it.
    pub tls: Option<TlsClient>,
}

/// Why there is no connection to a broker, or not any more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BrokerError {
    /// Nothing is called so.
    #[error("no address of {0}")]
    Name(String),
    /// There is no connection.
    #[error("{0}")]
    Io(io::Error),
    /// TLS came to nothing, or ended.
    #[error("{0}")]
    Tls(Box<LinkError>),
    /// It is not known whom to trust.
    #[error("mqtts wants TLS, and nobody said whose certificates are trusted")]
    NoTls,
    /// It ended the connection without a word.
    #[error("the broker closed the connection")]
    Closed,
    /// It said nothing in time.
    #[error("no answer within {0:?}")]
    Silent(Duration),
    /// It does not let the client in, or subscribe.
    #[error("the broker refuses: {0}")]
    Refused(&'static str),
    /// It ended the connection and said why.
    #[error("the broker ended the connection: {0}")]
    Ended(&'static str),
    /// It does not speak MQTT.
    #[error(transparent)]
    Packet(#[from] PacketError),
    /// It does not take messages of this QoS.
    #[error("the broker takes QoS {0} at most")]
    Qos(u8),
}

impl From<io::Error> for BrokerError {
    fn from(error: io::Error) -> Self {
        // What TLS says is told by the socket.
        match error.downcast::<TunnelError>() {
            Ok(error) => LinkError::from(error).into(),
            Err(error) => Self::Io(error),
        }
    }
}

impl From<LinkError> for BrokerError {
    fn from(error: LinkError) -> Self {
        Self::Tls(Box::new(error))
    }
}

impl BrokerError {
    /// Adds the reason to those that are known, unless it is among them.
    pub(super) fn note(&self, known: &mut Vec<String>) {
        let why = self.to_string();
        if !known.contains(&why) && known.len() < REASONS {
            known.push(why);
        }
    }
}

/// A connection to a broker that let us in.
#[derive(Debug)]
pub(super) struct Link {
    socket: Socket,
    /// What TLS agreed on, if it is inside TLS.
    pub tls: Option<String>,
    pub version: Version,
    inbox: Vec<u8>,
    /// So much of it was read.
    read: usize,
    pub outbox: Vec<u8>,
    /// So much of it was sent.
    sent: usize,
    /// When it sent something last.
    spoke: Instant,
    /// So many messages may wait for their acknowledgement.
    pub window: u16,
    /// The broker closed the connection; what came before is still to be read.
    closed: bool,
}

impl Link {
    /// Connects and says hello.
    pub fn open(
        mqtt: &Mqtt,
        client_id: &str,
        will: Option<Will<'_>>,
        registry: &Registry,
        token: Token,
    ) -> Result<Self, BrokerError> {
        let url = &mqtt.url;
        let until = Instant::now() + PATIENCE;
        let mut last = BrokerError::Name(url.host().to_owned());
        let addresses = (url.host(), url.port()).to_socket_addrs();
        let mut stream = None;
        for address in addresses.into_iter().flatten() {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(it) => {
                    stream = Some(it);
                    break;
                }
                Err(error) => last = error.into(),
            }
        }
        let Some(mut stream) = stream else {
            return Err(last);
        };
        stream.set_nodelay(true)?;
        let tunnel = match (&mqtt.tls, url.is_secured()) {
            (_, false) => None,
            (Some(tls), true) => Some(secure(&mut stream, url.host(), tls, PATIENCE)?),
            (None, true) => return Err(BrokerError::NoTls),
        };
        let secured = tunnel.as_ref().and_then(|it| it.secured());
        let mut link = Self {
            socket: Socket::new(Stream::new(stream, tunnel, None)?)?,
            tls: secured.map(|it| format!("{} with {}", it.version, it.cipher)),
            version: mqtt.version,
            inbox: Vec::new(),
            read: 0,
            outbox: Vec::new(),
            sent: 0,
            spoke: Instant::now(),
            window: mqtt.in_flight,
            closed: false,
        };
        let connect = Connect {
            version: mqtt.version,
            client_id,
            keep_alive: KEEP_ALIVE_S,
            will,
            user: mqtt.login.as_ref().map(|it| it.user.as_str()),
            password: mqtt.login.as_ref().map(|it| it.password.as_bytes()),
        };
        connect.write(&mut link.outbox);
        loop {
            link.flush()?;
            link.fill()?;
            if let Some(packet) = link.next()? {
                let Packet::ConnAck {
                    code,
                    receive_maximum,
                    maximum_qos,
                    ..
                } = packet
                else {
                    return Err(BrokerError::Packet(PacketError::Type(0)));
                };
                if code != 0 {
                    return Err(BrokerError::Refused(reason(mqtt.version, code)));
                }
                if mqtt.qos > maximum_qos {
                    return Err(BrokerError::Qos(maximum_qos));
                }
                link.window = receive_maximum.map_or(mqtt.in_flight, |it| it.min(mqtt.in_flight));
                break;
            }
            if Instant::now() >= until {
                return Err(BrokerError::Silent(PATIENCE));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        link.socket.register(registry, token)?;
        Ok(link)
    }

    /// Sends what the socket takes.
    pub fn flush(&mut self) -> Result<(), BrokerError> {
        while let Some(rest) = self.outbox.get(self.sent..).filter(|it| !it.is_empty()) {
            match self.socket.write(rest) {
                Ok(0) => return Err(BrokerError::Closed),
                Ok(n) => self.sent += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        if self.sent > 0 {
            self.spoke = Instant::now();
        }
        self.outbox.clear();
        self.sent = 0;
        Ok(())
    }

    /// Says that it is there, if it has said nothing for long.
    pub fn keep_alive(&mut self, now: Instant) {
        let quiet = now.saturating_duration_since(self.spoke);
        if self.outbox.is_empty() && quiet >= Duration::from_secs(u64::from(KEEP_ALIVE_S) / 2) {
            write_ping(&mut self.outbox);
        }
    }

    /// Says farewell. The connection ends, whether the broker hears it or not.
    pub fn end(mut self) {
        write_disconnect(&mut self.outbox);
        if self.flush().is_ok() {
            let _ = self.socket.into_inner().shutdown(Shutdown::Write);
        }
    }

    /// Bytes that the socket has not taken yet.
    pub fn waiting(&self) -> usize {
        self.outbox.len() - self.sent
    }

    /// Takes what came. That the connection ended is told by what reads it, behind the last packet.
    pub fn fill(&mut self) -> Result<(), BrokerError> {
        if self.read > 0 {
            self.inbox.drain(..self.read);
            self.read = 0;
        }
        let mut some = [0; 65_536];
        // A fast sender must not keep us here.
        for _ in 0..16 {
            match self.socket.read(&mut some)? {
                ReadOutcome::Bytes { n, more, .. } => {
                    self.inbox.extend(some.get(..n).unwrap_or_default());
                    if !more {
                        return Ok(());
                    }
                }
                ReadOutcome::Nothing => return Ok(()),
                ReadOutcome::End => {
                    self.closed = true;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The answer to a subscription, wherever it stands in what came. What was read is still to be read: brokers may
    /// send retained messages before it.
    pub fn look_for_suback(&self) -> Result<Option<Packet<'_>>, BrokerError> {
        let mut rest = self.inbox.get(self.read..).unwrap_or_default();
        while let Some((packet, used)) = Packet::read(rest, self.version, LARGEST)? {
            match packet {
                Packet::SubAck(..) => return Ok(Some(packet)),
                Packet::Disconnect(code) => {
                    return Err(BrokerError::Ended(reason(self.version, code)));
                }
                _ => rest = rest.get(used..).unwrap_or_default(),
            }
        }
        if self.closed {
            return Err(BrokerError::Closed);
        }
        Ok(None)
    }

    /// The next packet of what came.
    pub fn next(&mut self) -> Result<Option<Packet<'_>>, BrokerError> {
        let bytes = self.inbox.get(self.read..).unwrap_or_default();
        let Some((packet, used)) = Packet::read(bytes, self.version, LARGEST)? else {
            return match self.closed {
                true => Err(BrokerError::Closed),
                false => Ok(None),
            };
        };
        self.read += used;
        Ok(Some(packet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let login = Login {
            user: "me".to_owned(),
            password: "secret".to_owned(),
        };
        assert_eq!(format!("{login:?}"), "Login(\"me\")");
    }
}
