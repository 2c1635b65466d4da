//! The sessions that live in a loop, found by what requests name them.

use std::ops::{Deref, DerefMut};

use rustc_hash::FxHashMap;
use wire::template::walk::RawNodeId;
use wire::types::StatusCode;

use super::{SlotId, Slots};
use crate::session::{Session, SessionKey};

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
    pub fn take_in(&mut self, session: Session) -> SlotId {
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
