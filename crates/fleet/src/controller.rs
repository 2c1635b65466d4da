//! The controller: it gathers agents, gives each its share, has all begin at one moment and takes their results.
//!
//! An agent that is silent for too long, whose carrier ends or that says what it should not is lost, at whatever
//! stage; the others go on. Nobody waits for it, and what it had is named.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use plan::unit::duration::nanos;

use crate::clock::{Bands, Exchange, Stamp};
use crate::frame::MOST;
use crate::message::{FromAgent, Hello, Share, ToAgent};

/// How patient it is.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Until an agent has said who it is: a login may take a while.
    pub greeting: Duration,
    /// An agent that says nothing for so long is lost.
    pub silence: Duration,
    /// Between two questions for the time.
    pub every: Duration,
    /// Questions for the time before anything else, one behind the other.
    pub exchanges: u64,
    /// Between the last agent's being ready and the begin, at least.
    pub lead: Duration,
    /// An agent stops by itself when it hears nothing for so long.
    pub orphan: Duration,
    /// Bytes of the results of one agent at most.
    pub results: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            greeting: Duration::from_secs(30),
            silence: Duration::from_secs(10),
            every: Duration::from_secs(1),
            exchanges: 8,
            lead: Duration::from_millis(200),
            orphan: Duration::from_secs(10),
            results: 16 * MOST,
        }
    }
}

/// How far an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It has not said who it is.
    Greeting,
    /// It waits for its share, while its clock is read.
    Waiting,
    /// It looks at servers and opens sessions.
    Preparing,
    /// It waits for the others.
    Ready,
    /// It makes its load.
    Running,
    /// Its results are on their way.
    Booking,
    /// Its results are here; it waits to hear that they are [taken](Controller::taken).
    Told,
    /// All of it is here, or it was told that there is nothing to do.
    Over,
    /// Nothing more comes of it.
    Lost,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Greeting => "before it said who it is",
            Self::Waiting => "before it had its share",
            Self::Preparing => "while it opened its sessions",
            Self::Ready => "while it waited for the others",
            Self::Running => "while it made its load",
            Self::Booking => "while its results were on their way",
            Self::Told => "after its results had come",
            Self::Over => "behind its end",
            Self::Lost => "after it was lost",
        })
    }
}

/// What happened, for whoever owns the controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An agent that is another program than this: nothing can be shared with it.
    Mismatched {
        /// Which.
        agent: usize,
        /// What it is.
        version: String,
    },
    /// All that are left have said who they are, and their clocks are known: they wait for their shares.
    Gathered,
    /// The load begins at this time of our monotonic clock.
    Start {
        /// In nanoseconds.
        at_ns: u64,
    },
    /// An agent said what happened.
    Progress {
        /// Which.
        agent: usize,
        /// What.
        bytes: Vec<u8>,
    },
    /// An agent's results are here. It keeps its own until these are [taken](Controller::taken).
    Results {
        /// Which.
        agent: usize,
        /// All of them.
        bytes: Vec<u8>,
    },
    /// An agent could not do its share.
    Failed {
        /// Which.
        agent: usize,
        /// Why.
        why: String,
    },
    /// An agent is lost; its carrier can be closed.
    Lost {
        /// Which.
        agent: usize,
        /// How far it was.
        stage: Stage,
        /// What happened.
        why: String,
    },
    /// Nobody is left to wait for.
    Over,
}

/// An agent, as the controller knows it.
#[derive(Debug)]
struct Member {
    stage: Stage,
    hello: Option<Hello>,
    bands: Bands,
    /// When it said something last.
    heard_ns: u64,
    /// A question for the time is on its way.
    asking: bool,
    /// When it is asked next.
    ask_ns: u64,
    results: Vec<u8>,
    /// When its load may begin at the earliest.
    begins_ns: u64,
}

/// The controller of a run.
#[derive(Debug)]
pub struct Controller {
    version: String,
    settings: Settings,
    members: Vec<Member>,
    out: VecDeque<(usize, ToAgent)>,
    events: VecDeque<Event>,
    gathered: bool,
    started: bool,
    over: bool,
    /// When it was told something last, or that time has passed.
    looked_ns: u64,
}

