//! Time passes: event after event.

mod connecting;
mod happening;
mod publishing;
mod requesting;
mod set_up;
mod summing;

use std::ops::ControlFlow;

use link::{HEADERS, LinkDirection, SEGMENT};
use plan::Random;

use crate::event::{Event, What};
use crate::outcome::{Busy, LinkUse, Mark, Outcome};
use crate::queue::Queue;
use crate::recorders::{Recorder, Recorders, Whose};
use crate::session::Session;
use crate::world::{Kind, World};

/// The shortest timeout of a retransmission that Linux has (TCP_RTO_MIN).
const TIMEOUT: u64 = 200_000_000;
/// The first timeout of a connection's beginning (RFC 6298, 2.1).
const BEGIN_TIMEOUT: u64 = 1_000_000_000;
/// So many later segments tell a sender that one is lost (RFC 5681, 3.2).
const LATER: u64 = 3;
/// A timeout doubles each time, up to 2^9 of the first: the 120 s of Linux, nearly.
const MOST_DOUBLINGS: u32 = 9;
/// No link.
const NO_LINK: u32 = u32::MAX;

/// A world whose time passes.
#[derive(Debug)]
pub struct Engine<'a> {
    world: &'a World,
    queue: Queue,
    now: u64,
    nodes: Vec<Node>,
    /// When each core is free, node after node.
    cores: Vec<u64>,
    sessions: Vec<Session>,
    links: Vec<Carrier>,
    /// The first carrier of each of the world's links, and one more.
    first_carrier: Vec<usize>,
    /// The first node of each kind, and one more.
    first_node: Vec<usize>,
    recorders: Recorders,
    whose: Vec<Whose>,
    random: Random,
    look_every: u64,
    looked_at: u64,
    busy: Vec<Busy>,
    uses: Vec<LinkUse>,
    marks: Vec<Mark>,
    events: u64,
}

/// A server.
#[derive(Debug)]
struct Node {
    kind: u32,
    link: u32,
    first_core: u32,
    first_session: u32,
    /// Raised when it stops: what it was busy with is gone.
    epoch: u16,
    /// Outages that it is in.
    stopped: u16,
    /// When a round of its update loop is due, from time 0 on.
    update_phase: u64,
    /// CPU time of all jobs that were taken on.
    cpu: u64,
    /// Of it, what was done by the last look.
    cpu_seen: u64,
}

/// A link, both ways.
#[derive(Debug)]
struct Carrier {
    ways: [LinkDirection; 2],
    /// Bits per second, or none.
    rates: [Option<u64>; 2],
    /// Outages that it is in.
    cut: u16,
    bytes: [u64; 2],
    seen: [u64; 2],
    /// There and back without anything in the way.
    round_trip: u64,
    lost: u64,
}

/// Which way, as an index.
const UP: usize = 0;
const DOWN: usize = 1;

/// What was lost of a message.
#[derive(Debug, Clone, Copy)]
struct Lost {
    bytes: u64,
    /// When it is sent again.
    again: u64,
}

impl Carrier {
    /// Carries a message, in as many segments as it takes; or says what of it has to be sent again. `tries`: how often
    /// that was done.
    fn carry(&mut self, way: usize, now: u64, bytes: u64, tries: u32) -> Result<u64, Lost> {
        let wait = |later: u64, round_trip: u64| match later >= LATER {
            true => round_trip,
            false => (TIMEOUT + round_trip) << tries.min(MOST_DOUBLINGS),
        };
        if self.cut > 0 {
            self.lost += 1;
            let again = now + wait(0, self.round_trip);
            return Err(Lost { bytes, again });
        }
        let mut left = bytes.max(1);
        let (mut arrived, mut lost, mut later) = (now, 0, 0);
        while left > 0 {
            let segment = left.min(SEGMENT as u64);
            left -= segment;
            self.bytes[way] += segment + HEADERS;
            let (outcome, _) = self.ways[way].pass(now, segment + HEADERS);
            match outcome {
                link::Outcome::Sent { arrives, .. } => {
                    arrived = arrived.max(arrives);
                    later += u64::from(lost > 0);
                }
                _ => {
                    lost += segment;
                    self.lost += 1;
                }
            }
        }
        match lost {
            0 => Ok(arrived),
            bytes => Err(Lost {
                bytes,
                again: now + wait(later, self.round_trip),
            }),
        }
    }
}

