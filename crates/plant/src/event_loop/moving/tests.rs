//! A connection over TLS is led to the loop of its session, and all that is on it goes along. Time stands unless it is put
//! forward, and helpers do nothing unless they are told to: what is under way stays so.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use capture::Recording;
use capture::reader::Captures;
use mio::Events;
use wire::budget::STEP;
use wire::certificate::Certificate;
use wire::channel::{Identity, Protection};
use wire::client::{Config as ClientConfig, Connection, Event, RequestId};
use wire::policy::{Mode, Policy, PrivateKey};
use wire::service::{Limits, Request, Response};
use wire::types::{
    ApplicationDescription, AttributeId, ByteString, CreateSessionRequest, CreateSessionResponse,
    FindServersRequest, GetEndpointsRequest, Identifier, StatusCode, Variant, WriteRequest,
    WriteValue,
};
use wss::{Judge, Rejected, TlsClient, TlsServer, Tunnel};

use crate::advertise::TlsPorts;
use crate::clock::Clock;
use crate::config::Config;
use crate::event_loop::between_loops::{MovedConnection, Secured};
use crate::event_loop::link::Link;
use crate::event_loop::{EventLoop, Mail};
use crate::pool::Pool;
use crate::profile::Profile;
use crate::server::{offer, share};
use crate::shared::{Shared, random};

/// Some day in 2026, in ticks of 100 ns since 1601.
const BEGIN: i64 = 134_116_992_000_000_000;
/// So many turns are enough for anything.
const TURNS: usize = 20_000;
const HOUR: Duration = Duration::from_secs(3600);
const TEXTS: usize = 1 << 24;

#[derive(Debug)]
struct Anybody;

impl Judge for Anybody {
    fn judge(&self, _: &[u8]) -> Result<(), Rejected> {
        Ok(())
    }
}

fn identity(uri: &str) -> pki::Identity {
    let key = pki::Key::make(pki::KeyKind::Rsa(2048)).unwrap();
    let request = pki::make::Request::application(uri).dns("localhost");
    let now = SystemTime::now().into();
    pki::Identity::new(request.days(30).self_signed(&key, now).unwrap(), key)
}

fn for_wire(own: &pki::Identity) -> Identity {
    Identity {
        certificate: Certificate::from_der(&own.sent()).unwrap(),
        key: PrivateKey::from_der(own.key.pkcs8()).unwrap(),
    }
}

fn session_of(own: Option<&pki::Identity>) -> CreateSessionRequest {
    let certificate = own.map_or(ByteString::null(), |own| own.certificate.der().into());
    CreateSessionRequest {
        client_description: ApplicationDescription {
            application_uri: "urn:test:client".into(),
            ..Default::default()
        },
        client_nonce: [7; 32].as_slice().into(),
        client_certificate: certificate,
        ..Default::default()
    }
}

/// A request of more bytes than TLS puts into a record.
fn long() -> GetEndpointsRequest {
    GetEndpointsRequest {
        profile_uris: Some(vec!["?".repeat(20_000).into()]),
        ..Default::default()
    }
}

/// How a client comes.
#[derive(Default)]
struct Comes<'a> {
    /// With a certificate, and a channel that signs and encrypts.
    own: Option<&'a pki::Identity>,
    /// Messages are JSON.
    texts: bool,
}

/// An acceptor, the loop that it leads to, and a client of both.
struct Bench {
    shared: Arc<Shared>,
    pool: Pool,
    acceptor: EventLoop,
    home: EventLoop,
    socket: TcpStream,
    tunnel: Tunnel,
    client: Connection,
    answers: Vec<(RequestId, Vec<u8>)>,
    closed: bool,
    renewals: usize,
    /// What TLS has sealed and its client does not send yet.
    kept_back: Vec<u8>,
    /// Whether the client takes what comes.
    hears: bool,
    /// All that went and came inside of TLS.
    said: Vec<u8>,
    heard: Vec<u8>,
}

