//! What is published and listened to over PubSub.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::text::nanos;

/// How a broker is spoken to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broker {
    /// Of MQTT: `3.1.1`, `5`.
    pub mqtt: String,
    /// 0, 1 or 2.
    pub qos: u8,
    /// Who logs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Messages of a publisher that may wait for their acknowledgement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u16>,
    /// Whether publishers have the clock of this host.
    pub same_clock: bool,
}

/// Who hands out the keys of messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyService {
    /// `opc.tcp://HOST:PORT`.
    pub url: String,
    /// The SecurityGroup.
    pub group: String,
    /// Who logs in there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// A publisher of ours, and listeners that hear it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publish {
    /// Where to: `opc.udp://HOST:PORT`; port 0 is a free one. Or `opc.eth://MAC`, or `mqtt://HOST:PORT/PREFIX`.
    pub to: String,
    /// How the broker is spoken to, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker: Option<Broker>,
    /// `uadp`, `json`, `json-verbose`, `json-reversible`.
    #[serde(default = "uadp")]
    pub mapping: String,
    /// The interface that a group is reached by, or that frames are sent by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The interface of the listeners, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen_interface: Option<String>,
    /// How many routers multicast datagrams may pass.
    pub ttl: u32,
    /// The class of traffic that datagrams say they are of (RFC 2474).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<String>,
    /// Who publishes.
    pub publisher: String,
    /// NetworkMessages in a cycle.
    pub groups: u16,
    /// DataSetMessages in each.
    pub writers: u16,
    /// Fields of each.
    pub signals: u16,
    /// Their type: `float`.
    pub kind: String,
    /// `variant`, `raw`, `value`.
    pub encoding: String,
    /// `dynamic`, `periodic-fixed`.
    pub layout: String,
    /// `none`, `sign`, `sign-and-encrypt`.
    pub security: String,
    /// Who hands out its keys, if somebody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_service: Option<KeyService>,
    /// How long each key is used, where that was said.
    #[serde(
        rename = "roll_over_ns",
        default,
        skip_serializing_if = "Option::is_none",
        with = "nanos::option"
    )]
    pub roll_over: Option<Duration>,
    /// Time between two cycles; none: one after another without a pause.
    #[serde(rename = "interval_ns", with = "nanos::option")]
    pub interval: Option<Duration>,
    /// Who hears it, each with a socket and a thread.
    pub listeners: u32,
    /// The room for datagrams that wait to be read, of each of them.
    pub receive_buffer: u64,
}

/// Listeners to a publisher that is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listen {
    /// Where datagrams come to: `opc.udp://ADDRESS:PORT`. Or `opc.eth://MAC`, `opc.eth://INTERFACE`, or `mqtt://HOST:PORT/FILTER`.
    pub from: String,
    /// How the broker is spoken to, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker: Option<Broker>,
    /// The address of the interface that a group is joined on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The publishers whose messages are taken, by their PublisherIds as they are printed; none: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub publishers: Vec<String>,
    /// The writer groups whose messages are taken, likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// What messages have to be secured by at least: `none`, `sign`, `sign-and-encrypt`.
    pub security: String,
    /// Who hands out the keys of messages, if somebody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_service: Option<KeyService>,
    /// Where publishers are asked what they send: `opc.udp://ADDRESS:PORT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery: Option<String>,
    /// How many listen, each with a socket and a thread.
    pub listeners: u32,
    /// The room for datagrams that wait to be read, of each of them.
    pub receive_buffer: u64,
    /// Take only what the specification has.
    pub strict: bool,
    /// Take secured messages whose nonce stands still.
    pub constant_nonce: bool,
}

fn uadp() -> String {
    "uadp".to_owned()
}

/// A socket and a thread for each.
const MOST_LISTENERS: u32 = 1024;

impl Publish {
    /// Values in a cycle.
    pub fn values(&self) -> u64 {
        u64::from(self.groups) * u64::from(self.writers) * u64::from(self.signals)
    }

    /// Values in a second, where cycles have a time.
    pub fn values_per_s(&self) -> Option<f64> {
        let seconds = self.interval?.as_secs_f64();
        (seconds > 0.0).then(|| self.values() as f64 / seconds)
    }

    pub(crate) fn check(&self) -> Result<(), PlanError> {
        listeners(self.listeners)?;
        if self.interval == Some(Duration::ZERO) {
            let want = "more than nothing; cycles without a pause are max = true";
            return Err(PlanError::new("interval", "0s", want));
        }
        if self.roll_over == Some(Duration::ZERO) {
            return Err(PlanError::new("roll-over", "0s", "more than nothing"));
        }
        if self.values() == 0 {
            return Err(PlanError::new("signals", 0, "1 or more"));
        }
        let all = u32::from(self.groups) * u32::from(self.writers);
        if all > u32::from(u16::MAX) {
            let want = "at most 65535 DataSetWriters in all groups together";
            return Err(PlanError::new("writers", all, want));
        }
        if self.mapping != "uadp" && self.broker.is_none() {
            let want =
                "uadp: messages without a broker are; JSON goes to brokers, to = \"mqtt://HOST\"";
            return Err(PlanError::new("mapping", &self.mapping, want));
        }
        if self.mapping != "uadp" && self.security != "none" {
            let want = "none with JSON, which has no message security; secured messages are UADP";
            return Err(PlanError::new("security", &self.security, want));
        }
        if self.layout == "periodic-fixed" && self.writers > 1 {
            let want =
                "1 in the layout periodic-fixed: its messages do not say where the next one begins";
            return Err(PlanError::new("writers", self.writers, want));
        }
        Ok(())
    }
}

impl Listen {
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        listeners(self.listeners)
    }
}

fn listeners(count: u32) -> Result<(), PlanError> {
    match (1..=MOST_LISTENERS).contains(&count) {
        true => Ok(()),
        false => Err(PlanError::new("listeners", count, "1 to 1024")),
    }
}

/// What is to become of a datagram that is published: what a server's faults decide, and a publisher carries out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DatagramFate {
    /// It is sent so much later.
    pub delay: Duration,
    /// It is not sent.
    pub lost: bool,
    /// It is sent so many times more.
    pub more: u32,
    /// It is sent behind so many that follow.
    pub behind: u32,
    /// Its first byte names a version that there is not.
    pub corrupt: bool,
    /// Its signature is not one of its key. What has none is corrupt instead.
    pub wrong_key: bool,
}
