//! A socket of the system, recorded if somebody wants to see what goes over it, and what is around the chunks of UACP
//! where that is more than TCP.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::rc::Rc;
use std::time::Duration;

use capture::{Recorder, Tap};
use wss::Tunnel;

use super::Clock;
use super::connection_set::{ConnectionSet, ExtraConnection};
use super::tasks::{Reactor, Watcher, reactor};

/// A connected socket, until it is [taken apart](Self::take_apart). Whether it blocks depends on who waits for it: see
/// [`read_within`](Self::read_within).
#[derive(Debug)]
pub struct Stream {
    socket: TcpStream,
    tap: Option<Box<Tap>>,
    tunnel: Option<Box<Tunnel>>,
    /// Other connections, over which Publish requests go.
    connections: Option<Box<ConnectionSet<TcpStream>>>,
    /// This side has said that it ends: what comes then is of no interest.
    left: bool,
    /// Whether calls return at once, where that is known.
    returns: Option<bool>,
    /// The task that is woken for it.
    watcher: Option<Watcher>,
}

/// What a stream is made of: the socket, what records it, what is around the chunks that go over it, and other connections.
pub type Parts = (
    TcpStream,
    Option<Box<Tap>>,
    Option<Box<Tunnel>>,
    Option<Box<ConnectionSet<TcpStream>>>,
);

impl Stream {
    /// Recorded from now on, if there is a recorder.
    pub fn new(
        socket: TcpStream,
        tunnel: Option<Box<Tunnel>>,
        recorder: Option<&Recorder>,
    ) -> io::Result<Self> {
        let tap = tap(&socket, recorder, Recorder::connected)?;
        Ok(Self::put_together((socket, tap, tunnel, None)))
    }

    /// The same of a server that dialled, and has said this much.
    pub fn called(socket: TcpStream, said: &[u8], recorder: Option<&Recorder>) -> io::Result<Self> {
        let mut tap = tap(&socket, recorder, Recorder::accepted)?;
        if let Some(tap) = &mut tap {
            tap.received(said);
        }
        Ok(Self::put_together((socket, tap, None, None)))
    }

    /// Publish requests go over these other connections from now on, whose sockets do not block. Only who drives all of them without
    /// blocking hears what comes there: see [`Socket`](super::Socket).
    pub fn with_posts(mut self, beside: Vec<ExtraConnection<TcpStream>>) -> Self {
        self.connections = (!beside.is_empty()).then(|| Box::new(ConnectionSet::new(beside)));
        self
    }

    /// What it is made of.
    pub fn take_apart(self) -> Parts {
        (self.socket, self.tap, self.tunnel, self.connections)
    }

    /// The same together again.
    pub fn put_together((socket, tap, tunnel, connections): Parts) -> Self {
        Self {
            socket,
            tap,
            tunnel,
            connections,
            left: false,
            returns: None,
            watcher: None,
        }
    }

    /// What is around the chunks, where that is more than TCP.
    pub fn tunnel(&self) -> Option<&Tunnel> {
        self.tunnel.as_deref()
    }

    /// Whether calls return at once.
    pub fn set_nonblocking(&mut self, on: bool) -> io::Result<()> {
        if self.returns != Some(on) {
            self.socket.set_nonblocking(on)?;
            self.returns = Some(on);
        }
        Ok(())
    }

