//! From the description of a plant to its nodes.

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;
use wire::template::walk::{BuiltInType, RawVariant};
use wire::types::{
    Argument, DataTypeId, EUInformation, ExtensionObject, LocalizedText, NodeId, ObjectId,
    ObjectTypeId, QualifiedName, Range, ReferenceTypeId, StatusCode, VariableTypeId, Variant,
};

use super::{Does, Group, MethodNode, Namespace, Plant, Values, data_type};
use crate::space::history::{self, History, Ring, StoredValue};
use crate::space::motion::payload::{self, Content};
use crate::space::motion::{Field, Motion};
use crate::space::value::{Blob, Scalar};
use crate::space::{
    Body, Builder, FullNames, Method, Names, Node, NodeIndex, Shape, Source, Stamp, Variable,
    access, below,
};

/// A namespace index that a plant must have and another one has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{uri} wants namespace index {index}, which {by} has")]
pub struct IndexTaken {
    /// The namespace.
    pub uri: String,
    /// The index it wants.
    pub index: u16,
    /// Who has it.
    pub by: String,
}

/// A variable that an update loop has to write.
#[derive(Debug)]
pub struct Stored {
    /// The variable.
    pub node: NodeIndex,
    /// What it does.
    pub motion: Motion,
    /// The indices of the plant's namespaces, for values that name nodes in them.
    pub namespaces: Arc<[u16]>,
    /// Where what it was is kept.
    pub history: Option<Arc<Ring>>,
}

impl Plant {
    /// Adds the nodes of the plant. What update loops have to write is appended to `stored`.
    pub fn build(&self, builder: &mut Builder, stored: &mut Vec<Stored>) -> Result<(), IndexTaken> {
        let indices = self.namespaces.iter().map(|space| place(builder, space));
        let indices: Arc<[u16]> = indices.collect::<Result<_, _>>()?;
        for (space, &namespace) in self.namespaces.iter().zip(&*indices) {
            for of in &space.enumerations {
                data_type::enumeration(builder, of, &indices);
            }
            for of in &space.structures {
                data_type::structure(builder, of, &indices);
            }
            let mut site = Site {
                builder: &mut *builder,
                space,
                zones: &self.zones,
                namespace,
                indices: Arc::clone(&indices),
                folders: FxHashMap::default(),
            };
            for group in &space.groups {
                site.group(group, stored);
            }
            for method in &space.methods {
                site.method(method);
            }
            for sources in &space.events {
                site.events(sources);
            }
        }
        Ok(())
    }
}

/// The index of a namespace.
fn place(builder: &mut Builder, space: &Namespace) -> Result<u16, IndexTaken> {
    match (&space.uri, space.index) {
        // The server's own.
        (None, _) => Ok(1),
        (Some(uri), None) => Ok(builder.namespace(uri)),
        (Some(uri), Some(index)) => builder.namespace_at(index, uri).map_err(|by| IndexTaken {
            uri: uri.clone(),
            index,
            by,
        }),
    }
}

/// Where nodes of one namespace are put up.
pub(super) struct Site<'a> {
    pub(super) builder: &'a mut Builder,
    space: &'a Namespace,
    zones: &'a [String],
    pub(super) namespace: u16,
    indices: Arc<[u16]>,
    /// Folders that are there, by their paths.
    folders: FxHashMap<String, NodeId>,
}

