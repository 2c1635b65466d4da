//! One connection: a socket and the protocol's state over it.

use std::io::ErrorKind;
use std::sync::Arc;

use tracing::debug;
use wire::budget::{Held, Spent};
use wire::channel::SendError;
use wire::server::{Connection, RequestId};
use wire::session::Channel;
use wire::time::{Instant, Now};
use wire::types::{MessageSecurityMode, StatusCode};

use super::SlotId;
use super::connection_state::{ConnectionState, HelperTask};
use super::disturbed_responses::{DisturbedResponses, Released};
use super::long::{PIECE, ServerState};
use super::socket::Socket;
use crate::advertise::Urls;
use crate::counters::Counters;
use crate::fault::MessageFate;
use crate::line::Line;
use crate::service::steps::Work;
use crate::shared::Shared;
use crate::space::event::{Audit, EventKind, Field};

/// More than this waiting to be written, and a connection's requests are not looked at: who does
/// not read his answers gets no more of them.
pub const HIGH_WATER: usize = 1024 * 1024;

/// Bytes written to a connection before others have their turn.
pub const WRITE: usize = 256 * 1024;

/// A read has at least so much room.
const LEAST_READ: usize = 64 * 1024;

/// Whose a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// One too many: it is told so, and ends.
    Refused,
    /// Nobody's: no session was activated over it, or used.
    Nobodys,
    /// A client's that has a session.
    Known,
}

/// A connection.
pub struct Link {
    pub socket: Socket,
    pub connection: Connection,
    /// The line that it is of, if this side dialled and the client has not said hello yet.
    pub line: Option<Arc<Line>>,
    /// The endpoint that the client said hello to.
    pub endpoint_url: String,
    /// Whose it is.
    pub standing: Standing,
    /// When it came.
    pub since: Instant,
    /// That it was refused is written down already.
    pub noted: bool,
    /// What faults have made of its requests and responses.
    pub disturbed: Option<Box<DisturbedResponses>>,
    /// What it is to the loop that has it.
    pub here: ConnectionState,
    /// Of the memory budget, for what waits in either direction.
    held: Held,
}

/// What a socket said.
pub enum ReadOutcome {
    /// Bytes; there may be more.
    Bytes,
    /// Bytes, and there are no more.
    Last,
    /// Nothing now.
    Nothing,
    /// Nothing any more.
    End,
}

/// What a socket took.
pub enum WriteOutcome {
    /// All, or as much as it takes now: so many bytes.
    Taken(usize),
    /// Enough for a turn; it may take more.
    More,
    /// It takes no more for ever.
    End,
}

impl Link {
    /// A connection that was just accepted.
    pub fn new(socket: Socket, connection: Connection, held: Held, since: Instant) -> Self {
        Self {
            socket,
            connection,
            line: None,
            endpoint_url: String::new(),
            standing: Standing::Nobodys,
            since,
            noted: false,
            disturbed: None,
            here: ConnectionState::default(),
            held,
        }
    }

    /// Whether a session was activated over it, or used.
    pub fn is_known(&self) -> bool {
        self.standing == Standing::Known
    }

    /// A session is used over it.
    #[inline]
    pub fn is_used(&mut self) {
        if self.standing == Standing::Nobodys {
            self.standing = Standing::Known;
        }
    }

