//! Definitions of structures with what they have from those that they are made from.

use std::collections::HashMap;
use std::iter::successors;

use wire::types::{DataTypeId, NodeId, StructureDefinition, StructureType};

/// Types below types: more is a circle.
const DEEPEST: usize = 100;

/// A data type, and those that it is below.
pub fn line<'a>(
    of: &'a NodeId,
    above: &'a HashMap<NodeId, NodeId>,
) -> impl Iterator<Item = &'a NodeId> {
    successors(Some(of), |at| above.get(*at)).take(DEEPEST)
}

/// Completes definitions that have only the fields that their data type adds: StructureDefinition names all,
/// those of its base first (Part 3, 8.48). Whatever is known already is complete.
pub fn complete(
    own: &HashMap<NodeId, StructureDefinition>,
    above: &HashMap<NodeId, NodeId>,
    known: &mut HashMap<NodeId, StructureDefinition>,
) {
    let completed = |id: &NodeId| {
        let mut adding = Vec::new();
        let mut fields = Vec::new();
        let mut kind = StructureType::Structure;
        for at in line(id, above) {
            if let Some(done) = known.get(at) {
                fields.extend(done.fields.iter().flatten().cloned());
                kind = done.structure_type;
                break;
            }
            adding.extend(own.get(at));
        }
        for definition in adding.iter().rev() {
            fields.extend(definition.fields.iter().flatten().cloned());
            if definition.structure_type != StructureType::Structure {
                kind = definition.structure_type;
            }
        }
        StructureDefinition {
            default_encoding_id: match adding.first() {
                Some(definition) => definition.default_encoding_id.clone(),
                None => NodeId::null(),
            },
            base_data_type: match above.get(id) {
                Some(base) => base.clone(),
                None => DataTypeId::Structure.into(),
            },
            structure_type: kind,
            fields: Some(fields),
        }
    };
    let new = own.keys().filter(|id| !known.contains_key(id));
    let new: Vec<_> = new.map(|id| (id.clone(), completed(id))).collect();
    known.extend(new);
}
