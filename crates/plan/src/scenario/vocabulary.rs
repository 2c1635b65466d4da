//! The words that a scenario shares with the command line, as far as a scenario has to know them.
//!
//! The program that has the commands says what their options are called and what they mean; so a
//! key of a phase is an option of a command, and nothing is said twice.

use std::ops::Range;

use super::tree::Scalar;
use crate::phase::Phase;

/// What may be given for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `true` or `false`.
    Flag,
    /// One value.
    One,
    /// One value or a list of them.
    Many,
}

/// A key of a phase or of a server that is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// As it is written in a scenario: `in_flight`, `nodes`.
    pub name: String,
    /// As the option is called: `in-flight`, `node`.
    pub option: String,
    /// What it may be.
    pub shape: Shape,
    /// What stands for the value in help: `N`, `DURATION`.
    pub value: String,
    /// What it does: the help of the option.
    pub about: String,
    /// What holds when it is left out, if it is worth telling.
    pub default: Option<String>,
}

impl Key {
    /// Whether a key as written is this one: `in_flight` and `in-flight`, `nodes` and `node`.
    pub fn is(&self, written: &str) -> bool {
        self.name == written || self.option == written || self.option.replace('-', "_") == written
    }
}

/// A key with what was given for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The option's name.
    pub option: String,
    /// Its shape.
    pub shape: Shape,
    /// One value, or several.
    pub values: Vec<Scalar>,
    /// Where the value stands.
    pub at: Range<usize>,
    /// Its field.
    pub field: String,
}

impl Setting {
    /// As words of a command line.
    pub fn words(&self) -> Vec<String> {
        match (self.shape, self.values.as_slice()) {
            (Shape::Flag, [Scalar::Bool(true)]) => vec![format!("--{}", self.option)],
            (Shape::Flag, _) => Vec::new(),
            (_, values) => values
                .iter()
                .map(|value| format!("--{}={value}", self.option))
                .collect(),
        }
    }
}

/// Why settings make no phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The option that is wrong, if it is one.
    pub option: Option<String>,
    /// What is wrong, and what is allowed.
    pub what: String,
}

/// What kind of server is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A plant.
    Plant,
    /// Another stack.
    Peer,
}

/// What the commands know.
pub trait Vocabulary {
    /// Services that a phase can name.
    fn services(&self) -> Vec<String>;
    /// Whether a phase of this service needs a server.
    fn needs_server(&self, service: &str) -> bool;
    /// Services that agents of a fleet carry out.
    fn shared(&self) -> Vec<String>;
    /// The keys of a phase of this service.
    fn keys(&self, service: &str) -> Vec<Key>;
    /// The keys of a server that is started.
    fn start_keys(&self, kind: Kind) -> Vec<Key>;
    /// The names of what can be started; a plant may also be a file.
    fn startable(&self, kind: Kind) -> Vec<String>;
    /// Whether a server can be started so.
    fn start(&self, kind: Kind, name: &str, settings: &[Setting]) -> Result<(), Refusal>;
    /// Whether a server can be started at this place.
    fn place(&self, kind: Kind, name: &str, settings: &[Setting], on: &str) -> Result<(), Refusal>;
    /// How many servers these are.
    fn targets(&self, specs: &[String]) -> Result<usize, String>;
    /// The phase of these settings with so many servers.
    fn phase(&self, service: &str, settings: &[Setting], servers: usize) -> Result<Phase, Refusal>;
}
