//! A client of the other half of `wire`, over a real socket and with blocking calls.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use wire::certificate::Certificate;
use wire::channel::{Identity, Protection};
use wire::client::{Config, Connection, Event, RequestId};
use wire::policy::PrivateKey;
use wire::service::{Limits, Request, Response, Service};
use wire::session::client::{Config as SessionConfig, Session};
use wire::session::token::Credentials;
use wire::session::{Channel, Nonce};
use wire::types::{
    ApplicationDescription, AttributeId, BrowseDescription, BrowseDirection, BrowseRequest,
    ByteString, CreateSessionRequest, DataValue, NodeId, QualifiedName, ReadRequest, ReadValueId,
    ReferenceDescription, ReferenceTypeId, RequestHeader, StatusCode, TimestampsToReturn, UAString,
};
use wss::{Judge, Media, Rejected, TlsClient, Tunnel};

pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn random(bytes: &mut [u8]) {
    aws_lc_rs::rand::fill(bytes).unwrap();
}

pub fn nonce() -> Nonce {
    let mut nonce = Nonce::default();
    random(&mut nonce);
    nonce
}

/// Asks for a session as the application that is called `urn:test:client`.
pub fn session_of(own: &pki::Identity) -> CreateSessionRequest {
    CreateSessionRequest {
        client_description: ApplicationDescription {
            application_uri: "urn:test:client".into(),
            ..Default::default()
        },
        client_nonce: ByteString::from(&nonce()),
        client_certificate: ByteString::from(own.certificate.der()),
        ..Default::default()
    }
}

/// A certificate and its key, self-signed.
pub fn identity(uri: &str) -> pki::Identity {
    identity_with(uri, pki::KeyKind::Rsa(2048))
}

/// The same with a key of this kind.
pub fn identity_with(uri: &str, kind: pki::KeyKind) -> pki::Identity {
    let key = pki::Key::make(kind).unwrap();
    let request = pki::make::Request::application(uri)
        .dns("localhost")
        .days(30);
    let now = std::time::SystemTime::now().into();
    pki::Identity::new(request.self_signed(&key, now).unwrap(), key)
}

pub fn for_wire(own: &pki::Identity) -> Identity {
    Identity {
        certificate: Certificate::from_der(&own.sent()).unwrap(),
        key: PrivateKey::from_der(own.key.pkcs8()).unwrap(),
    }
}

#[derive(Debug)]
struct Anybody;

impl Judge for Anybody {
    fn judge(&self, _: &[u8]) -> Result<(), Rejected> {
        Ok(())
    }
}

fn tls() -> TlsClient {
    TlsClient::new(Arc::new(Anybody), true).unwrap()
}

/// A WebSocket to a server.
pub fn opened(address: SocketAddr) -> (TcpStream, Tunnel) {
    let host = ("localhost", address.port());
    let tunnel = Tunnel::connect(&tls(), host, "/", random).unwrap();
    shake_hands(address, tunnel)
}

/// TLS to a server, and nothing inside it yet.
pub fn bare(address: SocketAddr) -> (TcpStream, Tunnel) {
    let tunnel = Tunnel::bare(&tls(), "localhost").unwrap();
    shake_hands(address, tunnel)
}

/// TLS to a server, with HTTP around messages.
fn posting(address: SocketAddr, media: Media) -> (TcpStream, Tunnel) {
    let host = ("localhost", address.port());
    let tunnel = Tunnel::post(&tls(), host, "/", (1 << 24, media)).unwrap();
    shake_hands(address, tunnel)
}

/// The same with messages in JSON.
pub fn texting(address: SocketAddr) -> (TcpStream, Tunnel) {
    let host = ("localhost", address.port());
    let tunnel = Tunnel::connect_texts(&tls(), host, "/", 1 << 24, random).unwrap();
    shake_hands(address, tunnel)
}

fn shake_hands(address: SocketAddr, mut tunnel: Tunnel) -> (TcpStream, Tunnel) {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_nodelay(true).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    while !tunnel.is_open() {
        tunnel.flush(&mut socket).unwrap();
        match tunnel.read(&mut socket, &mut []) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => panic!("{error}"),
        }
    }
    tunnel.flush(&mut socket).unwrap();
    (socket, tunnel)
}

