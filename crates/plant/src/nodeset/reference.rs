//! References of the nodes of a file.

use wire::types::NodeId;

use super::id_of;
use super::ids::Ids;
use super::leaf::Wrong;
use super::xml::Element;

/// A reference of a node: its type, its other end, and whether it goes there.
#[derive(Debug)]
pub struct Reference {
    /// Its type.
    pub kind: NodeId,
    /// Its other end.
    pub other: NodeId,
    /// Whether it goes there.
    pub forward: bool,
}

/// The references of an element.
pub fn references(element: &Element, ids: &Ids<'_>) -> Result<Vec<Reference>, Wrong> {
    let all = element.child("References");
    let all = all.map_or(&[][..], |all| all.children.as_slice());
    let read = |it: &Element| {
        Ok(Reference {
            kind: id_of(it, "ReferenceType", ids)?,
            other: ids.of(&it.text, it.line)?,
            forward: it.attribute("IsForward") != Some("false"),
        })
    };
    all.iter().map(read).collect()
}
