//! Bytes that no well-behaved client sends, and what a server answers to them.

use std::io::{self, ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use plan::Random;
use wire::frame::{HEADER_LEN, Header, Limits, MessageType};
use wire::policy::Policy;
use wire::types::StatusCode;

/// HEL (Part 6, 7.1.2.3).
pub fn hello(url: &str) -> Vec<u8> {
    let mut hello = Vec::new();
    Limits::default().hello(url).write(&mut hello);
    hello
}

/// What a server made of what it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It said why it ends the connection.
    Error(StatusCode),
    /// It closed the connection without an Error message.
    Closed,
    /// It said nothing more for as long as it was listened to.
    Silent,
}

/// What it has said: whole messages, and how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// Messages but for the one that ends the connection.
    pub messages: u32,
    /// How it ended.
    pub end: End,
}

/// A chunk is never longer than what was offered to take.
const LONGEST: usize = 1 << 20;

/// A server that keeps sending is listened to no longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is read no longer than until then.
struct Until<'a, R> {
    socket: &'a mut R,
    end: Instant,
}

impl<R: Read> Read for Until<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match Instant::now() < self.end {
            true => self.socket.read(into),
            false => Err(ErrorKind::TimedOut.into()),
        }
    }
}

/// Listens until the connection ends, so many messages have come, or a read takes longer than the socket's patience; five
/// seconds at most.
pub fn listen(socket: &mut impl Read, most: u32) -> Reply {
    listen_until(socket, most, Instant::now() + PATIENCE)
}

fn listen_until(socket: &mut impl Read, most: u32, end: Instant) -> Reply {
    let socket = &mut Until { socket, end };
    let mut messages = 0;
    let end = loop {
        if messages == most {
            break End::Silent;
        }
        match chunk(socket) {
            Ok((MessageType::Error, body)) => {
                let code = body.get(..4).and_then(|it| it.try_into().ok());
                let code = code.map_or(0, u32::from_le_bytes);
                break End::Error(StatusCode::from(code));
            }
            Ok(_) => messages += 1,
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => break End::Silent,
                ErrorKind::Interrupted => {}
                _ => break End::Closed,
            },
        }
    };
    Reply { messages, end }
}

fn chunk(socket: &mut impl Read) -> io::Result<(MessageType, Vec<u8>)> {
    let mut head = [0; HEADER_LEN];
    socket.read_exact(&mut head)?;
    let header = Header::parse(head).map_err(io::Error::other)?;
    let length = (header.size as usize).saturating_sub(HEADER_LEN);
    if length > LONGEST {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body)?;
    Ok((header.message, body))
}

/// Says hello; what came instead of an acknowledgement, if something did.
pub fn greet(socket: &mut (impl Read + Write), hello: &[u8]) -> Result<(), End> {
    if socket.write_all(hello).is_err() {
        return Err(End::Closed);
    }
    match listen(socket, 1) {
        Reply { messages: 1, .. } => Ok(()),
        said => Err(said.end),
    }
}

/// The beginning of a message of 65,000 bytes whose end never comes.
pub fn half_a_chunk() -> Vec<u8> {
    let mut begun = b"MSGF".to_vec();
    begun.extend_from_slice(&65_000_u32.to_le_bytes());
    begun.resize(60_000, 0);
    begun
}

/// All but the last of these chunks.
pub fn without_the_last(chunks: &[u8]) -> &[u8] {
    let (mut at, mut last) = (0, 0);
    while let Some(size) = chunks.get(at + 4..at + 8).and_then(|it| it.try_into().ok()) {
        last = at;
        // No chunk is shorter than its header.
        at += (u32::from_le_bytes(size) as usize).max(HEADER_LEN);
    }
    chunks.get(..last).unwrap_or_default()
}

/// Sends what looks like chunks, wrong in a few bytes, until they are refused or there are enough of them.
pub fn malformed(socket: &mut (impl Read + Write), hello: &[u8], random: &mut Random) -> Reply {
    const CHUNKS: u32 = 8;
    let mut all = 0;
    let ended = |end| Reply { messages: 0, end };
    if socket.write_all(hello).is_err() {
        return ended(End::Closed);
    }
    let until = Instant::now() + PATIENCE;
    for _ in 0..CHUNKS {
        if socket.write_all(&wrong_chunk(random)).is_err() {
            // Why it was closed may still be there to be read.
            return listen_until(socket, u32::MAX, until);
        }
        let Reply { messages, end } = listen_until(socket, 2, until);
        all += messages;
        if end != End::Silent {
            return Reply { messages: all, end };
        }
    }
    Reply {
        messages: all,
        end: End::Silent,
    }
}

