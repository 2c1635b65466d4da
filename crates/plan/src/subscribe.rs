//! Subscriptions as a load (Part 4, 5.13 and 5.14): how many, of what, with which terms, and what
//! is done to them while they report.

mod terms;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::aggregate::Aggregating;
use crate::error::PlanError;
use crate::events::Events;
use crate::nodes::Nodes;
use crate::random::mixed;
use crate::request::Timestamps;
use crate::seat::Seat;
use crate::text::{self, nanos};
use crate::unit::{Rate, duration};

pub use terms::{Churn, Churned, Deadband, Mode, Offsets, Reconnect, Sampling, Trigger};

/// What each session subscribes to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subscribe {
    /// What the items watch, in turn.
    pub nodes: Nodes,
    /// In each session.
    pub subscriptions: u32,
    /// In each subscription; none: one for each node of its session.
    pub items: Option<u32>,
    /// The publishing interval to ask for.
    #[serde(rename = "publishing_ns", with = "nanos")]
    pub publishing: Duration,
    /// The sampling interval to ask for.
    #[serde(with = "text")]
    pub sampling: Sampling,
    /// Values that the server keeps for an item between two publishings.
    pub queue: u32,
    /// A full queue loses its newest value instead of its oldest.
    pub discard_newest: bool,
    /// Changes that are too small to be told.
    #[serde(with = "text::option")]
    pub deadband: Option<Deadband>,
    /// What counts as a change.
    #[serde(with = "text")]
    pub trigger: Trigger,
    /// What the server is to make of the values of an interval, instead of telling them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<Aggregating>,
    /// Whether items sample and report.
    #[serde(with = "text")]
    pub mode: Mode,
    /// The subscriptions sample and queue, and publish nothing.
    pub publishing_off: bool,
    /// Publish requests that each session keeps waiting; none: as many as it takes.
    pub publish_requests: Option<u32>,
    /// Values in a message at most; zero: as many as the server likes.
    pub max_notifications: u32,
    /// Of the subscriptions, against others of the same session.
    pub priority: u8,
    /// Publishing intervals without news until the server says that it lives.
    pub keep_alive: u32,
    /// Publishing intervals without a Publish request until the server gives a subscription up;
    /// none: a minute of them.
    pub lifetime: Option<u32>,
    /// Items in a CreateMonitoredItems request; none: as many as the server takes.
    pub items_per_call: Option<u32>,
    /// Between the last item's creation and the first figure; none: as long as first values take.
    #[serde(rename = "settle_ns", with = "nanos::option")]
    pub settle: Option<Duration>,
    /// When subscriptions are created within a publishing interval.
    #[serde(with = "text")]
    pub offsets: Offsets,
    /// How often each node is known to change, where it is known.
    pub change_rate: Option<Rate>,
    /// Which timestamps values carry.
    pub timestamps: Timestamps,
    /// How a session comes back whose connection broke.
    #[serde(with = "text")]
    pub reconnect: Reconnect,
    /// What is done to items and subscriptions while they report.
    #[serde(default, with = "text::list")]
    pub churn: Vec<Churn>,
    /// How often a session of its own writes a counter to each of the nodes.
    #[serde(default)]
    pub writer: Option<Rate>,
    /// The items wait for events of the nodes, and not for their values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Events>,
}

/// Items of a session: their handles are 32 bits wide and their state has to fit into memory.
const MOST_ITEMS: u64 = 100_000_000;
/// More than any server grants.
const MOST_SUBSCRIPTIONS: u32 = 1_000_000;
/// As long as no news are to go before a subscription is given up.
const LIFETIME: Duration = Duration::from_secs(60);

impl Subscribe {
    /// The publishing interval when nothing is said: that of common clients.
    pub const PUBLISHING: Duration = Duration::from_millis(500);
    /// Publishing intervals between signs of life when nothing is said.
    pub const KEEP_ALIVE: u32 = 10;

    /// One subscription with an item for each of the nodes.
    pub fn new(nodes: Nodes) -> Self {
        Self {
            nodes,
            subscriptions: 1,
            items: None,
            publishing: Self::PUBLISHING,
            sampling: Sampling::default(),
            queue: 1,
            discard_newest: false,
            deadband: None,
            trigger: Trigger::default(),
            aggregate: None,
            mode: Mode::default(),
            publishing_off: false,
            publish_requests: None,
            max_notifications: 0,
            priority: 0,
            keep_alive: Self::KEEP_ALIVE,
            lifetime: None,
            items_per_call: None,
            settle: None,
            offsets: Offsets::default(),
            change_rate: None,
            timestamps: Timestamps::Both,
            reconnect: Reconnect::default(),
            churn: Vec::new(),
            writer: None,
            events: None,
        }
    }

