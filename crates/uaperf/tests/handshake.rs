//! What is simulated of connecting, held against what went over a socket.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use link::Spec;
use load::access::{Access, Credentials, Security, TrustRule, identity};
use load::transport::Steps;
use plant::{Config, PasswordHash, Server, Users};
use simulate::protocol::{self, Costs, Envelope, Inside, ProtocolStep, Scene, Side, Tls};
use wire::channel::Protection;
use wire::types::{
    ApplicationDescription, ApplicationType, DataValue, NodeId, TimestampsToReturn, VariableId,
    Variant,
};
use wire::url::{Transport, Url};

/// A chunk: who sent it, its kind, its bytes.
type Chunk = (Side, [u8; 3], usize);

/// Chunks with the number of their connection: the end of one may be noted when the next has begun.
type Seen = Arc<Mutex<Vec<(usize, Chunk)>>>;

/// Stands between clients and a server; has the bytes of each side of each connection carried on a thread.
fn between(
    server: &str,
    carry: impl Fn((usize, Side), TcpStream, TcpStream) + Clone + Send + 'static,
) -> SocketAddr {
    let url: Url = server.parse().unwrap();
    let to = (url.host().to_owned(), url.port());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (number, client) in listener.incoming().enumerate() {
            let client = client.unwrap();
            let server = TcpStream::connect((to.0.as_str(), to.1)).unwrap();
            let (from, into) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            for (side, from, to) in [(Side::Client, from, into), (Side::Server, server, client)] {
                let carry = carry.clone();
                thread::spawn(move || carry((number, side), from, to));
            }
        }
    });
    address
}

/// Notes each chunk.
struct Tap {
    address: SocketAddr,
    seen: Seen,
}

impl Tap {
    fn before(server: &str) -> Self {
        let seen = Seen::default();
        let into = Arc::clone(&seen);
        let carry = move |connection, from, to| carry(connection, from, to, &into);
        let address = between(server, carry);
        Self { address, seen }
    }
}