impl Controller {
    /// Of so many agents, which are being started now.
    pub fn new(version: &str, agents: usize, settings: Settings, now: Stamp) -> Self {
        let member = || Member {
            stage: Stage::Greeting,
            hello: None,
            bands: Bands::default(),
            heard_ns: now.mono_ns,
            asking: false,
            ask_ns: u64::MAX,
            results: Vec::new(),
            begins_ns: 0,
        };
        let hello = ToAgent::Hello {
            version: version.to_owned(),
            orphan_ns: nanos(settings.orphan),
        };
        Self {
            version: version.to_owned(),
            settings,
            members: (0..agents).map(|_| member()).collect(),
            out: (0..agents).map(|n| (n, hello.clone())).collect(),
            events: VecDeque::new(),
            gathered: false,
            started: false,
            over: false,
            looked_ns: now.mono_ns,
        }
    }

    /// How far an agent is.
    pub fn stage(&self, agent: usize) -> Stage {
        self.members.get(agent).map_or(Stage::Lost, |it| it.stage)
    }

    /// Who an agent is, once it has said so.
    pub fn hello(&self, agent: usize) -> Option<&Hello> {
        self.members.get(agent)?.hello.as_ref()
    }

    /// What is known of an agent's clocks.
    pub fn bands(&self, agent: usize) -> Option<&Bands> {
        self.members.get(agent).map(|it| &it.bands)
    }

    /// What an agent is to do. Has a meaning once all are [gathered](Event::Gathered).
    pub fn share(&mut self, agent: usize, share: Share) {
        if self.stage(agent) == Stage::Waiting {
            self.go_to(agent, Stage::Preparing);
            self.out.push_back((agent, ToAgent::Share(share)));
        }
    }

    /// What an agent that works at its share has to know.
    pub fn word(&mut self, agent: usize, bytes: Vec<u8>) {
        if (Stage::Preparing..=Stage::Running).contains(&self.stage(agent)) {
            self.out.push_back((agent, ToAgent::Word(bytes)));
        }
    }

    /// There is nothing to do for an agent.
    pub fn dismiss(&mut self, agent: usize) {
        if self.stage(agent) < Stage::Over {
            self.go_to(agent, Stage::Over);
            self.out.push_back((agent, ToAgent::Leave));
        }
    }

    /// An agent's results are kept: it needs to keep them no more.
    pub fn taken(&mut self, agent: usize) {
        if self.stage(agent) == Stage::Told {
            self.go_to(agent, Stage::Over);
            self.out.push_back((agent, ToAgent::Taken));
            self.settle(None);
        }
    }

    /// No more load. Those that have not begun have nothing to tell; the others' results are awaited.
    pub fn stop(&mut self) {
        for agent in 0..self.members.len() {
            match self.stage(agent) {
                Stage::Greeting | Stage::Waiting => self.dismiss(agent),
                Stage::Preparing | Stage::Ready | Stage::Running => {
                    self.out.push_back((agent, ToAgent::Stop));
                }
                Stage::Booking | Stage::Told | Stage::Over | Stage::Lost => {}
            }
        }
        self.settle(None);
    }

    /// An agent said something.
    pub fn receive(&mut self, agent: usize, message: FromAgent, now: Stamp) {
        self.look(now);
        let stage = self.stage(agent);
        let Some(member) = self.members.get_mut(agent) else {
            return;
        };
        if stage >= Stage::Over {
            return;
        }
        member.heard_ns = now.mono_ns;
        match message {
            FromAgent::Hello(hello) if stage == Stage::Greeting => {
                let version = hello.version.clone();
                member.hello = Some(hello);
                member.ask_ns = now.mono_ns;
                if version == self.version {
                    self.go_to(agent, Stage::Waiting);
                } else {
                    self.dismiss(agent);
                    self.events.push_back(Event::Mismatched { agent, version });
                }
            }
            FromAgent::Clock {
                asked,
                received,
                sent,
            } if member.asking => {
                member.asking = false;
                member.bands.add(&Exchange {
                    asked,
                    received,
                    sent,
                    answered: now,
                });
                let settled = member.bands.exchanges() >= self.settings.exchanges;
                let pause = if settled {
                    nanos(self.settings.every)
                } else {
                    0
                };
                member.ask_ns = now.mono_ns.saturating_add(pause);
            }
            FromAgent::Ready { rest_ns } if stage == Stage::Preparing => {
                member.begins_ns = now.mono_ns.saturating_add(rest_ns);
                self.go_to(agent, Stage::Ready);
            }
            FromAgent::Progress(bytes) if stage == Stage::Running => {
                self.events.push_back(Event::Progress { agent, bytes });
            }
            // Who was stopped before it began has results, too.
            FromAgent::Results { bytes, last }
                if (Stage::Preparing..Stage::Told).contains(&stage) =>
            {
                member.results.extend_from_slice(&bytes);
                if member.results.len() > self.settings.results {
                    member.results = Vec::new();
                    self.lose(
                        agent,
                        "its results are larger than any should be".to_owned(),
                    );
                } else if last {
                    let bytes = std::mem::take(&mut member.results);
                    self.go_to(agent, Stage::Told);
                    self.events.push_back(Event::Results { agent, bytes });
                } else {
                    self.go_to(agent, Stage::Booking);
                }
            }
            FromAgent::Failed { why } => {
                self.events.push_back(Event::Failed { agent, why });
                self.dismiss(agent);
            }
            other => {
                let what = format!("it said {} {stage}", name(&other));
                self.lose(agent, what);
            }
        }
        self.settle(Some(now));
    }

