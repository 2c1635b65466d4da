//! What an answer says, or why it says nothing.

use std::time::Duration;

use wire::service::{Limits, Response};
use wire::template::walk::WalkError;
use wire::types::StatusCode;

/// Whether a status is this one, whatever its flags.
pub(super) fn is(status: StatusCode, wanted: StatusCode) -> bool {
    status.sub_code() == wanted.sub_code()
}

/// Decodes a response in full, and tells why there is none.
pub(super) fn decode(body: &[u8]) -> Result<Response, StatusCode> {
    let response = Response::decode(body, &Limits::for_message_size(body.len()))
        .map_err(|error| error.status())?;
    let result = response.header().service_result;
    match result.is_bad() {
        true => Err(result),
        false => Ok(response),
    }
}

/// The code that says best why a body could not be walked.
pub(super) fn wrong(error: WalkError) -> StatusCode {
    match error {
        WalkError::Fault(status) => status,
        WalkError::OtherType { .. } => StatusCode::BadUnknownResponse,
        _ => StatusCode::BadDecodingError,
    }
}

/// Milliseconds of the wire. A negative number, NaN and what is longer than any Duration are no interval, which is none.
pub(super) fn millis(millis: f64) -> Duration {
    Duration::try_from_secs_f64(millis / 1e3).unwrap_or_default()
}
