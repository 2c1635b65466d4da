//! Streams of bytes over a link: what a relay between sockets does, without the sockets.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use plan::unit::duration::nanos;

use crate::link_direction::Outcome;
use crate::path::Path;
use crate::spec::{Direction, Spec};
use crate::stream::{HEADERS, Part, SEGMENT, Stream};

/// Which way something goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// From client to server.
    Up,
    /// From server to client.
    Down,
}

impl Way {
    /// The other one.
    #[must_use]
    pub const fn back(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

/// What has come through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A client's wish to connect has reached the server's end: connect, and say what came of it by
    /// [`Relay::connected`] or [`Relay::refused`].
    Connect(u64),
    /// The server's answer has reached the client: from now on it can send.
    Open(u64),
    /// The server's refusal has reached the client.
    Refused(u64),
    /// Bytes have arrived.
    Bytes(u64, Way, Rc<[u8]>),
    /// Nothing more will arrive in this direction.
    End(u64, Way),
    /// The other end broke the connection off.
    Reset(u64, Way),
}

/// What a direction of the link carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Bytes of streams that were handed over.
    pub bytes: u64,
    /// Packets that came to the line.
    pub packets: u64,
    /// Packets that were lost on it.
    pub lost: u64,
    /// Packets that were sent again.
    pub again: u64,
    /// Packets that found the queue full.
    pub full: u64,
    /// How long packets waited for the line, nanoseconds in all.
    pub waited: u64,
    /// The longest of these times.
    pub longest: u64,
}

/// Connections over one link. All of them share its lines and queues, first come, first served.
///
/// What is lost is sent again, as TCP does: when three later segments of the stream have arrived, after a round
/// trip; else after a timeout of 200 ms and a round trip, 1 s for the beginning of a connection, twice as long
/// each time. There is no slow start, and what TCP acknowledges takes no room on the line.
#[derive(Debug)]
pub struct Relay {
    up: Lane,
    down: Lane,
    connections: HashMap<u64, [Stream; 2]>,
    ready: VecDeque<Event>,
}

/// One direction.
#[derive(Debug)]
struct Lane {
    direction: Direction,
    path: Path<Packet>,
    again: Vec<LostPacket>,
    tally: Tally,
}

#[derive(Debug, Clone)]
struct Packet {
    id: u64,
    number: u64,
    part: Part,
}

/// A packet that did not arrive.
#[derive(Debug)]
struct LostPacket {
    packet: Packet,
    at: u64,
    tries: u32,
    /// How many later ones of its stream arrived.
    later: u8,
}

/// Linux's shortest timeout of a retransmission (TCP_RTO_MIN).
const TIMEOUT: u64 = 200_000_000;
/// The first timeout of a connection's beginning (RFC 6298, 2.1).
const BEGIN_TIMEOUT: u64 = 1_000_000_000;
/// So many later segments tell a sender that one is lost (RFC 5681, 3.2).
const LATER: u8 = 3;
/// Timeouts do not grow beyond 2^6 of the first.
const MOST_DOUBLINGS: u32 = 6;
/// What a stream may have under way: as much as Linux lets a receive buffer grow by itself.
const WINDOW: usize = 6 << 20;

impl Relay {
    /// A link without connections.
    pub fn new(spec: Spec, seed: u64) -> Self {
        let lane = |direction, which| Lane {
            direction,
            path: Path::new(direction, seed, which),
            again: Vec::new(),
            tally: Tally::default(),
        };
        Self {
            up: lane(spec.up, 0),
            down: lane(spec.down, 1),
            connections: HashMap::new(),
            ready: VecDeque::new(),
        }
    }

    /// A client wants to connect; its number must be a new one.
    pub fn connect(&mut self, now: u64, id: u64) {
        self.connections.insert(id, Default::default());
        self.send_part(now, id, Way::Up, Part::Begin);
    }

    /// The server has taken the connection.
    pub fn connected(&mut self, now: u64, id: u64) {
        self.send_part(now, id, Way::Down, Part::Begin);
    }

    /// The server has not taken the connection.
    pub fn refused(&mut self, now: u64, id: u64) {
        self.send_part(now, id, Way::Down, Part::Refuse);
    }

