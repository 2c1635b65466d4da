//! The controller at work: a thread that drives its state machine, with a process for each agent.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fleet::frame::encode;
use fleet::{Bands, Controller, Event, FromAgent, Hello, Settings, Share, Stamp};
use load::transport::Clock;
use plan::Seat;

use super::VERSION;
use super::carrier::{self, Carrier, CarrierEvent};
use super::key::Own;
use super::nats::{self, Station};
use super::pipe::stamp;
use super::spec::{Place, Way};

/// What the thread is told.
enum Inbox {
    Message(usize, FromAgent, Stamp),
    End(usize, String),
    Share(Vec<(usize, Share)>),
    Word(usize, Vec<u8>),
    Taken(usize),
    Leave(usize),
    Dismiss,
    Stop,
    Standings(Sender<Vec<Standing>>),
}

/// What is known of an agent.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    /// Who it is, once it has said so.
    pub hello: Option<Hello>,
    /// Its clocks.
    pub bands: Bands,
}

/// Agents at work.
#[derive(Debug)]
pub struct AgentPool {
    inbox: Sender<Inbox>,
    events: Receiver<Event>,
    thread: Option<JoinHandle<()>>,
}

impl AgentPool {
    /// Starts all of them.
    pub fn start(places: &[Place], pki: PathBuf, settings: Settings) -> std::io::Result<Self> {
        let (inbox, letters) = channel();
        let (tell, events) = channel();
        let (places, post) = (places.to_vec(), inbox.clone());
        let thread = std::thread::Builder::new().name("fleet".into());
        let thread = thread.spawn(move || {
            let controller = Controller::new(VERSION, places.len(), settings, stamp());
            let mut controller_thread = ControllerThread {
                carriers: Vec::new(),
                station: Station::default(),
                controller,
                tell,
            };
            controller_thread.open(&places, &pki, &post);
            // The controller's own end: whoever had its letters is gone.
            drop(post);
            controller_thread.work(&letters);
            controller_thread.close();
        })?;
        Ok(Self {
            inbox,
            events,
            thread: Some(thread),
        })
    }