fn take_turn(event_loop: &mut EventLoop) {
    let mut events = Events::with_capacity(64);
    let poll = &mut event_loop.responder.connections.poll;
    poll.poll(&mut events, Some(Duration::ZERO)).unwrap();
    event_loop.take_turn(&events);
}

/// Both ends of a connection over TLS, once chunks may be sent over it.
fn shake_hands((client, server): (&mut Tunnel, &mut Tunnel)) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let own = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (accepted, _) = listener.accept().unwrap();
    let mut ends = [(own, client), (accepted, server)];
    for (socket, _) in &ends {
        socket.set_nonblocking(true).unwrap();
        socket.set_nodelay(true).unwrap();
    }
    for _ in 0..TURNS {
        if ends.iter().all(|(_, tunnel)| tunnel.is_open()) {
            let [(own, _), (accepted, _)] = ends;
            return (own, accepted);
        }
        for (socket, tunnel) in &mut ends {
            tunnel.flush(socket).unwrap();
            match tunnel.read(socket, &mut []) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => assert!(read.is_ok(), "{read:?}"),
            }
            tunnel.flush(socket).unwrap();
        }
        std::thread::yield_now();
    }
    panic!("no hands are shaken")
}

impl Bench {
    fn new(config: Config, comes: Comes<'_>) -> Self {
        let servers = identity("urn:test:server");
        let chain = vec![servers.certificate.der().to_vec()];
        let tls = TlsServer::new(chain, servers.key.pkcs8(), true).unwrap();
        let certificate = for_wire(&servers).certificate;
        let mut config = Config {
            profiles: vec![Profile::Bench { update: None }],
            identity: Some(servers),
            ..config
        };
        let identities = offer(&mut config).unwrap();
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = mio::net::TcpListener::bind(anywhere).unwrap();
        let ports = (listener.local_addr().unwrap(), TlsPorts::default());
        let clock = Clock::by_hand(BEGIN);
        let (shared, _) = share(config, 2, identities, ports, clock).unwrap();
        let pool = Pool::without_threads();
        let event_loop = |index| EventLoop::new(index, Arc::clone(&shared), pool.clone()).unwrap();
        let mut both = [0, 1].map(event_loop);
        let posts: Vec<_> = both.iter().map(EventLoop::post).collect();
        both.iter_mut().for_each(|it| it.know(posts.clone()));
        let [home, mut acceptor] = both;
        acceptor.accept(listener).unwrap();

        let trusting = TlsClient::new(Arc::new(Anybody), true).unwrap();
        let there = ("localhost", 4840);
        let tunnel = match comes.texts {
            true => Tunnel::connect_texts(&trusting, there, "/", TEXTS, random),
            false => Tunnel::connect(&trusting, there, "/", random),
        };
        let (mut tunnel, texts) = (tunnel.unwrap(), comes.texts.then_some(TEXTS));
        let mut accepted = Tunnel::accept(&tls, texts).unwrap();
        let (socket, other) = shake_hands((&mut tunnel, &mut accepted));
        acceptor.post().send(Mail::Secured(Box::new(Secured {
            socket: mio::net::TcpStream::from_std(other),
            tunnel: accepted,
        })));

        let mut config = ClientConfig::new("opc.wss://localhost:4840", Box::new(random));
        config.shared_channel = comes.texts.then_some(wss::CHANNEL_ID);
        config.lifetime = HOUR;
        if let Some(own) = comes.own {
            config.protection = Protection {
                policy: Policy::Basic256Sha256,
                mode: Mode::SignAndEncrypt,
            };
            config.identity = Some(for_wire(own));
            config.server = Some(certificate);
        }
        let mut bench = Self {
            client: Connection::new(config, shared.clock.now()),
            shared,
            pool,
            acceptor,
            home,
            socket,
            tunnel,
            answers: Vec::new(),
            closed: false,
            renewals: 0,
            kept_back: Vec::new(),
            hears: true,
            said: Vec::new(),
            heard: Vec::new(),
        };
        bench.until("a channel", |bench| bench.client.is_open());
        bench
    }

