//! Whose doing it is that there is no session.

use std::io::ErrorKind;

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

/// What this machine has no more of, if that is why there is no connection.
pub(super) fn lack(error: &LinkError) -> Option<&'static str> {
    let (LinkError::Connect { error, .. } | LinkError::Io(error)) = error else {
        return None;
    };
    if error.kind() == ErrorKind::AddrNotAvailable {
        return Some("no port to connect from was left (EADDRNOTAVAIL)");
    }
    platform::error::lack_of_files(error)
}

/// The same of a session.
pub(super) fn lack_for(error: &AccessError) -> Option<&'static str> {
    match error {
        AccessError::Link(error)
        | AccessError::Call {
            error: CallError::Link(error),
            ..
        } => lack(error),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wire::frame::ErrorMessage;

    use super::*;
    use crate::transport::TransportStep;

    #[test]
    #[cfg(target_os = "linux")]
    fn what_this_machine_has_no_more_of_is_not_the_servers_doing() {
        use rustix::io::Errno;

        let address = ([127, 0, 0, 1], 4840).into();
        let told = |errno: Errno| {
            let error = std::io::Error::from(errno);
            lack_for(&LinkError::Connect { address, error }.into())
        };
        for errno in [Errno::MFILE, Errno::NFILE, Errno::ADDRNOTAVAIL] {
            assert!(told(errno).is_some(), "{errno}");
        }
        assert_eq!(told(Errno::HOSTUNREACH), None);
        assert_eq!(lack(&LinkError::Refused(address)), None);
    }

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
            step: TransportStep::CreateSession,
            error: CallError::Aborted(StatusCode::BadTooManySessions),
        }));
        assert!(!is_answer(&told(StatusCode::BadConnectionClosed)));
        assert!(!is_answer(&LinkError::Silent.into()));
        assert!(!is_answer(&AccessError::Call {
            step: TransportStep::CreateSession,
            error: CallError::TimedOut(Duration::from_secs(1)),
        }));
    }
}
