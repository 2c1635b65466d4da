//! A connection driven by calls that wait for their answers. Each is there twice: for a thread that has nothing else to
//! do, and `…_in_turn` for a task among others.

use std::io::{self, ErrorKind, Read};
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use capture::Recorder;
use wire::channel::{ChannelError, Protection};
use wire::client::{Config, Connection, Event, RequestId};
use wire::service::{self, Request, Response, Service};
use wire::time::Instant as Mono;
use wire::types::{NodeId, StatusCode};
use wire::url::{Transport, Url};
use wss::{Secured, TunnelError};

use super::check::CheckTimes;
use super::error::{CLOSED, diagnose};
use super::tasks::{NEVER, aside, blocking};
use super::way::{Options, Way};
use super::{CallError, Clock, LinkError, Steps, Stream, TransportStep, random};

/// An open SecureChannel, and a socket under it.
#[derive(Debug)]
pub struct Link {
    socket: Stream,
    connection: Connection,
    shell: Shell,
    carried: Carried,
}

/// Bytes that a link has carried, with all that frames and protects them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Carried {
    /// To the server.
    pub sent: u64,
    /// From it.
    pub received: u64,
}

/// What a link knows beside its socket and connection; what is left of it when these are taken out.
#[derive(Debug, Clone, Copy)]
pub struct Shell {
    clock: Clock,
    timeout: Duration,
    lifetime: Duration,
    address: SocketAddr,
}

impl Shell {
    /// Makes a link of them again.
    pub fn put_together(self, mut socket: Stream, connection: Connection) -> io::Result<Link> {
        socket.set_nonblocking(false)?;
        Ok(Link {
            socket,
            connection,
            shell: self,
            carried: Carried::default(),
        })
    }

    /// The address that answered.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// What one turn of the wheel brought.
enum Turn {
    Nothing,
    Acknowledged,
    Opened,
    Response(RequestId, Vec<u8>),
    Aborted(RequestId, StatusCode),
    TimedOut,
    Ended(ChannelError),
}

/// How much is read at once.
const READ: usize = 16 * 1024;

impl Link {
    /// Looks up, connects, says hello and opens the channel. `steps` has what each took, the
    /// steps before a failing one too.
    pub fn open(url: &Url, options: &Options, steps: &mut Steps) -> Result<Self, LinkError> {
        blocking(Self::open_in_turn(url, options, steps))
    }

    /// The same for a task.
    pub async fn open_in_turn(
        url: &Url,
        options: &Options,
        steps: &mut Steps,
    ) -> Result<Self, LinkError> {
        let (socket, address, said) = options.way.take(url, options, steps).await?;
        socket.set_write_timeout(Some(options.timeout.max(Duration::from_millis(1))))?;
        let clock = Clock::new();
        let endpoint_url = options
            .endpoint_url
            .clone()
            .unwrap_or_else(|| url.to_string());
        // Neither HTTP nor messages in JSON have a channel of their own.
        let shared = url.transport() == Transport::Https || options.json;
        if shared && options.protection != Protection::NONE {
            return Err(LinkError::OnlyNone(options.protection));
        }
        let checked = Arc::new(OnceLock::new());
        let check = options.check.as_ref();
        let check_certificate = check.map(|check| check.timed(&checked));
        let config = Config {
            protection: options.protection,
            identity: options.identity.clone(),
            server: options.server.clone(),
            check_certificate,
            limits: options.limits,
            timeout: options.timeout,
            lifetime: options.lifetime,
            key_log: options.recorder.as_ref().map(Recorder::key_log),
            reverse: matches!(options.way, Way::Called(_)),
            shared_channel: shared.then_some(wss::CHANNEL_ID),
            ..Config::new(endpoint_url, random())
        };
        let mut connection = Connection::new(config, clock.now());
        connection.receive(&said);
        let mut link = Self {
            socket,
            connection,
            shell: Shell {
                clock,
                timeout: options.timeout,
                lifetime: Duration::ZERO,
                address,
            },
            carried: Carried {
                received: said.len() as u64,
                ..Carried::default()
            },
        };
        if shared {
            // TLS was all there is to be opened.
            link.wait_for(TransportStep::OpenChannel, |turn| {
                matches!(turn, Turn::Opened)
            })
            .await?;
            return Ok(link);
        }
        let start = Instant::now();
        link.wait_for(TransportStep::Hello, |turn| {
            matches!(turn, Turn::Acknowledged)
        })
        .await?;
        steps.push((TransportStep::Hello, start.elapsed()));
        let start = Instant::now();
        let opened = link
            .wait_for(TransportStep::OpenChannel, |turn| {
                matches!(turn, Turn::Opened)
            })
            .await;
        // The check is made in the job that signs the request.
        let check = checked.get().map(CheckTimes::steps).unwrap_or_default();
        let took: Duration = check.iter().map(|it| it.1).sum();
        steps.extend(check);
        opened?;
        let rest = start.elapsed().saturating_sub(took);
        steps.push((TransportStep::OpenChannel, rest));
        Ok(link)
    }

