use proptest::prelude::*;

use super::*;

fn key(bytes: &mut [u8]) {
    bytes.copy_from_slice(&[0x37, 0xfa, 0x21, 0x3d]);
}

/// A chunk of UACP with so many bytes behind its header.
fn chunk(body: usize) -> Vec<u8> {
    let mut chunk = b"MSGF".to_vec();
    chunk.extend_from_slice(&(body as u32 + 8).to_le_bytes());
    chunk.extend((0..body).map(|n| n as u8));
    chunk
}

/// A frame as its two first bytes say, behind a mask of zeros if it is a client's.
fn frame(first: u8, second: u8, rest: &[u8]) -> Vec<u8> {
    [&[first, second][..], rest].concat()
}

fn taken(role: Role, bytes: &[u8]) -> Result<(Vec<u8>, Vec<Control>), Violation> {
    let mut deframer = Deframer::new(role);
    let mut into = vec![0; bytes.len() + 1];
    let (mut at, mut given, mut controls) = (0, 0, Vec::new());
    while at < bytes.len() {
        let step = deframer.take(&bytes[at..], &mut into[given..])?;
        at += step.taken;
        given += step.given;
        controls.extend(step.control);
    }
    into.truncate(given);
    Ok((into, controls))
}

#[test]
fn frames_are_those_of_the_specification() {
    // RFC 6455, 5.7.
    let hello = |bytes: &[u8]| taken(Role::Server, bytes).unwrap();
    let masked = [
        0x82, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58,
    ];
    assert_eq!(hello(&masked).0, b"Hello");
    let ping = [
        0x89, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58,
    ];
    let (_, controls) = hello(&ping);
    assert!(matches!(&controls[..], [Control::Ping(payload)] if payload.bytes() == b"Hello"));
    // In parts, with a ping between them, from a server.
    let parts = [
        frame(0x02, 3, b"Hel"),
        frame(0x89, 2, b"hi"),
        frame(0x80, 2, b"lo"),
    ];
    let (data, controls) = taken(Role::Client, &parts.concat()).unwrap();
    assert_eq!((data, controls.len()), (b"Hello".to_vec(), 1));
}

#[test]
fn each_chunk_is_one_frame() {
    for (body, header) in [
        (0, vec![0x82, 8]),
        (117, vec![0x82, 125]),
        (118, vec![0x82, 126, 0, 126]),
        (65_527, vec![0x82, 126, 0xff, 0xff]),
        (65_528, vec![0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
    ] {
        let chunk = chunk(body);
        let mut out = Vec::new();
        Framer::new(Role::Server, key).put(&chunk, &mut out);
        assert_eq!(out, [header, chunk].concat());
    }
    let mut out = Vec::new();
    Framer::new(Role::Client, key).put(&chunk(0), &mut out);
    assert_eq!(&out[..6], [0x82, 0x88, 0x37, 0xfa, 0x21, 0x3d]);
    assert_eq!(out[6], b'M' ^ 0x37);
}

#[test]
fn what_is_not_allowed_is_named() {
    use Violation as V;
    let zeros = [0; 4];
    let mask =
        |first, second: u8, rest: &[u8]| frame(first, second | 0x80, &[&zeros[..], rest].concat());
    for (bytes, violation) in [
        (frame(0x82, 1, b"a"), V::Unmasked),
        (mask(0xC2, 1, b"a"), V::Reserved),
        (mask(0x83, 1, b"a"), V::Opcode(3)),
        (mask(0x8B, 0, b""), V::Opcode(11)),
        (mask(0x81, 1, b"a"), V::Text),
        (mask(0x09, 0, b""), V::Control),
        (mask(0x80, 1, b"a"), V::Order),
        (
            [mask(0x02, 1, b"a"), mask(0x82, 1, b"b")].concat(),
            V::Order,
        ),
        (frame(0x89, 0xFE, &[0, 126, 0, 0, 0, 0]), V::Control),
        (frame(0x82, 0xFE, &[0, 125, 0, 0, 0, 0]), V::Length),
        (
            frame(0x82, 0xFF, &[0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0]),
            V::Length,
        ),
        (
            frame(0x82, 0xFF, &[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            V::Length,
        ),
        (mask(0x88, 1, b"a"), V::Close),
    ] {
        assert_eq!(taken(Role::Server, &bytes), Err(violation), "{bytes:x?}");
    }
    assert_eq!(taken(Role::Client, &mask(0x82, 1, b"a")), Err(V::Masked));
}

#[test]
fn a_flood_of_what_brings_nothing_ends_it() {
    let ping = frame(0x89, 0x80, &[0; 4]);
    let empty = frame(0x82, 0x80, &[0; 4]);
    let data = frame(0x82, 0x81, &[0, 0, 0, 0, b'a']);
    let most = MOST_EMPTY as usize;
    let enough = [ping.repeat(most), data, empty.repeat(most)].concat();
    assert_eq!(taken(Role::Server, &enough).unwrap().0, b"a");
    for one in [ping, empty] {
        let flood = taken(Role::Server, &one.repeat(most + 1));
        assert_eq!(flood, Err(Violation::Flood));
    }
}

#[test]
fn a_huge_frame_takes_no_memory() {
    let mut deframer = Deframer::new(Role::Client);
    let huge = frame(
        0x82,
        127,
        &[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, b'a'],
    );
    let mut into = [0; 4];
    let step = deframer.take(&huge, &mut into).unwrap();
    assert_eq!((step.taken, step.given), (huge.len(), 1));
}

proptest! {
    /// Whatever the pieces on both ends, and with pings between the frames.
    #[test]
    fn chunks_arrive_as_they_were_sent(
        bodies in prop::collection::vec(0..70_000_usize, 1..6),
        sent in prop::collection::vec(1..9_000_usize, 1..20),
        received in prop::collection::vec(1..9_000_usize, 1..20),
        room in 1..9_000_usize,
        client in any::<bool>(),
    ) {
        let (from, to) = match client {
            true => (Role::Client, Role::Server),
            false => (Role::Server, Role::Client),
        };
        let chunks: Vec<u8> = bodies.into_iter().flat_map(chunk).collect();
        let (mut framer, mut framed, mut pings) = (Framer::new(from, key), Vec::new(), 0);
        let mut rest = &chunks[..];
        for size in sent.iter().cycle() {
            let (part, after) = rest.split_at((*size).min(rest.len()));
            framer.put(part, &mut framed);
            if framer.is_between() {
                framer.pong(&Payload::close(1000), &mut framed);
                pings += 1;
            }
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        let (mut deframer, mut data, mut pongs) = (Deframer::new(to), Vec::new(), 0);
        let mut rest = &framed[..];
        for size in received.iter().cycle() {
            let (mut part, after) = rest.split_at((*size).min(rest.len()));
            while !part.is_empty() {
                let mut into = vec![0; room];
                let step = deframer.take(part, &mut into).unwrap();
                data.extend_from_slice(&into[..step.given]);
                pongs += u32::from(step.control.is_some());
                part = &part[step.taken..];
            }
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert!(data == chunks);
        prop_assert_eq!(pongs, pings);
        prop_assert!(deframer.is_between());
    }

    #[test]
    fn any_bytes_end_in_data_or_in_a_violation(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for role in [Role::Client, Role::Server] {
            if let Ok((data, _)) = taken(role, &bytes) {
                prop_assert!(data.len() < bytes.len().max(1));
            }
        }
    }
}
