//! Two connections and a pretend network between them, in virtual time.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use wire::certificate::Certificate;
use wire::channel::{ChannelError, Identity, Protection, Random};
use wire::client::{self, RequestId};
use wire::policy::{Curve, PrivateKey};
use wire::server;
use wire::time::{Instant, Now};

/// 2026-01-01 in ticks: any moment will do.
const EPOCH: i64 = 134_116_992_000_000_000;

macro_rules! key_file {
    ($name:literal) => {
        include_bytes!(concat!("../keys/", $name))
    };
}

/// By the number in the names of its files.
pub fn identity(number: usize) -> Identity {
    let (certificate, key): (&[u8], &[u8]) = match number {
        256 => (key_file!("cert256.der"), key_file!("ecc256.der")),
        384 => (key_file!("cert384.der"), key_file!("ecc384.der")),
        25519 => (key_file!("cert25519.der"), key_file!("ecc25519.der")),
        1024 => (key_file!("cert1024.der"), key_file!("rsa1024.der")),
        2048 => (key_file!("cert2048.der"), key_file!("rsa2048.der")),
        3072 => (key_file!("cert3072.der"), key_file!("rsa3072.der")),
        _ => (key_file!("cert4096.der"), key_file!("rsa4096.der")),
    };
    Identity {
        certificate: Certificate::from_der(certificate).unwrap(),
        key: PrivateKey::from_der(key).unwrap(),
    }
}

pub fn random(seed: u8) -> Random {
    let mut state = seed;
    Box::new(move |bytes| {
        for byte in bytes {
            state = state.wrapping_mul(181).wrapping_add(101);
            *byte = state;
        }
    })
}

/// What a client saw, without borrows.
#[derive(Debug, PartialEq, Eq, Clone)]
pub enum Seen {
    Acknowledged,
    Reversed(String, String),
    Opened { renewed: bool },
    Response(RequestId, Vec<u8>),
    Aborted(RequestId, u32),
    TimedOut(RequestId),
    Late(u32),
    Unanswered(RequestId),
    Closed(ChannelError),
}

/// What a server saw, without borrows.
#[derive(Debug, PartialEq, Eq, Clone)]
pub enum Heard {
    Hello(String),
    Certificate,
    Opened { renewed: bool },
    Request(server::RequestId, Vec<u8>),
    Aborted,
    Closed(ChannelError),
}

/// Looks at, changes or swallows what is under way.
pub type OnTheWay = Box<dyn FnMut(&mut Vec<u8>)>;

pub struct Pair {
    pub client: client::Connection,
    pub server: server::Connection,
    pub now: Now,
    pub seen: Vec<Seen>,
    pub heard: Vec<Heard>,
    /// The server answers each request with its own bytes.
    pub echo: bool,
    /// What the server says of client certificates.
    pub trust: Result<(), wire::types::StatusCode>,
    /// Bytes are delivered in pieces of this size.
    pub piece: usize,
    pub to_server: OnTheWay,
    pub to_client: OnTheWay,
    /// Jobs wait until they are let go.
    pub hold_jobs: bool,
}

pub fn configs(protection: Protection, bits: usize) -> (client::Config, server::Config) {
    let secured = protection != Protection::NONE;
    let number = match protection.policy.curve() {
        None => bits,
        // A curve has one length only.
        Some(Curve::Curve25519) => 25519,
        Some(curve) => curve.bits(),
    };
    let mut client = client::Config::new("opc.tcp://plant:4840/line", random(1));
    let mut server = server::Config::new(77, random(2));
    client.protection = protection;
    if secured {
        client.identity = Some(identity(number));
        client.server = Some(identity(number).certificate);
        server.identities = Some(identity(number)).into();
        server.protections.push(protection);
    }
    (client, server)
}

impl Pair {
    pub fn new(protection: Protection, bits: usize) -> Self {
        let (client, server) = configs(protection, bits);
        Self::with(client, server)
    }

    pub fn with(client: client::Config, server: server::Config) -> Self {
        let now = Now {
            mono: Instant::from_nanos(1_000_000_000),
            utc: EPOCH,
        };
        Self {
            client: client::Connection::new(client, now),
            server: server::Connection::new(server, now),
            now,
            seen: Vec::new(),
            heard: Vec::new(),
            echo: true,
            trust: Ok(()),
            piece: usize::MAX,
            to_server: Box::new(|_| ()),
            to_client: Box::new(|_| ()),
            hold_jobs: false,
        }
    }

    /// A pair whose channel is open.
    pub fn open(protection: Protection, bits: usize) -> Self {
        let mut pair = Self::new(protection, bits);
        pair.run();
        assert!(pair.client.is_open(), "{protection}: {:?}", pair.seen);
        pair
    }

