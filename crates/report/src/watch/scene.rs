//! What a phase is doing, as far as its cores have told.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use plan::Phase;
use plan::unit::duration;
use record::Closed;
use record::notification_ledger::Stretch;
use record::underway::{NOW_NS, Notified, Underway};

use super::course::LiveCourse;
use super::window::Window;
use crate::workload;

/// What is known of a phase before it begins.
#[derive(Debug, Clone)]
pub struct PhaseSetup {
    /// The command, or what people call the phase.
    pub name: String,
    /// Its servers, as typed.
    pub targets: Vec<String>,
    /// What each of them is asked, in the order of the ledgers.
    pub works: Vec<String>,
    /// What is offered, in words.
    pub load: String,
    /// How long it lasts, all in all; none if requests alone end it.
    pub length: Option<Duration>,
    /// What is left out at its beginning.
    pub warmup: Duration,
    /// What is left out at its end.
    pub cooldown: Duration,
    /// How many requests end it.
    pub requests: Option<u64>,
    /// Whether it has subscriptions, or listeners of PubSub.
    pub notified: bool,
    /// Whether it is a publisher that nobody here listens to: cycles are late then, and messages refused.
    pub publishes: bool,
    /// Whether its sessions ask, or only listen.
    pub sends: bool,
    /// Whether a person can pause what they ask.
    pub pausable: bool,
    /// Whether a person can have them ask more, or less.
    pub scalable: bool,
    /// The specification's name of a status code.
    pub status_name: fn(u32) -> String,
}

impl PhaseSetup {
    /// Of a phase of a command, with servers as they were typed and the names of what they are asked.
    pub fn of(
        command: &str,
        phase: &Phase,
        targets: Vec<String>,
        works: Vec<String>,
        status_name: fn(u32) -> String,
    ) -> Self {
        // What is done in rounds of steps is done to its end.
        let sends = phase.has_requests() && !phase.work.is_pubsub();
        let pausable = sends && phase.work.steps().is_empty();
        let name = match &phase.name {
            Some(name) if name != command => format!("{name} ({command})"),
            _ => command.to_owned(),
        };
        Self {
            name: format!("uaperf {name}"),
            load: workload::in_brief(phase, targets.len()),
            targets,
            works,
            length: phase
                .measured_until()
                .map(|end| end.saturating_add(phase.cooldown)),
            warmup: phase.warmup.given(),
            cooldown: phase.cooldown,
            requests: phase.requests,
            notified: phase.subscribe().is_some() || phase.work.is_pubsub(),
            publishes: phase.work.only_publishes(),
            sends,
            pausable,
            scalable: pausable && !one_each(phase),
            status_name,
        }
    }
}

/// Each session has one request at a time, whatever anybody wants.
fn one_each(phase: &Phase) -> bool {
    phase.together || phase.fresh_session && !phase.arrival.is_open()
}

/// A publisher and group that a listener hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// What they are called.
    pub name: String,
    /// How their messages are made.
    pub how: String,
    /// Messages so far.
    pub messages: u64,
    /// Of those that never came.
    pub lost: u64,
}

/// A core of the generator.
#[derive(Debug, Clone, Default)]
pub(super) struct Hands {
    pub window: Window,
    /// How long it had run and had been idle, at the end of each interval of the last second.
    spent: VecDeque<(u64, u64)>,
}

impl Hands {
    /// The share of the last second in which it had something to do.
    pub fn busy(&self) -> Option<f64> {
        let (first, last) = (self.spent.front()?, self.spent.back()?);
        let ran = last.0.saturating_sub(first.0);
        let idle = last.1.saturating_sub(first.1);
        (ran > 0).then(|| (1.0 - idle as f64 / ran as f64).clamp(0.0, 1.0))
    }
}

/// More targets than these are counted together only.
const MOST_TARGETS: usize = 256;

/// What a phase is doing.
#[derive(Debug, Clone)]
pub struct Scene {
    pub(super) about: PhaseSetup,
    pub(super) course: LiveCourse,
    pub(super) all: Window,
    pub(super) targets: Vec<Window>,
    pub(super) cores: BTreeMap<usize, Hands>,
    pub(super) so_far: Underway,
    /// What was heard when: for rates of the last second.
    heard_lately: VecDeque<(u64, Notified)>,
    pub(super) senders: Vec<Sender>,
    /// How many messages of each there were when: for rates of the last second.
    sent_lately: VecDeque<(u64, BTreeMap<String, u64>)>,
}

