//! A plan, and its phases.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arrival::{Arrival, CatchUp, Pace};
use crate::connect::{Connect, ConnectKind};
use crate::error::PlanError;
use crate::sequence::{MOST_USERS, Sequences};
use crate::spread::Spread;
use crate::subscribe::Subscribe;
use crate::targets::Targets;
use crate::text::{self, nanos};
use crate::threshold::{Threshold, Within};
use crate::work::Work;

/// What is done to which targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// All phases use all of them.
    pub targets: Targets,
    /// One after the other.
    pub phases: Vec<Phase>,
}

/// One kind of load for a while.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What each request does.
    pub work: Work,
    /// What the sessions of subscriptions send meanwhile, in turn, at the times of `arrival`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Work>,
    /// With each target.
    pub sessions: u32,
    /// Which nodes a session uses.
    pub spread: Spread,
    /// When requests are due.
    pub arrival: Arrival,
    /// How long is measured; none: until `requests` are done.
    #[serde(rename = "duration_ns", with = "nanos::option")]
    pub duration: Option<Duration>,
    /// How many requests are measured, of all sessions of all targets together; none: until the
    /// duration is over. The first of the two to be reached ends the phase.
    pub requests: Option<u64>,
    /// What is left out of the figures at the beginning.
    pub warmup: Warmup,
    /// At most so much of it, where it is found; none: a fifth of the phase.
    #[serde(
        rename = "max_warmup_ns",
        default,
        skip_serializing_if = "Option::is_none",
        with = "nanos::option"
    )]
    pub max_warmup: Option<Duration>,
    /// What is left out at the end: load goes on for so long.
    #[serde(rename = "cooldown_ns", with = "nanos")]
    pub cooldown: Duration,
    /// How long a request may take.
    #[serde(rename = "timeout_ns", with = "nanos")]
    pub timeout: Duration,
    /// What becomes of requests that were due during a stall of the generator.
    pub catch_up: CatchUp,
    /// Requests that may be unanswered in a session of an open loop; beyond it they wait for a slot.
    pub slots: u32,
    /// Closed loop: answers to wait for before the thread wakes up.
    pub coalesce: u32,
    /// Closed loop: all sessions send at the same moment, and again once the last answer is there.
    #[serde(default)]
    pub together: bool,
    /// Poll without sleeping.
    pub spin: bool,
    /// A session for each request.
    pub fresh_session: bool,
    /// Connect again when a connection breaks; without it, its session is lost.
    pub reconnect: bool,
    /// Of everything random.
    pub seed: u64,
    /// Conditions on the result.
    #[serde(default, with = "text::list")]
    pub expect: Vec<Threshold>,
    /// Conditions that must not come true: the phase ends early.
    #[serde(default, with = "text::list")]
    pub abort_on: Vec<Within>,
}

/// What is left out at the beginning of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Warmup {
    /// Found in the data afterwards; the phase is measured from its beginning.
    Auto,
    /// So long, before the measured time begins.
    Given {
        /// May be zero.
        #[serde(rename = "warmup_ns", with = "nanos")]
        warmup: Duration,
    },
}

/// More sessions than ports of one address.
const MAX_SESSIONS: u32 = 1_000_000;
/// More requests in flight than anyone's memory holds.
const MAX_IN_FLIGHT: u32 = 1_000_000;

impl Phase {
    /// As long as a quick command runs when nothing is said.
    pub const DURATION: Duration = Duration::from_secs(10);

    /// Requests in flight of an open loop when nothing is said: enough for tens of thousands a second behind
    /// a stall of a tenth of one.
    pub const SLOTS: u32 = 4096;

