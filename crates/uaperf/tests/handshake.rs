//! What is simulated of connecting, held against what went over a socket.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};

use link::Spec;
use load::access::{Access, Credentials, Security, TrustRule, identity};
use load::transport::Steps;
use plant::{Config, PasswordHash, Server, Users};
use simulate::protocol::{self, Costs, Envelope, Scene, Side};
use wire::channel::Protection;
use wire::types::{
    ApplicationDescription, ApplicationType, DataValue, NodeId, TimestampsToReturn, VariableId,
    Variant,
};
use wire::url::Url;

/// A chunk: who sent it, its kind, its bytes.
type Chunk = (Side, [u8; 3], usize);

/// Chunks with the number of their connection: the end of one may be noted when the next has begun.
type Seen = Arc<Mutex<Vec<(usize, Chunk)>>>;

/// Stands between a client and a server, and notes each chunk.
struct Tap {
    address: SocketAddr,
    seen: Seen,
}

impl Tap {
    fn before(server: &str) -> Self {
        let url: Url = server.parse().unwrap();
        let to = (url.host().to_owned(), url.port());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let tap = Self {
            address: listener.local_addr().unwrap(),
            seen: Arc::default(),
        };
        let seen = Arc::clone(&tap.seen);
        thread::spawn(move || {
            for (number, client) in listener.incoming().enumerate() {
                let client = client.unwrap();
                let server = TcpStream::connect((to.0.as_str(), to.1)).unwrap();
                let both = [
                    (
                        Side::Client,
                        client.try_clone().unwrap(),
                        server.try_clone().unwrap(),
                    ),
                    (Side::Server, server, client),
                ];
                for (side, from, to) in both {
                    let seen = Arc::clone(&seen);
                    thread::spawn(move || carry((number, side), from, to, &seen));
                }
            }
        });
        tap
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

const PASSWORD: &str = "password";

struct Case {
    folder: tempfile::TempDir,
    server: Server,
    identity: pki::Identity,
    users: Users,
    tap: Tap,
}

impl Case {
    fn new() -> Self {
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
        Access {
            security: security.parse::<Security>().unwrap(),
            trust: TrustRule::Everyone,
            user: user.clone(),
            plain_password: true,
            ..Access::new(
                format!("opc.tcp://{}", self.tap.address).parse().unwrap(),
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
        let endpoints =
            plant::endpoints_at(&config, self.server.url(), &Some(server.clone()).into());
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
        }
    }
}

#[test]
fn the_simulated_handshake_is_the_real_one_message_for_message() {
    let case = Case::new();
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
