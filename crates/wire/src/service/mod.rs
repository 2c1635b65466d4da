//! The services of Part 4: requests and responses as values, and their bytes.
//!
//! The structures are those of `opcua_types`. [`services!`](self) below lists them, one
//! line each; `shape/table.rs` says what their bytes look like. A new service takes a line
//! in each.
//!
//! ```
//! use wire::service::{Limits, Request, Service};
//! use wire::types::{ReadRequest, ReadResponse};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut message = Vec::new();
//! Request::from(ReadRequest::default()).encode(&mut message)?;
//! let request = Request::decode(&message, &Limits::for_message_size(65536))?;
//! assert_eq!(request.name(), "ReadRequest");
//!
//! // a response knows which request it answers, and the other way round
//! fn response_of<S: Service>(_: &S) -> &'static str {
//!     S::RESPONSE.name()
//! }
//! assert_eq!(response_of(&ReadRequest::default()), "ReadResponse");
//! # Ok(())
//! # }
//! ```

mod answer;
mod codec;
pub mod shape;
mod value;

pub use answer::{CallError, Fault, fault, response_header};
pub(crate) use codec::correct_lengths;
pub use codec::{DecodeCause, DecodeError, EncodeError, encode_bare, type_id};
pub use shape::{Kind, Limits};
pub use value::{decode_data_value, decode_variant, encode_data_value, encode_variant};

use crate::types::{self, RequestHeader, ResponseHeader, StatusCode};

/// A request of Part 4, which has one kind of response.
pub trait Service: Into<Request> {
    /// The response when all goes well.
    type Response: TryFrom<Response, Error = CallError> + Into<Response>;
    /// The request in the table of shapes.
    const REQUEST: Kind;
    /// The response in the table of shapes.
    const RESPONSE: Kind;
}

macro_rules! services {
    ($($service:ident $request:ident -> $response:ident,)*) => {
        /// A request of any service.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(clippy::large_enum_variant, reason = "a request is moved once or twice, a box is one more allocation")]
        pub enum Request {
            $(
                #[doc = concat!("The request of the service ", stringify!($service), ".")]
                $service(types::$request),
            )*
        }

        /// A response of any service.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(clippy::large_enum_variant, reason = "a response is moved once or twice, a box is one more allocation")]
        pub enum Response {
            $(
                #[doc = concat!("The response of the service ", stringify!($service), ".")]
                $service(types::$response),
            )*
            /// The service failed as a whole.
            Fault(types::ServiceFault),
        }

        $(
            impl Service for types::$request {
                type Response = types::$response;
                const REQUEST: Kind = Kind::$request;
                const RESPONSE: Kind = Kind::$response;
            }

            impl From<types::$request> for Request {
                fn from(request: types::$request) -> Self {
                    Request::$service(request)
                }
            }

            impl From<types::$response> for Response {
                fn from(response: types::$response) -> Self {
                    Response::$service(response)
                }
            }

            impl TryFrom<Response> for types::$response {
                type Error = CallError;

                fn try_from(response: Response) -> Result<Self, CallError> {
                    match response {
                        Response::$service(response)
                            if !response.response_header.service_result.is_bad() =>
                        {
                            Ok(response)
                        }
                        other => Err(other.into_error(Kind::$response)),
                    }
                }
            }
        )*

        impl Request {
            /// Every kind of request.
            pub const KINDS: &[Kind] = &[$(Kind::$request,)*];

            /// The request in the table of shapes.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Request::$service(_) => Kind::$request,)*
                }
            }

            /// The header.
            pub fn header(&self) -> &RequestHeader {
                match self {
                    $(Request::$service(request) => &request.request_header,)*
                }
            }

            /// The header, to fill in.
            pub fn header_mut(&mut self) -> &mut RequestHeader {
                match self {
                    $(Request::$service(request) => &mut request.request_header,)*
                }
            }

            /// Appends the message, type id first, to `out`.
            ///
            /// # Errors
            /// A value in it has no form on the wire; `out` is as it was.
            pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
                match self {
                    $(Request::$service(request) => codec::encode(Kind::$request, request, out),)*
                }
            }

            fn decode_kind(
                kind: Kind,
                body: &[u8],
                at: usize,
                limits: &Limits,
            ) -> Result<Self, DecodeError> {
                match kind {
                    $(Kind::$request => codec::decode(kind, body, at, limits).map(Request::$service),)*
                    _ => Err(Self::unknown(kind)),
                }
            }
        }

        impl Response {
            /// Every kind of response.
            pub const KINDS: &[Kind] = &[$(Kind::$response,)* Kind::ServiceFault];

            /// The response in the table of shapes.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Response::$service(_) => Kind::$response,)*
                    Response::Fault(_) => Kind::ServiceFault,
                }
            }

            /// The header.
            pub fn header(&self) -> &ResponseHeader {
                match self {
                    $(Response::$service(response) => &response.response_header,)*
                    Response::Fault(fault) => &fault.response_header,
                }
            }

            /// The header, to fill in.
            pub fn header_mut(&mut self) -> &mut ResponseHeader {
                match self {
                    $(Response::$service(response) => &mut response.response_header,)*
                    Response::Fault(fault) => &mut fault.response_header,
                }
            }

            /// Appends the message, type id first, to `out`.
            ///
            /// # Errors
            /// A value in it has no form on the wire; `out` is as it was.
            pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
                match self {
                    $(Response::$service(response) => codec::encode(Kind::$response, response, out),)*
                    Response::Fault(fault) => codec::encode(Kind::ServiceFault, fault, out),
                }
            }

            fn decode_kind(
                kind: Kind,
                body: &[u8],
                at: usize,
                limits: &Limits,
            ) -> Result<Self, DecodeError> {
                match kind {
                    $(Kind::$response => codec::decode(kind, body, at, limits).map(Response::$service),)*
                    Kind::ServiceFault => codec::decode(kind, body, at, limits).map(Response::Fault),
                    _ => Err(Self::unknown(kind)),
                }
            }

            fn into_header(self) -> ResponseHeader {
                match self {
                    $(Response::$service(response) => response.response_header,)*
                    Response::Fault(fault) => fault.response_header,
                }
            }
        }
    };
}

