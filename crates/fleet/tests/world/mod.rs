//! A world for fleets: its time is what the controller's clock shows.

use std::collections::BTreeMap;

use fleet::frame::{Frames, PREAMBLE, encode, pack, unpack};
use fleet::{
    Agent, Band, Controller, Event, FromAgent, Hello, Settings, Share, Stage, Stamp, Task, ToAgent,
    deal,
};
use plan::Seat;
use record::{Ledger, Tally, Times};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
/// Agents are ready so long after they had their share.
const PREPARES: u64 = 50 * MS;
const VERSION: &str = "1.2.3";

/// What is loaded, and by whom.
#[derive(Clone)]
pub struct Shape {
    pub sessions: u32,
    pub seed: u64,
    /// The load goes on for so long.
    pub long: u64,
    /// By how much clocks are ahead and too fast, in turn.
    pub agents: Vec<(i64, f64)>,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            sessions: 30,
            seed: 1,
            long: 5 * S,
            agents: vec![(0, 0.0), (7 * S as i64, 50e-6), (-2 * S as i64, -80e-6)],
        }
    }
}

/// What happens to one of the agents.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// It dies at this stage, and its pipe ends.
    Closes(Stage),
    /// Its host is gone from the network.
    FallsSilent(Stage),
    /// It says this instead of working.
    Says(FromAgent),
    /// It cannot do its share.
    Fails(&'static str),
}

/// How an agent began.
#[derive(Clone, Copy)]
pub struct Begin {
    /// In the world's time.
    pub at_ns: u64,
    /// What the controller thought of its clock.
    pub band: Band,
    /// The truth.
    pub ahead: f64,
}

#[derive(Default)]
pub struct Outcome {
    pub results: Vec<(usize, Tally)>,
    pub lost: Vec<(usize, Stage, String)>,
    pub failed: Vec<(usize, String)>,
    pub mismatched: Vec<(usize, String)>,
    pub begins: Vec<Option<Begin>>,
    pub start_ns: Option<u64>,
    pub stopped: Vec<Option<(u64, String)>>,
    pub over: bool,
    pub last: Option<Event>,
    pub messages: u64,
    pub control_bytes: u64,
    pub book_bytes: u64,
}

/// xorshift64*, which is enough for delays.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) % limit
    }
}

/// What a session does, up to a time: a function of its seat alone.
fn operations(seat: Seat, until: u64) -> impl Iterator<Item = (Times, u32)> {
    let mut chance = Chance(u64::from(seat.index) * 7919 + 1);
    let mut at = chance.below(10 * MS);
    std::iter::from_fn(move || {
        let times = Times {
            planned: at,
            sent: at + chance.below(MS / 10),
            completed: at + MS / 2 + chance.below(80 * MS),
        };
        let status = [0, 0, 0, 0x8001_0000][chance.below(4) as usize];
        at = times.completed + chance.below(20 * MS);
        (times.completed < until).then_some((times, status))
    })
}

fn written_down(seats: &[Seat], until: u64, long: u64) -> Tally {
    let mut all: Vec<(Times, u32)> = seats
        .iter()
        .flat_map(|&seat| operations(seat, until))
        .collect();
    all.sort_by_key(|(times, _)| times.completed);
    let mut ledger = Ledger::with_end(long).with_cuts(&[S / 2 + 1234]);
    for (times, status) in all {
        ledger.done(times, status, 1, 1);
    }
    let mut tally = ledger.finish();
    tally.end_ns = Some(long);
    tally
}

/// The results of one agent that has all sessions.
pub fn alone(shape: &Shape) -> Tally {
    let seats = deal(1, shape.sessions, &[1]).concat();
    written_down(&seats, shape.long, shape.long)
}

#[derive(Clone, Copy, PartialEq)]
enum Does {
    Nothing,
    Prepares { until: u64 },
    Waits,
    Runs { from: u64, next: u64 },
    IsDone,
}

struct Host {
    agent: Agent,
    frames: Frames,
    ahead_ns: i64,
    drift: f64,
    seats: Vec<Seat>,
    does: Does,
    dead: bool,
    greets: bool,
    /// When it has something to do by itself.
    due: u64,
}

impl Host {
    fn ahead(&self, at: u64) -> i64 {
        self.ahead_ns + (at as f64 * self.drift) as i64
    }

    fn shows(&self, at: u64) -> Stamp {
        Stamp {
            mono_ns: at.saturating_add_signed(self.ahead(at)),
            utc_ns: at as i64 + self.ahead(at),
        }
    }