impl Site<'_> {
    /// The folder at a path, made with all above it if it is not there.
    pub(super) fn folder(&mut self, path: &str) -> NodeId {
        if path.is_empty() {
            return ObjectId::ObjectsFolder.into();
        }
        if let Some(there) = self.folders.get(path) {
            return there.clone();
        }
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let parent = self.folder(above);
        let own = self.space.folders.iter().find(|folder| folder.path == path);
        let id = match own {
            Some(folder) => folder.id.in_namespace(self.namespace),
            None => NodeId::new(self.namespace, path),
        };
        // One that another namespace table put there stays with all that is in it.
        if !self.builder.has(&id) {
            self.builder.folder(&parent, id.clone(), name);
        }
        self.folders.insert(path.to_owned(), id.clone());
        id
    }

    fn group(&mut self, group: &Group, stored: &mut Vec<Stored>) {
        let analog = group.range.is_some();
        let of = match analog {
            true => VariableTypeId::AnalogItemType,
            false => VariableTypeId::BaseDataVariableType,
        };
        let mut shape = shape(group, &self.indices);
        shape.zone = zone(self.zones, &group.folder);
        let shape = Arc::new(shape);
        let written = written(group, &self.indices);
        let parts = group
            .per_folder
            .map_or(1, |most| group.count.div_ceil(most));
        let width = (parts - 1).max(1).ilog10() as usize + 1;
        self.builder.reserve(group.count as usize);
        for k in 0..group.count {
            let parent = match group.per_folder {
                Some(most) if parts > 1 => {
                    let part = k / most;
                    match (k % most, group.folder.as_str()) {
                        (_, "") => self.folder(&format!("{part:0width$}")),
                        (_, above) => self.folder(&format!("{above}/{part:0width$}")),
                    }
                }
                _ => self.folder(&group.folder),
            };
            let n = group.number(k);
            let id = group.ids.id(self.namespace, k, n);
            let motion = group.motion(k);
            let source = self.source(group, k, motion.as_ref(), written.as_deref());
            let first = match &source {
                Source::Scalar(scalar) => Some(StoredValue::Bits(scalar.kind(), scalar.get().0)),
                Source::Blob(blob) => Some(StoredValue::Encoded(blob.get().0)),
                _ => None,
            };
            let name = group.name.with(n);
            let node = Node {
                names: names(self.namespace, name, group.description.as_deref()),
                body: Body::Variable(Box::new(Variable::new(source, Arc::clone(&shape)))),
                id: id.clone(),
            };
            let at = self.builder.insert(node);
            self.builder.link(&parent, ReferenceTypeId::Organizes, &id);
            self.builder
                .link(&id, ReferenceTypeId::HasTypeDefinition, &of.into());
            if analog {
                self.analog(group, &id);
            }
            // A number that is computed tells itself.
            if let Some(motion) = motion.as_ref().filter(|m| group.stored || !m.is_number()) {
                self.builder.tell_rhythm(at, motion.rhythm(group.stored));
            }
            let history = group.history.and_then(|depth| {
                let motion = motion.as_ref().filter(|_| !group.stored);
                self.history(at, &id, depth, motion)
            });
            // What an update loop writes begins with the loop.
            if let (Some(ring), Some(first), None) = (&history, first, &motion) {
                let source = self.builder.anchor();
                let status = StatusCode::Good;
                ring.keep(first, Stamp { status, source }, source);
            }
            if let Some(motion) = motion.filter(|_| group.stored) {
                stored.push(Stored {
                    node: at,
                    history,
                    motion,
                    namespaces: Arc::clone(&self.indices),
                });
            }
        }
    }

    /// Says that a variable has a history; gives the place where its values are kept, if they are.
    fn history(
        &mut self,
        at: NodeIndex,
        id: &NodeId,
        depth: u64,
        motion: Option<&Motion>,
    ) -> Option<Arc<Ring>> {
        let configuration = history::configured(self.builder);
        let kind = ReferenceTypeId::HasHistoricalConfiguration;
        self.builder.link(id, kind, &configuration);
        let (history, ring) = match motion {
            Some(motion) => {
                let computed = History::Computed {
                    motion: motion.clone(),
                    namespaces: Arc::clone(&self.indices),
                    depth,
                };
                (computed, None)
            }
            None => {
                let ring = Arc::new(Ring::new(usize::try_from(depth).unwrap_or(usize::MAX)));
                (History::Stored(Arc::clone(&ring)), Some(ring))
            }
        };
        self.builder.histories.insert(at, history);
        ring
    }

    fn source(
        &self,
        group: &Group,
        k: u64,
        motion: Option<&Motion>,
        written: Option<&[u8]>,
    ) -> Source {
        let anchor = self.builder.anchor();
        if let Some(motion) = motion.filter(|_| !group.stored) {
            if motion.is_number() {
                return Source::Signal(motion.signal().clone());
            }
            let (motion, indices) = (motion.clone(), Arc::clone(&self.indices));
            return Source::Live(Arc::new(move |now, out| {
                let n = motion.signal().updates(now.mono.as_nanos());
                motion.encode(n, &indices, out);
                Stamp::good(anchor + (motion.signal().updated_at(n) / 100) as i64)
            }));
        }
        let mut encoded = Vec::new();
        match (motion, written) {
            (Some(motion), _) => motion.encode(0, &self.indices, &mut encoded),
            (None, Some(written)) => encoded.extend_from_slice(written),
            (None, None) => still(group, k, &self.indices, &mut encoded),
        }
        let changes = group.stored || group.access & access::WRITE != 0;
        if !changes {
            return Source::Constant {
                encoded: encoded.into(),
                since: anchor,
            };
        }
        let stamp = Stamp {
            status: StatusCode::Good,
            source: anchor,
        };
        let value = RawVariant::parse(&encoded).ok();
        match value.and_then(|value| Scalar::new(&value, stamp)) {
            Some(scalar) => Source::Scalar(scalar),
            None => Source::Blob(Blob::new(encoded.into(), stamp)),
        }
    }

    /// The properties of an AnalogItem (Part 8, 5.3.2.3).
    fn analog(&mut self, group: &Group, id: &NodeId) {
        let Some((low, high)) = group.range else {
            return;
        };
        let range = ExtensionObject::from_message(Range { low, high });
        let value = Variant::ExtensionObject(range);
        let property = below(id, "EURange");
        self.builder
            .property(id, property, "EURange", DataTypeId::Range, value);
        if let Some(unit) = &group.unit {
            let unit = ExtensionObject::from_message(EUInformation {
                namespace_uri: UNITS.into(),
                unit_id: -1,
                display_name: LocalizedText::new("", unit),
                description: LocalizedText::null(),
            });
            let value = Variant::ExtensionObject(unit);
            let property = below(id, "EngineeringUnits");
            let kind = DataTypeId::EUInformation;
            self.builder
                .property(id, property, "EngineeringUnits", kind, value);
        }
    }

    fn method(&mut self, method: &MethodNode) {
        let object = method.object_id.in_namespace(self.namespace);
        if !self.builder.has(&object) {
            let (above, name) = method
                .object
                .rsplit_once('/')
                .unwrap_or(("", &method.object));
            let parent = self.folder(above);
            let of = ObjectTypeId::BaseObjectType;
            self.builder.object(&parent, object.clone(), name, of);
        }
        let id = method.id.in_namespace(self.namespace);
        let kinds = method.arguments.iter();
        let kinds = kinds.map(|argument| (argument.kind.wire(), argument.len.is_some()));
        let does = match method.does {
            Does::Echo => Method::Echo(kinds.collect()),
            Does::Sum => Method::Sum(kinds.count()),
            Does::Nothing => Method::Nothing(kinds.collect()),
        };
        let body = Body::Method {
            executable: true,
            method: Some(does),
            zone: zone(self.zones, &method.object),
        };
        self.builder.named(&id, &method.name, body);
        self.builder
            .link(&object, ReferenceTypeId::HasComponent, &id);
        let sum = [Field {
            name: "sum".to_owned(),
            kind: super::Kind::BuiltIn(BuiltInType::Double),
            len: None,
        }];
        let outputs = match method.does {
            Does::Echo => &*method.arguments,
            Does::Sum => &sum,
            Does::Nothing => &[],
        };
        for (name, fields) in [
            ("InputArguments", &*method.arguments),
            ("OutputArguments", outputs),
        ] {
            if fields.is_empty() {
                continue;
            }
            let arguments = fields.iter().map(|field| argument(field, &self.indices));
            let value = Variant::from(arguments.collect::<Vec<_>>());
            let property = below(&id, name);
            self.builder
                .property(&id, property, name, DataTypeId::Argument, value);
        }
    }
}

