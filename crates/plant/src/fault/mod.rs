//! Faults on demand: what goes wrong, to what, and exactly how often.
//!
//! A [`Fault`] is what somebody asks for; as text it is `delay=2ms,on=read,share=1%`, in a plant
//! file a table with the same keys. [`Faults`] are those at work: told of each event, they say
//! what is to become of it. What that does to sockets is with the loop.

mod active;
mod chance;
mod text;

pub use active::{
    Class, FaultCount, Faults, Mark, MessageFate, NoSuchNode, RequestFate, Tick, Turn,
};
pub use chance::{Pick, Rule};
pub use text::FaultError;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use wire::service::Kind;
use wire::types::StatusCode;

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Effect {
    /// The answer is sent so much later. What was asked is done at once.
    Delay(Duration),
    /// Requests wait for each other, and each takes so long: a server that can do one in this
    /// time and no more.
    ServiceTime(Duration),
    /// The loop is busy so much longer with a request, in parts of the time it really took.
    Slower(f64),
    /// The whole server stands still for so long.
    Stall(Duration),
    /// It is not sent.
    Drop,
    /// It is sent so many times more.
    Repeat(u32),
    /// It is sent behind so many of those that follow.
    Reorder(u32),
    /// Its first byte names a version that there is not: nobody can read it.
    Corrupt,
    /// Its signature is not one of its key. What has none is corrupt instead.
    WrongKey,
    /// Its overflow bit is set.
    Overflow,
    /// It has this status instead.
    Bad(StatusCode),
    /// It is turned away.
    Refuse,
    /// Its connection is cut.
    Disconnect,
    /// The server loses everything, is away for so long and begins anew.
    Restart(Duration),
}

/// What it happens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Any request, or its response.
    Request,
    /// Requests of a service, or their responses.
    Service(Kind),
    /// Notification messages.
    Notification,
    /// NetworkMessages that are published.
    Datagram,
    /// Values of variables, as they are read or reported.
    Value,
    /// Connections.
    Connection,
    /// Sessions about to be created.
    Session,
    /// The server as a whole, by the clock.
    Server,
}

/// A fault as it is asked for.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "BTreeMap<String, Setting>")]
pub struct Fault {
    /// What happens.
    pub effect: Effect,
    /// What it happens to.
    pub on: Target,
    /// How often, and when.
    pub rule: Rule,
    /// The nodes that it is about; any if there are none.
    pub nodes: Vec<plan::NodeSpec>,
}

/// A value in a plant file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Number(f64),
    /// Text.
    Text(String),
    /// Several texts.
    List(Vec<String>),
}
