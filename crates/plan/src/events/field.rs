//! Fields of events as people name them.

use std::fmt;
use std::str::FromStr;

use wire::types::ObjectTypeId;

use super::standard::{self, Holds, Known};
use crate::nodes::NodeSpec;

/// A type of events.
#[derive(Debug, Clone, PartialEq)]
pub enum EventType {
    /// One of the specification's, by its name.
    Standard(ObjectTypeId),
    /// Any, by its node.
    Node(NodeSpec),
}

/// A field of events: a path of browse names from an event on.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The type that has it; none: what the specification says of its path, or any event.
    pub of: Option<EventType>,
    /// Namespace index and name, one after the other. Empty: the event's own node, which of a
    /// condition is its ConditionId (Part 9, 5.5.2).
    pub path: Vec<(u16, String)>,
}

/// How the node of a condition is named.
const CONDITION_ID: &str = "ConditionId";

impl Field {
    /// A field of namespace 0, as the specification writes it.
    pub fn standard(path: &str) -> Self {
        Self {
            of: None,
            path: path.split('/').map(|name| (0, name.to_owned())).collect(),
        }
    }

    /// The node of a condition.
    pub fn condition_id() -> Self {
        Self {
            of: None,
            path: Vec::new(),
        }
    }

    /// What the specification says of it, when it is one of its fields.
    pub fn known(&self) -> Option<&'static Known> {
        if self.path.iter().any(|(namespace, _)| *namespace != 0) {
            return None;
        }
        let names: Vec<&str> = self.path.iter().map(|(_, name)| name.as_str()).collect();
        standard::field(&names.join("/"))
    }

    /// What it holds, where that is known.
    pub fn holds(&self) -> Option<Holds> {
        match self.path.is_empty() {
            true => Some(Holds::Node),
            false => self.known().map(|known| known.holds),
        }
    }
}

const WANT: &str = "want Severity, ActiveState/Id, 2:Own, ConditionId, or a field of a type: \
                    AlarmConditionType:InputNode, [ns=2;i=5]2:Own";

impl FromStr for Field {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        read(text).map_err(|why| format!("{text:?} is no field of events: {why} ({WANT})"))
    }
}

fn read(text: &str) -> Result<Field, String> {
    if text == CONDITION_ID {
        return Ok(Field::condition_id());
    }
    let mut of = None;
    let mut rest = text;
    if let Some(inside) = text.strip_prefix('[') {
        let (node, behind) = inside.split_once(']').ok_or("the ] is missing")?;
        of = Some(EventType::Node(
            node.parse()
                .map_err(|error: crate::NodeError| error.to_string())?,
        ));
        rest = behind.strip_prefix(':').unwrap_or(behind);
    } else if let Some((name, behind)) = text.split_once(':')
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && !name.contains(['/', '&'])
    {
        let kind =
            standard::kind(name).ok_or_else(|| format!("OPC UA has no type called {name}"))?;
        of = Some(EventType::Standard(kind));
        rest = behind;
    }
    let path: Result<Vec<_>, &str> = steps(rest)?.iter().map(|step| name(step)).collect();
    Ok(Field { of, path: path? })
}

/// What lies between slashes, with its escapes.
fn steps(text: &str) -> Result<Vec<String>, &'static str> {
    let mut steps = vec![String::new()];
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let step = steps.last_mut().ok_or("it has no name")?;
        match c {
            '/' => steps.push(String::new()),
            '&' => {
                step.push('&');
                step.push(chars.next().ok_or("nothing follows the &")?);
            }
            c => step.push(c),
        }
    }
    Ok(steps)
}

/// `Name`, `2:Name`, with `&` before what has a meaning of its own (Part 4, A.2).
fn name(step: &str) -> Result<(u16, String), &'static str> {
    let (namespace, name) = match step.split_once(':') {
        Some((index, name)) if index.bytes().all(|c| c.is_ascii_digit()) && !index.is_empty() => (
            index
                .parse()
                .map_err(|_| "a namespace index is 0 to 65535")?,
            name,
        ),
        _ => (0, step),
    };
    let mut plain = String::new();
    let mut chars = name.chars();
    while let Some(c) = chars.next() {
        match c {
            '&' => plain.extend(chars.next()),
            ':' => return Err("a colon stands behind a namespace index"),
            c => plain.push(c),
        }
    }
    match plain.is_empty() {
        true => Err("a name is empty"),
        false => Ok((namespace, plain)),
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standard(kind) => write!(f, "{kind:?}"),
            Self::Node(node) => write!(f, "[{node}]"),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return f.write_str(CONDITION_ID);
        }
        match &self.of {
            Some(of @ EventType::Standard(_)) => write!(f, "{of}:")?,
            Some(of) => write!(f, "{of}")?,
            None => {}
        }
        for (at, (namespace, name)) in self.path.iter().enumerate() {
            if at > 0 {
                f.write_str("/")?;
            }
            if *namespace > 0 {
                write!(f, "{namespace}:")?;
            }
            for c in name.chars() {
                let plain = c.is_alphanumeric() || matches!(c, '_' | '-');
                write!(f, "{}{c}", if plain { "" } else { "&" })?;
            }
        }
        Ok(())
    }
}
