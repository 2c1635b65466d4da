//! Errors that the standard library has no name for.

use std::io::{Error, ErrorKind};

/// What this machine has no more of, if an error says that there is no descriptor left.
pub fn lack_of_files(error: &Error) -> Option<&'static str> {
    imp::lack_of_files(error)
}

/// Whether a connection that was asked for without waiting is on its way.
pub fn is_connecting(error: &Error) -> bool {
    error.kind() == ErrorKind::WouldBlock || imp::is_connecting(error)
}

/// Whether a datagram was dropped because the queue of an interface was full.
pub fn is_queue_full(error: &Error) -> bool {
    imp::is_queue_full(error)
}

#[cfg(unix)]
mod imp {
    use rustix::io::Errno;

    use super::Error;

    pub fn lack_of_files(error: &Error) -> Option<&'static str> {
        match Errno::from_io_error(error)? {
            Errno::MFILE => {
                Some("this process may open no more files and sockets (EMFILE, ulimit -n)")
            }
            Errno::NFILE => Some("this machine has no more files and sockets (ENFILE)"),
            _ => None,
        }
    }

    pub fn is_connecting(error: &Error) -> bool {
        Errno::from_io_error(error) == Some(Errno::INPROGRESS)
    }

    pub fn is_queue_full(error: &Error) -> bool {
        Errno::from_io_error(error) == Some(Errno::NOBUFS)
    }
}

/// By the numbers of Winsock.
#[cfg(windows)]
mod imp {
    use super::Error;

    const WSAEMFILE: i32 = 10024;
    const WSAENOBUFS: i32 = 10055;

    pub fn lack_of_files(error: &Error) -> Option<&'static str> {
        let lacks = error.raw_os_error() == Some(WSAEMFILE);
        lacks.then_some("this process may open no more sockets (WSAEMFILE)")
    }

    // It says WSAEWOULDBLOCK.
    pub fn is_connecting(_: &Error) -> bool {
        false
    }

    pub fn is_queue_full(error: &Error) -> bool {
        error.raw_os_error() == Some(WSAENOBUFS)
    }
}

#[cfg(not(any(unix, windows)))]
mod imp {
    use super::Error;

    pub fn lack_of_files(_: &Error) -> Option<&'static str> {
        None
    }

    pub fn is_connecting(_: &Error) -> bool {
        false
    }

    pub fn is_queue_full(_: &Error) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Their numbers on Linux, macOS and Windows.
    fn number(linux: i32, macos: i32, windows: i32) -> Error {
        Error::from_raw_os_error(match crate::System::HERE {
            crate::System::MacOs => macos,
            crate::System::Windows => windows,
            _ => linux,
        })
    }

    #[test]
    fn errors_are_known_by_the_numbers_of_this_system() {
        let files = number(24, 24, 10024);
        let connecting = number(115, 36, 10035);
        let full = number(105, 55, 10055);
        assert!(lack_of_files(&files).is_some_and(|it| it.contains("EMFILE")));
        assert!(is_connecting(&connecting) && !is_connecting(&full));
        assert!(is_queue_full(&full) && !is_queue_full(&files));
        assert_eq!(lack_of_files(&full), None);
    }
}