    /// When it has something to do next, in the world's time.
    fn next(&self) -> u64 {
        let silence = self.agent.poll_timeout().map(|at| self.back(at) + 1);
        let work = match self.does {
            Does::Prepares { until } => until,
            Does::Runs { next, .. } => next,
            _ => u64::MAX,
        };
        work.min(silence.unwrap_or(u64::MAX))
    }

    /// In the world's time.
    fn back(&self, mono_ns: u64) -> u64 {
        let mut at = mono_ns.saturating_add_signed(-self.ahead_ns);
        for _ in 0..3 {
            at = mono_ns.saturating_add_signed(-self.ahead(at));
        }
        at
    }
}

enum Delivery {
    ToAgent(usize, Vec<u8>),
    FromAgent(usize, Vec<u8>),
    Closed(usize),
    ControllerGone(usize),
}

pub struct World {
    now: u64,
    controller: Controller,
    frames: Vec<Frames>,
    hosts: Vec<Host>,
    chance: Chance,
    mail: BTreeMap<(u64, u64), Delivery>,
    /// Pipes keep their order: when the last thing on each way arrives.
    ways: Vec<[u64; 2]>,
    sent: u64,
    shape: Shape,
    outcome: Outcome,
    pub fault: Option<(usize, Fault)>,
    pub versions: Vec<String>,
    pub stop_at: Option<u64>,
    pub controller_dies: Option<(u64, bool)>,
}

fn stamp(at: u64) -> Stamp {
    Stamp {
        mono_ns: at,
        utc_ns: at as i64,
    }
}

impl World {
    pub fn new(shape: Shape, agents: usize) -> Self {
        let now = S;
        let host = |n: usize| {
            let (ahead_ns, drift) = shape.agents[n % shape.agents.len()];
            Host {
                agent: Agent::new(Hello::default(), u64::MAX, stamp(0)),
                frames: Frames::default(),
                // Clocks of agents show no time before zero.
                ahead_ns: ahead_ns + 10 * S as i64,
                drift,
                seats: Vec::new(),
                does: Does::Nothing,
                dead: false,
                greets: true,
                due: 0,
            }
        };
        Self {
            now,
            controller: Controller::new(VERSION, agents, Settings::default(), stamp(now)),
            frames: (0..agents).map(|_| Frames::default()).collect(),
            hosts: (0..agents).map(host).collect(),
            chance: Chance(shape.seed * 2 + 1),
            mail: BTreeMap::new(),
            ways: vec![[0; 2]; agents],
            sent: 0,
            outcome: Outcome {
                begins: vec![None; agents],
                stopped: vec![None; agents],
                ..Outcome::default()
            },
            fault: None,
            versions: vec![VERSION.to_owned(); agents],
            stop_at: None,
            controller_dies: None,
            shape,
        }
    }

    fn post(&mut self, agent: usize, way: usize, delivery: Delivery) {
        let delay = 20_000 + self.chance.below(3 * MS);
        let at = (self.now + delay).max(self.ways[agent][way]);
        self.ways[agent][way] = at;
        self.sent += 1;
        self.mail.insert((at, self.sent), delivery);
    }

    fn strikes(&self, agent: usize, stage: Stage) -> bool {
        matches!(&self.fault, Some((who, Fault::Closes(at) | Fault::FallsSilent(at)))
            if *who == agent && *at == stage)
    }

    /// Dies, if that is what happens to it at this stage.
    fn dies(&mut self, agent: usize, stage: Stage) -> bool {
        if self.hosts[agent].dead || !self.strikes(agent, stage) {
            return self.hosts[agent].dead;
        }
        self.hosts[agent].dead = true;
        if let Some((_, Fault::Closes(_))) = self.fault {
            self.post(agent, 1, Delivery::Closed(agent));
        }
        true
    }

    pub fn play(mut self) -> Outcome {
        for agent in 0..self.hosts.len() {
            let host = &mut self.hosts[agent];
            let hello = Hello {
                version: self.versions[agent].clone(),
                ..Hello::default()
            };
            host.agent = Agent::new(hello, 60 * S, host.shows(self.now));
            host.frames.push(PREAMBLE);
            self.frames[agent].push(PREAMBLE);
            self.dies(agent, Stage::Greeting);
        }
        // An hour is more than any of this may take.
        while self.now < 3600 * S {
            self.turn();
            if self.outcome.over || self.outcome.stopped.iter().all(Option::is_some) {
                break;
            }
            let Some(next) = self.next() else { break };
            self.now = next.max(self.now);
        }
        self.outcome
    }

