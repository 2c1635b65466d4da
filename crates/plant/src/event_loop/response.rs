//! Encoded responses: the fault in the place of one, and what is read of one.

use wire::service::fault;
use wire::types::StatusCode;

/// A fault in the place of a response.
pub fn encode_fault(handle: u32, status: StatusCode, utc: i64, out: &mut Vec<u8>) {
    // Nothing in a fault has no form on the wire.
    let _ = fault(handle, status, utc).encode(out);
}

/// The request's handle in an encoded response: type and timestamp come before it.
pub fn handle_of(response: &[u8]) -> u32 {
    let handle = response.get(12..16).and_then(|bytes| bytes.try_into().ok());
    handle.map_or(0, u32::from_le_bytes)
}