    /// How many bytes would be taken of a stream now.
    pub fn room(&self, now: u64, id: u64, way: Way) -> usize {
        let window = match self.stream(id, way) {
            Some(stream) if !stream.ended => WINDOW.saturating_sub(stream.outstanding),
            _ => 0,
        };
        match self.lane(way).path.is_full(now, FULL_SEGMENT) {
            true => 0,
            false => window,
        }
    }

    /// When a full queue has room again.
    pub fn room_at(&self, way: Way) -> u64 {
        self.lane(way).path.room_at(FULL_SEGMENT)
    }

    /// Sends bytes. Gives how many were taken: the rest did not fit in the queue.
    pub fn send(&mut self, now: u64, id: u64, way: Way, bytes: &[u8]) -> usize {
        let mut taken = 0;
        for segment in bytes.chunks(SEGMENT) {
            if self.room(now, id, way) < segment.len() {
                break;
            }
            if let Some(stream) = self.stream_mut(id, way) {
                stream.outstanding += segment.len();
            }
            self.send_part(now, id, way, Part::Bytes(segment.into()));
            taken += segment.len();
        }
        taken
    }

    /// The receiver has taken so many bytes.
    pub fn taken(&mut self, id: u64, way: Way, bytes: usize) {
        if let Some(stream) = self.stream_mut(id, way) {
            stream.outstanding = stream.outstanding.saturating_sub(bytes);
        }
    }

    /// The sender will send nothing more in this direction.
    pub fn end(&mut self, now: u64, id: u64, way: Way) {
        self.last(now, id, way, Part::End);
    }

    /// The sender has broken the connection off.
    pub fn reset(&mut self, now: u64, id: u64, way: Way) {
        self.last(now, id, way, Part::Reset);
    }

    /// Both ends are done with it.
    pub fn forget(&mut self, id: u64) {
        self.connections.remove(&id);
        for lane in [&mut self.up, &mut self.down] {
            lane.again.retain(|again| again.packet.id != id);
        }
    }

    /// What has come through by now, the earliest first.
    pub fn poll(&mut self, now: u64) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let way = self.next_due(now)?;
            self.step(now, way);
        }
    }

    /// When there is something to poll for.
    pub fn deadline(&self) -> Option<u64> {
        if !self.ready.is_empty() {
            return Some(0);
        }
        [&self.up, &self.down]
            .into_iter()
            .filter_map(Lane::deadline)
            .min()
    }

    /// What a direction carried.
    pub fn tally(&self, way: Way) -> Tally {
        self.lane(way).tally
    }

    /// Connections that are not forgotten.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Bytes that wait for the line or are on it.
    pub fn queued(&self, now: u64, way: Way) -> u64 {
        self.lane(way).path.queued(now)
    }

    fn next_due(&self, now: u64) -> Option<Way> {
        let up = self.up.deadline().filter(|at| *at <= now);
        let down = self.down.deadline().filter(|at| *at <= now);
        match (up, down) {
            (None, None) => None,
            (Some(up), Some(down)) if down < up => Some(Way::Down),
            (Some(_), _) => Some(Way::Up),
            (None, Some(_)) => Some(Way::Down),
        }
    }

    /// Does what is due first on a lane.
    fn step(&mut self, now: u64, way: Way) {
        let back = nanos(self.lane(way.back()).direction.delay);
        let lane = self.lane_mut(way);
        if let Some(at) = lane.again_at().filter(|at| *at <= now)
            && lane.path.deadline().is_none_or(|next| at <= next)
        {
            return lane.send_again(at, back);
        }
        if let Some(packet) = lane.path.poll(now) {
            self.arrives(way, packet);
        }
    }

    fn arrives(&mut self, way: Way, packet: Packet) {
        let id = packet.id;
        let Some(stream) = self.stream_mut(id, way) else {
            return;
        };
        stream.arrives(packet.number, packet.part);
        while let Some(part) = self.stream_mut(id, way).and_then(Stream::take) {
            let event = match (part, way) {
                (Part::Begin, Way::Up) => Event::Connect(id),
                (Part::Begin, Way::Down) => Event::Open(id),
                (Part::Refuse, _) => Event::Refused(id),
                (Part::End, way) => Event::End(id, way),
                (Part::Reset, way) => Event::Reset(id, way),
                (Part::Bytes(bytes), way) => {
                    self.lane_mut(way).tally.bytes += bytes.len() as u64;
                    Event::Bytes(id, way, bytes)
                }
            };
            self.ready.push_back(event);
        }
    }

    fn last(&mut self, now: u64, id: u64, way: Way, part: Part) {
        match self.stream_mut(id, way) {
            Some(stream) if !stream.ended => stream.ended = true,
            _ => return,
        }
        self.send_part(now, id, way, part);
    }

    fn send_part(&mut self, now: u64, id: u64, way: Way, part: Part) {
        let back = nanos(self.lane(way.back()).direction.delay);
        let Some(stream) = self.stream_mut(id, way) else {
            return;
        };
        let number = stream.number();
        let packet = Packet { id, number, part };
        self.lane_mut(way).send(now, packet, 0, back);
    }

    fn stream(&self, id: u64, way: Way) -> Option<&Stream> {
        let [up, down] = self.connections.get(&id)?;
        Some(if way == Way::Up { up } else { down })
    }

    fn stream_mut(&mut self, id: u64, way: Way) -> Option<&mut Stream> {
        let [up, down] = self.connections.get_mut(&id)?;
        Some(if way == Way::Up { up } else { down })
    }

    fn lane(&self, way: Way) -> &Lane {
        if way == Way::Up { &self.up } else { &self.down }
    }

    fn lane_mut(&mut self, way: Way) -> &mut Lane {
        match way {
            Way::Up => &mut self.up,
            Way::Down => &mut self.down,
        }
    }
}

