//! What does not come about: a session, a phase.

use plan::Seat;
use thiserror::Error;
use wire::types::StatusCode;

use crate::access::AccessError;
use crate::work::WorkError;

/// Why a session is not there.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// It could not be opened.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// What it is to do could not be prepared.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// Its socket failed.
    #[error(transparent)]
    Socket(#[from] std::io::Error),
    /// It was to be opened by another process, which says why it was not.
    #[error("{why}")]
    Elsewhere {
        /// The code that says it shortest.
        status: StatusCode,
        /// All of it.
        why: String,
    },
}

impl SessionError {
    /// The code that says it shortest.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Access(error) => error.status(),
            Self::Work(WorkError::Call(error)) => error.status(),
            Self::Work(WorkError::Node { status, .. }) => *status,
            Self::Work(_) => StatusCode::BadInternalError,
            Self::Elsewhere { status, .. } => *status,
            Self::Socket(_) => StatusCode::BadCommunicationError,
        }
    }
}

/// A session that could not be opened.
#[derive(Debug)]
pub struct Failed {
    /// Which.
    pub seat: Seat,
    /// Why.
    pub error: SessionError,
}

/// Why a phase could not be carried out at all.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// Not one session could be opened; the first of the reasons.
    #[error("{url}: {error}")]
    NoSession {
        /// With which target.
        url: String,
        /// Why.
        error: Box<SessionError>,
    },
    /// The system has no more threads or descriptors.
    #[error("cannot start a thread or a poll: {0}")]
    System(#[from] std::io::Error),
    /// A thread could not begin as it was to.
    #[error("{0}")]
    Start(String),
    /// A thread cannot be kept on the processor that was asked for.
    #[error("cannot keep a thread on processor {cpu}: {error}")]
    Pin {
        /// Which.
        cpu: usize,
        /// What the operating system said.
        error: std::io::Error,
    },
    /// A thread ended before its time.
    #[error("a thread of the generator ended before its time")]
    Thread,
}