    /// What happened next, if anything did within so long. None: the controller has ended.
    pub fn next(&self, within: Duration) -> Option<Option<Event>> {
        match self.events.recv_timeout(within) {
            Ok(event) => Some(Some(event)),
            Err(RecvTimeoutError::Timeout) => Some(None),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    /// A share, signed for an agent that wants that.
    pub fn signed(&self, agent: usize, seats: Vec<Seat>, task: Vec<u8>) -> anyhow::Result<Share> {
        let mut share = Share {
            seats,
            task,
            proof: None,
        };
        let standings = self.standings();
        let hello = standings.get(agent).and_then(|it| it.hello.as_ref());
        if let Some(nonce) = hello.map(|it| &it.nonce).filter(|it| !it.is_empty())
            && let Some(key) = Own::usual()?
        {
            share.proof = Some(key.sign(&share.signed(nonce)?));
        }
        Ok(share)
    }

    /// Gives agents their shares; those without one are not needed.
    pub fn share(&self, shares: Vec<(usize, Share)>) {
        self.say(Inbox::Share(shares));
    }

    /// What an agent that works has to know.
    pub fn word(&self, agent: usize, bytes: Vec<u8>) {
        self.say(Inbox::Word(agent, bytes));
    }

    /// An agent's results are kept.
    pub fn taken(&self, agent: usize) {
        self.say(Inbox::Taken(agent));
    }

    /// An agent's results came, and cannot be kept here: it keeps its own.
    pub fn leave(&self, agent: usize) {
        self.say(Inbox::Leave(agent));
    }

    /// No more load.
    pub fn stop(&self) {
        self.say(Inbox::Stop);
    }

    /// What is known of each.
    pub fn standings(&self) -> Vec<Standing> {
        let (tell, told) = channel();
        self.say(Inbox::Standings(tell));
        // Nothing is known any more once the crew has ended.
        told.recv().unwrap_or_default()
    }

    fn say(&self, what: Inbox) {
        // Gone only when it has ended.
        let _ = self.inbox.send(what);
    }
}

impl Drop for AgentPool {
    fn drop(&mut self) {
        self.say(Inbox::Dismiss);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What frames for an agent go by.
#[derive(Debug)]
enum FrameTransport {
    Process(Carrier),
    Broker(nats::Sender),
}

impl FrameTransport {
    fn send(&self, frame: Vec<u8>) {
        match self {
            Self::Process(it) => it.send(frame),
            Self::Broker(it) => it.send(frame),
        }
    }

    fn close(&mut self) {
        match self {
            Self::Process(it) => it.close(),
            Self::Broker(it) => it.close(),
        }
    }
}

/// What the thread has before it.
struct ControllerThread {
    carriers: Vec<Option<FrameTransport>>,
    /// Those that a broker carries.
    station: Station,
    controller: Controller,
    tell: Sender<Event>,
}

impl ControllerThread {
    fn open(&mut self, places: &[Place], pki: &std::path::Path, post: &Sender<Inbox>) {
        for (n, place) in places.iter().enumerate() {
            let post = post.clone();
            let came = move |came| {
                let letter = match came {
                    CarrierEvent::Message(message, at) => Inbox::Message(n, message, at),
                    CarrierEvent::End(why) => Inbox::End(n, why),
                };
                // Nobody reads it when all is over.
                let _ = post.send(letter);
            };
            if let Way::Nats {
                tag,
                name: Some(name),
            } = &place.way
            {
                let sender = self.station.want(tag, name, came);
                self.carriers.push(Some(FrameTransport::Broker(sender)));
                continue;
            }
            let started = carrier::agent(&place.way, pki)
                .and_then(|command| Carrier::start(&place.name, command, came));
            if let Err(error) = &started {
                let why = format!("it could not be started: {error}");
                self.controller.closed(n, why, stamp());
            }
            self.carriers
                .push(started.ok().map(FrameTransport::Process));
        }
        if let Err(error) = self.station.open() {
            let brokered = places.iter().enumerate();
            for (n, _) in brokered.filter(|(_, it)| matches!(it.way, Way::Nats { .. })) {
                self.controller
                    .closed(n, format!("no thread: {error}"), stamp());
            }
        }
    }

    /// Until whoever has the crew does not need it any more.
    fn work(&mut self, letters: &Receiver<Inbox>) {
        loop {
            self.turn();
            let now = stamp().mono_ns;
            let wait = match self.controller.poll_timeout() {
                Some(at) => Duration::from_nanos(at.saturating_sub(now)),
                None => Duration::from_secs(1),
            };
            match letters.recv_timeout(wait) {
                Ok(Inbox::Message(agent, message, at)) => {
                    self.controller.receive(agent, message, at);
                }
                Ok(Inbox::End(agent, why)) => self.controller.closed(agent, why, stamp()),
                Ok(Inbox::Share(shares)) => {
                    let all = 0..self.carriers.len();
                    for agent in all.filter(|n| shares.iter().all(|(to, _)| to != n)) {
                        self.controller.dismiss(agent);
                    }
                    for (agent, share) in shares {
                        self.controller.share(agent, share);
                    }
                }
                Ok(Inbox::Word(agent, bytes)) => self.controller.word(agent, bytes),
                Ok(Inbox::Taken(agent)) => self.controller.taken(agent),
                Ok(Inbox::Leave(agent)) => self.controller.dismiss(agent),
                Ok(Inbox::Stop) => self.controller.stop(),
                Ok(Inbox::Standings(tell)) => {
                    let standing = |n| Standing {
                        hello: self.controller.hello(n).cloned(),
                        bands: self.controller.bands(n).cloned().unwrap_or_default(),
                    };
                    let _ = tell.send((0..self.carriers.len()).map(standing).collect());
                }
                Ok(Inbox::Dismiss) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn turn(&mut self) {
        self.controller.handle_timeout(stamp());
        while let Some((agent, message)) = self.controller.poll_transmit(stamp()) {
            let carrier = self.carriers.get(agent).and_then(Option::as_ref);
            match (carrier, encode(&message)) {
                (Some(carrier), Ok(frame)) => carrier.send(frame),
                (Some(_), Err(error)) => self.controller.closed(agent, error.to_string(), stamp()),
                (None, _) => {}
            }
        }
        while let Some(event) = self.controller.poll_event() {
            if let Event::Lost { agent, .. } = &event
                && let Some(Some(carrier)) = self.carriers.get_mut(*agent)
            {
                // It stops when its pipe ends, and keeps what it did: one that only stood still is not killed.
                carrier.close();
            }
            let _ = self.tell.send(event);
        }
    }

    /// Nobody needs them any more: those that work stop by themselves when their pipe ends.
    fn close(&mut self) {
        for agent in 0..self.carriers.len() {
            self.controller.dismiss(agent);
        }
        self.turn();
        let mut carriers: Vec<FrameTransport> = self.carriers.drain(..).flatten().collect();
        carriers.iter_mut().for_each(FrameTransport::close);
        let until = Carrier::leave_until();
        for it in carriers {
            if let FrameTransport::Process(it) = it {
                it.end_by(until);
            }
        }
        self.station.close();
    }
}

/// A point of time of our monotonic clock, as the standard library has it.
pub fn instant(at_ns: u64) -> Instant {
    Clock::new().instant(wire::time::Instant::from_nanos(at_ns))
}
