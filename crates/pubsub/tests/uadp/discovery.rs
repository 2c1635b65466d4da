//! Probes and announcements, held to the types of another implementation and to the words of Part 14.

use pubsub::discovery::{
    Announced, Announcement, Asks, Endpoint, FieldMetaData, MetaData, Probe, WriterConfig,
    WriterGroupConfig,
};
use pubsub::security::{GroupKeys, KeyRing, Mode, PubSubPolicy, Sealer};
use pubsub::{PublisherId, Tolerance, View};
use wire::template::walk::BuiltInType;
use wire::types::{
    ApplicationDescription, BinaryDecodable, BinaryEncodable, ConfigurationVersionDataType,
    ContextOwned, DataSetMetaDataType, DataSetWriterDataType, EndpointDescription, EnumDefinition,
    EnumDescription, EnumField, KeyValuePair, LocalizedText, MessageSecurityMode, NodeId,
    QualifiedName, SimpleTypeDescription, StructureDefinition, StructureDescription,
    StructureField, UserTokenPolicy, Variant, WriterGroupDataType,
};

use crate::bytes;

/// As the other implementation writes it.
fn encoded(value: &impl BinaryEncodable) -> Vec<u8> {
    let context = ContextOwned::default();
    let mut out = Vec::new();
    value.encode(&mut out, &context.context()).unwrap();
    out
}

/// As it reads it, and what it leaves.
fn decoded<T: BinaryDecodable>(mut bytes: &[u8]) -> (T, usize) {
    let context = ContextOwned::default();
    let value = T::decode(&mut bytes, &context.context()).unwrap();
    (value, bytes.len())
}

/// An announcement of publisher 7 with this behind its type and sequence number 5.
fn announcement(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut wire = bytes("91 91 08 0700 00 00000000 00");
    wire.push(kind);
    wire.extend(5u16.to_le_bytes());
    wire.extend(body);
    wire
}

fn told(wire: &[u8]) -> Announced {
    let view = View::parse(wire, Tolerance::NONE).unwrap();
    assert_eq!(view.header.publisher_id, Some(PublisherId::UInt16(7)));
    let announcement = view.announcement().unwrap().unwrap();
    assert_eq!(announcement.sequence, 5);
    announcement.told
}

/// What is written, behind its headers.
fn written(told: Announced) -> Vec<u8> {
    let mut out = Vec::new();
    let it = Announcement { sequence: 5, told };
    it.encode(&PublisherId::UInt16(7), None, &mut out).unwrap();
    let head = announcement(out[11], &[]);
    assert_eq!(out[..head.len()], head);
    out.split_off(head.len())
}

#[test]
fn probes_are_the_bytes_of_part_14() {
    let cases = [
        (Asks::Endpoints, "01 01"),
        (Asks::MetaData(vec![1, 300]), "01 02 02000000 0100 2c01"),
        (Asks::Writers(Vec::new()), "01 03 00000000"),
        (Asks::Other(2, 0), "02"),
    ];
    for (asks, body) in cases {
        // UADPFlags, ExtendedFlags1 with the security header, type 1, the publisher that is asked, no security.
        let wire = bytes(&format!("91 91 04 0700 00 00000000 00 {body}"));
        let view = View::parse(&wire, Tolerance::NONE).unwrap();
        let probe = view.probe().unwrap().unwrap();
        assert_eq!(probe, Probe { asks: asks.clone() });
        assert_eq!(view.announcement(), Ok(None));
        let mut out = Vec::new();
        let publisher = PublisherId::UInt16(7);
        probe.encode(&publisher, None, &mut out).unwrap();
        assert_eq!(out[..wire.len()], wire);
    }
    // An array may be null, and stands for all.
    let wire = bytes("91 91 04 0700 00 00000000 00 01 02 ffffffff");
    let view = View::parse(&wire, Tolerance::NONE).unwrap();
    let asks = view.probe().unwrap().unwrap().asks;
    assert_eq!(asks, Asks::MetaData(Vec::new()));
}

fn field(name: &str, kind: u8) -> wire::types::FieldMetaData {
    wire::types::FieldMetaData {
        name: name.into(),
        description: LocalizedText::new("en", "what it is"),
        built_in_type: kind,
        data_type: NodeId::new(2, "its type"),
        value_rank: -1,
        properties: Some(vec![KeyValuePair {
            key: QualifiedName::new(2, "unit"),
            value: Variant::from(vec![1.5f32, 2.5]),
        }]),
        ..wire::types::FieldMetaData::default()
    }
}

