//! A server in memory with clients that ask whatever they like, in whatever order, and read when they like.
//!
//! The script opens channels and sessions, sends requests of every service, as they should be and changed, lets time pass,
//! and goes away. Whatever it does: nothing panics; what the server says can be read; memory stays within its budget and
//! comes back; a turn moves no more than its share, and all that is to do comes to an end; and another client, who has a
//! session, is answered within a few turns.

pub mod caller;
mod requests;
pub mod served;

pub use requests::KINDS;

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use plant::in_memory::{Has, InMemory};
use plant::{Config, Limits, Plant, Transfer};
use wire::budget::Budget;
use wire::service::{Request, Response};
use wire::types::{NodeId, ReadRequest};

use crate::script::Script;
use caller::Caller;
use requests::Known;
use served::Served;

/// What there is for all clients together.
const MEMORY: usize = 1 << 20;
/// So little that clients starve each other, which the process must survive.
const LITTLE: usize = 96 << 10;
/// Those who mean no good.
const CLIENTS: usize = 3;
/// What a client takes that reads.
const ROOM: usize = 1 << 20;
/// Answers that a client takes.
const LONGEST: u32 = 256 << 10;
/// A turn of all loops moves no more to one client: what it has for writing, and a piece of a long answer beside that.
const MOVED: usize = 512 << 10;
/// What they wrote into the three arrays stays there.
const WRITTEN: usize = 3 * (20 << 10);
/// Turns after which nothing is left to do, if no time passes.
const SETTLED: usize = 20_000;

/// Time passes in steps of at most so much while what is left ends …
const STEP: Duration = Duration::from_millis(50);
/// … and so many of them are enough for sessions (5 s) and then subscriptions (4 s).
const GONE: usize = 400;

const TEXT: &str = r#"
[[namespace]]
uri = "urn:test:fuzzed"

[[namespace.signals]]
ids = "i=1..40"
type = "Double"
pattern = { sine = { low = 0, high = 100, period = "1s" } }
update = "50ms"

[[namespace.signals]]
ids = "i=41..50"
type = "UInt32"
pattern = "counter"
update = "10ms"
history = true

[[namespace.signals]]
ids = "i=51..60"
type = "Double"
access = "read-write"

[[namespace.signals]]
ids = "i=100..102"
type = "Byte"
dimensions = [20_000]
access = "read-write"

[[namespace.signals]]
ids = "i=200..600"
type = "Int32"

[[namespace.events]]
folder = "Flood"
name = "Flood{n}"
count = 3
type = "SystemEventType"
rate = "20/s"
"#;

fn server(threads: usize, memory: usize) -> InMemory {
    static PLANT: LazyLock<Plant> =
        LazyLock::new(|| Plant::parse(TEXT, "fuzzed", Path::new("")).unwrap());
    let config = PLANT.clone().config(Config {
        profiles: Vec::new(),
        ..Config::default()
    });
    let sizes = wire::frame::Limits {
        receive_message: 64 << 10,
        ..Default::default()
    };
    InMemory::new(Config {
        threads,
        memory: Budget::of(memory),
        transfer: Transfer::Anyone,
        discovery: true,
        limits: Limits {
            sizes,
            connections: CLIENTS + 3,
            connection_memory: 192 << 10,
            sessions: CLIENTS + 1,
            session_memory: 64 << 10,
            session_timeout: Duration::from_secs(1)..=Duration::from_secs(5),
            added_nodes: 20,
            subscriptions_per_session: 4,
            items_per_subscription: 500,
            queue_size: 100,
            publish_requests: 20,
            sampling_interval: Duration::from_millis(50),
            publishing_interval: Duration::from_millis(50)..=Duration::from_secs(1),
            subscription_lifetime: Duration::from_secs(4),
            kept_messages: 20,
            ..Limits::default()
        },
        ..config
    })
    .unwrap()
}

struct Run {
    server: Served,
    clients: Vec<Caller>,
    known: Known,
    /// Somebody who does no harm; nobody where there is too little memory for all.
    other: Option<Caller>,
    memory: usize,
}

