//! PubSub over UDP and MQTT: a publisher that keeps to a schedule, and a listener that counts what comes.

mod address;
mod broker;
mod capture;
mod courier;
mod datagram;
mod ears;
mod figures;
mod followed;
mod heard;
mod listen;
mod outlet;
mod post;
mod publish;
mod spread;
mod subscriber;
mod values;

pub use address::{Address, AddressError};
pub use broker::{BrokerError, BrokerUrl, BrokerUrlError, Login, Mqtt};
pub use capture::{CaptureError, Reading, read_capture};
pub use courier::Delivered;
pub use ears::PhaseClock;
pub use heard::{Captured, Counted, Delay, Heard, Stream, Subscribed, Unread, Writer};
pub use listen::{Listen, ListenError, listen};
pub use post::{Knowledge, Post, Until};
pub use publish::{Mapping, Publish, PublishError, Published, Target, publish};
pub use spread::Spread;
pub use subscriber::{Subscribe, subscribe};
pub use values::{Signal, Source, Values};
