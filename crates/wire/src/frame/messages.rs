//! HEL, ACK, ERR and RHE: each knows how to read and write itself.

use opcua_types::StatusCode;

use super::{ChunkKind, FrameError, HEADER_LEN, Header, MessageType, Reader, Short};

/// The only protocol version there is (Part 6, 7.1.2.3).
pub const PROTOCOL_VERSION: u32 = 0;

/// URLs and reasons have to be shorter than this (Part 6, 7.1.2.3 and 7.1.2.5).
pub const MAX_TEXT: usize = 4096;

/// HEL: what a client can take and where it wants to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello<'a> {
    /// The newest version the client speaks.
    pub protocol_version: u32,
    /// The largest chunk it can receive.
    pub receive_buffer: u32,
    /// The largest chunk it will send.
    pub send_buffer: u32,
    /// The largest response it takes; 0 is no limit.
    pub max_message: u32,
    /// The most chunks of a response it takes; 0 is no limit.
    pub max_chunks: u32,
    /// The endpoint it wants.
    pub endpoint_url: &'a str,
}

impl<'a> Hello<'a> {
    /// Reads the fields after the header.
    pub fn parse(body: &'a [u8]) -> Result<Self, FrameError> {
        let of = MessageType::Hello;
        let mut reader = Reader::new(body);
        let [
            protocol_version,
            receive_buffer,
            send_buffer,
            max_message,
            max_chunks,
        ] = five(&mut reader).map_err(|_| short(of))?;
        Ok(Self {
            protocol_version,
            receive_buffer,
            send_buffer,
            max_message,
            max_chunks,
            endpoint_url: text(&mut reader, of)?,
        })
    }

    /// Appends the whole message.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = begin(MessageType::Hello, out);
        for field in [
            self.protocol_version,
            self.receive_buffer,
            self.send_buffer,
            self.max_message,
            self.max_chunks,
        ] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        write_text(self.endpoint_url, out);
        finish(start, out);
    }
}

/// ACK: what the server made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledge {
    /// The newest version the server speaks.
    pub protocol_version: u32,
    /// The largest chunk the server takes.
    pub receive_buffer: u32,
    /// The largest chunk the server sends.
    pub send_buffer: u32,
    /// The largest request the server takes; 0 is no limit.
    pub max_message: u32,
    /// The most chunks of a request the server takes; 0 is no limit.
    pub max_chunks: u32,
}

impl Acknowledge {
    /// Reads the fields after the header.
    pub fn parse(body: &[u8]) -> Result<Self, FrameError> {
        let [
            protocol_version,
            receive_buffer,
            send_buffer,
            max_message,
            max_chunks,
        ] = five(&mut Reader::new(body)).map_err(|_| short(MessageType::Acknowledge))?;
        Ok(Self {
            protocol_version,
            receive_buffer,
            send_buffer,
            max_message,
            max_chunks,
        })
    }

    /// Appends the whole message.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = begin(MessageType::Acknowledge, out);
        for field in [
            self.protocol_version,
            self.receive_buffer,
            self.send_buffer,
            self.max_message,
            self.max_chunks,
        ] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        finish(start, out);
    }
}

/// ERR: why the connection is about to be closed; also the body of an abort chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorMessage {
    /// The code.
    pub status: StatusCode,
    /// A sentence for a log, possibly empty.
    pub reason: String,
}

impl ErrorMessage {
    /// Reads the fields after the header. Text that is not UTF-8 or overlong is cut, not refused:
    /// the code is what matters when a peer says goodbye.
    pub fn parse(body: &[u8]) -> Result<Self, FrameError> {
        let mut reader = Reader::new(body);
        let status = reader.u32().map_err(|_| short(MessageType::Error))?;
        let reason = reader.bytes().ok().flatten().unwrap_or_default();
        let reason = reason.get(..MAX_TEXT).unwrap_or(reason);
        Ok(Self {
            status: StatusCode::from(status),
            reason: String::from_utf8_lossy(reason).into_owned(),
        })
    }

    /// Appends the whole message.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = begin(MessageType::Error, out);
        self.write_body(out);
        finish(start, out);
    }

    /// Appends the fields only, as an abort chunk has them.
    pub fn write_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.status.bits().to_le_bytes());
        let mut end = self.reason.len().min(MAX_TEXT - 1);
        while !self.reason.is_char_boundary(end) {
            end -= 1;
        }
        write_text(self.reason.get(..end).unwrap_or_default(), out);
    }
}

/// RHE: a server that dialled the client says who it is and which endpoint to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReverseHello<'a> {
    /// The ApplicationUri of the server.
    pub server_uri: &'a str,
    /// What the client puts into its HEL.
    pub endpoint_url: &'a str,
}

impl<'a> ReverseHello<'a> {
    /// Reads the fields after the header.
    pub fn parse(body: &'a [u8]) -> Result<Self, FrameError> {
        let mut reader = Reader::new(body);
        Ok(Self {
            server_uri: text(&mut reader, MessageType::ReverseHello)?,
            endpoint_url: text(&mut reader, MessageType::ReverseHello)?,
        })
    }

    /// Appends the whole message.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = begin(MessageType::ReverseHello, out);
        write_text(self.server_uri, out);
        write_text(self.endpoint_url, out);
        finish(start, out);
    }
}

fn begin(message: MessageType, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    let header = Header {
        message,
        chunk: ChunkKind::Final,
        size: 0,
    };
    out.extend_from_slice(&header.to_bytes());
    start
}

fn finish(start: usize, out: &mut [u8]) {
    // All texts are cut to MAX_TEXT, so the length fits.
    let size = (out.len() - start) as u32;
    if let Some(field) = out.get_mut(start + 4..start + HEADER_LEN) {
        field.copy_from_slice(&size.to_le_bytes());
    }
}

fn five(reader: &mut Reader<'_>) -> Result<[u32; 5], Short> {
    Ok([
        reader.u32()?,
        reader.u32()?,
        reader.u32()?,
        reader.u32()?,
        reader.u32()?,
    ])
}

fn text<'a>(reader: &mut Reader<'a>, of: MessageType) -> Result<&'a str, FrameError> {
    let bytes = reader.bytes().map_err(|_| short(of))?.unwrap_or_default();
    if bytes.len() >= MAX_TEXT {
        let what = "a text of 4096 bytes or more";
        return Err(FrameError::Malformed { message: of, what });
    }
    std::str::from_utf8(bytes).map_err(|_| FrameError::Malformed {
        message: of,
        what: "a text that is not UTF-8",
    })
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn short(message: MessageType) -> FrameError {
    FrameError::Malformed {
        message,
        what: "it ends too early",
    }
}
