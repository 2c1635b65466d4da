//! Network interfaces: what went through them, what was lost, and how much they could carry.

use platform::System;
use serde::{Deserialize, Serialize};

use crate::figure::{Figure, NotAvailable};
use crate::tree::Tree;

/// A network interface up to a moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Bits per second that it could carry each way.
    pub speed_bits_per_s: Figure<u64>,
    /// `full` or `half`.
    pub duplex: Figure<String>,
    /// The most bytes in a packet.
    pub mtu_bytes: Figure<u64>,
    /// Bytes that came in, with the headers of Ethernet, IP and TCP, without preamble and check sum.
    pub received_bytes: Figure<u64>,
    /// Bytes that went out, likewise.
    pub sent_bytes: Figure<u64>,
    /// Packets that came in.
    pub received_packets: Figure<u64>,
    /// Packets that went out.
    pub sent_packets: Figure<u64>,
    /// Packets that came in and found no room.
    pub received_dropped: Figure<u64>,
    /// Packets that were to go out and found no room.
    pub sent_dropped: Figure<u64>,
    /// Broken packets, both ways.
    pub errors: Figure<u64>,
}

/// Preamble, start of frame, check sum and the gap between frames: what a frame takes on the wire beside the
/// bytes that interfaces count.
const ON_THE_WIRE: f64 = 8.0 + 4.0 + 12.0;

impl Link {
    /// The share of what the link can carry one way, between 0 and 1, for so many bytes and packets in so many
    /// seconds. Frames take more on the wire than an interface counts; that is added.
    pub fn share(&self, bytes: u64, packets: u64, seconds: f64) -> Figure<f64> {
        let speed = self.speed_bits_per_s.clone()?;
        if seconds <= 0.0 {
            return Err(NotAvailable::because("no time has passed"));
        }
        // Other hosts may tell any numbers.
        let bits = (bytes as f64 + packets as f64 * ON_THE_WIRE) * 8.0;
        Ok(bits / seconds / speed as f64)
    }
}

/// What went through an interface between two moments.
#[derive(Debug, Clone, PartialEq)]
pub struct Carried {
    /// Its name.
    pub name: String,
    /// Bytes that came in.
    pub received_bytes: Figure<u64>,
    /// Bytes that went out.
    pub sent_bytes: Figure<u64>,
    /// Packets that found no room, both ways.
    pub dropped: Figure<u64>,
    /// Of what the link can carry, the fuller way.
    pub share: Figure<f64>,
}

impl Link {
    /// What went through it since an earlier moment.
    pub fn since(&self, earlier: &Self, seconds: f64) -> Carried {
        let less = |of: fn(&Self) -> &Figure<u64>| -> Figure<u64> {
            Ok(of(self).clone()?.saturating_sub(of(earlier).clone()?))
        };
        let (received, sent) = (less(|it| &it.received_bytes), less(|it| &it.sent_bytes));
        let share = |bytes: &Figure<u64>, packets: Figure<u64>| {
            self.share(bytes.clone()?, packets?, seconds)
        };
        let inward = share(&received, less(|it| &it.received_packets));
        let outward = share(&sent, less(|it| &it.sent_packets));
        Carried {
            name: self.name.clone(),
            dropped: less(|it| &it.received_dropped)
                .and_then(|n| Ok(n.saturating_add(less(|it| &it.sent_dropped)?))),
            share: inward.and_then(|inward| Ok(inward.max(outward?))),
            received_bytes: received,
            sent_bytes: sent,
        }
    }
}

impl Carried {
    /// Whether nothing went through.
    pub fn is_nothing(&self) -> bool {
        let none = |it: &Figure<u64>| it.as_ref().is_ok_and(|it| *it == 0);
        none(&self.received_bytes) && none(&self.sent_bytes)
    }
}

/// The network interfaces of a machine, by name.
pub fn links(tree: &Tree) -> Figure<Vec<Link>> {
    const FOLDER: &str = "/sys/class/net";
    let names = tree.names(FOLDER)?;
    let link = |name: String| {
        let of = |file: &str| format!("{FOLDER}/{name}/{file}");
        let count = |file: &str| tree.number::<u64>(&of(&format!("statistics/{file}")));
        Link {
            speed_bits_per_s: speed(tree, &name, &of("speed")),
            duplex: match tree.line(&of("duplex")) {
                Ok(word) if word == "unknown" => Err(without_speed(&name)),
                Err(_) => Err(without_speed(&name)),
                known => known,
            },
            mtu_bytes: tree.number(&of("mtu")),
            received_bytes: count("rx_bytes"),
            sent_bytes: count("tx_bytes"),
            received_packets: count("rx_packets"),
            sent_packets: count("tx_packets"),
            // A driver that does not count what it missed has no more than what was dropped.
            received_dropped: count("rx_dropped")
                .map(|n| n + count("rx_missed_errors").unwrap_or(0)),
            sent_dropped: count("tx_dropped"),
            errors: count("rx_errors").and_then(|n| Ok(n + count("tx_errors")?)),
            name,
        }
    };
    Ok(names.into_iter().map(link).collect())
}

fn speed(tree: &Tree, name: &str, path: &str) -> Figure<u64> {
    // In megabits. Virtual interfaces say -1, or that the question makes no sense.
    match tree.number::<i64>(path) {
        Ok(megabits @ 1..) => Ok(megabits.unsigned_abs() * 1_000_000),
        _ if System::IS_LINUX => Err(without_speed(name)),
        Ok(_) => Err(without_speed(name)),
        Err(reason) => Err(reason),
    }
}

fn without_speed(name: &str) -> NotAvailable {
    NotAvailable::because(match name {
        "lo" => "the loopback has no speed of its own".to_owned(),
        name => format!("{name} has no speed (virtual, or no cable)"),
    })
}
