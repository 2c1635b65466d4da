//! The blocks of a pcapng file.

/// A section begins.
pub const SECTION: u32 = 0x0a0d_0d0a;
/// An interface is described.
pub const INTERFACE: u32 = 1;
/// A packet without a time.
pub const SIMPLE_PACKET: u32 = 3;
/// A packet.
pub const ENHANCED_PACKET: u32 = 6;
/// Secrets that decrypt the packets behind them.
pub const SECRETS: u32 = 10;
/// By this number a section shows its byte order.
pub const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Packets begin with IPv4 or IPv6 (LINKTYPE_RAW).
pub const RAW_IP: u16 = 101;
/// The secrets are lines of an OPC UA key log.
pub const OPC_UA_KEY_LOG: u32 = 0x5541_4b4c;

const END_OF_OPTIONS: u16 = 0;
const USER_APPLICATION: u16 = 4;
const TIME_RESOLUTION: u16 = 9;
/// Nanoseconds: ten to the power of minus nine.
const NANOSECONDS: u8 = 9;

/// Begins a section, in little endian.
pub fn section(out: &mut Vec<u8>, application: &str) {
    block(out, SECTION, |out| {
        word(out, BYTE_ORDER);
        half(out, 1);
        half(out, 0);
        // Nobody knows yet how long it will be.
        out.extend_from_slice(&u64::MAX.to_le_bytes());
        option(out, USER_APPLICATION, application.as_bytes());
        half(out, END_OF_OPTIONS);
        half(out, 0);
    });
}

/// Describes the section's interface: [`RAW_IP`], times in nanoseconds, packets of any length.
pub fn interface(out: &mut Vec<u8>) {
    block(out, INTERFACE, |out| {
        half(out, RAW_IP);
        half(out, 0);
        word(out, 0);
        option(out, TIME_RESOLUTION, &[NANOSECONDS]);
        half(out, END_OF_OPTIONS);
        half(out, 0);
    });
}

/// A packet of the interface, at a time in nanoseconds since 1970.
pub fn packet(out: &mut Vec<u8>, at: u64, write: impl FnOnce(&mut Vec<u8>)) {
    block(out, ENHANCED_PACKET, |out| {
        word(out, 0);
        word(out, (at >> 32) as u32);
        word(out, at as u32);
        counted(out, 2, write);
    });
}

/// Lines of a key log, for the packets behind them.
pub fn secrets(out: &mut Vec<u8>, lines: &str) {
    block(out, SECRETS, |out| {
        word(out, OPC_UA_KEY_LOG);
        counted(out, 1, |out| out.extend_from_slice(lines.as_bytes()));
    });
}

/// Type and length in front, the length once more behind.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    word(out, kind);
    word(out, 0);
    body(out);
    let length = (out.len() - start + 4) as u32;
    put(out, start + 4, length);
    word(out, length);
}

/// Bytes behind their number, which is written so many times, filled up to a word.
fn counted(out: &mut Vec<u8>, times: usize, write: impl FnOnce(&mut Vec<u8>)) {
    let counts = out.len();
    (0..times).for_each(|_| word(out, 0));
    let start = out.len();
    write(out);
    let length = out.len() - start;
    for n in 0..times {
        put(out, counts + 4 * n, length as u32);
    }
    out.resize(start + length.next_multiple_of(4), 0);
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    half(out, code);
    half(out, u16::try_from(value.len()).unwrap_or(u16::MAX));
    let start = out.len();
    out.extend_from_slice(value.get(..usize::from(u16::MAX)).unwrap_or(value));
    let length = (out.len() - start).next_multiple_of(4);
    out.resize(start + length, 0);
}

fn put(out: &mut [u8], at: usize, value: u32) {
    if let Some(place) = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = value.to_le_bytes();
    }
}

fn word(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn half(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::reader::{Captures, Packet};

    proptest! {
        #[test]
        fn packets_of_any_length_are_read_as_they_were_written(
            packets in prop::collection::vec((any::<u64>(), prop::collection::vec(any::<u8>(), 0..80)), 0..8),
            application in ".{0,40}",
            lines in "[a-z_: \n]{0,40}",
        ) {
            let mut file = Vec::new();
            section(&mut file, &application);
            interface(&mut file);
            for (at, bytes) in &packets {
                secrets(&mut file, &lines);
                packet(&mut file, *at, |out| out.extend_from_slice(bytes));
            }
            prop_assert!(file.len().is_multiple_of(4));
            let mut captures = Captures::begin(file.as_slice()).unwrap();
            let mut bytes = Vec::new();
            for (at, sent) in &packets {
                let head = captures.next(&mut bytes).unwrap();
                let want = Packet { link: RAW_IP.into(), at: Some(*at), whole: true };
                prop_assert_eq!(head, Some(want));
                prop_assert_eq!(&bytes, sent);
            }
            prop_assert_eq!(captures.next(&mut bytes).unwrap(), None);
            prop_assert!(!captures.is_torn());
        }
    }

    #[test]
    fn secrets_are_laid_out_as_the_draft_of_pcapng_says() {
        let mut out = Vec::new();
        secrets(&mut out, "abcde");
        let want = [
            [10, 0, 0, 0].as_slice(),
            &[28, 0, 0, 0],
            b"LKAU",
            &[5, 0, 0, 0],
            b"abcde\0\0\0",
            &[28, 0, 0, 0],
        ];
        assert_eq!(out, want.concat());
    }
}
