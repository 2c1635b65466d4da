//! A socket of the system, recorded if somebody wants to see what goes over it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use capture::{Recorder, Tap};

/// A connected socket that blocks, until it is [taken apart](Self::take_apart).
#[derive(Debug)]
pub struct Stream {
    socket: TcpStream,
    tap: Option<Box<Tap>>,
}

impl Stream {
    /// Recorded from now on, if there is a recorder.
    pub fn new(socket: TcpStream, recorder: Option<&Recorder>) -> io::Result<Self> {
        let tap = tap(&socket, recorder, Recorder::connected)?;
        Ok(Self { socket, tap })
    }

    /// The same of a server that dialled, and has said this much.
    pub fn called(socket: TcpStream, said: &[u8], recorder: Option<&Recorder>) -> io::Result<Self> {
        let mut tap = tap(&socket, recorder, Recorder::accepted)?;
        if let Some(tap) = &mut tap {
            tap.received(said);
        }
        Ok(Self { socket, tap })
    }

    /// The socket, and what records it.
    pub fn take_apart(self) -> (TcpStream, Option<Box<Tap>>) {
        (self.socket, self.tap)
    }

    /// The same together again.
    pub fn put_together(socket: TcpStream, tap: Option<Box<Tap>>) -> Self {
        Self { socket, tap }
    }

    /// Whether calls return at once.
    pub fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        self.socket.set_nonblocking(on)
    }

    /// How long a read waits.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(timeout)
    }

    /// Says that nothing more comes, or is wanted.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.socket.shutdown(how)
    }
}

/// What records a socket that came about in this way.
fn tap(
    socket: &TcpStream,
    recorder: Option<&Recorder>,
    begin: fn(&Recorder, SocketAddr, SocketAddr) -> Tap,
) -> io::Result<Option<Box<Tap>>> {
    let Some(recorder) = recorder else {
        return Ok(None);
    };
    let (own, peer) = (socket.local_addr()?, socket.peer_addr()?);
    Ok(Some(Box::new(begin(recorder, own, peer))))
}

impl Read for Stream {
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.socket.read(into)?;
        if let Some(tap) = &mut self.tap {
            tap.received(into.get(..n).unwrap_or_default());
        }
        Ok(n)
    }
}

impl Write for Stream {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.socket.write(bytes)?;
        if let Some(tap) = &mut self.tap {
            tap.sent(bytes.get(..n).unwrap_or_default());
        }
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}
