//! The bodies of OPN messages: OpenSecureChannelRequest and -Response (Part 4, 5.6.2).

use std::time::Duration;

use opcua_types::{
    BinaryEncodable, ByteString, ChannelSecurityToken, ContextOwned, DateTime, MessageInfo, NodeId,
    OpenSecureChannelRequest, OpenSecureChannelResponse, RequestHeader, ResponseHeader,
    SecurityTokenRequestType, ServiceFault, StatusCode,
};

use super::ChannelError;
use crate::policy::Mode;
use crate::service::{DecodeError, Limits, Request, Response};

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRequest {
    /// The handle, which is the request id.
    pub handle: u32,
    /// When it was sent, in ticks.
    pub sent: i64,
    /// Renew instead of issue.
    pub renew: bool,
    /// The mode messages are to be protected with.
    pub mode: Mode,
    /// The client's share of the keys.
    pub nonce: Vec<u8>,
    /// The lifetime asked for.
    pub lifetime: Duration,
}

/// What a server grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenResponse {
    /// The handle of the request.
    pub handle: u32,
    /// When it was sent, in ticks.
    pub sent: i64,
    /// The channel.
    pub channel_id: u32,
    /// The new token.
    pub token_id: u32,
    /// How long it lives.
    pub lifetime: Duration,
    /// The server's share of the keys.
    pub nonce: Vec<u8>,
}

impl OpenRequest {
    /// The encoded body.
    pub fn encode(&self) -> Vec<u8> {
        encode(&OpenSecureChannelRequest {
            request_header: RequestHeader {
                timestamp: DateTime::from(self.sent),
                request_handle: self.handle,
                ..Default::default()
            },
            client_protocol_version: crate::frame::PROTOCOL_VERSION,
            request_type: match self.renew {
                true => SecurityTokenRequestType::Renew,
                false => SecurityTokenRequestType::Issue,
            },
            security_mode: self.mode.into(),
            client_nonce: nonce(&self.nonce),
            requested_lifetime: millis(self.lifetime),
        })
    }

    /// Reads a body.
    pub fn decode(body: &[u8]) -> Result<Self, ChannelError> {
        let request = Request::decode(body, &limits(body)).map_err(unreadable)?;
        let Request::OpenSecureChannel(request) = request else {
            return Err(another(request.name()));
        };
        Ok(Self {
            handle: request.request_header.request_handle,
            sent: request.request_header.timestamp.ticks(),
            renew: request.request_type == SecurityTokenRequestType::Renew,
            mode: Mode::try_from(request.security_mode)
                .map_err(|_| ChannelError::Mode(format!("{:?}", request.security_mode)))?,
            nonce: request.client_nonce.value.unwrap_or_default().to_vec(),
            lifetime: Duration::from_millis(request.requested_lifetime.into()),
        })
    }
}

impl OpenResponse {
    /// The encoded body.
    pub fn encode(&self) -> Vec<u8> {
        encode(&OpenSecureChannelResponse {
            response_header: ResponseHeader {
                timestamp: DateTime::from(self.sent),
                request_handle: self.handle,
                ..ResponseHeader::null()
            },
            server_protocol_version: crate::frame::PROTOCOL_VERSION,
            security_token: ChannelSecurityToken {
                channel_id: self.channel_id,
                token_id: self.token_id,
                created_at: DateTime::from(self.sent),
                revised_lifetime: millis(self.lifetime),
            },
            server_nonce: nonce(&self.nonce),
        })
    }

    /// Reads a body; a ServiceFault becomes [`ChannelError::Refused`].
    pub fn decode(body: &[u8]) -> Result<Self, ChannelError> {
        let response = match Response::decode(body, &limits(body)).map_err(unreadable)? {
            Response::OpenSecureChannel(response) => response,
            Response::Fault(fault) => {
                return Err(ChannelError::Refused(fault.response_header.service_result));
            }
            other => return Err(another(other.name())),
        };
        let result = response.response_header.service_result;
        if result.is_bad() {
            return Err(ChannelError::Refused(result));
        }
        Ok(Self {
            handle: response.response_header.request_handle,
            sent: response.response_header.timestamp.ticks(),
            channel_id: response.security_token.channel_id,
            token_id: response.security_token.token_id,
            lifetime: Duration::from_millis(response.security_token.revised_lifetime.into()),
            nonce: response.server_nonce.value.unwrap_or_default().to_vec(),
        })
    }
}

/// The body of an OPN message that says no.
pub fn fault(handle: u32, sent: i64, status: StatusCode) -> Vec<u8> {
    encode(&ServiceFault {
        response_header: ResponseHeader {
            timestamp: DateTime::from(sent),
            request_handle: handle,
            service_result: status,
            ..ResponseHeader::null()
        },
    })
}

fn nonce(bytes: &[u8]) -> ByteString {
    match bytes {
        [] => ByteString::null(),
        _ => ByteString::from(bytes.to_vec()),
    }
}

fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

fn encode<T: BinaryEncodable + MessageInfo>(message: &T) -> Vec<u8> {
    let context = ContextOwned::default();
    let context = context.context();
    let mut out = NodeId::from(message.type_id()).encode_to_vec(&context);
    out.extend_from_slice(&message.encode_to_vec(&context));
    out
}

/// Whoever opens a channel is not known yet: what decoding costs is measured first, as for any
/// other message, and bounded by the one chunk that an OPN message is.
fn limits(body: &[u8]) -> Limits {
    Limits::for_message_size(body.len().max(1))
}

fn unreadable(error: DecodeError) -> ChannelError {
    ChannelError::Malformed(format!("an OPN message: {error}").into())
}

fn another(name: &str) -> ChannelError {
    ChannelError::Malformed(format!("an OPN message that is a {name}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ServiceFault whose DiagnosticInfo has so many others within each other.
    fn nested(levels: usize) -> Vec<u8> {
        let plain = fault(1, 0, StatusCode::BadTcpInternalError);
        let (head, tail) = plain.split_at(4 + 8 + 4 + 4);
        [head, &vec![0x40; levels], tail].concat()
    }

    #[test]
    fn nested_diagnostics_are_refused_before_they_exhaust_the_stack() {
        let refused = ChannelError::Refused(StatusCode::BadTcpInternalError);
        assert_eq!(OpenResponse::decode(&nested(90)), Err(refused));
        let too_deep = OpenResponse::decode(&nested(60_000));
        assert!(matches!(too_deep, Err(ChannelError::Malformed(_))));
    }
}
