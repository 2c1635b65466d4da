//! A client with nothing around it: a blocking socket, `wire`, templates. It is the floor for a
//! generator: who also paces, times and records cannot cost less.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use observe::thread_cpu;
use plant::Clock;
use wire::certificate::Certificate;
use wire::channel::{Identity, Protection};
use wire::client::{self, Connection, Event};
use wire::service::{Response, Service};
use wire::session::client::Session;
use wire::session::token::Credentials;
use wire::session::{Channel, Nonce};
use wire::template::{Template, walk};
use wire::types::{
    ApplicationDescription, ApplicationType, AttributeId, ContextOwned, GetEndpointsRequest,
    NodeId, QualifiedName, ReadRequest, ReadValueId, RequestHeader, TimestampsToReturn,
};

use crate::raw::Sizes;
use crate::slice::{Slice, Trips, Work};

/// A session on a connection of its own.
pub struct Client {
    link: Link,
    session: Session,
}

struct Link {
    socket: TcpStream,
    connection: Connection,
    clock: Clock,
    received: usize,
    sent: usize,
}

const PATIENCE: Duration = Duration::from_secs(5);
const READ: usize = 256 * 1024;
/// The bench address space has the same index on the servers of this bench.
const NAMESPACE: u16 = 2;

fn random(bytes: &mut [u8]) {
    // It does not fail once it is seeded; a nonce of zeros would be refused.
    let _ = aws_lc_rs::rand::fill(bytes);
}

impl Client {
    /// Connects with this protection; anything but None needs an identity.
    pub fn connect(
        url: &str,
        protection: Protection,
        identity: Option<&pki::Identity>,
    ) -> anyhow::Result<Self> {
        let clock = Clock::start();
        let secured = protection != Protection::NONE;
        let own = identity.filter(|_| secured).map(own).transpose()?;
        let server = match secured {
            true => Some(server_certificate(url, protection, &clock)?),
            false => None,
        };
        let mut config = client::Config::new(url, Box::new(random));
        config.protection = protection;
        config.identity.clone_from(&own);
        config.server.clone_from(&server);
        let mut link = Link::open(url, config, clock)?;

        let channel = Channel {
            id: link.connection.channel_id(),
            protection,
            peer: server,
        };
        let uri = identity.and_then(pki::Identity::application_uri);
        let application = ApplicationDescription {
            application_uri: uri.unwrap_or("urn:uaperf:yardstick").into(),
            application_type: ApplicationType::Client,
            ..ApplicationDescription::default()
        };
        let mut session = Session::new(
            wire::session::client::Config {
                identity: own,
                timeout: Duration::from_secs(3600),
                ..wire::session::client::Config::new(application, url)
            },
            channel,
        );
        let mut nonce = Nonce::default();
        random(&mut nonce);
        let response = link.call(session.create_request(nonce, link.clock.now()))?;
        let verified = session.created(response)?.run();
        session.verified(verified)?;
        let job = session.activate(&Credentials::Anonymous, None, link.clock.now())?;
        let response = link.call(job.run()?)?;
        session.activated(response)?;
        Ok(Self { link, session })
    }

    /// Bytes on the wire of one call for so many values, both ways.
    pub fn sizes(&mut self, batch: usize) -> anyhow::Result<Sizes> {
        let (sent, received) = (self.link.sent, self.link.received);
        let once = Work {
            batch,
            ..Work::ROUND_TRIP
        };
        let slice = self.read(once, Duration::ZERO)?;
        if slice.calls != 1 {
            bail!("{} calls instead of one", slice.calls);
        }
        Ok(Sizes {
            request: self.link.sent - sent,
            response: self.link.received - received,
        })
    }

    /// Reads for so long, at least once, and waits for what is in flight then.
    pub fn read(&mut self, work: Work, duration: Duration) -> anyhow::Result<Slice> {
        self.link.keep_up()?;
        self.link.socket.set_nonblocking(work.spin)?;
        let template = self.template(work.batch)?;
        let link = &mut self.link;
        let mut trips = Trips::default();
        let cpu = thread_cpu().ok();
        let start = Instant::now();
        let end = start + duration;
        let (mut calls, mut bad, mut reads, mut to_send) = (0, 0, 0, work.in_flight);
        let mut then = start;
        loop {
            let now = link.clock.now();
            let deadline = now.mono + PATIENCE * 2;
            for _ in 0..to_send {
                let append = |out: &mut Vec<u8>, number| template.append(out, number, now.utc);
                link.connection.send(deadline, append)?;
            }
            link.flush()?;
            if link.connection.in_flight() == 0 {
                break;
            }
            link.receive(work.spin)?;
            reads += 1;
            to_send = 0;
            while let Some(event) = link.connection.poll_event(now) {
                match event {
                    Event::Response { body, .. } => {
                        to_send += 1;
                        let good = walk::check_read(body, work.batch);
                        bad += u64::from(!good.is_ok_and(|checked| checked.bad == 0));
                    }
                    Event::Closed(error) => return Err(error.into()),
                    _ => {}
                }
            }
            calls += to_send as u64;
            let at = Instant::now();
            if work.in_flight == 1 && to_send == 1 {
                trips.add(at - std::mem::replace(&mut then, at));
            }
            if at >= end {
                to_send = 0;
            }
        }
        let elapsed = start.elapsed();
        let client_cpu = cpu.zip(thread_cpu().ok()).map(|(from, to)| to - from);
        self.link.socket.set_nonblocking(false)?;
        self.session.requested(self.link.clock.now());
        Ok(Slice {
            calls,
            bad,
            elapsed,
            client_cpu,
            p50: (work.in_flight == 1).then(|| trips.median()).flatten(),
            reads: Some(reads),
            ..Slice::default()
        })
    }

