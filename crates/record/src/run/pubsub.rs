//! What was published and heard over PubSub.

use serde::{Deserialize, Serialize};

use super::{ClockBound, Figure};
use crate::Histogram;

/// Bytes of a datagram to this URL beyond which IP cuts it into fragments, on a link of 1,500 bytes: without the headers
/// of UDP and IP.
pub fn whole_datagram(to: &str) -> u64 {
    // Addresses of IPv6 stand in brackets.
    match to.contains('[') {
        true => 1452,
        false => 1472,
    }
}

/// PubSub in a phase, of the whole phase: what a publisher of ours sent, and what each listener heard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PubSub {
    /// Where datagrams were sent to: `opc.udp://239.0.0.1:4840`; or frames: `opc.eth://01-00-5e-00-00-01`.
    pub to: String,
    /// Whether that is a group, whose members all get each datagram.
    pub multicast: bool,
    /// What was sent, where the publisher is ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
    /// What each listener heard. Each of them on the publisher's host costs the publisher time.
    pub listeners: Vec<Listener>,
    /// What the clocks of both sides allow to say of delays, where publisher and listeners are on hosts that were named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockBound>,
}

/// What was sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Time between two cycles; none if they followed each other without a pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// Cycles that were due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_cycles: Option<u64>,
    /// Cycles that were sent.
    pub cycles: u64,
    /// Datagrams that the kernel took.
    pub datagrams: u64,
    /// Datagrams that it refused.
    pub refused: u64,
    /// Their bytes, without those of UDP and IP.
    pub bytes: u64,
    /// Bytes of each; of more than 1,472 IP makes fragments.
    pub datagram_bytes: u64,
    /// Values in them.
    pub values: u64,
    /// How often another key was taken.
    #[serde(default)]
    pub roll_overs: u64,
    /// From the first cycle to the end of the last.
    pub elapsed_ns: u64,
    /// Which keys messages were secured with, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<KeyUse>,
    /// What the broker did with them, if they went to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker: Option<Delivered>,
}

/// What a broker did with messages that were sent to it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Delivered {
    /// Of MQTT.
    pub version: String,
    /// What TLS agreed on, if it was inside TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<String>,
    /// 0, 1 or 2.
    pub qos: u8,
    /// Connections that there were.
    pub connections: u64,
    /// Why they ended before their time, and why there was none again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_connections: Vec<String>,
    /// Messages that were not sent because there was no connection.
    pub not_connected: u64,
    /// Messages that were not sent because `window` were without acknowledgement.
    pub window_full: u64,
    /// Messages that were not sent because the socket took no more.
    pub socket_full: u64,
    /// So many messages could be without acknowledgement.
    pub window: u16,
    /// Messages that the broker has, as it says; QoS 0 has no such word.
    pub acknowledged: u64,
    /// Messages that it says it does not take.
    pub refused: u64,
    /// Why not, of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_because: Option<String>,
    /// Messages that it said nothing of.
    pub unacknowledged: u64,
    /// From sending a message to its acknowledgement.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub acknowledgement: Histogram,
}

/// What a broker had to do with what a listener heard.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Subscribed {
    /// Of MQTT.
    pub version: String,
    /// What TLS agreed on, if it was inside TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<String>,
    /// The QoS that the broker granted.
    pub qos: u8,
    /// Connections that there were.
    pub connections: u64,
    /// Why they ended before their time, and why there was none again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_connections: Vec<String>,
    /// How long there was none.
    pub away_ns: u64,
    /// Messages that the broker had kept from before, which are not among those that were heard.
    pub retained: u64,
    /// Messages that say that they may have been sent before.
    pub maybe_again: u64,
}

