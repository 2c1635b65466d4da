//! The Directory of a certificate manager (Part 12, 7.9.2), as far as this server is one: it checks certificates for others.

use wire::types::{
    Argument, DataTypeId, ExtensionObject, LocalizedText, NodeId, ObjectId, ObjectTypeId,
    ReferenceTypeId, Variant,
};

use crate::space::Builder;
use crate::space::node::{Body, Method};

const NAMESPACE: &str = "http://opcfoundation.org/UA/GDS/";

// Ids of the node set of Part 12.
const DIRECTORY_TYPE: u32 = 13;
const CERTIFICATE_DIRECTORY_TYPE: u32 = 63;
const DIRECTORY: u32 = 141;

/// The method in the type and in the object, each with the ids of its arguments.
const METHODS: [[u32; 3]; 2] = [[126, 160, 161], [177, 178, 179]];

/// Adds it below Objects. What a NodeSet2 file has of it already gets a method that does something.
pub fn describe(builder: &mut Builder) {
    let namespace = builder.namespace(NAMESPACE);
    let id = |number: u32| NodeId::new(namespace, number);
    let from_file = builder.has(&id(DIRECTORY));
    if !from_file {
        types(builder, id);
        builder.named(
            &id(DIRECTORY),
            "Directory",
            Body::Object { event_notifier: 0 },
        );
        let objects: NodeId = ObjectId::ObjectsFolder.into();
        builder.link(&objects, ReferenceTypeId::Organizes, &id(DIRECTORY));
        builder.link(
            &id(DIRECTORY),
            ReferenceTypeId::HasTypeDefinition,
            &id(CERTIFICATE_DIRECTORY_TYPE),
        );
    }
    let body = || Body::Method {
        executable: true,
        method: Some(Method::CheckRevocationStatus),
        zone: 0,
    };
    let owners = [CERTIFICATE_DIRECTORY_TYPE, DIRECTORY];
    for ([method, input, output], owner) in METHODS.into_iter().zip(owners) {
        if let Some(there) = builder.node_mut(&id(method)) {
            there.body = body();
            continue;
        }
        builder.named(&id(method), "CheckRevocationStatus", body());
        builder.link(&id(owner), ReferenceTypeId::HasComponent, &id(method));
        let certificate = argument("Certificate", DataTypeId::ByteString);
        let status = argument("CertificateStatus", DataTypeId::StatusCode);
        let until = argument("ValidityTime", DataTypeId::UtcTime);
        for (at, name, arguments) in [
            (input, "InputArguments", vec![certificate]),
            (output, "OutputArguments", vec![status, until]),
        ] {
            let value = Variant::from(arguments);
            builder.property(&id(method), id(at), name, DataTypeId::Argument, value);
        }
    }
    if !from_file {
        let [[in_type, ..], _] = METHODS;
        let optional: NodeId = ObjectId::ModellingRule_Optional.into();
        builder.link(&id(in_type), ReferenceTypeId::HasModellingRule, &optional);
    }
}

fn types(builder: &mut Builder, id: impl Fn(u32) -> NodeId) {
    let folder: NodeId = ObjectTypeId::FolderType.into();
    let directory = id(DIRECTORY_TYPE);
    for (parent, number, name) in [
        (&folder, DIRECTORY_TYPE, "DirectoryType"),
        (
            &directory,
            CERTIFICATE_DIRECTORY_TYPE,
            "CertificateDirectoryType",
        ),
    ] {
        builder.named(&id(number), name, Body::ObjectType { is_abstract: false });
        builder.link(parent, ReferenceTypeId::HasSubtype, &id(number));
    }
}

fn argument(name: &str, data_type: DataTypeId) -> ExtensionObject {
    ExtensionObject::from_message(Argument {
        name: name.into(),
        data_type: data_type.into(),
        value_rank: -1,
        array_dimensions: None,
        description: LocalizedText::null(),
    })
}
