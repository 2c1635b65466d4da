//! What a server is asked for, as far as it is known before anything runs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a server is asked for. Times are in milliseconds; numbers of items may be fractions, where signals are shared
/// out to sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Sessions, each of one client.
    pub sessions: f64,
    /// Subscriptions of each session.
    #[serde(default)]
    pub subscriptions: f64,
    /// Monitored items of each subscription.
    #[serde(default)]
    pub items: f64,
    /// Publishing interval.
    #[serde(default)]
    pub publishing_ms: f64,
    /// Sampling interval.
    #[serde(default)]
    pub sampling_ms: f64,
    /// How often the value of each variable changes; 0 means never.
    #[serde(default)]
    pub change_ms: f64,
    /// Values that the server keeps for each item.
    #[serde(default)]
    pub queue: f64,
    /// Different variables whose values change.
    #[serde(default)]
    pub variables: f64,
    /// Bytes of a value.
    #[serde(default)]
    pub payload_bytes: f64,
    /// Read requests per second of all sessions together.
    #[serde(default)]
    pub reads_per_s: f64,
    /// Write requests per second of all sessions together.
    #[serde(default)]
    pub writes_per_s: f64,
    /// Operations in each request.
    #[serde(default)]
    pub batch: f64,
    /// What is done to messages.
    #[serde(default)]
    pub security: Security,
    /// How values are written that are published over PubSub: `raw`, `variant`, `json variant mqtt`. None: clients
    /// subscribe to them. Of a publisher, a session is a NetworkMessage of each cycle, its subscriptions are the
    /// DataSetMessages in it, their items are fields, and the publishing interval is the cycle's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pubsub: Option<String>,
}

/// What is done to messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Security {
    /// Nothing.
    #[default]
    None,
    /// They are signed.
    Sign,
    /// They are signed and encrypted.
    SignAndEncrypt,
}

/// What is not a security mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("security {0:?} (want none, Sign or SignAndEncrypt, with or without a policy before it)")]
pub struct SecurityError(String);

impl FromStr for Security {
    type Err = SecurityError;

    fn from_str(text: &str) -> Result<Self, SecurityError> {
        let mode = text.rsplit(':').next().unwrap_or(text);
        let mode = mode.to_ascii_lowercase().replace(['&', '-', '_', ' '], "");
        match mode.as_str() {
            "" | "none" => Ok(Self::None),
            "sign" => Ok(Self::Sign),
            "signandencrypt" | "signencrypt" => Ok(Self::SignAndEncrypt),
            _ => Err(SecurityError(text.to_owned())),
        }
    }
}

impl fmt::Display for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Sign => "Sign",
            Self::SignAndEncrypt => "SignAndEncrypt",
        })
    }
}

/// So many times a second; never where the interval is 0.
fn each_second(interval_ms: f64) -> f64 {
    if interval_ms > 0.0 {
        1000.0 / interval_ms
    } else {
        0.0
    }
}

impl Workload {
    /// Nothing is asked for.
    pub fn idle() -> Self {
        Self {
            sessions: 0.0,
            subscriptions: 0.0,
            items: 0.0,
            publishing_ms: 0.0,
            sampling_ms: 0.0,
            change_ms: 0.0,
            queue: 1.0,
            variables: 0.0,
            payload_bytes: 8.0,
            reads_per_s: 0.0,
            writes_per_s: 0.0,
            batch: 1.0,
            security: Security::None,
            pubsub: None,
        }
    }

    /// Signals that clients subscribe to: each value changes at each publishing, and is sampled as often.
    pub fn of_signals(clients: f64, items_per_client: f64, interval_ms: f64) -> Self {
        Self {
            sessions: clients,
            subscriptions: 1.0,
            items: items_per_client,
            publishing_ms: interval_ms,
            sampling_ms: interval_ms,
            change_ms: interval_ms,
            variables: clients * items_per_client,
            ..Self::idle()
        }
    }

    /// What a publisher sends over PubSub: so many fields in each of its NetworkMessages.
    pub fn of_publisher(encoding: &str, messages: f64, fields: f64, interval_ms: f64) -> Self {
        Self {
            pubsub: Some(encoding.to_owned()),
            variables: 0.0,
            ..Self::of_signals(messages, fields, interval_ms)
        }
    }

    /// Who it is the work of.
    pub fn whose(&self) -> String {
        match &self.pubsub {
            None => "servers".to_owned(),
            Some(encoding) => format!("publishers ({encoding})"),
        }
    }

    /// Subscriptions of all sessions.
    pub fn all_subscriptions(&self) -> f64 {
        self.sessions * self.subscriptions
    }

    /// Monitored items of all sessions.
    pub fn all_items(&self) -> f64 {
        self.all_subscriptions() * self.items
    }

    /// Publishings per second, with or without news.
    pub fn publishings_per_s(&self) -> f64 {
        self.all_subscriptions() * each_second(self.publishing_ms)
    }

    /// Publish responses with values per second.
    pub fn messages_per_s(&self) -> f64 {
        if self.items <= 0.0 || self.change_ms <= 0.0 {
            return 0.0;
        }
        let interval = self.publishing_ms.max(self.change_ms);
        let messages = match self.pubsub {
            None => self.all_subscriptions(),
            Some(_) => self.sessions,
        };
        messages * each_second(interval)
    }

    /// DataSetMessages per second, of a publisher.
    pub fn data_sets_per_s(&self) -> f64 {
        self.all_subscriptions() * each_second(self.publishing_ms)
    }

    /// Values in notifications per second.
    pub fn values_per_s(&self) -> f64 {
        if self.change_ms <= 0.0 {
            return 0.0;
        }
        let interval = self.sampling_ms.max(self.change_ms);
        let interval = match self.queue > 1.0 {
            true => interval,
            false => interval.max(self.publishing_ms),
        };
        self.all_items() * each_second(interval)
    }

    /// Samples per second that are taken between publishings.
    pub fn samples_between_per_s(&self) -> f64 {
        match self.sampling_ms < self.publishing_ms {
            true => self.all_items() * each_second(self.sampling_ms),
            false => 0.0,
        }
    }

    /// Samples per second that are taken no more often than there is a publishing.
    pub fn samples_at_publishing_per_s(&self) -> f64 {
        match self.sampling_ms < self.publishing_ms {
            true => 0.0,
            false => self.all_items() * each_second(self.sampling_ms),
        }
    }

    /// Variables that are updated, per second.
    pub fn updates_per_s(&self) -> f64 {
        self.variables * each_second(self.change_ms)
    }

    /// What wakes the server up, per second: publishings, the update loop, requests.
    pub fn wake_ups_per_s(&self) -> f64 {
        if self.pubsub.is_some() {
            // One timer for all messages of a cycle.
            return each_second(self.publishing_ms);
        }
        let updates = match self.variables > 0.0 {
            true => each_second(self.change_ms),
            false => 0.0,
        };
        self.publishings_per_s() + updates + self.reads_per_s + self.writes_per_s
    }

    /// Messages per second that the server sends: notifications and responses.
    pub fn sent_per_s(&self) -> f64 {
        self.messages_per_s() + self.reads_per_s + self.writes_per_s
    }

    /// Bytes of values per second, about: a value with its status and times weighs 22 bytes more than itself.
    pub fn value_bytes_per_s(&self) -> f64 {
        let read = self.reads_per_s + self.writes_per_s;
        (self.values_per_s() + read * self.batch) * (self.payload_bytes + 22.0)
    }
}
