//! The other side of a connection, which means no good: chunks that look right in whatever the
//! script does not want wrong.

use std::time::Duration;

use wire::channel::asymmetric::{OpenHead, Unsealed};
use wire::frame::{HEADER_LEN, Header, Inbox, Limits, MessageType};
use wire::time::{Instant, Now};

use crate::script::Script;

/// Small, so that a script of a few bytes reaches them.
pub const LIMITS: Limits = Limits {
    receive_buffer: 8192,
    send_buffer: 8192,
    receive_message: 32_768,
    receive_chunks: 8,
    send_message: 0,
    send_chunks: 0,
};

/// Any moment will do.
pub const BEGIN: Now = Now {
    mono: Instant::from_nanos(1_000_000_000),
    utc: 134_116_992_000_000_000,
};

/// Lets time pass.
pub fn later(now: Now, by: Duration) -> Now {
    Now {
        mono: now.mono + by,
        utc: now.utc.saturating_add((by.as_nanos() / 100) as i64),
    }
}

/// Milliseconds, seconds, minutes or hours.
pub fn some_time(script: &mut Script<'_>) -> Duration {
    let unit = [1, 1000, 60_000, 3_600_000][script.below(4)];
    Duration::from_millis(unit * u64::from(script.byte()))
}

/// A body, now and then a long one.
pub fn body(script: &mut Script<'_>) -> Vec<u8> {
    let part = script.bytes();
    let times = [1, 1, 1, 20, 400][script.below(5)];
    let mut body = part.repeat(times);
    body.truncate(100_000);
    body
}

/// What the hostile peer knows of an unprotected channel.
#[derive(Debug, Default)]
pub struct Hostile {
    pub channel_id: u32,
    pub token_id: u32,
    pub sequence: u32,
    /// The request id of the latest OPN that came from the other side.
    pub opening: u32,
}

impl Hostile {
    fn number(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(1);
        self.sequence
    }

    /// A MSG or CLO chunk; a byte of the script says what about it is wrong.
    pub fn chunk(
        &mut self,
        message: MessageType,
        request_id: u32,
        body: &[u8],
        script: &mut Script<'_>,
    ) -> Vec<u8> {
        let kind = [b'F', b'F', b'C', b'A'][script.below(4)];
        let wrong = script.byte();
        let mut chunk = message.letters().to_vec();
        chunk.push(kind);
        // The longest that the limits take.
        let body = &body[..body.len().min(8192 - 24)];
        let size = 24 + body.len() as u32;
        for (index, field) in [
            size,
            self.channel_id,
            self.token_id,
            self.number(),
            request_id,
        ]
        .into_iter()
        .enumerate()
        {
            let field = match wrong {
                0xf0.. if usize::from(wrong & 7) == index => script.u32(),
                _ => field,
            };
            chunk.extend_from_slice(&field.to_le_bytes());
        }
        chunk.extend_from_slice(body);
        chunk
    }

    /// An OPN chunk without protection.
    pub fn open(&mut self, channel_id: u32, request_id: u32, body: Vec<u8>) -> Vec<u8> {
        Unsealed {
            channel_id,
            sequence: self.number(),
            request_id,
            body,
            parties: None,
        }
        .seal()
        .unwrap()
    }
}

/// Reads what a connection wrote: whole chunks within the limits, numbered one after another.
#[derive(Debug, Default)]
pub struct Listener {
    inbox: Inbox,
    /// The latest sequence number, of chunks that are not encrypted.
    sequence: Option<u32>,
    /// The request id of the latest OPN.
    pub opening: Option<u32>,
}

impl Listener {
    /// Takes what was written.
    pub fn hear(&mut self, written: &[u8], limit: u32, protected: bool) {
        self.inbox.extend(written);
        loop {
            match self.inbox.next_chunk(limit) {
                Ok(None) => return,
                Ok(Some((header, range))) => {
                    let chunk = self.inbox.chunk(range).to_vec();
                    self.chunk(header, &chunk, protected);
                }
                Err(error) => panic!("written: {error}"),
            }
        }
    }

    fn chunk(&mut self, header: Header, chunk: &[u8], protected: bool) {
        let at = match header.message {
            MessageType::Open => OpenHead::parse(chunk).unwrap().secured_at,
            MessageType::Message | MessageType::Close => HEADER_LEN + 8,
            _ => return,
        };
        if protected {
            return;
        }
        let field = |at: usize| u32::from_le_bytes(*chunk[at..].first_chunk().unwrap());
        let number = field(at);
        assert!(self.sequence.is_none_or(|last| number == last + 1));
        self.sequence = Some(number);
        if header.message == MessageType::Open {
            self.opening = Some(field(at + 4));
        }
    }

    /// Nothing was left half written.
    pub fn end(&self) {
        assert!(self.inbox.is_empty(), "a chunk was cut off");
    }
}
