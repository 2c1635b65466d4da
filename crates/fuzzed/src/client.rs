//! A client's connection with a server that may do anything.

use std::time::Duration;

use wire::channel::Protection;
use wire::channel::exchange::{OpenResponse, fault};
use wire::client::{Config, Connection, Event, RequestId};
use wire::frame::{Acknowledge, ErrorMessage, MessageType, ReverseHello};
use wire::policy::{Mode, Policy};
use wire::time::Now;
use wire::types::StatusCode;

use crate::hostile::{BEGIN, Hostile, LIMITS, Listener, body, later, some_time};
use crate::keys::{identity, random};
use crate::script::{Script, is_chosen};

struct Run {
    client: Connection,
    server: Hostile,
    written: Listener,
    now: Now,
    secured: bool,
    /// Requests without an outcome.
    waiting: Vec<RequestId>,
    closed: bool,
    /// How many events there may still be.
    fuel: usize,
    /// How many private-key operations there may still be.
    jobs: usize,
}

/// The first byte decides what the client wants and how far it is when the hostile peer takes over.
pub fn run(data: &[u8]) {
    let mut script = Script::new(data);
    let begin = script.byte();
    let mut run = Run::new(begin);
    run.jobs = usize::from(is_chosen(data));
    match begin & 7 {
        0 | 1 => {}
        2 | 3 => run.acknowledge(),
        _ => {
            run.acknowledge();
            run.open(Duration::from_secs(60), 0);
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

impl Run {
    fn new(begin: u8) -> Self {
        let mut config = Config::new("opc.tcp://plant:4840/line", random(1));
        config.limits = LIMITS;
        config.reverse = begin & 0x0f == 1;
        let secured = begin & 0xf0 == 0xf0;
        if secured {
            config.protection = Protection {
                policy: Policy::Basic256Sha256,
                mode: Mode::SignAndEncrypt,
            };
            config.identity = Some(identity());
            config.server = Some(identity().certificate);
        }
        let mut run = Self {
            client: Connection::new(config, BEGIN),
            server: Hostile::default(),
            written: Listener::default(),
            now: BEGIN,
            secured,
            waiting: Vec::new(),
            closed: false,
            fuel: 16,
            jobs: 0,
        };
        run.write(usize::MAX);
        run
    }

    fn receive(&mut self, bytes: &[u8]) {
        // A chunk takes eight bytes, and tells one thing.
        self.fuel += 1 + bytes.len() / 8;
        self.client.receive(bytes);
        self.drain();
    }

    fn acknowledge(&mut self) {
        let mut answer = Vec::new();
        Acknowledge {
            protocol_version: 0,
            receive_buffer: 8192,
            send_buffer: 8192,
            max_message: 65_536,
            max_chunks: 8,
        }
        .write(&mut answer);
        self.receive(&answer);
        self.write(usize::MAX);
    }

    /// Answers the latest OPN as it should be.
    fn open(&mut self, lifetime: Duration, wrong: u8) {
        let request_id = self.written.opening.unwrap_or(1);
        self.server.token_id += 1;
        self.server.channel_id = if wrong == 1 { 8 } else { 7 };
        let response = OpenResponse {
            handle: request_id,
            sent: self.now.utc,
            channel_id: self.server.channel_id,
            token_id: self.server.token_id,
            lifetime,
            nonce: Vec::new(),
        };
        let body = match wrong {
            2 => fault(request_id, self.now.utc, StatusCode::BadTcpInternalError),
            _ => response.encode(),
        };
        let request_id = if wrong == 3 { !request_id } else { request_id };
        let chunk = self.server.open(7, request_id, body);
        self.receive(&chunk);
    }

    /// The socket takes some of what waits.
    fn write(&mut self, n: usize) {
        let pending = self.client.pending();
        let n = n.min(pending.len());
        self.written.hear(&pending[..n], 8192, self.secured);
        self.client.wrote(n);
    }

    fn step(&mut self, script: &mut Script<'_>) {
        match script.below(16) {
            0 => {
                let bytes = script.bytes();
                self.receive(bytes);
            }
            1 | 2 => {
                let id = self.some_id(script);
                let body = body(script);
                let kind = match script.byte() {
                    0xf0.. => MessageType::Close,
                    _ => MessageType::Message,
                };
                let chunk = self.server.chunk(kind, id, &body, script);
                self.receive(&chunk);
            }
            3 | 4 => {
                let body = body(script);
                let deadline = self.now.mono + some_time(script);
                let sent = self
                    .client
                    .send(deadline, |out, _| out.extend_from_slice(&body));
                if let Ok(id) = sent {
                    self.fuel += 2;
                    assert_ne!(id.number(), 0);
                    assert!(!self.waiting.contains(&id));
                    self.waiting.push(id);
                    assert!(!self.closed);
                }
            }
            5 => {
                self.now = later(self.now, some_time(script));
                self.timeouts();
            }
            6 => self.write(usize::from(script.byte())),
            7 => {
                if let Some(id) = self.waiting.pop() {
                    self.client.forget(id);
                }
            }
            8 => self.client.renew(self.now),
            9 => {
                self.write(usize::MAX);
                let lifetime = some_time(script);
                self.open(lifetime, script.byte());
            }
            10 => {
                // Through the buffer of the connection, in two pieces.
                let bytes = script.bytes();
                let at = bytes.len() / 2;
                for piece in [&bytes[..at], &bytes[at..]] {
                    let space = self.client.space(piece.len());
                    space[..piece.len()].copy_from_slice(piece);
                    self.client.filled(piece.len());
                    self.fuel += 1 + piece.len() / 8;
                    self.drain();
                }
            }
            11 => self.run_job(),
            12 => self.message(script),
            13 if script.byte() > 0xf0 => self.client.close(self.now),
            14 if script.byte() > 0xf0 => self.client.lost("by the script"),
            _ => self.drain(),
        }
    }

    /// A message of those that have no channel.
    fn message(&mut self, script: &mut Script<'_>) {
        let mut out = Vec::new();
        let text = script.bytes();
        let text = String::from_utf8_lossy(text);
        match script.below(3) {
            0 => Acknowledge {
                protocol_version: script.u32(),
                receive_buffer: script.u32(),
                send_buffer: script.u32(),
                max_message: u32::from(script.byte()),
                max_chunks: u32::from(script.byte()),
            }
            .write(&mut out),
            1 => ReverseHello {
                server_uri: &text,
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

    fn some_id(&self, script: &mut Script<'_>) -> u32 {
        match script.below(4) {
            0 => script.u32(),
            n => self
                .waiting
                .iter()
                .map(|id| id.number())
                .min()
                .map_or(1, |id| id + n as u32 - 1),
        }
    }

    fn run_job(&mut self) {
        if self.jobs > 0
            && let Some(job) = self.client.poll_job()
        {
            self.jobs -= 1;
            self.client.complete(job.run(), self.now);
            self.drain();
        }
    }

    fn drain(&mut self) {
        while let Some(event) = self.client.poll_event(self.now) {
            self.fuel = self.fuel.checked_sub(1).unwrap();
            assert!(!self.closed, "{event:?} after the end");
            match event {
                Event::Response { id, .. }
                | Event::Aborted { id, .. }
                | Event::TimedOut(id)
                | Event::Unanswered(id) => {
                    let at = self.waiting.iter().position(|waiting| *waiting == id);
                    self.waiting.swap_remove(at.unwrap());
                }
                Event::Late { number } => {
                    assert!(self.waiting.iter().all(|id| id.number() != number));
                }
                Event::Closed(error) => {
                    let _ = (error.to_string(), error.status());
                    assert!(self.waiting.is_empty(), "{:?} forgotten", self.waiting);
                    self.closed = true;
                }
                Event::Acknowledged(_) | Event::Reversed { .. } | Event::Opened { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// What is due is done, and then nothing is due any more.
    fn timeouts(&mut self) {
        self.drain();
        for _ in 0..4 {
            let due = self.client.poll_timeout();
            if due.is_none_or(|at| at > self.now.mono) {
                return;
            }
            self.client.handle_timeout(self.now);
            self.drain();
        }
        panic!("always due: {:?}", self.client);
    }

    fn check(&mut self) {
        self.drain();
        assert_eq!(self.client.is_closed(), self.closed);
        assert_eq!(self.client.in_flight(), self.waiting.len());
        assert!(!self.closed || self.client.poll_timeout().is_none());
        assert!(!(self.closed && self.client.is_open()));
        let limits = self.client.limits();
        assert!(limits.receive_buffer <= 8192 && limits.send_buffer <= 8192);
    }

    fn end(mut self) {
        self.write(usize::MAX);
        self.client.lost("at the end");
        self.drain();
        assert!(self.closed && self.waiting.is_empty());
        self.write(usize::MAX);
        self.written.end();
    }
}
