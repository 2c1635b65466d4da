//! What `uaperf listen` prints.

use std::fmt::Write as _;

use load::pubsub::{
    Captured, Counted, Delay, EthernetUrl, ListenerReport, Stream, Subscribed, Writer,
};
use plan::unit::duration::{show_nanos, show_ns};

use super::{broker, server};
use crate::screen::plain;

/// What comes: by a broker, without IP, or over UDP.
fn carried(it: &ListenerReport) -> &'static str {
    match &it.mqtt {
        Some(_) => "messages",
        None if EthernetUrl::is_one(&it.from) => "frames",
        None => "datagrams",
    }
}

pub fn write_screen(out: &mut String, it: &ListenerReport) -> std::fmt::Result {
    let seconds = it.elapsed_ns.max(1) as f64 / 1e9;
    writeln!(
        out,
        "{}: {} {}, {} bytes in {}",
        it.from,
        it.datagrams,
        carried(it),
        it.bytes,
        show_ns(it.elapsed_ns)
    )?;
    if let Some(mqtt) = &it.mqtt {
        write_broker(out, mqtt)?;
    }
    match (&it.capture, it.socket_drops) {
        // A broker's messages wait for a reader, or are dropped there.
        (None, None) if it.mqtt.is_some() => {}
        (Some(captured), _) => write_captured(out, captured)?,
        (None, Some(drops)) => writeln!(out, "  dropped by this host's socket buffer: {drops}")?,
        (None, None) => writeln!(
            out,
            "  dropped by this host's socket buffer: not told by this system"
        )?,
    }
    for (interface, drops) in &it.interface_drops {
        writeln!(
            out,
            "  dropped by {interface} meanwhile, whatever it was: {drops} packets"
        )?;
    }
    super::cpu(out, it.cpu_ns, (it.values, it.datagrams))?;
    if !it.kernel_stamps && it.datagrams > 0 {
        writeln!(
            out,
            "  times of arrival are the program's, not the kernel's"
        )?;
    }
    for unread in &it.unread {
        writeln!(out, "  {} not read: {}", unread.datagrams, unread.reason)?;
    }
    if it.not_followed > 0 {
        writeln!(
            out,
            "  {} of more publishers than are followed",
            it.not_followed
        )?;
    }
    if it.not_chosen > 0 {
        writeln!(
            out,
            "  {} of other publishers and groups, left out",
            it.not_chosen
        )?;
    }
    if it.discovery > 0 {
        writeln!(out, "  probes and announcements: {}", it.discovery)?;
    }
    if let Some(keys) = &it.keys {
        super::keys::write(out, keys)?;
    }
    if let Some(connections) = &it.server {
        server::write(out, connections)?;
    }
    for stream in &it.streams {
        write_stream(out, stream, seconds, carried(it))?;
    }
    for (n, other) in (2..).zip(&it.others) {
        write!(
            out,
            "\nlistener {n}: {} {}, {} bytes",
            other.datagrams,
            carried(other),
            other.bytes
        )?;
        if other.knows_loss() {
            write!(out, ", lost {}", other.lost())?;
        }
        if let Some(drops) = other.socket_drops {
            write!(out, ", dropped by its socket buffer {drops}")?;
        }
        writeln!(out)?;
        super::cpu(out, other.cpu_ns, (other.values, other.datagrams))?;
    }
    Ok(())
}

fn write_broker(out: &mut String, it: &Subscribed) -> std::fmt::Result {
    broker::write_version(out, &it.version, it.tls.as_deref())?;
    writeln!(
        out,
        ", QoS {}; {} connections, {} retained messages from before, {} perhaps sent again",
        it.qos, it.connections, it.retained, it.maybe_again
    )?;
    for why in &it.lost_connections {
        writeln!(out, "  connection lost: {why}")?;
    }
    Ok(())
}

fn write_captured(out: &mut String, it: &Captured) -> std::fmt::Result {
    write!(out, "  {}: {} packets", it.format, it.packets)?;
    let unknown: u64 = it.unknown_links.values().sum();
    let counts = [
        (it.others, "to other places or of other protocols"),
        (it.fragments, "parts of datagrams that are not whole"),
        (it.cut, "captured in part"),
        (unknown, "of links that are not known"),
    ];
    for (n, what) in counts.into_iter().filter(|(n, _)| *n > 0) {
        write!(out, ", {n} {what}")?;
    }
    if it.reassembled > 0 {
        write!(
            out,
            "; {} datagrams put together of their parts",
            it.reassembled
        )?;
    }
    writeln!(out)
}

