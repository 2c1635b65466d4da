//! Nodes as people name them.

use std::fmt;
use std::io;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use wire::types::{ByteString, Guid, Identifier, NodeId, UAString};

use crate::listed::{self, ListError};
use crate::path::{BrowsePath, PathError};
use crate::text;

/// One node argument: a node, a range of numbered nodes, what browsing finds, or a file that lists such.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeSpec {
    /// `i=85`, `ns=2;s=MyLevel`, `nsu=urn:bench;i=1000`.
    Id {
        /// In which namespace.
        namespace: Namespace,
        /// Which node there.
        id: Identifier,
    },
    /// `ns=1;i=1001..1100`: both ends belong to it.
    Range {
        /// In which namespace.
        namespace: Namespace,
        /// The first number.
        first: u32,
        /// The last number.
        last: u32,
    },
    /// `browse:/Objects/Folder/*`: known only when a server was asked.
    Browse(BrowsePath),
    /// `@file`: one a line.
    File(String),
}

/// How a namespace was named.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Namespace {
    /// `ns=2`, or nothing for 0: as the server numbers it today.
    Index(u16),
    /// `nsu=urn:bench`: whatever its index.
    Uri(String),
}

/// A range of nodes larger than this is a slip of the finger.
pub const MAX_RANGE: u32 = 10_000_000;

/// Why a text names no node, or a name no node of this server.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum NodeError {
    /// Not a node.
    #[error(
        "{0:?} is no node (want i=85, ns=2;s=MyLevel, nsu=urn:bench;i=1000, a range ns=1;i=1001..1100, \
         browse:/Objects/Folder/*, or @file)"
    )]
    Text(String),
    /// The range runs backwards or is too long.
    #[error("{0:?}: bad range (want the smaller number first, and at most {MAX_RANGE} nodes)")]
    Range(String),
    /// Not a path behind `browse:`.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The server has no such namespace.
    #[error("{spec}: the server has no such namespace (it has {known})")]
    Namespace {
        /// As typed.
        spec: String,
        /// The server's namespaces.
        known: String,
    },
    /// What has to be asked of a server first.
    #[error("{0} has not been looked up")]
    Unresolved(String),
}

impl FromStr for NodeSpec {
    type Err = NodeError;

    fn from_str(text: &str) -> Result<Self, NodeError> {
        let wrong = || NodeError::Text(text.to_owned());
        if let Some(file) = text.strip_prefix('@') {
            return match file {
                "" => Err(wrong()),
                file => Ok(Self::File(file.to_owned())),
            };
        }
        if let Some(path) = text.strip_prefix("browse:") {
            return Ok(Self::Browse(path.parse()?));
        }
        let (namespace, id) = if let Some(rest) = text.strip_prefix("nsu=") {
            // A semicolon within a URI is written %3B (Part 6, 5.1.12), so the first one ends it.
            let (uri, id) = rest.split_once(';').ok_or_else(wrong)?;
            (Namespace::Uri(unescaped(uri).ok_or_else(wrong)?), id)
        } else if let Some(rest) = text.strip_prefix("ns=") {
            let (index, id) = rest.split_once(';').ok_or_else(wrong)?;
            (Namespace::Index(number(index).ok_or_else(wrong)?), id)
        } else {
            (Namespace::Index(0), text)
        };
        let (kind, value) = id.split_once('=').ok_or_else(wrong)?;
        if let ("i", Some((first, last))) = (kind, value.split_once("..")) {
            let first: u32 = number(first).ok_or_else(wrong)?;
            let last = number(last).ok_or_else(wrong)?;
            if first > last || last - first >= MAX_RANGE {
                return Err(NodeError::Range(text.to_owned()));
            }
            return Ok(Self::Range {
                namespace,
                first,
                last,
            });
        }
        let id = match kind {
            "i" => Identifier::Numeric(number(value).ok_or_else(wrong)?),
            "s" if !value.is_empty() => Identifier::String(UAString::from(value)),
            "g" => Identifier::Guid(Guid::from_str(value).map_err(|_| wrong())?),
            "b" if !value.is_empty() => {
                Identifier::ByteString(ByteString::from_base64(value).ok_or_else(wrong)?)
            }
            _ => return Err(wrong()),
        };
        Ok(Self::Id { namespace, id })
    }
}

/// A number without sign.
fn number<T: FromStr>(text: &str) -> Option<T> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

// Part 6, 5.1.12: semicolons and percent signs of a namespace URI are escaped.
fn unescaped(uri: &str) -> Option<String> {
    (!uri.is_empty()).then(|| {
        uri.replace("%3B", ";")
            .replace("%3b", ";")
            .replace("%25", "%")
    })
}