impl Scene {
    /// Of a phase that has not begun.
    pub fn new(about: PhaseSetup) -> Self {
        let targets = about.targets.len().min(MOST_TARGETS);
        Self {
            course: LiveCourse::new(about.notified),
            all: Window::default(),
            targets: vec![Window::default(); targets],
            cores: BTreeMap::new(),
            so_far: Underway::default(),
            heard_lately: VecDeque::new(),
            senders: Vec::new(),
            sent_lately: VecDeque::new(),
            about,
        }
    }

    /// Whether a person can pause what its sessions ask.
    pub const fn is_pausable(&self) -> bool {
        self.about.pausable
    }

    /// Whether a person can have its sessions ask more, or less.
    pub const fn is_scalable(&self) -> bool {
        self.about.scalable
    }

    /// An interval that a core closed in one of its ledgers.
    pub fn add(&mut self, core: usize, ledger: usize, closed: &Closed) {
        let measured = closed.start_ns >= duration::nanos(self.about.warmup);
        self.course.add(closed);
        self.all.add(closed, measured);
        if let Some(target) = self.targets.get_mut(ledger / self.about.works.len().max(1)) {
            target.add(closed, measured);
        }
        let hands = self.cores.entry(core).or_default();
        hands.window.add(closed, measured);
        self.so_far.add(core, ledger, closed);
    }

    /// What the subscriptions of a core brought since the measurement began.
    pub fn hear(&mut self, core: usize, so_far: &Stretch) {
        let before = self.so_far.notified();
        self.so_far.hear(core, so_far);
        let now = self.so_far.notified();
        let news_ns = self.so_far.news_ns();
        let values = now.values.saturating_sub(before.values);
        self.course.hear(news_ns.saturating_sub(1), values);
        self.heard_lately.push_back((news_ns, now));
        while let Some((at, _)) = self.heard_lately.get(1)
            && at + NOW_NS < news_ns
        {
            self.heard_lately.pop_front();
        }
    }

    /// All publishers and groups that were heard so far.
    pub fn send(&mut self, senders: Vec<Sender>) {
        let sent = senders.iter().map(|it| (it.name.clone(), it.messages));
        let news_ns = self.so_far.news_ns();
        self.sent_lately.push_back((news_ns, sent.collect()));
        while let Some((at, _)) = self.sent_lately.get(1)
            && at + NOW_NS < news_ns
        {
            self.sent_lately.pop_front();
        }
        self.senders = senders;
    }

    /// Messages of a publisher and group per second, lately.
    pub(super) fn sent_per_s(&self, sender: &Sender) -> f64 {
        let Some((at, before)) = self.sent_lately.front() else {
            return 0.0;
        };
        let seconds = self.so_far.news_ns().saturating_sub(*at) as f64 / 1e9;
        let before = before.get(&sender.name).copied().unwrap_or(0);
        match seconds > 0.0 {
            true => sender.messages.saturating_sub(before) as f64 / seconds,
            false => 0.0,
        }
    }

    /// So long a core has run, and of that it had nothing to do.
    pub fn spend(&mut self, core: usize, ran_ns: u64, idle_ns: u64) {
        let spent = &mut self.cores.entry(core).or_default().spent;
        spent.push_back((ran_ns, idle_ns));
        while let Some((ran, _)) = spent.get(1)
            && ran + NOW_NS < ran_ns
        {
            spent.pop_front();
        }
    }

    /// Values and messages per second, lately.
    pub(super) fn heard_per_s(&self, until_ns: u64) -> Option<(f64, f64)> {
        let (at, before) = self.heard_lately.front()?;
        let seconds = until_ns.max(self.so_far.news_ns()).saturating_sub(*at) as f64 / 1e9;
        let now = self.so_far.notified();
        let per_second = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
        (seconds > 0.0).then(|| {
            (
                per_second(now.values, before.values),
                per_second(now.messages, before.messages),
            )
        })
    }

    /// Requests in flight of a target.
    pub(super) fn in_flight_of(&self, target: usize) -> i64 {
        let works = self.about.works.len().max(1);
        self.so_far
            .in_flight_of(|_, ledger| ledger / works == target)
    }
}
