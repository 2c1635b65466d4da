//! Writes the table of the standard address space. Its form is described where the plant reads it.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use opcua_core_namespace::CoreNamespace;
use opcua_nodes::{
    HasNodeId as _, NodeBase, NodeSetImport, NodeSetNamespaceMapper, NodeType,
};
use opcua_types::{
    BinaryEncodable, ContextOwned, DataEncoding, DataTypeDefinition, ExtensionObject, Identifier,
    LocalizedText, NamespaceMap, NodeClass, NodeId, NumericRange, TimestampsToReturn, Variant,
};

fn main() {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: address-space FILE");
        std::process::exit(2);
    };
    let mut namespaces = NamespaceMap::new();
    let mut mapper = NodeSetNamespaceMapper::new(&mut namespaces);
    CoreNamespace.register_namespaces(&mut mapper);
    let mut table = Table::default();
    let mut nodes = 0_u32;
    for item in CoreNamespace.load(&mapper) {
        table.node(&item.node);
        table.u32(u32::try_from(item.references.len()).unwrap());
        for reference in item.references {
            table.bool(reference.is_forward);
            table.id(&reference.type_id);
            table.id(&reference.target_id);
        }
        nodes += 1;
    }
    let file = std::fs::File::create(path).unwrap();
    let mut file = ZlibEncoder::new(file, Compression::best());
    file.write_all(&nodes.to_le_bytes()).unwrap();
    file.write_all(&table.bytes).unwrap();
    file.finish().unwrap();
    println!("{nodes} nodes, {} bytes before compression", table.bytes.len() + 4);
}

#[derive(Default)]
struct Table {
    bytes: Vec<u8>,
}

impl Table {
    fn bool(&mut self, value: bool) {
        self.bytes.push(value.into());
    }

    fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }

    /// A node of the standard namespace by its number.
    fn id(&mut self, id: &NodeId) {
        assert_eq!(id.namespace, 0, "{id}");
        let Identifier::Numeric(number) = id.identifier else {
            panic!("not a number: {id}");
        };
        self.u32(number);
    }

    /// Bytes with their number before them; `u32::MAX` for none.
    fn blob(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            None => self.u32(u32::MAX),
            Some(bytes) => {
                self.u32(u32::try_from(bytes.len()).unwrap());
                self.bytes.extend(bytes);
            }
        }
    }

    fn text(&mut self, text: Option<&LocalizedText>) {
        let text = text.map(|text| {
            assert!(text.locale.is_null() || text.locale.as_ref().is_empty(), "{text}");
            text.text.as_ref().as_bytes()
        });
        self.blob(text);
    }

    fn value(&mut self, value: Option<Variant>) {
        let value = value.map(|value| {
            let context = ContextOwned::default();
            let mut bytes = Vec::new();
            value.encode(&mut bytes, &context.context()).unwrap();
            bytes
        });
        self.blob(value.as_deref());
    }

    fn shape(&mut self, data_type: &NodeId, rank: i32, dimensions: Option<&Vec<u32>>) {
        self.id(data_type);
        self.bytes.extend(rank.to_le_bytes());
        let dimensions = dimensions.map(|all| {
            let all = all.iter().flat_map(|it| it.to_le_bytes());
            all.collect::<Vec<_>>()
        });
        self.blob(dimensions.as_deref());
    }

    fn node(&mut self, node: &NodeType) {
        let base: &dyn NodeBase = node.as_node();
        self.id(node.node_id());
        let class = match node {
            NodeType::Object(_) => NodeClass::Object,
            NodeType::Variable(_) => NodeClass::Variable,
            NodeType::Method(_) => NodeClass::Method,
            NodeType::ObjectType(_) => NodeClass::ObjectType,
            NodeType::VariableType(_) => NodeClass::VariableType,
            NodeType::ReferenceType(_) => NodeClass::ReferenceType,
            NodeType::DataType(_) => NodeClass::DataType,
            NodeType::View(_) => NodeClass::View,
        };
        self.bytes.push(u8::try_from(class as i32).unwrap());
        let browse_name = base.browse_name();
        assert_eq!(browse_name.namespace_index, 0);
        self.blob(Some(browse_name.name.as_ref().as_bytes()));
        let same = base.display_name().text == browse_name.name;
        self.text((!same).then_some(base.display_name()));
        self.text(base.description());
        self.body(node);
    }

    fn body(&mut self, node: &NodeType) {
        match node {
            NodeType::Object(it) => self.bytes.push(it.event_notifier().bits()),
            NodeType::Variable(it) => {
                let dimensions = it.array_dimensions();
                self.shape(&it.data_type(), it.value_rank(), dimensions.as_ref());
                let interval = it.minimum_sampling_interval().unwrap_or(0.0);
                self.bytes.extend(interval.to_le_bytes());
                let value = it.value(
                    TimestampsToReturn::Neither,
                    &NumericRange::None,
                    &DataEncoding::Binary,
                    0.0,
                );
                self.value(Some(value.value.unwrap_or_default()));
            }
            NodeType::Method(_) => {}
            NodeType::ObjectType(it) => self.bool(it.is_abstract()),
            NodeType::VariableType(it) => {
                let dimensions = it.array_dimensions();
                self.shape(it.data_type(), it.value_rank(), dimensions.as_ref());
                self.bool(it.is_abstract());
                let value = it.value().and_then(|value| value.value.clone());
                self.value(value.filter(|value| !matches!(value, Variant::Empty)));
            }
            NodeType::ReferenceType(it) => {
                self.bool(it.is_abstract());
                self.bool(it.symmetric());
                self.text(it.inverse_name().as_ref());
            }
            NodeType::DataType(it) => {
                self.bool(it.is_abstract());
                let definition = it.data_type_definition().map(|definition| {
                    let object = match definition.clone() {
                        DataTypeDefinition::Structure(of) => ExtensionObject::from_message(of),
                        DataTypeDefinition::Enum(of) => ExtensionObject::from_message(of),
                    };
                    Variant::ExtensionObject(object)
                });
                self.value(definition);
            }
            NodeType::View(it) => panic!("a view in the standard: {}", it.node_id()),
        }
    }
}
