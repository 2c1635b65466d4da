//! One connection: a socket and the protocol's state over it.

use std::io::{ErrorKind, Read, Write};

use mio::net::TcpStream;
use wire::server::{Connection, RequestId};
use wire::time::Instant;

/// More than this waiting to be written, and a connection's requests are not looked at: who does
/// not read his answers gets no more of them.
pub const HIGH_WATER: usize = 4 * 1024 * 1024;

/// A read has at least so much room.
const LEAST_READ: usize = 64 * 1024;

/// A connection.
pub struct Link {
    pub socket: TcpStream,
    pub connection: Connection,
    /// The endpoint that the client said hello to.
    pub endpoint_url: String,
    /// Its requests wait until its answers were taken.
    pub paused: bool,
    /// The socket may have more to read.
    pub readable: bool,
    /// When it is looked at next.
    pub timer: Option<Instant>,
    /// Steps of its channel that helpers are at.
    pub busy: u32,
    /// It is to move to another loop with this request, once it is not busy.
    pub leaving: Option<(RequestId, Vec<u8>)>,
}

/// What a socket said.
pub enum Got {
    /// Bytes; there may be more.
    Bytes,
    /// Bytes, and there are no more.
    Last,
    /// Nothing now.
    Nothing,
    /// Nothing any more.
    End,
}

impl Link {
    /// A connection that was just accepted.
    pub fn new(socket: TcpStream, connection: Connection) -> Self {
        Self {
            socket,
            connection,
            endpoint_url: String::new(),
            paused: false,
            readable: false,
            timer: None,
            busy: 0,
            leaving: None,
        }
    }

    /// Reads once, into memory that the connection was lent.
    pub fn read(&mut self) -> Got {
        loop {
            let space = self.connection.space(LEAST_READ);
            let room = space.len();
            return match self.socket.read(space) {
                Ok(0) => Got::End,
                Ok(n) => {
                    self.connection.filled(n);
                    // epoll(7): a short read means that a stream is empty; elsewhere only being
                    // told so re-arms the event.
                    match cfg!(target_os = "linux") && n < room {
                        true => Got::Last,
                        false => Got::Bytes,
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => Got::Nothing,
                Err(_) => Got::End,
            };
        }
    }

    /// Writes what waits, as far as the socket takes it. False if it takes no more for ever.
    pub fn flush(&mut self) -> bool {
        loop {
            let pending = self.connection.pending();
            if pending.is_empty() {
                return true;
            }
            match self.socket.write(pending) {
                Ok(0) => return false,
                Ok(n) => self.connection.wrote(n),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(_) => return false,
            }
        }
    }
}