/// A socket, and what is around the chunks that go over it.
struct Socket {
    tcp: TcpStream,
    tunnel: Option<Tunnel>,
}

impl Socket {
    fn connect(url: &str) -> Option<Self> {
        if let Some(address) = url.strip_prefix("json+opc.wss://") {
            let (tcp, tunnel) = texting(address.parse().unwrap());
            let tunnel = Some(tunnel);
            return Some(Self { tcp, tunnel });
        }
        if let Some(address) = url.strip_prefix("json+opc.https://") {
            let (tcp, tunnel) = posting(address.parse().unwrap(), Media::UaJson);
            let tunnel = Some(tunnel);
            return Some(Self { tcp, tunnel });
        }
        if let Some(address) = url.strip_prefix("opc.wss://") {
            let (tcp, tunnel) = opened(address.parse().unwrap());
            let tunnel = Some(tunnel);
            return Some(Self { tcp, tunnel });
        }
        if let Some(address) = url.strip_prefix("opc.https://") {
            let (tcp, tunnel) = posting(address.parse().unwrap(), Media::Binary);
            let tunnel = Some(tunnel);
            return Some(Self { tcp, tunnel });
        }
        let tcp = TcpStream::connect(url.strip_prefix("opc.tcp://").unwrap()).ok()?;
        tcp.set_nodelay(true).unwrap();
        Some(Self { tcp, tunnel: None })
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> std::io::Result<()> {
        self.tcp.set_read_timeout(timeout)
    }
}

impl Read for Socket {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let Some(tunnel) = &mut self.tunnel else {
            return self.tcp.read(into);
        };
        loop {
            match tunnel.read(&mut self.tcp, into) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.tunnel {
            Some(tunnel) => tunnel.write(&mut self.tcp, bytes),
            None => self.tcp.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.tcp.flush()
    }
}

/// A connection whose channel is open.
pub struct Client {
    socket: Socket,
    pub connection: Connection,
    clock: plant::Clock,
    answers: Vec<(RequestId, Vec<u8>)>,
    /// Why the connection ended.
    pub closed: Option<wire::channel::ChannelError>,
    /// Responses to requests that were answered already.
    pub late: usize,
    /// Requests whose response was given up on its way.
    aborted: Vec<(RequestId, StatusCode)>,
    /// All bytes that came, if somebody wants to see them.
    pub came: Option<Vec<u8>>,
    /// How often the channel got a new token and new keys.
    pub renewals: usize,
    pub token: NodeId,
    pub url: String,
    own: Option<Identity>,
    server: Option<Certificate>,
}

impl Client {
    pub fn connect(
        url: &str,
        protection: Protection,
        own: Option<&pki::Identity>,
        server: Option<&pki::Identity>,
    ) -> Result<Self, wire::channel::ChannelError> {
        Self::connect_as(
            Config::new(url, Box::new(random)),
            url,
            protection,
            own,
            server,
        )
    }

    /// The same with limits of its own.
    pub fn connect_as(
        mut config: Config,
        url: &str,
        protection: Protection,
        own: Option<&pki::Identity>,
        server: Option<&pki::Identity>,
    ) -> Result<Self, wire::channel::ChannelError> {
        config.protection = protection;
        let shared = url.starts_with("opc.https://") || url.starts_with("json+");
        config.shared_channel = shared.then_some(wss::CHANNEL_ID);
        let own = own.map(for_wire);
        let server = server.map(|server| for_wire(server).certificate);
        if protection != Protection::NONE {
            config.identity.clone_from(&own);
            config.server.clone_from(&server);
        }
        let clock = plant::Clock::start();
        let Some(socket) = Socket::connect(url) else {
            return Err(wire::channel::ChannelError::Closed);
        };
        let mut client = Self {
            socket,
            connection: Connection::new(config, clock.now()),
            clock,
            answers: Vec::new(),
            closed: None,
            late: 0,
            aborted: Vec::new(),
            came: None,
            renewals: 0,
            token: NodeId::null(),
            url: url.to_owned(),
            own,
            server,
        };
        let deadline = Instant::now() + PATIENCE;
        while !client.connection.is_open() {
            client.step(deadline);
            if let Some(error) = client.closed {
                return Err(error);
            }
        }
        Ok(client)
    }

