//! Datagrams of PubSub: read, opened, put together of chunks, and written again.

use pubsub::chunk::{Reassembly, ReassemblyLimits};
use pubsub::discovery::Announced;
use pubsub::header::Kind;
use pubsub::raw::{self, RawType};
use pubsub::security::{GroupKeys, KeyRing, Mode, PubSubPolicy};
use pubsub::view::{Encoding, Known};
use pubsub::{PublisherId, Tolerance, View};
use wire::service::Limits;
use wire::template::walk::BuiltInType;

use crate::script::Script;

/// The first byte decides what a reader takes and knows; the rest is a datagram.
pub fn run(data: &[u8]) {
    let mut script = Script::new(data);
    let flags = script.byte();
    let tolerance = match flags & 1 {
        0 => Tolerance::NONE,
        _ => Tolerance {
            promoted_count: flags & 2 != 0,
            ..Tolerance::HARMLESS
        },
    };
    let sizes: &[u16] = match flags & 4 {
        0 => &[],
        _ => &[16, 3, 9],
    };
    let datagram = script.rest();
    read(datagram, tolerance, Known { sizes });
    discovered(datagram, tolerance);
    sealed(datagram, tolerance);
    pieces(datagram, tolerance);
}

/// What is visited is what is built, and what is built is written and read the same.
fn read(datagram: &[u8], tolerance: Tolerance, known: Known<'_>) {
    let Ok(view) = View::parse(datagram, tolerance) else {
        return;
    };
    let Ok(sets) = view.messages(known) else {
        return;
    };
    let mut visited = Some(Vec::new());
    for set in sets {
        let Ok(set) = set else {
            visited = None;
            break;
        };
        assert!(set.body_at() + set.body().len() <= datagram.len());
        described(set.body(), set.body_at());
        let fields = set
            .fields()
            .and_then(|it| it.collect::<Result<Vec<_>, _>>());
        match (&mut visited, fields) {
            (Some(all), Ok(fields)) => {
                for field in &fields {
                    let lies = datagram.get(field.at..field.at + field.encoded.len());
                    assert_eq!(lies, Some(field.encoded));
                }
                all.push((set.header.encoding, fields.len()));
            }
            _ => visited = None,
        }
    }
    let limits = Limits::for_message_size(datagram.len());
    let Ok(message) = view.to_message(known, &limits) else {
        return;
    };
    let visited = visited.unwrap_or_else(|| panic!("built, but not visited"));
    assert_eq!(visited.len(), message.messages.len());
    // Without sizes and ids a reader cannot tell where RawData ends.
    let plain = view.header.kind == Kind::DataSet && !view.header.chunk;
    if !plain || !message.payload_header || message.security.is_some() {
        return;
    }
    let mut out = Vec::new();
    if message.encode(&mut out).is_err() {
        return;
    }
    let again = View::parse(&out, Tolerance::NONE).unwrap();
    let limits = Limits::for_message_size(2 * out.len());
    let again = again.to_message(Known::default(), &limits).unwrap();
    // Times beyond what a DateTime holds become the last ones that it does; from then on nothing changes.
    let mut settled = Vec::new();
    again.encode(&mut settled).unwrap();
    let limits = Limits::for_message_size(2 * settled.len());
    let view = View::parse(&settled, Tolerance::NONE).unwrap();
    let last = view.to_message(Known::default(), &limits).unwrap();
    let mut once_more = Vec::new();
    last.encode(&mut once_more).unwrap();
    assert_eq!(settled, once_more);
    for ((encoding, fields), set) in visited.iter().zip(&again.messages) {
        if let (Encoding::Variant, pubsub::Content::Key(pubsub::Fields::Variant(all))) =
            (encoding, &set.content)
        {
            assert_eq!(*fields, all.len());
        }
    }
}

/// What is read of discovery is written and read the same, and what it takes is bounded by what came.
fn discovered(datagram: &[u8], tolerance: Tolerance) {
    let Ok(view) = View::parse(datagram, tolerance) else {
        return;
    };
    let publisher = PublisherId::UInt16(7);
    let mut out = Vec::new();
    if let Ok(Some(probe)) = view.probe() {
        probe.encode(&publisher, None, &mut out).unwrap();
        let again = View::parse(&out, Tolerance::NONE).unwrap();
        assert_eq!(again.probe().unwrap(), Some(probe));
    }
    if let Ok(Some(told)) = view.announcement() {
        out.clear();
        told.encode(&publisher, None, &mut out).unwrap();
        let again = View::parse(&out, Tolerance::NONE).unwrap();
        let mut once_more = Vec::new();
        let again = again.announcement().unwrap().unwrap();
        again.encode(&publisher, None, &mut once_more).unwrap();
        // Not the values: a NaN is no other value's equal.
        assert_eq!(out, once_more);
        if let Announced::MetaData { metadata, .. } = told.told {
            assert!(metadata.fields.len() <= datagram.len() / 42);
            if let Some(types) = metadata.raw_types() {
                assert_eq!(types.len(), metadata.fields.len());
                raw::fields(&types, datagram, 0).for_each(drop);
            }
        }
    }
}

/// RawData of types that metadata could have.
fn described(body: &[u8], at: usize) {
    let text = |max_string_length| RawType {
        max_string_length,
        ..RawType::scalar(BuiltInType::String)
    };
    let array = |dimensions: &[u32]| RawType {
        dimensions: dimensions.to_vec(),
        ..RawType::scalar(BuiltInType::Int16)
    };
    let types = [
        RawType::scalar(BuiltInType::Float),
        text(6),
        array(&[3]),
        array(&[2, 0]),
        text(0),
        RawType::scalar(BuiltInType::Guid),
    ];
    let mut taken = 0;
    for field in raw::fields(&types, body, at) {
        match field {
            Ok(field) => taken += field.bytes.len(),
            Err(error) => assert!(error.offset <= at + body.len()),
        }
    }
    assert!(taken <= body.len());
}

/// Nothing passes that was not secured with the key, and what is refused stays as it was.
fn sealed(datagram: &[u8], tolerance: Tolerance) {
    let mut ring = KeyRing::new(Some(Mode::Sign), tolerance);
    for (token, policy, len) in [
        (1, PubSubPolicy::Aes128Ctr, 52),
        (2, PubSubPolicy::Aes256Ctr, 68),
    ] {
        ring.insert(token, GroupKeys::new(policy, &vec![7; len]).unwrap());
    }
    let mut bytes = datagram.to_vec();
    match ring.open(&mut bytes) {
        Err(_) => assert_eq!(bytes, datagram),
        Ok(opened) => {
            let view = View::parse_opened(&bytes, opened, tolerance).unwrap();
            assert!(view.header.security.is_some_and(|it| it.signed));
            assert!(view.payload().is_ok());
            let mut again = datagram.to_vec();
            assert!(ring.open(&mut again).is_err(), "taken twice");
        }
    }
}

/// A part of a message, from several senders and twice: only one that is all of it makes a message.
fn pieces(datagram: &[u8], tolerance: Tolerance) {
    let Ok(view) = View::parse(datagram, tolerance) else {
        return;
    };
    if !view.header.chunk {
        return;
    }
    let limits = ReassemblyLimits {
        messages: 3,
        bytes: 200,
    };
    let mut reassembly = Reassembly::new(limits);
    for sender in [0, 1, 0, 2, 3] {
        if let Ok(chunk) = view.chunk()
            && let Some(whole) = reassembly.take(sender, chunk)
        {
            assert_eq!(u32::try_from(whole.len()), Ok(chunk.total));
            assert_eq!(chunk.offset, 0);
        }
    }
}
