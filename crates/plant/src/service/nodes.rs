//! AddNodes, DeleteNodes, AddReferences and DeleteReferences (Part 4, 5.8), where a plant lets
//! clients do so.

use wire::service::shape::Kind;
use wire::template::walk::RawVariant;
use wire::types::{
    AddNodeAttributes, AddNodesItem, AddNodesRequest, AddNodesResult, AddReferencesItem,
    AddReferencesRequest, DeleteNodesItem, DeleteNodesRequest, DeleteReferencesItem,
    DeleteReferencesRequest, ExpandedNodeId, Identifier, NodeClass, NodeId, QualifiedName,
    ReferenceTypeId, StatusCode, VariableAttributes, Variant,
};

use super::steps::{Steps, Work};
use super::{ServiceContext, operations};
use crate::shared::Shared;
use crate::space::value::{Blob, Scalar};
use crate::space::{
    Body, Full, FullNames, Link, Names, Node, NodeIndex, Shape, Source, Space, Stamp, Variable,
    access, encode,
};

/// Bits of SpecifiedAttributes (Part 4, 7.24.1).
mod specified {
    pub const ACCESS_LEVEL: u32 = 1;
    pub const ARRAY_DIMENSIONS: u32 = 1 << 1;
    pub const DATA_TYPE: u32 = 1 << 4;
    pub const DESCRIPTION: u32 = 1 << 5;
    pub const DISPLAY_NAME: u32 = 1 << 6;
    pub const EVENT_NOTIFIER: u32 = 1 << 7;
    pub const MINIMUM_SAMPLING_INTERVAL: u32 = 1 << 12;
    pub const VALUE_RANK: u32 = 1 << 19;
    pub const VALUE: u32 = 1 << 21;
}

/// Numbers for nodes whose clients leave the id to the server, in its own namespace.
const FIRST_ID: u32 = 0x4000_0000;

