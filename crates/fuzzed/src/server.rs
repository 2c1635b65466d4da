//! A server's connection with a client that may do anything.

use std::time::Duration;

use wire::channel::exchange::OpenRequest;
use wire::channel::{Protection, all_protections};
use wire::frame::{ErrorMessage, Hello, MessageType};
use wire::policy::{Mode, Policy};
use wire::server::{Config, Connection, Event, RequestId};
use wire::session::token::{decrypt_secret, encrypt_secret};
use wire::time::Now;
use wire::types::StatusCode;
use wire::url::Url;

use crate::hostile::{BEGIN, Hostile, LIMITS, Listener, body, later, some_time};
use crate::keys::{identity, random, unknown_identity};
use crate::script::{Script, is_chosen};

const CHANNEL: u32 = 77;

struct Run {
    server: Connection,
    client: Hostile,
    written: Listener,
    now: Now,
    requests: Vec<RequestId>,
    secured: bool,
    /// The next certificate is trusted.
    trust: bool,
    closed: bool,
    /// How many events there may still be.
    fuel: usize,
    /// How many private-key operations there may still be.
    jobs: usize,
}

/// The first byte decides what is offered and how far the client is when it goes astray.
pub fn run(data: &[u8]) {
    let mut script = Script::new(data);
    let begin = script.byte();
    if begin == 0x7f && is_chosen(data) {
        return secret(&mut script);
    }
    let mut run = Run::new(begin);
    run.jobs = usize::from(is_chosen(data));
    match begin & 7 {
        0 | 1 => {}
        2 | 3 => run.hello(),
        _ => {
            run.hello();
            run.open(false, Duration::from_secs(60), Mode::None);
        }
    }
    for _ in 0..200 {
        if script.is_over() {
            break;
        }
        run.step(&mut script);
        run.check();
    }
    run.end();
}

/// The password of a user token, by one who knows the public key and may encrypt any bytes
/// (Part 4, 7.41.2.2).
fn secret(script: &mut Script<'_>) {
    let secured: Vec<Policy> = Policy::OF_RSA
        .into_iter()
        .filter(|policy| *policy != Policy::None)
        .collect();
    let policy = secured[script.below(secured.len())];
    let own = identity();
    let key = own.certificate.public_key();
    let nonce = [7; 32];
    let kind = script.below(3);
    let text = script.rest();
    let text = &text[..text.len().min(600)];
    let cipher = match kind {
        0 => text.to_vec(),
        1 => key.encrypt(policy, text).unwrap(),
        _ => encrypt_secret(policy, key, text, &nonce).unwrap(),
    };
    let secret = decrypt_secret(policy, &own.key, &cipher, &nonce);
    match (kind, secret) {
        (0, secret) => assert!(secret.is_err()),
        (1, Ok(secret)) => {
            let len = (secret.len() + nonce.len()) as u32;
            let plain = [&len.to_le_bytes(), secret.as_slice(), &nonce].concat();
            assert!(text.starts_with(&plain));
            assert!(text[plain.len()..].iter().all(|byte| *byte == 0));
        }
        (1, Err(_)) => {}
        (_, secret) => assert_eq!(secret.as_ref().map(|secret| secret.as_slice()), Ok(text)),
    }
}

impl Run {
    fn new(begin: u8) -> Self {
        let mut config = Config::new(CHANNEL, random(2));
        config.limits = LIMITS;
        config.lifetime = Duration::from_millis(1)..=Duration::from_secs(3600);
        let secured = begin & 0x80 != 0;
        if secured {
            config.identities = Some(identity()).into();
            config.protections = all_protections().collect();
        }
        if begin & 0x0f == 1 {
            config.reverse = Some(("urn:plant".into(), "opc.tcp://inside:4840".into()));
        }
        let mut run = Self {
            server: Connection::new(config, BEGIN),
            client: Hostile::default(),
            written: Listener::default(),
            now: BEGIN,
            requests: Vec::new(),
            secured,
            trust: true,
            closed: false,
            fuel: 16,
            jobs: 0,
        };
        run.write(usize::MAX);
        run
    }

