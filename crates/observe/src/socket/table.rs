//! The table of `/proc/PID/net/tcp`: addresses, states, lengths of queues, and nothing else.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Socket, TcpState};
use crate::figure::{Figure, NotAvailable};
use crate::tree::Tree;

/// All sockets of the network that a process lives in. `why` is the reason why no more is known of them.
pub fn all(tree: &Tree, id: u32, why: &NotAvailable) -> Figure<Vec<Socket>> {
    let mut all = Vec::new();
    let four = tree.text(&format!("/proc/{id}/net/tcp"))?;
    // A machine without IPv6 has no second table.
    let six = tree
        .text(&format!("/proc/{id}/net/tcp6"))
        .unwrap_or_default();
    for line in four.lines().chain(six.lines()) {
        all.extend(socket(line, why));
    }
    Ok(all)
}

/// `sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode …`; headings are none.
fn socket(line: &str, why: &NotAvailable) -> Option<Socket> {
    let mut words = line.split_whitespace().skip(1);
    let local = address(words.next()?)?;
    let remote = address(words.next()?)?;
    let state = TcpState::of(u8::from_str_radix(words.next()?, 16).ok()?);
    let (sends, receives) = words.next()?.split_once(':')?;
    let queue = |hex: &str| u64::from_str_radix(hex, 16).ok();
    Some(Socket {
        local,
        remote,
        state,
        inode: words.nth(4)?.parse().ok()?,
        receive_queue: queue(receives)?,
        send_queue: queue(sends)?,
        tcp: Err(why.clone()),
    })
}

/// `0100007F:12E8`: words of 32 bits as the machine has them in memory, so little end first here.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |n: usize| {
        let word = ip.get(n * 8..n * 8 + 8)?;
        Some(u32::from_str_radix(word, 16).ok()?.to_ne_bytes())
    };
    let ip = match ip.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let mut bytes = [0; 16];
            bytes
                .iter_mut()
                .zip(words.as_flattened())
                .for_each(|(to, from)| *to = *from);
            IpAddr::from(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const WHY: &str = "not asked";

    #[test]
    #[cfg(target_endian = "little")]
    fn a_line_says_addresses_state_queues_and_inode() {
        let line = "  1: 0100007F:12E8 0200A8C0:9C40 01 00000A00:00000200 01:00000014 00000000  \
                    1000 0 424242 2 0000000000000000 20 4 30 10 -1";
        let socket = socket(line, &NotAvailable::because(WHY)).unwrap();
        assert_eq!(socket.local, "127.0.0.1:4840".parse().unwrap());
        assert_eq!(socket.remote, "192.168.0.2:40000".parse().unwrap());
        assert_eq!(socket.state, TcpState::Established);
        assert_eq!((socket.send_queue, socket.receive_queue), (2560, 512));
        assert_eq!(socket.inode, 424_242);
        assert_eq!(socket.tcp.unwrap_err().reason(), WHY);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn an_address_of_ipv6_is_four_words() {
        let address = address("00000000000000000000000001000000:12E8").unwrap();
        assert_eq!(address, "[::1]:4840".parse().unwrap());
        assert_eq!(super::address("0100007F"), None);
    }
}
