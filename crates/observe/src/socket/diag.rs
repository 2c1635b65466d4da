//! The kernel asked for all TCP sockets by netlink (`sock_diag(7)`), with what TCP knows of each.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Socket, Tcp, TcpState};
use platform::socket::Diagnosis;

use crate::figure::{Figure, NotAvailable};

/// All sockets of the network that this process lives in.
pub fn all() -> Figure<Vec<Socket>> {
    let mut all = Vec::new();
    ask(&request(), |message| {
        let (sockets, more) = answers(message)?;
        all.extend(sockets);
        Ok(more)
    })?;
    Ok(all)
}

const INET: u8 = 2;

/// Of a netlink message.
const HEADER: usize = 16;
/// Of what describes a socket, without its attributes.
const DESCRIBED: usize = 72;
/// The attribute with what TCP knows.
const INFO: u16 = 2;

const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `TCPDIAG_GETSOCK`, the older question: its answer has IPv4 and IPv6, for which `SOCK_DIAG_BY_FAMILY` walks twice
/// through all sockets of the machine.
const TCP_OF_ANY_FAMILY: u16 = 18;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const DUMP: u16 = 0x301;

/// `inet_diag_req`: all states, all addresses.
fn request() -> Vec<u8> {
    const LENGTH: usize = 76;
    let mut bytes = Vec::with_capacity(LENGTH);
    bytes.extend(76_u32.to_ne_bytes());
    bytes.extend(TCP_OF_ANY_FAMILY.to_ne_bytes());
    bytes.extend(DUMP.to_ne_bytes());
    // Sequence number and port id: there is one question at a time.
    bytes.extend([0; 8]);
    bytes.extend([INET, 0, 0, 1 << (INFO - 1)]);
    bytes.resize(LENGTH - 8, 0);
    bytes.extend(u32::MAX.to_ne_bytes());
    bytes.resize(LENGTH, 0);
    bytes
}

/// The sockets in a datagram, and whether more are to come.
fn answers(mut bytes: &[u8]) -> Figure<(Vec<Socket>, bool)> {
    let mut sockets = Vec::new();
    let cut = || NotAvailable::because("an answer of sock_diag(7) is cut short");
    while bytes.len() >= HEADER {
        let length = u32_at(bytes, 0).ok_or_else(cut)? as usize;
        let body = bytes.get(HEADER..length).ok_or_else(cut)?;
        match u16_at(bytes, 4) {
            Some(DONE) => return Ok((sockets, false)),
            Some(ERROR) => {
                let number = u32_at(body, 0).map_or(0, |it| i32::from_ne_bytes(it.to_ne_bytes()));
                return Err(NotAvailable::because(format!(
                    "the kernel does not answer sock_diag(7): error {}",
                    number.saturating_abs()
                )));
            }
            Some(TCP_OF_ANY_FAMILY) => sockets.push(socket(body).ok_or_else(cut)?),
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok((sockets, true))
}

/// `inet_diag_msg`: family, state, timer, retransmissions; ports and addresses, big end first; expiry, queues,
/// user, inode; attributes.
fn socket(body: &[u8]) -> Option<Socket> {
    let family = *body.first()?;
    let address = |at: usize| -> Option<IpAddr> {
        Some(match family {
            INET => IpAddr::from(Ipv4Addr::from(
                <[u8; 4]>::try_from(body.get(at..at + 4)?).ok()?,
            )),
            _ => IpAddr::from(Ipv6Addr::from(
                <[u8; 16]>::try_from(body.get(at..at + 16)?).ok()?,
            )),
        })
    };
    let port = |at: usize| Some(u16::from_be_bytes(body.get(at..at + 2)?.try_into().ok()?));
    let state = TcpState::of(*body.get(1)?);
    let mut rest = body.get(DESCRIBED..)?;
    let mut tcp = None;
    while let (Some(length), Some(kind)) = (u16_at(rest, 0), u16_at(rest, 2)) {
        let length = usize::from(length);
        if kind == INFO {
            tcp = rest.get(4..length).and_then(info);
        }
        match rest.get(length.next_multiple_of(4)..) {
            Some(next) if length >= 4 => rest = next,
            _ => break,
        }
    }
    Some(Socket {
        local: SocketAddr::new(address(8)?, port(4)?),
        remote: SocketAddr::new(address(24)?, port(6)?),
        state,
        receive_queue: u32_at(body, 56)?.into(),
        send_queue: u32_at(body, 60)?.into(),
        inode: u32_at(body, 68)?.into(),
        tcp: match (state, tcp) {
            (TcpState::Listening, _) => {
                Err(NotAvailable::because("it listens and has no connection"))
            }
            (_, Some(tcp)) => Ok(tcp),
            (_, None) => Err(NotAvailable::because(
                "this kernel says less of TCP (4.19 and later do)",
            )),
        },
    })
}

/// `tcp_info` as Linux 4.19 has it; later ones are longer.
fn info(bytes: &[u8]) -> Option<Tcp> {
    let small = |at: usize| u32_at(bytes, at);
    let large = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    Some(Tcp {
        segment_bytes: small(16)?,
        rtt_us: small(68)?,
        rtt_variation_us: small(72)?,
        congestion_window: small(80)?,
        retransmissions: small(100)?,
        received_bytes: large(128)?,
        sent_segments: small(136)?,
        received_segments: small(140)?,
        not_sent_bytes: small(144)?,
        min_rtt_us: small(148)?,
        delivery_bytes_per_s: large(160)?,
        busy_us: large(168)?,
        receiver_limited_us: large(176)?,
        buffer_limited_us: large(184)?,
        sent_bytes: large(200)?,
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Sends a question, and gives each datagram of the answer to `take` until that wants no more.
fn ask(question: &[u8], mut take: impl FnMut(&[u8]) -> Figure<bool>) -> Figure<()> {
    let refused = |error: std::io::Error| {
        NotAvailable::because(format!("sock_diag(7) cannot be asked: {error}"))
    };
    let mut answer = Diagnosis::ask(question).map_err(refused)?;
    while take(answer.next_part().map_err(refused)?)? {}
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_error_of_the_kernel_and_a_datagram_cut_short_are_reasons() {
        let mut error = Vec::new();
        error.extend(20_u32.to_ne_bytes());
        error.extend(ERROR.to_ne_bytes());
        error.extend([0; 10]);
        error.extend((-2_i32).to_ne_bytes());
        assert!(answers(&error).unwrap_err().reason().contains("error 2"));
        let mut short = request();
        short.truncate(40);
        assert!(answers(&short).unwrap_err().reason().contains("cut short"));
        let mut done = error.clone();
        done[4..6].copy_from_slice(&DONE.to_ne_bytes());
        assert_eq!(answers(&done), Ok((Vec::new(), false)));
    }

    #[test]
    fn a_socket_without_what_tcp_knows_has_a_reason() {
        let mut body = vec![0; DESCRIBED];
        body[0] = INET;
        body[1] = 1;
        body[4..6].copy_from_slice(&4840_u16.to_be_bytes());
        body[8..12].copy_from_slice(&[127, 0, 0, 1]);
        body[56] = 7;
        let socket = socket(&body).unwrap();
        assert_eq!(socket.local, "127.0.0.1:4840".parse().unwrap());
        assert_eq!(socket.receive_queue, 7);
        assert!(socket.tcp.is_err());
    }
}