    fn template(&self, batch: usize) -> anyhow::Result<Template> {
        let nodes = (0..batch).map(|n| ReadValueId {
            node_id: NodeId::new(NAMESPACE, 1000 + n as u32),
            attribute_id: AttributeId::Value as u32,
            index_range: Default::default(),
            data_encoding: QualifiedName::null(),
        });
        let request = ReadRequest {
            request_header: RequestHeader {
                authentication_token: self.session.authentication_token(),
                timeout_hint: 10_000,
                ..RequestHeader::default()
            },
            max_age: 0.0,
            timestamps_to_return: TimestampsToReturn::Neither,
            nodes_to_read: Some(nodes.collect()),
        };
        let context = ContextOwned::default();
        Ok(Template::new(&request, &context.context())?)
    }
}

fn own(identity: &pki::Identity) -> anyhow::Result<Identity> {
    Ok(Identity {
        certificate: Certificate::from_der(&identity.sent())?,
        key: wire::policy::PrivateKey::from_der(identity.key.pkcs8())?,
    })
}

fn server_certificate(
    url: &str,
    protection: Protection,
    clock: &Clock,
) -> anyhow::Result<Certificate> {
    let config = client::Config::new(url, Box::new(random));
    let mut link = Link::open(url, config, *clock)?;
    let response = link.call(GetEndpointsRequest {
        request_header: RequestHeader::default(),
        endpoint_url: url.into(),
        locale_ids: None,
        profile_uris: None,
    })?;
    let endpoints = response.endpoints.unwrap_or_default();
    let der = endpoints
        .iter()
        .find(|endpoint| endpoint.security_policy_uri.as_ref() == protection.policy.uri())
        .and_then(|endpoint| endpoint.server_certificate.value.as_deref())
        .ok_or_else(|| anyhow!("{url} does not offer {protection}"))?;
    Ok(Certificate::from_der(der)?)
}

impl Link {
    fn open(url: &str, config: client::Config, clock: Clock) -> anyhow::Result<Self> {
        let address = url.strip_prefix("opc.tcp://").unwrap_or(url);
        let socket = TcpStream::connect(address).with_context(|| url.to_owned())?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let connection = Connection::new(config, clock.now());
        let mut link = Self {
            socket,
            connection,
            clock,
            received: 0,
            sent: 0,
        };
        loop {
            link.next_response()?;
            let worked = link.run_jobs();
            link.flush()?;
            if link.connection.is_open() {
                break;
            }
            if !worked {
                link.receive(false)?;
            }
        }
        Ok(link)
    }

    /// Whether there was one.
    fn run_jobs(&mut self) -> bool {
        let mut any = false;
        while let Some(job) = self.connection.poll_job() {
            self.connection.complete(job.run(), self.clock.now());
            any = true;
        }
        any
    }

    fn next_response(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        while let Some(event) = self.connection.poll_event(self.clock.now()) {
            match event {
                Event::Response { body, .. } => return Ok(Some(body.to_vec())),
                Event::Closed(error) => return Err(error.into()),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Renews the channel when it is due, between two turns.
    fn keep_up(&mut self) -> anyhow::Result<()> {
        let now = self.clock.now();
        if self
            .connection
            .poll_timeout()
            .is_none_or(|at| at > now.mono)
        {
            return Ok(());
        }
        self.connection.handle_timeout(now);
        self.run_jobs();
        self.flush()?;
        // The answer to a renewal, and nothing else: no request is in flight.
        self.receive(false)?;
        self.next_response()?;
        self.run_jobs();
        Ok(())
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        while !self.connection.pending().is_empty() {
            match self.socket.write(self.connection.pending()) {
                Ok(n) => {
                    self.connection.wrote(n);
                    self.sent += n;
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn receive(&mut self, spin: bool) -> anyhow::Result<()> {
        let mut tries = 0u32;
        let start = Instant::now();
        loop {
            match self.socket.read(self.connection.space(READ)) {
                Ok(0) => bail!("the server closed the connection"),
                Ok(n) => {
                    self.connection.filled(n);
                    self.received += n;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if spin && error.kind() == ErrorKind::WouldBlock => {
                    tries = tries.wrapping_add(1);
                    if tries.is_multiple_of(1024) && start.elapsed() > PATIENCE {
                        bail!("the server is silent");
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn call<S: Service>(&mut self, request: S) -> anyhow::Result<S::Response> {
        let mut request = request.into();
        let now = self.clock.now();
        request.header_mut().timestamp = now.utc.into();
        let encoded = request.encode(&mut Vec::new());
        encoded.map_err(|error| anyhow!("{error}"))?;
        self.connection.send(now.mono + PATIENCE, |out, number| {
            request.header_mut().request_handle = number;
            let encoded = request.encode(out);
            debug_assert!(encoded.is_ok());
        })?;
        self.flush()?;
        loop {
            if let Some(body) = self.next_response()? {
                let response = Response::decode(&body, &Default::default())?;
                return Ok(S::Response::try_from(response)?);
            }
            self.receive(false)?;
        }
    }
}
