//! Sockets for UADP in Ethernet frames (Part 14, 7.3.3), which Linux has: packets of an interface, whatever is in them.

use std::io;
use std::net::UdpSocket;

use super::arrivals::Link;
use super::datagram::Receiver;
use super::ethernet_url::{EthernetUrl, Host};
use super::frame::header;
use super::interface::Interface;

/// Why there is no such socket.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EthernetError {
    /// Frames go to an address.
    #[error("frames go to a MAC address: want opc.eth://01-00-5e-00-00-01 with --interface {0}")]
    NoAddress(String),
    /// An address is reached by an interface.
    #[error("by which interface? want one of this host: {0}")]
    NoInterface(String),
    /// There is none of that name or address.
    #[error("there is no interface {name}; this host has {all}")]
    Unknown {
        /// As asked for.
        name: String,
        /// Those that there are.
        all: String,
    },
    /// Two are named.
    #[error("the URL names the interface {0}, and another one is asked for: {1}")]
    Two(String, String),
    /// It needs a right.
    #[error("frames without IP need raw sockets, which are for root and for who has CAP_NET_RAW")]
    NotAllowed,
    /// Another system.
    #[error("PubSub over Ethernet needs packet sockets, which Linux has")]
    NotHere,
}

impl From<EthernetError> for io::Error {
    fn from(error: EthernetError) -> Self {
        let kind = match error {
            EthernetError::NotAllowed => io::ErrorKind::PermissionDenied,
            EthernetError::NotHere => io::ErrorKind::Unsupported,
            EthernetError::Unknown { .. } => io::ErrorKind::NotFound,
            _ => io::ErrorKind::InvalidInput,
        };
        Self::new(kind, error)
    }
}

/// The interface that is meant, of the URL or beside it.
fn meant(url: &EthernetUrl, beside: Option<&Interface>) -> io::Result<Interface> {
    match (&url.host, beside) {
        (Host::Interface(name), None) => Ok(Interface::Name(name.clone())),
        (Host::Interface(name), Some(Interface::Name(same))) if same == name => {
            Ok(Interface::Name(name.clone()))
        }
        (Host::Interface(name), Some(other)) => {
            Err(EthernetError::Two(name.clone(), other.to_string()).into())
        }
        (Host::Mac(_), Some(it)) => Ok(it.clone()),
        (Host::Mac(_), None) => Err(EthernetError::NoInterface(cards::names()?).into()),
    }
}

/// A socket that sends frames to an address, and what stands before each message.
pub fn sender(to: &EthernetUrl, interface: Option<&Interface>) -> io::Result<(UdpSocket, Vec<u8>)> {
    let Some(mac) = to.mac() else {
        let named = meant(to, None)?;
        return Err(EthernetError::NoAddress(named.to_string()).into());
    };
    let (socket, from) = cards::sender(&meant(to, interface)?)?;
    Ok((socket, header(mac, from, to.vlan)))
}

/// A socket that receives frames of UADP: those to an address, or all that come to an interface.
pub fn received(
    from: &EthernetUrl,
    interface: Option<&Interface>,
    buffer: usize,
) -> io::Result<Receiver> {
    let (socket, buffer, own) = cards::receiver(&meant(from, interface)?, from, buffer)?;
    Receiver::new(socket, buffer, Link::Frames(own))
}

/// Interfaces of this host, and their packets.
#[cfg(target_os = "linux")]
mod cards {
    use std::io;
    use std::mem::MaybeUninit;
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd;

    use nix::libc;
    use nix::sys::socket::{LinkAddr, bind, setsockopt};
    use nix::{setsockopt_impl, sockopt_impl};
    use platform::interface::name_of;
    use socket2::{Domain, Protocol, Socket, Type};

    use super::super::datagram::PATIENCE;
    use super::super::ethernet_url::EthernetUrl;
    use super::super::filter;
    use super::super::interface::Interface;
    use super::EthernetError;

    sockopt_impl!(
        /// The tag that a frame came with is told beside it; in the frame it is not any more.
        TagBeside,
        SetOnly,
        libc::SOL_PACKET,
        libc::PACKET_AUXDATA,
        bool
    );
    sockopt_impl!(
        /// Which frames the interface is to take, as long as the socket is there.
        Takes,
        SetOnly,
        libc::SOL_PACKET,
        libc::PACKET_ADD_MEMBERSHIP,
        libc::packet_mreq
    );

    /// An interface.
    struct Card {
        address: LinkAddr,
        name: String,
    }

