//! NodeSet2 files (Part 6, annex F): nodes that somebody else describes.

mod definition;
mod ids;
mod leaf;
mod node;
mod reference;
#[cfg(test)]
mod tests;
mod types;
mod value;
mod xml;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wire::types::NodeId;

use crate::space::{Builder, standard};
use ids::Ids;
use leaf::Wrong;
use types::Types;
use value::Scope;
use xml::Element;

/// A file that was read and understood.
#[derive(Debug, Clone)]
pub struct NodeSet {
    file: PathBuf,
    document: Arc<Element>,
    /// Its namespaces, from index 1 on.
    namespaces: Vec<String>,
    loaded: Loaded,
}

/// Why a file cannot be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeSetError {
    /// There is no such file, or it is none of text.
    #[error("cannot read {file}: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system says.
        why: String,
    },
    /// Something in it is not what it should be.
    #[error("{file} line {line}: {what}")]
    Wrong {
        /// The file.
        file: String,
        /// From 1 on.
        line: usize,
        /// What, and what is allowed.
        what: String,
    },
}

/// What came of files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Nodes.
    pub nodes: usize,
    /// Variables whose value is null because too little is known of its type.
    pub left_out: Vec<LeftOut>,
}

/// A variable whose value could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its id as the file has it.
    pub node: String,
    /// Where the value stands.
    pub line: usize,
    /// What is missing.
    pub why: String,
}

/// References that were told of: many files tell of one at both of its ends.
type KnownReferences = HashSet<(NodeId, NodeId, NodeId)>;

impl NodeSet {
    /// Reads files, each of which may need the models of those before it.
    pub fn read(files: &[PathBuf]) -> Result<Vec<Self>, NodeSetError> {
        let mut sets: Vec<Self> = Vec::new();
        for file in files {
            let text = std::fs::read_to_string(file).map_err(|error| NodeSetError::Unreadable {
                file: file.display().to_string(),
                why: error.to_string(),
            })?;
            let set = Self::document(file, &text)?;
            set.needs(&sets)?;
            sets.push(set);
        }
        Self::check(&mut sets)?;
        Ok(sets)
    }

    /// Reads the text of a file that needs no other.
    pub fn parse(file: &Path, text: &str) -> Result<Self, NodeSetError> {
        let mut set = Self::document(file, text)?;
        Self::check(std::slice::from_mut(&mut set))?;
        Ok(set)
    }

    /// Looks at everything once before a server is made of it.
    fn check(sets: &mut [Self]) -> Result<(), NodeSetError> {
        if sets.is_empty() {
            return Ok(());
        }
        let mut builder = Builder::new("", 0);
        standard::load(&mut builder);
        let loaded = Self::build(sets, &mut builder)?;
        for (set, loaded) in sets.iter_mut().zip(loaded) {
            set.loaded = loaded;
        }
        Ok(())
    }

    fn document(file: &Path, text: &str) -> Result<Self, NodeSetError> {
        let wrong = |(line, what): Wrong| NodeSetError::Wrong {
            file: file.display().to_string(),
            line,
            what,
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let document = xml::read(text).map_err(wrong)?;
        if document.name != "UANodeSet" {
            let what = format!("{} is no node set (want UANodeSet)", document.name);
            return Err(wrong((document.line, what)));
        }
        let uris = document.child("NamespaceUris");
        let uris = uris.map_or(&[][..], |uris| uris.children.as_slice());
        Ok(Self {
            loaded: Loaded::default(),
            file: file.to_owned(),
            namespaces: uris.iter().map(|uri| uri.text.clone()).collect(),
            document: Arc::new(document),
        })
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// What came of it.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Whether the models are there that it needs.
    fn needs(&self, before: &[Self]) -> Result<(), NodeSetError> {
        let models = |set: &Self| -> Vec<String> {
            let models = set.document.child("Models");
            let models = models.map_or(&[][..], |models| models.children.as_slice());
            let uris = models.iter().filter_map(|it| it.attribute("ModelUri"));
            uris.map(str::to_owned).collect()
        };
        let there: Vec<String> = before.iter().flat_map(models).collect();
        let own = models(self);
        let needed = self.document.child("Models").into_iter();
        let needed = needed.flat_map(|models| &models.children);
        for required in needed.flat_map(|model| &model.children) {
            let uri = required.attribute("ModelUri").unwrap_or_default();
            let known = uri == STANDARD || own.iter().chain(&there).any(|it| it == uri);
            if required.name == "RequiredModel" && !known {
                return Err(NodeSetError::Wrong {
                    file: self.file.display().to_string(),
                    line: required.line,
                    what: format!(
                        "needs the model {uri}, which no file before it has (want its --nodeset before this one)"
                    ),
                });
            }
        }
        Ok(())
    }

    /// Adds the nodes of files to an address space, and says what came of each.
    pub fn build(sets: &[Self], builder: &mut Builder) -> Result<Vec<Loaded>, NodeSetError> {
        if sets.is_empty() {
            return Ok(Vec::new());
        }
        let mut types = Types::before(builder);
        let mut told = KnownReferences::new();
        let one = |set: &Self| {
            let mut indices = vec![0];
            indices.extend(set.namespaces.iter().map(|uri| builder.namespace(uri)));
            let loaded = set.nodes(&indices, &mut types, &mut told, builder);
            loaded.map_err(|(line, what)| NodeSetError::Wrong {
                file: set.file.display().to_string(),
                line,
                what,
            })
        };
        sets.iter().map(one).collect()
    }

    fn nodes(
        &self,
        indices: &[u16],
        types: &mut Types,
        told: &mut KnownReferences,
        builder: &mut Builder,
    ) -> Result<Loaded, Wrong> {
        let aliases = self.document.child("Aliases");
        let aliases = aliases.map_or(&[][..], |aliases| aliases.children.as_slice());
        let aliases = aliases.iter().filter_map(|alias| {
            let name = alias.attribute("Alias")?;
            Some((name, alias.text.as_str()))
        });
        let ids = Ids {
            aliases: aliases.collect(),
            namespaces: indices,
        };
        let mut loaded = Loaded::default();
        let elements = self.document.children.iter();
        let elements: Vec<&Element> = elements.filter(|it| it.name.starts_with("UA")).collect();
        types.learn(&elements, &ids)?;
        let scope = Scope { ids: &ids, types };
        for element in &elements {
            node::node(element, scope, told, builder, &mut loaded)?;
        }
        Ok(loaded)
    }
}

/// The namespace of OPC UA itself.
const STANDARD: &str = "http://opcfoundation.org/UA/";

/// The attribute ArrayDimensions: `3,4`.
fn dimensions(element: &Element) -> Result<Option<Vec<u32>>, Wrong> {
    let Some(text) = element
        .attribute("ArrayDimensions")
        .filter(|it| !it.is_empty())
    else {
        return Ok(None);
    };
    let each: Result<Vec<u32>, _> = text.split(',').map(|it| it.trim().parse()).collect();
    each.map(Some).map_err(|_| {
        (
            element.line,
            format!("{text:?} are no ArrayDimensions (want 3,4)"),
        )
    })
}

/// An attribute that is true or false, and false without a word.
fn is_true(element: &Element, name: &str) -> bool {
    matches!(element.attribute(name), Some("true" | "1"))
}

/// An id in an attribute that has to be there.
fn id_of(element: &Element, name: &str, ids: &Ids<'_>) -> Result<NodeId, Wrong> {
    match element.attribute(name) {
        Some(text) => ids.of(text, element.line),
        None => Err((element.line, format!("{} has no {name}", element.name))),
    }
}
