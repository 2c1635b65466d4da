//! Messages of one writer: visited together or singly, they say the same.

use proptest::collection::vec;
use proptest::prelude::*;
use pubsub::layout::Layout;
use pubsub::raw::{self, RawType};
use pubsub::reader::{Part, Reader};
use pubsub::view::{FieldValue, Known};
use pubsub::{Changes, Content, DecodeError, Fields, PublisherId, Tolerance, View};
use wire::template::walk::{BuiltInType as T, RawDataValue};
use wire::types::{DataValue, DateTime, StatusCode, Variant};

use crate::any as any_value;

type Seen = Vec<(u16, Vec<u8>)>;

/// Index and bytes of each value: by a reader, and one after another.
fn read(wire: &[u8], reader: &mut Reader, runs: &mut usize) -> Result<Seen, DecodeError> {
    let mut seen = Vec::new();
    for set in View::parse(wire, Tolerance::HARMLESS)?.messages(Known::default())? {
        let before = seen.len();
        let count = reader.visit(&set?, |part| match part {
            Part::Run(run) => {
                *runs += 1;
                for (n, (value, encoded)) in run.values().zip(run.encoded()).enumerate() {
                    assert!(encoded.len() >= value.len());
                    seen.push((run.first + n as u16, value.to_vec()));
                }
            }
            Part::Field(field) => seen.push((field.index, payload(field.value))),
            Part::Raw(index, field) => seen.push((index, field.bytes.to_vec())),
        })?;
        assert_eq!(count, seen.len() - before);
    }
    Ok(seen)
}

fn payload(value: FieldValue<'_>) -> Vec<u8> {
    let value = value.variant();
    value.map_or(Vec::new(), |it| it.payload().to_vec())
}

fn one_by_one(wire: &[u8]) -> Result<Seen, DecodeError> {
    let mut seen = Vec::new();
    for set in View::parse(wire, Tolerance::HARMLESS)?.messages(Known::default())? {
        for field in set?.fields()? {
            let field = field?;
            seen.push((field.index, payload(field.value)));
        }
    }
    Ok(seen)
}

fn encoded(content: Content) -> Vec<u8> {
    let message = Layout::Dynamic.message(PublisherId::Byte(1), 1, 1, [(1, content)]);
    let mut wire = Vec::new();
    message.encode(&mut wire).unwrap();
    wire
}

fn with_time(value: Variant) -> DataValue {
    DataValue {
        value: Some(value),
        source_timestamp: Some(DateTime::from(7)),
        ..DataValue::default()
    }
}

#[test]
fn scalars_of_one_type_come_together_from_the_second_message_on() {
    let values: Vec<_> = (0..50u16).map(|it| Variant::Float(it.into())).collect();
    let data_values = values.iter().cloned().map(with_time).collect();
    for fields in [Fields::Variant(values), Fields::DataValue(data_values)] {
        let wire = encoded(Content::Key(fields));
        let (mut reader, mut runs) = (Reader::default(), 0);
        let first = read(&wire, &mut reader, &mut runs).unwrap();
        assert_eq!((first.len(), runs), (50, 0));
        assert_eq!(first[49], (49, 49f32.to_le_bytes().to_vec()));
        assert_eq!(read(&wire, &mut reader, &mut runs).unwrap(), first);
        assert_eq!(runs, 1);
    }
}

#[test]
fn a_message_that_looks_otherwise_is_read_as_it_is() {
    let floats = |n| vec![Variant::Float(1.0); n];
    let mut other = floats(6);
    other[4] = Variant::from("six");
    let mut bad = vec![with_time(Variant::Float(2.0)); 6];
    bad[2].status = Some(StatusCode::BadOutOfService);
    let messages = [
        Content::Key(Fields::Variant(floats(6))),
        Content::Key(Fields::Variant(floats(6))),
        Content::Key(Fields::Variant(other.clone())),
        Content::Key(Fields::Variant(other)),
        Content::Key(Fields::Variant(vec![Variant::Int32(7); 6])),
        Content::Key(Fields::DataValue(bad)),
        Content::Delta(Changes::Variant(vec![(3, Variant::Float(9.0))])),
        Content::Event(floats(2)),
        Content::KeepAlive,
        Content::Invalid,
        Content::Key(Fields::Variant(floats(6))),
    ];
    let (mut reader, mut runs) = (Reader::default(), 0);
    for content in messages {
        let wire = encoded(content.clone());
        let seen = read(&wire, &mut reader, &mut runs).unwrap();
        assert_eq!(seen, one_by_one(&wire).unwrap(), "{content:?}");
    }
    // The second message, and both sides of the string in the fourth.
    assert_eq!(runs, 3);
}

