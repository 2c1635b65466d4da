//! A message encoded once and patched is the message encoded anew.

use pubsub::layout::Layout;
use pubsub::raw::RawType;
use pubsub::security::{GroupKeys, KeyRing, Mode, PubSubPolicy, Sealer};
use pubsub::template::{NoField, Template, TemplateError};
use pubsub::{Changes, Content, Fields, NetworkMessage, PublisherId, Tolerance};
use wire::template::walk::BuiltInType;
use wire::types::{DataValue, DateTime, Variant};

const FIELDS: usize = 3;

fn content(encoding: usize, value: f32, now: i64) -> Content {
    let values = (0..FIELDS).map(|n| Variant::Float(value + n as f32));
    Content::Key(match encoding {
        0 => Fields::Variant(values.collect()),
        1 => Fields::Raw(
            (0..FIELDS)
                .flat_map(|n| (value + n as f32).to_le_bytes())
                .collect(),
        ),
        _ => Fields::DataValue(
            values
                .map(|it| DataValue {
                    value: Some(it),
                    status: Some(0x4000_0000u32.into()),
                    source_timestamp: Some(DateTime::from(now)),
                    ..DataValue::default()
                })
                .collect(),
        ),
    })
}

fn message(layout: Layout, encoding: usize, value: f32, now: i64) -> NetworkMessage {
    let sets = (1..=2).map(|writer| (writer, content(encoding, value, now)));
    layout.message(PublisherId::UInt64(9), 4, 77, sets)
}

/// As the encoder writes it, with the counters and times of a cycle.
fn anew(layout: Layout, encoding: usize, value: f32, now: i64, cycle: u16) -> NetworkMessage {
    let mut message = message(layout, encoding, value, now);
    if let Some(group) = &mut message.group {
        group.sequence = Some(cycle);
    }
    for set in &mut message.messages {
        set.sequence = Some(cycle);
        set.timestamp = set.timestamp.map(|_| now);
    }
    message
}

#[test]
fn each_cycle_is_what_the_encoder_would_write() {
    let types = vec![RawType::scalar(BuiltInType::Float); FIELDS];
    for layout in Layout::ALL {
        for encoding in 0..3 {
            let first = message(layout, encoding, 0.0, 1);
            let mut template = Template::new(&first, &[&types, &types], None).unwrap();
            assert_eq!(template.fields(1), FIELDS);
            let mut out = Vec::new();
            for cycle in 0..3u16 {
                let now = 130_000_000_000_000_000 + i64::from(cycle);
                let value = f32::from(cycle) * 10.0;
                template
                    .set_all(0, |n| (value + n as f32).to_le_bytes())
                    .unwrap();
                for field in 0..FIELDS {
                    let bytes = (value + field as f32).to_le_bytes();
                    template.set(1, field, &bytes).unwrap();
                }
                assert!(template.write(now, &mut out));
                assert_eq!(out.len(), template.len());
                let mut want = Vec::new();
                anew(layout, encoding, value, now, cycle)
                    .encode(&mut want)
                    .unwrap();
                assert_eq!(out, want, "{layout} {encoding}, cycle {cycle}");
            }
        }
    }
}

#[test]
fn a_secured_template_opens_to_what_was_set() {
    let policy = PubSubPolicy::Aes256Ctr;
    let keys = || GroupKeys::new(policy, &[3; 68]).unwrap();
    let sealer = Sealer::new(keys(), 5, Mode::SignAndEncrypt, [7; 4]);
    let layout = Layout::PeriodicFixed;
    let first = message(layout, 0, 0.0, 1);
    let mut template = Template::new(&first, &[], Some(sealer)).unwrap();
    let mut ring = KeyRing::new(Some(Mode::SignAndEncrypt), Tolerance::NONE);
    ring.insert(5, keys());
    let mut out = Vec::new();
    for cycle in 0..3u16 {
        template.set_all(0, |_| 1f32.to_le_bytes()).unwrap();
        template.set_all(1, |_| 2f32.to_le_bytes()).unwrap();
        assert!(template.write(0, &mut out));
        assert_eq!(out.len(), template.len());
        let opened = ring.open(&mut out).unwrap();
        let view = pubsub::View::parse_opened(&out, opened, Tolerance::NONE).unwrap();
        let sets = view.messages(pubsub::view::Known::default()).unwrap();
        for (n, set) in sets.enumerate() {
            let set = set.unwrap();
            assert_eq!(set.header.sequence, Some(cycle));
            for field in set.fields().unwrap() {
                let value = field.unwrap().value.variant().unwrap();
                assert_eq!(value.payload(), (n as f32 + 1.0).to_le_bytes());
            }
        }
    }
}

#[test]
fn what_has_no_fixed_place_is_refused() {
    let of = |content| {
        let id = PublisherId::Byte(1);
        let message = Layout::Dynamic.message(id, 1, 1, [(1, content)]);
        Template::new(&message, &[], None).map(drop).unwrap_err()
    };
    let text = Content::Key(Fields::Variant(vec![1u8.into(), Variant::from("abc")]));
    assert_eq!(of(text), TemplateError::Varies { set: 0, field: 1 });
    let array = Content::Key(Fields::Variant(vec![Variant::from(vec![1u8])]));
    assert_eq!(of(array), TemplateError::Varies { set: 0, field: 0 });
    let raw = Content::Key(Fields::Raw(vec![1]));
    assert_eq!(of(raw), TemplateError::NoTypes(0));
    let delta = Content::Delta(Changes::Variant(Vec::new()));
    assert_eq!(of(delta), TemplateError::NoKeyFrame(0));
}

#[test]
fn a_value_of_another_length_is_refused() {
    let mut template = Template::new(&message(Layout::Dynamic, 0, 0.0, 1), &[], None).unwrap();
    let wrong = |set, field, len| Err(NoField { set, field, len });
    assert_eq!(template.set(0, 0, &[0; 8]), wrong(0, 0, 8));
    assert_eq!(template.set(0, FIELDS, &[0; 4]), wrong(0, FIELDS, 4));
    assert_eq!(template.set(2, 0, &[0; 4]), wrong(2, 0, 4));
    assert_eq!(template.set_all(1, |_| [0; 2]), wrong(1, 0, 2));
}

/// Three fields of which the second has a time, so that the third is farther from it than it is from the first.
#[test]
fn fields_that_do_not_lie_alike_are_set_as_those_that_do() {
    let value = |number, stamped: bool| DataValue {
        value: Some(Variant::Float(number)),
        source_timestamp: stamped.then(|| DateTime::from(5)),
        ..DataValue::default()
    };
    let message = |numbers: [f32; 3]| {
        let [a, b, c] = numbers;
        let fields = vec![value(a, false), value(b, true), value(c, false)];
        let sets = [(1, Content::Key(Fields::DataValue(fields)))];
        Layout::Dynamic.message(PublisherId::UInt64(9), 4, 77, sets)
    };
    let mut template = Template::new(&message([0.0; 3]), &[], None).unwrap();
    let numbers = [1.5f32, 2.5, 3.5];
    template.set_all(0, |n| numbers[n].to_le_bytes()).unwrap();
    let (mut out, mut want) = (Vec::new(), Vec::new());
    assert!(template.write(5, &mut out));
    let mut anew = message(numbers);
    anew.messages[0].timestamp = Some(5);
    anew.encode(&mut want).unwrap();
    assert_eq!(out, want);
    let wrong = template.set_all(0, |_| [0; 8]).unwrap_err();
    assert_eq!((wrong.field, wrong.len), (0, 8));
}