impl<'a> Engine<'a> {
    /// Lets all of its time pass. `look` is asked from time to time, and may end it early.
    pub fn run(mut self, mut look: impl FnMut(u64) -> ControlFlow<()>) -> Outcome {
        let mut end = self.world.length;
        while let Some(event) = self.queue.pop() {
            if event.at > end {
                break;
            }
            self.now = event.at;
            self.events += 1;
            if event.what() == What::Look {
                self.look();
                if look(self.now).is_break() {
                    end = self.now;
                    break;
                }
                self.plan(self.look_every, What::Look, 0, 0);
                continue;
            }
            self.deal(event);
        }
        self.sum_up(end)
    }

    /// Looks at nothing on the way.
    pub fn finish(self) -> Outcome {
        self.run(|_| ControlFlow::Continue(()))
    }

    #[inline]
    fn deal(&mut self, event: Event) {
        let (index, epoch) = (event.index(), event.epoch());
        let at = index as usize;
        match event.what() {
            What::Publish => self.publishing_due(at, epoch),
            What::Published => self.published(at, epoch),
            What::Arrives => self.arrives(at, epoch),
            What::Token => self.token(at, epoch),
            What::Update => self.update(at),
            What::AgainDown => self.again_down(at, epoch),
            What::AgainUp => self.again_up(at, epoch),
            What::Watchdog => self.watchdog(at, epoch),
            What::Connect => self.connect(at, epoch),
            What::AgainStep => self.ask_step(at, epoch),
            What::StepAsked => self.step_asked(at, epoch),
            What::StepDone => self.step_done(at, epoch),
            What::StepTaken => self.step_taken(at, epoch),
            What::GiveUp => self.give_up(at, epoch),
            What::Request => self.request(at),
            What::AgainRequest => self.send_request(at, epoch, 1),
            What::Asked => self.asked(at, epoch),
            What::Answered => self.answered(at, epoch),
            What::Taken => self.taken(at, epoch),
            What::Happens => self.happens(at),
            What::Over => self.over(at),
            What::Look => {}
        }
    }

    /// Something is due so much later.
    #[inline]
    fn plan(&mut self, later: u64, what: What, epoch: u16, index: usize) {
        let at = self.now + later;
        self.plan_at(at, what, epoch, index);
    }

    /// Something is due at a time; what is due beyond the end never is.
    #[inline]
    fn plan_at(&mut self, at: u64, what: What, epoch: u16, index: usize) {
        if at <= self.world.length {
            self.queue.push(Event::new(at, what, epoch, index as u32));
        }
    }

    fn kind(&self, session: usize) -> &'a Kind {
        let world: &'a World = self.world;
        &world.kinds[self.sessions[session].kind as usize]
    }

    fn recorder(&mut self, session: usize) -> &mut Recorder {
        &mut self.recorders.all[self.sessions[session].recorder as usize]
    }

    /// A server takes a job on: first come, first served, by whichever of its cores is free first. When it is done.
    #[inline]
    fn work(&mut self, node: usize, cost: u64) -> u64 {
        let kind = &self.world.kinds[self.nodes[node].kind as usize];
        let stretched = stretched(kind, cost);
        let it = &mut self.nodes[node];
        it.cpu += cost;
        let first = it.first_core as usize;
        let cores = &mut self.cores[first..first + kind.cores as usize];
        let mut free = 0;
        for n in 1..cores.len() {
            if cores[n] < cores[free] {
                free = n;
            }
        }
        let wait = cores[free].saturating_sub(self.now);
        let done = self.now + wait + stretched;
        cores[free] = done;
        let busy = &mut self.busy[it.kind as usize];
        busy.longest_wait = busy.longest_wait.max(wait);
        done
    }

    /// Carries a message of a session; when it arrives, or what is to be sent again.
    #[inline]
    fn carry(&mut self, session: usize, way: usize, bytes: u64, tries: u32) -> Result<u64, Lost> {
        let node = &self.nodes[self.sessions[session].node as usize];
        match node.link {
            NO_LINK => Ok(self.now),
            link => self.links[link as usize].carry(way, self.now, bytes, tries),
        }
    }
}

/// How long a job takes where a part of the cores is busy with something else.
#[inline]
fn stretched(kind: &Kind, cost: u64) -> u64 {
    let left = 1.0 - kind.background / f64::from(kind.cores);
    (cost as f64 / left) as u64
}
