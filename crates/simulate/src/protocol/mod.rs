//! The real protocol in virtual time: our client and our server, TCP and a link between them.
//!
//! A [`Scene`] says who talks over which link, what steps cost, and what sessions do. [`Scene::session`] lets one of them pass on
//! a link of its own, [`Scene::together`] all at once on one that they share. The bytes are those of a client and a server as they
//! are: connections and sessions of `wire`, and TLS of `wss` around them where that is asked for, with real keys. Only time is not real: cryptographic steps take what [`Costs`] say.

mod costs;
mod course;
mod due;
mod framing;
mod opening;
mod parties;
mod passing;
mod scene;
mod secured;
mod simulated_session;
mod world;

pub use costs::{Costs, PerByte};
pub use course::{Message, ProtocolStep, SessionCourse, Side};
pub use parties::{Client, Reads, Server};
pub use scene::{Envelope, Scene};
pub use secured::{Inside, Tls};
