//! Whose doing it is that there is no session.

use wire::channel::ChannelError;
use wire::types::StatusCode;

use crate::access::AccessError;
use crate::transport::{CallError, LinkError};

/// Whether the server said why, and so is there.
pub(super) fn is_answer(error: &AccessError) -> bool {
    match error {
        AccessError::Link(error)
        | AccessError::Call {
            error: CallError::Link(error),
            ..
        } => match error {
            LinkError::Channel(ChannelError::Timeout(_)) => false,
            // That is what is written down where the socket just ends.
            LinkError::Channel(ChannelError::Peer(told)) => {
                told.status != StatusCode::BadConnectionClosed
            }
            LinkError::Channel(_) => true,
            _ => false,
        },
        AccessError::Call {
            error: CallError::TimedOut(_),
            ..
        } => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wire::frame::ErrorMessage;

    use super::*;
    use crate::transport::Step;

    #[test]
    fn a_server_that_says_why_not_is_there() {
        let told = |status| {
            AccessError::from(LinkError::Channel(ChannelError::Peer(ErrorMessage {
                status,
                reason: "no".into(),
            })))
        };
        assert!(is_answer(&told(StatusCode::BadTcpServerTooBusy)));
        assert!(is_answer(&AccessError::Call {
            step: Step::CreateSession,
            error: CallError::Aborted(StatusCode::BadTooManySessions),
        }));
        assert!(!is_answer(&told(StatusCode::BadConnectionClosed)));
        assert!(!is_answer(&LinkError::Silent.into()));
        assert!(!is_answer(&AccessError::Call {
            step: Step::CreateSession,
            error: CallError::TimedOut(Duration::from_secs(1)),
        }));
    }
}
