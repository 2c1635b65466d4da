//! What reading a DataSetMessage of a hundred Floats costs, from the bytes of its datagram to their sum.
//!
//! A path is `raw`, `variant` or `value`, by what the message before looked like; with `-singly`, field by field.

use std::hint::black_box;

use pubsub::layout::Layout;
use pubsub::raw::{self, RawType};
use pubsub::reader::{Part, Reader};
use pubsub::view::Known;
use pubsub::{Content, DecodeError, Fields, NetworkMessage, PublisherId, Tolerance, View};
use wire::template::walk::BuiltInType;
use wire::types::{DataValue, DateTime, Variant};

const FIELDS: usize = 100;

fn message(encoding: &str) -> NetworkMessage {
    let value = DataValue {
        value: Some(Variant::Float(1.0)),
        source_timestamp: Some(DateTime::from(1)),
        ..DataValue::default()
    };
    let fields = match encoding {
        "raw" => Fields::Raw(1f32.to_le_bytes().repeat(FIELDS)),
        "variant" => Fields::Variant(vec![Variant::Float(1.0); FIELDS]),
        _ => Fields::DataValue(vec![value; FIELDS]),
    };
    let sets = [(1, Content::Key(fields))];
    Layout::Dynamic.message(PublisherId::UInt64(1), 1, 1, sets)
}

fn add(sum: &mut f32, bytes: &[u8]) {
    if let Some(bytes) = bytes.first_chunk() {
        *sum += f32::from_le_bytes(*bytes);
    }
}

/// By what the message before looked like.
fn together(wire: &[u8], reader: &mut Reader) -> Result<f32, DecodeError> {
    let mut sum = 0.0;
    for set in View::parse(wire, Tolerance::HARMLESS)?.messages(Known::default())? {
        reader.visit(&set?, |part| match part {
            Part::Run(run) => {
                run.each(|it| sum += f32::from_le_bytes(it));
            }
            Part::Field(field) => {
                let value = field.value.variant();
                add(&mut sum, value.map_or(&[], |it| it.payload()));
            }
            Part::Raw(_, field) => add(&mut sum, field.bytes),
        })?;
    }
    Ok(sum)
}

/// Field by field.
fn singly(wire: &[u8], types: &[RawType]) -> Result<f32, DecodeError> {
    let mut sum = 0.0;
    for set in View::parse(wire, Tolerance::HARMLESS)?.messages(Known::default())? {
        let set = set?;
        for field in set.fields()? {
            let value = field?.value.variant();
            add(&mut sum, value.map_or(&[], |it| it.payload()));
        }
        if set.header.encoding == pubsub::view::Encoding::Raw {
            for field in raw::fields(types, set.body(), set.body_at()) {
                add(&mut sum, field?.bytes);
            }
        }
    }
    Ok(sum)
}

/// Reads the message so often.
pub fn run(path: &str, rounds: u32) {
    let (encoding, how) = path.split_once('-').unwrap_or((path, ""));
    let mut wire = Vec::new();
    message(encoding).encode(&mut wire).expect("it is encoded");
    let types = vec![RawType::scalar(BuiltInType::Float); FIELDS];
    let mut reader = Reader::with_types(&types);
    for _ in 0..rounds {
        let wire = black_box(wire.as_slice());
        let sum = match how {
            "singly" => singly(wire, &types),
            _ => together(wire, &mut reader),
        };
        assert_eq!(sum, Ok(FIELDS as f32));
    }
}