    /// Takes turns until this is so.
    fn until(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        for _ in 0..TURNS {
            if done(self) {
                return;
            }
            while let Some(job) = self.client.poll_job() {
                self.client.complete(job.run(), self.shared.clock.now());
            }
            if self.kept_back.is_empty() {
                self.say_all_but(0);
            }
            take_turn(&mut self.acceptor);
            take_turn(&mut self.home);
            self.pool.do_one();
            if self.hears {
                self.hear();
            }
            std::thread::yield_now();
        }
        panic!("never: {what}");
    }

    /// A request that goes together with what follows.
    fn put(&mut self, request: impl Into<Request>) -> RequestId {
        let mut request = request.into();
        let deadline = self.shared.clock.now().mono + 24 * HOUR;
        let sent = self.client.send(deadline, |out, number| {
            request.header_mut().request_handle = number;
            request.encode(out).unwrap();
        });
        sent.unwrap()
    }

    /// Asks for new keys, with what is sent next.
    fn begin_renewal(&mut self) {
        let now = self.shared.clock.now();
        self.client.renew(now);
        while let Some(job) = self.client.poll_job() {
            self.client.complete(job.run(), now);
        }
    }

    /// Writes all that there is to say, but for the last bytes of what TLS makes of it.
    fn say_all_but(&mut self, rest: usize) {
        let pending = self.client.pending();
        let count = pending.len();
        self.said.extend_from_slice(pending);
        self.tunnel.send(pending).unwrap();
        self.client.wrote(count);
        let sealed = self.tunnel.pending();
        let count = sealed.len();
        self.kept_back.extend_from_slice(sealed);
        self.tunnel.wrote(count);
        self.say_more_but(rest);
    }

    /// Goes on to.
    fn say_more_but(&mut self, rest: usize) {
        let count = self.kept_back.len().saturating_sub(rest);
        let sealed: Vec<u8> = self.kept_back.drain(..count).collect();
        // So little has room in a socket in any case.
        self.socket.write_all(&sealed).unwrap();
    }