/// The bytes of a full segment on the line.
const FULL_SEGMENT: u64 = SEGMENT as u64 + HEADERS;

impl Lane {
    fn deadline(&self) -> Option<u64> {
        [self.path.deadline(), self.again_at()]
            .into_iter()
            .flatten()
            .min()
    }

    fn again_at(&self) -> Option<u64> {
        self.again.iter().map(|again| again.at).min()
    }

    /// Sends what is due to be sent again first.
    fn send_again(&mut self, at: u64, back: u64) {
        let Some(n) = self.again.iter().position(|again| again.at == at) else {
            return;
        };
        let again = self.again.swap_remove(n);
        self.tally.again += 1;
        self.send(at, again.packet, again.tries + 1, back);
    }

    /// Puts a packet on the line; `back` is how long an answer takes.
    fn send(&mut self, now: u64, packet: Packet, tries: u32, back: u64) {
        let timeout = match packet.part {
            Part::Begin | Part::Refuse => BEGIN_TIMEOUT,
            _ => TIMEOUT,
        } << tries.min(MOST_DOUBLINGS);
        self.tally.packets += 1;
        let lost_at = match self.path.push(now, packet.part.size(), packet.clone()) {
            Outcome::Sent { waits, arrives } => {
                self.tally.waited += waits;
                self.tally.longest = self.tally.longest.max(waits);
                return self.seen(&packet, arrives, back);
            }
            Outcome::Lost { at } => {
                self.tally.lost += 1;
                at
            }
            Outcome::Full => {
                self.tally.full += 1;
                now
            }
        };
        let begins = timeout >= BEGIN_TIMEOUT && tries == 0 && packet.number == 0;
        // Before the first answer a sender does not know how long a round trip takes.
        let round_trip = match begins {
            true => 0,
            false => lost_at - now + back,
        };
        self.again.push(LostPacket {
            packet,
            at: now.saturating_add(timeout).saturating_add(round_trip),
            tries,
            later: 0,
        });
    }

    /// A packet arrives: what was lost before it is missed sooner.
    fn seen(&mut self, packet: &Packet, arrives: u64, back: u64) {
        let missed = self
            .again
            .iter_mut()
            .filter(|lost| lost.packet.id == packet.id && lost.packet.number < packet.number);
        for lost in missed {
            lost.later = lost.later.saturating_add(1);
            if lost.later == LATER {
                lost.at = lost.at.min(arrives.saturating_add(back));
            }
        }
    }
}