    /// Lets time pass, with whatever falls due in it.
    pub fn wait(&mut self, time: Duration) {
        let end = self.now.mono + time;
        self.run();
        loop {
            let due = [self.client.poll_timeout(), self.server.poll_timeout()];
            let next = due.into_iter().flatten().min().filter(|&at| at <= end);
            self.set(next.unwrap_or(end).max(self.now.mono));
            self.client.handle_timeout(self.now);
            self.server.handle_timeout(self.now);
            self.run();
            if next.is_none() {
                return;
            }
        }
    }

    fn set(&mut self, mono: Instant) {
        let passed = mono.since(self.now.mono);
        self.now = Now {
            mono,
            utc: self.now.utc + (passed.as_nanos() / 100) as i64,
        };
    }

    /// Until nothing moves any more.
    pub fn run(&mut self) {
        while self.step() {}
    }

    fn step(&mut self) -> bool {
        let mut moved = false;
        let mut bytes = self.client.pending().to_vec();
        if !bytes.is_empty() {
            moved = true;
            self.client.wrote(bytes.len());
            (self.to_server)(&mut bytes);
            for piece in bytes.chunks(self.piece) {
                self.server.receive(piece);
                self.serve();
            }
        }
        self.serve();
        let mut bytes = self.server.pending().to_vec();
        if !bytes.is_empty() {
            moved = true;
            self.server.wrote(bytes.len());
            (self.to_client)(&mut bytes);
            for piece in bytes.chunks(self.piece) {
                self.client.receive(piece);
                self.watch();
            }
        }
        self.watch();
        if !self.hold_jobs {
            while let Some(job) = self.client.poll_job() {
                moved = true;
                self.client.complete(job.run(), self.now);
                self.watch();
            }
            while let Some(job) = self.server.poll_job() {
                moved = true;
                self.server.complete(job.run(), self.now);
                self.serve();
            }
        }
        moved
    }

    fn watch(&mut self) {
        while let Some(event) = self.client.poll_event(self.now) {
            use client::Event;
            self.seen.push(match event {
                Event::Acknowledged(_) => Seen::Acknowledged,
                Event::Reversed {
                    server_uri,
                    endpoint_url,
                } => Seen::Reversed(server_uri, endpoint_url),
                Event::Opened { renewed, .. } => Seen::Opened { renewed },
                Event::Response { id, body } => Seen::Response(id, body.to_vec()),
                Event::Aborted { id, error } => Seen::Aborted(id, error.status.bits()),
                Event::TimedOut(id) => Seen::TimedOut(id),
                Event::Late { number } => Seen::Late(number),
                Event::Unanswered(id) => Seen::Unanswered(id),
                Event::Closed(error) => Seen::Closed(error),
                other => panic!("{other:?}"),
            });
        }
    }

    fn serve(&mut self) {
        loop {
            let mut answer = None;
            let mut decide = false;
            let Some(event) = self.server.poll_event(self.now) else {
                return;
            };
            use server::Event;
            self.heard.push(match event {
                Event::Hello { endpoint_url } => Heard::Hello(endpoint_url),
                Event::Certificate { .. } => {
                    decide = true;
                    Heard::Certificate
                }
                Event::Opened { renewed, .. } => Heard::Opened { renewed },
                Event::Request { id, body } => {
                    answer = Some((id, body.to_vec()));
                    Heard::Request(id, body.to_vec())
                }
                Event::Aborted { .. } => Heard::Aborted,
                Event::Closed(error) => Heard::Closed(error),
                other => panic!("{other:?}"),
            });
            if decide {
                self.server.decide(self.trust, self.now);
            }
            if let Some((id, body)) = answer.filter(|_| self.echo) {
                self.server
                    .respond(id, |out| out.extend_from_slice(&body))
                    .unwrap();
            }
        }
    }

    /// Sends a request of these bytes, to be answered within ten seconds.
    pub fn request(&mut self, body: &[u8]) -> RequestId {
        let deadline = self.now.mono + Duration::from_secs(10);
        self.client
            .send(deadline, |out, _| out.extend_from_slice(body))
            .unwrap()
    }

    /// The answer to a request, taken out of what was seen.
    pub fn answer(&mut self, id: RequestId) -> Option<Vec<u8>> {
        let at = self
            .seen
            .iter()
            .position(|seen| matches!(seen, Seen::Response(got, _) if *got == id))?;
        match self.seen.remove(at) {
            Seen::Response(_, body) => Some(body),
            _ => None,
        }
    }
}
