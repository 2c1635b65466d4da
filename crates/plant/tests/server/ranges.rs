//! Parts of arrays and texts by index range (Part 4, 7.27), of any size.

use plant::Config;
use wire::types::{
    AttributeId, ByteString, DataValue, NodeId, StatusCode, TimestampsToReturn, Variant,
    WriteRequest, WriteValue,
};

use crate::client::{Client, read_value};
use crate::{bench, start, start_plant};

fn read(client: &mut Client, node: &NodeId, range: &str) -> DataValue {
    let node = read_value(node.clone(), AttributeId::Value, range);
    let values = client.read_any(vec![node], TimestampsToReturn::Neither);
    values.unwrap().remove(0)
}

fn write(client: &mut Client, node: &NodeId, range: &str, value: impl Into<Variant>) -> StatusCode {
    let request = WriteRequest {
        nodes_to_write: Some(vec![WriteValue {
            node_id: node.clone(),
            attribute_id: AttributeId::Value as u32,
            index_range: range.parse().unwrap(),
            value: DataValue {
                value: Some(value.into()),
                ..DataValue::default()
            },
        }]),
        ..WriteRequest::default()
    };
    client.call(request).unwrap().results.unwrap().remove(0)
}

#[test]
fn arrays_of_any_size_are_read_and_written_in_part() {
    let server = start(Config::default());
    let mut client = Client::plain(server.url());
    for (node, len) in [(3010, 10u32), (3012, 20_000), (3014, 102_400)] {
        let node = bench(node);
        let bytes = |range: std::ops::Range<u32>| -> Variant {
            range.map(|it| it as u8).collect::<Vec<u8>>().into()
        };
        let whole = client.read(std::slice::from_ref(&node)).remove(0).value;
        assert_eq!(whole, Some(bytes(0..len)));
        for (from, to) in [
            (0, 0),
            (0, 3),
            (2, len - 2),
            (len - 1, len - 1),
            (0, len - 1),
        ] {
            let range = match from == to {
                true => from.to_string(),
                false => format!("{from}:{to}"),
            };
            let part = read(&mut client, &node, &range);
            assert_eq!(part.value, Some(bytes(from..to + 1)), "{range} of {len}");
            let new: Vec<u8> = (from..=to).map(|it| !it as u8).collect();
            let written = write(&mut client, &node, &range, new.clone());
            assert_eq!(written, StatusCode::Good, "{range} of {len}");
            assert_eq!(read(&mut client, &node, &range).value, Some(new.into()));
            let back = write(&mut client, &node, &range, bytes(from..to + 1));
            assert_eq!(back, StatusCode::Good);
        }
        // What is not there is not read, and nothing is written where not all of it has a place.
        let last = format!("{}:{}", len - 2, len + 5);
        let part = read(&mut client, &node, &last).value;
        assert_eq!(part, Some(bytes(len - 2..len)));
        let beyond = read(&mut client, &node, &len.to_string()).status;
        assert_eq!(beyond, Some(StatusCode::BadIndexRangeNoData));
        let written = write(&mut client, &node, &last, vec![0u8; 8]);
        assert_eq!(written, StatusCode::BadIndexRangeNoData);
        let written = write(&mut client, &node, "0:3", vec![0u8; 3]);
        assert_eq!(written, StatusCode::BadIndexRangeDataMismatch);
        let written = write(&mut client, &node, "0:3", vec![0u16; 4]);
        assert_eq!(written, StatusCode::BadTypeMismatch);
        // A ByteString may be written to an array of Byte (Part 4, 5.11.4.2).
        let octets = ByteString::from(vec![0u8, 1]);
        assert_eq!(write(&mut client, &node, "0:1", octets), StatusCode::Good);
        assert_eq!(client.read(&[node]).remove(0).value, Some(bytes(0..len)));
    }
}

#[test]
fn matrices_and_texts_are_read_and_written_in_part() {
    let text = r#"
        name = "ranges"
        [[namespace]]
        uri = "urn:test"
        [[namespace.signals]]
        ids = "i=1"
        name = "Matrix"
        type = "Int32"
        dimensions = [200, 300]
        access = "read-write"
        [[namespace.signals]]
        ids = "i=2"
        name = "Text"
        type = "String"
        access = "read-write"
        [[namespace.signals]]
        ids = "i=3"
        name = "Octets"
        type = "ByteString"
        access = "read-write"
    "#;
    let server = start_plant(text, Config::default());
    let mut client = Client::plain(server.url());
    let node = |id: u32| NodeId::new(2, id);

    let block = read(&mut client, &node(1), "150:151,7:9").value.unwrap();
    let Variant::Array(mut block) = block else {
        panic!("{block:?}");
    };
    assert_eq!(block.dimensions, Some(vec![2, 3]));
    for (n, value) in block.values.iter_mut().enumerate() {
        *value = Variant::Int32(n as i32 - 1000);
    }
    let block = Variant::Array(block);
    let written = write(&mut client, &node(1), "150:151,7:9", block.clone());
    assert_eq!(written, StatusCode::Good);
    let now = read(&mut client, &node(1), "150:151,7:9").value;
    assert_eq!(now, Some(block));
    let one = read(&mut client, &node(1), "151,8").value.unwrap();
    assert!(
        matches!(&one, Variant::Array(it) if it.values == [Variant::Int32(-996)]),
        "{one:?}"
    );
    let flat = read(&mut client, &node(1), "7:9").status;
    assert_eq!(flat, Some(StatusCode::BadIndexRangeNoData));

    let long = "äbcdefghij".repeat(10_000);
    assert_eq!(
        write(&mut client, &node(2), "", long.as_str()),
        StatusCode::Good
    );
    let part = read(&mut client, &node(2), "50000:50002").value;
    assert_eq!(part, Some("äbc".into()));
    assert_eq!(write(&mut client, &node(2), "99999", "z"), StatusCode::Good);
    let end = read(&mut client, &node(2), "99998:99999").value;
    assert_eq!(end, Some("iz".into()));

    let octets = ByteString::from(vec![7u8; 100_000]);
    assert_eq!(write(&mut client, &node(3), "", octets), StatusCode::Good);
    let new = ByteString::from(vec![1u8, 2, 3]);
    let written = write(&mut client, &node(3), "70000:70002", new);
    assert_eq!(written, StatusCode::Good);
    let part = read(&mut client, &node(3), "69999:70003").value;
    assert_eq!(part, Some(ByteString::from(vec![7u8, 1, 2, 3, 7]).into()));
}
