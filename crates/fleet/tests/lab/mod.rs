//! A controller, its agents and the ways between them in virtual time, with disks that outlive them; one of them is
//! killed at the message that is named.

use std::collections::BTreeMap;

use fleet::frame::{pack, unpack};
use fleet::{
    Agent, Controller, Event, FromAgent, Hello, Settings, Share, Stage, Stamp, Task, ToAgent, deal,
};
use plan::Seat;

use crate::table::{Kill, Phase};

pub const MS: u64 = 1_000_000;
pub const S: u64 = 1_000 * MS;
/// The load goes on for so long.
pub const LONG: u64 = 5 * S;
/// A pause after which nobody is given up.
const SHORT: u64 = 5 * S;
/// One after which everybody is.
const TOO_LONG: u64 = 15 * S;
const VERSION: &str = "1";
pub const AGENTS: usize = 3;
pub const SESSIONS: u32 = 6;
/// Whom it happens to.
pub const VICTIM: usize = 1;

/// What a session did: up to this time of the load.
pub type Results = Vec<(Seat, u64)>;

/// What is on disks.
#[derive(Debug, Clone, Default)]
pub struct Disks {
    /// Who has which sessions, as the controller wrote it down.
    pub ledger: Option<Vec<Vec<Seat>>>,
    /// The controller's: the results that came.
    pub taken: Vec<Option<Results>>,
    /// The agents'.
    pub shelves: Vec<Option<Results>>,
}

/// What became of it.
#[derive(Debug, Default)]
pub struct Played {
    /// It has come to its end by itself.
    pub over: bool,
    /// The controller's process was killed.
    pub killed: bool,
    pub interrupted: bool,
    /// Whose loss was noticed, and at which stage.
    pub lost: Vec<Option<Stage>>,
    pub failed: Vec<Option<String>>,
    /// By how much an agent began later than it was to.
    pub late: u64,
    pub struck: Option<u64>,
    /// When each made its last load.
    pub loaded: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Does {
    Nothing,
    Prepares { until: u64 },
    Waits,
    Runs { from: u64, next: u64 },
}

struct Host {
    agent: Agent,
    does: Does,
    seats: Vec<Seat>,
    /// It stands still until then.
    asleep: u64,
    /// Its process has ended.
    gone: bool,
}

#[derive(Debug)]
enum Mail {
    To(ToAgent),
    From(FromAgent),
    /// The other end is gone: for the agent, for the controller.
    EndTo,
    EndFrom,
}

const TO: usize = 0;
const FROM: usize = 1;

/// All of them.
pub struct Lab<'a> {
    now: u64,
    chance: u64,
    controller: Option<Controller>,
    /// It stands still until then.
    asleep: u64,
    hosts: Vec<Host>,
    /// Agents by their places in the ledger.
    who: Vec<usize>,
    mail: BTreeMap<(u64, u64), (usize, Mail)>,
    sent: u64,
    ways: Vec<[u64; 2]>,
    /// Nothing comes through before then.
    held: Vec<[u64; 2]>,
    strike: Option<(Kill, Phase)>,
    disks: &'a mut Disks,
    played: Played,
    /// It is told to end.
    interrupt: bool,
    late: bool,
}

fn stamp(at: u64) -> Stamp {
    Stamp {
        mono_ns: at,
        utc_ns: at as i64,
    }
}

impl<'a> Lab<'a> {
    /// A load.
    pub fn load(disks: &'a mut Disks, strike: Option<(Kill, Phase)>, seed: u64) -> Played {
        disks.taken = vec![None; AGENTS];
        disks.shelves = vec![None; AGENTS];
        Self::new(disks, (0..AGENTS).collect(), false, strike, seed).play()
    }

    /// Late results, of whoever has any and was not heard.
    pub fn collect(disks: &'a mut Disks, strike: Option<(Kill, Phase)>, seed: u64) -> Played {
        let hands = disks.ledger.clone().unwrap_or_default();
        let wanted = (0..hands.len()).filter(|&n| !hands[n].is_empty() && disks.taken[n].is_none());
        let who: Vec<usize> = wanted.collect();
        if who.is_empty() {
            return Played::default();
        }
        Self::new(disks, who, true, strike, seed).play()
    }

