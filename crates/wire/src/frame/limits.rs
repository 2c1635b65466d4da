//! What two sides agree on in HEL and ACK.

use super::{Acknowledge, FrameError, Hello, PROTOCOL_VERSION};

/// The smallest buffer an implementation may offer (Part 6, 7.1.2.3).
pub const MIN_BUFFER: u32 = 8192;

/// Sizes that one side offers, or that both agreed on. Seen from the side that holds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest chunk this side takes.
    pub receive_buffer: u32,
    /// The largest chunk this side sends.
    pub send_buffer: u32,
    /// The largest message this side takes, in bytes of plain body; 0 is no limit.
    pub receive_message: u32,
    /// The most chunks of a message this side takes; 0 is no limit.
    pub receive_chunks: u32,
    /// The largest message this side may send; 0 is no limit. Known once negotiated.
    pub send_message: u32,
    /// The most chunks of a message this side may send; 0 is no limit. Known once negotiated.
    pub send_chunks: u32,
}

impl Default for Limits {
    /// 64 KiB chunks and messages of 16 MiB: what most stacks offer.
    fn default() -> Self {
        Self {
            receive_buffer: 65_536,
            send_buffer: 65_536,
            receive_message: 16 * 1024 * 1024,
            receive_chunks: 512,
            send_message: 0,
            send_chunks: 0,
        }
    }
}

impl Limits {
    /// The client's opening offer.
    pub fn hello<'a>(&self, endpoint_url: &'a str) -> Hello<'a> {
        Hello {
            protocol_version: PROTOCOL_VERSION,
            receive_buffer: self.receive_buffer,
            send_buffer: self.send_buffer,
            max_message: self.receive_message,
            max_chunks: self.receive_chunks,
            endpoint_url,
        }
    }

    /// The server's side: its own limits and a client's HEL give the agreement and the ACK.
    pub fn accept(&self, hello: &Hello<'_>) -> Result<(Self, Acknowledge), FrameError> {
        check_buffers(hello.receive_buffer, hello.send_buffer)?;
        // Part 6, 7.1.2.4: neither may be larger than what the client asked for.
        let agreed = Self {
            receive_buffer: self.receive_buffer.min(hello.send_buffer),
            send_buffer: self.send_buffer.min(hello.receive_buffer),
            send_message: hello.max_message,
            send_chunks: hello.max_chunks,
            ..*self
        };
        let answer = Acknowledge {
            protocol_version: PROTOCOL_VERSION,
            receive_buffer: agreed.receive_buffer,
            send_buffer: agreed.send_buffer,
            max_message: self.receive_message,
            max_chunks: self.receive_chunks,
        };
        Ok((agreed, answer))
    }

    /// The client's side: what it offered and the ACK give the agreement.
    pub fn acknowledged(&self, answer: &Acknowledge) -> Result<Self, FrameError> {
        check_buffers(answer.receive_buffer, answer.send_buffer)?;
        Ok(Self {
            // A server that claims more than was offered is held to the offer.
            receive_buffer: self.receive_buffer.min(answer.send_buffer),
            send_buffer: self.send_buffer.min(answer.receive_buffer),
            send_message: answer.max_message,
            send_chunks: answer.max_chunks,
            ..*self
        })
    }

    /// Whether a received message of so many bytes and chunks is within the agreement.
    pub fn admits(&self, bytes: usize, chunks: u32) -> bool {
        within(bytes, self.receive_message)
            && (self.receive_chunks == 0 || chunks <= self.receive_chunks)
    }

    /// Whether this side may send a message of so many bytes and chunks.
    pub fn allows(&self, bytes: usize, chunks: u32) -> bool {
        within(bytes, self.send_message) && (self.send_chunks == 0 || chunks <= self.send_chunks)
    }
}

fn within(bytes: usize, limit: u32) -> bool {
    limit == 0 || bytes <= limit as usize
}

fn check_buffers(receive: u32, send: u32) -> Result<(), FrameError> {
    let least = receive.min(send);
    if least < MIN_BUFFER {
        return Err(FrameError::BufferTooSmall(least));
    }
    Ok(())
}
