use std::path::Path;

use wire::types::{EnumDefinition, ObjectId, StructureDefinition};

use super::*;
use crate::space::{Body, Space, encode, standard};
use wire::types::{ByteStringBody, ExtensionObject, Range, Variant};

const FILE: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<UANodeSet xmlns="http://opcfoundation.org/UA/2011/03/UANodeSet.xsd"
    xmlns:uax="http://opcfoundation.org/UA/2008/02/Types.xsd">
  <NamespaceUris><Uri>urn:other</Uri><Uri>urn:test:set</Uri></NamespaceUris>
  <Models><Model ModelUri="urn:test:set">
    <RequiredModel ModelUri="http://opcfoundation.org/UA/"/></Model></Models>
  <Aliases>
    <Alias Alias="Double">i=11</Alias><Alias Alias="Organizes">i=35</Alias>
    <Alias Alias="HasTypeDefinition">i=40</Alias><Alias Alias="HasSubtype">i=45</Alias>
    <Alias Alias="HasEncoding">i=38</Alias><Alias Alias="HasComponent">i=47</Alias>
  </Aliases>
  <UAObject NodeId="ns=2;s=Line" BrowseName="2:Line" EventNotifier="1">
    <DisplayName Locale="en">Line &amp; belt</DisplayName>
    <References>
      <Reference ReferenceType="Organizes" IsForward="false">i=85</Reference>
      <Reference ReferenceType="HasTypeDefinition">i=61</Reference>
      <Reference ReferenceType="HasComponent">ns=2;i=7</Reference>
    </References>
  </UAObject>
  <UAVariable NodeId="ns=2;i=1" BrowseName="2:Speed" DataType="Double" AccessLevel="3">
    <DisplayName>Speed</DisplayName>
    <References><Reference ReferenceType="HasComponent" IsForward="false">ns=2;s=Line</Reference></References>
    <Value><uax:Double>1.5</uax:Double></Value>
  </UAVariable>
  <UAVariable NodeId="ns=2;i=2" BrowseName="2:Table" DataType="i=6" ValueRank="1" ArrayDimensions="3">
    <References><Reference ReferenceType="HasComponent" IsForward="false">ns=2;s=Line</Reference></References>
    <Value><uax:ListOfInt32><uax:Int32>1</uax:Int32><uax:Int32>-2</uax:Int32><uax:Int32>3</uax:Int32></uax:ListOfInt32></Value>
  </UAVariable>
  <UAVariable NodeId="ns=2;i=3" BrowseName="2:Where" DataType="i=17">
    <Value><uax:NodeId><uax:Identifier>ns=2;i=1</uax:Identifier></uax:NodeId></Value>
  </UAVariable>
  <UAMethod NodeId="ns=2;i=7" BrowseName="2:Start"><DisplayName>Start</DisplayName>
    <References><Reference ReferenceType="HasComponent" IsForward="false">ns=2;s=Line</Reference></References></UAMethod>
  <UADataType NodeId="ns=2;i=20" BrowseName="2:Point">
    <References><Reference ReferenceType="HasSubtype" IsForward="false">i=22</Reference></References>
    <Definition Name="2:Point"><Field Name="X" DataType="Double"/><Field Name="Y" DataType="Double"/></Definition>
  </UADataType>
  <UADataType NodeId="ns=2;i=21" BrowseName="2:Solid">
    <References><Reference ReferenceType="HasSubtype" IsForward="false">ns=2;i=20</Reference></References>
    <Definition Name="2:Solid"><Field Name="Z" DataType="Double" IsOptional="true"/></Definition>
  </UADataType>
  <UAObject NodeId="ns=2;i=22" BrowseName="Default Binary">
    <References><Reference ReferenceType="HasEncoding" IsForward="false">ns=2;i=20</Reference></References>
  </UAObject>
  <UADataType NodeId="ns=2;i=23" BrowseName="2:Mode">
    <References><Reference ReferenceType="HasSubtype" IsForward="false">i=29</Reference></References>
    <Definition Name="2:Mode"><Field Name="Off" Value="0"/><Field Name="On" Value="4"/></Definition>
  </UADataType>