    fn controller_is_gone(&self) -> Option<bool> {
        let (at, silent) = self.controller_dies?;
        (self.now >= at).then_some(silent)
    }

    fn next(&self) -> Option<u64> {
        let mut at: Vec<u64> = self.mail.keys().map(|(at, _)| *at).take(1).collect();
        match self.controller_is_gone() {
            Some(_) => {}
            None => {
                at.extend(self.controller.poll_timeout());
                at.extend(self.controller_dies.map(|(at, _)| at));
                at.extend(self.stop_at);
            }
        }
        let alive = self.hosts.iter().filter(|it| !it.dead);
        at.extend(alive.map(|it| it.due).min());
        at.into_iter().min()
    }

    fn turn(&mut self) {
        while let Some((&(at, n), _)) = self.mail.first_key_value()
            && at <= self.now
        {
            let delivery = self.mail.remove(&(at, n)).unwrap();
            self.deliver(delivery);
        }
        if let Some((at, silent)) = self.controller_dies
            && at == self.now
            && !silent
        {
            for agent in 0..self.hosts.len() {
                self.post(agent, 0, Delivery::ControllerGone(agent));
            }
            self.now += 1;
        }
        if self.controller_is_gone().is_none() {
            self.control();
        }
        for agent in 0..self.hosts.len() {
            if !self.hosts[agent].dead && self.hosts[agent].due <= self.now {
                self.work(agent);
                self.hosts[agent].due = self.hosts[agent].next();
            }
        }
    }

    fn deliver(&mut self, delivery: Delivery) {
        let now = self.now;
        match delivery {
            Delivery::ToAgent(agent, bytes) => {
                let host = &mut self.hosts[agent];
                if host.dead {
                    return;
                }
                host.due = now;
                host.frames.push(&bytes);
                while let Some(message) = host.frames.poll::<ToAgent>().unwrap() {
                    let at = host.shows(now);
                    host.agent.receive(message, at);
                }
            }
            Delivery::FromAgent(agent, bytes) => {
                if self.controller_is_gone().is_some() {
                    return;
                }
                self.frames[agent].push(&bytes);
                while let Some(message) = self.frames[agent].poll::<FromAgent>().unwrap() {
                    self.controller.receive(agent, message, stamp(now));
                }
            }
            Delivery::Closed(agent) => self.controller.closed(agent, "its pipe ended", stamp(now)),
            Delivery::ControllerGone(agent) => {
                self.hosts[agent].due = now;
                self.hosts[agent].agent.closed("the pipe ended");
            }
        }
    }

    fn control(&mut self) {
        let now = stamp(self.now);
        self.controller.handle_timeout(now);
        if self.stop_at.take_if(|at| *at <= self.now).is_some() {
            self.controller.stop();
        }
        while let Some(event) = self.controller.poll_event() {
            self.outcome.last = Some(event.clone());
            match event {
                Event::Mismatched { agent, version } => {
                    self.outcome.mismatched.push((agent, version))
                }
                Event::Gathered => {
                    let weight = |n| u32::from(self.controller.stage(n) == Stage::Waiting);
                    let weights: Vec<u32> = (0..self.hosts.len()).map(weight).collect();
                    let hands = deal(1, self.shape.sessions, &weights);
                    for (agent, seats) in hands.into_iter().enumerate() {
                        let task = Vec::new();
                        let share = Share {
                            seats,
                            task,
                            proof: None,
                        };
                        self.controller.share(agent, share);
                    }
                }
                Event::Start { at_ns } => {
                    self.outcome.start_ns = Some(at_ns);
                    for (agent, host) in self.hosts.iter().enumerate() {
                        let band = self.controller.bands(agent).and_then(|it| it.mono(at_ns));
                        self.outcome.begins[agent] = band.map(|band| Begin {
                            at_ns: 0,
                            band,
                            ahead: host.ahead(at_ns) as f64,
                        });
                    }
                }
                Event::Progress { .. } => {}
                Event::Results { agent, bytes } => {
                    self.outcome.book_bytes += bytes.len() as u64;
                    self.outcome.control_bytes -= bytes.len() as u64;
                    let tally: Tally = unpack(&bytes).unwrap();
                    self.outcome.results.push((agent, tally));
                    self.controller.taken(agent);
                }
                Event::Failed { agent, why } => self.outcome.failed.push((agent, why)),
                Event::Lost { agent, stage, why } => self.outcome.lost.push((agent, stage, why)),
                Event::Over => self.outcome.over = true,
            }
        }
        self.outcome.results.sort_by_key(|(agent, _)| *agent);
        while let Some((agent, message)) = self.controller.poll_transmit(now) {
            let bytes = encode(&message).unwrap();
            self.outcome.messages += 1;
            self.outcome.control_bytes += bytes.len() as u64;
            self.post(agent, 0, Delivery::ToAgent(agent, bytes));
        }
    }