impl ServiceContext<'_> {
    /// Whether clients may change the address space at all, and this user.
    fn may_manage(&self) -> Result<bool, StatusCode> {
        match self.shared.config.limits.added_nodes {
            0 => Err(StatusCode::BadServiceUnsupported),
            _ => Ok(self.session.rights.write),
        }
    }

    pub(super) fn add_nodes(&mut self, request: &mut AddNodesRequest) -> Result<Steps, StatusCode> {
        let may = self.may_manage()?;
        let limit = self.shared.config.limits.nodes_per_write;
        let items = operations(&mut request.nodes_to_add, limit)?;
        let (response, result) = (Kind::AddNodesResponse, Kind::AddNodesResult);
        Ok(Steps::each(
            response,
            items,
            move |context, item, work, out| {
                let space = &context.shared.space;
                // Names below the parent are compared.
                work.spend(here(space, &item.parent_node_id).map_or(0, |at| space.fixed_links(at)));
                let added = match may {
                    true => context.add_node(item),
                    false => Err(StatusCode::BadUserAccessDenied),
                };
                let added = match added {
                    Ok(added_node_id) => AddNodesResult {
                        added_node_id,
                        ..Default::default()
                    },
                    Err(status_code) => AddNodesResult {
                        status_code,
                        ..Default::default()
                    },
                };
                work.put(result, &added, out);
                None
            },
        ))
    }

    fn add_node(&mut self, item: AddNodesItem) -> Result<NodeId, StatusCode> {
        let space = &self.shared.space;
        let parent = here(space, &item.parent_node_id);
        let parent = parent.ok_or(StatusCode::BadParentNodeIdInvalid)?;
        let kind = reference_type(space, &item.reference_type_id)?;
        let above = space.reference_type(ReferenceTypeId::HierarchicalReferences);
        // Part 4, table 24; types are not for clients to derive.
        let hierarchical = above.is_some_and(|above| space.is_subtype(kind, above));
        if !hierarchical || is_a(space, kind, ReferenceTypeId::HasSubtype) {
            return Err(StatusCode::BadReferenceNotAllowed);
        }
        let name = item.browse_name;
        if name.name.is_null() || name.name.is_empty() {
            return Err(StatusCode::BadBrowseNameInvalid);
        }
        if space.has_below(parent, kind, &name) {
            return Err(StatusCode::BadBrowseNameDuplicated);
        }
        let id = self.new_id(&item.requested_new_node_id)?;
        let attributes = AddNodeAttributes::from_extension_object(item.node_attributes)
            .map_err(|_| StatusCode::BadNodeAttributesInvalid)?;
        let definition = here(space, &item.type_definition);
        let of = definition
            .and_then(|at| space.lasting(at))
            .map(|node| &node.body);
        let (body, names) = match (item.node_class, of) {
            (NodeClass::Object, Some(Body::ObjectType { .. })) => object(attributes, &name)?,
            (NodeClass::Variable, Some(Body::VariableType(_))) => {
                variable(attributes, &name, self.now.utc)?
            }
            (NodeClass::Object | NodeClass::Variable, _) => {
                return Err(StatusCode::BadTypeDefinitionInvalid);
            }
            // Views, methods and types are the plant's own.
            _ => return Err(StatusCode::BadNodeClassInvalid),
        };
        let mut links = vec![(
            parent,
            Link {
                forward: false,
                kind,
                target: parent,
            },
        )];
        let has_type = space.reference_type(ReferenceTypeId::HasTypeDefinition);
        if let (Some(kind), Some(target)) = (has_type, definition) {
            let forward = true;
            links.push((
                target,
                Link {
                    forward,
                    kind,
                    target,
                },
            ));
        }
        let node = Node {
            id: id.clone(),
            names,
            body,
        };
        let most = self.shared.config.limits.added_nodes;
        let memory = &self.shared.config.memory;
        let added = space.added().add(node, &links, most, memory);
        added.map(|_| id).map_err(full)
    }

    /// The id that is asked for, or one of the server's choice.
    fn new_id(&self, asked: &ExpandedNodeId) -> Result<NodeId, StatusCode> {
        let space = &self.shared.space;
        let id = &asked.node_id;
        let is_null = match &id.identifier {
            Identifier::Numeric(number) => *number == 0,
            Identifier::String(text) => text.is_null(),
            Identifier::ByteString(bytes) => bytes.is_null(),
            Identifier::Guid(_) => false,
        };
        if is_null {
            let own = |n: u32| NodeId::new(1, FIRST_ID.wrapping_add(n));
            let numbers = std::iter::repeat_with(|| own(self.shared.node_number()));
            let mut free = numbers.filter(|id| space.find_id(id).is_none());
            return free.next().ok_or(StatusCode::BadNodeIdRejected);
        }
        // Namespace 0 is that of the specification, high numbers of the server's own are taken.
        let known = usize::from(id.namespace) < space.namespaces().len() && id.namespace > 0;
        let reserved = id.namespace == 1 && id.as_u32().is_some_and(|number| number >= FIRST_ID);
        if !known || reserved || asked.server_index != 0 || !asked.namespace_uri.is_null() {
            return Err(StatusCode::BadNodeIdRejected);
        }
        match space.find_id(id) {
            Some(_) => Err(StatusCode::BadNodeIdExists),
            None => Ok(id.clone()),
        }
    }

    pub(super) fn delete_nodes(
        &mut self,
        request: &mut DeleteNodesRequest,
    ) -> Result<Steps, StatusCode> {
        let list = &mut request.nodes_to_delete;
        self.manage(Kind::DeleteNodesResponse, list, delete_node)
    }

    pub(super) fn add_references(
        &mut self,
        request: &mut AddReferencesRequest,
    ) -> Result<Steps, StatusCode> {
        let list = &mut request.references_to_add;
        self.manage(Kind::AddReferencesResponse, list, add_reference)
    }

    pub(super) fn delete_references(
        &mut self,
        request: &mut DeleteReferencesRequest,
    ) -> Result<Steps, StatusCode> {
        let list = &mut request.references_to_delete;
        self.manage(Kind::DeleteReferencesResponse, list, delete_reference)
    }

    /// Operations whose results are statuses, for those who may change the address space.
    fn manage<T: Send + 'static>(
        &mut self,
        response: Kind,
        list: &mut Option<Vec<T>>,
        one: impl Fn(&Shared, &T, &mut Work) -> Result<(), StatusCode> + Send + 'static,
    ) -> Result<Steps, StatusCode> {
        let may = self.may_manage()?;
        let list = operations(list, self.shared.config.limits.nodes_per_write)?;
        Ok(Steps::each(
            response,
            list,
            move |context, item, work, out| {
                let done = match may {
                    false => Err(StatusCode::BadUserAccessDenied),
                    true => one(context.shared, &item, work),
                };
                let status = done.err().unwrap_or(StatusCode::Good);
                work.put(Kind::StatusCode, &status, out);
                None
            },
        ))
    }
}

