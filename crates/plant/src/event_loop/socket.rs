//! What a connection reads from and writes to: a socket of the system, or memory.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};

use capture::{Recorder, Tap};
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use wire::budget::Held;
use wss::Tunnel;

use super::pipe::ServerEnd;
use super::wss::Wss;

/// With so many bytes not yet sent a socket takes no more.
const UNSENT: u32 = 256 * 1024;

/// One end of a connection.
pub enum Socket {
    /// Of the system.
    Tcp(TcpStream, Option<Box<Tap>>),
    /// Of the system, with TLS and WebSocket frames or HTTP around what it carries.
    Wss(Box<Wss>),
    /// A client in the same process, without a system between.
    Memory(ServerEnd),
}

impl Socket {
    /// A connection that was just accepted, recorded if somebody wants to see what goes over it.
    pub fn of(socket: TcpStream, recorder: Option<&Recorder>) -> Self {
        Self::tapped(socket, recorder, Recorder::accepted)
    }

    /// One that this side dialled.
    pub fn dialled(socket: TcpStream, recorder: Option<&Recorder>) -> Self {
        Self::tapped(socket, recorder, Recorder::connected)
    }

    /// One that was accepted, with what is around the chunks of UACP on it. What is recorded is the chunks.
    pub fn secured(socket: TcpStream, tunnel: Tunnel, recorder: Option<&Recorder>) -> Self {
        prepare(&socket);
        let tap = tap(&socket, recorder, Recorder::accepted);
        Self::Wss(Box::new(Wss::new(socket, tunnel, tap)))
    }

    fn tapped(
        socket: TcpStream,
        recorder: Option<&Recorder>,
        begin: fn(&Recorder, SocketAddr, SocketAddr) -> Tap,
    ) -> Self {
        prepare(&socket);
        let tap = tap(&socket, recorder, begin);
        Self::Tcp(socket, tap)
    }

    /// Counts what it keeps itself against the budget of its connection.
    pub fn counts(&mut self, held: Held) {
        if let Self::Wss(wss) = self {
            wss.counts(held);
        }
    }

    /// Whether a read of `count` bytes into room for so many left nothing behind. epoll(7): a short read means that a
    /// stream is empty; elsewhere only being told so re-arms the event.
    #[inline]
    pub fn is_drained(&self, count: usize, room: usize) -> bool {
        platform::System::IS_LINUX
            && match self {
                Self::Wss(wss) => wss.is_drained(),
                Self::Tcp(..) | Self::Memory(_) => count < room,
            }
    }

    /// The URL that its client asked for, where it is HTTPS.
    pub fn asked(&self) -> Option<&str> {
        match self {
            Self::Wss(wss) => wss.asked(),
            Self::Tcp(..) | Self::Memory(_) => None,
        }
    }

    /// The number of the message that came in part, where chunks do not show that.
    pub fn partial(&self) -> Option<u64> {
        match self {
            Self::Wss(wss) => wss.partial(),
            Self::Tcp(..) | Self::Memory(_) => None,
        }
    }

    /// Answers in JSON have at most so many bytes; 0 is any length.
    pub fn limit_texts(&mut self, most: usize) {
        match self {
            Self::Wss(wss) => wss.limit_texts(most),
            Self::Tcp(..) | Self::Memory(_) => {}
        }
    }

    /// Whether it has received something that nobody has read, and that no poll tells of.
    pub fn has_waiting(&self) -> bool {
        match self {
            Self::Wss(wss) => wss.has_waiting(),
            Self::Tcp(..) | Self::Memory(_) => false,
        }
    }

    /// Whether the last word was said over it, behind which nothing is read.
    #[inline]
    pub fn is_over(&self) -> bool {
        match self {
            Self::Wss(wss) => wss.is_over(),
            Self::Tcp(..) | Self::Memory(_) => false,
        }
    }

    #[inline]
    pub fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket, None) => socket.read(space),
            Self::Tcp(socket, Some(tap)) => {
                let n = socket.read(space)?;
                tap.received(space.get(..n).unwrap_or_default());
                Ok(n)
            }
            Self::Wss(wss) => wss.read(space),
            Self::Memory(end) => end.read(space),
        }
    }

    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket, None) => socket.write(bytes),
            Self::Tcp(socket, Some(tap)) => {
                let n = socket.write(bytes)?;
                tap.sent(bytes.get(..n).unwrap_or_default());
                Ok(n)
            }
            Self::Wss(wss) => wss.write(bytes),
            Self::Memory(end) => end.write(bytes),
        }
    }

    /// Says that nothing more comes.
    pub fn close(&mut self) {
        match self {
            // One that is gone already is closed as well.
            Self::Tcp(socket, _) => drop(socket.shutdown(Shutdown::Write)),
            Self::Wss(wss) => wss.close(),
            Self::Memory(end) => end.close(),
        }
    }

    /// Has a loop be told what happens on it.
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        match self {
            Self::Tcp(socket, _) => registry.register(socket, token, interest),
            Self::Wss(wss) => registry.register(wss.socket(), token, interest),
            Self::Memory(end) => {
                end.ring();
                Ok(())
            }
        }
    }

    /// No loop is told any more. One that was never registered says so; it is all the same.
    pub fn deregister(&mut self, registry: &Registry) {
        let _ = match self {
            Self::Tcp(socket, _) => registry.deregister(socket),
            Self::Wss(wss) => registry.deregister(wss.socket()),
            Self::Memory(_) => Ok(()),
        };
    }

    /// Where its client is.
    pub fn peer(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(socket, _) => socket.peer_addr().ok(),
            Self::Wss(wss) => wss.peer(),
            Self::Memory(_) => None,
        }
    }

    /// Which address its client reached.
    pub fn local(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(socket, _) => socket.local_addr().ok(),
            Self::Wss(wss) => wss.local(),
            Self::Memory(_) => None,
        }
    }
}

fn prepare(socket: &TcpStream) {
    // Answers are written in groups already; a socket that cannot do without waiting works all the same.
    let _ = socket.set_nodelay(true);
    keep_little_unsent(socket);
}

fn tap(
    socket: &TcpStream,
    recorder: Option<&Recorder>,
    begin: fn(&Recorder, SocketAddr, SocketAddr) -> Tap,
) -> Option<Box<Tap>> {
    let recorder = recorder?;
    // One that is gone already has nothing to be recorded.
    let (own, peer) = (socket.local_addr().ok()?, socket.peer_addr().ok()?);
    Some(Box::new(begin(recorder, own, peer)))
}

/// Has the kernel keep no megabytes for somebody who takes none. What is under way to one who does is not counted, so
/// it is as fast as before.
fn keep_little_unsent(socket: &TcpStream) {
    platform::socket::limit_unsent(socket, UNSENT);
}
