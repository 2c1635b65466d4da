//! The bodies of OPN messages: OpenSecureChannelRequest and -Response (Part 4, 5.5.2).

use std::io::Cursor;
use std::time::Duration;

use opcua_types::{
    BinaryDecodable, BinaryEncodable, ByteString, ChannelSecurityToken, ContextOwned, DateTime,
    MessageInfo, NodeId, ObjectId, OpenSecureChannelRequest, OpenSecureChannelResponse,
    RequestHeader, ResponseHeader, SecurityTokenRequestType, ServiceFault, StatusCode,
};

use super::ChannelError;
use crate::policy::Mode;

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
        let id = ObjectId::OpenSecureChannelRequest_Encoding_DefaultBinary;
        let request: OpenSecureChannelRequest = decode(body, id)?
            .ok_or_else(|| malformed("an OPN message that is no OpenSecureChannelRequest"))?;
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
        if let Some(fault) =
            decode::<ServiceFault>(body, ObjectId::ServiceFault_Encoding_DefaultBinary)?
        {
            return Err(ChannelError::Refused(fault.response_header.service_result));
        }
        let id = ObjectId::OpenSecureChannelResponse_Encoding_DefaultBinary;
        let response: OpenSecureChannelResponse = decode(body, id)?
            .ok_or_else(|| malformed("an OPN message that is no OpenSecureChannelResponse"))?;
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

/// OPN bodies have no arrays and two short strings: the default limits of the decoder are
/// enough, and so is its own checking.
fn encode<T: BinaryEncodable + MessageInfo>(message: &T) -> Vec<u8> {
    let context = ContextOwned::default();
    let context = context.context();
    let mut out = NodeId::from(message.type_id()).encode_to_vec(&context);
    out.extend_from_slice(&message.encode_to_vec(&context));
    out
}

/// Nothing if the body is of another type.
fn decode<T: BinaryDecodable>(body: &[u8], id: ObjectId) -> Result<Option<T>, ChannelError> {
    let context = ContextOwned::default();
    let context = context.context();
    let mut cursor = Cursor::new(body);
    let found = NodeId::decode(&mut cursor, &context)
        .map_err(|_| malformed("an OPN message without a type"))?;
    if found != id {
        return Ok(None);
    }
    T::decode(&mut cursor, &context)
        .map(Some)
        .map_err(|error| ChannelError::Malformed(format!("an OPN message: {error}").into()))
}

fn malformed(what: &'static str) -> ChannelError {
    ChannelError::Malformed(what.into())
}