    /// Takes what came.
    fn hear(&mut self) {
        let mut into = vec![0; 65_536];
        loop {
            match self.tunnel.read(&mut self.socket, &mut into) {
                Ok(0) => self.closed = true,
                Ok(count) => {
                    let came = into.get(..count).unwrap();
                    self.heard.extend_from_slice(came);
                    self.client.receive(came);
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => self.closed = true,
            }
            break;
        }
        while let Some(event) = self.client.poll_event(self.shared.clock.now()) {
            match event {
                Event::Response { id, body } => self.answers.push((id, body.to_vec())),
                Event::Closed(_) => self.closed = true,
                Event::Opened { renewed: true, .. } => self.renewals += 1,
                _ => {}
            }
        }
    }

    fn has(&self, id: RequestId) -> bool {
        self.answers.iter().any(|(of, _)| *of == id)
    }

    /// The answer to a request, of which there is one.
    fn answer(&mut self, id: RequestId) -> Response {
        self.until("an answer", |bench| bench.has(id));
        let found = self.answers.iter().filter(|(of, _)| *of == id);
        let bodies: Vec<_> = found.map(|(_, body)| body.clone()).collect();
        assert_eq!(bodies.len(), 1, "it is answered once");
        Response::decode(&bodies[0], &Limits::default()).unwrap()
    }

    /// The session that was made lives in the loop that it was led to.
    fn is_at_home(&mut self, create: RequestId) {
        let made: CreateSessionResponse = self.answer(create).try_into().unwrap();
        let Identifier::ByteString(token) = &made.authentication_token.identifier else {
            panic!("no token");
        };
        assert_eq!(token.as_ref()[0], 0);
    }

    /// The acceptor has turns until the connection is on its way, and is taken out of the mail.
    fn led(&mut self) -> Box<MovedConnection> {
        for _ in 0..TURNS {
            if let Some(mail) = self.home.loops.next_mail() {
                let Mail::Led(led) = mail else {
                    panic!("other mail");
                };
                return led;
            }
            take_turn(&mut self.acceptor);
            std::thread::yield_now();
        }
        panic!("it stays")
    }

    fn deliver(&self, led: Box<MovedConnection>) {
        assert!(the_link(&self.acceptor).is_none(), "it is gone there");
        self.home.post().send(Mail::Led(led));
    }

    fn held(&self) -> usize {
        self.shared.config.memory.held()
    }

    fn pass(&self, time: Duration) {
        let clock = &self.shared.clock;
        clock.pass(clock.now().mono + time);
    }

    /// Nobody is there any more, and has no memory.
    fn ends(mut self) {
        self.socket.shutdown(std::net::Shutdown::Both).unwrap();
        self.hears = false;
        self.kept_back.push(0);
        self.until("the end", |bench| the_link(&bench.home).is_none());
        self.pass(2 * HOUR);
        self.until("the end of sessions", |bench| bench.home.has() == (0, 0, 0));
        assert_eq!(self.shared.counters.read().connections, 0);
        assert_eq!(self.held(), 0);
    }
}

/// The connection, if it is there.
fn the_link(event_loop: &EventLoop) -> Option<&Link> {
    let id = event_loop
        .responder
        .connections
        .links
        .ids()
        .first()
        .copied()?;
    event_loop.responder.connections.links.get(id)
}

/// The payloads of a capture by who sent them: the client's and the server's.
fn recorded(file: &Path, client: u16) -> [Vec<u8>; 2] {
    let mut captures = Captures::begin(File::open(file).unwrap()).unwrap();
    let (mut both, mut packet) = ([Vec::new(), Vec::new()], Vec::new());
    while captures.next(&mut packet).unwrap().is_some() {
        // The header of IPv4 has twenty bytes; that of TCP says how many words it has.
        let header = 20 + 4 * usize::from(packet[32] >> 4);
        let sender = u16::from_be_bytes(packet[20..22].try_into().unwrap());
        both[usize::from(sender != client)].extend_from_slice(&packet[header..]);
    }
    both
}

#[test]
fn what_is_on_its_way_over_tls_goes_along() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name| File::create(folder.path().join(name)).unwrap();
    let recording = Recording::start(file("capture"), file("keys"), u64::MAX).unwrap();
    let config = Config {
        recorder: Some(recording.recorder().clone()),
        faults: vec!["delay=500ms,on=find_servers".parse().unwrap()],
        ..Config::default()
    };
    let mine = identity("urn:test:client");
    let (own, texts) = (Some(&mine), false);
    let mut bench = Bench::new(config, Comes { own, texts });
    let port = bench.socket.local_addr().unwrap().port();

    // More answers than the socket takes: some are sealed by TLS, and some are not.
    bench.hears = false;
    let mut asked = Vec::new();
    while the_link(&bench.acceptor).is_some_and(|link| link.connection.pending().is_empty()) {
        assert!(asked.len() < 500, "who does not read has room");
        asked.push(bench.put(GetEndpointsRequest::default()));
        bench.say_all_but(0);
        (0..8).for_each(|_| take_turn(&mut bench.acceptor));
    }
    // An answer that a fault holds back.
    let held_back = bench.put(FindServersRequest::default());
    // A step of its channel at which a helper is.
    bench.begin_renewal();
    // What leads it away, what came with that, and the first bytes of one more.
    let create = bench.put(session_of(own));
    asked.push(bench.put(GetEndpointsRequest::default()));
    let behind = bench.put(session_of(own));
    bench.say_all_but(0);
    let part = bench.put(long());
    bench.say_all_but(300);
    for _ in 0..TURNS {
        take_turn(&mut bench.acceptor);
        if the_link(&bench.acceptor).unwrap().here.leaving.is_some() {
            break;
        }
    }
    let held = bench.held();
    // Helpers are done, and more has come that nobody looked at.
    assert!(bench.pool.do_one(), "the request for new keys is read");
    (0..8).for_each(|_| take_turn(&mut bench.acceptor));
    assert!(bench.pool.do_one(), "its answer is signed");
    assert!(bench.acceptor.read_mail());
    bench.say_more_but(100);
    let led = bench.led();
    let link = &led.link;
    assert!(link.connection.unread() > 0, "what came behind");
    assert!(!link.connection.pending().is_empty(), "what is not sealed");
    assert!(link.disturbed.is_some(), "what is held back");
    assert!(link.here.waiting.is_some(), "what was not looked at");
    assert!(bench.held() >= held, "memory");
    bench.deliver(led);

