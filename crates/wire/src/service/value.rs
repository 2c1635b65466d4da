//! Single values, for messages that are none of a service: the fields of a DataSet.

use super::codec::{self, DecodeError, EncodeError};
use super::shape::{Kind, Limits};
use crate::types::{DataValue, Variant};

/// Decodes the Variant at the beginning of `bytes`, within the limits. Bytes after its end are ignored.
///
/// # Errors
/// What was wrong and where.
pub fn decode_variant(bytes: &[u8], limits: &Limits) -> Result<Variant, DecodeError> {
    codec::decode(Kind::Variant, bytes, 0, limits)
}

/// Decodes the DataValue at the beginning of `bytes`, within the limits. Bytes after its end are ignored.
///
/// # Errors
/// What was wrong and where.
pub fn decode_data_value(bytes: &[u8], limits: &Limits) -> Result<DataValue, DecodeError> {
    codec::decode(Kind::DataValue, bytes, 0, limits)
}

/// Appends a Variant to `out`, or nothing if there is an error.
///
/// # Errors
/// The value has no form on the wire.
pub fn encode_variant(value: &Variant, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    codec::encode_bare(Kind::Variant, value, out)
}

/// Appends a DataValue to `out`, or nothing if there is an error.
///
/// # Errors
/// The value has no form on the wire.
pub fn encode_data_value(value: &DataValue, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    codec::encode_bare(Kind::DataValue, value, out)
}
