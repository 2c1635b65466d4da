//! Plants of files and profiles, read over the wire.

use std::path::Path;
use std::time::{Duration, Instant};

use plant::{Config, Plant, Profile, Server};
use wire::types::{
    AttributeId, ByteString, CallMethodRequest, CallRequest, DataTypeDefinition, DataTypeId,
    NodeId, StatusCode, TimestampsToReturn, VariableId, Variant,
};

use crate::client::{Client, PATIENCE, read_value};

/// A server with a plant that it is to have alone.
fn serve(plant: Plant) -> Server {
    let config = Config {
        profiles: Vec::new(),
        ..Config::default()
    };
    Server::start(plant.config(config)).unwrap()
}

fn profile(name: &str) -> Server {
    serve(Profile::named(name).unwrap().unwrap())
}

fn plant(text: &str) -> Server {
    serve(Plant::parse(text, "test", Path::new("")).unwrap())
}

fn value(client: &mut Client, id: &str) -> Variant {
    let result = client.read(&[id.parse().unwrap()]).remove(0);
    assert!(
        result.status.is_none_or(|status| status.is_good()),
        "{id} {result:?}"
    );
    result.value.unwrap()
}

fn len(value: &Variant) -> usize {
    match value {
        Variant::Array(array) => array.values.len(),
        // Arrays of bytes are told apart from ByteStrings by their encoding only.
        Variant::ByteString(bytes) => bytes.as_ref().len(),
        _ => panic!("{value:?}"),
    }
}