    /// The lifetime count to ask for: as given, or a minute, and three keep-alives at least
    /// (Part 4, 5.14.2.2).
    pub fn lifetime_count(&self) -> u32 {
        let minute = LIFETIME.as_nanos() / self.publishing.as_nanos().max(1);
        let least = self.keep_alive.saturating_mul(3);
        self.lifetime
            .unwrap_or_else(|| u32::try_from(minute).unwrap_or(u32::MAX).max(least))
    }

    /// Items in a subscription of a session that uses so many nodes.
    pub fn items_of(&self, nodes: usize) -> usize {
        self.items.map_or(nodes, |items| items as usize)
    }

    /// The place in the session's list of nodes that an item watches. Subscriptions go on in the list where the
    /// one before them ended.
    pub fn node_of(&self, subscription: u32, item: usize, nodes: usize) -> usize {
        let before = subscription as usize * (self.items_of(nodes) % nodes.max(1));
        (before + item) % nodes.max(1)
    }

    /// How long first values may take with so many items in all: two publishing intervals, and what
    /// a server takes to report each item once.
    pub fn settling(&self, items: u64) -> Duration {
        const EACH: Duration = Duration::from_micros(2);
        let each = EACH.saturating_mul(u32::try_from(items).unwrap_or(u32::MAX));
        self.settle
            .unwrap_or_else(|| self.publishing.saturating_mul(2).saturating_add(each))
    }

    /// When a subscription is created, since the first one could be. `sessions` is the number of
    /// sessions of all targets, `session` the place of this one among them.
    pub fn offset(
        &self,
        seed: u64,
        seat: Seat,
        session: u64,
        sessions: u64,
        subscription: u32,
    ) -> Duration {
        let interval = u128::from(duration::nanos(self.publishing));
        let share = |part: u128, of: u128| {
            Duration::from_nanos(u64::try_from(interval * part / of.max(1)).unwrap_or(u64::MAX))
        };
        match self.offsets {
            Offsets::Aligned => Duration::ZERO,
            Offsets::Staggered => {
                let each = u128::from(self.subscriptions);
                let place = u128::from(session) * each + u128::from(subscription);
                share(place, u128::from(sessions) * each)
            }
            Offsets::Random => {
                let place = u64::from(seat.target) << 32 | u64::from(seat.index);
                let random = mixed(seed ^ mixed(place ^ mixed(u64::from(subscription))));
                share(u128::from(random >> 32), 1 << 32)
            }
        }
    }

    /// Whether it makes sense; what does not is named.
    pub fn check(&self) -> Result<(), PlanError> {
        let bad =
            |field, value: &dyn ToString, want| Err(PlanError::new(field, value.to_string(), want));
        if self.nodes.is_empty() {
            return bad("node", &"none", "one or more, such as ns=2;s=MyLevel");
        }
        if !(1..=MOST_SUBSCRIPTIONS).contains(&self.subscriptions) {
            return bad("subscriptions", &self.subscriptions, "1 to 1000000");
        }
        if self.items == Some(0) {
            return bad("items", &0, "1 or more");
        }
        let items = u64::from(self.subscriptions) * u64::from(self.items.unwrap_or(1));
        if items > MOST_ITEMS {
            return bad(
                "items",
                &items,
                "at most 100000000 in a session, all its subscriptions together",
            );
        }
        if self.publishing.is_zero() {
            return bad("publishing", &"0s", "above zero");
        }
        if self.publish_requests == Some(0) {
            return bad("publish-requests", &0, "1 or more, or auto");
        }
        if self.items_per_call == Some(0) {
            return bad("items-per-call", &0, "1 or more");
        }
        if self.keep_alive == 0 {
            return bad("keep-alive", &0, "1 or more");
        }
        // Part 4, 5.14.2.2: the lifetime count is at least three times the keep-alive count.
        if let Some(lifetime) = self.lifetime
            && u64::from(lifetime) < u64::from(self.keep_alive) * 3
        {
            return bad("lifetime", &lifetime, "three times --keep-alive or more");
        }
        // Whoever has a subscription of another session has not what it takes to change it or to make it again.
        if let Some(transfer) = self.churn.iter().find(|churn| churn.what.is_transfer()) {
            if self.churn.len() > 1 {
                return bad("churn", &transfer, "no other --churn beside it");
            }
            if self.reconnect != Reconnect::Never {
                return bad("churn", &transfer, "no --reconnect beside it");
            }
        }
        self.check_aggregate()?;
        self.check_events()
    }

