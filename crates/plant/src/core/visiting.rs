//! Sessions that are activated over a connection of another loop: the session moves there, with all that it has.
//!
//! So all sessions of a connection live where its socket is, and none of them loses what the others have. Who wants
//! in is proven where the session is: a request that is refused moves nothing.

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use wire::session::Channel;
use wire::template::walk::RawNodeId;
use wire::time::Instant;
use wire::types::{ActivateSessionRequest, ActivateSessionResponse, StatusCode};

use super::{Asked, Core, Mail, SlotId, Slots};
use crate::session::{Session, SessionKey};
use crate::space;
use crate::subscription::Subscription;

/// The sessions that live in a loop.
pub struct Sessions {
    core: u8,
    slots: Slots<Session>,
    /// Those whose key does not say that they are here, or not in which slot.
    guests: FxHashMap<SessionKey, SlotId>,
}

impl Deref for Sessions {
    type Target = Slots<Session>;

    fn deref(&self) -> &Self::Target {
        &self.slots
    }
}

impl DerefMut for Sessions {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.slots
    }
}

impl Sessions {
    /// None yet, in this loop.
    pub fn new(core: u8) -> Self {
        Self {
            core,
            slots: Slots::default(),
            guests: FxHashMap::default(),
        }
    }

    /// The session that a request names, if it lives in this loop.
    #[inline]
    pub fn find(&self, token: RawNodeId<'_>) -> Result<SlotId, StatusCode> {
        let key = SessionKey::read(token).ok_or(StatusCode::BadSessionIdInvalid)?;
        if key.core == self.core
            && let Some(id) = self.slots.current(key.slot)
            && self.slots.get(id).is_some_and(|there| there.key == key)
        {
            return Ok(id);
        }
        let guest = self.guests.get(&key).copied();
        guest.ok_or(StatusCode::BadSessionIdInvalid)
    }

    /// Takes a session in that was made elsewhere.
    fn take_in(&mut self, session: Session) -> SlotId {
        let key = session.key;
        let id = self.slots.insert_with(|_| session);
        self.guests.insert(key, id);
        id
    }

    /// Gives a session out of keeping.
    pub fn part_with(&mut self, id: SlotId) -> Option<Session> {
        let session = self.slots.remove(id)?;
        self.guests.remove(&session.key);
        Some(session)
    }
}

/// Who activates a session: a connection of this loop or of another.
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    /// The loop of the connection.
    pub core: u8,
    pub asked: Asked,
    pub address: Option<SocketAddr>,
    /// A session was activated over this connection before.
    pub known: bool,
    /// Messages of its channel are signed.
    pub signed: bool,
}

/// An ActivateSession request for a session that lives in another loop.
pub struct Wish {
    pub caller: Caller,
    pub channel: Channel,
    pub request: ActivateSessionRequest,
}

/// What an activation comes to.
pub struct Welcome {
    pub response: ActivateSessionResponse,
    /// The user's name for people, and how it was proven.
    pub user: String,
    pub mechanism: &'static str,
}

/// A session that is to move once nothing is under way for it.
pub struct Departure {
    session: SlotId,
    caller: Caller,
    welcome: Welcome,
}

/// A session on its way to the loop of its new connection.
pub struct Moved {
    asked: Asked,
    session: Session,
    subscriptions: Vec<Subscription>,
    welcome: Welcome,
}

impl Core {
    /// Another loop has a connection that wants to activate a session.
    pub(super) fn grant(&mut self, wish: Wish) {
        let token = space::raw(&wish.request.request_header.authentication_token);
        let result = match self.sessions.find(token) {
            Ok(session) => self.activate(session, wish.caller, wish.channel, &wish.request),
            // It moved on meanwhile, perhaps even to where it is wanted.
            Err(status) => match self.home_of(token) {
                Some(home) => {
                    home.send(Mail::Activate(Box::new(wish)));
                    return;
                }
                None => Err(status),
            },
        };
        if let Err(status) = result {
            self.turn_down(wish.caller, status);
        }
    }

    /// Tells whoever wanted to activate a session that it is not.
    pub(super) fn turn_down(&mut self, caller: Caller, status: StatusCode) {
        let Asked { link, id, handle } = caller.asked;
        match self.posts.get(usize::from(caller.core)) {
            Some(home) if caller.core != self.index => {
                home.send(Mail::NotActivated(caller.asked, status));
            }
            _ => self.fault(link, id, handle, status),
        }
    }

    /// Sends a session to the loop of the connection that it was activated over. Subscriptions that were asked for are
    /// waited for, so that they find it.
    pub(super) fn depart(&mut self, session: SlotId, caller: Caller, welcome: Welcome) {
        self.unseat(session);
        let mut awaited = self.transfers.ids().into_iter();
        if awaited.any(|id| self.transfers.get(id).is_some_and(|it| it.is_for(session))) {
            self.departures.push(Departure {
                session,
                caller,
                welcome,
            });
            return;
        }
        let Some(home) = self.posts.get(usize::from(caller.core)).cloned() else {
            return;
        };
        let Some(held) = self.sessions.part_with(session) else {
            return self.turn_down(caller, StatusCode::BadSessionIdInvalid);
        };
        let numbers = held.subscriptions.iter();
        let subscriptions: Vec<Subscription> = numbers
            .filter_map(|number| self.subscriptions.remove(number))
            .collect();
        let key = held.key;
        let records: Vec<_> = subscriptions
            .iter()
            .map(|subscription| Arc::clone(&subscription.record))
            .collect();
        home.send(Mail::Moved(Box::new(Moved {
            asked: caller.asked,
            session: held,
            subscriptions,
            welcome,
        })));
        // Only now: whoever asks there finds the session in the mail before the question.
        self.shared.homes.moved(key, caller.core);
        for record in records {
            self.shared.register.add_subscription(&record, caller.core);
        }
    }

    /// Sends those on their way that waited for subscriptions.
    pub(super) fn depart_again(&mut self) {
        for waiting in std::mem::take(&mut self.departures) {
            self.depart(waiting.session, waiting.caller, waiting.welcome);
        }
    }

    /// Takes a session in that was activated over a connection of this loop.
    pub(super) fn arrived(&mut self, moved: Moved) {
        let Moved {
            asked,
            session,
            subscriptions,
            welcome,
        } = moved;
        let (owner, number) = (Arc::clone(&session.owner), session.record.number);
        let id = self.sessions.take_in(session);
        for mut subscription in subscriptions {
            subscription.join(id, number, &owner);
            // What rang for it elsewhere does not ring here.
            subscription.wake = Instant::default();
            self.timers.follow(&mut subscription);
            self.subscriptions.insert(subscription.id, subscription);
        }
        self.watch(id);
        self.seat(id, asked, welcome);
        self.flush(asked.link);
    }
}