    /// An agent's carrier has ended.
    pub fn closed(&mut self, agent: usize, why: impl Into<String>, now: Stamp) {
        self.look(now);
        if self.stage(agent) < Stage::Over {
            self.lose(agent, why.into());
            self.settle(Some(now));
        }
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Stamp) {
        self.look(now);
        for agent in 0..self.members.len() {
            let (due, patience) = match self.members.get(agent) {
                Some(member) if member.stage < Stage::Over => self.patience(member),
                _ => continue,
            };
            if now.mono_ns >= due {
                let said = match self.stage(agent) {
                    Stage::Greeting => "did not say who it is",
                    _ => "said nothing",
                };
                self.lose(agent, format!("it {said} for {} s", patience.as_secs_f64()));
            }
        }
        self.settle(Some(now));
    }

    /// When [`handle_timeout`](Self::handle_timeout) or [`poll_transmit`](Self::poll_transmit) has something to do
    /// next.
    pub fn poll_timeout(&self) -> Option<u64> {
        let left = self.members.iter().filter(|it| it.stage < Stage::Over);
        let look = self.looked_ns.saturating_add(nanos(self.settings.every));
        let due = left.map(|member| {
            let ask = if member.asking {
                u64::MAX
            } else {
                member.ask_ns
            };
            self.patience(member).0.min(ask)
        });
        due.min().map(|due| due.min(look))
    }

    /// What is to be sent, and to whom. Questions for the time are stamped here: as late as can be.
    pub fn poll_transmit(&mut self, now: Stamp) -> Option<(usize, ToAgent)> {
        if let Some(out) = self.out.pop_front() {
            return Some(out);
        }
        let mut members = self.members.iter_mut().enumerate();
        let (agent, member) = members
            .find(|(_, it)| it.stage < Stage::Over && !it.asking && it.ask_ns <= now.mono_ns)?;
        member.asking = true;
        Some((agent, ToAgent::Clock { asked: now }))
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Somebody looks. Where nobody has looked for long, this process stood still: agents that it did not hear meanwhile
    /// may have said something all the same, which comes next.
    fn look(&mut self, now: Stamp) {
        let away = now.mono_ns.saturating_sub(self.looked_ns);
        let long = self.settings.every + self.settings.silence / 2;
        if away > nanos(long) {
            for member in &mut self.members {
                member.heard_ns = now.mono_ns;
            }
        }
        self.looked_ns = self.looked_ns.max(now.mono_ns);
    }

    /// Until when an agent has to say something, and how long that is.
    fn patience(&self, member: &Member) -> (u64, Duration) {
        let patience = match member.stage {
            Stage::Greeting => self.settings.greeting,
            _ => self.settings.silence,
        };
        (member.heard_ns.saturating_add(nanos(patience)), patience)
    }

    fn go_to(&mut self, agent: usize, stage: Stage) {
        if let Some(member) = self.members.get_mut(agent) {
            member.stage = stage;
        }
    }

    fn lose(&mut self, agent: usize, why: String) {
        let stage = self.stage(agent);
        self.out.retain(|(to, _)| *to != agent);
        if stage == Stage::Told {
            // What it had to say is here.
            return self.go_to(agent, Stage::Over);
        }
        self.go_to(agent, Stage::Lost);
        self.events.push_back(Event::Lost { agent, stage, why });
    }

    /// All that wait for each other go on once the last of them is as far; those that are lost are not waited for.
    fn settle(&mut self, now: Option<Stamp>) {
        let left = || self.members.iter().filter(|it| it.stage < Stage::Over);
        if left().next().is_none() {
            if !std::mem::replace(&mut self.over, true) {
                self.events.push_back(Event::Over);
            }
            return;
        }
        let known = |it: &Member| it.bands.exchanges() >= self.settings.exchanges;
        if !self.gathered && left().all(|it| it.stage == Stage::Waiting && known(it)) {
            self.gathered = true;
            self.events.push_back(Event::Gathered);
        }
        if let Some(now) = now.filter(|_| !self.started)
            && left().all(|it| it.stage == Stage::Ready)
        {
            self.started = true;
            self.start(now);
        }
    }

    fn start(&mut self, now: Stamp) {
        let ready = || self.members.iter().filter(|it| it.stage == Stage::Ready);
        let trip = ready().filter_map(|it| it.bands.round_trip_ns()).max();
        // Long enough for the message to be there, on a way that is slow for once.
        let lead = nanos(self.settings.lead).max(trip.unwrap_or(0).saturating_mul(4));
        let begins = ready().map(|it| it.begins_ns).max();
        let at_ns = now.mono_ns.saturating_add(lead).max(begins.unwrap_or(0));
        for (agent, member) in self.members.iter_mut().enumerate() {
            if member.stage != Stage::Ready {
                continue;
            }
            // A monotonic clock is not set; one that contradicts itself all the same is taken as it was first seen.
            let there = member.bands.there(at_ns).map_or(at_ns, |(at, _)| at);
            member.stage = Stage::Running;
            self.out.push_back((agent, ToAgent::Start { at_ns: there }));
        }
        self.events.push_back(Event::Start { at_ns });
    }
}

fn name(message: &FromAgent) -> &'static str {
    match message {
        FromAgent::Hello(_) => "hello",
        FromAgent::Clock { .. } => "what time it is",
        FromAgent::Ready { .. } => "that it is ready",
        FromAgent::Progress(_) => "what happened",
        FromAgent::Results { .. } => "what came of it",
        FromAgent::Failed { .. } => "that it failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Stamp = Stamp {
        mono_ns: 1,
        utc_ns: 1,
    };