</UANodeSet>
"#;

fn served(text: &str) -> (Space, Loaded) {
    let set = NodeSet::parse(Path::new("test.xml"), text).unwrap();
    let mut builder = Builder::new("urn:server", 0);
    standard::load(&mut builder);
    builder.namespace("urn:first");
    let mut loaded = NodeSet::build(&[set], &mut builder).unwrap();
    (builder.finish(), loaded.remove(0))
}

/// The file's namespace 2 is the server's 4, behind its own and one of others.
fn id(id: impl Into<wire::types::Identifier>) -> NodeId {
    NodeId::new(4, id)
}

fn value(space: &Space, of: &NodeId) -> Variant {
    let node = space.node(space.find_id(of).unwrap()).unwrap();
    let encoded = match &node.variable().unwrap().source {
        crate::space::Source::Constant { encoded, .. } => encoded.to_vec(),
        _ => panic!("it can be written"),
    };
    encode::decoded(&encoded).unwrap()
}

fn definition(space: &Space, of: u32) -> ExtensionObject {
    let node = space.node(space.find_id(&id(of)).unwrap()).unwrap();
    let Body::DataType { definition, .. } = &node.body else {
        panic!("no data type");
    };
    match encode::decoded(definition.as_ref().unwrap()).unwrap() {
        Variant::ExtensionObject(object) => object,
        other => panic!("{other:?}"),
    }
}

#[test]
fn nodes_have_the_indices_of_the_server_and_hang_together_both_ways() {
    let (space, loaded) = served(FILE);
    assert_eq!(
        loaded,
        Loaded {
            nodes: 9,
            left_out: Vec::new()
        }
    );
    let line = space.find_id(&id("Line")).unwrap();
    let names = |of, forward| -> Vec<String> {
        let links = space.links(of);
        let links = links.iter().filter(|link| link.forward == forward);
        let nodes = links.map(|link| space.node(link.target).unwrap().browse_name());
        nodes.map(|name| name.name.to_string()).collect()
    };
    let mut below = names(line, true);
    below.sort();
    assert_eq!(below, ["FolderType", "Speed", "Start", "Table"]);
    assert_eq!(names(line, false), ["Objects"]);
    let objects = space.find_id(&ObjectId::ObjectsFolder.into()).unwrap();
    assert!(names(objects, true).contains(&"Line".to_owned()));
    let node = space.node(line).unwrap();
    assert_eq!(node.browse_name().namespace_index, 4);
    assert_eq!(node.display_name().text.as_ref(), "Line & belt");
}

#[test]
fn values_are_those_of_the_file() {
    let (space, _) = served(FILE);
    assert_eq!(value(&space, &id(2u32)), Variant::from(vec![1i32, -2, 3]));
    assert_eq!(value(&space, &id(3u32)), Variant::from(id(1u32)));
}

#[test]
fn definitions_have_the_fields_of_what_they_are_made_from() {
    let (space, _) = served(FILE);
    let point = definition(&space, 20);
    let point = point.inner_as::<StructureDefinition>().unwrap();
    assert_eq!(point.default_encoding_id, id(22u32));
    let solid = definition(&space, 21);
    let solid = solid.inner_as::<StructureDefinition>().unwrap();
    let fields = solid.fields.as_ref().unwrap().iter();
    let fields: Vec<_> = fields.map(|field| field.name.as_ref()).collect();
    assert_eq!(fields, ["X", "Y", "Z"]);
    assert_eq!(solid.base_data_type, id(20u32));
    let mode = definition(&space, 23);
    let mode = mode.inner_as::<EnumDefinition>().unwrap();
    assert_eq!(mode.fields.as_ref().unwrap()[1].value, 4);
}

