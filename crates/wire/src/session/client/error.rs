use opcua_types::{StatusCode, UserTokenType};

use crate::certificate::CertificateError;
use crate::policy::{KeyUseError, Policy};
use crate::session::token::HideError;

/// Why a session cannot be had, as the client sees it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The server said no.
    #[error("the server refused {service}: {}", .status.sub_code().description())]
    Refused {
        /// What was asked for.
        service: &'static str,
        /// The server's answer.
        status: StatusCode,
    },
    /// The certificate in the response is not the channel's (Part 4, 5.7.2.2).
    #[error("the server shows the session another certificate than the channel")]
    AnotherServer,
    /// The certificate in the response cannot be read.
    #[error("the server's certificate is unusable: {0}")]
    Certificate(#[from] CertificateError),
    /// The server did not prove to hold its certificate's key.
    #[error("the server's signature is wrong: it does not hold the key of its certificate")]
    Signature,
    /// Too short to be signed safely (Part 4, 5.7.2.2).
    #[error("a nonce of {len} bytes from the server is too short to be signed")]
    Nonce {
        /// The length that came.
        len: usize,
    },
    /// Somebody changed the list on its way, or the server is not consistent (Part 4, 5.7.2.1).
    #[error("the server's endpoints are not those that discovery gave: {0}")]
    Endpoints(String),
    /// The endpoint offers no policy for these credentials.
    #[error("the endpoint takes no {0:?} tokens (it takes {1})")]
    NotOffered(UserTokenType, String),
    /// The policy for these credentials is one we do not have.
    #[error("the user token is to be protected with {0}, which is not supported")]
    TokenPolicy(String),
    /// The secret would travel in the open.
    #[error("the password would be sent unencrypted, which has to be allowed")]
    PlainSecret,
    /// A secret is to be encrypted for a server whose certificate is not known to be trusted
    /// (Part 4, 7.41.2.1).
    #[error("the secret needs the server's certificate, and none has been trusted")]
    NotTrusted,
    /// A policy other than None without certificate and key.
    #[error("policy {0} needs a certificate and key of this application")]
    NoIdentity(Policy),
    /// Our key does not do.
    #[error(transparent)]
    Key(#[from] KeyUseError),
    /// The server's ephemeral key is missing or no good, so that a secret cannot be hidden.
    #[error(transparent)]
    Hide(HideError),
    /// The step does not follow from the one before.
    #[error("the session is {0}")]
    State(&'static str),
}

impl SessionError {
    /// The status code to count and report it by.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Refused { status, .. } => *status,
            Self::Certificate(_) => StatusCode::BadCertificateInvalid,
            Self::AnotherServer | Self::Endpoints(_) | Self::NotTrusted => {
                StatusCode::BadSecurityChecksFailed
            }
            Self::Signature => StatusCode::BadApplicationSignatureInvalid,
            Self::Nonce { .. } => StatusCode::BadNonceInvalid,
            Self::NotOffered(..) => StatusCode::BadIdentityTokenRejected,
            Self::TokenPolicy(_) => StatusCode::BadSecurityPolicyRejected,
            Self::PlainSecret => StatusCode::BadSecurityModeInsufficient,
            Self::NoIdentity(_) | Self::Key(_) => StatusCode::BadConfigurationError,
            Self::Hide(_) => StatusCode::BadSecurityChecksFailed,
            Self::State(_) => StatusCode::BadInvalidState,
        }
    }
}

impl From<HideError> for SessionError {
    fn from(error: HideError) -> Self {
        match error {
            HideError::Key(error) => Self::Key(error),
            HideError::NoIdentity(policy) => Self::NoIdentity(policy),
            other => Self::Hide(other),
        }
    }
}
