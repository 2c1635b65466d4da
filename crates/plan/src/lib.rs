//! What to do: which targets, which nodes, which requests, and when each of them is due.
//!
//! The crate is pure: no sockets, no threads, no clock, no randomness of the operating system, no files.
//! A schedule follows from rate, kind and seed alone; a plan is carried out alike by any number of threads.
//!
//! - [`mod@unit`] reads and shows quantities;
//! - [`Targets`] and [`NodeSpec`] read what is loaded;
//! - [`Arrival`] says when requests are due and [`Schedule`] computes it, session by session;
//! - [`Subscribe`] says what is subscribed to, and on which terms; [`Events`] which events and which of their fields;
//! - [`Work`], [`Phase`] and [`Plan`] say what is done; [`Share`] is the part of one thread;
//! - [`Threshold`] is a condition on a result.

mod aggregate;
mod arrival;
mod connect;
pub mod description;
mod error;
pub mod events;
mod grow;
mod history;
mod items_and_nodes;
mod listed;
mod nodes;
mod path;
mod phase;
mod pubsub;
mod random;
mod request;
pub mod scenario;
mod schedule;
mod seat;
pub mod sequence;
mod share;
mod spread;
mod subscribe;
mod targets;
mod text;
mod threshold;
pub mod unit;
mod work;

pub use aggregate::{Aggregate, Aggregating};
pub use arrival::{Arrival, ArrivalError, CatchUp, Pace, RateStep, Shape};
pub use connect::{Connect, ConnectKind};
pub use error::PlanError;
pub use events::Events;
pub use grow::Grow;
pub use history::History;
pub use items_and_nodes::{Items, NewNodes};
pub use listed::ListError;
pub use nodes::{Namespace, NodeError, NodeSpec, Nodes};
pub use path::{BrowsePath, PathStep};
pub use phase::{Phase, Plan, Warmup};
pub use pubsub::{Broker, DatagramFate, KeyService, Listen, Publish};
pub use random::{Random, mixed};
pub use request::{
    Attribute, Browse, Call, Direction, Read, Register, Timestamps, Translate, Values, Write,
    index_range,
};
pub use schedule::Schedule;
pub use seat::Seat;
pub use share::Share;
pub use spread::{Groups, Spread};
pub use subscribe::{
    Churn, Churned, Deadband, Mode, Offsets, Reconnect, Sampling, Subscribe, Trigger,
};
pub use targets::{TargetSpec, Targets, typed};
pub use threshold::{
    Figures, Measure, Op, Outcome, Stat, Threshold, ThresholdError, Unit, Value, Within, figure,
};
pub use work::Work;