    /// The address that answered.
    pub fn address(&self) -> SocketAddr {
        self.shell.address
    }

    /// The connection's state: limits, protection, channel.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// What TLS agreed on, where the transport has it.
    pub fn secured(&self) -> Option<Secured> {
        self.socket.tunnel()?.secured()
    }

    /// How long the current security token lives.
    pub fn lifetime(&self) -> Duration {
        self.shell.lifetime
    }

    /// Bytes so far, of this link; none of those before it was taken apart.
    pub fn carried(&self) -> Carried {
        self.carried
    }

    /// The clocks of this link.
    pub fn clock(&self) -> Clock {
        self.shell.clock
    }

    /// Calls a service and waits for its response. The header's handle, timestamp and timeout
    /// are filled in; `token` is the session's, or null.
    pub fn call<S: Service>(
        &mut self,
        token: &NodeId,
        request: S,
    ) -> Result<S::Response, CallError> {
        blocking(self.call_in_turn(token, request))
    }

    /// The same for a task.
    pub async fn call_in_turn<S: Service>(
        &mut self,
        token: &NodeId,
        request: S,
    ) -> Result<S::Response, CallError> {
        let mut request: Request = request.into();
        let now = self.shell.clock.now();
        let timeout = self.shell.timeout;
        let header = request.header_mut();
        header.authentication_token = token.clone();
        header.timestamp = now.utc.into();
        header.timeout_hint = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        // What does not encode must not leave half a message behind: tried before it is sent.
        request.encode(&mut Vec::new())?;
        let id = self.connection.send(NEVER, |out, handle| {
            request.header_mut().request_handle = handle;
            let encoded = request.encode(out);
            debug_assert!(encoded.is_ok());
        })?;
        let response = self.response_to(id).await?;
        let limits = self.decode_limits();
        Ok(Response::decode(&response, &limits)?.try_into()?)
    }

    /// Sends a request that is encoded already and waits for its encoded response. `write` is
    /// given where to append it, its handle and the time.
    pub fn exchange(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>, u32, i64),
    ) -> Result<Vec<u8>, CallError> {
        blocking(self.exchange_in_turn(write))
    }