    /// Out of what another process was sent.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(text.as_bytes())
    }

    /// How long the requests that are measured take at the rate that is planned, where there is one and nothing else ends it.
    pub fn nominal(&self, targets: usize) -> Option<Duration> {
        let (Some(requests), None) = (self.requests, self.duration) else {
            return None;
        };
        let Arrival::Open(Pace::Constant { rate } | Pace::Poisson { rate }) = &self.arrival else {
            return None;
        };
        let per_s = rate.as_f64() * f64::from(self.sessions) * targets as f64;
        Duration::try_from_secs_f64(requests as f64 / per_s).ok()
    }

    /// One session with one request in flight for ten seconds, and the defaults of everything else.
    pub fn new(work: Work) -> Self {
        Self {
            name: None,
            work,
            beside: Vec::new(),
            sessions: 1,
            spread: Spread::All,
            arrival: Arrival::one_in_flight(),
            duration: Some(Self::DURATION),
            requests: None,
            warmup: Warmup::Auto,
            max_warmup: None,
            cooldown: Duration::ZERO,
            timeout: Duration::from_secs(10),
            catch_up: CatchUp::default(),
            slots: Self::SLOTS,
            coalesce: 1,
            together: false,
            spin: false,
            fresh_session: false,
            reconnect: false,
            seed: 1,
            expect: Vec::new(),
            abort_on: Vec::new(),
        }
    }

    /// The planned times of an open loop.
    pub const fn pace(&self) -> Option<&Pace> {
        match &self.arrival {
            Arrival::Open(pace) => Some(pace),
            Arrival::Closed { .. } => None,
        }
    }

    /// Requests that may be unanswered in each session.
    pub const fn in_flight(&self) -> u32 {
        match &self.arrival {
            Arrival::Open(_) => self.slots,
            Arrival::Closed { in_flight, .. } => *in_flight,
        }
    }

    /// When the measured time ends, since the phase began; none if requests alone end it.
    pub fn measured_until(&self) -> Option<Duration> {
        let own = self.pace().and_then(Pace::length);
        let length = match (self.duration, own) {
            (Some(given), Some(own)) => given.min(own),
            (given, own) => given.or(own)?,
        };
        Some(self.warmup.given().saturating_add(length))
    }

    /// The requests of one session out of those of all targets; none if the duration alone ends the phase.
    /// Sessions differ by one request at most.
    pub fn requests_of(&self, target: u32, index: u32, targets: u32) -> Option<u64> {
        let sessions = u64::from(self.sessions.max(1));
        let total = sessions * u64::from(targets.max(1));
        let place = u64::from(target) * sessions + u64::from(index);
        self.requests
            .map(|all| all / total + u64::from(place < all % total))
    }

    /// What it subscribes to, if that is what it does.
    pub fn subscribe(&self) -> Option<&Subscribe> {
        match &self.work {
            Work::Subscribe(subscribe) => Some(subscribe),
            _ => None,
        }
    }

    /// How its sessions come and go, if that is what it does.
    pub fn connect(&self) -> Option<&Connect> {
        match &self.work {
            Work::Connect(connect) => Some(connect),
            _ => None,
        }
    }

    /// What is asked besides `work`: by the sessions of subscriptions meanwhile, and by the steps of sequences.
    pub fn asked_besides(&self) -> Vec<Work> {
        let steps = self.sequences().into_iter().flat_map(Sequences::requests);
        let steps = steps.map(|request| Work::from(request.clone()));
        self.beside.iter().cloned().chain(steps).collect()
    }

    /// What its users do, if that is what it does.
    pub fn sequences(&self) -> Option<&Sequences> {
        match &self.work {
            Work::Sequence(sequences) => Some(sequences),
            _ => None,
        }
    }

    /// Whether each session is opened once and then held.
    pub fn is_storm(&self) -> bool {
        let connect = self.connect();
        connect.is_some_and(|it| it.kind == ConnectKind::Storm)
    }

    /// What a loop over sockets does does not fit rounds of steps, in which each client calls and waits.
    fn check_rounds(&self) -> Result<(), PlanError> {
        if self.work.steps().is_empty() {
            return Ok(());
        }
        let name = self.work.name();
        let one = matches!(
            self.arrival,
            Arrival::Closed { in_flight: 1, .. } | Arrival::Open(_)
        );
        let loops = [
            (
                "in-flight",
                !one,
                "1: a client does one step after the other",
            ),
            (
                "coalesce",
                self.coalesce != 1,
                "1: a client does one step after the other",
            ),
            ("together", self.together, "requests, not rounds of steps"),
            ("spin", self.spin, "requests, not rounds of steps"),
            (
                "fresh-session",
                self.fresh_session,
                "requests, not rounds of steps",
            ),
            (
                "reconnect",
                self.reconnect,
                "requests; uaperf connect has --kind reconnect",
            ),
        ];
        match loops.into_iter().find(|(_, given, _)| *given) {
            Some((option, _, want)) => Err(PlanError::new(option, name, want)),
            None if self.sequences().is_some() && self.sessions > MOST_USERS => {
                let want = "1 to 65536 users of each server";
                Err(PlanError::new("sessions", self.sessions, want))
            }
            None if self.is_storm() && self.requests.is_some() => {
                let want = "--sessions: a storm opens each of them once";
                Err(PlanError::new("requests", "storm", want))
            }
            None => Ok(()),
        }
    }

    /// Whether its sessions send requests of their own, other than those of subscriptions.
    pub fn has_requests(&self) -> bool {
        self.subscribe().is_none() || !self.beside.is_empty()
    }

    fn check_beside(&self) -> Result<(), PlanError> {
        let bad = |field, value, want| Err(PlanError::new(field, value, want));
        if self.subscribe().is_none() {
            return match self.beside.first() {
                Some(work) => bad("beside", work.name(), "subscriptions that it is beside of"),
                None => Ok(()),
            };
        }
        if self.fresh_session {
            return bad(
                "fresh-session",
                "subscribe",
                "requests; subscriptions live in their session",
            );
        }
        if self.requests.is_some() && self.beside.is_empty() {
            return bad(
                "requests",
                "subscribe",
                "a duration; servers decide how much they report",
            );
        }
        for work in &self.beside {
            if matches!(work, Work::Subscribe(_)) || !work.steps().is_empty() {
                return bad("beside", work.name(), "requests such as read and write");
            }
            work.check()?;
        }
        Ok(())
    }

    /// Whether the phase makes sense; what does not is named.
    pub fn check(&self) -> Result<(), PlanError> {
        let bad =
            |field, value: &dyn ToString, want| Err(PlanError::new(field, value.to_string(), want));
        if !(1..=MAX_SESSIONS).contains(&self.sessions) {
            return bad("sessions", &self.sessions, "1 to 1000000");
        }
        self.work.check()?;
        self.check_beside()?;
        self.check_rounds()?;
        match &self.arrival {
            Arrival::Closed { in_flight, .. } => {
                if !(1..=MAX_IN_FLIGHT).contains(in_flight) {
                    return bad("in-flight", in_flight, "1 to 1000000");
                }
                if !(1..=*in_flight).contains(&self.coalesce) {
                    return bad("coalesce", &self.coalesce, "1 to the requests in flight");
                }
            }
            Arrival::Open(pace) => {
                if self.coalesce != 1 {
                    return bad(
                        "coalesce",
                        &self.coalesce,
                        "a closed loop: --in-flight instead of a rate",
                    );
                }
                if !(1..=MAX_IN_FLIGHT).contains(&self.slots) {
                    return bad("slots", &self.slots, "1 to 1000000");
                }
                if matches!(pace, Pace::Ramp { .. }) && self.duration.is_none() {
                    return bad("arrival", &"ramp", "a duration over which the rate changes");
                }
                if matches!(pace, Pace::Steps { steps } if steps.is_empty()) {
                    return bad("arrival", &"steps", "one step or more");
                }
            }
        }
        let one_each = matches!(self.arrival, Arrival::Closed { in_flight: 1, .. });
        if self.together && (!one_each || self.fresh_session || self.reconnect) {
            return bad(
                "together",
                &true,
                "a closed loop with one request in flight, without fresh_session and reconnect",
            );
        }
        if self.requests == Some(0) {
            return bad("requests", &0, "1 or more");
        }
        if self.duration == Some(Duration::ZERO) {
            return bad("duration", &"0s", "above zero");
        }
        let endless = self.requests.is_none() && self.measured_until().is_none();
        if endless && !self.is_storm() {
            return bad(
                "duration",
                &"none",
                "a duration, a number of requests, or both",
            );
        }
        if self.timeout.is_zero() {
            return bad("timeout", &"0s", "above zero");
        }
        Ok(())
    }
}

impl Warmup {
    /// What was given; none where it was to be found.
    #[must_use]
    pub const fn or_none(self) -> Self {
        Self::Given {
            warmup: self.given(),
        }
    }

    /// What was given; zero if it is to be found.
    pub const fn given(self) -> Duration {
        match self {
            Self::Auto => Duration::ZERO,
            Self::Given { warmup } => warmup,
        }
    }
}

impl Plan {
    /// One phase.
    pub fn of(targets: Targets, phase: Phase) -> Self {
        Self {
            targets,
            phases: vec![phase],
        }
    }

    /// Out of a result.
    pub fn from_value(plan: &Value) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(&serde_json::to_vec(plan)?)
    }

    /// For a result.
    pub fn to_value(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_slice(&serde_json::to_vec(self)?)
    }

    /// Whether the plan makes sense; what does not is named.
    pub fn check(&self) -> Result<(), PlanError> {
        if self.targets.is_empty() {
            return Err(PlanError::new(
                "target",
                "none",
                "opc.tcp://host:port, one or more",
            ));
        }
        if self.phases.is_empty() {
            return Err(PlanError::new("phase", "none", "one or more"));
        }
        self.phases.iter().try_for_each(Phase::check)
    }
}
