//! A network path as a model: what a link does to packets, without sockets, threads or a clock.
//!
//! - [`Spec`] says what a link is like, each [`Direction`] by itself, as text (`2Mbit/s,delay=20ms`) or by
//!   the name of a [preset](presets);
//! - [`Path`] is one direction at work: packets in, and each of them out at its time, or never;
//! - [`LinkDirection`] is the same without the packets, for who keeps them;
//! - [`Relay`] carries streams of bytes over two paths, and sends again what a path lost.
//!
//! Time is an argument: nanoseconds since any moment. Chance comes from a seed, so that the same seed gives
//! the same times on every machine. Drivers are a relay between sockets (`uaperf link`) and tests in virtual time.

mod chance;
mod link_direction;
mod path;
mod preset;
mod relay;
mod spec;
mod stream;
mod text;

pub use link_direction::{LinkDirection, Outcome};
pub use path::Path;
pub use preset::{Preset, presets};
pub use relay::{Event, Relay, Tally, Way};
pub use spec::{Direction, Jitter, Loss, Queue, Reorder, Shape, Spec};
pub use stream::{HEADERS, SEGMENT};
pub use text::SpecError;