    fn new(
        disks: &'a mut Disks,
        who: Vec<usize>,
        late: bool,
        strike: Option<(Kill, Phase)>,
        seed: u64,
    ) -> Self {
        let now = S;
        let n = who.len();
        let hello = || Hello {
            version: VERSION.to_owned(),
            ..Hello::default()
        };
        let host = |_| Host {
            agent: Agent::new(hello(), 10 * S, stamp(now)),
            does: Does::Nothing,
            seats: Vec::new(),
            asleep: 0,
            gone: false,
        };
        Self {
            now,
            chance: seed * 2 + 1,
            controller: Some(Controller::new(VERSION, n, Settings::default(), stamp(now))),
            asleep: 0,
            hosts: (0..n).map(host).collect(),
            who,
            mail: BTreeMap::new(),
            sent: 0,
            ways: vec![[0; 2]; n],
            held: vec![[0; 2]; n],
            strike,
            disks,
            played: Played {
                lost: vec![None; n],
                failed: vec![None; n],
                loaded: vec![0; n],
                ..Played::default()
            },
            interrupt: false,
            late,
        }
    }

    fn post(&mut self, agent: usize, way: usize, mail: Mail) {
        self.chance ^= self.chance >> 12;
        self.chance ^= self.chance << 25;
        self.chance ^= self.chance >> 27;
        let delay = 20_000 + self.chance.wrapping_mul(0x2545_F491_4F6C_DD1D) % (3 * MS);
        let at = (self.now + delay).max(self.ways[agent][way]);
        self.ways[agent][way] = at;
        self.sent += 1;
        self.mail.insert((at, self.sent), (agent, mail));
    }

    fn strike(&mut self, agent: usize, phase: Phase) {
        let Some((kill, at)) = self.strike else {
            return;
        };
        if at != phase || self.who[agent] != VICTIM || self.played.struck.is_some() {
            return;
        }
        self.played.struck = Some(self.now);
        let short = self.now + SHORT;
        match kill {
            Kill::Agent => {
                self.hosts[agent].gone = true;
                self.post(agent, FROM, Mail::EndFrom);
            }
            Kill::AgentStops => self.hosts[agent].asleep = u64::MAX,
            Kill::AgentPauses => {
                self.hosts[agent].asleep = short;
                self.held[agent][FROM] = short;
            }
            Kill::Controller => {
                self.played.killed = true;
                self.end();
            }
            Kill::ControllerPauses => self.asleep = self.now + TOO_LONG,
            Kill::Interrupt => (self.played.interrupted, self.interrupt) = (true, true),
            Kill::Way => {
                self.post(agent, TO, Mail::EndTo);
                self.post(agent, FROM, Mail::EndFrom);
                // What comes behind that is not heard.
                let end = |it: &(usize, Mail)| matches!(it.1, Mail::EndTo | Mail::EndFrom);
                self.mail.retain(|_, it| it.0 != agent || end(it));
                self.ways[agent] = [u64::MAX; 2];
            }
            Kill::Silence => self.held[agent] = [u64::MAX; 2],
            Kill::ShortSilence => self.held[agent] = [short; 2],
            Kill::OneWay => self.held[agent][FROM] = u64::MAX,
        }
    }

    /// The controller's process ends.
    fn end(&mut self) {
        self.controller = None;
        for agent in 0..self.hosts.len() {
            if self.ways[agent][TO] != u64::MAX {
                self.post(agent, TO, Mail::EndTo);
            }
        }
    }

    fn play(mut self) -> Played {
        // An hour is more than any of this may take.
        while self.now < 3600 * S {
            self.deliver();
            self.control();
            for agent in 0..self.hosts.len() {
                self.work(agent);
            }
            let Some(next) = self.next() else { break };
            self.now = next.max(self.now + 1);
        }
        assert!(self.now < 3600 * S, "somebody waits for ever");
        self.played
    }

