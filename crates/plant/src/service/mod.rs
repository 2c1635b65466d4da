//! The services: one file for each set of them.

pub mod call;
pub mod check;
pub mod condition;
pub mod discovery;
pub mod event;
pub mod history;
pub mod item;
pub mod nodes;
pub mod plant;
pub mod points;
pub mod read;
pub mod security_keys;
pub mod served;
pub mod session;
pub mod steps;
pub mod subscription;
pub mod truth;
pub mod view;
pub mod write;

use wire::service::{Limits, Request, Response};
use wire::template::walk::WalkError;
use wire::time::Now;
use wire::types::StatusCode;

use crate::shared::Shared;
use crate::slots::SlotId;
use crate::subscription::Subscriptions;
use crate::timers::Timers;
use session::Session;
use steps::Steps;

/// Why a request that is walked is not answered.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The service as a whole fails.
    Status(StatusCode),
    /// The walker does not follow the request.
    Walk(WalkError),
}

impl From<StatusCode> for Refusal {
    fn from(status: StatusCode) -> Self {
        Self::Status(status)
    }
}

impl From<WalkError> for Refusal {
    fn from(error: WalkError) -> Self {
        Self::Walk(error)
    }
}

/// What a service of a session works with.
pub struct ServiceContext<'a> {
    pub shared: &'a Shared,
    pub id: SlotId,
    pub session: &'a mut Session,
    pub subscriptions: &'a mut Subscriptions,
    pub timers: &'a mut Timers,
    pub now: Now,
}

/// How a service answers.
#[allow(
    clippy::large_enum_variant,
    reason = "it is moved once or twice, a box is one more allocation"
)]
pub enum Answer {
    /// With a response.
    Whole(Response),
    /// One operation after another.
    Steps(Steps),
}

/// Takes the operations of a request, if there are any and not too many (Part 4, 7.38.2).
pub fn operations<T>(list: &mut Option<Vec<T>>, limit: usize) -> Result<Vec<T>, StatusCode> {
    count(list.as_ref().map_or(0, Vec::len), limit)?;
    Ok(list.take().unwrap_or_default())
}

/// Whether there is something to do, and not too much.
pub fn count(operations: usize, limit: usize) -> Result<(), StatusCode> {
    match operations {
        0 => Err(StatusCode::BadNothingToDo),
        n if n > limit => Err(StatusCode::BadTooManyOperations),
        _ => Ok(()),
    }
}

/// Appends type, timestamp and handle of a good response and all that is usually empty in its
/// header (Part 4, 7.33).
pub fn write_head(out: &mut Vec<u8>, type_id: u32, handle: u32, now: Now) {
    let [low, high, ..] = type_id.to_le_bytes();
    out.extend_from_slice(&[1, 0, low, high]);
    out.extend_from_slice(&now.utc.to_le_bytes());
    out.extend_from_slice(&handle.to_le_bytes());
    // Good, no diagnostics, no strings, no additional header.
    out.extend_from_slice(&[0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0]);
}

/// Appends an array that is null.
pub fn write_null_array(out: &mut Vec<u8>) {
    out.extend_from_slice(&(-1i32).to_le_bytes());
}

/// Appends the length of an array.
pub fn write_len(out: &mut Vec<u8>, len: usize) {
    out.extend_from_slice(&i32::try_from(len).unwrap_or(i32::MAX).to_le_bytes());
}

/// Bytes of a request that is decoded while others wait: that takes a millisecond at most.
pub const DECODED_AT_ONCE: usize = 64 * 1024;

/// The same request in the shape that walkers know, if it is not a long one.
pub fn canonical(body: &[u8], limits: &Limits) -> Result<Vec<u8>, StatusCode> {
    if body.len() > DECODED_AT_ONCE {
        return Err(StatusCode::BadEncodingLimitsExceeded);
    }
    let request = Request::decode(body, limits).map_err(|error| error.status())?;
    let mut body = Vec::new();
    let encoded = request.encode(&mut body);
    encoded.map_err(|_| StatusCode::BadDecodingError)?;
    Ok(body)
}