#[test]
fn what_is_wrong_is_told_with_file_and_line() {
    for (from, to, said) in [
        (
            "<uax:Double>1.5",
            "<uax:Double>fast",
            "\"fast\" is no Double",
        ),
        ("ns=2;i=7</Ref", "ns=7;i=7</Ref", "namespace 7 (want 0 to 2"),
        (
            "\"Organizes\" IsF",
            "\"Organises\" IsF",
            "\"Organises\" is no node",
        ),
        (
            "NodeId=\"ns=2;i=7\"",
            "NodeId=\"i=7\"",
            "i=7 is a node of OPC UA itself",
        ),
        (
            "UAMethod NodeId=\"ns=2;i=7\"",
            "UAMethod Id=\"7\"",
            "UAMethod has no NodeId",
        ),
        (
            "ArrayDimensions=\"3\"",
            "ArrayDimensions=\"x\"",
            "\"x\" are no ArrayDimensions",
        ),
        (
            "<Field Name=\"Off\"",
            "<Field Label=\"Off\"",
            "a Field without a Name",
        ),
        (
            "<Field Name=\"X\"",
            "<Field MaxStringLength=\"-1\" Name=\"X\"",
            "\"-1\" is no MaxStringLength",
        ),
        ("&amp;", "&belt;", "the entity &belt; is not known"),
        (
            "</UANodeSet>",
            "",
            "the file ends in UANodeSet, which begins in line 2",
        ),
    ] {
        let text = FILE.replacen(from, to, 1);
        let before = &FILE[..FILE.find(from).unwrap()];
        let line = before.lines().count();
        let error = NodeSet::parse(Path::new("test.xml"), &text).unwrap_err();
        let told = error.to_string();
        let place = format!("test.xml line {line}: ");
        assert!(
            told.starts_with(&place) || to.is_empty(),
            "{told}, not {place}"
        );
        assert!(told.contains(said), "{told}");
    }
    let error = NodeSet::parse(Path::new("x.xml"), "<html/>").unwrap_err();
    assert!(error.to_string().contains("html is no node set"));
}

#[test]
fn a_model_that_is_needed_has_to_come_before() {
    let folder = tempfile::tempdir().unwrap();
    let needy = FILE.replacen("http://opcfoundation.org/UA/\"/>", "urn:base\"/>", 1);
    let base = FILE.replace("ModelUri=\"urn:test:set\"", "ModelUri=\"urn:base\"");
    let (a, b) = (folder.path().join("a.xml"), folder.path().join("b.xml"));
    std::fs::write(&a, base).unwrap();
    std::fs::write(&b, needy).unwrap();
    let error = NodeSet::read(&[b.clone(), a.clone()]).unwrap_err();
    assert!(
        error.to_string().contains("needs the model urn:base"),
        "{error}"
    );
    assert_eq!(NodeSet::read(&[a, b]).unwrap().len(), 2);
    let error = NodeSet::read(&[folder.path().join("c.xml")]).unwrap_err();
    assert!(error.to_string().starts_with("cannot read"), "{error}");
}

/// The file with types of all kinds, and a variable of this DataType with this Value.
fn with_value(value: &str) -> String {
    let more = format!(
        r#"
  <UADataType NodeId="ns=2;i=40" BrowseName="2:Job">
    <References><Reference ReferenceType="HasSubtype" IsForward="false">i=22</Reference></References>
    <Definition Name="2:Job">
      <Field Name="At" DataType="ns=2;i=20"/><Field Name="Mode" DataType="ns=2;i=23"/>
      <Field Name="Path" DataType="ns=2;i=20" ValueRank="1"/><Field Name="Grid" DataType="i=3" ValueRank="2"/>
      <Field Name="For" DataType="i=290"/><Field Name="Any" DataType="i=24"/><Field Name="Left" DataType="i=12"/>
    </Definition>
  </UADataType>
  <UADataType NodeId="ns=2;i=43" BrowseName="2:Either">
    <References><Reference ReferenceType="HasSubtype" IsForward="false">i=12756</Reference></References>
    <Definition Name="2:Either" IsUnion="true">
      <Field Name="Number" DataType="i=3"/><Field Name="Point" DataType="ns=2;i=20"/>
    </Definition>
  </UADataType>
  <UADataType NodeId="ns=2;i=46" BrowseName="2:Unsaid">
    <References><Reference ReferenceType="HasSubtype" IsForward="false">i=22</Reference></References>
  </UADataType>
  {}{}{}{}{}
  <UAVariable NodeId="ns=2;s=V" BrowseName="2:V" DataType="i=22"><Value>
    {value}</Value></UAVariable>
</UANodeSet>"#,
        encodings(20, 24),
        encodings(21, 26),
        encodings(40, 41),
        encodings(43, 44),
        encodings(46, 47),
    );
    FILE.replace("</UANodeSet>", &more)
}

