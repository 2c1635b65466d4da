//! What a server grants at most, and to whom.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Who may take a subscription over from another session with TransferSubscriptions (Part 4, 5.14.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(try_from = "String")]
pub enum Transfer {
    /// The same user, as Part 4 has it. Users without a name are the same if their applications are, and that is
    /// known of channels that are signed only.
    #[default]
    SameUser,
    /// Nobody: the service is not there.
    Never,
    /// Whoever knows its number: for a bench without certificates.
    Anyone,
}

impl TryFrom<String> for Transfer {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl std::str::FromStr for Transfer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "same-user" => Ok(Self::SameUser),
            "never" => Ok(Self::Never),
            "anyone" => Ok(Self::Anyone),
            _ => Err(format!(
                "{text:?} is none of them (want same-user, never or anyone)"
            )),
        }
    }
}

/// What is granted at most. All of it stands in the address space under ServerCapabilities,
/// where it has a place there.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Sizes of chunks and messages.
    pub sizes: wire::frame::Limits,
    /// Bytes of the longest request in JSON, as it comes and as a message in binary: each is turned into that in one go, which
    /// holds up whoever is served by the same thread.
    pub json_request: usize,
    /// Connections at a time, those without a session too.
    pub connections: usize,
    /// Bytes of memory that a connection has for messages on their way in and out.
    pub connection_memory: usize,
    /// Sessions at a time.
    pub sessions: usize,
    /// Bytes of memory that a session has: for its items and what they saw, for messages that wait to be acknowledged, for
    /// requests that are worked at.
    pub session_memory: usize,
    /// How long a message may take to come whole.
    pub message_timeout: Duration,
    /// The session timeouts that are granted.
    pub session_timeout: RangeInclusive<Duration>,
    /// Operations of a Read request.
    pub nodes_per_read: usize,
    /// Operations of a Write request.
    pub nodes_per_write: usize,
    /// Methods of a Call request.
    pub methods_per_call: usize,
    /// Operations of a Browse request.
    pub nodes_per_browse: usize,
    /// Operations of a RegisterNodes request.
    pub nodes_per_register: usize,
    /// Operations of a TranslateBrowsePathsToNodeIds request.
    pub paths_per_translate: usize,
    /// References in the result for one node.
    pub references_per_node: usize,
    /// Continuation points of a session.
    pub continuation_points: usize,
    /// Nodes that clients may have added at a time; none at all if it is 0.
    pub added_nodes: usize,
    /// Values of a history in the result for one node.
    pub history_values: usize,
    /// Operations of a request of the MonitoredItem services.
    pub items_per_call: usize,
    /// Subscriptions of a session.
    pub subscriptions_per_session: usize,
    /// Items of a subscription.
    pub items_per_subscription: usize,
    /// Notifications kept for an item.
    pub queue_size: u32,
    /// Publish requests that a session may have waiting.
    pub publish_requests: usize,
    /// Sampling intervals below it are revised to it.
    pub sampling_interval: Duration,
    /// The publishing intervals that are granted.
    pub publishing_interval: RangeInclusive<Duration>,
    /// A subscription ends at the latest after so long without a Publish request, whatever its client asks for: who went
    /// away for good does not leave it for ever.
    pub subscription_lifetime: Duration,
    /// Notification messages that a subscription keeps for Republish.
    pub kept_messages: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sizes: wire::frame::Limits::default(),
            json_request: 1024 * 1024,
            connections: 10_000,
            connection_memory: 64 * 1024 * 1024,
            sessions: 10_000,
            session_memory: 256 * 1024 * 1024,
            message_timeout: Duration::from_secs(60),
            session_timeout: Duration::from_secs(1)..=Duration::from_secs(3600),
            nodes_per_read: 10_000,
            nodes_per_write: 10_000,
            methods_per_call: 1_000,
            nodes_per_browse: 10_000,
            nodes_per_register: 10_000,
            paths_per_translate: 10_000,
            references_per_node: 10_000,
            continuation_points: 100,
            added_nodes: 0,
            history_values: 10_000,
            items_per_call: 10_000,
            subscriptions_per_session: 1_000,
            items_per_subscription: 100_000,
            queue_size: 10_000,
            publish_requests: 1_000,
            sampling_interval: Duration::from_millis(1),
            publishing_interval: Duration::from_millis(1)..=Duration::from_secs(3600),
            subscription_lifetime: Duration::from_secs(3600),
            kept_messages: 1_000,
        }
    }
}
