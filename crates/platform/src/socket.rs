//! What sockets can do besides.

use std::io;

use socket2::Socket;

#[cfg(unix)]
pub use std::os::fd::AsFd as Descriptor;
#[cfg(windows)]
pub use std::os::windows::io::AsSocket as Descriptor;

/// Bytes that were read, and when the kernel had the last of them, in nanoseconds since 1970.
pub type Received = (usize, Option<u64>);

/// Room for what the kernel says of bytes, once it was asked to say when they came in.
#[derive(Debug)]
pub struct Stamps(imp::Stamps);

impl Stamps {
    /// Asks the kernel to say it of all these sockets; none where it does not.
    pub fn ask<'a, S: Descriptor + 'a>(mut sockets: impl Iterator<Item = &'a S>) -> Option<Self> {
        imp::Stamps::ask(&mut sockets).map(Self)
    }

    /// Reads from one of them.
    #[inline]
    pub fn receive(&mut self, from: &impl Descriptor, into: &mut [u8]) -> io::Result<Received> {
        self.0.receive(from, into)
    }
}

/// Has a socket become readable only when there are so many bytes; whether it does.
pub fn low_water(socket: &impl Descriptor, bytes: usize) -> bool {
    imp::low_water(socket, bytes)
}

/// Has a socket take no more than so many bytes that were not sent yet; elsewhere it is as much as its send buffer.
pub fn limit_unsent(socket: &impl Descriptor, bytes: u32) {
    imp::limit_unsent(socket, bytes);
}

/// Marks the packets of a socket over IPv4 with a class of traffic, or over IPv6: the byte that they have for it.
pub fn mark(socket: &Socket, is_v6: bool, class: u32) -> io::Result<()> {
    class::mark(socket, is_v6, class)
}

#[cfg(target_os = "linux")]
mod class {
    pub fn mark(socket: &super::Socket, is_v6: bool, class: u32) -> super::io::Result<()> {
        match is_v6 {
            false => socket.set_tos_v4(class),
            true => socket.set_tclass_v6(class),
        }
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
mod class {
    pub fn mark(socket: &super::Socket, is_v6: bool, class: u32) -> super::io::Result<()> {
        match is_v6 {
            false => socket.set_tos_v4(class),
            true => Err(super::unsupported(
                "the class of packets over IPv6 is set on Linux only",
            )),
        }
    }
}

// Windows takes the option and does nothing with it.
#[cfg(not(unix))]
mod class {
    pub fn mark(_: &super::Socket, _: bool, _: u32) -> super::io::Result<()> {
        Err(super::unsupported(
            "the class of packets is set by a policy of the system here (New-NetQosPolicy), and not by a program",
        ))
    }
}

#[cfg(not(target_os = "linux"))]
fn unsupported(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, what)
}

/// What the kernel says of sockets: its answer to a question of sock_diag(7).
#[derive(Debug)]
pub struct Diagnosis(imp::Diagnosis);

impl Diagnosis {
    /// Asks.
    pub fn ask(question: &[u8]) -> io::Result<Self> {
        imp::Diagnosis::ask(question).map(Self)
    }

