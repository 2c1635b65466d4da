//! The way to a server, tested before a load.

use serde::{Deserialize, Serialize};

use super::Figure;

/// What a test of the way to the server found: with its security, and with an emulated link where there is one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkTest {
    /// Round trips by size, one after the other, the smallest first. The server's own time is in them.
    pub trips: Vec<Trip>,
    /// The shortest round trip that TCP knows of: that of the network alone.
    pub tcp_round_trip_ns: Figure<u64>,
    /// To the server.
    pub up: Throughput,
    /// From it.
    pub down: Throughput,
    /// How long the test took.
    pub took_ns: u64,
}

/// Round trips of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trip {
    /// Bytes of a request, as for all messages: with what frames and protects them, without headers of TCP and below.
    pub request_bytes: u64,
    /// Bytes of its response.
    pub response_bytes: u64,
    /// How many there were.
    pub count: u64,
    /// The shortest.
    pub min_ns: u64,
    /// The median.
    pub median_ns: u64,
}

/// What went through one way, at most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// Bits of messages in a second.
    pub bits_per_s: Figure<f64>,
    /// The share of the time in which data of any connection waited for the network, by what TCP says of the end that sent. From a half
    /// on the network is what held up more.
    pub held: Figure<f64>,
}
