//! Datagrams out of a capture instead of a socket: the same figures of what went by earlier or elsewhere.

mod fragments;
mod packet;

use std::fs::File;
use std::io::{BufReader, Read};
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use ::capture::reader::CaptureError;
use ::capture::reader::{Captures, Packet};
use pubsub::Tolerance;
use pubsub::security::KeyRing;

use self::fragments::Fragments;
use self::packet::{PacketContent, Payload, To};
use super::Place;
use super::address::PORT;
use super::arrivals::ReceivedDatagram;
use super::choice::Choice;
use super::heard::{Captured, ListenerReport};
use super::received::{Ending, Received};

/// What is taken out of a capture.
#[derive(Debug)]
pub struct Reading {
    /// Datagrams or frames to here only; else datagrams to port 4840 and all frames of UADP.
    pub to: Option<Place>,
    /// How many at most.
    pub datagrams: Option<u64>,
    /// Keys.
    pub keys: KeyRing,
    /// What is taken that the specification does not have.
    pub tolerance: Tolerance,
    /// Whose messages are taken.
    pub choice: Choice,
}

/// Takes the datagrams of a capture as a listener would have, until `stop` is set.
///
/// # Errors
/// It cannot be read, or is no capture. One that ends in the middle is read up to there.
pub fn read_capture(
    file: &Path,
    plan: Reading,
    stop: &AtomicBool,
) -> Result<ListenerReport, CaptureError> {
    let source = BufReader::with_capacity(1 << 16, File::open(file)?);
    read(source, &file.display().to_string(), plan, stop)
}

fn read(
    source: impl Read,
    name: &str,
    mut plan: Reading,
    stop: &AtomicBool,
) -> Result<ListenerReport, CaptureError> {
    let mut captures = Captures::begin(source)?;
    let mut captured = Captured {
        format: captures.format().to_owned(),
        ..Captured::default()
    };
    let mut received = Received::default().choosing(plan.choice);
    let (mut first, mut last) = (None, None);
    let mut interrupted = false;
    let (mut bytes, mut datagram) = (Vec::new(), Vec::new());
    let mut fragments = Fragments::default();
    loop {
        if stop.load(Ordering::Relaxed) {
            interrupted = true;
            break;
        }
        if plan
            .datagrams
            .is_some_and(|most| received.datagrams >= most)
        {
            break;
        }
        let Some(packet) = captures.next(&mut bytes)? else {
            break;
        };
        captured.packets += 1;
        let Packet { link, at, whole } = packet;
        let assembled;
        let mut found = packet::find(link, &bytes);
        if let PacketContent::Fragment(Some(part)) = found
            && let Some(datagram) = fragments.take(part, at)
        {
            assembled = datagram;
            // Its time is that of the part that made it whole, as a socket has it.
            found = packet::udp(&assembled, part.of.from, part.of.to);
        }
        let PacketContent::Payload(it) = found else {
            match found {
                PacketContent::Fragment(Some(_)) => {}
                PacketContent::Fragment(None) => captured.fragments += 1,
                PacketContent::UnknownLink => *captured.unknown_links.entry(link).or_default() += 1,
                _ => captured.others += 1,
            }
            continue;
        };
        if !is_wanted(&it, plan.to.as_ref()) {
            captured.others += 1;
            continue;
        }
        if it.len > it.bytes.len() || !whole && matches!(it.to, To::Mac(_)) {
            captured.cut += 1;
            continue;
        }
        first = first.or(at);
        last = at.or(last);
        let came = ReceivedDatagram {
            len: it.bytes.len(),
            stamp: at,
            source: Some(it.source),
            port: 0,
            vlan: it.vlan,
            here: it.source.is_this_host(),
        };
        datagram.clear();
        datagram.extend_from_slice(it.bytes);
        received.take(&mut datagram, came, at, &mut plan.keys, plan.tolerance);
    }
    captured.fragments += fragments.unused();
    captured.reassembled = fragments.whole;
    captured.torn = captures.is_torn();
    let elapsed = match (first, last) {
        (Some(first), Some(last)) => Duration::from_nanos(u64::saturating_sub(last, first)),
        _ => Duration::ZERO,
    };
    Ok(received.close(Ending {
        from: name.to_owned(),
        elapsed,
        drops: None,
        buffer: 0,
        interrupted,
        capture: Some(captured),
    }))
}

/// Whether somebody who listens there would have got it.
fn is_wanted(it: &Payload<'_>, to: Option<&Place>) -> bool {
    match (it.to, to) {
        (To::Mac(_), None) => true,
        (To::Mac(mac), Some(Place::Ethernet(url))) => {
            url.takes(it.vlan) && url.mac().is_none_or(|it| it == mac)
        }
        (To::Port(_, port), None) => port == PORT,
        (To::Port(host, port), Some(Place::Udp(to))) => {
            let any = match to.0.ip() {
                IpAddr::V4(it) => it.is_unspecified(),
                IpAddr::V6(it) => it.is_unspecified(),
            };
            port == to.0.port() && (any || host == to.0.ip())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
