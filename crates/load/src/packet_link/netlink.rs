//! Addresses, routes and flags of network interfaces, by rtnetlink.
//!
//! Four requests, each answered by a code. The layouts are those of `linux/netlink.h`, `linux/rtnetlink.h`,
//! `linux/if_link.h` and `linux/if_addr.h`; numbers are of the host's byte order.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;
/// The type of an answer with a code.
const ERROR: u16 = 2;

/// It is a request, and wants an answer.
const ASK: u16 = 1 | 4;
/// What it names is to be made, and must not be there.
const CREATE: u16 = 0x400 | 0x200;

const INTERFACE_UP: u32 = 1;
const QUEUE: u16 = 13;
const LOCAL: u16 = 2;
const ADDRESS: u16 = 1;
const ADDRESS_FLAGS: u16 = 8;
/// The address is used at once: nobody else can have it.
const NO_DUPLICATE_DETECTION: u32 = 2;
const OUT_INTERFACE: u16 = 4;
const MAIN_TABLE: u8 = 254;
const STATIC: u8 = 4;
const SCOPE_LINK: u8 = 253;
const UNICAST: u8 = 1;

/// The bytes in front of each message.
const HEAD: usize = 16;

/// A conversation with the kernel about the interfaces of the calling thread's network namespace.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    number: u32,
}

impl Netlink {
    pub fn open() -> io::Result<Self> {
        // Protocol 0 is NETLINK_ROUTE.
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        Ok(Self { socket, number: 0 })
    }

    /// Switches an interface on.
    pub fn up(&mut self, interface: u32) -> io::Result<()> {
        let mut message = Message::new(NEW_LINK, ASK);
        // Family, padding, type of device.
        message.put(&[0, 0, 0, 0]);
        message.number(interface);
        message.number(INTERFACE_UP);
        message.number(INTERFACE_UP);
        self.ask(message)
    }

    /// How many packets may wait for an interface. The request of ioctl is for the host's root alone.
    pub fn queue(&mut self, interface: u32, packets: u32) -> io::Result<()> {
        let mut message = Message::new(NEW_LINK, ASK);
        message.put(&[0, 0, 0, 0]);
        message.number(interface);
        message.number(0);
        message.number(0);
        message.attribute(QUEUE, &packets.to_ne_bytes());
        self.ask(message)
    }

    /// Gives an interface an address.
    pub fn address(&mut self, interface: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
        let mut message = Message::new(NEW_ADDRESS, ASK | CREATE);
        message.put(&[family(address), prefix, 0, 0]);
        message.number(interface);
        match address {
            IpAddr::V4(it) => {
                message.attribute(LOCAL, &it.octets());
                message.attribute(ADDRESS, &it.octets());
            }
            IpAddr::V6(it) => {
                message.attribute(ADDRESS, &it.octets());
                message.attribute(ADDRESS_FLAGS, &NO_DUPLICATE_DETECTION.to_ne_bytes());
            }
        }
        self.ask(message)
    }

    /// All that has no other way goes by this interface; `like` says of which family.
    pub fn default_route(&mut self, interface: u32, like: IpAddr) -> io::Result<()> {
        let mut message = Message::new(NEW_ROUTE, ASK | CREATE);
        message.put(&[family(like), 0, 0, 0]);
        message.put(&[MAIN_TABLE, STATIC, SCOPE_LINK, UNICAST]);
        message.number(0);
        message.attribute(OUT_INTERFACE, &interface.to_ne_bytes());
        self.ask(message)
    }

    fn ask(&mut self, message: Message) -> io::Result<()> {
        self.number += 1;
        let bytes = message.done(self.number);
        let kernel = SocketAddrNetlink::new(0, 0);
        sendto(&self.socket, &bytes, SendFlags::empty(), &kernel)?;
        let mut answer = [0; 4096];
        loop {
            let (read, _) = recv(&self.socket, &mut answer[..], RecvFlags::empty())?;
            if let Some(code) = code(answer.get(..read).unwrap_or_default(), self.number) {
                return match code {
                    0 => Ok(()),
                    code => Err(io::Error::from_raw_os_error(-code)),
                };
            }
        }
    }
}

fn family(address: IpAddr) -> u8 {
    let family = match address {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    };
    // Both are small: 2 and 10.
    u8::try_from(family.as_raw()).unwrap_or_default()
}

/// The code in an answer to the request of this number.
fn code(answer: &[u8], to: u32) -> Option<i32> {
    let number = |at: usize| -> Option<[u8; 4]> { answer.get(at..at + 4)?.try_into().ok() };
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let ours = u32::from_ne_bytes(number(8)?) == to;
    (kind == ERROR && ours).then_some(i32::from_ne_bytes(number(HEAD)?))
}

/// A message that is being written.
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn new(kind: u16, flags: u16) -> Self {
        let mut bytes = vec![0; 4];
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.resize(HEAD, 0);
        Self { bytes }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    fn number(&mut self, number: u32) {
        self.put(&number.to_ne_bytes());
    }

    /// Length, type, value, and padding to four bytes.
    fn attribute(&mut self, kind: u16, value: &[u8]) {
        let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
        self.put(&length.to_ne_bytes());
        self.put(&kind.to_ne_bytes());
        self.put(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn done(mut self, number: u32) -> Vec<u8> {
        let length = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        for (at, value) in [(0, length), (8, number)] {
            if let Some(place) = self.bytes.get_mut(at..at + 4) {
                place.copy_from_slice(&value.to_ne_bytes());
            }
        }
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_has_no_interface_for_is_an_error_with_its_code() {
        let mut netlink = Netlink::open().unwrap();
        let error = netlink.address(0x7fff_fff0, [198, 18, 0, 1].into(), 30);
        let code = error.unwrap_err().raw_os_error();
        // No such device; without the right to ask, that is said first.
        assert!(matches!(code, Some(19 | 1)), "{code:?}");
    }

    #[test]
    fn a_message_is_laid_out_as_the_kernel_reads_it() {
        let mut message = Message::new(NEW_ADDRESS, ASK | CREATE);
        message.put(&[2, 30, 0, 0]);
        message.number(7);
        message.attribute(LOCAL, &[198, 18, 0, 1]);
        message.attribute(ADDRESS, &[1]);
        let bytes = message.done(3);
        assert_eq!(bytes.len(), 16 + 8 + 8 + 8);
        assert_eq!(bytes[0..4], 40u32.to_ne_bytes());
        assert_eq!(bytes[8..12], 3u32.to_ne_bytes());
        assert_eq!(bytes[24..26], 8u16.to_ne_bytes());
        assert_eq!(bytes[32..34], 5u16.to_ne_bytes());
        assert_eq!(bytes[36..], [1, 0, 0, 0]);
    }
}
