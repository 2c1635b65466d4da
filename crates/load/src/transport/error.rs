//! Why there is no connection, and why a call has no good response.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use thiserror::Error;
use wire::channel::{ChannelError, Protection, SendError};
use wire::frame::FrameError;
use wire::service::{self, DecodeError, EncodeError};
use wire::types::StatusCode;
use wire::url::Url;
use wss::connect::ConnectError;

use super::TransportStep;
use super::results::WrongCount;

/// Why there is no connection (any more).
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The name has no address.
    #[error("cannot look up {host}: {error}")]
    Lookup {
        /// The name.
        host: String,
        /// What the system said.
        error: io::Error,
    },
    /// Nobody listens there.
    #[error("connection refused by {0}")]
    Refused(SocketAddr),
    /// No answer at all while connecting.
    #[error("no answer from {address} within {after:?}")]
    Unreachable {
        /// The address tried last.
        address: SocketAddr,
        /// The time given to it.
        after: Duration,
    },
    /// The system said why not.
    #[error("cannot connect to {address}: {error}")]
    Connect {
        /// The address tried last.
        address: SocketAddr,
        /// What the system said.
        error: io::Error,
    },
    /// There is no tunnel through the proxy.
    #[error("proxy {proxy}: {error}")]
    Proxy {
        /// Which one.
        proxy: String,
        /// Why not.
        error: ProxyError,
    },
    /// The server was to dial, and did not.
    #[error("no server of this URL dialled {at} within {after:?}{}", came(.others))]
    NotCalled {
        /// Where it was awaited.
        at: SocketAddr,
        /// The time given to it.
        after: Duration,
        /// The URLs of others that did.
        others: Vec<String>,
    },
    /// The port accepts connections, but says nothing to a hello.
    #[error("the port is open, but nothing answers to a hello")]
    Silent,
    /// Another protocol lives there.
    #[error("the port speaks {0}, not OPC UA")]
    OtherProtocol(&'static str),
    /// TLS or the WebSocket inside it came to nothing, or ended.
    #[error(transparent)]
    Tunnel(#[from] wss::TunnelError),
    /// Nothing was answered at this step.
    #[error("no answer within {after:?} during: {}", .step.name())]
    NoAnswer {
        /// At which step.
        step: TransportStep,
        /// The time given to it.
        after: Duration,
    },
    /// The server does not read what it is sent.
    #[error("the server read nothing for {after:?}")]
    NotRead {
        /// The time given to it.
        after: Duration,
    },
    /// It is not known whom to trust.
    #[error("{0} wants TLS, and nobody said whose certificates are trusted")]
    NoTls(&'static str),
    /// There is no channel that could have a policy.
    #[error(
        "over opc.https, and in JSON, it is TLS that protects: {0} cannot be asked for, only None"
    )]
    OnlyNone(Protection),
    /// There is no channel that could be renewed.
    #[error(
        "opc.https has no secure channel that could be renewed, and messages in JSON have none"
    )]
    NoChannel,
    /// Only what is inside TLS carries JSON.
    #[error("opc.tcp carries messages in OPC UA Binary only, not in JSON")]
    NoJson,
    /// A server that dials does so over TCP.
    #[error("reverse connect is over opc.tcp: {0} cannot be awaited")]
    NotReverse(Url),
    /// The socket was closed without a word at this step.
    #[error("the server closed the connection without a word during: {}", .0.name())]
    ClosedAt(TransportStep),
    /// The connection ended.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// The socket failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Why there is no tunnel through a proxy.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// It cannot be reached itself.
    #[error(transparent)]
    Unreachable(Box<LinkError>),
    /// It says no, or nothing of use.
    #[error(transparent)]
    Answer(#[from] ConnectError),
    /// It says nothing.
    #[error("no answer to the request for a tunnel within {0:?}")]
    Silent(Duration),
    /// It hangs up.
    #[error("it closed the connection without an answer")]
    Closed,
    /// The socket failed.
    #[error(transparent)]
    Io(io::Error),
}

fn came(others: &[String]) -> String {
    match others {
        [] => String::new(),
        others => format!("; those that did are {}", others.join(", ")),
    }
}

