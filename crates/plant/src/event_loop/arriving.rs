//! How connections come in: accepted, led on to a loop when they want a session, and told when there
//! is no room.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use capture::Recorder;
use mio::Interest;
use mio::net::TcpListener;
use rustc_hash::FxHashSet;
use tracing::info;
use wire::server::{self, Connection};
use wire::template::walk::{RequestHead, type_id};
use wire::types::StatusCode;

use super::between_loops::Secured;
use super::connection_state::HelperTask;
use super::link::{Link, Standing};
use super::socket::Socket;
use super::{Due, EventLoop, LISTENER, Mail, Post, Responder, SlotId};
use crate::fault::Class;
use crate::line::{Dialled, Line};
use crate::shared::random;

/// After this time those are asked in again for whom there were no descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);
/// How long a connection is there in any case without a session.
const TO_LOG_IN: Duration = Duration::from_secs(1);
/// So many of them make room at once.
const AT_A_TIME: usize = 64;

impl EventLoop {
    /// Makes this the acceptor: what accepts connections and keeps them until they want a session. The only loop of a
    /// server keeps them.
    pub fn accept(&mut self, mut listener: TcpListener) -> std::io::Result<()> {
        self.responder.connections.poll.registry().register(
            &mut listener,
            LISTENER,
            Interest::READABLE,
        )?;
        self.acceptor.listener = Some(listener);
        // One that is alone leads nobody on.
        self.acceptor.leads = self.loops.len() > 1;
        if !self.is_hosted() {
            self.acceptor.keep_reserve();
        }
        Ok(())
    }

    /// Accepts one connection. Whether there may be more.
    pub(super) fn accept_one(&mut self) -> bool {
        let Some(listener) = &self.acceptor.listener else {
            return false;
        };
        match listener.accept() {
            Ok((socket, _)) => {
                let recorder = self.shared.config.recorder.as_ref();
                self.welcome(Socket::of(socket, recorder));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            Err(error) if is_of_the_peer(error.kind()) => {}
            // There are no descriptors, or no memory. The listener rings for new clients
            // only, so those who wait already have to be asked for; until then the
            // descriptor kept for this tells one of them.
            Err(_) => {
                self.shared.counters.refused_connections.add(1);
                self.acceptor.accept_and_end();
                let at = self.responder.now.mono + ACCEPT_AGAIN;
                self.responder.store.timers.add(at, Due::Accept);
                return false;
            }
        }
        true
    }

    /// Where a request is to go that came to the acceptor: to the session that it names, or to the loop whose turn it is
    /// to get a new one.
    pub(super) fn way_in(&mut self, head: &RequestHead<'_>) -> Option<Post> {
        if !self.acceptor.leads {
            return None;
        }
        if head.type_id != type_id::CREATE_SESSION_REQUEST {
            return self
                .loops
                .home_of(head.authentication_token, &self.shared.homes);
        }
        self.loops.next_in_turn()
    }

    /// Takes a new connection in, if there is room.
    pub(super) fn welcome(&mut self, socket: Socket) {
        let limit = self.shared.config.limits.connections;
        let counters = &self.shared.counters;
        let faults = &self.shared.faults;
        if faults.want(Class::Connection) && faults.refuses(self.responder.now.mono) {
            counters.refused_connections.add(1);
            return;
        }
        if !counters.connections.admit(limit) && !self.admit_for_an_idle_one(limit) {
            let counters = &self.shared.counters;
            counters.refused_connections.add(1);
            if self.responder.connections.may_refuse() {
                self.responder.adopt(socket, true, None);
            }
            return;
        }
        self.shared.counters.cumulated_connections.add(1);
        self.responder.adopt(socket, false, None);
    }

    /// Takes a connection to a client that was dialled in, if there is room, and the server is there.
    pub(super) fn dialled(&mut self, dialled: Dialled) {
        let Dialled { socket, line } = dialled;
        let counters = &self.shared.counters;
        let limit = self.shared.config.limits.connections;
        if self.acceptor.listener.is_none() || !counters.connections.admit(limit) {
            return line.lost();
        }
        counters.cumulated_connections.add(1);
        let recorder = self.shared.config.recorder.as_ref();
        self.responder
            .adopt(Socket::dialled(socket, recorder), false, Some(line));
    }

    /// Takes a connection in that was opened over TLS, if there is room, and the server is there.
    pub(super) fn secured(&mut self, secured: Secured) {
        if self.acceptor.listener.is_none() {
            return;
        }
        let recorder = self.shared.config.recorder.as_ref();
        self.welcome(Socket::secured(secured.socket, secured.tunnel, recorder));
    }

    /// There are as many as may be: the oldest without a session make room (Part 4, 5.6.2). Where they are with another
    /// loop, who comes next finds it.
    fn admit_for_an_idle_one(&mut self, limit: usize) -> bool {
        if !self.acceptor.may_make_room(self.responder.now.mono) {
            return false;
        }
        if self.responder.end_idle() == 0 {
            self.loops.tell_others(|| Mail::EndIdle);
        }
        self.shared.counters.connections.admit(limit)
    }
}

impl Responder {
    /// Ends the oldest connections over which no session is active and no Publish request of one waits, some at a
    /// time; tells how many. Whoever has only come has a moment to log in: else those who come at the same time would throw
    /// each other out.
    pub(super) fn end_idle(&mut self) -> usize {
        let now = self.now.mono;
        let active = self.store.sessions.ids();
        let active = active
            .into_iter()
            .filter_map(|id| self.store.sessions.get(id));
        let active: FxHashSet<SlotId> = active
            .filter(|session| session.protocol.is_active())
            .flat_map(|session| {
                // Over HTTPS they may wait on others than the one it was activated over.
                let waiting = session.requests.iter().map(|it| it.asked.link);
                waiting.chain([session.link])
            })
            .collect();
        let links = self.connections.links.ids().into_iter();
        let mut idle: Vec<_> = links
            .filter_map(|id| Some((self.connections.links.get(id)?, id)))
            .filter(|(link, id)| {
                let settled = now.since(link.since) >= TO_LOG_IN;
                let engaged = link.here.helper_task != HelperTask::None;
                settled && link.standing != Standing::Refused && !engaged && !active.contains(id)
            })
            .map(|(link, id)| (link.since, id))
            .collect();
        idle.sort_unstable();
        let limit = self.shared.config.limits.connections;
        idle.truncate((limit / 64).clamp(1, AT_A_TIME));
        for (_, id) in &idle {
            let reason = "the place is needed for another connection; this one has no session";
            self.end_with(*id, StatusCode::BadTcpServerTooBusy, reason);
        }
        idle.len()
    }