#[test]
fn a_data_value_of_a_run_keeps_its_status_and_times() {
    let bad = DataValue {
        status: Some(StatusCode::BadOutOfService),
        ..with_time(Variant::Float(2.0))
    };
    let wire = encoded(Content::Key(Fields::DataValue(vec![bad; 3])));
    let mut reader = Reader::default();
    read(&wire, &mut reader, &mut 0).unwrap();
    let view = View::parse(&wire, Tolerance::NONE).unwrap();
    let set = view.messages(Known::default()).unwrap().next().unwrap();
    let mut seen = 0;
    let visit = |part: Part<'_>| {
        let Part::Run(run) = part else { return };
        for it in run.encoded() {
            let (value, rest) = RawDataValue::read(it).unwrap();
            assert!(rest.is_empty());
            assert_eq!(value.status(), StatusCode::BadOutOfService);
            assert_eq!(value.source_timestamp(), Some(7));
            seen += 1;
        }
    };
    reader.visit(&set.unwrap(), visit).unwrap();
    assert_eq!(seen, 3);
}

#[test]
fn raw_data_is_read_by_its_types_and_nothing_without_them() {
    let text = RawType {
        max_string_length: 4,
        ..RawType::scalar(T::String)
    };
    let mut types = vec![RawType::scalar(T::Float); 3];
    types.push(text);
    types.push(RawType::scalar(T::UInt16));
    let mut values = vec![Variant::Float(0.5); 3];
    values.extend([Variant::from("ab"), Variant::UInt16(9)]);
    let mut bytes = Vec::new();
    raw::encode(&types, &values, &mut bytes).unwrap();
    let wire = encoded(Content::Key(Fields::Raw(bytes)));
    let (mut reader, mut runs) = (Reader::with_types(&types), 0);
    let seen = read(&wire, &mut reader, &mut runs).unwrap();
    assert_eq!(runs, 2);
    let fields = raw::fields(&types, &wire[wire.len() - 22..], 0);
    let singly: Vec<_> = fields.map(|it| it.unwrap().bytes.to_vec()).collect();
    assert_eq!(
        seen,
        (0..).zip(singly).collect::<Vec<(u16, Vec<u8>)>>(),
        "{wire:?}"
    );
    assert_eq!(read(&wire, &mut Reader::default(), &mut 0).unwrap(), []);
    let mut cut = wire;
    cut.pop();
    let error = read(&cut, &mut reader, &mut runs).unwrap_err();
    assert_eq!(error.offset, cut.len() - 1, "{error}");
}

fn fields() -> impl Strategy<Value = Content> {
    let scalars = prop_oneof![
        Just(Variant::Boolean(true)),
        any::<f32>().prop_map(Variant::Float),
        any::<u16>().prop_map(Variant::UInt16),
        any_value::variant(),
    ];
    let rows = vec((scalars, 1usize..5), 0..6).prop_map(|rows| {
        let all = rows.into_iter();
        let all = all.flat_map(|(value, n)| std::iter::repeat_n(value, n));
        all.collect::<Vec<_>>()
    });
    (rows, any::<bool>()).prop_map(|(values, with_times)| {
        Content::Key(match with_times {
            false => Fields::Variant(values),
            true => Fields::DataValue(values.into_iter().map(with_time).collect()),
        })
    })
}

proptest! {
    #[test]
    fn together_and_singly_say_the_same(contents in vec(fields(), 1..6)) {
        let mut reader = Reader::default();
        for content in contents {
            let wire = encoded(content);
            for _ in 0..2 {
                let seen = read(&wire, &mut reader, &mut 0);
                prop_assert_eq!(&seen, &one_by_one(&wire));
            }
        }
    }

    #[test]
    fn bytes_that_were_changed_are_read_as_they_are(content in fields(), at in any::<prop::sample::Index>(), to in any::<u8>(), cut in 0usize..4) {
        let wire = encoded(content);
        let mut reader = Reader::default();
        let _ = read(&wire, &mut reader, &mut 0);
        let mut other = wire.clone();
        let at = at.index(other.len());
        other[at] = to;
        other.truncate(wire.len().saturating_sub(cut));
        let seen = read(&other, &mut reader, &mut 0);
        match one_by_one(&other) {
            Ok(singly) => prop_assert_eq!(seen, Ok(singly)),
            Err(_) => prop_assert!(seen.is_err()),
        }
    }
}