    fn receive(&mut self, bytes: &[u8]) {
        // A chunk takes eight bytes, and tells one thing; opening a channel tells two.
        self.fuel += 2 + bytes.len() / 4;
        self.server.receive(bytes);
        self.drain();
    }

    fn hello(&mut self) {
        let mut out = Vec::new();
        Hello {
            protocol_version: 0,
            receive_buffer: 8192,
            send_buffer: 8192,
            max_message: 65_536,
            max_chunks: 8,
            endpoint_url: "opc.tcp://plant:4840/line",
        }
        .write(&mut out);
        self.receive(&out);
        self.write(usize::MAX);
    }

    fn open(&mut self, renew: bool, lifetime: Duration, mode: Mode) {
        self.client.opening += 1;
        let request = OpenRequest {
            handle: self.client.opening,
            sent: self.now.utc,
            renew,
            mode,
            nonce: Vec::new(),
            lifetime,
        };
        let body = request.encode();
        let chunk = self
            .client
            .open(self.client.channel_id, self.client.opening, body);
        self.client.channel_id = CHANNEL;
        self.client.token_id += 1;
        self.receive(&chunk);
    }

    /// The head of a secured OPN, as anybody could write it, and rubbish for the rest.
    fn open_secured(&mut self, script: &mut Script<'_>) {
        let policy = Policy::ALL[script.below(Policy::ALL.len())];
        let own = identity().certificate;
        let sender = match script.below(6) {
            0 => unknown_identity().certificate.as_bytes().to_vec(),
            1 => script.bytes().to_vec(),
            2 => own.as_bytes().repeat(3),
            _ => own.as_bytes().to_vec(),
        };
        let mut receiver = own.thumbprint().to_vec();
        receiver[0] ^= u8::from(script.byte() > 0xf0);
        let mut chunk = b"OPNF\0\0\0\0".to_vec();
        chunk.extend_from_slice(&self.client.channel_id.to_le_bytes());
        for field in [policy.uri().as_bytes(), &sender, &receiver] {
            chunk.extend_from_slice(&(field.len() as u32).to_le_bytes());
            chunk.extend_from_slice(field);
        }
        chunk.extend(script.bytes().iter().copied().cycle().take(512));
        let size = chunk.len() as u32;
        chunk[4..8].copy_from_slice(&size.to_le_bytes());
        self.receive(&chunk);
    }

    /// The socket takes some of what waits.
    fn write(&mut self, n: usize) {
        let pending = self.server.pending();
        let n = n.min(pending.len());
        let protected = self.server.protection() != Protection::NONE;
        self.written.hear(&pending[..n], 8192, protected);
        self.server.wrote(n);
        assert!(self.server.backlog() >= self.server.pending().len());
    }

    fn step(&mut self, script: &mut Script<'_>) {
        match script.below(16) {
            0 => {
                let bytes = script.bytes();
                self.receive(bytes);
            }
            1..=3 => {
                let id = script.u32();
                let body = body(script);
                let kind = match script.byte() {
                    0xf0.. => MessageType::Close,
                    _ => MessageType::Message,
                };
                let chunk = self.client.chunk(kind, id, &body, script);
                self.receive(&chunk);
            }
            4 | 5 => {
                let body = body(script);
                if let Some(id) = self.requests.pop() {
                    let before = self.server.backlog();
                    let sent = self.server.respond(id, |out| out.extend_from_slice(&body));
                    assert!(sent.is_ok() || self.server.backlog() == before);
                    assert!(!(self.closed && sent.is_ok()));
                }
            }
            6 => {
                self.now = later(self.now, some_time(script));
                self.timeouts();
            }
            7 => self.write(usize::from(script.byte())),
            8 => {
                let lifetime = some_time(script);
                let flags = script.byte();
                let mode = Mode::ALL[usize::from(flags >> 6) % 3];
                self.open(flags & 3 != 0, lifetime, mode);
            }
            9 => {
                let bytes = script.bytes();
                let space = self.server.space(bytes.len());
                space[..bytes.len()].copy_from_slice(bytes);
                self.server.filled(bytes.len());
                self.fuel += 2 + bytes.len() / 4;
                self.drain();
            }
            10 => self.open_secured(script),
            11 => self.run_job(),
            12 => self.message(script),
            13 => self.trust = script.byte() & 1 == 0,
            14 => match script.byte() {
                0xf0.. => self.server.lost(),
                0xe0.. => self
                    .server
                    .shut(StatusCode::BadServerHalted, "by the script"),
                _ => {
                    if let Some(id) = self.requests.pop() {
                        let status = StatusCode::BadResponseTooLarge;
                        let told = self.server.abort(id, status);
                        assert_eq!(told.is_ok(), !self.closed);
                    }
                }
            },
            _ => self.drain(),
        }
    }

