//! A tunnel over a socket, by a socket's rules.

use std::cell::RefCell;
use std::io::{self, ErrorKind, Read, Write};

use super::{PIECE, Tunnel};

/// How much of what TLS protects is read at once.
const LONGEST_READ: usize = 64 * 1024;

thread_local! {
    /// Bytes are read into it and decrypted there: one for each thread, so that no connection has one.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Tunnel {
    /// Reads once from a socket and gives the chunks that came, as the socket would.
    ///
    /// [`ErrorKind::Interrupted`] says that something came, but no chunks.
    ///
    /// # Errors
    /// Those of the socket; [`ErrorKind::InvalidData`] with a [`TunnelError`](super::TunnelError) inside.
    pub fn read(&mut self, socket: &mut (impl Read + Write), into: &mut [u8]) -> io::Result<usize> {
        let (_, result) = self.read_by(into, |space| socket.read(space).map(|count| (count, ())));
        // What follows from it, an answer to a ping maybe, goes as far as it goes now.
        match self.flush(socket) {
            Err(error) if error.kind() != ErrorKind::WouldBlock && result.is_ok() => Err(error),
            _ => result,
        }
    }

    /// The same with another way to read from the socket; what that told beside the bytes is given, too, and how many
    /// came. Nothing is written to the socket.
    pub fn read_by<T>(
        &mut self,
        into: &mut [u8],
        read: impl FnOnce(&mut [u8]) -> io::Result<(usize, T)>,
    ) -> (Option<(usize, T)>, io::Result<usize>) {
        if self.has_waiting() {
            return (None, Ok(self.waiting(into)));
        }
        if self.is_closed() {
            return (None, Ok(0));
        }
        SCRATCH.with_borrow_mut(|scratch| {
            // Not much more than there is room for.
            scratch.resize(LONGEST_READ, 0);
            let most = into.len().clamp(1024, LONGEST_READ);
            let space = scratch.get_mut(..most).unwrap_or_default();
            let (count, told) = match read(space) {
                Ok((0, _)) => return (None, Ok(0)),
                Ok(got) => got,
                Err(error) => return (None, Err(error)),
            };
            let came = space.get_mut(..count).unwrap_or_default();
            let result = match self.receive(came, into) {
                Ok(0) if !self.is_closed() => Err(ErrorKind::Interrupted.into()),
                Ok(given) => Ok(given),
                Err(error) => Err(error.into()),
            };
            (Some((count, told)), result)
        })
    }

    /// Writes chunks to a socket, and says how many bytes of them it took, as the socket would: as long as it has not
    /// taken all that was sealed, a byte is left over that is offered again.
    ///
    /// # Errors
    /// Those of the socket; [`ErrorKind::InvalidData`] with a [`TunnelError`](super::TunnelError) inside.
    pub fn write(&mut self, socket: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
        if self.is_closed() {
            return Err(ErrorKind::BrokenPipe.into());
        }
        self.flush(socket)?;
        let ahead = usize::from(std::mem::take(&mut self.ahead));
        let rest = bytes.get(ahead..).unwrap_or_default();
        let piece = rest.get(..PIECE).unwrap_or(rest);
        if piece.is_empty() {
            self.end_written(socket);
            return Ok(bytes.len());
        }
        self.put(piece)?;
        let count = ahead + piece.len();
        match self.flush(socket) {
            Ok(()) => {
                self.end_written(socket);
                Ok(count)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.ahead = true;
                match count {
                    1 => Err(error),
                    _ => Ok(count - 1),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Ends a connection over which HTTP has said the last word, once the socket has all of that.
    fn end_written(&mut self, socket: &mut impl Write) {
        self.end_http();
        // As much of the end as it takes now: a body says itself how long it is.
        let _ = self.flush(socket);
    }

    /// Writes what is to be sent.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn flush(&mut self, socket: &mut impl Write) -> io::Result<()> {
        while !self.pending().is_empty() {
            match socket.write(self.pending()) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => self.wrote(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
