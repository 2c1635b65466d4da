//! WebSocket frames (RFC 6455, 5) around the chunks of UACP: each chunk is sent as one binary frame (Part 6, 7.5.2).
//!
//! What comes is a stream of bytes to whoever reads it, so a frame is never kept: its payload goes on as it comes, in
//! however many frames it was sent. Only control frames are put together, and they have 125 bytes at most.

use thiserror::Error;

use super::Role;
use crate::mask::Mask;

/// The longest payload of a control frame (RFC 6455, 5.5).
pub const MOST_CONTROL: usize = 125;
/// The longest header of a frame.
const MOST_HEADER: usize = 14;
/// Frames in a row that bring no data. Whoever keeps an idle connection alive sends two a minute.
const MOST_EMPTY: u32 = 1000;

const CONTINUATION: u8 = 0x0;
const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xA;
const FINAL: u8 = 0x80;
const MASKED: u8 = 0x80;

/// What a peer does that RFC 6455 or Part 6 has no place for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Violation {
    /// RFC 6455, 5.1: clients mask what they send.
    #[error("a client sent a frame without a mask")]
    Unmasked,
    /// And servers do not.
    #[error("a server sent a frame with a mask")]
    Masked,
    /// An extension that nobody agreed on.
    #[error("a frame has reserved bits set")]
    Reserved,
    /// Neither data nor control.
    #[error("a frame has the opcode {0:#x}, which there is not")]
    Opcode(u8),
    /// Only binary frames carry chunks.
    #[error("a frame carries text; opcua+uacp has binary frames only")]
    Text,
    /// A control frame in parts, or with more than 125 bytes.
    #[error("a control frame is longer than {MOST_CONTROL} bytes or comes in parts")]
    Control,
    /// A length that is not written in the shortest way, or is beyond 2^63.
    #[error("the length of a frame is not written as it has to be")]
    Length,
    /// Only text frames carry messages in JSON.
    #[error("a frame carries bytes; opcua+uajson has text frames only")]
    Binary,
    /// Text that is no message.
    #[error("a text frame is no message in JSON")]
    NoMessage,
    /// A message in JSON that is longer than this side takes.
    #[error("a message is longer than this side takes")]
    TooLong,
    /// A part without a beginning, or a beginning before the end of another message.
    #[error("the parts of a message do not follow each other")]
    Order,
    /// A close frame of one byte.
    #[error("a close frame has half a status code")]
    Close,
    /// Nothing but pings, pongs or empty frames.
    #[error("{MOST_EMPTY} frames in a row brought no data")]
    Flood,
}

impl Violation {
    /// The status code of a close frame that says so (RFC 6455, 7.4.1).
    pub fn close_code(self) -> u16 {
        match self {
            Self::Text | Self::Binary => 1003,
            Self::NoMessage => 1007,
            Self::Flood => 1008,
            Self::TooLong => 1009,
            _ => 1002,
        }
    }
}

/// The payload of a control frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload {
    bytes: [u8; MOST_CONTROL],
    length: u8,
}

impl Payload {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
            .get(..usize::from(self.length))
            .unwrap_or_default()
    }

    /// What a close frame says: a status code.
    pub fn close(code: u16) -> Self {
        let mut payload = Self::default();
        payload.push(&code.to_be_bytes());
        payload
    }

    /// The status code of a close frame, if it has one.
    pub fn code(&self) -> Option<u16> {
        self.bytes()
            .first_chunk()
            .map(|code| u16::from_be_bytes(*code))
    }

    fn push(&mut self, bytes: &[u8]) {
        let at = usize::from(self.length);
        if let Some(place) = self.bytes.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
            self.length += bytes.len() as u8;
        }
    }
}

impl Default for Payload {
    fn default() -> Self {
        Self {
            bytes: [0; MOST_CONTROL],
            length: 0,
        }
    }
}

/// A control frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Wants to be answered with the same payload.
    Ping(Payload),
    /// The answer to a ping.
    Pong,
    /// Nothing comes any more.
    Close(Payload),
}

/// What became of some bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FrameStep {
    /// So many of them were looked at.
    pub taken: usize,
    /// So many bytes of data were written.
    pub given: usize,
    /// A control frame was among them; what follows it was not looked at.
    pub control: Option<Control>,
    /// A message of text ended; what follows it was not looked at.
    pub ended: bool,
}

/// What of a frame is still to come.
#[derive(Debug, Clone, Copy)]
struct Frame {
    opcode: u8,
    is_final: bool,
    mask: Option<Mask>,
    left: u64,
}

/// Takes frames off a stream of bytes.
#[derive(Debug)]
pub struct Deframer {
    role: Role,
    /// Data is text, of which each message counts.
    is_text: bool,
    header: [u8; MOST_HEADER],
    have: usize,
    frame: Option<Frame>,
    control: Payload,
    /// A message has begun and not ended.
    in_message: bool,
    /// Frames without data since the last that had some.
    empty: u32,
}

