//! Definitions of structures with what they have from those that they are made from.

use std::collections::HashMap;

use wire::types::{DataTypeId, NodeId, StructureDefinition, StructureType};

/// Structures made from structures made from structures: more is a circle.
const DEEPEST: usize = 100;

/// Completes definitions that have only the fields that their data type adds: StructureDefinition names all,
/// those of its base first (Part 3, 8.48). Whatever is known already is complete.
pub fn complete(
    own: &HashMap<NodeId, StructureDefinition>,
    above: &HashMap<NodeId, NodeId>,
    known: &mut HashMap<NodeId, StructureDefinition>,
) {
    let completed = |id: &NodeId| {
        let mut line = Vec::new();
        let mut at = Some(id);
        let mut fields = Vec::new();
        let mut kind = StructureType::Structure;
        while let Some(id) = at.filter(|_| line.len() < DEEPEST) {
            if let Some(done) = known.get(id) {
                fields.extend(done.fields.iter().flatten().cloned());
                kind = done.structure_type;
                break;
            }
            line.extend(own.get(id));
            at = above.get(id);
        }
        for definition in line.iter().rev() {
            fields.extend(definition.fields.iter().flatten().cloned());
            if definition.structure_type != StructureType::Structure {
                kind = definition.structure_type;
            }
        }
        StructureDefinition {
            default_encoding_id: match line.first() {
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
    let new: Vec<_> = own.keys().filter(|id| !known.contains_key(id)).collect();
    let new: Vec<_> = new
        .into_iter()
        .map(|id| (id.clone(), completed(id)))
        .collect();
    known.extend(new);
}
