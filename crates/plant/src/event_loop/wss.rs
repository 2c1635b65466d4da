//! A connection over `opc.wss` or `opc.https`, once it carries chunks of UACP.

use std::io::{self, ErrorKind, Read};
use std::net::{Shutdown, SocketAddr};

use capture::Tap;
use mio::net::TcpStream;
use wire::budget::Held;
use wss::Tunnel;

/// A socket, and what is around the chunks that go over it.
pub struct Wss {
    socket: TcpStream,
    tunnel: Tunnel,
    tap: Option<Box<Tap>>,
    /// Of the memory budget, for what was sealed and not taken, and what came and is not whole.
    held: Option<Held>,
    /// The last read from the socket left nothing behind.
    is_empty: bool,
}

impl Wss {
    pub fn new(socket: TcpStream, tunnel: Tunnel, tap: Option<Box<Tap>>) -> Self {
        Self {
            socket,
            tunnel,
            tap,
            held: None,
            is_empty: false,
        }
    }

    pub fn counts(&mut self, held: Held) {
        self.held = Some(held);
    }

    pub fn is_drained(&self) -> bool {
        self.is_empty && !self.tunnel.has_waiting()
    }

    pub fn has_waiting(&self) -> bool {
        self.tunnel.has_waiting()
    }

    pub fn is_over(&self) -> bool {
        self.tunnel.is_closed()
    }

    /// The URL that its client asked for, over HTTPS.
    pub fn asked(&self) -> Option<&str> {
        self.tunnel.asked()
    }

    /// The number of the message that came in part, over HTTPS.
    pub fn partial(&self) -> Option<u64> {
        self.tunnel.partial()
    }

    /// Answers in JSON have at most so many bytes; 0 is any length.
    pub fn limit_texts(&mut self, most: usize) {
        self.tunnel.limit_texts(most);
    }

    pub fn socket(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    pub fn peer(&self) -> Option<SocketAddr> {
        self.socket.peer_addr().ok()
    }

    pub fn local(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()
    }

    pub fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        let Self {
            socket,
            tunnel,
            is_empty,
            ..
        } = self;
        let (_, result) = tunnel.read_by(space, |space| {
            let count = socket.read(space)?;
            *is_empty = count < space.len();
            Ok((count, ()))
        });
        // An answer to a ping that does not go now goes with what is written next.
        let _ = self.tunnel.flush(&mut self.socket);
        self.settle()?;
        let count = result?;
        if let Some(tap) = &mut self.tap {
            tap.received(space.get(..count).unwrap_or_default());
        }
        Ok(count)
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.tunnel.write(&mut self.socket, bytes)?;
        self.settle()?;
        if self.tunnel.is_closed() {
            // HTTP has said the last word, and its client waits for the end.
            let _ = self.socket.shutdown(Shutdown::Write);
        }
        if let Some(tap) = &mut self.tap {
            tap.sent(bytes.get(..count).unwrap_or_default());
        }
        Ok(count)
    }

    /// Says that nothing more comes.
    pub fn close(&mut self) {
        self.tunnel.close();
        // One that is gone already is closed as well.
        let _ = self.tunnel.flush(&mut self.socket);
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    fn settle(&mut self) -> io::Result<()> {
        match &mut self.held {
            None => Ok(()),
            Some(held) => {
                let spent = held.set(self.tunnel.held());
                spent.map_err(|spent| io::Error::new(ErrorKind::OutOfMemory, spent))
            }
        }
    }
}
