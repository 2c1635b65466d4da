//! Two ends of an open channel and a network that changes what is under way.

use std::time::Duration;

use wire::channel::asymmetric::Parties;
use wire::channel::established::{Established, Numbers};
use wire::channel::stream::{Arrival, Outward, Stream};
use wire::channel::tokens::{Role, Token, Tokens};
use wire::channel::{Protection, all_protections};
use wire::frame::{ErrorMessage, Header, Limits, MessageType};
use wire::policy::{Exchanged, Policy, Shared};
use wire::time::Instant;
use wire::types::StatusCode;

use crate::keys::{agreed, identity};
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
    client: End,
    server: End,
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

/// One end: what waits there, and the channel.
struct End {
    stream: Stream,
    channel: Established,
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

impl End {
    fn outward(&mut self) -> Outward<'_> {
        self.stream.outward(&mut self.channel)
    }
}

/// The keys of a token with this number, made then.
fn token(
    protection: Protection,
    shared: Option<&Shared>,
    (id, created): (u32, Instant),
    role: Role,
) -> Token {
    let nonces = ([1; 32], [id as u8; 32]);
    let exchanged = Exchanged {
        client_nonce: &nonces.0,
        server_nonce: &nonces.1,
        shared,
    };
    Token::derive(role, protection, &exchanged, id, created, LIFETIME).unwrap()
}

impl Channel {
    fn open(protection: Protection) -> Self {
        let shared = agreed(protection.policy);
        let now = Instant::from_nanos(0);
        let (mut client, mut server) = (Numbers::of(protection), Numbers::of(protection));
        let mut stream = Stream::new(LIMITS);
        // The OPN request was the first chunk, and told the first sequence number.
        let mut sequence = 0;
        let gap = client.reserve(&mut stream.outbox, |number| {
            sequence = number;
            1
        });
        stream.place(gap, &[0]).unwrap();
        stream.outbox.wrote(1);
        server.accept(sequence).unwrap();
        let end = |stream, numbers, role| {
            let token = token(protection, shared.as_ref(), (1, now), role);
            let (own, peer) = (identity(), identity().certificate);
            let parties = Parties::of(protection.policy, Some(&own), Some(&peer)).unwrap();
            let tokens = Tokens::new(token, role);
            End {
                stream,
                channel: Established::new(CHANNEL, numbers, parties, tokens),
            }
        };
        Self {
            protection,
            client: end(stream, client, Role::Client),
            server: end(Stream::new(LIMITS), server, Role::Server),
            shared,
            now,
            token: (1, now),
            before: now,
            renewing: false,
            network: Vec::new(),
            touched: false,
            dead: false,
            sent: Vec::new(),
            arrived: 0,
        }
    }

    fn make(&self, role: Role) -> Token {
        token(self.protection, self.shared.as_ref(), self.token, role)
    }

    /// The server grants a token.
    fn issue(&mut self) {
        self.before = self.token.1;
        self.token = (self.token.0 + 1, self.now);
        let token = self.make(Role::Server);
        self.server.channel.tokens.add(token);
        self.renewing = true;
    }

    /// The client learns of it.
    fn accept_token(&mut self) {
        let token = self.make(Role::Client);
        self.client.channel.tokens.add(token);
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
                self.client.outward().abort(id, &error).unwrap();
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
        let before = self.client.stream.outbox.len();
        let written = self
            .client
            .outward()
            .send(kind, id, |out| out.extend_from_slice(&body));
        match written {
            Ok(()) => {
                // Only MSG may be sent in several chunks.
                self.touched |= kind == MessageType::Close && body.len() > 8000;
                self.sent.push(Sent::Message(kind, id, body));
            }
            Err(_) => {
                assert!(body.len() > 40_000 - 500);
                assert_eq!(self.client.stream.outbox.len(), before);
            }
        }
    }

    fn transmit(&mut self) {
        let pending = self.client.stream.outbox.pending();
        self.network.extend_from_slice(pending);
        let n = pending.len();
        self.client.stream.outbox.wrote(n);
        assert!(self.client.stream.outbox.is_empty());
    }

    fn deliver(&mut self) {
        for piece in self.network.chunks(3000) {
            self.server.stream.inbox.extend(piece);
        }
        self.network.clear();
        while !self.dead {
            match self.server.stream.inbox.next_chunk(LIMITS.receive_buffer) {
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
        let End { stream, channel } = &mut self.server;
        let got = match stream.receive(channel, header, range, self.now) {
            Err(_) => {
                self.dead = true;
                return;
            }
            Ok(Arrival::More) => return,
            Ok(Arrival::Message {
                message,
                request_id,
                body,
            }) => Sent::Message(message, request_id, stream.body(body).to_vec()),
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