/// The first byte decides how many loops there are and how much memory.
pub fn run(data: &[u8]) {
    let mut script = Script::new(data);
    let begin = script.byte();
    let memory = match begin & 0x0c {
        0x0c => LITTLE,
        _ => MEMORY,
    };
    let mut run = Run {
        server: Served(server(1 + usize::from(begin & 1), memory)),
        clients: Vec::new(),
        known: Known::default(),
        other: None,
        memory,
    };
    if memory == MEMORY {
        let mut other = Caller::connect(&mut run.server, ROOM, LONGEST);
        other.log_in(&mut run.server, true).unwrap();
        run.other = Some(other);
    }
    run.come(&mut Script::new(&[0, 0, 0]));
    for _ in 0..60 {
        if script.is_over() {
            break;
        }
        run.step(&mut script);
    }
    run.end();
}

impl Run {
    fn step(&mut self, script: &mut Script<'_>) {
        let op = script.below(16);
        let who = match self.clients.len() {
            0 => return self.come(script),
            clients => usize::from(script.byte()) % clients,
        };
        let now = self.server.now();
        let client = &mut self.clients[who];
        match op {
            0..=5 => self.ask(who, script),
            6 => {
                // The same many times, none of the answers read meanwhile.
                let mut request = requests::request(script, &self.known);
                for _ in 0..script.below(12) {
                    client.ask(now, &mut request);
                }
            }
            7 => self.ask_any(who, script),
            8 => {
                client.appetite = [usize::MAX, 0, 100, 10_000][script.below(4)];
            }
            9 | 10 => {
                let time = Duration::from_millis(u64::from(script.byte()) * 12);
                self.server.pass(time);
            }
            11 => return self.come(script),
            12 => {
                drop(self.clients.remove(who));
            }
            13 => {
                // On the wire, whatever it is.
                let bytes = script.bytes();
                client.end.send(bytes);
            }
            14 => {
                for _ in 0..script.below(32) {
                    self.turn();
                }
            }
            _ => {
                let mut request: Request = ReadRequest::default().into();
                request.header_mut().authentication_token = NodeId::null();
                client.ask(now, &mut request);
            }
        }
        self.turn();
        self.check();
    }

    /// One more client, with a session if it is to have one.
    fn come(&mut self, script: &mut Script<'_>) {
        if self.clients.len() == CLIENTS {
            return;
        }
        let room = [ROOM, 4096, 65_536][script.below(3)];
        let longest = [LONGEST, 16_384][script.below(2)];
        let mut client = Caller::connect(&mut self.server, room, longest);
        match script.below(4) {
            0 | 1 => drop(client.log_in(&mut self.server, true)),
            2 => drop(client.log_in(&mut self.server, false)),
            _ => {}
        }
        self.clients.push(client);
        self.check();
    }

    /// A request that means something, or would but for some bytes of it.
    fn ask(&mut self, who: usize, script: &mut Script<'_>) {
        let mut request = requests::request(script, &self.known);
        let changes = match script.byte() {
            few @ 0xe0.. => usize::from(few & 3) + 1,
            _ => 0,
        };
        let now = self.server.now();
        let client = &mut self.clients[who];
        if changes == 0 {
            client.ask(now, &mut request);
            return;
        }
        request.header_mut().authentication_token = client.token.clone();
        let mut body = Vec::new();
        let _ = request.encode(&mut body);
        for _ in 0..changes {
            let at = usize::from(script.u16()) % body.len().max(1);
            match script.below(3) {
                0 => body[at] = script.byte(),
                1 => body.truncate(at),
                _ => {
                    let end = body.len().min(at + 4);
                    body[at..end].fill(0xff);
                }
            }
            if body.is_empty() {
                break;
            }
        }
        client.say(now, |out, _| out.extend_from_slice(&body));
    }

