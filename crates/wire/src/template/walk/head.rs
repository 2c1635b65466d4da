//! What every message body begins with.

use super::cursor::{Cursor, WalkError};
use super::node_id::RawNodeId;
use super::type_id;
use super::value::{skip_diagnostic_info, skip_extension_object};
use crate::types::StatusCode;

/// The type and the ResponseHeader of a response (Part 4, 7.33).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseHead {
    /// The numeric id of the binary encoding, in namespace 0.
    pub type_id: u32,
    /// When the server sent it, in 100 ns since 1601.
    pub timestamp: i64,
    /// The handle of the request.
    pub request_handle: u32,
    /// How the service went as a whole.
    pub service_result: StatusCode,
    /// Where in the body the service's own fields begin.
    pub end: usize,
}

/// Type, timestamp, handle, result, an empty DiagnosticInfo, no strings, a null additional header.
const USUAL: usize = 4 + 8 + 4 + 4 + 1 + 4 + 3;

/// Timestamp, handle, diagnostics, no audit entry, timeout, a null additional header.
const USUAL_REQUEST: usize = 8 + 4 + 4 + 4 + 4 + 3;

/// Where the bytes of an opaque token begin: after the type, encoding, namespace and length.
const TOKEN_AT: usize = 4 + 1 + 2 + 4;

/// How an id of two bytes in namespace 0 begins (Part 6, 5.2.2.9).
const FOUR_BYTE_NODE_ID: [u8; 2] = [1, 0];

impl ResponseHead {
    /// Reads the head of a response.
    #[inline]
    pub fn parse(body: &[u8]) -> Result<Self, WalkError> {
        // Nearly every response has this shape, and comparisons with constants find it out.
        if let Some(usual) = body.first_chunk::<USUAL>()
            && usual[..2] == FOUR_BYTE_NODE_ID
            && usual[20] == 0
            && (usual[21..25] == [0xff; 4] || usual[21..25] == [0; 4])
            && usual[25..] == [0; 3]
        {
            let mut c = Cursor::at(usual, 2);
            return Ok(Self {
                type_id: u32::from(c.u16()?),
                timestamp: c.i64()?,
                request_handle: c.u32()?,
                service_result: StatusCode::from(c.u32()?),
                end: USUAL,
            });
        }
        Self::parse_any(body)
    }

    #[cold]
    fn parse_any(body: &[u8]) -> Result<Self, WalkError> {
        let mut c = Cursor::new(body);
        let type_id = type_of(&mut c)?;
        let timestamp = c.i64()?;
        let request_handle = c.u32()?;
        let service_result = StatusCode::from(c.u32()?);
        skip_diagnostic_info(&mut c)?;
        for _ in 0..c.count(4)? {
            c.octets()?;
        }
        skip_extension_object(&mut c)?;
        Ok(Self {
            type_id,
            timestamp,
            request_handle,
            service_result,
            end: c.offset(),
        })
    }

    /// The fields of the service, when this is the response asked for and the service succeeded.
    #[inline]
    pub(super) fn fields<'a>(
        &self,
        body: &'a [u8],
        expected: u32,
    ) -> Result<Cursor<'a>, WalkError> {
        // Part 4, 7.35: a ServiceFault is the answer of a service that could not do anything.
        if self.type_id != expected {
            return Err(if self.type_id == type_id::SERVICE_FAULT {
                WalkError::Fault(self.service_result)
            } else {
                WalkError::OtherType {
                    expected,
                    found: self.type_id,
                }
            });
        }
        if self.service_result.bits() >> 31 != 0 {
            return Err(WalkError::Fault(self.service_result));
        }
        Ok(Cursor::at(body, self.end))
    }
}

/// The type and the RequestHeader of a request (Part 4, 7.32).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHead<'a> {
    /// The numeric id of the binary encoding, in namespace 0.
    pub type_id: u32,
    /// The session the request is for.
    pub authentication_token: RawNodeId<'a>,
    /// Where in the body the timestamp is; the request handle follows it.
    pub timestamp_at: usize,
    /// When the client sent it, in 100 ns since 1601.
    pub timestamp: i64,
    /// The client's handle, to be returned in the response.
    pub request_handle: u32,
    /// Which diagnostics the client asks for.
    pub return_diagnostics: u32,
    /// Milliseconds the client will wait, 0 for no limit.
    pub timeout_hint: u32,
    /// Where in the body the service's own fields begin.
    pub end: usize,
}

