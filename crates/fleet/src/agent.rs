//! The agent: it says who it is, gets a share, and sends what came of it. When its controller is gone, it stops by
//! itself.

use std::collections::VecDeque;

use crate::clock::Stamp;
use crate::frame::PART;
use crate::message::{FromAgent, Hello, Share, ToAgent};

/// What there is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// This share: look at servers, open sessions, and say that they are [ready](Agent::ready).
    Share(Share),
    /// Begin at this time of the monotonic clock.
    Start {
        /// In nanoseconds.
        at_ns: u64,
    },
    /// What it has to know while it works.
    Word(Vec<u8>),
    /// No more load; what came of it is wanted all the same.
    Stop,
    /// The controller is gone: no more load, and nobody to tell.
    Orphaned {
        /// How that is known.
        why: String,
    },
    /// There is nothing more to do.
    Leave {
        /// The results are kept by the controller.
        taken: bool,
    },
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AgentState {
    /// It has no share.
    Idle,
    /// It works at its share.
    Working,
    /// It has said what came of it.
    Told,
    /// It is told to go, or has nobody to work for.
    Gone,
}

/// An agent.
#[derive(Debug)]
pub struct Agent {
    state: AgentState,
    /// How long the controller may be silent.
    orphan_ns: u64,
    /// When it said something last.
    heard_ns: u64,
    out: VecDeque<FromAgent>,
    tasks: VecDeque<Task>,
    /// Questions for the time, and when they came.
    asked: VecDeque<(Stamp, Stamp)>,
}

impl Agent {
    /// One that says who it is, and waits so long for a controller.
    pub fn new(hello: Hello, orphan_ns: u64, now: Stamp) -> Self {
        Self {
            state: AgentState::Idle,
            orphan_ns,
            heard_ns: now.mono_ns,
            out: VecDeque::from([FromAgent::Hello(hello)]),
            tasks: VecDeque::new(),
            asked: VecDeque::new(),
        }
    }

    /// The controller said something.
    pub fn receive(&mut self, message: ToAgent, now: Stamp) {
        if self.state == AgentState::Gone {
            return;
        }
        self.heard_ns = now.mono_ns;
        match message {
            ToAgent::Hello { orphan_ns, .. } => self.orphan_ns = orphan_ns,
            ToAgent::Clock { asked } => self.asked.push_back((asked, now)),
            ToAgent::Share(share) if self.state == AgentState::Idle => {
                self.state = AgentState::Working;
                self.tasks.push_back(Task::Share(share));
            }
            // One share is all that an agent takes.
            ToAgent::Share(_) => {}
            ToAgent::Start { at_ns } => self.tasks.push_back(Task::Start { at_ns }),
            ToAgent::Word(bytes) => self.tasks.push_back(Task::Word(bytes)),
            ToAgent::Stop => self.tasks.push_back(Task::Stop),
            ToAgent::Taken | ToAgent::Leave => {
                let taken = message == ToAgent::Taken && self.state == AgentState::Told;
                self.state = AgentState::Gone;
                self.tasks.push_back(Task::Leave { taken });
            }
        }
    }

    /// The carrier has ended.
    pub fn closed(&mut self, why: impl Into<String>) {
        if self.state != AgentState::Gone {
            self.state = AgentState::Gone;
            self.tasks.push_back(Task::Orphaned { why: why.into() });
        }
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Stamp) {
        if self.poll_timeout().is_some_and(|at| now.mono_ns >= at) {
            self.closed(format!(
                "the controller said nothing for {} s",
                self.orphan_ns as f64 / 1e9
            ));
        }
    }

    /// When the controller is taken for gone.
    pub fn poll_timeout(&self) -> Option<u64> {
        (self.state != AgentState::Gone).then(|| self.heard_ns.saturating_add(self.orphan_ns))
    }

    /// Its sessions are open; the load may begin when so much time has passed.
    pub fn ready(&mut self, rest_ns: u64) {
        self.say(FromAgent::Ready { rest_ns });
    }

    /// What happened since the last time.
    pub fn progress(&mut self, bytes: Vec<u8>) {
        self.say(FromAgent::Progress(bytes));
    }

    /// What came of it.
    pub fn results(&mut self, bytes: &[u8]) {
        let parts = bytes.len().div_ceil(PART).max(1);
        for n in 0..parts {
            let from = n * PART;
            let part = bytes.get(from..bytes.len().min(from + PART));
            self.say(FromAgent::Results {
                bytes: part.unwrap_or_default().to_vec(),
                last: n + 1 == parts,
            });
        }
        self.told();
    }

    /// Nothing came of it.
    pub fn failed(&mut self, why: impl Into<String>) {
        self.say(FromAgent::Failed { why: why.into() });
        self.told();
    }

    /// What is to be sent. Answers to questions for the time go first, and are stamped here: as late as can be.
    pub fn poll_transmit(&mut self, now: Stamp) -> Option<FromAgent> {
        // Hello goes before everything.
        if let Some(FromAgent::Hello(_)) = self.out.front() {
            return self.out.pop_front();
        }
        if let Some((asked, received)) = self.asked.pop_front() {
            return Some(FromAgent::Clock {
                asked,
                received,
                sent: now,
            });
        }
        self.out.pop_front()
    }

    /// What is to be done.
    pub fn poll_task(&mut self) -> Option<Task> {
        self.tasks.pop_front()
    }

    fn say(&mut self, message: FromAgent) {
        if self.state == AgentState::Working {
            self.out.push_back(message);
        }
    }

    fn told(&mut self) {
        if self.state == AgentState::Working {
            self.state = AgentState::Told;
        }
    }
}