    take_turn(&mut bench.home);
    take_turn(&mut bench.home);
    let link = the_link(&bench.home).unwrap();
    let waits = link.backlog() + link.connection.unread();
    assert!(bench.held() + 2 * STEP > waits, "{waits}");
    // It is taken now, and the rest is said.
    bench.hears = true;
    for id in asked {
        assert!(matches!(bench.answer(id), Response::GetEndpoints(_)));
    }
    bench.is_at_home(create);
    bench.is_at_home(behind);
    assert!(!bench.has(part) && !bench.has(held_back));
    bench.say_more_but(0);
    assert!(matches!(bench.answer(part), Response::GetEndpoints(_)));
    assert!(!bench.has(held_back), "it is not time yet");
    bench.pass(Duration::from_millis(500));
    assert!(matches!(
        bench.answer(held_back),
        Response::FindServers(found) if found.servers.is_some()
    ));
    assert_eq!(bench.renewals, 1);
    let (said, heard) = (bench.said.clone(), bench.heard.clone());
    bench.ends();
    assert_eq!(recording.finish().missed, 0);
    let recorded = recorded(&folder.path().join("capture"), port);
    for (recorded, went) in recorded.iter().zip([said, heard]) {
        let lengths = (recorded.len(), went.len());
        assert!(*recorded == went, "all that went is recorded: {lengths:?}");
    }
}

#[test]
fn what_tls_has_decrypted_and_nobody_has_read_goes_along() {
    let (own, texts) = (None, true);
    let mut bench = Bench::new(Config::default(), Comes { own, texts });
    let create = bench.put(session_of(None));
    // Numbers are longer in binary than in JSON: so there is more than a read has room for.
    let write = bench.put(WriteRequest {
        nodes_to_write: Some(vec![WriteValue {
            attribute_id: AttributeId::Value as u32,
            value: Variant::from(vec![0.0; 12_000]).into(),
            ..Default::default()
        }]),
        ..Default::default()
    });
    let behind = bench.put(session_of(None));
    bench.say_all_but(0);
    bench.acceptor.responder.connections.loop_memory.inbox = vec![0; 65_536];
    let led = bench.led();
    assert!(led.link.socket.has_waiting());
    bench.deliver(led);
    bench.is_at_home(create);
    let refused = bench.answer(write);
    let status = refused.header().service_result;
    assert_eq!(status, StatusCode::BadSessionIdInvalid);
    bench.is_at_home(behind);
    bench.ends();
}

#[test]
fn what_is_due_for_it_is_due_where_it_went() {
    // The rest of a message, and new keys.
    for (part, time) in [(true, Duration::from_secs(61)), (false, 2 * HOUR)] {
        let mut bench = Bench::new(Config::default(), Comes::default());
        let create = bench.put(session_of(None));
        bench.say_all_but(0);
        if part {
            bench.put(long());
            bench.say_all_but(20);
        }
        let led = bench.led();
        assert!(led.link.here.timer.is_some());
        bench.deliver(led);
        bench.is_at_home(create);
        bench.pass(time / 2);
        // What comes is nothing that ends it.
        for _ in 0..8 {
            take_turn(&mut bench.home);
            bench.hear();
        }
        assert!(!bench.closed && the_link(&bench.home).is_some());
        // Nothing comes: the loop is woken by its timers alone.
        assert!(bench.home.wakes().is_some());
        bench.pass(time);
        bench.kept_back.push(0);
        bench.until("the end", |bench| bench.closed);
        assert!(the_link(&bench.home).is_none());
        assert_eq!(bench.held(), 0);
    }
}
