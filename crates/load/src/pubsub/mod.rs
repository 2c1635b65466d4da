//! PubSub over UDP: a publisher that keeps to a schedule, and a listener that counts what comes.

mod address;
mod datagram;
mod figures;
mod listen;
mod publish;
mod spread;

pub use address::{Address, AddressError};
pub use listen::{Counted, Delay, Heard, Listen, ListenError, Stream, Unread, Writer, listen};
pub use publish::{Publish, PublishError, Published, Signal, publish};
pub use spread::Spread;