/// Default XML and, behind it, Default Binary.
fn encodings(of: u32, xml: u32) -> String {
    let one = |name: &str, id: u32| {
        format!(
            r#"<UAObject NodeId="ns=2;i={id}" BrowseName="{name}"><References><Reference
            ReferenceType="HasEncoding" IsForward="false">ns=2;i={of}</Reference></References></UAObject>"#
        )
    };
    one("Default XML", xml) + &one("Default Binary", xml + 1)
}

fn object(type_id: &str, body: &str) -> String {
    format!(
        "<uax:ExtensionObject><uax:TypeId><uax:Identifier>{type_id}</uax:Identifier></uax:TypeId>
        <uax:Body>{body}</uax:Body></uax:ExtensionObject>"
    )
}

/// The id and the bytes of the structure that the variable's value is.
fn structure(type_id: &str, body: &str) -> (NodeId, Vec<u8>) {
    let (space, loaded) = served(&with_value(&object(type_id, body)));
    assert_eq!(loaded.left_out, []);
    let Variant::ExtensionObject(object) = value(&space, &id("V")) else {
        panic!("no structure");
    };
    let body = object.inner_as::<ByteStringBody>().unwrap();
    (
        body.encoding_id().clone(),
        body.raw_body().as_ref().to_vec(),
    )
}

fn doubles(all: &[f64]) -> Vec<u8> {
    all.iter().flat_map(|it| it.to_le_bytes()).collect()
}

// Part 6, 5.2.6 and 5.2.5.
#[test]
fn structures_are_their_fields_one_after_the_other() {
    let job = "<Job><At><X>1</X><Y>2</Y></At><Mode>On_4</Mode>
        <Path><Point><X>3</X></Point><Point><Y>4</Y></Point></Path>
        <Grid><Dimensions><Int32>2</Int32><Int32>3</Int32></Dimensions><Elements>
          <Byte>1</Byte><Byte>2</Byte><Byte>3</Byte><Byte>4</Byte><Byte>5</Byte><Byte>6</Byte></Elements></Grid>
        <For>250</For><Any><uax:Value><uax:UInt16>7</uax:UInt16></uax:Value></Any></Job>";
    let mut wanted = doubles(&[1.0, 2.0]);
    wanted.extend([4, 0, 0, 0]);
    wanted.extend([2, 0, 0, 0]);
    wanted.extend(doubles(&[3.0, 0.0, 0.0, 4.0]));
    wanted.extend([2, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3, 4, 5, 6]);
    wanted.extend(doubles(&[250.0]));
    wanted.extend([5, 7, 0]);
    wanted.extend([0xff; 4]);
    assert_eq!(structure("ns=2;i=41", job), (id(42u32), wanted));
}

// Part 6, 5.2.7.
#[test]
fn a_mask_tells_which_optional_fields_are_there() {
    let mut with = vec![1, 0, 0, 0];
    with.extend(doubles(&[1.0, 2.0, 3.0]));
    let solid = "<Solid><X>1</X><Y>2</Y><Z>3</Z></Solid>";
    assert_eq!(structure("ns=2;i=26", solid), (id(27u32), with));
    let mut without = vec![0; 4];
    without.extend(doubles(&[1.0, 2.0]));
    let solid = "<Solid><X>1</X><Y>2</Y></Solid>";
    assert_eq!(structure("ns=2;i=21", solid), (id(27u32), without));
}

