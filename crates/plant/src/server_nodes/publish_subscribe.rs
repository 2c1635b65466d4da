//! The PublishSubscribe object (Part 14, 9): what a plant publishes, where to, and how that goes. It is only read.

use std::sync::{Arc, OnceLock};

use record::Progress;
use wire::policy::Mode;
use wire::types::{
    ConfigurationVersionDataType, DataSetFieldFlags, DataSetMetaDataType, DataTypeId,
    ExtensionObject, FieldMetaData, NodeId, ObjectId, ObjectTypeId, PublishedVariableDataType,
    QualifiedName, ReferenceTypeId, UAString, VariableId, VariableTypeId, Variant,
};

use crate::describe::Publishing;
use crate::space::Builder;
use crate::space::encode;
use crate::space::node::{Body, FullNames, Names, Node, Shape, Variable};
use crate::space::plant_object::NAMESPACE;
use crate::space::standing::constant;
use crate::space::value::{Source, Stamp};

/// What is published, as values that nodes have: known once all signals are there.
#[derive(Debug, Default)]
pub struct Published {
    metadata: Box<[u8]>,
    variables: Box<[u8]>,
}

/// A field of a DataSet.
#[derive(Debug)]
pub struct DataSetField {
    /// Its name.
    pub name: String,
    /// Its built-in type.
    pub kind: u8,
    /// Its variable.
    pub node: NodeId,
}

/// A publisher of this server.
#[derive(Debug)]
pub struct Publisher {
    /// What was asked for.
    pub about: Publishing,
    /// What it has done so far. Whoever publishes counts there.
    pub progress: Arc<Progress>,
    published: Arc<OnceLock<Published>>,
}

impl Publisher {
    /// It does not publish yet.
    pub fn new(about: &Publishing) -> Self {
        Self {
            about: about.clone(),
            progress: Arc::default(),
            published: Arc::default(),
        }
    }

    /// Says what the fields of its DataSet are, once.
    pub fn tell(&self, fields: Vec<DataSetField>) {
        let interval = self.about.interval.as_secs_f64() * 1000.0;
        let variables = fields.iter().map(|it| PublishedVariableDataType {
            published_variable: it.node.clone(),
            // The Value.
            attribute_id: 13,
            sampling_interval_hint: interval,
            ..PublishedVariableDataType::default()
        });
        let variables: Vec<_> = variables.map(ExtensionObject::from_message).collect();
        let fields = fields.into_iter().map(|it| FieldMetaData {
            name: it.name.into(),
            field_flags: DataSetFieldFlags::empty(),
            built_in_type: it.kind,
            data_type: NodeId::new(0, u32::from(it.kind)),
            value_rank: -1,
            ..FieldMetaData::default()
        });
        let metadata = DataSetMetaDataType {
            name: DATA_SET.into(),
            fields: Some(fields.collect()),
            configuration_version: VERSION,
            ..DataSetMetaDataType::default()
        };
        // It is told once.
        let _ = self.published.set(Published {
            metadata: encode::variant(ExtensionObject::from_message(metadata)),
            variables: encode::variant(variables),
        });
    }
}

/// Names of the only group, writer and DataSet of a publisher.
const GROUP: &str = "WriterGroup1";
const WRITER: &str = "Writer1";
const DATA_SET: &str = "DataSet1";
/// Their ids.
const FIRST: u16 = 1;
/// What a publisher's metadata is called in its messages.
const VERSION: ConfigurationVersionDataType = ConfigurationVersionDataType {
    major_version: 1,
    minor_version: 1,
};

/// States of Part 14, 6.2.1.
const DISABLED: i32 = 0;
const OPERATIONAL: i32 = 2;

