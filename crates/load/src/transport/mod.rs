//! Where sockets live: OPC UA connections over TCP, and over WebSockets inside TLS.
//!
//! [`Link`] is a connection driven by calls, one at a time: for looking at a server, setting a run up and tearing it
//! down, and for what is measured call by call. A call blocks its thread, or is one of many `tasks` on it.
//! [`Socket`] and [`Timer`] never block: they are what the loops of a run are made of.

mod callers;
mod check;
mod clock;
mod connection_set;
mod dial;
mod dscp;
mod error;
mod link;
mod proxy;
mod results;
mod socket;
mod step;
mod stream;
pub(crate) mod tasks;
mod timer;
mod tunnel;
mod way;

pub use callers::{Call, Callers};
pub use check::ServerCheck;
pub(crate) use clock::unix_nanos;
pub use clock::{Clock, random};
pub(crate) use dial::{Own, connect, look_up, look_up_host};
pub use dscp::{Dscp, DscpError};
pub use error::{CallError, LinkError, ProxyError};
pub use link::{Carried, Link, Shell};
pub use proxy::Proxy;
pub use results::{WrongCount, one_each};
pub use socket::{ReadOutcome, Socket};
pub use step::{Steps, TransportStep};
pub use stream::Stream;
pub use timer::Timer;
pub(crate) use tunnel::secure;
pub use way::{Options, Way};