services! {
    // Part 4, 5.5: discovery
    FindServers FindServersRequest -> FindServersResponse,
    FindServersOnNetwork FindServersOnNetworkRequest -> FindServersOnNetworkResponse,
    GetEndpoints GetEndpointsRequest -> GetEndpointsResponse,
    RegisterServer RegisterServerRequest -> RegisterServerResponse,
    RegisterServer2 RegisterServer2Request -> RegisterServer2Response,
    // 5.6: secure channel
    OpenSecureChannel OpenSecureChannelRequest -> OpenSecureChannelResponse,
    CloseSecureChannel CloseSecureChannelRequest -> CloseSecureChannelResponse,
    // 5.7: session
    CreateSession CreateSessionRequest -> CreateSessionResponse,
    ActivateSession ActivateSessionRequest -> ActivateSessionResponse,
    CloseSession CloseSessionRequest -> CloseSessionResponse,
    Cancel CancelRequest -> CancelResponse,
    // 5.8: node management
    AddNodes AddNodesRequest -> AddNodesResponse,
    AddReferences AddReferencesRequest -> AddReferencesResponse,
    DeleteNodes DeleteNodesRequest -> DeleteNodesResponse,
    DeleteReferences DeleteReferencesRequest -> DeleteReferencesResponse,
    // 5.9: view
    Browse BrowseRequest -> BrowseResponse,
    BrowseNext BrowseNextRequest -> BrowseNextResponse,
    TranslateBrowsePathsToNodeIds TranslateBrowsePathsToNodeIdsRequest -> TranslateBrowsePathsToNodeIdsResponse,
    RegisterNodes RegisterNodesRequest -> RegisterNodesResponse,
    UnregisterNodes UnregisterNodesRequest -> UnregisterNodesResponse,
    // 5.10: query
    QueryFirst QueryFirstRequest -> QueryFirstResponse,
    QueryNext QueryNextRequest -> QueryNextResponse,
    // 5.11: attribute
    Read ReadRequest -> ReadResponse,
    HistoryRead HistoryReadRequest -> HistoryReadResponse,
    Write WriteRequest -> WriteResponse,
    HistoryUpdate HistoryUpdateRequest -> HistoryUpdateResponse,
    // 5.12: method
    Call CallRequest -> CallResponse,
    // 5.13: MonitoredItem
    CreateMonitoredItems CreateMonitoredItemsRequest -> CreateMonitoredItemsResponse,
    ModifyMonitoredItems ModifyMonitoredItemsRequest -> ModifyMonitoredItemsResponse,
    SetMonitoringMode SetMonitoringModeRequest -> SetMonitoringModeResponse,
    SetTriggering SetTriggeringRequest -> SetTriggeringResponse,
    DeleteMonitoredItems DeleteMonitoredItemsRequest -> DeleteMonitoredItemsResponse,
    // 5.14: Subscription
    CreateSubscription CreateSubscriptionRequest -> CreateSubscriptionResponse,
    ModifySubscription ModifySubscriptionRequest -> ModifySubscriptionResponse,
    SetPublishingMode SetPublishingModeRequest -> SetPublishingModeResponse,
    Publish PublishRequest -> PublishResponse,
    Republish RepublishRequest -> RepublishResponse,
    TransferSubscriptions TransferSubscriptionsRequest -> TransferSubscriptionsResponse,
    DeleteSubscriptions DeleteSubscriptionsRequest -> DeleteSubscriptionsResponse,
}

