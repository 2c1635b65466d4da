//! RawData, which metadata describes.

use proptest::collection::vec;
use proptest::prelude::*;
use pubsub::raw::{self, RawType};
use wire::template::walk::BuiltInType as T;
use wire::types::{Array, UAString, Variant, VariantScalarTypeId};

use crate::bytes;

fn text(most: u32) -> RawType {
    RawType {
        max_string_length: most,
        ..RawType::scalar(T::String)
    }
}

fn array(kind: T, dimensions: &[u32]) -> RawType {
    RawType {
        dimensions: dimensions.to_vec(),
        ..RawType::scalar(kind)
    }
}

#[test]
fn fields_stand_back_to_back_and_are_filled_up() {
    let types = [
        RawType::scalar(T::Boolean),
        text(6),
        array(T::UInt16, &[3]),
        array(T::Byte, &[2, 2]),
        RawType::scalar(T::Float),
    ];
    let matrix = Array::new_multi(
        VariantScalarTypeId::Byte,
        (1..=4u8).map(Variant::Byte).collect::<Vec<_>>(),
        vec![2u32, 2],
    );
    let values = [
        Variant::Boolean(true),
        Variant::from("abc"),
        Variant::from(vec![5u16, 6]),
        Variant::Array(Box::new(matrix.unwrap())),
        Variant::Float(1.0),
    ];
    let mut out = Vec::new();
    raw::encode(&types, &values, &mut out).unwrap();
    let want = bytes(
        "01  03000000 616263 000000  02000000 0500 0600 0000  02000000 02000000 01020304  0000803f",
    );
    assert_eq!(out, want);
    let sizes: usize = types.iter().map(|it| it.size().unwrap()).sum();
    assert_eq!(sizes, out.len());
    let fields: Vec<_> = raw::fields(&types, &out, 0).map(Result::unwrap).collect();
    assert_eq!(fields[1].bytes, bytes("03000000 616263"));
    assert_eq!(
        (fields[2].array_len, fields[2].bytes),
        (Some(2), &[5, 0, 6, 0][..])
    );
    assert_eq!(
        (fields[3].array_len, fields[3].bytes),
        (Some(4), &[1, 2, 3, 4][..])
    );
    assert_eq!(fields[4].bytes, 1f32.to_le_bytes());
}

#[test]
fn what_does_not_fit_its_metadata_is_refused() {
    let refused = [
        (text(2), Variant::from("abc")),
        (RawType::scalar(T::Float), Variant::Double(1.0)),
        (RawType::scalar(T::UInt16), Variant::from(vec![5u16])),
        (array(T::UInt16, &[1]), Variant::from(vec![5u16, 6])),
        (array(T::UInt16, &[2]), Variant::UInt16(1)),
        (RawType::scalar(T::NodeId), Variant::UInt16(1)),
    ];
    for (of, value) in refused {
        let mut out = vec![9];
        let types = [of];
        let error = raw::encode(&types, std::slice::from_ref(&value), &mut out);
        assert!(error.is_err(), "{types:?} {value:?}");
        assert_eq!(out, [9]);
    }
    // The same from the wire.
    for (of, hex) in [
        (text(2), "03000000 616263"),
        (array(T::UInt16, &[1]), "02000000 0500 0600"),
        (array(T::UInt16, &[0]), "ffffff7f 0500"),
        (array(T::Double, &[0, 0]), "ffffff7f ffffff7f 0500"),
        (RawType::scalar(T::QualifiedName), "0000 00000000"),
    ] {
        let wire = bytes(hex);
        let types = [of];
        let mut fields = raw::fields(&types, &wire, 40);
        assert_eq!(fields.next().unwrap().unwrap_err().offset, 40, "{types:?}");
        assert!(fields.next().is_none());
    }
}

proptest! {
    #[test]
    fn any_bytes_are_visited_within_their_length(wire in vec(any::<u8>(), 0..60), most in 0u32..9, dimension in 0u32..9) {
        let types = [
            RawType::scalar(T::UInt16),
            text(most),
            array(T::Byte, &[dimension]),
            RawType { max_string_length: most, ..array(T::String, &[dimension, 2]) },
        ];
        for field in raw::fields(&types, &wire, 0).flatten() {
            prop_assert!(field.bytes.len() <= wire.len());
        }
    }

    #[test]
    fn text_and_numbers_come_back(words in vec("[a-zß]{0,8}", 1..4), numbers in vec(any::<i64>(), 0..6)) {
        let types = [
            RawType { max_string_length: 16, ..array(T::String, &[4]) },
            array(T::Int64, &[0]),
        ];
        let strings: Vec<UAString> = words.iter().map(|it| UAString::from(it.as_str())).collect();
        let values = [Variant::from(strings), Variant::from(numbers.clone())];
        let mut out = Vec::new();
        raw::encode(&types, &values, &mut out).unwrap();
        prop_assert_eq!(out.len(), types[0].size().unwrap() + 4 + 8 * numbers.len());
        let fields: Vec<_> = raw::fields(&types, &out, 0).map(Result::unwrap).collect();
        prop_assert_eq!(fields[0].array_len, Some(words.len()));
        let back: Vec<i64> = fields[1].bytes.as_chunks().0.iter().map(|it| i64::from_le_bytes(*it)).collect();
        prop_assert_eq!(back, numbers);
    }
}
