//! The whole truth about a server at one moment: what is asked for by method and written to a
//! file at the end.

use record::run::Internals;
use record::{Sendings, Timestamp};
use serde::{Deserialize, Serialize};

use std::time::SystemTime;

use crate::clock::unix_ns;
use crate::counters::Counted;
use crate::fault::FaultCount;
use crate::ledger::{Subscriptions, Taking};
use crate::server_nodes::publish_subscribe;
use crate::shared::Shared;
use crate::space::{Source, Space};
use wire::time::Now;

/// How often values were renewed since the server started, watched or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Updates {
    /// Values that follow from the time alone.
    pub computed: u64,
    /// Values that were written, by clients and by update loops.
    pub stored: u64,
    /// Events raised.
    pub event: u64,
}

/// All that a server counted, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GroundTruth {
    /// When the server started; after a restart by a fault, that.
    pub started: Timestamp,
    /// When this was read.
    pub at: Timestamp,
    /// Monotonic time of the server at that moment, which its computed values follow.
    pub elapsed_ns: u64,
    /// Updates made.
    pub updates: Updates,
    /// What became of values and messages of subscriptions.
    pub subscriptions: Subscriptions,
    /// How clients took what there was for them.
    pub clients: Taking,
    /// What went wrong on purpose.
    pub faults: Vec<FaultCount>,
    /// What was published over PubSub, by each publisher.
    pub publishing: Vec<Publisher>,
    /// What the server counted beside.
    pub counted: Counted,
    /// What its loops did, and what waited for them.
    pub internals: Internals,
}

/// What a publisher of the server did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Publisher {
    /// Where to.
    pub to: String,
    /// The PublisherId.
    pub publisher: u16,
    /// What became of its messages.
    #[serde(flatten)]
    pub sendings: Sendings,
}

impl GroundTruth {
    /// What is true now.
    pub(crate) fn read(shared: &Shared) -> Self {
        let now = shared.clock.now();
        let counted = shared.counters.read();
        Self {
            started: timestamp(shared.status.started()),
            at: timestamp(now.utc),
            elapsed_ns: now.mono.as_nanos(),
            updates: Updates {
                computed: computed(&shared.space, now),
                stored: counted.updates,
                event: shared.space.events().raised(now.mono.as_nanos()),
            },
            subscriptions: shared.ledger.read(),
            clients: taking(shared, now),
            faults: shared.faults.counts(),
            publishing: shared.publishers.iter().map(|it| publisher(it)).collect(),
            counted,
            internals: shared.workings.read(now.mono),
        }
    }

    /// As JSON, for people too.
    pub fn to_json(&self) -> String {
        // Numbers, names and times have a form in JSON.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

fn publisher(it: &publish_subscribe::Publisher) -> Publisher {
    Publisher {
        to: it.about.to.clone(),
        publisher: it.about.publisher,
        sendings: it.progress.so_far(),
    }
}

/// How the clients of a server took what there was for them, and what they owe now.
pub(crate) fn taking(shared: &Shared, now: Now) -> Taking {
    let mut taking = shared.ledger.took.read();
    shared.register.owed(now.mono.as_nanos(), &mut taking.now);
    taking
}

fn timestamp(ticks: i64) -> Timestamp {
    // No clock of 64 bits of ticks from 1601 on gets beyond what has a calendar.
    Timestamp::from_unix_ns(unix_ns(ticks)).unwrap_or(Timestamp::from(SystemTime::UNIX_EPOCH))
}

fn computed(space: &Space, now: Now) -> u64 {
    let nanos = now.mono.as_nanos();
    let sources = space.nodes().filter_map(|node| node.variable());
    sources
        .map(|variable| match &variable.source {
            Source::Signal(signal) => signal.updates(nanos),
            _ => 0,
        })
        .fold(0, u64::saturating_add)
}