    fn next(&self) -> Option<u64> {
        let mail = self.mail.keys().next().map(|(at, _)| *at);
        let control = self.controller.as_ref();
        let due = |it: &Controller| {
            if self.interrupt {
                Some(0)
            } else {
                it.poll_timeout()
            }
        };
        let control = control.and_then(|it| Some(due(it)?.max(self.asleep)));
        let hosts = self
            .hosts
            .iter()
            .filter(|it| !it.gone && it.asleep < u64::MAX);
        let hosts = hosts.filter_map(|it| {
            let work = match it.does {
                Does::Prepares { until } => until,
                Does::Runs { next, .. } => next,
                Does::Nothing | Does::Waits => u64::MAX,
            };
            Some(it.agent.poll_timeout()?.min(work).max(it.asleep))
        });
        mail.into_iter().chain(control).chain(hosts).min()
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.mail.first_entry()
            && entry.key().0 <= self.now
        {
            let ((_, n), (agent, mail)) = entry.remove_entry();
            let way = match mail {
                Mail::To(_) | Mail::EndTo => TO,
                Mail::From(_) | Mail::EndFrom => FROM,
            };
            let asleep = if way == TO {
                self.hosts[agent].asleep
            } else {
                self.asleep
            };
            let later = self.held[agent][way].max(asleep);
            if later > self.now {
                if later < u64::MAX {
                    self.mail.insert((later, n), (agent, mail));
                }
                continue;
            }
            let now = stamp(self.now);
            match (mail, &mut self.controller) {
                (Mail::To(message), _) if !self.hosts[agent].gone => {
                    self.hosts[agent].agent.receive(message, now);
                }
                (Mail::EndTo, _) => self.hosts[agent].agent.closed("its pipe ended"),
                (Mail::From(message), Some(it)) => it.receive(agent, message, now),
                (Mail::EndFrom, Some(it)) => it.closed(agent, "its process ended", now),
                _ => {}
            }
        }
    }

    fn control(&mut self) {
        if self.asleep > self.now {
            return;
        }
        let Some(mut controller) = self.controller.take() else {
            return;
        };
        let now = stamp(self.now);
        controller.handle_timeout(now);
        if std::mem::take(&mut self.interrupt) {
            match self.disks.ledger.is_some() && !self.late {
                true => controller.stop(),
                // The program leaves.
                false => (0..self.hosts.len()).for_each(|agent| controller.dismiss(agent)),
            }
            controller.handle_timeout(now);
        }
        let mut over = false;
        let mut ended = Vec::new();
        while let Some(event) = controller.poll_event() {
            match event {
                Event::Gathered => self.deal(&mut controller),
                Event::Results { agent, bytes } => {
                    let results: Results = unpack(&bytes).unwrap();
                    self.disks.taken[self.who[agent]] = Some(results);
                    controller.taken(agent);
                }
                Event::Failed { agent, why } => self.played.failed[agent] = Some(why),
                Event::Lost { agent, stage, .. } => {
                    self.played.lost[agent] = Some(stage);
                    ended.push(agent);
                }
                Event::Over => over = true,
                Event::Mismatched { .. } | Event::Start { .. } | Event::Progress { .. } => {}
            }
        }
        while let Some((agent, message)) = controller.poll_transmit(now) {
            let phase = match message {
                ToAgent::Share(_) => Some(Phase::Plan),
                ToAgent::Start { .. } => Some(Phase::Barrier),
                ToAgent::Taken => Some(Phase::Taken),
                _ => None,
            };
            phase.into_iter().for_each(|it| self.strike(agent, it));
            if self.played.killed {
                return;
            }
            if self.ways[agent][TO] != u64::MAX {
                self.post(agent, TO, Mail::To(message));
            }
        }
        for agent in ended {
            if self.ways[agent][TO] != u64::MAX {
                self.post(agent, TO, Mail::EndTo);
            }
        }
        match over {
            true => {
                self.played.over = true;
                self.end();
            }
            false => self.controller = Some(controller),
        }
    }

    fn deal(&mut self, controller: &mut Controller) {
        if self.late {
            for agent in 0..self.hosts.len() {
                let task = vec![1];
                controller.share(
                    agent,
                    Share {
                        task,
                        ..Share::default()
                    },
                );
            }
            return;
        }
        let weight = |n| u32::from(controller.stage(n) == Stage::Waiting);
        let weights: Vec<u32> = (0..self.hosts.len()).map(weight).collect();
        let hands = deal(1, SESSIONS, &weights);
        self.disks.ledger = Some(hands.clone());
        for (agent, seats) in hands.into_iter().enumerate() {
            controller.share(
                agent,
                Share {
                    seats,
                    ..Share::default()
                },
            );
        }
    }

    fn work(&mut self, agent: usize) {
        let now = self.now;
        if self.hosts[agent].gone || self.hosts[agent].asleep > now {
            return;
        }
        self.hosts[agent].agent.handle_timeout(stamp(now));
        while let Some(task) = self.hosts[agent].agent.poll_task() {
            self.task(agent, task);
        }
        match self.hosts[agent].does {
            Does::Prepares { until } if until <= now => {
                self.hosts[agent].does = Does::Waits;
                self.hosts[agent].agent.ready(0);
            }
            Does::Runs { from, next } if next <= now => {
                self.played.loaded[agent] = now.min(from + LONG);
                if now >= from + LONG {
                    self.put(agent, LONG);
                    let bytes = pack(&self.disks.shelves[self.who[agent]]);
                    self.tell(agent, bytes.unwrap());
                } else {
                    let next = (now + 500 * MS).min(from + LONG);
                    self.hosts[agent].does = Does::Runs { from, next };
                    self.hosts[agent].agent.progress(vec![0; 20]);
                }
            }
            _ => {}
        }
        self.say(agent);
    }