/// Until the value is another one.
fn changes(client: &mut Client, id: &str) -> (Variant, Variant) {
    let first = value(client, id);
    let end = Instant::now() + PATIENCE;
    loop {
        let next = value(client, id);
        if next != first {
            return (first, next);
        }
        assert!(Instant::now() < end, "{id} stays {first:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_thesis_of_2016_finds_its_nodes() {
    let server = profile("tahvanainen2016");
    let mut client = Client::plain(server.url());
    assert!(matches!(
        value(&mut client, "ns=2;s=MyLevel"),
        Variant::Double(_)
    ));
    assert_eq!(len(&value(&mut client, "ns=2;s=ByteArray10")), 10);
    assert_eq!(len(&value(&mut client, "ns=2;s=ByteArray10000")), 10_000);
    let (before, after) = changes(&mut client, "ns=4;s=Counter1");
    let number = |value| match value {
        Variant::Double(number) => number,
        other => panic!("{other:?}"),
    };
    assert!(number(after) > number(before));
}

#[test]
fn the_test_platform_of_2015_finds_its_variables_in_their_sizes() {
    let server = profile("gonzalez2015");
    let mut client = Client::plain(server.url());
    assert_eq!(value(&mut client, "ns=4;s=MAIN.REAL"), Variant::Float(2.5));
    assert_eq!(len(&value(&mut client, "ns=4;s=MAIN.PAGE")), 512);
    assert_eq!(len(&value(&mut client, "ns=4;s=MAIN.SDD")), 20_000);
    assert_eq!(len(&value(&mut client, "ns=4;s=MAIN.IMAGE")), 65_535);
    assert!(matches!(
        value(&mut client, "ns=4;s=MAIN.valueDesc"),
        Variant::String(_)
    ));
}

#[test]
fn the_floats_of_2019_are_renewed_by_a_loop_that_says_how_long_it_takes() {
    let mut plant = Profile::named("burger2019").unwrap().unwrap();
    plant.update_each(Duration::from_millis(10));
    plant.update_threads = 3;
    assert!(plant.resize(100));
    let server = serve(plant);
    let mut client = Client::plain(server.url());
    changes(&mut client, "ns=2;i=1000");
    changes(&mut client, "ns=2;i=1099");
    assert_eq!(
        value(&mut client, "ns=1;s=Metrics.Loop1.Signals"),
        Variant::UInt32(100)
    );
    assert_eq!(
        value(&mut client, "ns=1;s=Metrics.Loop1.Threads"),
        Variant::UInt32(3)
    );
    changes(&mut client, "ns=1;s=Metrics.Loop1.Passes");
    let positive = |value| matches!(value, Variant::Double(span) if span > 0.0);
    assert!(positive(value(&mut client, "ns=1;s=Metrics.Loop1.RunSpan")));
    assert!(positive(value(
        &mut client,
        "ns=1;s=Metrics.Loop1.RunSpanMax"
    )));
    // Each Read of it is as long as the one before, and so is each answer.
    for name in ["ns=1;s=Metrics.BytesReceived", "ns=1;s=Metrics.BytesSent"] {
        let counts = [(); 3].map(|()| match value(&mut client, name) {
            Variant::UInt64(bytes) => bytes,
            other => panic!("{name}: {other:?}"),
        });
        let grown = [counts[1] - counts[0], counts[2] - counts[1]];
        assert_eq!(grown[0], grown[1], "{name}: {counts:?}");
        assert!((50..500).contains(&grown[0]), "{name}: {counts:?}");
    }
    if cfg!(target_os = "linux") {
        let memory = value(&mut client, "ns=1;s=Metrics.Memory");
        assert!(
            matches!(memory, Variant::UInt64(bytes) if bytes > 1 << 20),
            "{memory:?}"
        );
        assert!(positive(value(&mut client, "ns=1;s=Metrics.CPUTime")));
    }
}

#[test]
fn the_integers_of_2021_grow_by_one() {
    let server = profile("morato2021");
    let mut client = Client::plain(server.url());
    assert!(matches!(
        value(&mut client, "ns=2;s=EverySecond"),
        Variant::Int32(_)
    ));
    let (before, after) = changes(&mut client, "ns=2;s=Every30ms");
    let (Variant::Int32(before), Variant::Int32(after)) = (before, after) else {
        panic!();
    };
    assert!(after > before);
}

#[test]
fn sets_of_2010_can_be_made_of_integers_floats_structures_and_arrays() {
    let server = profile("cavalieri2010");
    let mut client = Client::plain(server.url());
    assert!(matches!(
        value(&mut client, "ns=2;i=1999"),
        Variant::Int32(_)
    ));
    assert!(matches!(
        value(&mut client, "ns=2;i=2000"),
        Variant::Float(_)
    ));
    assert_eq!(len(&value(&mut client, "ns=2;i=69536")), 65_536);
    assert!(matches!(
        value(&mut client, "ns=2;i=3099"),
        Variant::ExtensionObject(_)
    ));
}

#[test]
fn tools_of_other_projects_find_their_hundred_integers() {
    let server = profile("compat");
    let mut client = Client::plain(server.url());
    let nodes: Vec<_> = (1001..=1100u32).map(|i| NodeId::new(1, i)).collect();
    for (i, result) in (1001..).zip(client.read(&nodes)) {
        assert_eq!(result.value, Some(Variant::Int32(i)));
    }
}

#[test]
fn a_large_plant_is_found_in_numbered_folders() {
    let mut plant = Profile::named("large").unwrap().unwrap();
    assert!(plant.resize(2500));
    let server = serve(plant);
    let mut client = Client::plain(server.url());
    assert!(matches!(
        value(&mut client, "ns=2;i=1002499"),
        Variant::Double(_)
    ));
    let folder: NodeId = "ns=2;s=Large/2".parse().unwrap();
    let name = read_value(folder, AttributeId::BrowseName, "");
    let name = client.read_any(vec![name], TimestampsToReturn::Neither);
    assert!(name.unwrap()[0].value.is_some());
}

#[test]
fn many_servers_with_the_same_plant_live_beside_each_other() {
    let servers: Vec<_> = (0..5).map(|_| profile("devices")).collect();
    for server in &servers {
        let mut client = Client::plain(server.url());
        assert_eq!(value(&mut client, "ns=2;s=Device.Mode"), Variant::Int32(2));
        // What each says of itself is its own.
        let started = VariableId::Server_ServerStatus_StartTime;
        let uri = client.read(&[started.into()]).remove(0);
        assert!(uri.value.is_some());
    }
    let mut ports: Vec<_> = servers
        .iter()
        .map(|server| server.address().port())
        .collect();
    ports.dedup();
    assert_eq!(ports.len(), 5);
}

/// What a client that never heard of a structure has to do to read it.
#[test]
fn a_structure_is_told_by_its_definition_and_decodes_by_it() {
    let server = plant(
        r#"
[[namespace]]
uri = "urn:x"
[[namespace.enumeration]]
name = "Mode"
id = "i=10"
values = { Off = 0, On = 5 }
[[namespace.structure]]
name = "Reading"
id = "i=20"
encoding = "i=21"
fields = [
  { name = "value", type = "Double" },
  { name = "unit", type = "String" },
  { name = "mode", type = "Mode" },
  { name = "samples", type = "Int16", length = 3 },
]
[[namespace.signals]]
ids = "s=Reading"
type = "Reading"
value = { value = 1.5, unit = "mm", mode = "On", samples = [7, 8, 9] }
"#,
    );
    let mut client = Client::plain(server.url());
    let definition = |client: &mut Client, id: u32| {
        let id = read_value(NodeId::new(2, id), AttributeId::DataTypeDefinition, "");
        let result = client
            .read_any(vec![id], TimestampsToReturn::Neither)
            .unwrap();
        match result.into_iter().next().unwrap().value {
            Some(Variant::ExtensionObject(object)) => object,
            other => panic!("{other:?}"),
        }
    };
    let structure = definition(&mut client, 20);
    let structure = DataTypeDefinition::from_extension_object(structure).unwrap();
    let DataTypeDefinition::Structure(structure) = structure else {
        panic!()
    };
    assert_eq!(structure.default_encoding_id, NodeId::new(2, 21u32));
    let fields = structure.fields.unwrap();
    let types: Vec<_> = fields.iter().map(|field| field.data_type.clone()).collect();
    let expected: [NodeId; 4] = [
        DataTypeId::Double.into(),
        DataTypeId::String.into(),
        NodeId::new(2, 10u32),
        DataTypeId::Int16.into(),
    ];
    assert_eq!(types, expected);
    assert_eq!(fields[3].value_rank, 1);

    let id = read_value("ns=2;s=Reading".parse().unwrap(), AttributeId::Value, "");
    let raw = client.send(wire::types::ReadRequest {
        nodes_to_read: Some(vec![id]),
        timestamps_to_return: TimestampsToReturn::Neither,
        ..Default::default()
    });
    let body = client.raw_answer(raw);
    // Double 1.5, "mm", 5, three Int16.
    let mut expected = 1.5f64.to_le_bytes().to_vec();
    expected.extend_from_slice(&[
        2, 0, 0, 0, b'm', b'm', 5, 0, 0, 0, 3, 0, 0, 0, 7, 0, 8, 0, 9, 0,
    ]);
    let mut object = vec![1, 2, 21, 0, 1, expected.len() as u8, 0, 0, 0];
    object.append(&mut expected);
    assert!(
        body.windows(object.len()).any(|window| window == object),
        "{body:?}"
    );
}

#[test]
fn values_of_all_types_are_what_the_file_says() {
    let server = plant(
        r#"
[[namespace]]
uri = "urn:x"
[[namespace.signals]]
ids = "s=Matrix"
type = "Int32"
dimensions = [2, 3]
value = [[1, 2, 3], [4, 5, 6]]
[[namespace.signals]]
ids = "s=Texts"
type = "String"
dimensions = [2]
value = ["a", "b"]
[[namespace.signals]]
ids = "s=Bytes"
type = "ByteString"
value = "AAEC"
[[namespace.signals]]
ids = "s=Counts"
type = "String"
pattern = "counter"
update = "10ms"
[[namespace.signals]]
ids = "s=Window"
type = "UInt16"
dimensions = [4]
pattern = { counter = { start = 100 } }
update = "10ms"
stored = true
"#,
    );
    let mut client = Client::plain(server.url());
    let Variant::Array(matrix) = value(&mut client, "ns=2;s=Matrix") else {
        panic!()
    };
    assert_eq!(matrix.dimensions, Some(vec![2, 3]));
    assert_eq!(
        matrix.values,
        (1..=6).map(Variant::Int32).collect::<Vec<_>>()
    );
    assert_eq!(
        value(&mut client, "ns=2;s=Texts"),
        Variant::from(vec!["a", "b"])
    );
    assert_eq!(
        value(&mut client, "ns=2;s=Bytes"),
        Variant::from(ByteString::from(vec![0u8, 1, 2]))
    );
    changes(&mut client, "ns=2;s=Counts");
    let (_, window) = changes(&mut client, "ns=2;s=Window");
    let Variant::Array(window) = window else {
        panic!()
    };
    let numbers: Vec<u16> = window
        .values
        .iter()
        .map(|value| match value {
            Variant::UInt16(number) => *number,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(
        numbers.windows(2).all(|pair| pair[1] == pair[0] + 1),
        "{numbers:?}"
    );
    assert!(numbers[0] >= 100);
}

#[test]
fn methods_echo_and_add_up_what_they_are_given() {
    let server = plant(
        r#"
[[namespace]]
uri = "urn:x"
[[namespace.method]]
name = "add"
does = "sum"
arguments = [{ name = "a", type = "Double" }, { name = "b", type = "Double" }]
[[namespace.method]]
name = "back"
arguments = [{ name = "text", type = "String" }, { name = "list", type = "Byte", length = 2 }]
"#,
    );
    let mut client = Client::plain(server.url());
    let mut call = |method: &str, arguments: Vec<Variant>| {
        let response = client.call(CallRequest {
            methods_to_call: Some(vec![CallMethodRequest {
                object_id: "ns=2;s=Methods".parse().unwrap(),
                method_id: NodeId::new(2, method),
                input_arguments: Some(arguments),
            }]),
            ..Default::default()
        });
        response.unwrap().results.unwrap().remove(0)
    };
    let sum = call("add", vec![1.5.into(), 2.0.into()]);
    assert_eq!(sum.output_arguments, Some(vec![Variant::Double(3.5)]));
    let wrong = call("add", vec![1.5.into(), 2i32.into()]);
    assert_eq!(wrong.status_code, StatusCode::BadInvalidArgument);
    assert_eq!(
        wrong.input_argument_results,
        Some(vec![StatusCode::Good, StatusCode::BadTypeMismatch])
    );
    let given = vec![Variant::from("x"), Variant::from(vec![1u8, 2])];
    assert_eq!(call("back", given.clone()).output_arguments, Some(given));
    assert_eq!(
        call("back", vec![]).status_code,
        StatusCode::BadArgumentsMissing
    );
}

#[test]
fn an_analog_item_says_its_range_and_unit() {
    let server = profile("devices");
    let mut client = Client::plain(server.url());
    let range = value(&mut client, "ns=2;s=Device.Setpoint.EURange");
    let Variant::ExtensionObject(range) = range else {
        panic!()
    };
    let range = range.inner_as::<wire::types::Range>().unwrap();
    assert_eq!((range.low, range.high), (0.0, 100.0));
}

#[test]
fn what_an_update_loop_writes_stands_in_the_ground_truth() {
    let server = plant(
        r#"
        [[namespace]]
        uri = "urn:test"
        [[namespace.signals]]
        ids = "i=1.."
        count = 5
        type = "Double"
        pattern = "counter"
        update = "10ms"
        stored = true
        "#,
    );
    let end = Instant::now() + PATIENCE;
    loop {
        let written = server.ground_truth().updates.stored;
        assert_eq!(written % 5, 0);
        if written >= 15 {
            return;
        }
        assert!(Instant::now() < end, "{written} updates");
        std::thread::sleep(Duration::from_millis(5));
    }
}
