//! Two ends of an open channel and a network that changes what is under way.

use std::time::Duration;

use wire::channel::asymmetric::Opened;
use wire::channel::stream::{Arrival, Stream};
use wire::channel::tokens::{Role, Token};
use wire::channel::{Protection, all_protections};
use wire::frame::{ErrorMessage, Header, Limits, MessageType};
use wire::policy::{Exchanged, Policy, Shared};
use wire::time::Instant;
use wire::types::StatusCode;

use crate::keys::agreed;
use crate::script::Script;

const CHANNEL: u32 = 7;
const LIFETIME: Duration = Duration::from_secs(100);

const LIMITS: Limits = Limits {
    receive_buffer: 8192,
    send_buffer: 8192,
    receive_message: 40_000,
    receive_chunks: 5,
    send_message: 40_000,
    send_chunks: 5,
};

#[derive(Debug, PartialEq, Eq)]
enum Sent {
    Message(MessageType, u32, Vec<u8>),
    Abort(u32, StatusCode),
}

struct Channel {
    protection: Protection,
    /// What both ends agreed on, where the policy has them agree.
    shared: Option<Shared>,
    client: Stream,
    server: Stream,
    now: Instant,
    /// The newest token, and when it was made.
    token: (u32, Instant),
    /// When the one before it was made, which what is under way may still be protected with.
    before: Instant,
    /// The server has a newer one than the client.
    renewing: bool,
    network: Vec<u8>,
    /// Somebody has changed what is under way.
    touched: bool,
    /// The server has refused something, which ends a connection.
    dead: bool,
    sent: Vec<Sent>,
    arrived: usize,
}

pub fn run(script: &mut Script<'_>) {
    let protections: Vec<Protection> = all_protections().collect();
    let mut channel = Channel::open(protections[script.below(protections.len())]);
    for _ in 0..64 {
        if script.is_over() {
            break;
        }
        channel.step(script);
    }
    channel.transmit();
    channel.deliver();
    if !channel.touched {
        assert!(!channel.dead);
        assert_eq!(channel.arrived, channel.sent.len());
    }
}

impl Channel {
    fn open(protection: Protection) -> Self {
        let mut channel = Self {
            protection,
            shared: agreed(protection.policy),
            client: Stream::new(Role::Client, LIMITS),
            server: Stream::new(Role::Server, LIMITS),
            now: Instant::from_nanos(0),
            token: (0, Instant::from_nanos(0)),
            before: Instant::from_nanos(0),
            renewing: false,
            network: Vec::new(),
            touched: false,
            dead: false,
            sent: Vec::new(),
            arrived: 0,
        };
        for stream in [&mut channel.client, &mut channel.server] {
            stream.protect(protection);
            stream.channel_id = CHANNEL;
        }
        channel.issue();
        channel.accept_token();
        channel.opened();
        channel
    }

    /// The OPN request was the first chunk, and told the first sequence number.
    fn opened(&mut self) {
        let mut sequence = 0;
        let gap = self.client.reserve(|number| {
            sequence = number;
            1
        });
        assert!(self.client.outbox.fill(gap, &[0]));
        self.client.outbox.wrote(1);
        let opened = Opened {
            sequence,
            request_id: 1,
            body: Vec::new(),
        };
        self.server.accept(&opened).unwrap();
    }

    fn make(&self, role: Role) -> Token {
        let (id, created) = self.token;
        let nonces = ([1; 32], [id as u8; 32]);
        Token::derive(
            role,
            self.protection,
            &Exchanged {
                client_nonce: &nonces.0,
                server_nonce: &nonces.1,
                shared: self.shared.as_ref(),
            },
            id,
            created,
            LIFETIME,
        )
        .unwrap()
    }

    /// The server grants a token.
    fn issue(&mut self) {
        self.before = self.token.1;
        self.token = (self.token.0 + 1, self.now);
        let token = self.make(Role::Server);
        self.server.tokens.add(token, Role::Server);
        self.renewing = true;
    }

    /// The client learns of it.
    fn accept_token(&mut self) {
        let token = self.make(Role::Client);
        self.client.tokens.add(token, Role::Client);
        self.renewing = false;
    }