    fn all() -> io::Result<impl Iterator<Item = Card>> {
        let all = nix::ifaddrs::getifaddrs()?;
        Ok(all.filter_map(|it| {
            let address = *it.address?.as_link_addr()?;
            let name = it.interface_name;
            Some(Card { address, name })
        }))
    }

    /// The names of all of them.
    pub fn names() -> io::Result<String> {
        let names: Vec<String> = all()?.map(|it| it.name).collect();
        Ok(names.join(", "))
    }

    fn find(interface: &Interface) -> io::Result<Card> {
        let name = match interface {
            Interface::Name(name) => Some(name.clone()),
            Interface::Address(address) => name_of(*address).ok(),
        };
        let found = all()?.find(|it| Some(&it.name) == name.as_ref());
        let unknown = || {
            let name = interface.to_string();
            // They only say what could be meant.
            let all = names().unwrap_or_default();
            EthernetError::Unknown { name, all }.into()
        };
        found.ok_or_else(unknown)
    }

    fn open(protocol: u16) -> io::Result<Socket> {
        let protocol = Protocol::from(i32::from(protocol.to_be()));
        Socket::new(Domain::PACKET, Type::RAW, Some(protocol)).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => EthernetError::NotAllowed.into(),
            _ => error,
        })
    }

    /// A socket for frames, and the address of the interface.
    pub fn sender(interface: &Interface) -> io::Result<(UdpSocket, [u8; 6])> {
        let card = find(interface)?;
        // Without a protocol nothing is received.
        let socket = open(0)?;
        bind(socket.as_raw_fd(), &card.address)?;
        // An interface without an address of its own, such as lo, has zeros.
        let from = card.address.addr().unwrap_or_default();
        Ok((socket.into(), from))
    }

    pub fn receiver(
        interface: &Interface,
        from: &EthernetUrl,
        buffer: usize,
    ) -> io::Result<(UdpSocket, usize, Vec<[u8; 6]>)> {
        let card = find(interface)?;
        // The kernel counts interfaces in an int, from 1.
        let index = u32::try_from(card.address.ifindex()).unwrap_or_default();
        // All protocols: of one alone frames come without their tags.
        let socket = open(libc::ETH_P_ALL as u16)?;
        socket.set_recv_buffer_size(buffer)?;
        socket.attach_filter(&filter::of(index, from))?;
        // What came before the filter was there.
        socket.set_nonblocking(true)?;
        let mut byte = [MaybeUninit::uninit()];
        for _ in 0..WAITED {
            if socket.recv(&mut byte).is_err() {
                break;
            }
        }
        socket.set_nonblocking(false)?;
        bind(socket.as_raw_fd(), &card.address)?;
        setsockopt(&socket, TagBeside, &true)?;
        setsockopt(&socket, Takes, &membership(index, from))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let buffer = socket.recv_buffer_size()?;
        let own = all()?.filter_map(|it| it.address.addr()).collect();
        Ok((socket.into(), buffer, own))
    }

    /// More packets do not wait in a socket that is new.
    const WAITED: usize = 1 << 16;

    /// A group is joined. What else is not this host's, an interface takes only when it takes all; and so it is for tags of
    /// VLANs that this host is not in.
    fn membership(index: u32, from: &EthernetUrl) -> libc::packet_mreq {
        let group = from
            .mac()
            .filter(|_| from.is_multicast() && from.vlan.is_none());
        let mut address = [0; 8];
        for (to, from) in address.iter_mut().zip(group.unwrap_or_default()) {
            *to = from;
        }
        debug_assert!(i32::try_from(index).is_ok());
        libc::packet_mreq {
            // It was one before.
            mr_ifindex: i32::try_from(index).unwrap_or_default(),
            mr_type: match group {
                Some(_) => libc::PACKET_MR_MULTICAST as u16,
                None => libc::PACKET_MR_PROMISC as u16,
            },
            mr_alen: 6,
            mr_address: address,
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod cards {
    use std::io;
    use std::net::UdpSocket;

    use super::super::ethernet_url::EthernetUrl;
    use super::super::interface::Interface;
    use super::EthernetError;

    pub fn names() -> io::Result<String> {
        Err(EthernetError::NotHere.into())
    }

    pub fn sender(_: &Interface) -> io::Result<(UdpSocket, [u8; 6])> {
        Err(EthernetError::NotHere.into())
    }

    pub fn receiver(
        _: &Interface,
        _: &EthernetUrl,
        _: usize,
    ) -> io::Result<(UdpSocket, usize, Vec<[u8; 6]>)> {
        Err(EthernetError::NotHere.into())
    }
}