    /// Whether its channel is that of all connections over HTTPS: sessions are used over any of them.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.connection.channel_id() == wss::CHANNEL_ID
    }

    /// Has come to another loop, where nothing is known of the one that it comes from.
    pub fn forget_loop(&mut self) {
        let left = std::mem::take(&mut self.here);
        debug_assert!(
            !left.is_engaged(),
            "what is under way for it comes back elsewhere"
        );
        debug_assert!(left.leaving.is_none(), "it leaves with what it waited with");
        if !left.limits.is_empty() {
            self.limit();
        }
    }

    /// Sessions that go on to publish, if it has taken what waits.
    pub fn owed(&mut self) -> Vec<SlotId> {
        match self.here.owes_nobody() || self.backlog() >= HIGH_WATER / 2 {
            true => Vec::new(),
            false => self.here.owed(),
        }
    }

    /// Counts what waits, and was not looked at or not written.
    #[inline]
    pub fn settle(&mut self) -> Result<(), Spent> {
        let decoding = match self.here.helper_task {
            HelperTask::Decoding(bytes) => bytes,
            HelperTask::None | HelperTask::Proving => 0,
        };
        let waits = self.connection.unread() + self.backlog();
        self.held.set(waits + decoding)
    }

    /// A session takes responses of so many bytes only; 0 is any. Of several sessions on a connection the least holds:
    /// who shares a connection is one client.
    pub fn hold_to(&mut self, session: SlotId, most: u32) {
        if !self.holds_to(session, most) {
            self.here.limits.push((session, most));
            self.limit();
        }
    }

    /// The same over one connection of many, which are all used for a session without being told of it (Part 6, 7.4.1).
    pub fn hold_shared_to(
        &mut self,
        session: SlotId,
        most: u32,
        is_there: impl Fn(SlotId) -> bool,
    ) {
        if self.is_shared() && !self.holds_to(session, most) {
            self.here.limits.retain(|(other, _)| is_there(*other));
            self.hold_to(session, most);
        }
    }

    fn holds_to(&self, session: SlotId, most: u32) -> bool {
        most == 0 || self.here.limits.contains(&(session, most))
    }

    /// A session ended or went to another connection: what the others take holds still.
    pub fn let_go(&mut self, session: SlotId) {
        let before = self.here.limits.len();
        self.here.limits.retain(|(other, _)| *other != session);
        if self.here.limits.len() != before {
            self.limit();
        }
    }

    fn limit(&mut self) {
        let least = self.here.limits.iter().map(|(_, most)| *most).min();
        let least = least.unwrap_or(0);
        self.connection.limit_responses(least);
        // In JSON a message is longer or shorter than in binary; its client means what it gets.
        self.socket
            .limit_texts(usize::try_from(least).unwrap_or(usize::MAX));
    }

    /// Tells of its channel, that was opened or renewed, or was not.
    pub fn audit_channel(&self, shared: &Shared, status: StatusCode, now: Now) {
        shared.audit(|| {
            let kind = EventKind::AuditOpenSecureChannelEventType;
            let protection = self.connection.protection();
            let mode = MessageSecurityMode::from(protection.mode) as i32;
            let mut audit = Audit::new(kind, now.utc, status)
                .with(
                    Field::SecureChannelId,
                    self.connection.channel_id().to_string(),
                )
                .with(Field::SecurityPolicyUri, protection.policy.uri())
                .with(Field::SecurityMode, mode);
            if let Some(peer) = self.connection.peer() {
                let digits = peer.thumbprint();
                let shown: String = digits.iter().map(|byte| format!("{byte:02X}")).collect();
                audit = audit.with(Field::ClientCertificateThumbprint, shown);
            }
            audit
        });
    }

    /// The URLs by which its client reaches this server, if they are not those of everybody.
    pub fn urls(&self, shared: &Shared) -> Option<Urls> {
        let (own, reached) = (shared.config.identity.as_ref(), self.socket.local());
        shared
            .advertised
            .for_client(own, &self.endpoint_url, reached)
    }

    /// Its channel as sessions see it.
    pub fn channel(&self, shared: &Shared) -> Result<Channel, StatusCode> {
        let channel = Channel {
            id: self.connection.channel_id(),
            protection: self.connection.protection(),
            peer: self.connection.peer().cloned(),
        };
        // None is always taken by a connection, because discovery needs it; sessions do not.
        // Over HTTPS it is TLS that protects.
        let offered = self.is_shared() || shared.config.protections.contains(&channel.protection);
        match offered {
            true => Ok(channel),
            false => Err(StatusCode::BadSecurityPolicyRejected),
        }
    }

    /// Where its client is, if it still is.
    pub fn address(&self) -> Option<std::net::SocketAddr> {
        self.socket.peer()
    }

    /// Sends a response, or lets a fault have its way with it.
    #[inline]
    pub fn respond(
        &mut self,
        id: RequestId,
        now: Instant,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), SendError> {
        self.respond_as(id, None, now, write)
    }

    /// The same, perhaps with a notification message of a subscription and its fate.
    #[inline]
    pub fn respond_as(
        &mut self,
        id: RequestId,
        message: Option<(u32, MessageFate)>,
        now: Instant,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), SendError> {
        if let Some(long) = &mut self.here.long {
            long.keep(id, message, write);
            return Ok(());
        }
        if message.is_some() {
            self.disturbed.get_or_insert_default();
        }
        match &mut self.disturbed {
            None => self.connection.respond(id, write),
            Some(disturbed) => disturbed.respond(&mut self.connection, id, message, now, write),
        }
    }

    /// What was held back until now.
    pub fn release(&mut self, now: Instant) -> Released {
        self.here.release = None;
        match &mut self.disturbed {
            None => Released::default(),
            Some(disturbed) => disturbed.release(&mut self.connection, now),
        }
    }

    /// Bytes that wait to be written, those that are held back too.
    #[inline]
    pub fn backlog(&self) -> usize {
        self.connection.backlog()
            + self
                .disturbed
                .as_ref()
                .map_or(0, |disturbed| disturbed.bytes())
            + self.here.long.as_ref().map_or(0, |long| long.bytes())
    }

    /// Bytes it writes before others have their turn: a long answer has to be made as well.
    pub fn share(&self) -> usize {
        match &self.here.long {
            Some(_) => PIECE,
            None => WRITE,
        }
    }

    /// Reads once, into memory that the connection was lent.
    pub fn read(&mut self, counters: &Counters) -> ReadOutcome {
        let space = self.connection.space(LEAST_READ);
        let room = space.len();
        match self.socket.read(space) {
            Ok(0) => ReadOutcome::End,
            Ok(n) => {
                self.connection.filled(n);
                counters.received_bytes.add(n as u64);
                match self.socket.is_drained(n, room) {
                    true => ReadOutcome::Last,
                    false => ReadOutcome::Bytes,
                }
            }
            // Perhaps something came, but nothing for the connection: the next read tells.
            Err(error) if error.kind() == ErrorKind::Interrupted => ReadOutcome::Bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => ReadOutcome::Nothing,
            Err(error) => {
                debug!(%error, "reading ends");
                ReadOutcome::End
            }
        }
    }

    /// Writes what waits and more of a long answer, as far as the socket takes it, and at most so many bytes.
    pub fn flush(
        &mut self,
        most: usize,
        server: &mut ServerState<'_>,
        work: &mut Work,
    ) -> WriteOutcome {
        let mut bytes = 0;
        loop {
            if self.connection.pending().is_empty() && !self.make_more(server, work) {
                return match self.here.long.is_some() && work.is_over() {
                    true => WriteOutcome::More,
                    false => WriteOutcome::Taken(bytes),
                };
            }
            let pending = self.connection.pending();
            let room = most - bytes;
            if room == 0 {
                return WriteOutcome::More;
            }
            let piece = pending.get(..room).unwrap_or(pending);
            match self.socket.write(piece) {
                Ok(0) => return WriteOutcome::End,
                Ok(n) => {
                    self.connection.wrote(n);
                    server.shared.counters.sent_bytes.add(n as u64);
                    bytes += n;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.here.long.is_some() {
                        self.connection.shrink_outbox();
                    }
                    return WriteOutcome::Taken(bytes);
                }
                Err(_) => return WriteOutcome::End,
            }
        }
    }
}