const UDP: &str = "http://opcfoundation.org/UA-Profile/Transport/pubsub-udp-uadp";
const ETHERNET: &str = "http://opcfoundation.org/UA-Profile/Transport/pubsub-eth-uadp";
const MQTT_UADP: &str = "http://opcfoundation.org/UA-Profile/Transport/pubsub-mqtt-uadp";
const MQTT_JSON: &str = "http://opcfoundation.org/UA-Profile/Transport/pubsub-mqtt-json";
const DYNAMIC: &str = "http://opcfoundation.org/UA/PubSub-Layouts/UADP-Dynamic";

/// Adds all publishers.
pub fn describe(builder: &mut Builder, publishers: &[Arc<Publisher>]) {
    use VariableId as V;
    let profiles: Vec<UAString> = [UDP, ETHERNET, MQTT_UADP, MQTT_JSON]
        .map(UAString::from)
        .into();
    constant(
        builder,
        V::PublishSubscribe_SupportedTransportProfiles,
        profiles,
    );
    let all: Vec<Arc<Publisher>> = publishers.to_vec();
    live(
        builder,
        V::PublishSubscribe_Status_State.into(),
        move || state(all.iter().any(|it| it.progress.is_running())),
    );
    let namespace = builder.namespace(NAMESPACE);
    for (n, publisher) in publishers.iter().enumerate() {
        let connection = format!("Connection{}", n + 1);
        let mut tree = Tree {
            builder: &mut *builder,
            namespace,
        };
        tree.connection(&connection, publisher);
    }
}

fn state(is_running: bool) -> Variant {
    match is_running {
        true => OPERATIONAL.into(),
        false => DISABLED.into(),
    }
}

/// A variable that is there already is computed from now on.
fn live(builder: &mut Builder, id: NodeId, value: impl Fn() -> Variant + Send + Sync + 'static) {
    if let Some(variable) = builder.variable_mut(&id) {
        variable.source = computed(value);
    }
}

fn computed(value: impl Fn() -> Variant + Send + Sync + 'static) -> Source {
    Source::Live(Arc::new(move |now, out| {
        encode::encode(&value(), out);
        Stamp::good(now.utc)
    }))
}

/// A count of what was done.
type Count = fn(&Progress) -> u64;
/// A value of what is published.
type Part = fn(&Published) -> &[u8];

/// Nodes below PublishSubscribe, by their paths.
struct Tree<'a> {
    builder: &'a mut Builder,
    namespace: u16,
}