    fn work(&mut self, agent: usize) {
        let (now, long) = (self.now, self.shape.long);
        let at = self.hosts[agent].shows(now);
        self.hosts[agent].agent.handle_timeout(at);
        while let Some(task) = self.hosts[agent].agent.poll_task() {
            let host = &mut self.hosts[agent];
            match task {
                Task::Share(share) => {
                    host.seats = share.seats;
                    host.does = Does::Prepares {
                        until: now + PREPARES,
                    };
                    if let Some((who, Fault::Fails(why))) = self.fault
                        && who == agent
                    {
                        host.does = Does::IsDone;
                        host.agent.failed(why);
                    }
                    self.dies(agent, Stage::Preparing);
                }
                Task::Start { at_ns } => {
                    let from = host.back(at_ns);
                    host.does = Does::Runs {
                        from,
                        next: from + 500 * MS,
                    };
                    if let Some(begin) = &mut self.outcome.begins[agent] {
                        begin.at_ns = from;
                    }
                }
                Task::Stop => match host.does {
                    Does::Runs { from, .. } => self.results(agent, now.saturating_sub(from)),
                    _ => {
                        host.does = Does::IsDone;
                        host.agent.failed("stopped before it began");
                    }
                },
                Task::Orphaned { why } => {
                    host.does = Does::IsDone;
                    self.outcome.stopped[agent] = Some((now, why));
                }
                // Of roles, which have no seats.
                Task::Word(_) => {}
                Task::Leave { .. } => host.does = Does::IsDone,
            }
        }
        match self.hosts[agent].does {
            Does::Prepares { until } if until <= now => {
                self.hosts[agent].does = Does::Waits;
                self.hosts[agent].agent.ready(0);
                self.say(agent);
                self.dies(agent, Stage::Ready);
            }
            Does::Runs { from, next } if next <= now => {
                if now >= from + long {
                    self.results(agent, long);
                } else {
                    self.hosts[agent].does = Does::Runs {
                        from,
                        next: (now + 500 * MS).min(from + long),
                    };
                    self.hosts[agent].agent.progress(vec![0; 20]);
                    self.say(agent);
                    self.dies(agent, Stage::Running);
                }
            }
            _ => {}
        }
        self.say(agent);
    }

    fn results(&mut self, agent: usize, until: u64) {
        self.hosts[agent].does = Does::IsDone;
        let tally = written_down(&self.hosts[agent].seats, until, self.shape.long);
        let bytes = pack(&tally).unwrap();
        if self.strikes(agent, Stage::Booking) {
            // One part of two.
            let half = FromAgent::Results {
                bytes: bytes[..bytes.len() / 2].to_vec(),
                last: false,
            };
            self.post_from(agent, &half);
            self.dies(agent, Stage::Booking);
            return;
        }
        self.hosts[agent].agent.results(&bytes);
    }

    fn say(&mut self, agent: usize) {
        let at = self.hosts[agent].shows(self.now);
        while !self.hosts[agent].dead
            && let Some(message) = self.hosts[agent].agent.poll_transmit(at)
        {
            self.post_from(agent, &message);
            let says = match &self.fault {
                Some((who, Fault::Says(says))) if *who == agent => Some(says.clone()),
                _ => None,
            };
            if let Some(says) = says.filter(|_| std::mem::take(&mut self.hosts[agent].greets)) {
                self.post_from(agent, &says);
            }
            if matches!(message, FromAgent::Hello(_)) {
                self.dies(agent, Stage::Waiting);
            }
        }
    }

    fn post_from(&mut self, agent: usize, message: &FromAgent) {
        let bytes = encode(message).unwrap();
        self.outcome.messages += 1;
        self.outcome.control_bytes += bytes.len() as u64;
        self.post(agent, 1, Delivery::FromAgent(agent, bytes));
    }
}