impl<'a> RequestHead<'a> {
    /// Reads the head of a request.
    #[inline]
    pub fn parse(body: &'a [u8]) -> Result<Self, WalkError> {
        // Nearly every request has this shape: the token is opaque, no audit entry, no additional
        // header.
        match Self::usual(body) {
            Some(head) => Ok(head),
            None => Self::parse_any(body),
        }
    }

    #[inline]
    fn usual(body: &'a [u8]) -> Option<Self> {
        let (&[1, 0, low, high, 5, n0, n1, l0, l1, l2, l3], rest) = body.split_first_chunk()?
        else {
            return None;
        };
        let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let (id, rest) = rest.split_at_checked(len)?;
        let usual = rest.first_chunk::<USUAL_REQUEST>()?;
        let is_usual =
            (usual[16..20] == [0xff; 4] || usual[16..20] == [0; 4]) && usual[24..] == [0; 3];
        if !is_usual {
            return None;
        }
        let timestamp_at = TOKEN_AT + len;
        let mut c = Cursor::new(usual);
        Some(Self {
            type_id: u32::from(u16::from_le_bytes([low, high])),
            authentication_token: RawNodeId::Opaque {
                namespace: u16::from_le_bytes([n0, n1]),
                id,
            },
            timestamp_at,
            timestamp: c.i64().ok()?,
            request_handle: c.u32().ok()?,
            return_diagnostics: c.u32().ok()?,
            timeout_hint: u32::from_le_bytes(*usual[20..].first_chunk()?),
            end: timestamp_at + USUAL_REQUEST,
        })
    }

    fn parse_any(body: &'a [u8]) -> Result<Self, WalkError> {
        let mut c = Cursor::new(body);
        let type_id = type_of(&mut c)?;
        let authentication_token = RawNodeId::read(&mut c)?;
        let timestamp_at = c.offset();
        let timestamp = c.i64()?;
        let request_handle = c.u32()?;
        let return_diagnostics = c.u32()?;
        c.octets()?;
        let timeout_hint = c.u32()?;
        skip_extension_object(&mut c)?;
        Ok(Self {
            type_id,
            authentication_token,
            timestamp_at,
            timestamp,
            request_handle,
            return_diagnostics,
            timeout_hint,
            end: c.offset(),
        })
    }

    /// The fields of the service, when this is the request asked for.
    #[inline]
    pub(super) fn fields(&self, body: &'a [u8], expected: u32) -> Result<Cursor<'a>, WalkError> {
        if self.type_id != expected {
            return Err(WalkError::OtherType {
                expected,
                found: self.type_id,
            });
        }
        Ok(Cursor::at(body, self.end))
    }
}

#[inline]
fn type_of(c: &mut Cursor<'_>) -> Result<u32, WalkError> {
    let before = *c;
    match RawNodeId::read(c) {
        Ok(RawNodeId::Numeric { namespace: 0, id }) => Ok(id),
        Ok(_) => Err(before.unusual("a message type outside namespace 0")),
        // An ExpandedNodeId where Part 6, 5.2.7 wants a NodeId: the full decoder knows those.
        Err(_) if before.rest().first().is_some_and(|form| form & 0xc0 != 0) => {
            Err(before.unusual("a message type that is an ExpandedNodeId"))
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_shape_of_a_request_is_read_as_any_other() {
        let mut body = vec![1, 0, 0x77, 0x02, 5, 0, 0, 3, 0, 0, 0, 7, 8, 9];
        body.extend_from_slice(&5i64.to_le_bytes());
        for number in [6u32, 7, u32::MAX, 8] {
            body.extend_from_slice(&number.to_le_bytes());
        }
        body.extend_from_slice(&[0, 0, 0, 0xaa]);
        let usual = RequestHead::usual(&body).unwrap();
        assert_eq!(RequestHead::parse_any(&body), Ok(usual));
        assert_eq!((usual.request_handle, usual.timeout_hint), (6, 8));
        for len in 0..body.len() - 1 {
            let cut = &body[..len];
            assert_eq!(RequestHead::usual(cut), None);
            assert!(RequestHead::parse(cut).is_err());
        }
        // An audit entry: of no usual shape, and read all the same.
        body.splice(26 + 4..30 + 4, [1, 0, 0, 0, b'x']);
        assert_eq!(RequestHead::usual(&body), None);
        assert_eq!(RequestHead::parse(&body).unwrap().timeout_hint, 8);
    }
}