impl Tree<'_> {
    fn id(&self, path: &str) -> NodeId {
        NodeId::new(self.namespace, UAString::from(format!("PubSub.{path}")))
    }

    /// A node with a name of the specification's own namespace.
    fn insert(&mut self, parent: &NodeId, by: ReferenceTypeId, path: &str, body: Body) -> NodeId {
        let id = self.id(path);
        let name = path.rsplit('.').next().unwrap_or(path);
        self.builder.insert(Node {
            names: Names::Full(Box::new(FullNames {
                browse_name: QualifiedName::new(0, name),
                display_name: name.into(),
                description: None,
            })),
            body,
            id: id.clone(),
        });
        self.builder.link(parent, by, &id);
        id
    }

    fn object(
        &mut self,
        parent: &NodeId,
        by: ReferenceTypeId,
        path: &str,
        of: ObjectTypeId,
    ) -> NodeId {
        let body = Body::Object { event_notifier: 0 };
        let id = self.insert(parent, by, path, body);
        self.builder
            .link(&id, ReferenceTypeId::HasTypeDefinition, &of.into());
        id
    }

    fn component(&mut self, parent: &NodeId, path: &str, of: ObjectTypeId) -> NodeId {
        self.object(parent, ReferenceTypeId::HasComponent, path, of)
    }

    /// A variable with a value that does not change.
    fn variable(
        &mut self,
        parent: &NodeId,
        path: &str,
        of: VariableTypeId,
        kind: DataTypeId,
        value: impl Into<Variant>,
    ) -> NodeId {
        let source = Source::Constant {
            encoded: encode::variant(value),
            since: self.builder.anchor(),
        };
        self.from(parent, path, of, Shape::scalar(kind), source)
    }

    fn from(
        &mut self,
        parent: &NodeId,
        path: &str,
        of: VariableTypeId,
        shape: Shape,
        source: Source,
    ) -> NodeId {
        let by = match of {
            VariableTypeId::PropertyType => ReferenceTypeId::HasProperty,
            _ => ReferenceTypeId::HasComponent,
        };
        let variable = Variable::new(source, shape);
        let id = self.insert(parent, by, path, Body::Variable(Box::new(variable)));
        self.builder
            .link(&id, ReferenceTypeId::HasTypeDefinition, &of.into());
        id
    }

    fn property(
        &mut self,
        parent: &NodeId,
        path: &str,
        kind: DataTypeId,
        value: impl Into<Variant>,
    ) {
        self.variable(parent, path, VariableTypeId::PropertyType, kind, value);
    }

    /// An array of structures that has nothing in it.
    fn none(&mut self, parent: &NodeId, path: &str, kind: DataTypeId) {
        let source = Source::Constant {
            encoded: encode::variant(Vec::<ExtensionObject>::new()),
            since: self.builder.anchor(),
        };
        self.from(
            parent,
            path,
            VariableTypeId::PropertyType,
            list(kind),
            source,
        );
    }

    /// What state it is in.
    fn status(&mut self, parent: &NodeId, path: &str, progress: &Arc<Progress>) {
        let status = self.component(
            parent,
            &format!("{path}.Status"),
            ObjectTypeId::PubSubStatusType,
        );
        let progress = Arc::clone(progress);
        self.from(
            &status,
            &format!("{path}.Status.State"),
            VariableTypeId::BaseDataVariableType,
            Shape::scalar(DataTypeId::PubSubState),
            computed(move || state(progress.is_running())),
        );
    }

    fn connection(&mut self, path: &str, publisher: &Arc<Publisher>) {
        let about = &publisher.about;
        let root: NodeId = ObjectId::PublishSubscribe.into();
        let by = ReferenceTypeId::HasPubSubConnection;
        let id = self.object(&root, by, path, ObjectTypeId::PubSubConnectionType);
        self.property(
            &id,
            &format!("{path}.PublisherId"),
            DataTypeId::BaseDataType,
            about.publisher,
        );
        let json = about.broker.mapping != "uadp";
        let profile = match about.to.as_str() {
            to if to.starts_with("opc.udp://") => UDP,
            to if to.starts_with("opc.eth://") => ETHERNET,
            _ if json => MQTT_JSON,
            _ => MQTT_UADP,
        };
        self.variable(
            &id,
            &format!("{path}.TransportProfileUri"),
            VariableTypeId::SelectionListType,
            DataTypeId::String,
            profile,
        );
        self.none(
            &id,
            &format!("{path}.ConnectionProperties"),
            DataTypeId::KeyValuePair,
        );
        let address = format!("{path}.Address");
        let at = self.component(&id, &address, ObjectTypeId::NetworkAddressUrlType);
        // Where the system chooses it there is no name to tell.
        let interface = about.interface.clone();
        self.variable(
            &at,
            &format!("{address}.NetworkInterface"),
            VariableTypeId::SelectionListType,
            DataTypeId::String,
            interface.unwrap_or_default(),
        );
        self.variable(
            &at,
            &format!("{address}.Url"),
            VariableTypeId::BaseDataVariableType,
            DataTypeId::String,
            about.to.as_str(),
        );
        self.status(&id, path, &publisher.progress);
        let set = self.data_set(path, publisher);
        let writer = self.group(&id, path, publisher);
        self.builder
            .link(&set, ReferenceTypeId::DataSetToWriter, &writer);
    }

    /// The writer group with its writer, whose node this is.
    fn group(&mut self, connection: &NodeId, path: &str, publisher: &Arc<Publisher>) -> NodeId {
        use DataTypeId as T;
        let about = &publisher.about;
        let path = format!("{path}.{GROUP}");
        let at = |name: &str| format!("{path}.{name}");
        let by = ReferenceTypeId::HasWriterGroup;
        let id = self.object(connection, by, &path, ObjectTypeId::WriterGroupType);
        let (mode, group) = match &about.security {
            None => (1, ""),
            Some(it) => match it.mode {
                Mode::Sign => (2, it.group.as_str()),
                _ => (3, it.group.as_str()),
            },
        };
        self.property(&id, &at("SecurityMode"), T::MessageSecurityMode, mode);
        self.property(&id, &at("SecurityGroupId"), T::String, group);
        self.none(&id, &at("SecurityKeyServices"), T::EndpointDescription);
        self.property(&id, &at("MaxNetworkMessageSize"), T::UInt32, 0u32);
        self.none(&id, &at("GroupProperties"), T::KeyValuePair);
        self.status(&id, &path, &publisher.progress);
        self.property(&id, &at("WriterGroupId"), T::UInt16, FIRST);
        let interval = about.interval.as_secs_f64() * 1000.0;
        self.property(&id, &at("PublishingInterval"), T::Duration, interval);
        self.property(&id, &at("KeepAliveTime"), T::Duration, interval);
        self.property(&id, &at("Priority"), T::Byte, 0u8);
        let locales = Source::Constant {
            encoded: encode::variant(Vec::<UAString>::new()),
            since: self.builder.anchor(),
        };
        let of = VariableTypeId::PropertyType;
        self.from(&id, &at("LocaleIds"), of, list(T::LocaleId), locales);
        if about.broker.mapping == "uadp" {
            self.property(&id, &at("HeaderLayoutUri"), T::String, DYNAMIC);
            let settings = at("MessageSettings");
            let of = ObjectTypeId::UadpWriterGroupMessageType;
            let uadp = self.component(&id, &settings, of);
            let at = |name: &str| format!("{settings}.{name}");
            self.property(&uadp, &at("GroupVersion"), T::UInt32, 1u32);
            self.property(&uadp, &at("DataSetOrdering"), T::DataSetOrderingType, 1i32);
            // PublisherId and PayloadHeader.
            let mask = T::UadpNetworkMessageContentMask;
            self.property(&uadp, &at("NetworkMessageContentMask"), mask, 0x41u32);
            let offsets = Source::Constant {
                encoded: encode::variant(Vec::<f64>::new()),
                since: self.builder.anchor(),
            };
            let of = VariableTypeId::PropertyType;
            self.from(
                &uadp,
                &at("PublishingOffset"),
                of,
                list(T::Duration),
                offsets,
            );
        }
        self.diagnostics(&id, &path, &publisher.progress);
        self.writer(&id, &path, publisher)
    }

    fn writer(&mut self, group: &NodeId, path: &str, publisher: &Arc<Publisher>) -> NodeId {
        use DataTypeId as T;
        let path = format!("{path}.{WRITER}");
        let at = |name: &str| format!("{path}.{name}");
        let by = ReferenceTypeId::HasDataSetWriter;
        let id = self.object(group, by, &path, ObjectTypeId::DataSetWriterType);
        self.property(&id, &at("DataSetWriterId"), T::UInt16, FIRST);
        let fields = match publisher.about.raw {
            true => 0x20u32,
            false => 0,
        };
        let mask = T::DataSetFieldContentMask;
        self.property(&id, &at("DataSetFieldContentMask"), mask, fields);
        self.property(&id, &at("KeyFrameCount"), T::UInt32, 1u32);
        self.none(&id, &at("DataSetWriterProperties"), T::KeyValuePair);
        self.status(&id, &path, &publisher.progress);
        id
    }

    /// What was sent and what was not (9.1.11).
    fn diagnostics(&mut self, group: &NodeId, path: &str, progress: &Arc<Progress>) {
        let path = format!("{path}.Diagnostics");
        let of = ObjectTypeId::PubSubDiagnosticsWriterGroupType;
        let id = self.component(group, &path, of);
        let counters = format!("{path}.Counters");
        let object = self.component(&id, &counters, ObjectTypeId::BaseObjectType);
        let count: [(&str, Count); 3] = [
            ("SentNetworkMessages", Progress::sent),
            ("FailedTransmissions", Progress::failed),
            // A message that cannot be secured ends its publisher.
            ("EncryptionErrors", |_| 0),
        ];
        for (name, pick) in count {
            let progress = Arc::clone(progress);
            let source = computed(move || {
                // Counters of Part 14 have 32 bits and begin anew.
                (pick(&progress) as u32).into()
            });
            let path = format!("{counters}.{name}");
            let of = VariableTypeId::PubSubDiagnosticsCounterType;
            let shape = Shape::scalar(DataTypeId::UInt32);
            let id = self.from(&object, &path, of, shape, source);
            let at = |name: &str| format!("{path}.{name}");
            self.property(&id, &at("Active"), DataTypeId::Boolean, true);
            let error = i32::from(name != "SentNetworkMessages");
            let kind = DataTypeId::PubSubDiagnosticsCounterClassification;
            self.property(&id, &at("Classification"), kind, error);
            self.property(
                &id,
                &at("DiagnosticsLevel"),
                DataTypeId::DiagnosticsLevel,
                0i32,
            );
        }
        let values = format!("{path}.LiveValues");
        let object = self.component(&id, &values, ObjectTypeId::BaseObjectType);
        let of = VariableTypeId::BaseDataVariableType;
        let at = |name: &str| format!("{values}.{name}");
        let configured = at("ConfiguredDataSetWriters");
        self.variable(&object, &configured, of, DataTypeId::UInt16, 1u16);
        let running = Arc::clone(progress);
        let operational = computed(move || u16::from(running.is_running()).into());
        let shape = Shape::scalar(DataTypeId::UInt16);
        self.from(
            &object,
            &at("OperationalDataSetWriters"),
            of,
            shape,
            operational,
        );
        let secured = Arc::clone(progress);
        let token = computed(move || secured.token().into());
        let shape = Shape::scalar(DataTypeId::UInt32);
        self.from(&object, &at("SecurityTokenID"), of, shape, token);
    }

    /// The DataSet, whose fields are told later.
    fn data_set(&mut self, path: &str, publisher: &Arc<Publisher>) -> NodeId {
        use DataTypeId as T;
        let path = format!("{path}.{DATA_SET}");
        let at = |name: &str| format!("{path}.{name}");
        let folder: NodeId = ObjectId::PublishSubscribe_PublishedDataSets.into();
        let id = self.component(&folder, &path, ObjectTypeId::PublishedDataItemsType);
        let of = VariableTypeId::PropertyType;
        let version = ExtensionObject::from_message(VERSION);
        let name = at("ConfigurationVersion");
        self.property(&id, &name, T::ConfigurationVersionDataType, version);
        let parts: [(&str, Shape, Part); 2] = [
            (
                "DataSetMetaData",
                Shape::scalar(T::DataSetMetaDataType),
                |it| &it.metadata,
            ),
            ("PublishedData", list(T::PublishedVariableDataType), |it| {
                &it.variables
            }),
        ];
        for (name, shape, part) in parts {
            let published = Arc::clone(&publisher.published);
            let source = Source::Live(Arc::new(move |now, out| {
                match published.get() {
                    Some(it) => out.extend_from_slice(part(it)),
                    None => encode::encode(&Variant::Empty, out),
                }
                Stamp::good(now.utc)
            }));
            self.from(&id, &at(name), of, shape, source);
        }
        id
    }
}

fn list(kind: DataTypeId) -> Shape {
    Shape {
        value_rank: 1,
        ..Shape::scalar(kind)
    }
}