    /// A message of any service, from its bytes, with the token of the client if it can be decoded.
    fn ask_any(&mut self, who: usize, script: &mut Script<'_>) {
        let kind = usize::from(script.byte()) % Request::KINDS.len();
        let mut message = vec![1, 0];
        message.extend_from_slice(&Request::KINDS[kind].encoding_id().to_le_bytes()[..2]);
        message.extend_from_slice(script.bytes());
        let now = self.server.now();
        let client = &mut self.clients[who];
        let limits = wire::service::Limits::for_message_size(65_536);
        match Request::decode(&message, &limits) {
            Ok(mut request) => drop(client.ask(now, &mut request)),
            Err(_) => drop(client.say(now, |out, _| out.extend_from_slice(&message))),
        }
    }

    fn turn(&mut self) -> bool {
        let now = self.server.now();
        let before: Vec<usize> = self.clients.iter().map(|it| it.end.waiting()).collect();
        let busy = self.server.turn();
        for (client, before) in self.clients.iter_mut().zip(before) {
            let moved = client.end.waiting().saturating_sub(before);
            assert!(moved <= MOVED, "{moved} bytes in a turn");
        }
        for client in &mut self.clients {
            client.exchange(now);
            for (_, response) in client.answers() {
                learn(&mut self.known, response);
            }
        }
        self.clients.retain(|client| !client.closed);
        busy
    }

    fn check(&mut self) {
        let Has { bytes, .. } = self.server.has();
        assert!(bytes <= self.memory, "{bytes} bytes of {}", self.memory);
        // Faults are what a client asked for: they may do to others what they like.
        if self.server.faults() > 0 {
            self.other = None;
        }
        if let Some(other) = &mut self.other {
            other.is_answered(&mut self.server);
        }
    }

    /// Turns until nothing is left to do.
    fn settle(&mut self) {
        let mut turns = 0;
        while self.turn() {
            turns += 1;
            assert!(
                turns < SETTLED,
                "busy for {turns} turns: {:?}",
                self.server.has()
            );
        }
    }

    /// All go; what was theirs is given back, and somebody else is served as if nobody had been there.
    fn end(mut self) {
        for client in &mut self.clients {
            client.appetite = usize::MAX;
        }
        self.settle();
        self.check();
        self.clients.clear();
        self.other = None;
        self.settle();
        // Who is looked at late counts one interval and no more: time goes in small steps.
        for _ in 0..GONE {
            let step = self.server.wakes_in().unwrap_or(STEP);
            self.server.pass(step.min(STEP));
            self.settle();
            if is_all_gone(self.server.has()) {
                break;
            }
        }
        let faults = self.server.faults();
        assert!(
            is_all_gone(self.server.has()) || faults > 0,
            "left behind: {:?}",
            self.server.has()
        );
        if faults == 0 {
            let mut new = Caller::connect(&mut self.server, ROOM, LONGEST);
            new.log_in(&mut self.server, true).unwrap();
            new.is_answered(&mut self.server);
        }
    }
}

/// Whether nothing is left of clients but what they wrote.
fn is_all_gone(has: Has) -> bool {
    let Has { bytes, .. } = has;
    bytes <= WRITTEN && Has { bytes: 0, ..has } == Has::default()
}

/// Remembers numbers that later requests can go on with.
fn learn(known: &mut Known, response: Response) {
    const MOST: usize = 64;
    match response {
        Response::CreateSubscription(it) => known.subscriptions.push(it.subscription_id),
        Response::CreateMonitoredItems(it) => {
            let items = it.results.unwrap_or_default();
            known
                .items
                .extend(items.iter().map(|it| it.monitored_item_id).take(4));
        }
        Response::Browse(it) => {
            let results = it.results.unwrap_or_default();
            let points = results.into_iter().map(|it| it.continuation_point);
            known
                .points
                .extend(points.filter(|it| !it.is_null()).take(4));
        }
        Response::Publish(it) => {
            let sequence = it.notification_message.sequence_number;
            known.sequences.push((it.subscription_id, sequence));
        }
        _ => {}
    }
    known.subscriptions.truncate(MOST);
    known.items.truncate(MOST);
    known.points.truncate(MOST);
    let surplus = known.sequences.len().saturating_sub(MOST);
    known.sequences.drain(..surplus);
}