    /// Writes down what was done until then.
    fn put(&mut self, agent: usize, until: u64) {
        self.hosts[agent].does = Does::Nothing;
        let seats = self.hosts[agent].seats.iter();
        let results: Results = seats.map(|seat| (*seat, until)).collect();
        self.disks.shelves[self.who[agent]] = Some(results);
    }

    fn tell(&mut self, agent: usize, kept: Vec<u8>) {
        let results: Option<Results> = unpack(&kept).unwrap();
        match results {
            Some(results) => self.hosts[agent].agent.results(&pack(&results).unwrap()),
            None => self.hosts[agent].agent.failed("it has kept no results"),
        }
    }

    fn task(&mut self, agent: usize, task: Task) {
        let now = self.now;
        let shelf = self.who[agent];
        match task {
            Task::Share(share) if share.task == [1] => {
                let bytes = pack(&self.disks.shelves[shelf]);
                self.tell(agent, bytes.unwrap());
            }
            Task::Share(share) => {
                self.hosts[agent].seats = share.seats;
                let until = now + 50 * MS;
                self.hosts[agent].does = Does::Prepares { until };
                self.strike(agent, Phase::Ready);
            }
            Task::Start { at_ns } => {
                self.played.late = self.played.late.max(now.saturating_sub(at_ns));
                let next = at_ns.max(now) + 500 * MS;
                self.hosts[agent].does = Does::Runs { from: at_ns, next };
            }
            Task::Stop => match self.did(agent) {
                Some(until) => {
                    self.put(agent, until);
                    let bytes = pack(&self.disks.shelves[shelf]);
                    self.tell(agent, bytes.unwrap());
                }
                None => self.hosts[agent].agent.failed("interrupted"),
            },
            // Of roles, which have no seats.
            Task::Word(_) => {}
            Task::Orphaned { .. } | Task::Leave { .. } => {
                if let Some(until) = self.did(agent) {
                    self.put(agent, until);
                }
                if let Task::Leave { taken: true } = task {
                    self.disks.shelves[shelf] = None;
                }
                self.hosts[agent].gone = true;
                if self.ways[agent][FROM] != u64::MAX {
                    self.post(agent, FROM, Mail::EndFrom);
                }
            }
        }
    }

    /// Up to when it has made its load; an agent that only waits to begin has results of nothing.
    fn did(&mut self, agent: usize) -> Option<u64> {
        match self.hosts[agent].does {
            Does::Nothing | Does::Prepares { .. } => None,
            Does::Waits => Some(0),
            Does::Runs { from, .. } => {
                self.played.loaded[agent] = self.now.min(from + LONG);
                Some(self.now.saturating_sub(from).min(LONG))
            }
        }
    }

    fn say(&mut self, agent: usize) {
        while let Some(message) = self.hosts[agent].agent.poll_transmit(stamp(self.now)) {
            match &message {
                FromAgent::Hello(_) => self.strike(agent, Phase::Hello),
                FromAgent::Results { .. } => self.strike(agent, Phase::Ending),
                _ => {}
            }
            let (first, second) = match message {
                FromAgent::Results { mut bytes, last } => {
                    let rest = bytes.split_off(bytes.len() / 2);
                    let first = FromAgent::Results { bytes, last: false };
                    (first, Some(FromAgent::Results { bytes: rest, last }))
                }
                other => (other, None),
            };
            let ran = matches!(first, FromAgent::Progress(_));
            self.pass(agent, first);
            if let Some(second) = second {
                self.strike(agent, Phase::Results);
                self.pass(agent, second);
            }
            if ran {
                self.strike(agent, Phase::Running);
            }
        }
    }

    /// Sends it, unless it is killed meanwhile.
    fn pass(&mut self, agent: usize, message: FromAgent) {
        let host = &self.hosts[agent];
        if !host.gone && host.asleep < u64::MAX && self.ways[agent][FROM] != u64::MAX {
            self.post(agent, FROM, Mail::From(message));
        }
    }
}
