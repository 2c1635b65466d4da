//! The nodes of sessions (Part 5, 6.3.5): an object for each with its diagnostics, which comes and goes with it.
//!
//! Nothing of them is kept. What they are made of stands in the specification's type, and is looked up once; a
//! node is put together when somebody looks at it, from the type's own node and the session's record.

use std::sync::Arc;

use wire::template::walk::RawNodeId;
use wire::types::{NodeId, ObjectId, ObjectTypeId, QualifiedName, ReferenceTypeId};

use super::node::{Body, FullNames, Names, Node, NodeIndex, Shape, Variable};
use super::value::{Source, Stamp};
use super::{FIRST_OF_SESSIONS, Link, Space, encode};
use crate::diagnostics::{Register, SessionRecord, Shown, session_node};
use crate::space::rights::{EVERYBODY, OWNERS};

/// The namespace of sessions' ids.
const NAMESPACE: u16 = 1;

/// Bits of a place that say which part of a session's nodes it is.
const PART_BITS: u32 = 6;
/// More parts than that have no place.
const PARTS: usize = 1 << PART_BITS;
/// Bits of a session's number that are in a place.
const NUMBER_BITS: u32 = 30 - PART_BITS;

/// One of the nodes that each session has: the object first, then those below it.
#[derive(Debug)]
struct Part {
    /// Names on the way to it, with dots between them; nothing for the object.
    path: String,
    /// The part above it and the reference from there.
    above: Option<(usize, NodeIndex)>,
    /// Its type.
    definition: NodeIndex,
    /// What it is called; the object is called as its session.
    names: Option<FullNames>,
    /// The attributes of a variable, and where its value comes from.
    variable: Option<(Arc<Shape>, Shown)>,
}

/// The nodes of all sessions.
#[derive(Debug)]
pub struct Sessions {
    register: Arc<Register>,
    parts: Vec<Part>,
    /// What the objects are below, and by which reference.
    summary: NodeIndex,
    component: NodeIndex,
    has_type: NodeIndex,
}

impl Sessions {
    /// The parts of the specification's type; none where there is no such type.
    pub fn new(space: &Space, register: &Arc<Register>) -> Option<Self> {
        let summary = ObjectId::Server_ServerDiagnostics_SessionsDiagnosticsSummary;
        let of = ObjectTypeId::SessionDiagnosticsObjectType;
        let definition = space.find_id(&of.into())?;
        let mut parts = vec![Part {
            path: String::new(),
            above: None,
            definition,
            names: None,
            variable: None,
        }];
        let aggregates = space.reference_type(ReferenceTypeId::Aggregates)?;
        let has_type = space.reference_type(ReferenceTypeId::HasTypeDefinition)?;
        below(space, definition, 0, (aggregates, has_type), &mut parts);
        Some(Self {
            register: Arc::clone(register),
            parts,
            summary: space.find_id(&summary.into())?,
            component: space.reference_type(ReferenceTypeId::HasComponent)?,
            has_type,
        })
    }

    /// The place of a node, if it is one of a session that is there.
    pub fn find(&self, id: RawNodeId<'_>) -> Option<NodeIndex> {
        let (number, part) = match id {
            RawNodeId::Numeric {
                namespace: NAMESPACE,
                id,
            } => (id, 0),
            RawNodeId::String {
                namespace: NAMESPACE,
                id,
            } => {
                let text = str::from_utf8(id).ok()?;
                let (number, path) = text.split_once('/')?;
                let canonical = |n: &u32| n.to_string() == number;
                let number = number.parse().ok().filter(canonical)?;
                let mut parts = self.parts.iter();
                let part = parts.position(|part| !path.is_empty() && part.path == path)?;
                (number, part)
            }
            _ => return None,
        };
        self.register.shown(number)?;
        Some(place(number, part))
    }