/// What one listener heard.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Listener {
    /// Datagrams.
    pub datagrams: u64,
    /// Their bytes, without those of UDP and IP.
    pub bytes: u64,
    /// Values.
    pub values: u64,
    /// DataSetMessages.
    pub messages: u64,
    /// DataSetMessages, or NetworkMessages where only they are numbered, that never came, by their sequence numbers;
    /// none where nothing has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Datagrams that our publisher sent and this listener never got, the first and the last ones, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub never_came: Option<u64>,
    /// Came again.
    pub repeated: u64,
    /// Came after a later one.
    pub late: u64,
    /// How often some were missing.
    pub gaps: u64,
    /// The most that were missing at once.
    pub longest_gap: u64,
    /// How often numbers began anew.
    pub restarts: u64,
    /// Datagrams that the kernel dropped because this listener's buffer was full.
    pub socket_drops: Figure<u64>,
    /// The room that the kernel gave it.
    pub buffer_bytes: u64,
    /// Whether times of arrival are the kernel's.
    pub kernel_stamps: bool,
    /// CPU of its thread.
    pub cpu_ns: Figure<u64>,
    /// The agent that it is on, where that is not this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Publishers and writer groups.
    pub streams: u64,
    /// Encodings that came: `Variant`, `RawData`, `DataValue`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub encodings: Vec<String>,
    /// How messages were secured: `none`, `sign`, `sign-and-encrypt`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security: Vec<String>,
    /// Why there is no delay, where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_delay: Option<String>,
    /// Datagrams that could not be read, by the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Unread>,
    /// Probes and announcements, which are not among the datagrams.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub discovery: u64,
    /// Which keys what was read was secured with, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<KeyUse>,
    /// What the broker had to do with it, if they came by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker: Option<Subscribed>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
pub(super) fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Which keys there were, and how a key service was asked for them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyUse {
    /// Datagrams by the token of their key, the last hundred tokens.
    pub tokens: Vec<TokenUse>,
    /// Datagrams of tokens before those.
    #[serde(default)]
    pub earlier: u64,
    /// How often the key service answered; 0 without one.
    #[serde(default)]
    pub asked: u64,
    /// How often it did not.
    #[serde(default)]
    pub failed: u64,
    /// Why not, the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Datagrams that were secured with a key whose time was over, as there was no other.
    #[serde(default)]
    pub expired: u64,
}

/// Datagrams of one token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUse {
    /// The SecurityTokenId.
    pub token: u32,
    /// How many.
    pub datagrams: u64,
}

/// Datagrams that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// Why.
    pub reason: String,
    /// How many.
    pub datagrams: u64,
}

impl Published {
    /// Values that were sent, per second. The time of the last cycle belongs to it.
    pub fn values_per_s(&self) -> Option<f64> {
        let ns = match self.interval_ns {
            Some(interval) => interval.saturating_mul(self.cycles),
            None => self.elapsed_ns,
        };
        (ns > 0).then(|| self.values as f64 * 1e9 / ns as f64)
    }
}

impl Listener {
    /// Datagrams that could not be read.
    pub fn unreadable(&self) -> u64 {
        self.unread.iter().map(|it| it.datagrams).sum()
    }
}

impl PubSub {
    /// A count of all listeners together.
    pub fn sum(&self, of: impl Fn(&Listener) -> u64) -> u64 {
        self.listeners.iter().map(of).sum()
    }

    /// What is known to be lost, of all listeners: datagrams of a publisher of ours, else messages by their sequence
    /// numbers. None where nothing tells of it.
    pub fn lost(&self) -> Option<u64> {
        let lost = |it: &Listener| match (it.never_came, it.lost) {
            (Some(never), Some(lost)) => Some(never.max(lost)),
            (never, lost) => never.or(lost),
        };
        // One listener that hears nothing may not hide what the others know.
        let known: Vec<u64> = self.listeners.iter().filter_map(lost).collect();
        (!known.is_empty()).then(|| known.iter().sum())
    }

    /// The share of what was sent.
    pub fn loss_share(&self) -> Option<f64> {
        let lost = self.lost()?;
        let all = lost + self.sum(|it| it.messages.max(it.datagrams));
        (all > 0).then(|| lost as f64 / all as f64)
    }

    /// Bytes of a value, with its share of all headers; without those of UDP and IP.
    pub fn bytes_per_value(&self) -> Option<f64> {
        let values = self.sum(|it| it.values);
        (values > 0).then(|| self.sum(|it| it.bytes) as f64 / values as f64)
    }