    /// Its port on this machine.
    #[cfg(target_os = "linux")]
    pub fn port(&self) -> u16 {
        self.socket.tcp.local_addr().unwrap().port()
    }

    /// Without protection, and anonymous.
    pub fn plain(url: &str) -> Self {
        let mut client = Self::connect(url, Protection::NONE, None, None).unwrap();
        client.log_in(&Credentials::Anonymous).unwrap();
        client
    }

    /// The same with these limits.
    pub fn taking(url: &str, limits: wire::frame::Limits) -> Self {
        let mut config = Config::new(url, Box::new(random));
        config.limits = limits;
        let mut client = Self::connect_as(config, url, Protection::NONE, None, None).unwrap();
        client.log_in(&Credentials::Anonymous).unwrap();
        client
    }

    /// Writes, waits for something and takes note of it.
    pub fn step(&mut self, deadline: Instant) {
        let now = self.clock.now();
        while let Some(job) = self.connection.poll_job() {
            self.connection.complete(job.run(), now);
        }
        self.flush();
        if !self.look() {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "the server is silent");
            self.socket.set_read_timeout(Some(left)).unwrap();
            let space = self.connection.space(65536);
            match self.socket.read(space) {
                Ok(0) => self.connection.lost("the socket ended"),
                Ok(n) => {
                    if let Some(came) = &mut self.came {
                        came.extend_from_slice(&space[..n]);
                    }
                    self.connection.filled(n);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.connection.lost("the socket broke"),
            }
            self.look();
        }
    }

    pub fn flush(&mut self) {
        while !self.connection.pending().is_empty() && self.closed.is_none() {
            match self.socket.write(self.connection.pending()) {
                Ok(n) => self.connection.wrote(n),
                Err(_) => break,
            }
        }
    }

    /// Writes all that waits but for the last bytes of it.
    pub fn flush_all_but(&mut self, rest: usize) {
        while let pending = self.connection.pending()
            && let Some(most @ 1..) = pending.len().checked_sub(rest)
        {
            let n = self.socket.write(&pending[..most]).unwrap();
            self.connection.wrote(n);
        }
    }

    /// Renews the channel and waits until that is done.
    pub fn renew(&mut self) {
        let (before, deadline) = (self.renewals, Instant::now() + PATIENCE);
        self.connection.renew(self.clock.now());
        while self.renewals == before {
            assert!(self.closed.is_none(), "{:?}", self.closed);
            self.step(deadline);
        }
    }

    /// Asks for new keys, which go along with what is sent next.
    pub fn begin_renewal(&mut self) {
        let now = self.clock.now();
        self.connection.renew(now);
        while let Some(job) = self.connection.poll_job() {
            self.connection.complete(job.run(), now);
        }
    }

    /// Tries to renew the channel, and tells why it ended.
    pub fn refused_renewal(&mut self) -> Option<wire::channel::ChannelError> {
        let (before, deadline) = (self.renewals, Instant::now() + PATIENCE);
        self.connection.renew(self.clock.now());
        while self.renewals == before && self.closed.is_none() {
            self.step(deadline);
        }
        self.closed.take()
    }

    fn look(&mut self) -> bool {
        let mut seen = false;
        while let Some(event) = self.connection.poll_event(self.clock.now()) {
            seen = true;
            match event {
                Event::Response { id, body } => self.answers.push((id, body.to_vec())),
                Event::Closed(error) => self.closed = Some(error),
                Event::Late { .. } => self.late += 1,
                Event::Aborted { id, error } => self.aborted.push((id, error.status)),
                Event::Opened { renewed: true, .. } => self.renewals += 1,
                _ => {}
            }
        }
        seen
    }

    /// What is below a node, and how.
    pub fn below(&mut self, node: &NodeId) -> Vec<ReferenceDescription> {
        let request = BrowseRequest {
            request_header: RequestHeader::default(),
            view: Default::default(),
            requested_max_references_per_node: 0,
            nodes_to_browse: Some(vec![BrowseDescription {
                node_id: node.clone(),
                browse_direction: BrowseDirection::Forward,
                reference_type_id: ReferenceTypeId::HierarchicalReferences.into(),
                include_subtypes: true,
                node_class_mask: 0,
                result_mask: 63,
            }]),
        };
        let result = self.call(request).unwrap().results.unwrap().remove(0);
        assert!(result.status_code.is_good(), "{:?}", result.status_code);
        result.references.unwrap_or_default()
    }