fn full(why: Full) -> StatusCode {
    match why {
        Full::Taken => StatusCode::BadNodeIdExists,
        Full::Many => StatusCode::BadResourceUnavailable,
        Full::Memory => StatusCode::BadOutOfMemory,
    }
}

/// References that are compared in the time of a unit of work.
const COMPARED: usize = 16;

fn delete_node(
    shared: &Shared,
    item: &DeleteNodesItem,
    _work: &mut Work,
) -> Result<(), StatusCode> {
    let space = &shared.space;
    let at = space.find_id(&item.node_id);
    let at = at.ok_or(StatusCode::BadNodeIdUnknown)?;
    match space.added().remove(at) {
        true => Ok(()),
        false => Err(StatusCode::BadNoDeleteRights),
    }
}

/// A node of this server.
fn here(space: &Space, id: &ExpandedNodeId) -> Option<NodeIndex> {
    let local = id.server_index == 0 && id.namespace_uri.is_null();
    local.then(|| lasting(space, &id.node_id)).flatten()
}

/// A node that does not go by itself: one that does can have no references of others.
fn lasting(space: &Space, id: &NodeId) -> Option<NodeIndex> {
    space.find_id(id).filter(|at| !space.is_of_session(*at))
}

fn reference_type(space: &Space, id: &NodeId) -> Result<NodeIndex, StatusCode> {
    let at = space.find_id(id);
    let is_one = |at: &NodeIndex| {
        let body = space.lasting(*at).map(|node| &node.body);
        matches!(body, Some(Body::ReferenceType { .. }))
    };
    at.filter(is_one)
        .ok_or(StatusCode::BadReferenceTypeIdInvalid)
}

fn is_a(space: &Space, kind: NodeIndex, of: ReferenceTypeId) -> bool {
    let of = space.reference_type(of);
    of.is_some_and(|of| space.is_subtype(kind, of))
}

fn add_reference(
    shared: &Shared,
    item: &AddReferencesItem,
    work: &mut Work,
) -> Result<(), StatusCode> {
    let space = &shared.space;
    let source = lasting(space, &item.source_node_id);
    let source = source.ok_or(StatusCode::BadSourceNodeIdInvalid)?;
    let kind = reference_type(space, &item.reference_type_id)?;
    if !item.target_server_uri.is_null() && !item.target_server_uri.is_empty() {
        return Err(StatusCode::BadReferenceLocalOnly);
    }
    let target = here(space, &item.target_node_id);
    let target = target.ok_or(StatusCode::BadTargetNodeIdInvalid)?;
    let class = space.node(target).map(|node| node.class());
    if item.target_node_class != NodeClass::Unspecified && class != Some(item.target_node_class) {
        return Err(StatusCode::BadNodeClassInvalid);
    }
    // What types there are, and of which type a node is, stays as it was made.
    if is_a(space, kind, ReferenceTypeId::HasSubtype)
        || is_a(space, kind, ReferenceTypeId::HasTypeDefinition)
    {
        return Err(StatusCode::BadReferenceNotAllowed);
    }
    let seen = Link {
        forward: item.is_forward,
        kind,
        target,
    };
    let links = space.links(source);
    work.spend(links.len() / COMPARED);
    if links.contains(&seen) {
        return Err(StatusCode::BadDuplicateReferenceNotAllowed);
    }
    let (from, to) = match item.is_forward {
        true => (source, target),
        false => (target, source),
    };
    let memory = &shared.config.memory;
    space.added().link(from, kind, to, memory).map_err(full)
}