    /// The same for a task.
    pub async fn exchange_in_turn(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>, u32, i64),
    ) -> Result<Vec<u8>, CallError> {
        let utc = self.shell.clock.now().utc;
        let id = self
            .connection
            .send(NEVER, |out, handle| write(out, handle, utc))?;
        self.response_to(id).await
    }

    fn decode_limits(&self) -> service::Limits {
        let agreed = self.connection.limits().receive_message;
        service::Limits::for_message_size(agreed as usize)
    }

    async fn response_to(&mut self, id: RequestId) -> Result<Vec<u8>, CallError> {
        // The server's time begins when it has the request, however long this process was away before.
        self.flush().await?;
        let until = self.shell.clock.mono() + self.shell.timeout;
        loop {
            match self.turn(until).await? {
                Turn::Response(got, body) if got == id => return Ok(body),
                Turn::Aborted(got, status) if got == id => return Err(CallError::Aborted(status)),
                Turn::TimedOut => {
                    self.connection.forget(id);
                    return Err(CallError::TimedOut(self.shell.timeout));
                }
                Turn::Ended(error) => return Err(LinkError::Channel(error).into()),
                _ => {}
            }
        }
    }

    /// Takes socket and connection out, to be driven without blocking.
    pub fn take_apart(self) -> (Stream, Connection, Shell) {
        (self.socket, self.connection, self.shell)
    }

    /// Renews the security token, and waits until the new one is there.
    pub fn renew(&mut self) -> Result<(), LinkError> {
        blocking(self.renew_in_turn())
    }

    /// The same for a task.
    pub async fn renew_in_turn(&mut self) -> Result<(), LinkError> {
        if self.connection.is_shared() {
            return Err(LinkError::NoChannel);
        }
        self.connection.renew(self.shell.clock.now());
        self.wait_for(TransportStep::OpenChannel, |turn| {
            matches!(turn, Turn::Opened)
        })
        .await
    }

    /// How long each step and call from now on may take.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.shell.timeout = timeout;
    }

    /// How long each step and call may take.
    pub const fn timeout(&self) -> Duration {
        self.shell.timeout
    }

    /// Gives back the memory that it does not need as long as nobody calls.
    pub fn rest(&mut self) {
        self.connection.rest();
    }

    /// Closes the channel and waits until the server has closed the socket, as Part 6, 7.1.4 wants it; no
    /// longer than `patience`.
    pub async fn leave_in_turn(mut self, patience: Duration) -> Result<(), LinkError> {
        self.connection.close(self.shell.clock.now());
        self.flush().await?;
        let gone = |error: &io::Error| {
            matches!(
                error.kind(),
                ErrorKind::NotConnected | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
            )
        };
        match self.socket.shutdown(std::net::Shutdown::Write) {
            Err(error) if gone(&error) => return Ok(()),
            result => result?,
        }
        let until = Instant::now() + patience;
        let mut rest = [0; 512];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ChannelError::Timeout("closing the channel").into());
            }
            match self.socket.read_within(&mut rest, left).await {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if gone(&error) => return Ok(()),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                    _ => return Err(error.into()),
                },
            }
        }
    }

    /// Closes the channel and the socket.
    pub fn close(self) -> Result<(), LinkError> {
        blocking(self.close_in_turn())
    }

    /// The same for a task.
    pub async fn close_in_turn(mut self) -> Result<(), LinkError> {
        self.connection.close(self.shell.clock.now());
        self.flush().await?;
        match self.socket.shutdown(std::net::Shutdown::Both) {
            // The server was quicker.
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(()),
            result => Ok(result?),
        }
    }

    async fn wait_for(
        &mut self,
        step: TransportStep,
        done: impl Fn(&Turn) -> bool,
    ) -> Result<(), LinkError> {
        loop {
            match self.turn(NEVER).await? {
                turn if done(&turn) => return Ok(()),
                Turn::Ended(error) => return Err(diagnose(error, step)),
                _ => {}
            }
        }
    }

    /// Writes, reads, lets time pass: until something happened, or until then.
    async fn turn(&mut self, until: Mono) -> Result<Turn, LinkError> {
        loop {
            match self.next_event() {
                Turn::Nothing => {}
                turn => return Ok(turn),
            }
            while let Some(job) = self.connection.poll_job() {
                let done = aside(move || job.run()).await;
                self.connection.complete(done, self.shell.clock.now());
            }
            self.flush().await?;
            match self.next_event() {
                Turn::Nothing => {}
                turn => return Ok(turn),
            }
            let looked = self.shell.clock.now();
            if self.read(looked.mono, until).await? {
                // A process that was stopped finds in the socket what came in time: what is over by this look is
                // over, not what became so while it waited.
                if looked.mono >= until {
                    return Ok(Turn::TimedOut);
                }
                self.connection.handle_timeout(looked);
            }
        }
    }

    fn next_event(&mut self) -> Turn {
        while let Some(event) = self.connection.poll_event(self.shell.clock.now()) {
            return match event {
                Event::Acknowledged(_) => Turn::Acknowledged,
                Event::Opened { lifetime, .. } => {
                    self.shell.lifetime = lifetime;
                    Turn::Opened
                }
                Event::Response { id, body } => Turn::Response(id, body.to_vec()),
                Event::Aborted { id, error } => Turn::Aborted(id, error.status),
                Event::Closed(error) => Turn::Ended(error),
                _ => continue,
            };
        }
        Turn::Nothing
    }

    async fn flush(&mut self) -> Result<(), LinkError> {
        while !self.connection.pending().is_empty() {
            let (pending, timeout) = (self.connection.pending(), self.shell.timeout);
            match self.socket.write_within(pending, timeout).await {
                Ok(n) => {
                    self.connection.wrote(n);
                    self.carried.sent += n as u64;
                }
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                        let after = self.shell.timeout;
                        return Err(LinkError::NotRead { after });
                    }
                    _ => return self.broken(error),
                },
            }
        }
        Ok(())
    }

    /// Reads what there is, or waits for it until the next deadline; tells whether there was nothing.
    async fn read(&mut self, now: Mono, until: Mono) -> Result<bool, LinkError> {
        let due = self.connection.poll_timeout().unwrap_or(NEVER).min(until);
        let wait = due.since(now).min(self.shell.timeout);
        let wait = wait.max(Duration::from_millis(1));
        match self
            .socket
            .read_within(self.connection.space(READ), wait)
            .await
        {
            Ok(0) => self.connection.lost(CLOSED),
            Ok(n) => {
                self.connection.filled(n);
                self.carried.received += n as u64;
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => return Ok(true),
                ErrorKind::Interrupted => {}
                _ => self.broken(error)?,
            },
        }
        Ok(false)
    }

    /// A reset is how many servers say no; what they wrote before it may still be read.
    fn broken(&mut self, error: io::Error) -> Result<(), LinkError> {
        match error.kind() {
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => {
                if let Ok(n @ 1..) = self.socket.read(self.connection.space(READ)) {
                    self.connection.filled(n);
                } else {
                    self.connection.lost(CLOSED);
                }
                Ok(())
            }
            _ => Err(match error.downcast::<TunnelError>() {
                Ok(error) => error.into(),
                Err(error) => error.into(),
            }),
        }
    }
}