    /// Sends a request, not waiting for its answer.
    pub fn send(&mut self, request: impl Into<Request>) -> RequestId {
        let id = self.put(request);
        self.flush();
        id
    }

    /// A request that goes together with the next one.
    pub fn put(&mut self, request: impl Into<Request>) -> RequestId {
        let mut request = request.into();
        let token = self.token.clone();
        let deadline = self.clock.now().mono + PATIENCE;
        let sent = self.connection.send(deadline, |out, number| {
            let header = request.header_mut();
            if header.authentication_token.is_null() {
                header.authentication_token = token;
            }
            header.request_handle = number;
            request.encode(out).unwrap();
        });
        sent.unwrap()
    }

    /// Sends bytes as they are.
    pub fn send_raw(&mut self, body: &[u8]) -> RequestId {
        let deadline = self.clock.now().mono + PATIENCE;
        let sent = self
            .connection
            .send(deadline, |out, _| out.extend_from_slice(body));
        self.flush();
        sent.unwrap()
    }

    /// Sends the first bytes of a request, and never the others.
    pub fn send_part(&mut self, body: &[u8], mut bytes: usize) {
        let deadline = self.clock.now().mono + PATIENCE;
        let sent = self
            .connection
            .send(deadline, |out, _| out.extend_from_slice(body));
        sent.unwrap();
        while bytes > 0 {
            let pending = self.connection.pending();
            match self.socket.write(&pending[..bytes.min(pending.len())]) {
                Ok(n) => {
                    self.connection.wrote(n);
                    bytes -= n;
                }
                // It hung up.
                Err(_) => return,
            }
        }
    }

    /// Takes note of what has come already.
    pub fn look_now(&mut self) {
        let moment = Duration::from_millis(1);
        self.socket.set_read_timeout(Some(moment)).unwrap();
        let space = self.connection.space(65536);
        match self.socket.read(space) {
            Ok(n @ 1..) => self.connection.filled(n),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // What came before the end is looked at first.
            Ok(_) | Err(_) => {
                self.look();
                self.connection.lost("the socket ended");
            }
        }
        self.look();
    }

    /// Waits for the answer to a request.
    pub fn answer(&mut self, id: RequestId) -> Result<Response, StatusCode> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.answers.iter().position(|(got, _)| *got == id) {
                let (_, body) = self.answers.remove(at);
                let response = Response::decode(&body, &Limits::default()).unwrap();
                assert_eq!(response.header().request_handle, id.number());
                return match response {
                    Response::Fault(fault) => Err(fault.response_header.service_result),
                    response => Ok(response),
                };
            }
            if self.closed.is_some() {
                return Err(StatusCode::BadConnectionClosed);
            }
            self.step(deadline);
        }
    }