    fn step(&mut self, script: &mut Script<'_>) {
        match script.below(12) {
            0 | 1 => self.send(script),
            2 => {
                let status = StatusCode::BadResponseTooLarge;
                let id = script.u32();
                let reason = String::from_utf8_lossy(script.bytes()).into_owned();
                let error = ErrorMessage { status, reason };
                self.client.split(None).1.abort(id, &error).unwrap();
                self.sent.push(Sent::Abort(id, status));
            }
            3 => self.transmit(),
            4 => self.deliver(),
            5 => {
                let at = self.place(script);
                if let Some(byte) = self.network.get_mut(at) {
                    *byte ^= script.byte().max(1);
                    self.touched = true;
                }
            }
            6 => {
                let (from, to) = self.range(script);
                self.network.drain(from..to);
            }
            7 => {
                let (from, to) = self.range(script);
                let again = self.network[from..to].to_vec();
                let at = self.place(script);
                self.network.splice(at..at, again);
            }
            8 => {
                let at = self.place(script);
                self.network.splice(at..at, script.bytes().iter().copied());
                self.touched = true;
            }
            9 => self.exchange_chunks(),
            10 if self.renewing => self.accept_token(),
            10 => {
                // The request to renew goes the way of all chunks, and so comes after them.
                self.transmit();
                self.deliver();
                self.issue();
            }
            _ => {
                self.now = self.now + Duration::from_secs(script.byte().into());
                self.touched |= self.now >= self.before + LIFETIME;
            }
        }
    }

    fn send(&mut self, script: &mut Script<'_>) {
        let id = script.u32();
        let kind = match script.byte() {
            0xee => MessageType::Close,
            _ => MessageType::Message,
        };
        let mut body = script.bytes().to_vec();
        let repeated = [1, 1, 1, 30, 300][script.below(5)];
        body = body.repeat(repeated);
        let before = self.client.outbox.len();
        let written = self
            .client
            .send(kind, id, |out| out.extend_from_slice(&body));
        match written {
            Ok(()) => {
                // Only MSG may be sent in several chunks.
                self.touched |= kind == MessageType::Close && body.len() > 8000;
                self.sent.push(Sent::Message(kind, id, body));
            }
            Err(_) => {
                assert!(body.len() > 40_000 - 500);
                assert_eq!(self.client.outbox.len(), before);
            }
        }
    }

    fn transmit(&mut self) {
        let pending = self.client.outbox.pending();
        self.network.extend_from_slice(pending);
        let n = pending.len();
        self.client.outbox.wrote(n);
        assert!(self.client.outbox.is_empty());
    }

    fn deliver(&mut self) {
        for piece in self.network.chunks(3000) {
            self.server.inbox.extend(piece);
        }
        self.network.clear();
        while !self.dead {
            match self.server.inbox.next_chunk(LIMITS.receive_buffer) {
                Ok(Some((header, range))) => self.arrive(header, range),
                Ok(None) => return,
                Err(_) => self.dead = true,
            }
        }
    }

    fn arrive(&mut self, header: Header, range: std::ops::Range<usize>) {
        if !matches!(header.message, MessageType::Message | MessageType::Close) {
            self.dead = true;
            return;
        }
        let got = match self.server.receive(header, range, self.now) {
            Err(_) => {
                self.dead = true;
                return;
            }
            Ok(Arrival::More) => return,
            Ok(Arrival::Message {
                message,
                request_id,
                body,
            }) => Sent::Message(message, request_id, self.server.body(body).to_vec()),
            Ok(Arrival::Aborted { request_id, error }) => Sent::Abort(request_id, error.status),
        };
        assert!(self.now < self.token.1 + LIFETIME + LIFETIME / 4);
        // Unprotected, anything may arrive that looks right.
        if self.protection.policy != Policy::None || !self.touched {
            assert_eq!(Some(&got), self.sent.get(self.arrived));
        }
        self.arrived += 1;
    }

    fn place(&self, script: &mut Script<'_>) -> usize {
        usize::from(script.u16()) % (self.network.len() + 1)
    }

    fn range(&mut self, script: &mut Script<'_>) -> (usize, usize) {
        let (a, b) = (self.place(script), self.place(script));
        self.touched |= a != b;
        (a.min(b), a.max(b))
    }

    /// The first two chunks change places.
    fn exchange_chunks(&mut self) {
        let len = |bytes: &[u8]| {
            let header = Header::parse(*bytes.first_chunk()?).ok()?;
            let len = header.size as usize;
            (len <= bytes.len()).then_some(len)
        };
        let Some(first) = len(&self.network) else {
            return;
        };
        let Some(second) = len(&self.network[first..]) else {
            return;
        };
        self.network[..first + second].rotate_left(first);
        self.touched = true;
    }
}