    /// An item has one filter.
    fn check_aggregate(&self) -> Result<(), PlanError> {
        let Some(aggregate) = self.aggregate else {
            return Ok(());
        };
        if let Some(deadband) = self.deadband {
            let only = "none with --aggregate: an item has one filter";
            return Err(PlanError::new("deadband", deadband, only));
        }
        if self.trigger != Trigger::default() {
            let only = "none with --aggregate: an item has one filter";
            return Err(PlanError::new("trigger", self.trigger, only));
        }
        if let Some(rate) = self.change_rate {
            let only = "none with --aggregate: intervals are told, and not changes";
            return Err(PlanError::new("change-rate", rate, only));
        }
        aggregate.check()
    }

    /// What is about values does not go with events, and the other way round.
    fn check_events(&self) -> Result<(), PlanError> {
        let refreshes = |it: &Churn| it.what == Churned::Refresh;
        if self.events.is_none() {
            return match self.churn.iter().find(|it| refreshes(it)) {
                Some(churn) => Err(PlanError::new(
                    "churn",
                    churn,
                    "modify, mode or publishing where no events are subscribed to",
                )),
                None => Ok(()),
            };
        }
        let only = "none with --events: it is about values";
        if let Some(aggregate) = self.aggregate {
            return Err(PlanError::new("aggregate", aggregate.function, only));
        }
        if let Some(deadband) = self.deadband {
            return Err(PlanError::new("deadband", deadband, only));
        }
        if self.trigger != Trigger::default() {
            return Err(PlanError::new("trigger", self.trigger, only));
        }
        if let Some(rate) = self.change_rate {
            return Err(PlanError::new("change-rate", rate, only));
        }
        if let Some(rate) = self.writer {
            return Err(PlanError::new("writer", rate, only));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::NodeSpec;

    fn subscribe() -> Subscribe {
        let node: NodeSpec = "ns=2;i=1..4".parse().unwrap();
        Subscribe::new(node.into())
    }

    #[test]
    fn subscriptions_go_on_in_the_list_of_nodes_where_the_one_before_ended() {
        let mut plan = subscribe();
        plan.items = Some(3);
        let nodes = |subscription| [0, 1, 2].map(|item| plan.node_of(subscription, item, 4));
        assert_eq!(nodes(0), [0, 1, 2]);
        assert_eq!(nodes(1), [3, 0, 1]);
        assert_eq!(nodes(2), [2, 3, 0]);
        plan.items = None;
        assert_eq!(plan.items_of(4), 4);
        assert_eq!(plan.node_of(1, 0, 4), 0);
    }

    #[test]
    fn offsets_lie_in_one_publishing_interval() {
        let mut plan = subscribe();
        plan.subscriptions = 5;
        let seat = |index| Seat { target: 0, index };
        let all = |plan: &Subscribe, seed| -> Vec<Duration> {
            (0..20)
                .flat_map(|index| (0..5).map(move |n| (index, n)))
                .map(|(index, n)| plan.offset(seed, seat(index), index.into(), 20, n))
                .collect()
        };
        let random = all(&plan, 1);
        assert!(random.iter().all(|at| *at < plan.publishing));
        let early = random
            .iter()
            .filter(|at| **at < plan.publishing / 2)
            .count();
        assert!(
            (25..75).contains(&early),
            "{early} of 100 in the first half"
        );
        assert_ne!(random, all(&plan, 2));
        plan.offsets = Offsets::Staggered;
        let staggered = all(&plan, 1);
        let step = plan.publishing / 100;
        assert!((0u32..).zip(&staggered).all(|(n, at)| *at == step * n));
        plan.offsets = Offsets::Aligned;
        assert!(all(&plan, 1).iter().all(Duration::is_zero));
    }

    #[test]
    fn a_lifetime_is_a_minute_or_three_keep_alives() {
        let mut plan = subscribe();
        assert_eq!(plan.lifetime_count(), 120);
        plan.publishing = Duration::from_secs(10);
        assert_eq!(plan.lifetime_count(), 30);
        plan.lifetime = Some(29);
        assert_eq!(plan.check().unwrap_err().field, "lifetime");
        plan.lifetime = Some(30);
        plan.check().unwrap();
    }
}