fn escaped(uri: &str) -> String {
    uri.replace('%', "%25").replace(';', "%3B")
}

impl fmt::Display for NodeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id { namespace, id } => {
                namespace.fmt(f)?;
                match id {
                    Identifier::Guid(guid) => write!(f, "g={guid}"),
                    id => id.fmt(f),
                }
            }
            Self::Range {
                namespace,
                first,
                last,
            } => write!(f, "{namespace}i={first}..{last}"),
            Self::Browse(path) => write!(f, "browse:{path}"),
            Self::File(file) => write!(f, "@{file}"),
        }
    }
}

/// What stands before the identifier, with its semicolon; nothing for namespace 0.
impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(0) => Ok(()),
            Self::Index(index) => write!(f, "ns={index};"),
            Self::Uri(uri) => write!(f, "nsu={};", escaped(uri)),
        }
    }
}

impl Namespace {
    /// Its index in the server's NamespaceArray.
    pub fn index(&self, namespaces: &[String]) -> Option<u16> {
        match self {
            // An index is taken as typed: not every server lists all that it uses.
            Self::Index(index) => Some(*index),
            Self::Uri(uri) => {
                let at = namespaces.iter().position(|known| known == uri)?;
                u16::try_from(at).ok()
            }
        }
    }
}

impl NodeSpec {
    /// A single node by its id.
    pub fn node(id: &NodeId) -> Self {
        Self::Id {
            namespace: Namespace::Index(id.namespace),
            id: id.identifier.clone(),
        }
    }

    /// The path that a server has to be asked about first.
    pub fn browse(&self) -> Option<&BrowsePath> {
        match self {
            Self::Browse(path) => Some(path),
            _ => None,
        }
    }

    /// How many nodes it names, as far as that is known without a server: a path or a file counts as one.
    pub const fn count(&self) -> u32 {
        match self {
            Self::Range { first, last, .. } => last.saturating_sub(*first).saturating_add(1),
            _ => 1,
        }
    }

    /// The nodes, with the namespaces of a server's NamespaceArray. What `browse:` finds is asked of
    /// the server first: such a spec is an error here.
    pub fn resolve(&self, namespaces: &[String]) -> Result<Vec<NodeId>, NodeError> {
        let index = |namespace: &Namespace| {
            namespace
                .index(namespaces)
                .ok_or_else(|| NodeError::Namespace {
                    spec: self.to_string(),
                    known: namespaces.join(", "),
                })
        };
        match self {
            Self::Id { namespace, id } => Ok(vec![NodeId::new(index(namespace)?, id.clone())]),
            Self::Range {
                namespace,
                first,
                last,
            } => {
                let index = index(namespace)?;
                Ok((*first..=*last).map(|i| NodeId::new(index, i)).collect())
            }
            Self::Browse(_) | Self::File(_) => Err(NodeError::Unresolved(self.to_string())),
        }
    }
}

/// Several node arguments, in the order in which they were typed; files are spelled out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nodes {
    #[serde(with = "text::list")]
    specs: Vec<NodeSpec>,
}

impl Nodes {
    /// Spells out files. `file` is given a name as typed and answers with its text.
    pub fn listed(
        specs: &[NodeSpec],
        mut file: impl FnMut(&str) -> io::Result<String>,
    ) -> Result<Self, ListError> {
        let mut all = Vec::new();
        for spec in specs {
            match spec {
                NodeSpec::File(name) => all.extend(listed::entries(name, file(name))?),
                spec => all.push(spec.clone()),
            }
        }
        Ok(Self { specs: all })
    }

    /// As they stand.
    pub fn specs(&self) -> &[NodeSpec] {
        &self.specs
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.specs.is_empty()
    }

    /// All nodes in order. `found` gives what browsing along a path found.
    pub fn resolve<E: From<NodeError>>(
        &self,
        namespaces: &[String],
        mut found: impl FnMut(&BrowsePath) -> Result<Vec<NodeId>, E>,
    ) -> Result<Vec<NodeId>, E> {
        let mut nodes = Vec::new();
        for spec in &self.specs {
            nodes.extend(match spec {
                NodeSpec::Browse(path) => found(path)?,
                spec => spec.resolve(namespaces)?,
            });
        }
        Ok(nodes)
    }
}

impl From<Vec<NodeSpec>> for Nodes {
    fn from(specs: Vec<NodeSpec>) -> Self {
        Self { specs }
    }
}