impl Request {
    /// The name of the structure, as in the specification.
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// The numeric type id of its Default Binary encoding, in namespace 0.
    pub fn type_id(&self) -> u32 {
        self.kind().encoding_id()
    }

    /// Decodes a message, type id first. Bytes after its end are ignored.
    ///
    /// # Errors
    /// What was wrong and where, with the handle of the request when it could be read:
    /// enough to answer with a [`fault`].
    pub fn decode(body: &[u8], limits: &Limits) -> Result<Self, DecodeError> {
        let (_, at) = type_id(body)?;
        codec::message_kind(body, "request", StatusCode::BadServiceUnsupported, |kind| {
            Self::KINDS.contains(&kind)
        })
        .and_then(|(kind, at)| Self::decode_kind(kind, body, at, limits))
        .map_err(|error| DecodeError {
            // every request begins with a RequestHeader, those we do not know as well
            request_handle: codec::handle_in_request(body, at),
            ..error
        })
    }

    fn unknown(kind: Kind) -> DecodeError {
        DecodeError {
            offset: 0,
            request_handle: None,
            cause: DecodeCause::Service {
                id: Some(kind.encoding_id()),
                wanted: "request",
                status: StatusCode::BadServiceUnsupported,
            },
        }
    }
}

impl Response {
    /// The name of the structure, as in the specification.
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// The numeric type id of its Default Binary encoding, in namespace 0.
    pub fn type_id(&self) -> u32 {
        self.kind().encoding_id()
    }

    /// Decodes a message, type id first. Bytes after its end are ignored.
    ///
    /// # Errors
    /// What was wrong and where, with the handle of the request when it could be read.
    pub fn decode(body: &[u8], limits: &Limits) -> Result<Self, DecodeError> {
        let (_, at) = type_id(body)?;
        codec::message_kind(body, "response", StatusCode::BadUnknownResponse, |kind| {
            Self::KINDS.contains(&kind)
        })
        .and_then(|(kind, at)| Self::decode_kind(kind, body, at, limits))
        .map_err(|error| DecodeError {
            request_handle: codec::handle_in_response(body, at),
            ..error
        })
    }

    /// What this response is to one who expected another.
    fn into_error(self, expected: Kind) -> CallError {
        let kind = self.kind();
        if kind == expected || kind == Kind::ServiceFault {
            return CallError::Fault(Box::new(self.into_header().into()));
        }
        CallError::Unexpected {
            expected: expected.name(),
            got: kind.name(),
        }
    }

    fn unknown(kind: Kind) -> DecodeError {
        DecodeError {
            offset: 0,
            request_handle: None,
            cause: DecodeCause::Service {
                id: Some(kind.encoding_id()),
                wanted: "response",
                status: StatusCode::BadUnknownResponse,
            },
        }
    }
}