    /// How long a read waits, where it blocks.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.set_read_timeout(timeout)
    }

    /// How long a write waits for a server that does not read.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.set_write_timeout(timeout)
    }

    /// Reads once, as soon as there is something, and for no longer than this.
    ///
    /// # Errors
    /// `WouldBlock` or `TimedOut` if there was nothing; those of reading.
    pub async fn read_within(&mut self, into: &mut [u8], wait: Duration) -> io::Result<usize> {
        match self.reactor()? {
            None => {
                self.socket.set_read_timeout(Some(wait))?;
                self.read(into)
            }
            Some(reactor) => {
                let (clock, begun) = (Clock::new(), Clock::new().mono());
                loop {
                    match self.read(into) {
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                        result => return result,
                    }
                    if clock.mono().since(begun) >= wait {
                        return Err(ErrorKind::TimedOut.into());
                    }
                    reactor.wait(begun + wait).await;
                }
            }
        }
    }

    /// Writes what the socket takes, as soon as it takes something. Among tasks that may take so long, else as long as
    /// [`set_write_timeout`](Self::set_write_timeout) says.
    ///
    /// # Errors
    /// `WouldBlock` or `TimedOut` if it took nothing; those of writing.
    pub async fn write_within(&mut self, bytes: &[u8], wait: Duration) -> io::Result<usize> {
        let Some(reactor) = self.reactor()? else {
            return self.write(bytes);
        };
        let (clock, begun) = (Clock::new(), Clock::new().mono());
        loop {
            match self.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                result => return result,
            }
            if clock.mono().since(begun) >= wait {
                return Err(ErrorKind::TimedOut.into());
            }
            reactor.wait(begun + wait).await;
        }
    }

    /// What the calling task waits by, which is woken for this socket from now on; none where calls are to block.
    fn reactor(&mut self) -> io::Result<Option<Rc<Reactor>>> {
        let reactor = reactor();
        self.set_nonblocking(reactor.is_some())?;
        if let Some(reactor) = &reactor
            && self.watcher != Some(reactor.watcher())
        {
            reactor.watch(&self.socket)?;
            self.watcher = Some(reactor.watcher());
        }
        Ok(reactor)
    }

    /// Says that nothing more comes, or is wanted.
    pub fn shutdown(&mut self, how: Shutdown) -> io::Result<()> {
        if let Some(connections) = &mut self.connections {
            connections.close();
        }
        if let Some(tunnel) = &mut self.tunnel {
            tunnel.close();
            tunnel.flush(&mut self.socket)?;
            self.left = true;
        }
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
        let n = match (&mut self.tunnel, &mut self.connections) {
            (Some(tunnel), Some(connections)) if !self.left => {
                if !connections.merge.has_waiting() {
                    let n = tunnel.read(&mut self.socket, &mut connections.scratch)?;
                    if n == 0 {
                        return Ok(0);
                    }
                    let came = connections.scratch.get(..n).unwrap_or_default();
                    connections.merge.came(0, came);
                    connections.merge.give();
                }
                match connections.merge.take(into) {
                    0 => return Err(ErrorKind::Interrupted.into()),
                    n => n,
                }
            }
            (Some(tunnel), None) if !self.left => tunnel.read(&mut self.socket, into)?,
            _ => self.socket.read(into)?,
        };
        if let Some(tap) = &mut self.tap {
            tap.received(into.get(..n).unwrap_or_default());
        }
        Ok(n)
    }
}

impl Write for Stream {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = match (&mut self.tunnel, &mut self.connections) {
            (Some(tunnel), Some(connections)) => {
                connections.write((&mut self.socket, tunnel), bytes)?
            }
            (Some(tunnel), None) => tunnel.write(&mut self.socket, bytes)?,
            (None, _) => self.socket.write(bytes)?,
        };
        if let Some(tap) = &mut self.tap {
            tap.sent(bytes.get(..n).unwrap_or_default());
        }
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.tunnel {
            Some(tunnel) => tunnel.flush(&mut self.socket),
            None => self.socket.flush(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::ErrorKind;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_server_that_does_not_read_holds_a_write_up_no_longer_than_that() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_silent, _) = listener.accept().unwrap();
        let mut stream = Stream::new(socket, None, None).unwrap();
        stream
            .set_write_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        // More than any socket takes.
        let kind = stream.write_all(&vec![0; 64 << 20]).unwrap_err().kind();
        assert!(matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut));
    }
}
