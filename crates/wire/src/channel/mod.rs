//! SecureChannels (Part 4, 5.6; Part 6, 6.7): what both roles need to protect chunks, prove
//! their order and exchange keys.
//!
//! [`secure`] is the channel and where it is in its life, [`established`] what there is of it once it has keys, [`stream`] the buffers around it,
//! [`asymmetric`] the OPN message with its certificates, [`symmetric`] everything after it,
//! [`tokens`] the keys and how long they live, [`KeyLog`] who else is given them, [`sequence`] the order of chunks, [`assembly`]
//! messages put together from several chunks.

pub mod assembly;
pub mod asymmetric;
pub mod established;
pub mod exchange;
mod key_log;
pub mod secure;
pub mod sequence;
pub mod stream;
pub mod symmetric;
pub mod tokens;

use std::borrow::Cow;
use std::sync::Arc;

use opcua_types::StatusCode;
use thiserror::Error;

use crate::budget::Spent;
use crate::certificate::Certificate;
pub use key_log::{KeyLog, TokenKeys};
pub use secure::SecureChannel;
pub use stream::SendError;

pub use crate::policy::DirectionKeys;

use crate::frame::{ErrorMessage, FrameError};
use crate::policy::{AgreeError, Mode, Policy, PrivateKey};

/// What one side brings into a SecureChannel.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The application instance certificate, with its issuers if it has any.
    pub certificate: Certificate,
    /// The key that belongs to it.
    pub key: PrivateKey,
}

/// What a server brings: a certificate with its key for each kind of key that its policies want, one of RSA and one
/// for each curve. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub struct Identities(Arc<[Identity]>);

impl Identities {
    /// The first whose key a policy takes; for [`Policy::None`], which takes none, the first of all.
    pub fn of(&self, policy: Policy) -> Option<&Identity> {
        match policy {
            Policy::None => self.0.first(),
            _ => self
                .0
                .iter()
                .find(|it| it.certificate.public_key().curve() == policy.curve()),
        }
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Identity> {
        self.0.iter()
    }

    /// Whether there is none: nothing can be secured then.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Option<Identity>> for Identities {
    fn from(identity: Option<Identity>) -> Self {
        identity.into_iter().collect()
    }
}

impl FromIterator<Identity> for Identities {
    fn from_iter<T: IntoIterator<Item = Identity>>(all: T) -> Self {
        Self(all.into_iter().collect())
    }
}

/// The protection of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Protection {
    /// The algorithms.
    pub policy: Policy,
    /// Which of them are applied to messages.
    pub mode: Mode,
}

impl Protection {
    /// No protection at all.
    pub const NONE: Self = Self {
        policy: Policy::None,
        mode: Mode::None,
    };

    /// Policy None goes with mode None and only with it.
    pub fn is_consistent(self) -> bool {
        (self.policy == Policy::None) == (self.mode == Mode::None)
    }
}

impl std::fmt::Display for Protection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.policy == Policy::None {
            return f.write_str("None");
        }
        write!(f, "{}:{}", self.policy, self.mode)
    }
}

