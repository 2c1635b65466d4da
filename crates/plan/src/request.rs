//! Requests, service by service: what is asked, and of how many nodes at once.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wire::types::{AttributeId, NumericRange, TimestampsToReturn};

use crate::error::PlanError;
use crate::nodes::{NodeSpec, Nodes};
use crate::path::BrowsePath;
use crate::text::{self, nanos, words};

/// Reads (Part 4, 5.11.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Read {
    /// What is read.
    pub nodes: Nodes,
    /// Nodes in a request.
    pub batch: u32,
    /// Which attribute of them.
    #[serde(with = "text")]
    pub attribute: Attribute,
    /// How old a value may be that the server has kept; zero: it is read anew.
    #[serde(rename = "max_age_ns", with = "nanos")]
    pub max_age: Duration,
    /// Which timestamps are asked for.
    pub timestamps: Timestamps,
    /// Which elements of an array: `0:9`.
    #[serde(with = "text::option")]
    pub index_range: Option<NumericRange>,
}

/// Writes of values (Part 4, 5.11.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Write {
    /// What is written.
    pub nodes: Nodes,
    /// Nodes in a request.
    pub batch: u32,
    /// How values are made.
    #[serde(with = "text")]
    pub values: Values,
    /// Which elements of an array: `0:9`.
    #[serde(with = "text::option")]
    pub index_range: Option<NumericRange>,
    /// Write the original values back at the end.
    pub restore: bool,
    /// Under the names that the server gives the nodes when they are registered (Part 4, 5.9.5).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub registered: bool,
}

/// How values are made; always of the node's own type.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Values {
    /// What the node had at the beginning.
    #[default]
    Original,
    /// 0, 1, 2 and so on, as far as the type goes and then from zero again.
    Count,
    /// Anything of the type, from the seed.
    Random,
    /// This one, `=42.5`, read as the node's type.
    Fixed(String),
}

/// Browses (Part 4, 5.9.2 and 5.9.3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Browse {
    /// From where.
    pub nodes: Nodes,
    /// Nodes in a request.
    pub batch: u32,
    /// Along references or against them.
    pub direction: Direction,
    /// Only references of this type and its subtypes; none: all.
    #[serde(with = "text::option")]
    pub reference: Option<NodeSpec>,
    /// References in an answer for each node; zero: as many as the server likes.
    pub max_references: u32,
    /// Fetch the rest with BrowseNext; without it the server is told to forget it.
    pub follow: bool,
}

/// Which way a browse goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From source to target.
    #[default]
    Forward,
    /// From target to source.
    Inverse,
    /// Both ways.
    Both,
}

/// Translations of browse paths to node ids (Part 4, 5.9.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Translate {
    /// Where the paths begin.
    #[serde(with = "text")]
    pub start: NodeSpec,
    /// Names without a namespace are in namespace 0; no stars.
    #[serde(with = "text::list")]
    pub paths: Vec<BrowsePath>,
    /// Paths in a request.
    pub batch: u32,
}

/// Calls of a method (Part 4, 5.12.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The object.
    #[serde(with = "text")]
    pub object: NodeSpec,
    /// Its method.
    #[serde(with = "text")]
    pub method: NodeSpec,
    /// As typed; read as the types that the method declares.
    pub arguments: Vec<String>,
    /// Calls in a request.
    pub batch: u32,
}

/// Reads of nodes that were registered before (Part 4, 5.9.5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Register {
    /// What is read, and how.
    pub read: Read,
    /// Also read them unregistered, request by request in turn, and compare.
    pub compare: bool,
}

/// Which timestamps a read asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timestamps {
    /// When the value came about.
    #[default]
    Source,
    /// When the server saw it.
    Server,
    /// Both.
    Both,
    /// Neither.
    Neither,
}

/// A node's attribute, named as in Part 6, A.1, in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute(pub AttributeId);

impl Default for Attribute {
    fn default() -> Self {
        Self(AttributeId::Value)
    }
}

/// The numbers that attributes have (Part 6, A.1).
const ATTRIBUTES: std::ops::RangeInclusive<u32> = 1..=27;