fn carry((number, side): (usize, Side), mut from: TcpStream, mut to: TcpStream, seen: &Seen) {
    let mut head = [0; 8];
    while from.read_exact(&mut head).is_ok() {
        let size = u32::from_le_bytes(head[4..].try_into().unwrap()) as usize;
        let mut rest = vec![0; size - 8];
        from.read_exact(&mut rest).unwrap();
        // Noted before the other end can answer.
        let kind = [head[0], head[1], head[2]];
        seen.lock().unwrap().push((number, (side, kind, size)));
        if to.write_all(&[&head[..], &rest].concat()).is_err() {
            return;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

/// Counts bytes: up, down, and ways of connections that have ended.
#[derive(Default)]
struct Counted {
    up: AtomicU64,
    down: AtomicU64,
    ended: AtomicU64,
}

impl Counted {
    fn before(server: &str) -> (SocketAddr, Arc<Self>) {
        let counted = Arc::new(Self::default());
        let all = Arc::clone(&counted);
        let carry = move |(_, side), from, to| match side {
            Side::Client => all.carry(from, to, &all.up),
            Side::Server => all.carry(from, to, &all.down),
        };
        (between(server, carry), counted)
    }

    fn carry(&self, mut from: TcpStream, mut to: TcpStream, way: &AtomicU64) {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            way.fetch_add(count as u64, Ordering::SeqCst);
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Write);
        self.ended.fetch_add(1, Ordering::SeqCst);
    }
}

const PASSWORD: &str = "password";

struct Case {
    folder: tempfile::TempDir,
    server: Server,
    identity: pki::Identity,
    users: Users,
    tap: Tap,
}

impl Case {
    /// With a server that takes clients over one transport beside opc.tcp.
    fn new(over: Transport) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = pki::Store::new(folder.path().join("server"));
        let request = pki::make::Request::application("urn:uaperf:plant");
        let identity = store
            .own(&request, pki::KeyKind::Rsa(2048), SystemTime::now().into())
            .unwrap();
        let mut users = Users::default();
        users.passwords.push((
            "operator".to_owned(),
            PasswordHash::new(PASSWORD.as_bytes(), [0; 16], NonZeroU32::MIN),
        ));
        let server = Server::start(Config {
            identity: Some(identity.clone()),
            users: users.clone(),
            wss: (over == Transport::Wss).then_some(0),
            https: (over == Transport::Https).then_some(0),
            ..Config::default()
        })
        .unwrap();
        let tap = Tap::before(server.url());
        Self {
            folder,
            server,
            identity,
            users,
            tap,
        }
    }

    fn access(&self, security: &str, user: &Credentials) -> Access {
        let url = format!("opc.tcp://{}", self.tap.address);
        self.access_to(&url, security, user)
    }

    fn access_to(&self, url: &str, security: &str, user: &Credentials) -> Access {
        Access {
            security: security.parse::<Security>().unwrap(),
            trust: TrustRule::Everyone,
            user: user.clone(),
            plain_password: true,
            ..Access::new(
                url.parse().unwrap(),
                pki::Store::new(self.folder.path().join("client")),
                pki::make::Request::application("urn:test:uaperf"),
            )
        }
    }

    /// What goes over the sockets.
    fn real(&self, access: &Access) -> Vec<Chunk> {
        let opening = access.discover().unwrap();
        let mut session = access.open(&opening, &mut Steps::new()).unwrap();
        session.read_state().unwrap();
        session.close(&mut Steps::new()).unwrap();
        let ends = |seen: &[(usize, Chunk)]| {
            let closed = seen.iter().filter(|(_, it)| it.1 == *b"CLO");
            closed.count() == 2
        };
        for _ in 0..1000 {
            if ends(&self.tap.seen.lock().unwrap()) {
                let mut seen = std::mem::take(&mut *self.tap.seen.lock().unwrap());
                seen.sort_by_key(|(number, _)| *number);
                return seen.into_iter().map(|(_, chunk)| chunk).collect();
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("the client did not end its channels");
    }

    fn tls(&self, url: &Url) -> Option<Tls> {
        let inside = match url.transport() {
            Transport::Tcp => return None,
            Transport::Wss => Inside::WebSocket,
            Transport::Https => Inside::Http(16 << 20),
        };
        let host = (url.host().to_owned(), url.port());
        let chain = self.identity.certificate.der().to_vec();
        Some(Tls::new(inside, host, &chain, self.identity.key.pkcs8()).unwrap())
    }

    /// The same in virtual time.
    fn scene(&self, access: &Access, link: &str) -> Scene {
        let own = access
            .store
            .own(&access.own, pki::KeyKind::Rsa(2048), access.today())
            .unwrap();
        let server = identity(&self.identity).unwrap();
        let config = Config {
            users: self.users.clone(),
            ..Config::default()
        };
        let tls_url = self.server.wss_url().or_else(|| self.server.https_url());
        let endpoints = plant::endpoints_at(
            &config,
            self.server.url(),
            tls_url,
            &Some(server.clone()).into(),
        );
        let Security::Exactly(protection) = access.security else {
            panic!("a policy is named");
        };
        Scene {
            link: link.parse::<Spec>().unwrap(),
            seed: 7,
            client: Arc::new(protocol::Client {
                url: access.url.to_string(),
                application: ApplicationDescription {
                    application_uri: "urn:test:uaperf".into(),
                    application_name: "uaperf".into(),
                    product_uri: "urn:uaperf".into(),
                    application_type: ApplicationType::Client,
                    ..Default::default()
                },
                session_name: "uaperf".to_owned(),
                protection,
                identity: Some(identity(&own).unwrap()).filter(|_| protection != Protection::NONE),
                user: access.user.clone(),
                discovers: true,
                reads: protocol::Reads {
                    count: 1,
                    nodes: vec![NodeId::from(VariableId::Server_ServerStatus_State)],
                    timestamps: TimestampsToReturn::Neither,
                    value: DataValue {
                        value: Some(Variant::from(0i32)),
                        ..DataValue::null()
                    },
                },
                timeout: Duration::from_secs(10),
            }),
            server: Arc::new(protocol::Server {
                session: Arc::new(wire::session::server::Config::new(Some(server), endpoints)),
                protections: config.protections,
                cores: 1,
            }),
            client_costs: Costs::default(),
            server_costs: Costs::default(),
            envelope: Envelope::default(),
            tls: self.tls(&access.url),
        }
    }
}

#[test]
fn the_simulated_handshake_is_the_real_one_message_for_message() {
    let case = Case::new(Transport::Tcp);
    let named = Credentials::UserName {
        name: "operator".to_owned(),
        password: PASSWORD.to_owned().into(),
    };
    for (security, user) in [
        ("none", Credentials::Anonymous),
        ("none", named.clone()),
        ("Basic256Sha256:Sign", Credentials::Anonymous),
        ("Basic256Sha256:SignAndEncrypt", named),
        (
            "Aes256_Sha256_RsaPss:SignAndEncrypt",
            Credentials::Anonymous,
        ),
    ] {
        let access = case.access(security, &user);
        let real = case.real(&access);
        let course = case.scene(&access, "2Mbit/s,delay=5ms").session(0);
        assert_eq!(course.failed, None, "{security}");
        let simulated: Vec<Chunk> = course
            .messages
            .iter()
            .map(|it| (it.from, it.kind, it.bytes))
            .collect();
        assert_eq!(simulated, real, "{security}");
        // HEL, ACK, OPN twice, GetEndpoints, CLO; then CreateSession, ActivateSession, Read and CloseSession.
        assert_eq!(real.len(), 7 + 13, "{security}");
    }
}

#[test]
fn inside_tls_as_many_bytes_go_over_the_line_as_over_a_socket() {
    for (over, security) in [
        (Transport::Wss, "none"),
        (Transport::Wss, "Basic256Sha256:SignAndEncrypt"),
        (Transport::Https, "none"),
    ] {
        let case = Case::new(over);
        let url = case.server.wss_url().or_else(|| case.server.https_url());
        let (address, counted) = Counted::before(url.unwrap());
        let url = format!("{}://{address}", over.scheme());
        let access = case.access_to(&url, security, &Credentials::Anonymous);
        let opening = access.discover().unwrap();
        let mut session = access.open(&opening, &mut Steps::new()).unwrap();
        session.read_state().unwrap();
        session.close(&mut Steps::new()).unwrap();
        let until = Instant::now() + Duration::from_secs(30);
        while counted.ended.load(Ordering::SeqCst) < 4 {
            assert!(Instant::now() < until, "connections do not end");
            thread::sleep(Duration::from_millis(10));
        }
        let real = [&counted.up, &counted.down].map(|it| it.load(Ordering::SeqCst));

        let scene = case.scene(&access, "2Mbit/s,delay=5ms");
        let course = scene.session(0);
        assert_eq!(course.failed, None, "{over:?} {security}");
        // Nobody waits for what the server says at the end of each of both connections: that TLS ends in a record of 24
        // bytes, and before it the WebSocket in one of 26.
        let last = match over {
            Transport::Wss => 2 * (24 + 26),
            _ => 2 * 24,
        };
        let [up, down] = course.given;
        assert_eq!([up, down + last], real, "{over:?} {security}");
        let took = |step: ProtocolStep| {
            let mut steps = course.steps.iter();
            steps.find(|it| it.0 == step).map(|it| it.2)
        };
        // A round trip of 10 ms and what lies on the line; a WebSocket takes another one.
        assert!(took(ProtocolStep::TlsHandshake).unwrap() > 10_000_000);
        assert_eq!(
            took(ProtocolStep::Upgrade).is_some_and(|it| it > 10_000_000),
            over == Transport::Wss
        );
        // HTTP has no channel of its own.
        assert_eq!(
            took(ProtocolStep::OpenChannel).is_some(),
            over == Transport::Wss
        );
        // The same once more, and in other company.
        assert_eq!(scene.session(0).steps, course.steps);
    }
}

#[test]
fn a_tls_that_gets_no_answer_in_time_is_said_with_the_steps_before() {
    let case = Case::new(Transport::Wss);
    let url = case.server.wss_url().unwrap().to_owned();
    let access = case.access_to(&url, "none", &Credentials::Anonymous);
    let scene = case.scene(&access, "delay=10ms");
    let client = protocol::Client {
        discovers: false,
        timeout: Duration::from_millis(30),
        ..(*scene.client).clone()
    };
    let scene = Scene {
        client: Arc::new(client),
        ..scene
    };
    let course = scene.session(0);
    let why = course.failed.unwrap();
    assert_eq!(why, "TLS handshake: no answer in time");
    let steps: Vec<ProtocolStep> = course.steps.iter().map(|it| it.0).collect();
    assert_eq!(steps, [ProtocolStep::Connect]);
    assert!(course.messages.is_empty());
}