    /// A controller that has the results of its only agent.
    fn told() -> Controller {
        let settings = Settings {
            exchanges: 0,
            ..Settings::default()
        };
        let mut controller = Controller::new("1", 1, settings, NOW);
        let hello = Hello {
            version: "1".to_owned(),
            ..Hello::default()
        };
        controller.receive(0, FromAgent::Hello(hello), NOW);
        controller.share(0, Share::default());
        let results = FromAgent::Results {
            bytes: vec![7],
            last: true,
        };
        controller.receive(0, results, NOW);
        while let Some((_, message)) = controller.poll_transmit(NOW) {
            assert_ne!(message, ToAgent::Taken);
        }
        let events: Vec<Event> = std::iter::from_fn(|| controller.poll_event()).collect();
        let results = Event::Results {
            agent: 0,
            bytes: vec![7],
        };
        assert_eq!(events, [Event::Gathered, results]);
        controller
    }

    #[test]
    fn an_agent_hears_that_its_results_are_taken_when_they_are_kept() {
        let mut controller = told();
        controller.taken(0);
        let sent = controller.poll_transmit(NOW);
        assert_eq!(sent, Some((0, ToAgent::Taken)));
        assert_eq!(controller.poll_event(), Some(Event::Over));
    }

    #[test]
    fn nobody_is_lost_for_what_a_controller_that_stood_still_did_not_hear() {
        let later = Stamp {
            mono_ns: 60_000_000_000,
            utc_ns: 1,
        };
        let mut controller = Controller::new("1", 1, Settings::default(), NOW);
        let hello = Hello {
            version: "1".to_owned(),
            ..Hello::default()
        };
        controller.receive(0, FromAgent::Hello(hello), NOW);
        controller.handle_timeout(later);
        assert_ne!(controller.stage(0), Stage::Lost);
    }

    #[test]
    fn an_agent_whose_results_are_here_is_not_lost() {
        let mut controller = told();
        controller.closed(0, "its pipe ended", NOW);
        assert_eq!(controller.poll_event(), Some(Event::Over));
        assert_eq!(controller.poll_event(), None);
    }

    #[test]
    fn an_agent_that_is_not_needed_keeps_its_results() {
        let mut controller = told();
        controller.dismiss(0);
        let sent = controller.poll_transmit(NOW);
        assert_eq!(sent, Some((0, ToAgent::Leave)));
    }
}
