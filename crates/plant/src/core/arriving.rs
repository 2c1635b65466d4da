//! How connections come in: accepted at the door, led on to a loop when they want a session, and told when there
//! is no room.

use std::io::ErrorKind;
use std::time::Duration;

use mio::Interest;
use mio::net::{TcpListener, TcpStream};
use wire::server::{self, Connection};
use wire::template::walk::{RequestHead, type_id};

use super::link::Link;
use super::{Core, Due, LISTENER, Post, SlotId, token};
use crate::fault::Class;
use crate::shared::random;

/// After this time those are asked in again for whom there were no descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);
/// Connections beyond the limit that are told so at the same time.
const REFUSING: usize = 64;
/// With so many bytes not yet sent a socket takes no more.
#[cfg(target_os = "linux")]
const UNSENT: u32 = 256 * 1024;

impl Core {
    /// Makes this the door: what accepts connections and keeps them until they want a session.
    pub fn accept(&mut self, mut listener: TcpListener) -> std::io::Result<()> {
        self.poll
            .registry()
            .register(&mut listener, LISTENER, Interest::READABLE)?;
        self.listener = Some(listener);
        self.reserve = reserve();
        Ok(())
    }

    /// Lets one in who is at the door. Whether there may be more.
    pub(super) fn accept_one(&mut self) -> bool {
        let Some(listener) = &self.listener else {
            return false;
        };
        match listener.accept() {
            Ok((socket, _)) => self.welcome(socket),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            Err(error) if is_of_the_peer(error.kind()) => {}
            // There are no descriptors, or no memory. The listener rings for new clients
            // only, so those who wait already have to be asked for; until then the
            // descriptor kept for this tells one of them.
            Err(_) => {
                self.shared.counters.refused_connections.add(1);
                if self.reserve.take().is_some() {
                    drop(listener.accept());
                    self.reserve = reserve();
                }
                let at = self.now.mono + ACCEPT_AGAIN;
                self.timers.add(at, Due::Accept);
                return false;
            }
        }
        true
    }

    /// Whether it has no sessions, but leads to those who have.
    pub(super) fn is_door(&self) -> bool {
        self.listener.is_some() || self.away.is_some()
    }

    /// Where a request is to go that came to the door: to the session that it names, or to the loop whose turn it is
    /// to get a new one.
    pub(super) fn way_in(&mut self, head: &RequestHead<'_>) -> Option<Post> {
        if !self.is_door() {
            return None;
        }
        if head.type_id != type_id::CREATE_SESSION_REQUEST {
            return self.home_of(head.authentication_token);
        }
        let loops = self.posts.len().saturating_sub(1).max(1);
        self.turn = (self.turn + 1) % loops;
        self.posts.get(self.turn).cloned()
    }

    /// Takes a new connection in, if there is room.
    fn welcome(&mut self, socket: TcpStream) {
        let limit = self.shared.config.limits.connections;
        let counters = &self.shared.counters;
        let faults = &self.shared.faults;
        if faults.want(Class::Connection) && faults.refuses(self.now.mono) {
            counters.refused_connections.add(1);
            return;
        }
        if !counters.connections.admit(limit) {
            counters.refused_connections.add(1);
            // A few at a time are told why; a flood is not.
            if self.refusing < REFUSING {
                self.refusing += 1;
                self.adopt(socket, true);
            }
            return;
        }
        counters.cumulated_connections.add(1);
        self.adopt(socket, false);
    }

    fn adopt(&mut self, socket: TcpStream, refused: bool) {
        // Answers are written in groups already; a socket that cannot do without waiting works
        // all the same.
        let _ = socket.set_nodelay(true);
        keep_little_unsent(&socket);
        let shared = &self.shared;
        let mut config = server::Config::new(shared.channel_id(), Box::new(random));
        config.limits = shared.config.limits.sizes;
        config.protections.clone_from(&shared.config.protections);
        config.identity.clone_from(&shared.identity);
        let connection = Connection::new(config, self.now);
        let mut link = Link::new(socket, connection);
        link.refused = refused;
        self.keep(link);
    }

    /// Makes a connection one of this loop's.
    pub(super) fn keep(&mut self, mut link: Link) -> Option<SlotId> {
        // Another loop may have been about to go on with it.
        link.unwritten = false;
        let registry = self.poll.registry();
        let mut registered = false;
        let id = self.links.insert_with(|id| {
            let interest = Interest::READABLE | Interest::WRITABLE;
            let socket = &mut link.socket;
            registered = registry.register(socket, token(id), interest).is_ok();
            link
        });
        match registered {
            true => {
                self.schedule(id);
                Some(id)
            }
            false => {
                self.drop_link(id);
                None
            }
        }
    }
}

/// Has the kernel keep no megabytes for somebody who takes none. What is under way to one who does is not counted, so
/// it is as fast as before.
fn keep_little_unsent(socket: &TcpStream) {
    #[cfg(target_os = "linux")]
    let _ = socket2::SockRef::from(socket).set_tcp_notsent_lowat(UNSENT);
    // Elsewhere it is as much as the system's send buffer.
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
}

/// A descriptor that can be done without.
fn reserve() -> Option<std::fs::File> {
    let path = if cfg!(windows) { "NUL" } else { "/dev/null" };
    std::fs::File::open(path).ok()
}

/// Whether only the connection at hand is lost, not the means to take others.
fn is_of_the_peer(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Interrupted | ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset
    )
}