    fn message(&mut self, script: &mut Script<'_>) {
        let mut out = Vec::new();
        let text = script.bytes();
        let text = String::from_utf8_lossy(text);
        match script.below(2) {
            0 => Hello {
                protocol_version: script.u32(),
                receive_buffer: script.u32(),
                send_buffer: script.u32(),
                max_message: u32::from(script.byte()),
                max_chunks: u32::from(script.byte()),
                endpoint_url: &text,
            }
            .write(&mut out),
            _ => ErrorMessage {
                status: StatusCode::from(script.u32()),
                reason: text.into_owned(),
            }
            .write(&mut out),
        }
        self.receive(&out);
    }

    fn run_job(&mut self) {
        if self.jobs > 0
            && let Some(job) = self.server.poll_job()
        {
            self.jobs -= 1;
            self.server.complete(job.run(), self.now);
            self.drain();
        }
    }

    fn drain(&mut self) {
        loop {
            let mut asked = false;
            let Some(event) = self.server.poll_event(self.now) else {
                return;
            };
            self.fuel = self.fuel.checked_sub(1).unwrap();
            assert!(!self.closed, "{event:?} after the end");
            match event {
                Event::Request { id, .. } => self.requests.push(id),
                Event::Certificate { certificate, .. } => {
                    assert!(self.secured);
                    let _ = format!("{certificate:?}");
                    asked = true;
                }
                Event::Opened { protection, .. } => {
                    // Nobody else has the key of a certificate.
                    assert_eq!(protection, Protection::NONE);
                }
                Event::Closed(error) => {
                    let _ = (error.to_string(), error.message());
                    self.closed = true;
                }
                Event::Hello { endpoint_url } => {
                    if let Ok(url) = endpoint_url.parse::<Url>() {
                        assert_eq!(url.to_string().parse(), Ok(url));
                    }
                }
                Event::Aborted { .. } => {}
                other => panic!("{other:?}"),
            }
            if asked {
                let answer = match self.trust {
                    true => Ok(()),
                    false => Err(StatusCode::BadCertificateUntrusted),
                };
                self.server.decide(answer, self.now);
            }
        }
    }

    /// What is due is done, and then nothing is due any more.
    fn timeouts(&mut self) {
        self.drain();
        for _ in 0..2 {
            let due = self.server.poll_timeout();
            if due.is_none_or(|at| at > self.now.mono) {
                return;
            }
            self.server.handle_timeout(self.now);
            self.drain();
        }
        panic!("always due: {:?}", self.server);
    }

    fn check(&mut self) {
        self.drain();
        assert_eq!(self.server.is_closed(), self.closed);
        assert!(!self.closed || self.server.poll_timeout().is_none());
        let limits = self.server.limits();
        assert!(limits.receive_buffer <= 8192 && limits.send_buffer <= 8192);
    }

    fn end(mut self) {
        self.write(usize::MAX);
        self.server.shut(StatusCode::BadShutdown, "at the end");
        self.drain();
        assert!(self.closed);
        self.write(usize::MAX);
        self.written.end();
    }
}