impl FromStr for Attribute {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = ATTRIBUTES.filter_map(|number| AttributeId::from_u32(number).ok());
        all.map(Self)
            .find(|attribute| attribute.to_string().eq_ignore_ascii_case(text))
            .ok_or_else(|| {
                format!("{text:?} is no attribute (want Value, DisplayName, DataType, NodeClass or another of Part 3)")
            })
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl FromStr for Values {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "original" => Self::Original,
            "count" => Self::Count,
            "random" => Self::Random,
            text => match text.strip_prefix('=') {
                Some(value) => Self::Fixed(value.to_owned()),
                None => {
                    return Err(format!(
                        "{text:?} is no way to make values (want original, count, random, or =42.5 for this one)"
                    ));
                }
            },
        })
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Original => f.write_str("original"),
            Self::Count => f.write_str("count"),
            Self::Random => f.write_str("random"),
            Self::Fixed(value) => write!(f, "={value}"),
        }
    }
}

words! {
    Timestamps "are no timestamps" "source, server, both or neither" {
        Source "source" Server "server" Both "both" Neither "neither"
    }
    Direction "is no direction" "forward, inverse or both" {
        Forward "forward" Inverse "inverse" Both "both"
    }
}

impl From<Timestamps> for TimestampsToReturn {
    fn from(timestamps: Timestamps) -> Self {
        match timestamps {
            Timestamps::Source => Self::Source,
            Timestamps::Server => Self::Server,
            Timestamps::Both => Self::Both,
            Timestamps::Neither => Self::Neither,
        }
    }
}

/// Whether a request asks anything of some nodes; what is missing is named.
pub(crate) fn some(batch: u32, nodes: Option<&Nodes>) -> Result<(), PlanError> {
    if batch == 0 {
        return Err(PlanError::new("batch", 0, "1 or more"));
    }
    if nodes.is_some_and(Nodes::is_empty) {
        return Err(PlanError::new(
            "node",
            "none",
            "one or more, such as ns=2;s=MyLevel",
        ));
    }
    Ok(())
}

/// Reads an index range as people type it: `5`, `0:9`, or one for each dimension: `0:9,2`
/// (Part 4, 7.27).
pub fn index_range(text: &str) -> Result<NumericRange, String> {
    let wrong =
        || format!("{text:?} is no index range (want 5, 0:9, or one for each dimension: 0:9,2)");
    match text.parse() {
        Ok(NumericRange::None) | Err(_) => Err(wrong()),
        Ok(range) => Ok(range),
    }
}

impl Read {
    /// The values of these nodes, one in a request, read anew.
    pub fn new(nodes: Nodes) -> Self {
        Self {
            nodes,
            batch: 1,
            attribute: Attribute::default(),
            max_age: Duration::ZERO,
            timestamps: Timestamps::default(),
            index_range: None,
        }
    }
}

impl Write {
    /// Their own values into these nodes, one in a request.
    pub fn new(nodes: Nodes) -> Self {
        Self {
            nodes,
            batch: 1,
            values: Values::default(),
            index_range: None,
            restore: false,
            registered: false,
        }
    }
}

impl Browse {
    /// All references of these nodes, one node in a request.
    pub fn new(nodes: Nodes) -> Self {
        Self {
            nodes,
            batch: 1,
            direction: Direction::default(),
            reference: None,
            max_references: 0,
            follow: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_range_names_elements_of_each_dimension() {
        for text in ["5", "0:9", "0:9,2"] {
            assert_eq!(
                index_range(text).map(|range| range.to_string()),
                Ok(text.into())
            );
        }
        for wrong in ["", "9:0", "5:5", "-1", "0:", "1,", "a"] {
            let error = index_range(wrong).unwrap_err();
            assert!(error.contains("want 5, 0:9"), "{error}");
        }
    }

    #[test]
    fn words_are_read_as_they_are_shown() {
        for text in ["Value", "DisplayName", "AccessLevelEx"] {
            assert_eq!(text.parse::<Attribute>().unwrap().to_string(), text);
        }
        assert_eq!("value".parse(), Ok(Attribute::default()));
        for text in ["original", "count", "random", "=42.5", "="] {
            assert_eq!(text.parse::<Values>().unwrap().to_string(), text);
        }
        for text in ["source", "server", "both", "neither"] {
            assert_eq!(text.parse::<Timestamps>().unwrap().to_string(), text);
        }
        for text in ["forward", "inverse", "both"] {
            assert_eq!(text.parse::<Direction>().unwrap().to_string(), text);
        }
        let wrong = |error: String| assert!(error.contains("(want "), "{error}");
        wrong("Vlaue".parse::<Attribute>().unwrap_err());
        wrong("42".parse::<Values>().unwrap_err());
        wrong("all".parse::<Timestamps>().unwrap_err());
        wrong("up".parse::<Direction>().unwrap_err());
    }
}