    /// The session that a place belongs to, and the part of it.
    fn at(&self, at: NodeIndex) -> Option<(Arc<SessionRecord>, usize, &Part)> {
        let within = at.0.checked_sub(FIRST_OF_SESSIONS)?;
        let part = within as usize % PARTS;
        let low = within >> PART_BITS;
        // Numbers are longer than a place has room for; of those that end alike one is there at most, unless
        // a session lives while millions of others come and go.
        let numbers = (0..=u32::MAX >> NUMBER_BITS).map(|high| high << NUMBER_BITS | low);
        let record = numbers
            .into_iter()
            .find_map(|number| self.register.shown(number))?;
        Some((record, part, self.parts.get(part)?))
    }

    /// The node at a place.
    pub fn node(&self, at: NodeIndex) -> Option<Node> {
        let (record, _, part) = self.at(at)?;
        let Some((shape, shown)) = &part.variable else {
            return Some(Node {
                id: session_node(record.number),
                names: Names::Plain(record.name.as_str().into()),
                body: Body::Object { event_notifier: 0 },
            });
        };
        let text = format!("{}/{}", record.number, part.path);
        let (register, shown) = (Arc::clone(&self.register), *shown);
        let source = Source::Live(Arc::new(move |now, out| {
            encode::encode(&shown.value(&register, &record), out);
            Stamp::good(now.utc)
        }));
        Some(Node {
            id: NodeId::new(NAMESPACE, text),
            names: Names::Full(Box::new(part.names.clone()?)),
            body: Body::Variable(Box::new(Variable::new(source, Arc::clone(shape)))),
        })
    }

    /// Appends the references of a node: those of a session's, and those to sessions.
    pub fn links(&self, at: NodeIndex, out: &mut Vec<Link>) {
        if at == self.summary {
            out.extend(self.register.all_shown().map(|number| Link {
                forward: true,
                kind: self.component,
                target: place(number, 0),
            }));
        }
        if at.0 < FIRST_OF_SESSIONS {
            return;
        }
        let Some((record, own, part)) = self.at(at) else {
            return;
        };
        let (kind, target) = match part.above {
            None => (self.component, self.summary),
            Some((above, kind)) => (kind, place(record.number, above)),
        };
        out.push(Link {
            forward: false,
            kind,
            target,
        });
        out.push(Link {
            forward: true,
            kind: self.has_type,
            target: part.definition,
        });
        let parts = self.parts.iter().enumerate();
        out.extend(parts.filter_map(|(below, part)| {
            let (above, kind) = part.above?;
            (above == own).then(|| Link {
                forward: true,
                kind,
                target: place(record.number, below),
            })
        }));
    }
}

fn place(number: u32, part: usize) -> NodeIndex {
    let number = number & (u32::MAX >> (32 - NUMBER_BITS));
    NodeIndex(FIRST_OF_SESSIONS | number << PART_BITS | part as u32)
}

/// Adds what stands below a node of the type, and below that.
fn below(
    space: &Space,
    at: NodeIndex,
    above: usize,
    (aggregates, has_type): (NodeIndex, NodeIndex),
    parts: &mut Vec<Part>,
) {
    for link in space.links(at).iter() {
        if !link.forward || !space.is_subtype(link.kind, aggregates) || parts.len() >= PARTS {
            continue;
        }
        let Some(node) = space.lasting(link.target) else {
            continue;
        };
        let name = node.browse_name();
        let path = match parts.get(above).map(|part| part.path.as_str()) {
            None | Some("") => name.name.as_ref().to_owned(),
            Some(path) => format!("{path}.{}", name.name),
        };
        let links = space.links(link.target);
        let of = links
            .iter()
            .find(|link| link.forward && link.kind == has_type);
        let (Some(of), Some(variable), Some(shown)) = (of, node.variable(), Shown::named(&path))
        else {
            continue;
        };
        let shape = Shape {
            zone: match shown.is_for_everybody() {
                true => EVERYBODY,
                false => OWNERS,
            },
            ..(*variable.shape).clone()
        };
        let own = parts.len();
        parts.push(Part {
            path,
            above: Some((above, link.kind)),
            definition: of.target,
            names: Some(FullNames {
                browse_name: QualifiedName::new(0, name.name.as_ref()),
                display_name: node.display_name(),
                description: None,
            }),
            variable: Some((Arc::new(shape), shown)),
        });
        below(space, link.target, own, (aggregates, has_type), parts);
    }
}
