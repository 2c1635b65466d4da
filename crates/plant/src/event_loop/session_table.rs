//! The sessions that live in a loop, found by what requests name them.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

use rustc_hash::FxHashMap;
use wire::template::walk::RawNodeId;
use wire::time::Instant;
use wire::types::StatusCode;

use super::{SlotId, Slots};
use crate::service::session::Session;
use crate::session::SessionKey;

/// The sessions that live in a loop.
pub struct Sessions {
    core: u8,
    slots: Slots<Session>,
    /// Those whose key does not say that they are here, or not in which slot.
    guests: FxHashMap<SessionKey, SlotId>,
    /// Sessions in the order of their coming; some are gone or activated meanwhile.
    unused: VecDeque<(Instant, SlotId)>,
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
            unused: VecDeque::new(),
        }
    }

    /// The loop that they live in.
    pub fn core(&self) -> u8 {
        self.core
    }

    /// The session that a request names, if it lives in this loop.
    #[inline]
    pub fn find(&self, token: RawNodeId<'_>) -> Result<SlotId, StatusCode> {
        let found = self.native(token).or_else(|| self.guest(token));
        found.ok_or(StatusCode::BadSessionIdInvalid)
    }

    /// One that is where its key says.
    #[inline]
    fn native(&self, token: RawNodeId<'_>) -> Option<SlotId> {
        let parts = SessionKey::split(token)?;
        let (id, there) = self.slots.current(parts.1)?;
        (parts.0 == self.core && there.key.has(parts)).then_some(id)
    }

    /// One that was taken in.
    fn guest(&self, token: RawNodeId<'_>) -> Option<SlotId> {
        self.guests.get(&SessionKey::read(token)?).copied()
    }

    /// Takes a session in that was made elsewhere.
    pub fn take_in(&mut self, session: Session) -> SlotId {
        let key = session.key;
        let id = self.slots.insert_with(|_| session);
        self.guests.insert(key, id);
        id
    }

    /// One has come that is not activated yet.
    pub fn add_unused(&mut self, now: Instant, id: SlotId) {
        self.unused.push_back((now, id));
        // Those in use are forgotten when there are many more in the list than there are sessions.
        if self.unused.len() >= 64 && self.unused.len().is_power_of_two() {
            let slots = &self.slots;
            self.unused.retain(|(_, id)| unused(slots, *id).is_some());
        }
    }

    /// The first to come of those that are not activated, of which this holds, by when it came.
    pub fn oldest_unused(&mut self, is: impl Fn(Instant, &Session) -> bool) -> Option<SlotId> {
        let slots = &self.slots;
        while let Some((_, id)) = self.unused.front()
            && unused(slots, *id).is_none()
        {
            self.unused.pop_front();
        }
        let at = self
            .unused
            .iter()
            .position(|(came, id)| unused(slots, *id).is_some_and(|session| is(*came, session)))?;
        self.unused.remove(at).map(|(_, id)| id)
    }

    /// Gives a session out of keeping.
    pub fn part_with(&mut self, id: SlotId) -> Option<Session> {
        let session = self.slots.remove(id)?;
        self.guests.remove(&session.key);
        Some(session)
    }
}

/// A session, if it is there and not activated.
fn unused(slots: &Slots<Session>, id: SlotId) -> Option<&Session> {
    slots
        .get(id)
        .filter(|session| !session.protocol.is_active())
}
