use opcua_types::StatusCode;

use crate::policy::Policy;
use crate::session::NONCE_LEN;
use crate::session::token::TokenError;

/// Why a request was refused. The client gets [`Refusal::status`]; the rest is for the log.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The certificate in the request is not the channel's (Part 4, 5.7.2.2).
    #[error("the session is asked for with another certificate than the channel")]
    AnotherCertificate,
    /// The ApplicationUri is not the certificate's (Part 4, 5.7.2.2).
    #[error("the client calls itself {claimed:?}, its certificate says {certified:?}")]
    ApplicationUri {
        /// What the description says.
        claimed: String,
        /// What the certificate says.
        certified: Option<String>,
    },
    /// Too short to be signed safely (Part 4, 5.7.2.2).
    #[error("a client nonce of {len} bytes (want {NONCE_LEN} or more)")]
    Nonce {
        /// The length that came.
        len: usize,
    },
    /// The server's nonce was used by another activation meanwhile (Part 4, 5.7.3.1).
    #[error("the activation used a nonce that is no longer the last")]
    NonceUsed,
    /// The client did not prove to be the one that created the session (Part 4, 5.7.3.1).
    #[error("the client's signature is missing or wrong")]
    ClientSignature,
    /// The user's token does not do (Part 4, 7.41).
    #[error(transparent)]
    Token(#[from] TokenError),
    /// A session that moves keeps its user (Part 4, 5.7.3.1).
    #[error("the session moves to another channel with another user")]
    AnotherUser,
    /// The request came through a channel that the session is not bound to (Part 4, 5.7.3.1).
    #[error("the request came through channel {got}, the session is bound to {want}")]
    AnotherChannel {
        /// The session's channel.
        want: u32,
        /// The one it came through.
        got: u32,
    },
    /// A request before the session was activated, which ends it (Part 4, 5.7.3.1).
    #[error("the session is not activated")]
    NotActivated,
    /// The session was closed by its client.
    #[error("the session is closed")]
    Closed,
    /// No request came for longer than the timeout, or nobody knows the session.
    #[error("the session has timed out")]
    TimedOut,
    /// The server's own certificate or key is missing or unusable.
    #[error("the server cannot sign with policy {0}")]
    CannotSign(Policy),
}

impl Refusal {
    /// What the client is told.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::AnotherCertificate => StatusCode::BadSecurityChecksFailed,
            Self::ApplicationUri { .. } => StatusCode::BadCertificateUriInvalid,
            Self::Nonce { .. } | Self::NonceUsed => StatusCode::BadNonceInvalid,
            Self::ClientSignature => StatusCode::BadApplicationSignatureInvalid,
            Self::Token(TokenError::Signature) => StatusCode::BadUserSignatureInvalid,
            Self::Token(TokenError::NotOffered) => StatusCode::BadIdentityTokenRejected,
            Self::Token(_) => StatusCode::BadIdentityTokenInvalid,
            Self::AnotherUser => StatusCode::BadIdentityChangeNotSupported,
            Self::AnotherChannel { .. } => StatusCode::BadSecureChannelIdInvalid,
            Self::NotActivated => StatusCode::BadSessionNotActivated,
            Self::Closed => StatusCode::BadSessionClosed,
            Self::TimedOut => StatusCode::BadSessionIdInvalid,
            Self::CannotSign(_) => StatusCode::BadConfigurationError,
        }
    }
}
