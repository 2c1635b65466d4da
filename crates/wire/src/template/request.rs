//! A request encoded once.

use super::walk::{RequestHead, WalkError};
use crate::service::{DecodeError, Kind, Limits, Request, correct_lengths};
use crate::types::{BinaryEncodable, Context, Error, MessageInfo, NodeId, RequestHeader};

/// Why a template could not be made or used.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The request cannot be encoded.
    #[error("the request cannot be encoded: {0}")]
    Encoding(#[from] Error),
    /// The encoded request does not read back: a value in it has no binary encoding.
    #[error("the encoded request does not read back: {0}")]
    Walk(#[from] WalkError),
    /// The same, as the full decoder says it.
    #[error("the encoded request does not read back: {0}")]
    Decode(#[from] DecodeError),
    /// Two decoders see different things in the encoded request.
    #[error("the encoded request reads back differently: {0}")]
    ReadsDifferently(&'static str),
    /// There are too few bytes to write to.
    #[error("{len} bytes to write into {room}")]
    NoRoom {
        /// Bytes of the request.
        len: usize,
        /// Bytes that are there.
        room: usize,
    },
}

/// Timestamp and request handle lie side by side in the RequestHeader (Part 4, 7.32).
const PATCHED: usize = 8 + 4;

/// A request encoded once: sending it is a copy and twelve patched bytes.
///
/// Made for one session, as it holds the authentication token: a session activated anew under
/// another token needs new templates.
#[derive(Debug, Clone)]
pub struct Template {
    body: Vec<u8>,
    timestamp_at: usize,
}

impl Template {
    /// Encodes a request. Its timestamp and request handle do not matter.
    pub fn new<T: BinaryEncodable + MessageInfo>(
        request: &T,
        context: &Context<'_>,
    ) -> Result<Self, TemplateError> {
        let type_id = NodeId::from(request.type_id());
        let foreseen = type_id.byte_len(context) + request.byte_len(context);
        let mut body = Vec::with_capacity(foreseen);
        type_id.encode(&mut body, context)?;
        let at = body.len();
        request.encode(&mut body, context)?;
        if body.len() != foreseen {
            let kind = type_id.as_u32().and_then(Kind::from_encoding_id);
            if !kind.is_some_and(|kind| correct_lengths(kind, &mut body, at)) {
                return Err(TemplateError::ReadsDifferently("lengths of bodies"));
            }
        }
        Self::from_body(body)
    }

    /// Takes an encoded request.
    pub(super) fn from_body(body: Vec<u8>) -> Result<Self, TemplateError> {
        let timestamp_at = RequestHead::parse(&body)?.timestamp_at;
        let template = Self { body, timestamp_at };
        template.verify()?;
        Ok(template)
    }

    /// Patches a copy and has it read by the full decoder: it must see what was patched, and
    /// nothing else may have changed.
    fn verify(&self) -> Result<(), TemplateError> {
        // Whole seconds of 2001, that no decoder could round.
        const TICKS: i64 = 126_227_808_000_000_000;
        const HANDLE: u32 = 0xa5c3_3c5a;
        let limits = Limits::for_message_size(self.len());
        let header = |body: &[u8]| Request::decode(body, &limits).map(|it| it.header().clone());
        let before = header(&self.body)?;
        let mut copy = vec![0; self.len()];
        self.write(&mut copy, HANDLE, TICKS)?;
        let patched = header(&copy)?;
        if patched.request_handle != HANDLE || patched.timestamp.ticks() != TICKS {
            return Err(TemplateError::ReadsDifferently("handle and timestamp"));
        }
        let restored = RequestHeader {
            timestamp: before.timestamp,
            request_handle: before.request_handle,
            ..patched
        };
        if restored != before {
            return Err(TemplateError::ReadsDifferently("the request header"));
        }
        Ok(())
    }

    /// Bytes of the request.
    #[inline]
    #[allow(clippy::len_without_is_empty, reason = "a request is never empty")]
    pub fn len(&self) -> usize {
        self.body.len()
    }

    /// The request as it was encoded.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Copies the request to the start of `out` with this handle and time (100 ns since 1601),
    /// and tells its length. A scalar Read costs 42 instructions, the copy included.
    #[inline]
    pub fn write(
        &self,
        out: &mut [u8],
        request_handle: u32,
        utc_ticks: i64,
    ) -> Result<usize, TemplateError> {
        let room = out.len();
        let len = self.body.len();
        let Some(out) = out.get_mut(..len) else {
            return Err(TemplateError::NoRoom { len, room });
        };
        out.copy_from_slice(&self.body);
        self.patch(out, request_handle, utc_ticks);
        Ok(len)
    }

    /// Appends the request to `out` with this handle and time (100 ns since 1601).
    #[inline]
    pub fn append(&self, out: &mut Vec<u8>, request_handle: u32, utc_ticks: i64) {
        let start = out.len();
        out.extend_from_slice(&self.body);
        if let Some(out) = out.get_mut(start..) {
            self.patch(out, request_handle, utc_ticks);
        }
    }

    #[inline]
    fn patch(&self, out: &mut [u8], request_handle: u32, utc_ticks: i64) {
        // Always there: the offset was found in `body`, which `out` is a copy of.
        debug_assert!(self.timestamp_at + PATCHED <= out.len());
        if let Some(to) = out
            .get_mut(self.timestamp_at..)
            .and_then(<[u8]>::first_chunk_mut::<PATCHED>)
        {
            let [a, b, c, d, e, f, g, h] = utc_ticks.to_le_bytes();
            let [i, j, k, l] = request_handle.to_le_bytes();
            *to = [a, b, c, d, e, f, g, h, i, j, k, l];
        }
    }
}