impl Deframer {
    /// For what comes to this end.
    pub fn new(role: Role) -> Self {
        Self {
            role,
            is_text: false,
            header: [0; MOST_HEADER],
            have: 0,
            frame: None,
            control: Payload::default(),
            in_message: false,
            empty: 0,
        }
    }

    /// The same where data is text.
    pub fn of_text(role: Role) -> Self {
        Self {
            is_text: true,
            ..Self::new(role)
        }
    }

    /// Writes the data of these bytes to `into`: until there are no more, it is full, or a control frame came.
    ///
    /// # Errors
    /// The peer does what it must not. Nothing that it sends makes sense after that.
    pub fn take(&mut self, bytes: &[u8], into: &mut [u8]) -> Result<FrameStep, Violation> {
        let mut step = FrameStep::default();
        loop {
            let rest = bytes.get(step.taken..).unwrap_or_default();
            let Some(mut frame) = self.frame.take() else {
                if rest.is_empty() {
                    return Ok(step);
                }
                step.taken += self.read_header(rest)?;
                continue;
            };
            let most = usize::try_from(frame.left).unwrap_or(usize::MAX);
            let is_control = frame.opcode & 0x8 != 0;
            let room = match is_control {
                true => usize::MAX,
                false => into.len() - step.given,
            };
            let count = most.min(rest.len()).min(room);
            let part = rest.get(..count).unwrap_or_default();
            match is_control {
                true => {
                    let mut plain = [0; MOST_CONTROL];
                    let plain = plain.get_mut(..count).unwrap_or_default();
                    unmask(&mut frame.mask, part, plain);
                    self.control.push(plain);
                }
                false => {
                    let place = into.get_mut(step.given..step.given + count);
                    unmask(&mut frame.mask, part, place.unwrap_or_default());
                    step.given += count;
                    if count > 0 {
                        self.empty = 0;
                    }
                }
            }
            step.taken += count;
            frame.left -= count as u64;
            if frame.left > 0 {
                self.frame = Some(frame);
                return Ok(step);
            }
            if is_control {
                step.control = Some(self.control(frame.opcode)?);
                return Ok(step);
            }
            self.in_message = !frame.is_final;
            if self.is_text && frame.is_final {
                step.ended = true;
                return Ok(step);
            }
        }
    }

    /// Whether it is between two frames.
    pub fn is_between(&self) -> bool {
        self.frame.is_none() && self.have == 0
    }

    /// Reads on at a header, and says how much of it there was.
    fn read_header(&mut self, bytes: &[u8]) -> Result<usize, Violation> {
        let mut taken = 0;
        loop {
            let wanted = self.header_length();
            if self.have == wanted {
                break;
            }
            let missing = wanted - self.have;
            let part = bytes.get(taken..).unwrap_or_default();
            let part = part.get(..missing).unwrap_or(part);
            if part.is_empty() {
                return Ok(taken);
            }
            let place = self.header.get_mut(self.have..self.have + part.len());
            place.unwrap_or_default().copy_from_slice(part);
            self.have += part.len();
            taken += part.len();
        }
        self.begin()?;
        Ok(taken)
    }