/// Why a call has no good response.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CallError {
    /// The server answered with a fault, or with another service's response.
    #[error(transparent)]
    Service(#[from] service::CallError),
    /// The response does not decode.
    #[error("the response does not decode: {0}")]
    Decode(#[from] DecodeError),
    /// The request does not encode.
    #[error("the request does not encode: {0}")]
    Encode(#[from] EncodeError),
    /// The request was not sent.
    #[error(transparent)]
    Send(#[from] SendError),
    /// No response in time.
    #[error("no response within {0:?}")]
    TimedOut(Duration),
    /// The server gave up sending the response.
    #[error("the server gave up its response: {0}")]
    Aborted(StatusCode),
    /// The connection ended first.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The response has other than one result for each operation.
    #[error(transparent)]
    Count(#[from] WrongCount),
}

impl CallError {
    /// The code that says it shortest.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Service(error) => error.status(),
            Self::Decode(_) => StatusCode::BadDecodingError,
            Self::Encode(_) => StatusCode::BadEncodingError,
            Self::Send(SendError::TooLarge { .. }) => StatusCode::BadRequestTooLarge,
            Self::Send(_) => StatusCode::BadNotConnected,
            Self::TimedOut(_) => StatusCode::BadTimeout,
            Self::Aborted(status) => *status,
            Self::Link(LinkError::Channel(error)) => error.status(),
            Self::Link(LinkError::NotRead { .. }) => StatusCode::BadTimeout,
            Self::Link(_) => StatusCode::BadConnectionClosed,
            Self::Count(_) => WrongCount::STATUS,
        }
    }

    /// Whether another session is needed for the next call: the connection, the channel or the session is over. Any
    /// other refusal leaves a session that is open.
    pub fn ends_session(&self) -> bool {
        let over = [
            StatusCode::BadSessionIdInvalid,
            StatusCode::BadSessionClosed,
            StatusCode::BadSessionNotActivated,
            StatusCode::BadSecureChannelIdInvalid,
            StatusCode::BadSecureChannelClosed,
            StatusCode::BadSecureChannelTokenUnknown,
        ];
        match self {
            // Nothing says whether the connection still carries anything.
            Self::Link(_) | Self::TimedOut(_) => true,
            Self::Send(error) => matches!(error, SendError::NotOpen),
            Self::Service(error) => over.contains(&error.status()),
            Self::Decode(_) | Self::Encode(_) | Self::Aborted(_) | Self::Count(_) => false,
        }
    }
}

/// What a connection is told whose socket ended.
pub(super) const CLOSED: &str = "the socket was closed";

/// Says what an end of the connection at this step most likely means.
pub(super) fn diagnose(error: ChannelError, step: TransportStep) -> LinkError {
    match error {
        ChannelError::Frame(FrameError::UnknownType(letters)) => match &letters {
            b"HTT" => LinkError::OtherProtocol("HTTP"),
            [0x15 | 0x16, 3, _] => LinkError::OtherProtocol("TLS"),
            b"SSH" => LinkError::OtherProtocol("SSH"),
            _ => LinkError::OtherProtocol("another protocol"),
        },
        ChannelError::Timeout(_) if step == TransportStep::Hello => LinkError::Silent,
        ChannelError::Peer(message) if message.reason == CLOSED => LinkError::ClosedAt(step),
        error => LinkError::Channel(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::types::ResponseHeader;

    #[test]
    fn a_session_outlives_what_it_was_refused() {
        let fault = |service_result| {
            let fault = service::Fault::from(ResponseHeader {
                service_result,
                ..ResponseHeader::default()
            });
            CallError::from(service::CallError::from(Box::new(fault)))
        };
        for open in [
            fault(StatusCode::BadTooManyOperations),
            fault(StatusCode::BadUserAccessDenied),
            CallError::Aborted(StatusCode::BadResponseTooLarge),
        ] {
            assert!(!open.ends_session(), "{open}");
        }
        for over in [
            fault(StatusCode::BadSessionIdInvalid),
            fault(StatusCode::BadSecureChannelClosed),
            CallError::TimedOut(Duration::from_secs(1)),
            CallError::from(SendError::NotOpen),
        ] {
            assert!(over.ends_session(), "{over}");
        }
    }
}