fn write_stream(out: &mut String, it: &Stream, seconds: f64, what: &str) -> std::fmt::Result {
    let id = match (&it.publisher_id, &it.publisher_id_type) {
        (Some(id), Some(kind)) => format!("{} ({kind})", plain(id)),
        _ => "without an id".to_owned(),
    };
    write!(out, "\npublisher {id}")?;
    match (it.writer_group_id, &it.writer_group_name) {
        (Some(id), Some(name)) => write!(out, ", group {id} ({})", plain(name))?,
        (Some(id), None) => write!(out, ", group {id}")?,
        (None, Some(name)) => write!(out, ", group {}", plain(name))?,
        (None, None) => {}
    }
    if let Some(source) = &it.source {
        write!(out, ", from {source}")?;
    }
    if let Some(vlan) = it.vlan {
        write!(out, " in VLAN {vlan}")?;
        if let Some(priority) = it.priority {
            write!(out, " with priority {priority}")?;
        }
    }
    if let Some(topic) = &it.topic {
        write!(out, ", {} at {}", it.mapping, plain(topic))?;
    }
    if let Some(status) = &it.status {
        write!(out, ", status {}", plain(status))?;
    }
    writeln!(out, ", security {}", it.security)?;
    // While it sent, if that is known; else while we listened.
    let rate = match &it.arrival {
        Some(arrival) if arrival.mean_ns > 0.0 => 1e9 / arrival.mean_ns,
        _ => it.datagrams as f64 / seconds,
    };
    write!(
        out,
        "  {} {what}, {rate:.1}/s, {} bytes",
        it.datagrams, it.bytes
    )?;
    if it.chunks > 0 {
        write!(out, ", {} of them parts of larger messages", it.chunks)?;
    }
    if let Some(each) = it.interval_ms.filter(|it| *it > 0.0) {
        write!(out, ", one each {} as it says", show_nanos(each * 1e6))?;
    }
    writeln!(out)?;
    if !it.endpoints.is_empty() {
        writeln!(out, "  server:   {}", plain(&it.endpoints.join(", ")))?;
    }
    if let Some(counted) = &it.sequence {
        writeln!(out, "  group:    {}", told(counted))?;
    }
    if let Some(arrival) = &it.arrival {
        super::spread(out, "arrival", arrival)?;
    }
    if let Some(jitter) = &it.jitter {
        super::spread(out, "jitter", jitter)?;
    }
    match &it.delay {
        Delay::SameClock(delay) | Delay::Compared(delay) => super::spread(out, "delay", delay)?,
        Delay::UnknownClock => writeln!(out, "  delay     unknown: the sender's clock is another")?,
        Delay::NoTimestamp => writeln!(out, "  delay     unknown: messages say no time")?,
    }
    for writer in &it.writers {
        write_writer(out, writer)?;
    }
    Ok(())
}

fn write_writer(out: &mut String, it: &Writer) -> std::fmt::Result {
    let name = match it.writer_id {
        Some(id) => format!("writer {id}"),
        None => format!("writer without an id, place {}", it.place),
    };
    let name = match &it.name {
        Some(called) => format!("{name} ({})", plain(called)),
        None => name,
    };
    write!(out, "  {name}: {} messages", it.messages)?;
    if it.fields > 0 {
        let of = if it.fields_are_bytes {
            "bytes"
        } else {
            "fields"
        };
        write!(out, " of {} {of}", it.fields)?;
    }
    if !it.encoding.is_empty() {
        write!(out, ", {}", it.encoding)?;
    }
    if let Some(set) = &it.data_set {
        let (major, minor) = (set.major_version, set.minor_version);
        write!(
            out,
            ", DataSet {} of {} fields, version {major}.{minor}",
            plain(&set.name),
            set.fields
        )?;
    }
    let kinds = [
        (it.delta_frames, "delta frames"),
        (it.events, "events"),
        (it.keep_alives, "keep-alives"),
        (it.invalid, "not valid"),
    ];
    for (n, what) in kinds.into_iter().filter(|(n, _)| *n > 0) {
        write!(out, ", {n} {what}")?;
    }
    match &it.sequence {
        Some(counted) => writeln!(out, "; {}", told(counted)),
        None => writeln!(out, "; no sequence numbers, so nothing is known of loss"),
    }
}

fn told(it: &Counted) -> String {
    let mut text = format!("lost {}", it.lost);
    if it.gaps > 0 {
        text += &format!(" in {} gaps, the longest of {}", it.gaps, it.longest_gap);
    }
    text += &format!(", repeated {}, late {}", it.duplicates, it.late);
    if it.too_old > 0 {
        text += &format!(", too late to tell {}", it.too_old);
    }
    if it.restarts > 0 {
        text += &format!(", begun anew {}", it.restarts);
    }
    text
}
