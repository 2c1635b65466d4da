//! Which steps are made: for each thing that costs, a load of which there is more and more.

use std::time::Duration;

use record::run::Phase;

/// What costs something.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// A MonitoredItem that is sampled and does not change.
    Item,
    /// A subscription with one such item.
    Subscription,
    /// A session with its connection.
    Session,
    /// A request for one value.
    Read,
    /// One more value in a Read.
    Value,
    /// A value that is sampled, published and sent.
    Notification,
    /// A channel and session that are opened and closed.
    Connection,
}

/// What the steps depend on.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Reads in a second that the server answered one after the other.
    pub reads_per_s: f64,
    /// Of a step.
    pub length: Duration,
}

/// Of what one client can have one after the other, reads come at so much at most: the server is to have time.
const PART: f64 = 0.5;
/// More a second would make the generator the limit somewhere.
const MOST: f64 = 5000.0;

impl Per {
    /// In this order. What a server keeps of memory that was given back hides what comes after it: so the sweep
    /// that takes least comes first, ten thousand items last, and then loads that hold nothing.
    pub const ALL: [Self; 7] = [
        Self::Subscription,
        Self::Session,
        Self::Item,
        Self::Read,
        Self::Value,
        Self::Notification,
        Self::Connection,
    ];

    /// As it stands in a table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Item => "idle item",
            Self::Subscription => "idle subscription",
            Self::Session => "idle session",
            Self::Read => "Read",
            Self::Value => "value",
            Self::Notification => "notification",
            Self::Connection => "connection",
        }
    }

    /// What it is exactly.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Item => "sampled ten times a second, does not change",
            Self::Subscription => "publishing interval 1 s, one item that does not change",
            Self::Session => "with its connection; asks for next to nothing",
            Self::Read => "a request for one value",
            Self::Value => "one more in a Read",
            Self::Notification => "a value that was sampled, published and sent",
            Self::Connection => "channel and session opened, one Read, closed",
        }
    }

    /// Whether it costs something by being there, time after time, and memory.
    pub const fn is_held(self) -> bool {
        matches!(self, Self::Item | Self::Subscription | Self::Session)
    }

    /// What has to be allowed for it.
    pub const fn needs(self) -> Option<&'static str> {
        match self {
            Self::Connection => Some("storm"),
            _ => None,
        }
    }

    /// The service that the load consists of.
    pub const fn service(self) -> &'static str {
        match self {
            Self::Item | Self::Subscription | Self::Notification => "subscribe",
            Self::Session | Self::Read | Self::Value => "read",
            Self::Connection => "connect",
        }
    }

    /// How much of it there is in each step. What is held only grows; else the steps go up and down again, so that
    /// a drift of the machine is none of the line's.
    pub fn levels(self, pace: Pace) -> Vec<u32> {
        let up: Vec<u32> = match self {
            Self::Item => vec![500, 1000, 2000, 4000, 6000, 8000, 10_000],
            Self::Subscription => vec![5, 20, 40, 60, 80, 100, 120],
            // Many servers take a hundred and no more: enough of the steps are below.
            Self::Session => vec![10, 30, 50, 70, 90, 150, 200, 250],
            Self::Read => {
                let most = (pace.reads_per_s * PART).clamp(5.0, MOST);
                (1..=5)
                    .map(|n| (most * f64::from(n) / 5.0) as u32)
                    .collect()
            }
            Self::Value => vec![1, 25, 50, 75, 100],
            Self::Notification => vec![20, 100, 200, 300, 400],
            Self::Connection => vec![2, 5, 10, 15, 20],
        };
        match self.is_held() {
            true => up,
            false => up.iter().chain(up.iter().rev()).copied().collect(),
        }
    }

    /// The words of a quick command, behind the server.
    pub fn words(self, level: u32, pace: Pace) -> Vec<String> {
        let words = match self {
            // The server's state, which every server has and which does not change.
            Self::Item => format!(
                "-n i=2259 --items {level} --publishing 1s --sampling 100ms --settle 1500ms"
            ),
            Self::Subscription => format!(
                "-n i=2259 --subscriptions {level} --items 1 --publishing 1s --sampling 1s --settle 1500ms"
            ),
            Self::Session => format!("--sessions {level} --rate-total 5/s --warmup 500ms"),
            Self::Read => format!("--rate {level}/s --warmup 200ms"),
            Self::Value => {
                let rate = (pace.reads_per_s * PART / 10.0).clamp(5.0, 200.0) as u32;
                format!("--rate {rate}/s --batch {level} --warmup 200ms")
            }
            // The server's clock, which every server has, and which changes at each sample.
            Self::Notification => {
                format!("--items {level} --publishing 100ms --sampling 100ms --settle 500ms")
            }
            Self::Connection => {
                format!("--sessions 4 --rate-total {level}/s --warmup 200ms --allow storm")
            }
        };
        let length = format!("--duration {}ms", pace.length.as_millis());
        let words = words.split(' ').chain(length.split(' '));
        words.map(str::to_owned).collect()
    }

    /// How much of it there was: each held one, or in a second.
    pub fn amount(self, level: u32, phase: &Phase) -> Option<f64> {
        let seconds = phase.to_ns.saturating_sub(phase.from_ns) as f64 / 1e9;
        let told = phase.subscriptions.as_ref();
        let amount = match self {
            Self::Item => told?.items as f64,
            Self::Subscription => told?.subscriptions as f64,
            Self::Session => f64::from(level),
            Self::Read | Self::Connection => phase.total.rate_per_s?,
            Self::Value => phase.total.values_per_s?,
            Self::Notification => phase.total.histogram("delay").count() as f64 / seconds,
        };
        (seconds > 0.0).then_some(amount)
    }
}