/// The zone of a folder: that of the innermost path that leads to it.
fn zone(zones: &[String], folder: &str) -> u8 {
    let within = |zone: &String| {
        let rest = folder.strip_prefix(zone.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let around = zones.iter().enumerate().filter(|(_, zone)| within(zone));
    let innermost = around.max_by_key(|(_, zone)| zone.len());
    innermost.map_or(0, |(at, _)| at as u8 + 1)
}

/// The namespace of units that no table has.
const UNITS: &str = "http://www.opcfoundation.org/UA/units/un/cefact";

fn argument(field: &Field, indices: &[u16]) -> ExtensionObject {
    ExtensionObject::from_message(Argument {
        name: field.name.as_str().into(),
        data_type: field.kind.data_type(indices),
        value_rank: data_type::rank(field),
        array_dimensions: field.len.map(|len| vec![len]),
        description: LocalizedText::null(),
    })
}

fn names(namespace: u16, name: String, description: Option<&str>) -> Names {
    match description {
        None => Names::Plain(name.into()),
        Some(description) => Names::Full(Box::new(FullNames {
            browse_name: QualifiedName::new(namespace, name.as_str()),
            display_name: LocalizedText::new("", &name),
            description: Some(LocalizedText::new("", description)),
        })),
    }
}

fn shape(group: &Group, indices: &[u16]) -> Shape {
    let rank = i32::try_from(group.dimensions.len()).unwrap_or(i32::MAX);
    Shape {
        data_type: group.kind.data_type(indices),
        value_rank: if rank == 0 { -1 } else { rank },
        // Part 3, 5.6.2: a length that may change is 0 here. Those of a list may when it is
        // written, and its rank says enough; those of a matrix are told.
        array_dimensions: (rank > 1).then(|| group.dimensions.to_vec()),
        access_level: match group.motion(0) {
            Some(_) if !group.stored => group.access & (access::READ | access::HISTORY_READ),
            _ => group.access,
        },
        minimum_sampling_interval: match group.motion(0) {
            Some(motion) => millis(motion.signal().interval()),
            None => 0.0,
        },
        range: group.range,
        zone: 0,
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// The value that the file says, for all of the group.
fn written(group: &Group, indices: &[u16]) -> Option<Vec<u8>> {
    let Values::Written(literal) = &group.values else {
        return None;
    };
    let mut encoded = Vec::new();
    let content = Content::Literal(literal);
    payload::variant(
        &group.kind,
        &group.dimensions,
        content,
        indices,
        &mut encoded,
    )
    .is_ok()
    .then_some(encoded)
}

/// The value of a variable that stays as it begins.
fn still(group: &Group, k: u64, indices: &[u16], out: &mut Vec<u8>) {
    if let Values::Pattern(_) = group.values {
        // As if it were updated some time, but never is.
        let mut group = group.clone();
        group.update = Some(Duration::from_secs(1));
        if let Some(motion) = group.motion(k) {
            motion.encode(0, indices, out);
        }
        return;
    }
    let number = match group.values {
        Values::Counter(start) => group.start(start, k),
        _ if group.dimensions.is_empty() => group.number(k) as i64,
        _ => 0,
    };
    let number = Content::Number(number);
    // Numbers fit into every type.
    let _ = payload::variant(&group.kind, &group.dimensions, number, indices, out);
}
