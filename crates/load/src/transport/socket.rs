//! A socket that never blocks.

use std::io::{self, ErrorKind, Read, Write};

use capture::Tap;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use platform::System;
use platform::socket::{Received, Stamps, low_water};
use wss::Tunnel;

use super::Stream;
use super::connection_set::ConnectionSet;

/// What reading brought.
#[derive(Debug)]
pub enum ReadOutcome {
    /// So many bytes.
    Bytes {
        /// How many.
        n: usize,
        /// Whether there may be more.
        more: bool,
        /// When the kernel had the last of them, if it says so: nanoseconds since 1970.
        stamp: Option<u64>,
    },
    /// Nothing, for now.
    Nothing,
    /// The peer will not send any more.
    End,
}

/// A connected socket in a poll.
#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
    tap: Option<Box<Tap>>,
    /// What is around the chunks of UACP, where that is more than TCP.
    tunnel: Option<Box<Tunnel>>,
    /// Other connections, over which Publish requests go.
    connections: Option<Box<ConnectionSet<TcpStream>>>,
    /// The last read of what TLS protects may have left something behind.
    is_full: bool,
    /// Once the kernel was asked to say when bytes came in.
    stamps: Option<Stamps>,
}

impl Socket {
    /// Takes over a connected socket.
    pub fn new(mut stream: Stream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let (stream, tap, tunnel, connections) = stream.take_apart();
        Ok(Self {
            stream: TcpStream::from_std(stream),
            tap,
            tunnel,
            connections: connections
                .map(|connections| Box::new(connections.over(TcpStream::from_std))),
            is_full: true,
            stamps: None,
        })
    }

    /// Has a poll tell of it under this token.
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let both = Interest::READABLE | Interest::WRITABLE;
        let beside = self
            .connections
            .iter_mut()
            .flat_map(|connections| &mut connections.beside);
        for it in beside {
            registry.register(&mut it.socket, token, both)?;
        }
        registry.register(&mut self.stream, token, both)
    }

    /// Has a poll forget it.
    pub fn deregister(&mut self, registry: &Registry) {
        // One that is not registered is none that rings.
        let _ = registry.deregister(&mut self.stream);
        let beside = self
            .connections
            .iter_mut()
            .flat_map(|connections| &mut connections.beside);
        for it in beside {
            let _ = registry.deregister(&mut it.socket);
        }
    }

    /// Reads once.
    #[inline]
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<ReadOutcome> {
        let room = into.len();
        let (got, is_full) = match (&self.tunnel, &self.connections) {
            (None, _) => {
                let got = receive(&mut self.stream, &mut self.stamps, into);
                let is_full = got.as_ref().is_ok_and(|(n, _)| *n == room);
                (got, is_full)
            }
            (Some(_), None) => self.receive_secured(into),
            (Some(_), Some(_)) => self.receive_merged(into),
        };
        if let (Some(tap), Ok((n, _))) = (&mut self.tap, &got) {
            tap.received(into.get(..*n).unwrap_or_default());
        }
        match got {
            Ok((0, _)) => Ok(ReadOutcome::End),
            // Less than there was room for: epoll(7) says that the socket is empty then.
            Ok((n, stamp)) => Ok(ReadOutcome::Bytes {
                n,
                more: is_full || !System::IS_LINUX,
                stamp,
            }),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => Ok(ReadOutcome::Nothing),
                ErrorKind::Interrupted => Ok(ReadOutcome::Bytes {
                    n: 0,
                    more: is_full || self.tunnel.is_none(),
                    stamp: None,
                }),
                // How many servers close.
                ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => Ok(ReadOutcome::End),
                _ => Err(error),
            },
        }
    }

    /// Asks the kernel to say when bytes came in; whether it does.
    pub fn stamp(&mut self) -> bool {
        let beside = self
            .connections
            .iter()
            .flat_map(|connections| &connections.beside);
        let sockets = beside.map(|it| &it.socket).chain([&self.stream]);
        self.stamps = Stamps::ask(sockets);
        self.stamps.is_some()
    }

    /// Has the socket become readable only when there are so many bytes; whether it does.
    pub fn low_water(&self, bytes: usize) -> bool {
        // Of several connections each rings for itself.
        self.connections.is_none() && low_water(&self.stream, bytes)
    }

    /// Writes what the socket takes.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let written = match (&mut self.tunnel, &mut self.connections) {
                (None, _) => self.stream.write(bytes),
                (Some(tunnel), None) => tunnel.write(&mut self.stream, bytes),
                (Some(tunnel), Some(connections)) => {
                    connections.write((&mut self.stream, tunnel), bytes)
                }
            };
            match written {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => {
                    if let (Some(tap), Ok(n)) = (&mut self.tap, &result) {
                        tap.sent(bytes.get(..*n).unwrap_or_default());
                    }
                    return result;
                }
            }
        }
    }

    /// Gives the socket back, for blocking calls.
    pub fn into_inner(self) -> Stream {
        let connections = self
            .connections
            .map(|connections| Box::new(connections.over(Into::into)));
        Stream::put_together((self.stream.into(), self.tap, self.tunnel, connections))
    }
}