fn delete_reference(
    shared: &Shared,
    item: &DeleteReferencesItem,
    work: &mut Work,
) -> Result<(), StatusCode> {
    let space = &shared.space;
    let source = lasting(space, &item.source_node_id);
    let source = source.ok_or(StatusCode::BadSourceNodeIdInvalid)?;
    let kind = reference_type(space, &item.reference_type_id)?;
    let target = here(space, &item.target_node_id);
    let target = target.ok_or(StatusCode::BadTargetNodeIdInvalid)?;
    let seen = Link {
        forward: item.is_forward,
        kind,
        target,
    };
    if space
        .added()
        .unlink(source, seen, item.delete_bidirectional)
    {
        return Ok(());
    }
    let links = space.links(source);
    work.spend(links.len() / COMPARED);
    match links.contains(&seen) {
        true => Err(StatusCode::BadNoDeleteRights),
        false => Err(StatusCode::BadNotFound),
    }
}

fn names(
    name: &QualifiedName,
    mask: u32,
    display: wire::types::LocalizedText,
    description: wire::types::LocalizedText,
) -> Names {
    let display_name = match mask & specified::DISPLAY_NAME != 0 && !display.text.is_null() {
        true => display,
        false => wire::types::LocalizedText::new("", name.name.as_ref()),
    };
    Names::Full(Box::new(FullNames {
        browse_name: name.clone(),
        display_name,
        description: (mask & specified::DESCRIPTION != 0).then_some(description),
    }))
}

fn object(
    attributes: AddNodeAttributes,
    name: &QualifiedName,
) -> Result<(Body, Names), StatusCode> {
    match attributes {
        AddNodeAttributes::None => Ok((
            Body::Object { event_notifier: 0 },
            names(name, 0, Default::default(), Default::default()),
        )),
        AddNodeAttributes::Object(of) => {
            let mask = of.specified_attributes;
            let named = names(name, mask, of.display_name, of.description);
            // Nobody raises events there.
            match mask & specified::EVENT_NOTIFIER != 0 && of.event_notifier != 0 {
                true => Err(StatusCode::BadNodeAttributesInvalid),
                false => Ok((Body::Object { event_notifier: 0 }, named)),
            }
        }
        _ => Err(StatusCode::BadNodeAttributesInvalid),
    }
}

fn variable(
    attributes: AddNodeAttributes,
    name: &QualifiedName,
    now: i64,
) -> Result<(Body, Names), StatusCode> {
    let invalid = StatusCode::BadNodeAttributesInvalid;
    let of = match attributes {
        AddNodeAttributes::None => VariableAttributes::default(),
        AddNodeAttributes::Variable(of) => of,
        _ => return Err(invalid),
    };
    let mask = of.specified_attributes;
    let has = |bit| mask & bit != 0;
    let value = match has(specified::VALUE) {
        true => of.value,
        false => Variant::Empty,
    };
    let data_type = match has(specified::DATA_TYPE) {
        true => of.data_type,
        false => match value.data_type() {
            Some(kind) => kind.node_id,
            None => wire::types::DataTypeId::BaseDataType.into(),
        },
    };
    let rank = match has(specified::VALUE_RANK) {
        true => of.value_rank,
        false => -1 + 2 * i32::from(value.is_array()),
    };
    let level = match has(specified::ACCESS_LEVEL) {
        true => of.access_level & (access::READ | access::WRITE),
        false => access::READ,
    };
    let level = match level & access::WRITE {
        0 => level,
        _ => level | access::STATUS_WRITE | access::TIMESTAMP_WRITE,
    };
    let shape = Shape {
        data_type,
        value_rank: rank,
        array_dimensions: of
            .array_dimensions
            .filter(|_| has(specified::ARRAY_DIMENSIONS)),
        access_level: level,
        minimum_sampling_interval: match has(specified::MINIMUM_SAMPLING_INTERVAL) {
            true => of.minimum_sampling_interval,
            false => 0.0,
        },
        range: None,
        zone: 0,
    };
    let encoded = encode::variant(value);
    let stamp = Stamp {
        status: StatusCode::Good,
        source: now,
    };
    let raw = RawVariant::parse(&encoded).map_err(|_| invalid)?;
    let source = match Scalar::new(&raw, stamp) {
        Some(scalar) => Source::Scalar(scalar),
        None => Source::Blob(Blob::new(encoded.into(), stamp)),
    };
    let named = names(name, mask, of.display_name, of.description);
    Ok((
        Body::Variable(Box::new(Variable::new(source, shape))),
        named,
    ))
}