#[test]
fn metadata_of_others_is_read_whatever_else_they_describe() {
    let name = || QualifiedName::new(1, "Motor");
    let structure = StructureDescription {
        data_type_id: NodeId::new(1, 3000),
        name: name(),
        structure_definition: StructureDefinition {
            fields: Some(vec![StructureField {
                name: "speed".into(),
                data_type: NodeId::new(0, 10),
                array_dimensions: Some(vec![3]),
                ..StructureField::default()
            }]),
            ..StructureDefinition::default()
        },
    };
    let enumeration = EnumDescription {
        data_type_id: NodeId::new(1, 70_000),
        name: name(),
        enum_definition: EnumDefinition {
            fields: Some(vec![EnumField {
                name: "on".into(),
                display_name: LocalizedText::new("en", "On"),
                ..EnumField::default()
            }]),
        },
        built_in_type: 6,
    };
    let simple = SimpleTypeDescription {
        data_type_id: NodeId::new(1, 4),
        name: name(),
        base_data_type: NodeId::new(0, 10),
        built_in_type: 10,
    };
    let mut row = field("row", 4);
    row.value_rank = 1;
    row.array_dimensions = Some(vec![3]);
    let mut text = field("text", 12);
    text.max_string_length = 8;
    let theirs = DataSetMetaDataType {
        namespaces: Some(vec!["urn:one".into(), "urn:two".into()]),
        structure_data_types: Some(vec![structure]),
        enum_data_types: Some(vec![enumeration]),
        simple_data_types: Some(vec![simple]),
        name: "line".into(),
        description: LocalizedText::new("", "a line"),
        fields: Some(vec![field("speed", 10), row, text]),
        configuration_version: ConfigurationVersionDataType {
            major_version: 3,
            minor_version: 4,
        },
        ..DataSetMetaDataType::default()
    };
    let body = [&[9, 0], encoded(&theirs).as_slice(), &[0; 4]].concat();
    let wire = announcement(2, &body);
    let Announced::MetaData {
        writer_id,
        metadata,
        status,
    } = told(&wire)
    else {
        panic!("no metadata")
    };
    assert_eq!((writer_id, status), (9, 0));
    assert_eq!(metadata.name, "line");
    assert_eq!((metadata.major_version, metadata.minor_version), (3, 4));
    let names: Vec<_> = metadata.fields.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["speed", "row", "text"]);
    let types = metadata.raw_types().unwrap();
    let sizes: Vec<_> = types.iter().map(|it| it.size()).collect();
    assert_eq!(sizes, [Some(4), Some(10), Some(12)]);
    // Whatever is missing at its end is an error, and none of it a panic.
    for end in 0..wire.len() {
        if let Ok(view) = View::parse(&wire[..end], Tolerance::NONE) {
            assert!(view.announcement().is_err(), "{end} of {}", wire.len());
        }
    }
}

#[test]
fn metadata_of_ours_is_read_by_others() {
    let metadata = MetaData {
        name: "line".into(),
        fields: vec![
            FieldMetaData::scalar("speed".into(), BuiltInType::Float),
            FieldMetaData {
                value_rank: 1,
                dimensions: vec![3],
                promoted: true,
                id: [7; 16],
                ..FieldMetaData::scalar("row".into(), BuiltInType::Int16)
            },
        ],
        class_id: [3; 16],
        major_version: 1,
        minor_version: 2,
    };
    let ours = Announced::MetaData {
        writer_id: 9,
        metadata: metadata.clone(),
        status: 0,
    };
    let body = written(ours.clone());
    let (theirs, left) = decoded::<DataSetMetaDataType>(&body[2..]);
    assert_eq!(left, 4, "the status is left");
    assert_eq!(theirs.name.as_ref(), "line");
    let fields = theirs.fields.unwrap();
    assert_eq!(fields[0].data_type, NodeId::new(0, 10));
    assert_eq!(fields[1].array_dimensions, Some(vec![3]));
    assert_eq!(fields[1].field_flags.bits(), 1);
    assert_eq!(theirs.configuration_version.minor_version, 2);
    assert_eq!(told(&announcement(2, &body)), ours);
    // What RawData cannot have has no layout.
    let mut odd = metadata;
    odd.fields[0].built_in_type = 24;
    assert_eq!(odd.raw_types(), None);
    odd.fields[0].built_in_type = 99;
    assert_eq!(odd.raw_types(), None);
}