impl Socket {
    /// Reads what TLS protects, and gives the chunks that come of it: with the moment at which the kernel had the last of
    /// those bytes, and whether there may be more.
    fn receive_secured(&mut self, into: &mut [u8]) -> (io::Result<Received>, bool) {
        let Some(tunnel) = &mut self.tunnel else {
            return (Err(ErrorKind::NotConnected.into()), false);
        };
        let way = (&mut self.stream, &mut **tunnel);
        secured(way, &mut self.stamps, &mut self.is_full, into)
    }

    /// The same of all connections. Once one of them has something all are read again: what was sent before that is here, too, and
    /// goes first.
    fn receive_merged(&mut self, into: &mut [u8]) -> (io::Result<Received>, bool) {
        let (Some(tunnel), Some(connections)) = (&mut self.tunnel, &mut self.connections) else {
            return (Err(ErrorKind::NotConnected.into()), false);
        };
        if connections.merge.has_waiting() {
            return (Ok((connections.merge.take(into), None)), true);
        }
        let (mut stamp, mut any_full, mut end) = (None, false, None);
        for _ in 0..2 {
            for place in 0..=connections.beside.len() {
                if connections.merge.is_gone(place) {
                    continue;
                }
                let beside = place
                    .checked_sub(1)
                    .and_then(|it| connections.beside.get_mut(it));
                let way = match beside {
                    None => (&mut self.stream, &mut **tunnel),
                    Some(it) => (&mut it.socket, &mut *it.tunnel),
                };
                let mut is_full = false;
                let (got, more) = secured(
                    way,
                    &mut self.stamps,
                    &mut is_full,
                    &mut connections.scratch,
                );
                any_full |= more;
                let beside = place
                    .checked_sub(1)
                    .and_then(|it| connections.beside.get(it));
                let has_begun = beside.is_some_and(|it| it.tunnel.partial().is_some());
                connections.merge.begun(place, has_begun);
                match got {
                    Ok((0, _)) if connections.merge.ends(place) => {}
                    Ok((0, _)) => end = end.or(Some(Ok((0, None)))),
                    Ok((n, at)) => {
                        let came = connections.scratch.get(..n).unwrap_or_default();
                        connections.merge.came(place, came);
                        stamp = stamp.max(at);
                    }
                    Err(error) => match error.kind() {
                        ErrorKind::WouldBlock | ErrorKind::Interrupted => {}
                        _ if connections.merge.ends(place) => {}
                        _ => end = end.or(Some(Err(error))),
                    },
                }
            }
            if !connections.merge.has_come() {
                break;
            }
        }
        connections.merge.give();
        // An end is found once more when this was taken.
        match (connections.merge.take(into), end) {
            (0, Some(end)) => (end, false),
            (0, None) if any_full => (Err(ErrorKind::Interrupted.into()), true),
            (0, None) => (Err(ErrorKind::WouldBlock.into()), false),
            (n, _) => (Ok((n, stamp)), true),
        }
    }
}

/// Reads what TLS protects on one connection.
fn secured(
    (stream, tunnel): (&mut TcpStream, &mut Tunnel),
    stamps: &mut Option<Stamps>,
    is_full: &mut bool,
    into: &mut [u8],
) -> (io::Result<Received>, bool) {
    let (got, result) = tunnel.read_by(into, |space| {
        let got = receive(stream, stamps, space)?;
        *is_full = got.0 == space.len();
        Ok(got)
    });
    let stamp = got.and_then(|(_, stamp)| stamp);
    let result = (result.map(|n| (n, stamp)), *is_full || tunnel.has_waiting());
    // An answer to a ping that does not go now goes with what is written next.
    let _ = tunnel.flush(stream);
    result
}

#[inline]
fn receive(
    stream: &mut TcpStream,
    stamps: &mut Option<Stamps>,
    into: &mut [u8],
) -> io::Result<Received> {
    match stamps {
        None => Ok((stream.read(into)?, None)),
        Some(stamps) => stamps.receive(stream, into),
    }
}
