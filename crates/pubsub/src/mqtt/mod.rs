//! MQTT 3.1.1 and 5, as much of it as publishers and subscribers need (Part 14, 7.3.4). As pure as the rest: bytes in,
//! packets out, and back.
//!
//! | module | what it knows |
//! |---|---|
//! | [`packet`] | the packets of both versions |
//! | [`topic`] | the topics that Part 14 has for them |

pub mod packet;
pub mod topic;

pub use packet::{Connect, Packet, PacketError, Publish, Version, Will};