/// OPN for policy None (Part 6, 7.1.3) or something like MSG, wrong somewhere.
fn wrong_chunk(random: &mut Random) -> Vec<u8> {
    let mut below = |n: u64| (random.next_u64() % n.max(1)) as usize;
    let policy = Policy::None.uri().as_bytes();
    let mut chunk = b"OPNF\0\0\0\0\0\0\0\0".to_vec();
    chunk.extend_from_slice(&(policy.len() as u32).to_le_bytes());
    chunk.extend_from_slice(policy);
    chunk.extend_from_slice(&[0xff; 8]);
    chunk.extend_from_slice(&[51, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0xbe, 1]);
    chunk.extend_from_slice(&[0; 60]);
    if let Some(letters) = chunk.get_mut(..3).filter(|_| below(4) == 0) {
        letters.copy_from_slice(b"MSG");
    }
    let length = chunk.len() as u32;
    let lengths = [length, length, length + 1, 0, u32::MAX, 1 << 20];
    let length = lengths.get(below(6)).copied().unwrap_or(length);
    if let Some(place) = chunk.get_mut(4..8) {
        place.copy_from_slice(&length.to_le_bytes());
    }
    for _ in 0..below(6) {
        let (at, byte) = (below(chunk.len() as u64), below(256) as u8);
        if let Some(place) = chunk.get_mut(at) {
            *place = byte;
        }
    }
    chunk
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn framed(letters: &[u8; 4], body: &[u8]) -> Vec<u8> {
        let mut all = letters.to_vec();
        all.extend_from_slice(&(body.len() as u32 + 8).to_le_bytes());
        all.extend_from_slice(body);
        all
    }

    #[test]
    fn the_end_of_a_connection_is_told_with_its_reason_or_without() {
        let error = framed(b"ERRF", &[0, 0, 0x88, 0x80, 0, 0, 0, 0]);
        let said = |bytes: &[u8]| listen(&mut Cursor::new(bytes.to_vec()), 9);
        let both = [framed(b"MSGF", &[1; 30]), error.clone()].concat();
        let expected = End::Error(StatusCode::from(0x8088_0000));
        assert_eq!(said(&error).end, expected);
        assert_eq!((said(&both).messages, said(&both).end), (1, expected));
        assert_eq!(said(&[]).end, End::Closed);
        // Half a message is none.
        assert_eq!(said(&both[..20]).messages, 0);
        // What is no chunk of the protocol ends it as well.
        assert_eq!(said(b"HTTP/1.1 400 Bad Request").end, End::Closed);
        assert_eq!(listen(&mut Cursor::new(both), 1).end, End::Silent);
    }

    #[test]
    fn a_server_that_keeps_sending_is_not_listened_to_without_end() {
        struct Endless(Vec<u8>, usize);

        impl Read for Endless {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                let byte = self.0.get(self.1 % self.0.len());
                self.1 += 1;
                into[0] = *byte.unwrap();
                Ok(1)
            }
        }

        let mut endless = Endless(framed(b"MSGF", &[1; 30]), 0);
        let end = Instant::now() + Duration::from_millis(20);
        let said = listen_until(&mut endless, u32::MAX, end);
        assert_eq!(said.end, End::Silent);
        assert!(said.messages > 0);
    }

    #[test]
    fn a_message_without_its_last_chunk_has_all_the_others() {
        let first = framed(b"MSGC", &[1; 10]);
        let last = framed(b"MSGF", &[2; 5]);
        assert_eq!(without_the_last(&[first.clone(), last].concat()), first);
        assert_eq!(without_the_last(&first), b"");
        assert_eq!(without_the_last(b""), b"");
    }

    #[test]
    fn wrong_chunks_are_wrong_in_ways_of_their_own_and_the_same_for_each_seed() {
        let chunks = |seed| {
            let mut random = Random::stream(seed, &[]);
            (0..50)
                .map(|_| wrong_chunk(&mut random))
                .collect::<Vec<_>>()
        };
        let all = chunks(1);
        assert_eq!(all, chunks(1));
        assert_ne!(all, chunks(2));
        assert!(all.iter().any(|it| it.starts_with(b"MSG")));
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert!(distinct.len() > 30, "{}", distinct.len());
    }

    #[test]
    fn a_hello_is_one_that_servers_read() {
        let hello = hello("opc.tcp://localhost:4840");
        let size = u32::from_le_bytes(hello[4..8].try_into().unwrap());
        assert_eq!(hello.get(..4), Some(b"HELF".as_slice()));
        assert_eq!(size as usize, hello.len());
        assert!(wire::frame::Hello::parse(&hello[8..]).is_ok());
    }
}
