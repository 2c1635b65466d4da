//! One end of a relayed connection: a socket, and what waits to be written to it.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::rc::Rc;
use std::time::Duration;

use mio::net::TcpStream;
use socket2::SockRef;

/// A socket that may not be there yet, or no more.
#[derive(Debug, Default)]
pub struct Side {
    socket: Option<TcpStream>,
    /// The kernel said that there is something to read, and has not said since that there is nothing.
    readable: bool,
    waiting: VecDeque<Rc<[u8]>>,
    /// How many bytes of the first one are written.
    written: usize,
    /// Nothing comes after what waits.
    ends: bool,
}

/// What a read gave.
#[derive(Debug)]
pub enum ReadOutcome {
    /// So many bytes.
    Some(usize),
    /// Nothing now.
    Nothing,
    /// Nothing more, ever.
    End,
    /// The other end broke the connection off.
    Broken,
}

impl Side {
    /// An end whose socket is there.
    pub fn new(socket: TcpStream) -> Self {
        Self {
            socket: Some(socket),
            ..Self::default()
        }
    }

    /// The socket, as long as it is there.
    pub fn socket(&mut self) -> Option<&mut TcpStream> {
        self.socket.as_mut()
    }

    /// There is something to read, or an end to be seen.
    pub fn becomes_readable(&mut self) {
        self.readable = true;
    }

    /// Whether there may be something to read.
    pub fn is_readable(&self) -> bool {
        self.readable && self.socket.is_some()
    }

    /// Reads once.
    pub fn read(&mut self, into: &mut [u8]) -> ReadOutcome {
        let Some(socket) = &mut self.socket else {
            return ReadOutcome::Nothing;
        };
        loop {
            return match socket.read(into) {
                Ok(0) => {
                    self.readable = false;
                    ReadOutcome::End
                }
                Ok(bytes) => ReadOutcome::Some(bytes),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.readable = false;
                    ReadOutcome::Nothing
                }
                Err(_) => ReadOutcome::Broken,
            };
        }
    }

    /// Bytes to be written when there is room.
    pub fn put(&mut self, bytes: Rc<[u8]>) {
        self.waiting.push_back(bytes);
    }

    /// Nothing will be put any more.
    pub fn end(&mut self) {
        self.ends = true;
    }

    /// Writes what the socket takes, and gives how much that was. A socket that is gone takes everything.
    pub fn write(&mut self) -> io::Result<usize> {
        let mut all = 0;
        while let Some(first) = self.waiting.front() {
            let rest = first.get(self.written..).unwrap_or_default();
            let taken = match &mut self.socket {
                None => rest.len(),
                Some(socket) => match socket.write(rest) {
                    Ok(taken) => taken,
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) if waits(&error) => break,
                    Err(error) => return Err(error),
                },
            };
            all += taken;
            self.written += taken;
            if self.written == first.len() {
                self.waiting.pop_front();
                self.written = 0;
            }
        }
        Ok(all)
    }

    /// Whether all was written and nothing will come; the other end is told so the first time.
    pub fn is_over(&mut self) -> bool {
        let over = self.ends && self.waiting.is_empty();
        if over && let Some(socket) = &self.socket {
            // An end that has gone needs not be told.
            let _ = socket.shutdown(Shutdown::Write);
        }
        over
    }

    /// Breaks the connection off: the other end gets a reset.
    pub fn reset(&mut self) {
        if let Some(socket) = self.socket.take() {
            let _ = SockRef::from(&socket).set_linger(Some(Duration::ZERO));
        }
        self.readable = false;
        self.waiting.clear();
        self.written = 0;
    }
}

/// Not connected is what a socket says that is about to be.
fn waits(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::NotConnected
    )
}