/// Why a connection ended. What is known here is told in full; what goes on the wire is
/// [`wire_status`](Self::wire_status).
#[derive(Debug, Clone, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChannelError {
    /// The bytes are no frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A frame that is good in itself came at the wrong time.
    #[error("{0}")]
    Unexpected(Cow<'static, str>),
    /// A signature, a padding or a decryption failed. Which one is for the log, never for the
    /// peer (Part 6, 6.7.2 and Part 4, 6.1.3: attackers must not learn it).
    #[error("security checks failed: {0}")]
    Security(Cow<'static, str>),
    /// The peer's certificate was refused, here.
    #[error("the peer's certificate was refused: {}", .0.sub_code().description())]
    Certificate(StatusCode),
    /// The policy is unknown or not offered.
    #[error("security policy {0} is not offered")]
    Policy(String),
    /// The mode is not offered with this policy.
    #[error("security mode {0} is not offered")]
    Mode(String),
    /// The nonce is shorter than the policy asks for.
    #[error("a nonce of {got} bytes (want {want})")]
    Nonce {
        /// What the policy asks for.
        want: usize,
        /// What came.
        got: usize,
    },
    /// The server's certificate, judged by the client before it opens or renews the channel.
    #[error("the server's certificate is not accepted: {why}")]
    Server {
        /// The code for it.
        status: StatusCode,
        /// What a person should read.
        why: String,
    },
    /// The peer's nonce is no public key on the policy's curve, or no key could be made.
    #[error(transparent)]
    Agree(#[from] AgreeError),
    /// A renewal with the nonce of the token before (Part 4, 5.6.2.2: none is used twice). Older ones are not kept.
    #[error("the nonce of the token before was used again")]
    NonceUsedTwice,
    /// The chunk names another channel.
    #[error("the chunk is for channel {got}, this is channel {want}")]
    ChannelId {
        /// This channel.
        want: u32,
        /// The one named.
        got: u32,
    },
    /// The token is not known (any more) or has expired.
    #[error("security token {0} is not known or has expired")]
    Token(u32),
    /// Chunks lost, repeated or exchanged.
    #[error(transparent)]
    Sequence(#[from] sequence::OutOfSequence),
    /// A message larger than was agreed on.
    #[error("a message of {bytes} bytes in {chunks} chunks is more than was agreed on")]
    TooLarge {
        /// Bytes so far.
        bytes: usize,
        /// Chunks so far.
        chunks: u32,
    },
    /// There is no memory for what the peer sends.
    #[error(transparent)]
    Memory(#[from] Spent),
    /// The body of an OPN or CLO message does not decode.
    #[error("{0}")]
    Malformed(Cow<'static, str>),
    /// The peer said why it closes.
    #[error("the peer ended the connection: {}", reason(.0))]
    Peer(ErrorMessage),
    /// The peer answered OPN with a fault.
    #[error("opening the secure channel failed: {0}")]
    Refused(StatusCode),
    /// A step took too long.
    #[error("timed out while {0}")]
    Timeout(&'static str),
    /// Asked for here, without any fault.
    #[error("closed")]
    Closed,
}

fn reason(message: &ErrorMessage) -> String {
    if message.reason.is_empty() {
        message.status.to_string()
    } else {
        format!("{} ({})", message.status, message.reason)
    }
}

impl ChannelError {
    /// The exact code, for the log and the user.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Frame(error) => error.status(),
            Self::Unexpected(_) => StatusCode::BadTcpMessageTypeInvalid,
            Self::Security(_) => StatusCode::BadSecurityChecksFailed,
            Self::Certificate(status) | Self::Refused(status) | Self::Server { status, .. } => {
                *status
            }
            Self::Policy(_) => StatusCode::BadSecurityPolicyRejected,
            Self::Mode(_) => StatusCode::BadSecurityModeRejected,
            Self::Nonce { .. } | Self::NonceUsedTwice | Self::Agree(_) => {
                StatusCode::BadNonceInvalid
            }
            Self::ChannelId { .. } => StatusCode::BadTcpSecureChannelUnknown,
            Self::Token(_) => StatusCode::BadSecureChannelTokenUnknown,
            Self::Sequence(_) => StatusCode::BadSequenceNumberInvalid,
            Self::TooLarge { .. } => StatusCode::BadTcpMessageTooLarge,
            Self::Memory(_) => StatusCode::BadTcpNotEnoughResources,
            Self::Malformed(_) => StatusCode::BadDecodingError,
            Self::Peer(message) => message.status,
            Self::Timeout(_) => StatusCode::BadTimeout,
            Self::Closed => StatusCode::BadConnectionClosed,
        }
    }

    /// The code for an ERR message. Whatever has to do with keys, certificates or the order of
    /// secured chunks is one general code: Part 4, 6.1.3 and Part 6, 6.7.6.
    pub fn wire_status(&self) -> StatusCode {
        match self {
            Self::Security(_)
            | Self::Certificate(_)
            | Self::Server { .. }
            | Self::Sequence(_)
            | Self::Nonce { .. }
            | Self::Agree(_)
            | Self::NonceUsedTwice => StatusCode::BadSecurityChecksFailed,
            other => other.status(),
        }
    }

    /// The ERR message to send.
    pub fn message(&self) -> ErrorMessage {
        ErrorMessage {
            status: self.wire_status(),
            reason: String::new(),
        }
    }
}

/// A source of random bytes for nonces; the crate has none of its own.
pub type Random = Box<dyn FnMut(&mut [u8]) + Send>;

/// The policies and modes a side offers are few: every policy with Sign and SignAndEncrypt.
pub fn all_protections() -> impl Iterator<Item = Protection> {
    Policy::ALL.into_iter().flat_map(|policy| {
        let modes: &[Mode] = match policy {
            Policy::None => &[Mode::None],
            _ => &[Mode::Sign, Mode::SignAndEncrypt],
        };
        modes.iter().map(move |&mode| Protection { policy, mode })
    })
}
