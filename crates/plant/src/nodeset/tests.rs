use std::path::Path;

use wire::types::{EnumDefinition, ObjectId, StructureDefinition};

use super::*;
use crate::space::{Body, Space, encode, standard};
use wire::types::{ExtensionObject, Variant};

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
    let loaded = NodeSet::build(&[set], &mut builder).unwrap();
    (builder.finish(), loaded)
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
            left_out: 0
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
