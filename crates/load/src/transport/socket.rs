//! A socket that never blocks.

use std::io::{self, ErrorKind, Read, Write};

use capture::Tap;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use wss::Tunnel;

use super::Stream;

/// What reading brought.
#[derive(Debug)]
pub enum Got {
    /// So many bytes.
    Bytes {
        /// How many.
        n: usize,
        /// Whether there may be more.
        more: bool,
        /// When the kernel had the last of them, if it says so: nanoseconds since 1970.
        stamp: Option<u64>,
    },
    /// Nothing, for now.
    Nothing,
    /// The peer will not send any more.
    End,
}

/// A connected socket in a poll.
#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
    tap: Option<Box<Tap>>,
    /// What is around the chunks of UACP, where that is more than TCP.
    tunnel: Option<Box<Tunnel>>,
    /// The last read of what TLS protects may have left something behind.
    is_full: bool,
    #[cfg(target_os = "linux")]
    stamps: Option<Vec<u8>>,
}

impl Socket {
    /// Takes over a connected socket.
    pub fn new(mut stream: Stream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let (stream, tap, tunnel) = stream.take_apart();
        Ok(Self {
            stream: TcpStream::from_std(stream),
            tap,
            tunnel,
            is_full: true,
            #[cfg(target_os = "linux")]
            stamps: None,
        })
    }

    /// Has a poll tell of it under this token.
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(
            &mut self.stream,
            token,
            Interest::READABLE | Interest::WRITABLE,
        )
    }

    /// Has a poll forget it.
    pub fn deregister(&mut self, registry: &Registry) {
        // One that is not registered is none that rings.
        let _ = registry.deregister(&mut self.stream);
    }

    /// Reads once.
    #[inline]
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<Got> {
        let room = into.len();
        let (got, is_full) = match self.tunnel {
            None => {
                let got = self.receive(into);
                let is_full = got.as_ref().is_ok_and(|(n, _)| *n == room);
                (got, is_full)
            }
            Some(_) => self.receive_secured(into),
        };
        if let (Some(tap), Ok((n, _))) = (&mut self.tap, &got) {
            tap.received(into.get(..*n).unwrap_or_default());
        }
        match got {
            Ok((0, _)) => Ok(Got::End),
            // Less than there was room for: epoll(7) says that the socket is empty then.
            Ok((n, stamp)) => Ok(Got::Bytes {
                n,
                more: is_full || !cfg!(target_os = "linux"),
                stamp,
            }),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => Ok(Got::Nothing),
                ErrorKind::Interrupted => Ok(Got::Bytes {
                    n: 0,
                    more: is_full || self.tunnel.is_none(),
                    stamp: None,
                }),
                // How many servers close.
                ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => Ok(Got::End),
                _ => Err(error),
            },
        }
    }

    /// Writes what the socket takes.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let written = match &mut self.tunnel {
                None => self.stream.write(bytes),
                Some(tunnel) => tunnel.write(&mut self.stream, bytes),
            };
            match written {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => {
                    if let (Some(tap), Ok(n)) = (&mut self.tap, &result) {
                        tap.sent(bytes.get(..*n).unwrap_or_default());
                    }
                    return result;
                }
            }
        }
    }

    /// Gives the socket back, for blocking calls.
    pub fn into_inner(self) -> Stream {
        Stream::put_together((self.stream.into(), self.tap, self.tunnel))
    }
}

impl Socket {
    /// Reads what TLS protects, and gives the chunks that come of it: with the moment at which the kernel had the last of
    /// those bytes, and whether there may be more.
    fn receive_secured(&mut self, into: &mut [u8]) -> (io::Result<(usize, Option<u64>)>, bool) {
        let Some(mut tunnel) = self.tunnel.take() else {
            return (Err(ErrorKind::NotConnected.into()), false);
        };
        let (got, result) = tunnel.read_by(into, |space| {
            let got = self.receive(space)?;
            self.is_full = got.0 == space.len();
            Ok(got)
        });
        let stamp = got.and_then(|(_, stamp)| stamp);
        let result = (
            result.map(|n| (n, stamp)),
            self.is_full || tunnel.has_waiting(),
        );
        // An answer to a ping that does not go now goes with what is written next.
        let _ = tunnel.flush(&mut self.stream);
        self.tunnel = Some(tunnel);
        result
    }
}

#[cfg(not(target_os = "linux"))]
impl Socket {
    fn receive(&mut self, into: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        Ok((self.stream.read(into)?, None))
    }

    /// Asks the kernel to say when bytes came in. Not available here.
    pub fn stamp(&mut self) -> bool {
        false
    }

    /// Has the socket become readable only when there are so many bytes. Not available here.
    pub fn low_water(&self, _: usize) -> bool {
        false
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::IoSliceMut;
    use std::os::fd::AsRawFd;

    use nix::libc;
    use nix::sys::socket::{
        ControlMessageOwned, MsgFlags, SetSockOpt, recvmsg, setsockopt, sockopt,
    };

    use super::{Read, Socket, io};

    /// Bytes that have to be there before a socket is readable.
    #[derive(Clone, Copy)]
    struct LowWater;

    nix::setsockopt_impl!(
        LowWater,
        libc::SOL_SOCKET,
        libc::SO_RCVLOWAT,
        usize,
        sockopt::SetUsize
    );

    impl Socket {
        #[inline]
        pub(super) fn receive(&mut self, into: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
            let Some(control) = &mut self.stamps else {
                return Ok((self.stream.read(into)?, None));
            };
            let mut slices = [IoSliceMut::new(into)];
            let fd = self.stream.as_raw_fd();
            let flags = MsgFlags::empty();
            let message = recvmsg::<()>(fd, &mut slices, Some(control), flags)?;
            let stamp = message.cmsgs().ok().and_then(|mut all| {
                all.find_map(|it| match it {
                    ControlMessageOwned::ScmTimestampns(at) => {
                        let seconds = u64::try_from(at.tv_sec()).ok()?;
                        Some(seconds * 1_000_000_000 + u64::try_from(at.tv_nsec()).ok()?)
                    }
                    _ => None,
                })
            });
            Ok((message.bytes, stamp))
        }

        /// Asks the kernel to say when bytes came in.
        pub fn stamp(&mut self) -> bool {
            let on = setsockopt(&self.stream, sockopt::ReceiveTimestampns, &true).is_ok();
            self.stamps = on.then(|| nix::cmsg_space!(libc::timespec));
            on
        }

        /// Has the socket become readable only when there are so many bytes.
        pub fn low_water(&self, bytes: usize) -> bool {
            LowWater.set(&self.stream, &bytes).is_ok()
        }
    }
}