    /// The status of a request that fails, with a fault or on the way of its response.
    pub fn failed(&mut self, id: RequestId) -> StatusCode {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some((_, status)) = self.aborted.iter().find(|(aborted, _)| *aborted == id) {
                return *status;
            }
            if self.has(id) {
                return self.answer(id).unwrap_err();
            }
            self.step(deadline);
        }
    }

    /// Takes what has come already, and tells whether an answer has.
    pub fn has_by_now(&mut self, id: RequestId) -> bool {
        let moment = Duration::from_micros(100);
        self.socket.set_read_timeout(Some(moment)).unwrap();
        let space = self.connection.space(65536);
        if let Ok(n) = self.socket.read(space) {
            self.connection.filled(n);
            self.look();
        }
        self.has(id)
    }

    /// Whether an answer has come.
    pub fn has(&self, id: RequestId) -> bool {
        self.answers.iter().any(|(got, _)| *got == id)
    }

    /// Waits for the answer that comes first, and tells which.
    pub fn any(&mut self, ids: &[RequestId]) -> (usize, Result<Response, StatusCode>) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut came = self.answers.iter().map(|(got, _)| *got);
            let first = came.find_map(|got| ids.iter().position(|id| *id == got));
            if let Some(at) = first {
                return (at, self.answer(ids[at]));
            }
            self.step(deadline);
        }
    }

    /// Waits for the answer to a request and gives it as it is.
    pub fn raw_answer(&mut self, id: RequestId) -> Vec<u8> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.answers.iter().position(|(got, _)| *got == id) {
                return self.answers.remove(at).1;
            }
            self.step(deadline);
        }
    }

    /// The status of a ServiceFault whose handle does not matter.
    pub fn answer_raw(&mut self, id: RequestId) -> StatusCode {
        let deadline = Instant::now() + PATIENCE;
        while !self.answers.iter().any(|(got, _)| *got == id) {
            self.step(deadline);
        }
        let body = self.answers.pop().unwrap().1;
        let response = Response::decode(&body, &Limits::default()).unwrap();
        response.header().service_result
    }

    pub fn call<S: Service>(&mut self, request: S) -> Result<S::Response, StatusCode> {
        let id = self.send(request);
        let response = self.answer(id)?;
        S::Response::try_from(response).map_err(|error| error.status())
    }

    pub fn channel(&self) -> Channel {
        let protection = self.connection.protection();
        Channel {
            id: self.connection.channel_id(),
            protection,
            peer: match protection {
                Protection::NONE => None,
                _ => self.server.clone(),
            },
        }
    }

    /// Creates a session.
    pub fn create(&mut self) -> Result<Session, StatusCode> {
        self.create_taking(0)
    }

    /// The same with responses of at most so many bytes.
    pub fn create_taking(&mut self, most: u32) -> Result<Session, StatusCode> {
        let uri = self.own.as_ref();
        let uri = uri.and_then(|own| own.certificate.application_uri());
        let application = ApplicationDescription {
            application_uri: uri.unwrap_or("urn:test").into(),
            ..Default::default()
        };
        let json = self.url.strip_prefix("json+");
        let mut config = SessionConfig {
            identity: self.own.clone(),
            max_response_message_size: most,
            ..SessionConfig::new(application, json.unwrap_or(&self.url))
        };
        let url = json.and_then(|url| url.parse::<wire::url::Url>().ok());
        if let Some(profile) = url.and_then(|url| url.transport().json_profile()) {
            config.profile = profile;
        }
        let mut session = Session::new(config, self.channel());
        if let Some(server) = &self.server {
            session.trust(server.clone());
        }
        let request = session.create_request(nonce(), self.clock.now());
        let response = self.call(request)?;
        let verified = session.created(response).unwrap().run();
        session.verified(verified).unwrap();
        Ok(session)
    }

    /// Activates a session, made here or over another connection.
    pub fn activate(
        &mut self,
        session: &mut Session,
        user: &Credentials,
    ) -> Result<(), StatusCode> {
        let request = self.activation(session, user);
        let response = self.call(request)?;
        session.activated(response).unwrap();
        self.token = session.authentication_token();
        Ok(())
    }

    /// The request for it.
    pub fn activation(
        &mut self,
        session: &mut Session,
        user: &Credentials,
    ) -> wire::types::ActivateSessionRequest {
        let job = session.activate(user, None, self.clock.now());
        job.expect("the user's token is offered").run().unwrap()
    }

    /// Both.
    pub fn log_in(&mut self, user: &Credentials) -> Result<Session, StatusCode> {
        let mut session = self.create()?;
        self.activate(&mut session, user)?;
        Ok(session)
    }

    /// Values, with no timestamps.
    pub fn read(&mut self, nodes: &[NodeId]) -> Vec<DataValue> {
        let nodes = nodes.iter().cloned();
        let nodes = nodes.map(|node| read_value(node, AttributeId::Value, ""));
        self.read_any(nodes.collect(), TimestampsToReturn::Neither)
            .unwrap()
    }

    pub fn read_any(
        &mut self,
        nodes: Vec<ReadValueId>,
        timestamps_to_return: TimestampsToReturn,
    ) -> Result<Vec<DataValue>, StatusCode> {
        let response = self.call(ReadRequest {
            request_header: RequestHeader::default(),
            max_age: 0.0,
            timestamps_to_return,
            nodes_to_read: Some(nodes),
        })?;
        Ok(response.results.unwrap_or_default())
    }
}

pub fn read_value(node_id: NodeId, attribute: AttributeId, range: &str) -> ReadValueId {
    ReadValueId {
        node_id,
        attribute_id: attribute as u32,
        index_range: range.parse().unwrap(),
        data_encoding: QualifiedName::new(0, UAString::null()),
    }
}
