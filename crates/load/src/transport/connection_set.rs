//! Connections beside the first one of `opc.https`, over which Publish requests go: see [`Merge`].

use std::io::{self, ErrorKind, Read, Write};

use wss::{Merge, Tunnel};

/// So much is sealed before the sockets are asked to take it.
const IN_A_ROW: usize = 64 * 1024;
/// How much is read at once.
const READ: usize = 64 * 1024;

/// A connection beside the first one.
#[derive(Debug)]
pub struct ExtraConnection<S> {
    pub socket: S,
    pub tunnel: Box<Tunnel>,
}

/// All of them, and what goes over them and the first one.
#[derive(Debug)]
pub struct ConnectionSet<S> {
    pub beside: Vec<ExtraConnection<S>>,
    pub merge: Merge,
    /// Of what was to be written, the last byte is sealed already, but not all of it was taken.
    ahead: bool,
    pub scratch: Vec<u8>,
}

impl<S> ConnectionSet<S> {
    /// With these.
    pub fn new(beside: Vec<ExtraConnection<S>>) -> Self {
        Self {
            merge: Merge::new(beside.len()),
            beside,
            ahead: false,
            scratch: vec![0; READ],
        }
    }

    /// The same over other sockets.
    pub fn over<T>(self, other: impl Fn(S) -> T) -> ConnectionSet<T> {
        let beside = self.beside.into_iter().map(|it| ExtraConnection {
            socket: other(it.socket),
            tunnel: it.tunnel,
        });
        ConnectionSet {
            beside: beside.collect(),
            merge: self.merge,
            ahead: self.ahead,
            scratch: self.scratch,
        }
    }
}

impl<S: Read + Write> ConnectionSet<S> {
    /// Writes chunks, each where it goes, and says how many bytes were taken, as a socket would: as long as one of the sockets has not taken all
    /// of its part, a byte is left over that is offered again.
    pub fn write(
        &mut self,
        (socket, tunnel): (&mut S, &mut Tunnel),
        bytes: &[u8],
    ) -> io::Result<usize> {
        self.flush(socket, tunnel)?;
        let mut at = usize::from(std::mem::take(&mut self.ahead));
        while at < IN_A_ROW
            && let Some((place, size)) = self.merge.route(bytes.get(at..).unwrap_or_default())
        {
            let chunk = bytes.get(at..at + size).unwrap_or_default();
            let beside = place.checked_sub(1).and_then(|it| self.beside.get_mut(it));
            let way = beside.map_or(&mut *tunnel, |it| &mut it.tunnel);
            if way.is_closed() {
                return Err(ErrorKind::BrokenPipe.into());
            }
            way.send(chunk).map_err(io::Error::from)?;
            at += size;
        }
        match (self.flush(socket, tunnel), at) {
            (_, 0) => Err(ErrorKind::InvalidInput.into()),
            (Ok(()), _) => Ok(at),
            (Err(error), _) if error.kind() == ErrorKind::WouldBlock => {
                self.ahead = true;
                match at {
                    1 => Err(error),
                    _ => Ok(at - 1),
                }
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Writes what waits, as far as each socket takes it.
    fn flush(&mut self, socket: &mut S, tunnel: &mut Tunnel) -> io::Result<()> {
        let mut all = tunnel.flush(socket);
        for (n, it) in self.beside.iter_mut().enumerate() {
            if self.merge.is_gone(n + 1) {
                continue;
            }
            let flushed = it.tunnel.flush(&mut it.socket);
            // One that takes no more holds up no other.
            let waits = |result: &io::Result<()>| matches!(result, Err(error) if error.kind() == ErrorKind::WouldBlock);
            if all.is_ok() || (waits(&all) && flushed.is_err()) {
                all = flushed;
            }
        }
        all
    }

    /// Says over all but the first one that nothing more comes.
    pub fn close(&mut self) {
        for it in &mut self.beside {
            it.tunnel.close();
            // One that is gone is closed as well.
            let _ = it.tunnel.flush(&mut it.socket);
        }
    }
}
