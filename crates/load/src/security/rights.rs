//! What an anonymous user may do: asked of the nodes themselves, nothing is tried.

use record::security::Rights;
use wire::types::{AttributeId, DataValue, NodeId, ObjectId, StatusCode, Variant};

use crate::access::Session;
use crate::work::WorkError;
use crate::work::find::{AT_A_TIME, attributes, nearest};

/// More nodes than these are not looked at.
const MOST: usize = 1000;

/// CurrentWrite of UserAccessLevel (Part 3, 8.57).
const WRITE: u8 = 2;

/// Looks at the nodes nearest to Objects.
pub(super) fn of(session: &mut Session) -> Result<Rights, WorkError> {
    let nodes = nearest(&[NodeId::from(ObjectId::ObjectsFolder)], MOST + 1, session)?;
    let more = nodes.len() > MOST;
    let nodes = nodes.get(..MOST).unwrap_or(&nodes);
    let mut rights = Rights {
        security: session.link().connection().protection().to_string(),
        nodes: nodes.len() as u64,
        more,
        variables: 0,
        writable: 0,
        callable: 0,
        first: None,
    };
    for nodes in nodes.chunks(AT_A_TIME) {
        let levels = attributes(nodes, AttributeId::UserAccessLevel, session)?;
        let executable = attributes(nodes, AttributeId::UserExecutable, session)?;
        for ((node, level), executable) in nodes.iter().zip(levels).zip(executable) {
            if let (true, Some(Variant::Byte(level))) = (is_good(&level), level.value) {
                rights.variables += 1;
                if level & WRITE != 0 {
                    rights.writable += 1;
                    rights.first.get_or_insert_with(|| node.to_string());
                }
            }
            let callable = matches!(executable.value, Some(Variant::Boolean(true)));
            rights.callable += u64::from(callable && is_good(&executable));
        }
    }
    Ok(rights)
}

fn is_good(value: &DataValue) -> bool {
    value.status.unwrap_or(StatusCode::Good).is_good()
}