impl From<NodeSpec> for Nodes {
    fn from(spec: NodeSpec) -> Self {
        Self { specs: vec![spec] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bench() -> Vec<String> {
        vec![
            "http://opcfoundation.org/UA/".into(),
            "urn:server".into(),
            "urn:bench".into(),
        ]
    }

    fn resolve(text: &str) -> Vec<String> {
        let spec: NodeSpec = text.parse().unwrap();
        let nodes = spec.resolve(&bench()).unwrap();
        nodes.iter().map(NodeId::to_string).collect()
    }

    #[test]
    fn a_node_is_named_by_index_or_by_uri() {
        assert_eq!(resolve("i=85"), ["i=85"]);
        assert_eq!(resolve("ns=2;s=My;Level=1..2"), ["ns=2;s=My;Level=1..2"]);
        assert_eq!(resolve("nsu=urn:bench;i=1000"), ["ns=2;i=1000"]);
        assert_eq!(resolve("ns=7;b=AAE="), ["ns=7;b=AAE="]);
    }

    #[test]
    fn a_range_has_both_its_ends() {
        assert_eq!(
            resolve("nsu=urn:bench;i=1001..1003"),
            ["ns=2;i=1001", "ns=2;i=1002", "ns=2;i=1003"]
        );
        assert_eq!(resolve("i=5..5"), ["i=5"]);
    }

    #[test]
    fn an_unknown_namespace_is_told_with_those_there_are() {
        let spec: NodeSpec = "nsu=urn:other;i=1".parse().unwrap();
        let error = spec.resolve(&bench()).unwrap_err().to_string();
        assert!(error.starts_with("nsu=urn:other;i=1: the server has no such namespace"));
        assert!(error.contains("urn:bench"));
    }

    #[test]
    fn what_is_browsed_stays_a_path_until_a_server_was_asked() {
        let specs = ["i=1".parse().unwrap(), "browse:/Objects/*".parse().unwrap()];
        let nodes = Nodes::from(specs.to_vec());
        let found = nodes.resolve(&bench(), |path| {
            assert!(path.has_wildcard());
            Ok::<_, NodeError>(vec![NodeId::new(2, 7u32), NodeId::new(2, 8u32)])
        });
        let found = found.unwrap();
        assert_eq!(found.len(), 3);
        assert!(specs[1].resolve(&bench()).is_err());
    }

    #[test]
    fn a_file_lists_one_node_a_line() {
        let specs = ["@nodes".parse().unwrap()];
        let text = "i=1\n# two\nns=2;i=1..2\nbrowse:/Objects/*";
        let nodes = Nodes::listed(&specs, |_| Ok(text.into())).unwrap();
        assert_eq!(nodes.specs().len(), 3);
        let error = Nodes::listed(&specs, |_| Ok("i=1\nx=3".into())).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("nodes line 2: \"x=3\" is no node")
        );
    }

    #[test]
    fn a_wrong_node_is_told_what_is_allowed() {
        for wrong in [
            "",
            "85",
            "i=",
            "i=-1",
            "i=+1",
            "i=4294967296",
            "ns=2",
            "ns=65536;i=1",
            "ns=;i=1",
            "nsu=;i=1",
            "s=",
            "b=",
            "b=?",
            "g=123",
            "x=1",
            "ns=1;i=5..",
            "ns=1;i=..5",
            "ns=1;i=9..5",
            "i=0..4294967295",
            "@",
            "browse:",
            "µ=1",
        ] {
            let error = wrong.parse::<NodeSpec>().unwrap_err().to_string();
            assert!(error.contains("want"), "{wrong}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_can_be_typed_again(
            uri in prop::option::of("[!-~]{1,10}"),
            index: u16,
            kind in 0..4,
            number: u32,
            string in "[ -~µ]{1,10}",
            bytes: [u8; 16],
        ) {
            let namespace = uri.map_or(Namespace::Index(index), Namespace::Uri);
            let id = match kind {
                0 => Identifier::Numeric(number),
                1 => Identifier::String(UAString::from(string)),
                2 => Identifier::Guid(Guid::from_bytes(bytes)),
                _ => Identifier::ByteString(ByteString::from(bytes.to_vec())),
            };
            let spec = NodeSpec::Id { namespace, id };
            prop_assert_eq!(spec.to_string().parse(), Ok(spec));
        }

        #[test]
        fn any_text_is_a_node_or_an_error(text in "[nsuigb=;.0-9@:/a]{0,16}") {
            if let Ok(spec) = text.parse::<NodeSpec>() {
                prop_assert_eq!(spec.to_string().parse(), Ok(spec));
            }
        }
    }
}