    /// How long the header is, as far as that is known.
    fn header_length(&self) -> usize {
        if self.have < 2 {
            return 2;
        }
        let [_, second, ..] = self.header;
        let length = match second & !MASKED {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        2 + length + if second & MASKED == 0 { 0 } else { 4 }
    }

    /// A header is there.
    fn begin(&mut self) -> Result<(), Violation> {
        let length = std::mem::take(&mut self.have);
        let [first, second, extended @ ..] = self.header;
        let (is_final, opcode) = (first & FINAL != 0, first & 0x0F);
        if first & 0x70 != 0 {
            return Err(Violation::Reserved);
        }
        let is_masked = second & MASKED != 0;
        match (self.role, is_masked) {
            (Role::Server, false) => return Err(Violation::Unmasked),
            (Role::Client, true) => return Err(Violation::Masked),
            _ => {}
        }
        let [a, b, c, d, e, f, g, h, ..] = extended;
        let left = match second & !MASKED {
            126 => match u64::from(u16::from_be_bytes([a, b])) {
                ..126 => return Err(Violation::Length),
                long => long,
            },
            127 => match u64::from_be_bytes([a, b, c, d, e, f, g, h]) {
                0x1_0000..0x8000_0000_0000_0000 => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
                _ => return Err(Violation::Length),
            },
            short => u64::from(short),
        };
        match opcode {
            CONTINUATION if !self.in_message => return Err(Violation::Order),
            TEXT if !self.is_text => return Err(Violation::Text),
            BINARY if self.is_text => return Err(Violation::Binary),
            TEXT | BINARY if self.in_message => return Err(Violation::Order),
            CONTINUATION | TEXT | BINARY => {}
            CLOSE | PING | PONG if !is_final || left > MOST_CONTROL as u64 => {
                return Err(Violation::Control);
            }
            CLOSE | PING | PONG => self.control = Payload::default(),
            other => return Err(Violation::Opcode(other)),
        }
        if opcode & 0x8 != 0 || left == 0 {
            self.empty += 1;
            if self.empty > MOST_EMPTY {
                return Err(Violation::Flood);
            }
        }
        let key = self.header.get(length.saturating_sub(4)..length);
        let key = key.and_then(|key| key.first_chunk()).copied();
        self.frame = Some(Frame {
            opcode,
            is_final,
            mask: key.filter(|_| is_masked).map(Mask::new),
            left,
        });
        Ok(())
    }

    fn control(&mut self, opcode: u8) -> Result<Control, Violation> {
        let payload = std::mem::take(&mut self.control);
        match opcode {
            PING => Ok(Control::Ping(payload)),
            PONG => Ok(Control::Pong),
            _ if payload.length == 1 => Err(Violation::Close),
            _ => Ok(Control::Close(payload)),
        }
    }
}

fn unmask(mask: &mut Option<Mask>, from: &[u8], into: &mut [u8]) {
    match mask {
        Some(mask) => mask.apply(from, into),
        None => into.copy_from_slice(from),
    }
}

/// A chunk of UACP begins with its type and length (Part 6, 7.1.2.2).
const CHUNK_HEADER: usize = 8;

/// Puts frames around chunks of UACP.
#[derive(Debug)]
pub struct Framer {
    role: Role,
    random: fn(&mut [u8]),
    /// The beginning of a chunk whose length is not known yet.
    header: [u8; CHUNK_HEADER],
    have: usize,
    /// Bytes of the chunk that are still to come.
    left: usize,
    mask: Option<Mask>,
}

impl Framer {
    /// For what this end sends; `random` gives the keys of a client's masks.
    pub fn new(role: Role, random: fn(&mut [u8])) -> Self {
        Self {
            role,
            random,
            header: [0; CHUNK_HEADER],
            have: 0,
            left: 0,
            mask: None,
        }
    }

    /// Whether it is between two frames, so that a control frame may be sent.
    pub fn is_between(&self) -> bool {
        self.left == 0
    }

    /// Appends these bytes, in frames. The first bytes of a chunk are kept until its length is known.
    pub fn put(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while !bytes.is_empty() {
            if self.left > 0 {
                let (part, rest) = bytes.split_at(self.left.min(bytes.len()));
                self.append(part, out);
                self.left -= part.len();
                bytes = rest;
                continue;
            }
            let (part, rest) = bytes.split_at((CHUNK_HEADER - self.have).min(bytes.len()));
            let place = self.header.get_mut(self.have..self.have + part.len());
            place.unwrap_or_default().copy_from_slice(part);
            self.have += part.len();
            bytes = rest;
            if self.have == CHUNK_HEADER {
                self.have = 0;
                let header = self.header;
                let [_, _, _, _, a, b, c, d] = header;
                // What is shorter than its header is no chunk; its receiver says so.
                let length = u32::from_le_bytes([a, b, c, d]).max(CHUNK_HEADER as u32) as usize;
                self.begin(BINARY, length, out);
                self.left = length - CHUNK_HEADER;
                self.append(&header, out);
            }
        }
    }

    /// Appends a message of text.
    pub fn text(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.begin(TEXT, bytes.len(), out);
        self.append(bytes, out);
    }

    /// Appends the answer to a ping.
    pub fn pong(&mut self, payload: &Payload, out: &mut Vec<u8>) {
        self.control(PONG, payload, out);
    }

    /// Appends the end.
    pub fn close(&mut self, payload: &Payload, out: &mut Vec<u8>) {
        self.control(CLOSE, payload, out);
    }

    fn control(&mut self, opcode: u8, payload: &Payload, out: &mut Vec<u8>) {
        debug_assert!(self.is_between());
        self.begin(opcode, payload.bytes().len(), out);
        self.append(payload.bytes(), out);
    }

    fn begin(&mut self, opcode: u8, length: usize, out: &mut Vec<u8>) {
        let masked = match self.role {
            Role::Client => MASKED,
            Role::Server => 0,
        };
        out.push(FINAL | opcode);
        match length {
            0..126 => out.push(masked | length as u8),
            126..0x1_0000 => {
                out.push(masked | 126);
                out.extend_from_slice(&(length as u16).to_be_bytes());
            }
            _ => {
                out.push(masked | 127);
                out.extend_from_slice(&(length as u64).to_be_bytes());
            }
        }
        self.mask = None;
        if let Role::Client = self.role {
            let mut key = [0; 4];
            (self.random)(&mut key);
            out.extend_from_slice(&key);
            self.mask = Some(Mask::new(key));
        }
    }

    fn append(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let at = out.len();
        out.extend_from_slice(bytes);
        if let (Some(mask), Some(place)) = (&mut self.mask, out.get_mut(at..)) {
            mask.apply_in_place(place);
        }
    }
}

#[cfg(test)]
mod tests;