#[test]
fn groups_and_endpoints_are_read_and_written_as_others_have_them() {
    let group = WriterGroupConfig {
        name: "group".into(),
        id: 3,
        enabled: true,
        security_mode: 3,
        security_group: "keys".into(),
        interval_ms: 12.5,
        keep_alive_ms: 1000.0,
        layout_uri: "http://opcfoundation.org/UA/PubSub-Layouts/UADP-Dynamic".into(),
        content_mask: 0x3f,
        writers: vec![WriterConfig {
            name: "writer".into(),
            id: 4,
            enabled: true,
            field_mask: 0x20,
            key_frame_count: 1,
            data_set: "line".into(),
        }],
    };
    let ours = Announced::Writers {
        writer_ids: vec![4],
        group: Box::new(group.clone()),
        statuses: vec![0],
    };
    let body = written(ours.clone());
    assert_eq!(told(&announcement(3, &body)), ours);
    let (theirs, left) = decoded::<WriterGroupDataType>(&body[6..]);
    assert_eq!(left, 8, "the status codes are left");
    assert_eq!(
        (theirs.writer_group_id, theirs.publishing_interval),
        (3, 12.5)
    );
    assert_eq!(theirs.security_mode, MessageSecurityMode::SignAndEncrypt);
    let writers = theirs.data_set_writers.as_ref().unwrap();
    assert_eq!(writers[0].data_set_writer_id, 4);
    // With all that we leave out.
    let endpoint = || EndpointDescription {
        endpoint_url: "opc.tcp://plc:4840".into(),
        server: ApplicationDescription {
            application_uri: "urn:plc".into(),
            application_name: LocalizedText::new("en", "PLC"),
            discovery_urls: Some(vec!["opc.tcp://plc:4840".into()]),
            ..ApplicationDescription::default()
        },
        security_mode: MessageSecurityMode::None,
        user_identity_tokens: Some(vec![UserTokenPolicy::default()]),
        security_level: 3,
        ..EndpointDescription::default()
    };
    let full = WriterGroupDataType {
        security_key_services: Some(vec![endpoint(), endpoint()]),
        locale_ids: Some(vec!["en".into()]),
        data_set_writers: Some(vec![DataSetWriterDataType::default(), writers[0].clone()]),
        ..theirs
    };
    let body = [
        bytes("01000000 0400"),
        encoded(&full),
        bytes("01000000 00000000"),
    ]
    .concat();
    let Announced::Writers { group: again, .. } = told(&announcement(3, &body)) else {
        panic!("no group")
    };
    assert_eq!(again.writers[1], group.writers[0]);
    assert_eq!((again.content_mask, again.interval_ms), (0x3f, 12.5));

    let body = [bytes("01000000"), encoded(&endpoint()), bytes("00000000")].concat();
    let read = told(&announcement(1, &body));
    let Announced::Endpoints { endpoints, .. } = &read else {
        panic!("no endpoints")
    };
    let wanted = Endpoint {
        url: "opc.tcp://plc:4840".into(),
        application_uri: "urn:plc".into(),
        security_mode: 1,
        ..Endpoint::default()
    };
    assert_eq!(endpoints, &[wanted]);
    let (theirs, _) = decoded::<EndpointDescription>(&written(read)[4..]);
    assert_eq!(theirs.endpoint_url.as_ref(), "opc.tcp://plc:4840");
}

#[test]
fn counts_that_bytes_cannot_hold_are_refused_before_anything_is_kept() {
    // Two thousand million fields in no bytes.
    let head = "ffffffff ffffffff ffffffff ffffffff 00000000 00";
    let wire = announcement(2, &bytes(&format!("0900 {head} ffffff7f")));
    let view = View::parse(&wire, Tolerance::NONE).unwrap();
    let error = view.announcement().unwrap_err().to_string();
    assert!(error.contains("fields in"), "{error}");
}

#[test]
fn what_is_told_may_be_secured() {
    let keys = || GroupKeys::new(PubSubPolicy::Aes256Ctr, &[7; 68]).unwrap();
    let mut sealer = Sealer::new(keys(), 1, Mode::SignAndEncrypt, [1; 4]);
    let it = Announcement {
        sequence: 5,
        told: Announced::Other(200),
    };
    let mut wire = Vec::new();
    let header = sealer.header();
    let at = it
        .encode(&PublisherId::UInt16(7), Some(&header), &mut wire)
        .unwrap();
    assert!(sealer.seal(&mut wire, &at));
    assert!(
        View::parse(&wire, Tolerance::NONE)
            .unwrap()
            .announcement()
            .is_err()
    );
    let mut ring = KeyRing::new(Some(Mode::SignAndEncrypt), Tolerance::NONE);
    ring.insert(1, keys());
    let opened = ring.open(&mut wire).unwrap();
    let view = View::parse_opened(&wire, opened, Tolerance::NONE).unwrap();
    assert_eq!(view.announcement(), Ok(Some(it)));
}
