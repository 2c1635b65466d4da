//! PubSub over UDP: a publisher that keeps to a schedule, and a listener that counts what comes.

mod address;
mod capture;
mod datagram;
mod ears;
mod figures;
mod heard;
mod listen;
mod post;
mod publish;
mod spread;

pub use address::{Address, AddressError};
pub use capture::{CaptureError, Reading, read_capture};
pub use ears::PhaseClock;
pub use heard::{Captured, Counted, Delay, Heard, Stream, Unread, Writer};
pub use listen::{Listen, ListenError, listen};
pub use post::{Knowledge, Post, Until};
pub use publish::{Publish, PublishError, Published, Signal, Source, Values, publish};
pub use spread::Spread;