    /// Datagrams that this host's sockets dropped; none where no kernel tells.
    pub fn socket_drops(&self) -> Option<u64> {
        let told = self
            .listeners
            .iter()
            .filter_map(|it| it.socket_drops.known());
        told.copied().reduce(|a, b| a + b)
    }

    /// CPU that the listeners' threads took for each value that came.
    pub fn listener_cpu_per_value_ns(&self) -> Option<f64> {
        let each = self.listeners.iter().map(|it| it.cpu_ns.known().copied());
        let cpu: u64 = each.sum::<Option<u64>>()?;
        let values = self.sum(|it| it.values);
        (values > 0).then(|| cpu as f64 / values as f64)
    }

    /// Whether a broker is between publisher and listeners: what is counted are its messages then, not datagrams.
    pub fn is_brokered(&self) -> bool {
        let sent = self.published.as_ref();
        sent.is_some_and(|it| it.broker.is_some())
            || self.listeners.iter().any(|it| it.broker.is_some())
    }

    /// What is counted: a word for one and for several of them.
    pub fn counted(&self) -> (&'static str, &'static str) {
        match (self.is_brokered(), self.is_framed()) {
            (true, _) => ("message", "messages"),
            (false, true) => ("frame", "frames"),
            (false, false) => ("datagram", "datagrams"),
        }
    }

    /// Whether messages went in Ethernet frames without IP: what is counted are frames then.
    pub fn is_framed(&self) -> bool {
        self.to.starts_with("opc.eth://")
    }

    /// Whether IP cuts the datagrams into fragments, as far as their size is known.
    pub fn is_fragmented(&self) -> bool {
        let sent = self
            .published
            .as_ref()
            .filter(|_| !self.is_brokered() && !self.is_framed());
        sent.is_some_and(|it| it.datagram_bytes > whole_datagram(&self.to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(datagrams: u64, lost: Option<u64>, never_came: Option<u64>) -> Listener {
        Listener {
            datagrams,
            messages: datagrams,
            lost,
            never_came,
            bytes: 100 * datagrams,
            values: 10 * datagrams,
            cpu_ns: Figure::Known(500 * datagrams),
            ..Listener::default()
        }
    }

    fn of(listeners: Vec<Listener>) -> PubSub {
        PubSub {
            to: "opc.udp://127.0.0.1:4840".into(),
            multicast: false,
            published: None,
            listeners,
            clock: None,
        }
    }

    #[test]
    fn loss_is_what_the_publisher_knows_or_sequence_numbers_say_and_unknown_without_both() {
        assert_eq!(of(vec![heard(9, None, None)]).lost(), None);
        assert_eq!(of(vec![heard(9, Some(1), None)]).lost(), Some(1));
        // The last datagram leaves no gap; who sent it knows.
        assert_eq!(of(vec![heard(8, Some(1), Some(2))]).lost(), Some(2));
        let two = of(vec![heard(9, Some(1), Some(1)), heard(0, None, Some(10))]);
        assert_eq!((two.lost(), two.loss_share()), (Some(11), Some(0.55)));
    }

    #[test]
    fn what_is_sent_in_a_second_is_told_by_the_cycles_or_by_the_time_that_they_took() {
        let mut sent = Published {
            interval_ns: Some(100_000_000),
            cycles: 20,
            values: 2_000,
            elapsed_ns: 1_900_000_000,
            ..Published::default()
        };
        assert_eq!(sent.values_per_s(), Some(1_000.0));
        sent.interval_ns = None;
        sent.elapsed_ns = 500_000_000;
        assert_eq!(sent.values_per_s(), Some(4_000.0));
    }

    #[test]
    fn figures_of_a_value_are_of_all_listeners() {
        let two = of(vec![heard(10, Some(0), None), heard(30, Some(0), None)]);
        assert_eq!(two.bytes_per_value(), Some(10.0));
        assert_eq!(two.listener_cpu_per_value_ns(), Some(50.0));
        assert_eq!(of(vec![heard(0, None, None)]).bytes_per_value(), None);
    }
}