    /// The next datagram of the answer. Behind the last there is none to wait for.
    pub fn next_part(&mut self) -> io::Result<&[u8]> {
        self.0.next_part()
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::io::{self, IoSliceMut};
    use std::os::fd::{AsFd, AsRawFd, OwnedFd};

    use nix::libc;
    use nix::sys::socket::{
        AddressFamily, ControlMessageOwned, MsgFlags, SetSockOpt, SockFlag, SockProtocol, SockType,
        recv, recvmsg, send, setsockopt, socket, sockopt,
    };
    use socket2::SockRef;

    use super::Received;

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

    #[derive(Debug)]
    pub struct Stamps(Vec<u8>);

    impl Stamps {
        pub fn ask<'a, S: AsFd + 'a>(sockets: &mut dyn Iterator<Item = &'a S>) -> Option<Self> {
            let asked = sockets.map(|it| setsockopt(it, sockopt::ReceiveTimestampns, &true));
            let all = asked.fold(true, |all, asked| all & asked.is_ok());
            all.then(|| Self(nix::cmsg_space!(libc::timespec)))
        }

        #[inline]
        pub fn receive(&mut self, from: &impl AsFd, into: &mut [u8]) -> io::Result<Received> {
            let mut slices = [IoSliceMut::new(into)];
            let fd = from.as_fd().as_raw_fd();
            let flags = MsgFlags::empty();
            let message = recvmsg::<()>(fd, &mut slices, Some(&mut self.0), flags)?;
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
    }

    #[derive(Debug)]
    pub struct Diagnosis {
        netlink: OwnedFd,
        buffer: Vec<u8>,
    }

    impl Diagnosis {
        pub fn ask(question: &[u8]) -> io::Result<Self> {
            let netlink = socket(
                AddressFamily::Netlink,
                SockType::Datagram,
                SockFlag::SOCK_CLOEXEC,
                SockProtocol::NetlinkSockDiag,
            )?;
            send(netlink.as_raw_fd(), question, MsgFlags::empty())?;
            Ok(Self {
                netlink,
                // The kernel fills datagrams of up to 32 KiB.
                buffer: vec![0; 64 << 10],
            })
        }

        pub fn next_part(&mut self) -> io::Result<&[u8]> {
            let flags = MsgFlags::empty();
            let read = recv(self.netlink.as_raw_fd(), &mut self.buffer, flags)?;
            Ok(self.buffer.get(..read).unwrap_or_default())
        }
    }

    pub fn low_water(socket: &impl AsFd, bytes: usize) -> bool {
        LowWater.set(socket, &bytes).is_ok()
    }

    pub fn limit_unsent(socket: &impl AsFd, bytes: u32) {
        // Where a kernel does not know it, it is as elsewhere.
        let _ = SockRef::from(socket).set_tcp_notsent_lowat(bytes);
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::io;

    use super::{Descriptor, Received, unsupported};

    #[derive(Debug)]
    pub enum Stamps {}

    impl Stamps {
        pub fn ask<'a, S: Descriptor + 'a>(_: &mut dyn Iterator<Item = &'a S>) -> Option<Self> {
            None
        }

        pub fn receive(&mut self, _: &impl Descriptor, _: &mut [u8]) -> io::Result<Received> {
            match *self {}
        }
    }

    #[derive(Debug)]
    pub enum Diagnosis {}

    impl Diagnosis {
        pub fn ask(_: &[u8]) -> io::Result<Self> {
            Err(unsupported(
                "the kernel is asked for its sockets on Linux only",
            ))
        }

        pub fn next_part(&mut self) -> io::Result<&[u8]> {
            match *self {}
        }
    }

    pub fn low_water(_: &impl Descriptor, _: usize) -> bool {
        false
    }

    pub fn limit_unsent(_: &impl Descriptor, _: u32) {}
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::time::{SystemTime, UNIX_EPOCH};

    use socket2::{Domain, Type};

    use super::*;
    use crate::System;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (one, listener.accept().unwrap().0)
    }

    #[test]
    fn bytes_have_the_time_at_which_the_kernel_had_them_where_it_says_so() {
        let (mut one, other) = pair();
        let stamps = Stamps::ask([&other].into_iter());
        assert_eq!(stamps.is_some(), System::IS_LINUX);
        let Some(mut stamps) = stamps else { return };
        let now = || {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap()
                .as_nanos() as u64
        };
        let mut stamped = None;
        let mut into = [0; 16];
        // The kernel begins to stamp a moment after the first socket of the host that asks for it.
        for _ in 0..1000 {
            let before = now();
            one.write_all(b"hello").unwrap();
            let (count, stamp) = stamps.receive(&other, &mut into).unwrap();
            assert_eq!(&into[..count], b"hello");
            stamped = stamp.map(|stamp| (before, stamp, now()));
            if stamped.is_some() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let (before, stamp, after) = stamped.unwrap();
        // The clock may be set in between, by a little.
        let second = 1_000_000_000;
        assert!((before - second..after + second).contains(&stamp));
    }

    #[test]
    fn a_low_water_mark_is_set_where_there_are_any() {
        let (one, _other) = pair();
        assert_eq!(low_water(&one, 100), System::IS_LINUX);
        limit_unsent(&one, 1 << 16);
    }

    #[test]
    fn packets_are_marked_or_it_is_refused() {
        for (domain, is_v6) in [(Domain::IPV4, false), (Domain::IPV6, true)] {
            let Ok(socket) = Socket::new(domain, Type::DGRAM, None) else {
                // A machine without IPv6.
                assert!(is_v6);
                continue;
            };
            let marked = mark(&socket, is_v6, 46 << 2).map_err(|error| error.kind());
            match System::IS_LINUX || cfg!(unix) && !is_v6 {
                true => assert_eq!(marked, Ok(())),
                false => assert_eq!(marked, Err(io::ErrorKind::Unsupported)),
            }
        }
    }
}
