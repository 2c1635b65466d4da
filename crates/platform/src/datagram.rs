//! Datagrams that the kernel takes or hands over together, where it does: one call for all of them costs less than one for
//! each.

use std::io;
use std::net::{SocketAddr, UdpSocket};

/// So many are sent or taken together at most.
pub const MOST: usize = 32;

/// Bytes that go to the kernel together.
#[derive(Debug)]
pub struct Sender(imp::Sender);

impl Default for Sender {
    /// One that has sent nothing yet.
    fn default() -> Self {
        Self(imp::Sender::new())
    }
}

impl Sender {
    /// Sends some of these, at least one if there is any, each behind this header; how many.
    pub fn send(
        &mut self,
        socket: &UdpSocket,
        header: &[u8],
        all: &[Vec<u8>],
    ) -> io::Result<usize> {
        match (all, header) {
            ([], _) => Ok(0),
            ([only], []) => socket.send(only).map(|_| 1),
            _ => self.0.send(socket, header, all),
        }
    }
}

/// What the system says of a datagram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DatagramInfo {
    /// Its bytes.
    pub len: usize,
    /// When the kernel had it, in nanoseconds since 1970.
    pub stamp: Option<u64>,
    /// Who sent it, if it was sent over IP.
    pub from: Option<SocketAddr>,
    /// The tag of its VLAN that was taken out of a frame.
    pub tag: Option<u16>,
}

/// Datagrams that the kernel hands over together.
#[derive(Debug)]
pub struct Receiver(imp::Receiver);

impl Default for Receiver {
    /// One that has received nothing yet.
    fn default() -> Self {
        Self(imp::Receiver::new())
    }
}

impl Receiver {
    /// Waits as long as the socket does for a datagram, and takes those that wait then, each into a place; what is told of
    /// each, in order.
    pub fn receive<'a>(
        &mut self,
        socket: &UdpSocket,
        places: impl Iterator<Item = &'a mut [u8]>,
        told: impl FnMut(DatagramInfo),
    ) -> io::Result<()> {
        self.0.receive(socket, places, told)
    }
}

/// Has the kernel say of each datagram when it had it, where it does.
pub fn stamp(socket: &UdpSocket) -> io::Result<()> {
    imp::stamp(socket)
}

/// Datagrams that the kernel dropped because there was no more room, until now; none if it does not say so.
pub fn drops(socket: &UdpSocket) -> Option<u64> {
    imp::drops(socket)
}

#[cfg(target_os = "linux")]
mod imp {
    use std::io::{self, IoSlice, IoSliceMut};
    use std::net::{SocketAddr, UdpSocket};
    use std::os::fd::AsRawFd;

    use nix::errno::Errno;
    use nix::libc;
    use nix::sys::socket::{
        ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, RecvMsg, SockaddrStorage,
        getsockopt, recvmmsg, sendmmsg, setsockopt, sockopt,
    };
    use nix::{getsockopt_impl, sockopt_impl};

    use super::{DatagramInfo, MOST};

    #[derive(Debug)]
    pub struct Sender(MultiHeaders<()>);

    impl Sender {
        pub fn new() -> Self {
            Self(MultiHeaders::preallocate(MOST, None))
        }