    fn adopt(&mut self, mut socket: Socket, refused: bool, line: Option<Arc<Line>>) {
        let shared = &self.shared;
        let asked = socket.asked().map(str::to_owned);
        // Part 6, 7.4.1: all of HTTPS is one channel.
        let channel_id = match asked {
            Some(_) => wss::CHANNEL_ID,
            None => shared.channel_id(),
        };
        let mut config = server::Config::new(channel_id, Box::new(random));
        config.shared_channel = asked.is_some();
        config.limits = shared.config.limits.sizes;
        config.protections.clone_from(&shared.config.protections);
        config.identities = shared.identities.clone();
        let memory = &shared.config.memory;
        // Whatever one of them has, others have something, too.
        let most = shared
            .config
            .limits
            .connection_memory
            .min(memory.limit() / 2);
        let budget = memory.within(most);
        config.message_timeout = shared.config.limits.message_timeout;
        config.budget = Some(budget.clone());
        socket.counts(budget.hold());
        config.key_log = shared.config.recorder.as_ref().map(Recorder::key_log);
        config.reverse = line.as_ref().map(|_| {
            let shown = &shared.advertised;
            (
                shared.config.application_uri.clone(),
                shown.urls.tcp.clone(),
            )
        });
        let connection = Connection::new(config, self.now);
        let mut link = Link::new(socket, connection, budget.hold(), self.now.mono);
        if refused {
            link.standing = Standing::Refused;
        }
        link.endpoint_url = asked.unwrap_or_default();
        link.line = line;
        link.connection
            .span()
            .in_scope(|| info!(address = ?link.address(), refused, "connection accepted"));
        let shared = link.is_shared();
        // Others are told when they have said hello.
        if let Some(id) = self
            .connections
            .keep(link, &mut self.store.timers)
            .filter(|_| refused && shared)
        {
            let reason = "there are as many connections as may be";
            self.end_with(id, StatusCode::BadTcpServerTooBusy, reason);
        }
    }
}

/// Whether only the connection at hand is lost, not the means to take others.
fn is_of_the_peer(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Interrupted | ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset
    )
}