// Part 6, 5.2.8.
#[test]
fn a_union_has_one_field_or_none() {
    let mut point = vec![2, 0, 0, 0];
    point.extend(doubles(&[0.5, 0.0]));
    let either = "<Either><SwitchField>2</SwitchField><Point><X>0.5</X></Point></Either>";
    assert_eq!(structure("ns=2;i=44", either), (id(45u32), point));
    assert_eq!(structure("ns=2;i=44", "<Either/>").1, [0; 4]);
}

#[test]
fn structures_of_the_specification_are_read_by_their_definitions() {
    let range = "<uax:Range><uax:Low>1</uax:Low><uax:High>2</uax:High></uax:Range>";
    let (space, _) = served(&with_value(&object("i=885", range)));
    let Variant::ExtensionObject(object) = value(&space, &id("V")) else {
        panic!("no structure");
    };
    let wanted = Range {
        low: 1.0,
        high: 2.0,
    };
    assert_eq!(object.inner_as::<Range>(), Some(&wanted));
}

#[test]
fn a_value_of_which_too_little_is_known_is_null_and_told_of() {
    for (type_id, body, why) in [
        (
            "ns=2;i=99",
            "<Other/>",
            "\"ns=2;i=99\", the TypeId of Other, is neither",
        ),
        (
            "ns=2;i=47",
            "<Unsaid/>",
            "the data type of Unsaid is made of stands in no file",
        ),
        (
            "ns=2;i=24",
            "<Point><W>1</W></Point>",
            "Point has no field W (want X, Y)",
        ),
        (
            "ns=2;i=23",
            "<Mode>1</Mode>",
            "Mode has no encoding \"Default Binary\"",
        ),
    ] {
        let text = with_value(&object(type_id, body));
        let line = text.lines().position(|line| line.contains(body)).unwrap() + 1;
        let (space, loaded) = served(&text);
        let [told] = loaded.left_out.as_slice() else {
            panic!("{:?}", loaded.left_out);
        };
        assert_eq!((told.node.as_str(), told.line), ("ns=2;s=V", line));
        assert!(told.why.contains(why), "{}", told.why);
        assert_eq!(value(&space, &id("V")), Variant::Empty);
    }
}

#[test]
fn a_type_that_contains_itself_ends() {
    let text = with_value(&object("ns=2;i=24", "<Point/>"));
    let text = text.replace(
        "<Field Name=\"X\" DataType=\"Double\"/>",
        "<Field Name=\"X\" DataType=\"ns=2;i=20\"/><Field Name=\"Q\" DataType=\"ns=2;i=20\"/>",
    );
    let (_, loaded) = served(&text);
    let told = &loaded.left_out[0].why;
    assert!(told.contains("contains itself"), "{told}");
}

#[test]
fn types_below_each_other_end() {
    let one = |id: u32, above: u32| {
        format!(
            r#"<UADataType NodeId="ns=2;i={id}" BrowseName="2:T{id}"><References><Reference
            ReferenceType="HasSubtype" IsForward="false">ns=2;i={above}</Reference></References></UADataType>"#
        )
    };
    let text = with_value(&object("ns=2;i=24", "<Point/>"));
    // Point is made from two types without definitions that are made from each other.
    let text = text.replace(">i=22<", ">ns=2;i=60<");
    let text = text.replace(
        "</UANodeSet>",
        &(one(60, 61) + &one(61, 60) + "</UANodeSet>"),
    );
    let (_, loaded) = served(&text);
    assert_eq!(loaded.left_out, []);
}

#[test]
fn a_matrix_has_dimensions() {
    let value_of = |dimensions: &str| {
        let matrix = format!(
            "<uax:Matrix><uax:Dimensions>{dimensions}</uax:Dimensions><uax:Elements><uax:Int16>1</uax:Int16>
            <uax:Int16>2</uax:Int16></uax:Elements></uax:Matrix>"
        );
        NodeSet::parse(Path::new("test.xml"), &with_value(&matrix))
    };
    assert!(value_of("<uax:UInt32>2</uax:UInt32><uax:UInt32>1</uax:UInt32>").is_ok());
    let error = value_of("<uax:UInt32>2</uax:UInt32><uax:UInt32>2</uax:UInt32>").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("a matrix of [2, 2] with 2 Elements"),
        "{error}"
    );
}