        pub fn send(
            &mut self,
            socket: &UdpSocket,
            header: &[u8],
            all: &[Vec<u8>],
        ) -> io::Result<usize> {
            let bytes = |n: usize| all.get(n).map_or(&[][..], Vec::as_slice);
            let parts: [[IoSlice<'_>; 2]; MOST] =
                std::array::from_fn(|n| [IoSlice::new(header), IoSlice::new(bytes(n))]);
            let skipped = usize::from(header.is_empty());
            let slices: [&[IoSlice<'_>]; MOST] = std::array::from_fn(|n| {
                parts.get(n).and_then(|it| it.get(skipped..)).unwrap_or(&[])
            });
            let slices = slices.iter().take(all.len());
            // The socket is connected, or the header says where to.
            let to: [Option<()>; MOST] = [None; MOST];
            let none: [ControlMessage<'_>; 0] = [];
            let flags = MsgFlags::empty();
            let sent = sendmmsg(socket.as_raw_fd(), &mut self.0, slices, to, none, flags)?;
            Ok(sent.count())
        }
    }

    #[derive(Debug)]
    pub struct Receiver(MultiHeaders<SockaddrStorage>);

    impl Receiver {
        pub fn new() -> Self {
            // A time, and of frames their tag. These always come, and nothing else does: the kernel notes how much
            // came where it finds how much room there is the next time, and `nix` leaves it so.
            let room = nix::cmsg_space!(libc::timespec, [u8; BESIDE]);
            Self(MultiHeaders::preallocate(MOST, Some(room)))
        }

        pub fn receive<'a>(
            &mut self,
            socket: &UdpSocket,
            mut places: impl Iterator<Item = &'a mut [u8]>,
            told: impl FnMut(DatagramInfo),
        ) -> io::Result<()> {
            let mut slices: [[IoSliceMut<'_>; 1]; MOST] =
                std::array::from_fn(|_| [IoSliceMut::new(places.next().unwrap_or_default())]);
            let (fd, flags) = (socket.as_raw_fd(), MsgFlags::MSG_WAITFORONE);
            match recvmmsg(fd, &mut self.0, &mut slices, flags, None) {
                Ok(messages) => messages.map(|it| of(&it)).for_each(told),
                Err(Errno::EAGAIN | Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
            Ok(())
        }
    }

    /// What the kernel says of a datagram.
    fn of(message: &RecvMsg<'_, '_, SockaddrStorage>) -> DatagramInfo {
        let (mut stamp, mut tag) = (None, None);
        for it in message.cmsgs().into_iter().flatten() {
            match it {
                ControlMessageOwned::ScmTimestampns(at) => {
                    stamp = u64::try_from(at.tv_sec())
                        .ok()
                        .zip(u64::try_from(at.tv_nsec()).ok())
                        .map(|(seconds, nanos)| seconds * 1_000_000_000 + nanos);
                }
                ControlMessageOwned::Unknown(it) => tag = beside(&it.data_bytes),
                _ => {}
            }
        }
        let from = message.address.and_then(|it| {
            let four = it.as_sockaddr_in();
            let four = four.map(|it| SocketAddr::from((it.ip(), it.port())));
            let six = it.as_sockaddr_in6();
            four.or_else(|| six.map(|it| SocketAddr::from((it.ip(), it.port()))))
        });
        DatagramInfo {
            len: message.bytes,
            stamp,
            from,
            tag,
        }
    }

    /// Bytes of what is told beside a frame (`tpacket_auxdata`).
    const BESIDE: usize = 20;

    /// The tag that the kernel took out of a frame.
    fn beside(data: &[u8]) -> Option<u16> {
        let data: &[u8; BESIDE] = data.first_chunk()?;
        let (status, rest) = data.split_first_chunk()?;
        let (tag, _) = rest.get(12..)?.split_first_chunk()?;
        let has_tag = u32::from_ne_bytes(*status) & libc::TP_STATUS_VLAN_VALID != 0;
        has_tag.then(|| u16::from_ne_bytes(*tag))
    }

    pub fn stamp(socket: &UdpSocket) -> io::Result<()> {
        Ok(setsockopt(socket, sockopt::ReceiveTimestampns, &true)?)
    }

    sockopt_impl!(
        /// What a socket's memory is used for; the last of it is what was dropped for want of it. It is the counter that
        /// the kernel puts beside datagrams with `SO_RXQ_OVFL`; asked for itself it says what was dropped after the last
        /// datagram, too.
        Memory,
        GetOnly,
        libc::SOL_SOCKET,
        libc::SO_MEMINFO,
        [u32; 9]
    );

    pub fn drops(socket: &UdpSocket) -> Option<u64> {
        let [.., drops] = getsockopt(socket, Memory).ok()?;
        Some(drops.into())
    }
}

/// One after another elsewhere.
#[cfg(not(target_os = "linux"))]
mod imp {
    use std::io::{self, ErrorKind};
    use std::net::UdpSocket;

    use super::DatagramInfo;

    #[derive(Debug)]
    pub struct Sender;

    impl Sender {
        pub fn new() -> Self {
            Self
        }

        pub fn send(
            &mut self,
            socket: &UdpSocket,
            header: &[u8],
            all: &[Vec<u8>],
        ) -> io::Result<usize> {
            let Some(first) = all.first() else {
                return Ok(0);
            };
            match header.is_empty() {
                true => socket.send(first).map(|_| 1),
                false => socket.send(&[header, first].concat()).map(|_| 1),
            }
        }
    }

    #[derive(Debug)]
    pub struct Receiver;

    impl Receiver {
        pub fn new() -> Self {
            Self
        }

        pub fn receive<'a>(
            &mut self,
            socket: &UdpSocket,
            mut places: impl Iterator<Item = &'a mut [u8]>,
            mut told: impl FnMut(DatagramInfo),
        ) -> io::Result<()> {
            match socket.recv_from(places.next().unwrap_or_default()) {
                Ok((len, from)) => told(DatagramInfo {
                    len,
                    from: Some(from),
                    ..DatagramInfo::default()
                }),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                    _ => return Err(error),
                },
            }
            Ok(())
        }
    }

    // Whoever asks is told when it was read instead.
    pub fn stamp(_: &UdpSocket) -> io::Result<()> {
        Ok(())
    }

    pub fn drops(_: &UdpSocket) -> Option<u64> {
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::System;

    #[test]
    fn datagrams_come_as_they_were_sent_each_with_its_sender() {
        let to = UdpSocket::bind("127.0.0.1:0").unwrap();
        to.set_read_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        stamp(&to).unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(to.local_addr().unwrap()).unwrap();
        let all: Vec<Vec<u8>> = (1..=20).map(|n| vec![n; usize::from(n)]).collect();
        let mut sender = Sender::default();
        let mut at = 0;
        while at < all.len() {
            at += sender.send(&socket, b"ab", &all[at..]).unwrap();
        }
        assert_eq!(sender.send(&socket, b"ab", &[]).unwrap(), 0);
        let mut receiver = Receiver::default();
        let mut room = vec![0; MOST * 64];
        let mut came = 0;
        while came < all.len() {
            let mut told = Vec::new();
            let places = room.chunks_mut(64);
            receiver.receive(&to, places, |it| told.push(it)).unwrap();
            assert!(!told.is_empty(), "{came}");
            for (it, bytes) in told.iter().zip(room.chunks(64)) {
                assert_eq!(bytes[..it.len], [b"ab", &all[came][..]].concat());
                assert_eq!(it.from, Some(socket.local_addr().unwrap()));
                assert_eq!(it.stamp.is_some(), System::IS_LINUX);
                came += 1;
            }
        }
        assert_eq!(drops(&to), System::IS_LINUX.then_some(0));
        let nothing = receiver.receive(&to, room.chunks_mut(64), |_| panic!("none is left"));
        nothing.unwrap();
    }
}
