//! What came of it.

use record::{Histogram, Tally};

/// What came of a world.
#[derive(Debug)]
pub struct Outcome {
    /// How long it was looked at.
    pub length: u64,
    /// Events that were dealt with.
    pub events: u64,
    /// What each recorder found.
    pub groups: Vec<Group>,
    /// The servers of each kind.
    pub busy: Vec<Busy>,
    /// Each link.
    pub links: Vec<LinkUse>,
    /// How far apart looks at the whole are.
    pub look_every: u64,
    /// What happened, in order.
    pub marks: Vec<Mark>,
}

/// What the clients of a recorder found.
#[derive(Debug)]
pub struct Group {
    /// The kind of their servers.
    pub kind: usize,
    /// The server, where there is a recorder for each; counted over its kind.
    pub node: Option<u32>,
    /// The client, where there is a recorder for each; counted over its server.
    pub client: Option<u32>,
    /// Sessions.
    pub sessions: u64,
    /// Values in one message of each of them, added up.
    pub items: u64,
    /// All times and counters.
    pub tally: Tally,
    /// What was counted beside.
    pub totals: Totals,
    /// How long clients heard nothing before they were connected again.
    pub outages: Histogram,
    /// Cores that its servers kept busy, look by look.
    pub cpu_cores: Vec<f64>,
}

/// What was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Notification messages that came.
    pub messages: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Values that came.
    pub values: u64,
    /// Of them, those that were told again after a connection was lost.
    pub recovered: u64,
    /// Values that were overwritten at the server before they could be sent.
    pub overwritten: u64,
    /// Values that were not sent, or were lost, while there was no connection.
    pub missed: u64,
    /// Publishing intervals that were over before the message of the one before was made.
    pub skipped: u64,
    /// Publishings that had to wait for a Publish request.
    pub waited: u64,
    /// Messages that were sent again by TCP.
    pub sent_again: u64,
    /// Connections that were lost.
    pub cut: u64,
    /// Attempts to connect.
    pub attempts: u64,
    /// Of them, those that were given up.
    pub given_up: u64,
    /// Of them, those that found their session again.
    pub resumed: u64,
    /// Of them, those that made a new one.
    pub renewed: u64,
    /// Clients without a connection when all was over.
    pub left_away: u64,
}

/// How busy the servers of a kind were.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Busy {
    /// Cores that one of them kept busy, on average.
    pub mean_cores: f64,
    /// Of the busiest one.
    pub busiest_cores: f64,
    /// Of one of them between two looks, at most.
    pub peak_cores: f64,
    /// When that was.
    pub peak_at: u64,
    /// How long jobs had to wait for a core, at most.
    pub longest_wait: u64,
    /// Look by look: cores that all of them kept busy.
    pub cpu_cores: Vec<f64>,
    /// Look by look: their clients that are connected.
    pub connected: Vec<u64>,
}

/// How busy a link was.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LinkUse {
    /// How many there are of it.
    pub copies: u32,
    /// Bytes that all of them carried, up and down, headers and what was lost among them.
    pub bytes: [u64; 2],
    /// Of the busiest one: the share of its rate that was used, up and down; none without a rate.
    pub share: [Option<f64>; 2],
    /// The largest such share between two looks.
    pub peak: [Option<f64>; 2],
    /// Packets that did not arrive.
    pub lost: u64,
}

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at: u64,
    /// Which of the world's happenings.
    pub happening: usize,
    /// Whether it began; else it was over.
    pub begins: bool,
}
