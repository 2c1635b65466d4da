//! Whose a session is, how its requests name it, and where it lives.

use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;
use wire::template::walk::RawNodeId;
use wire::types::{ByteString, NodeId};

use crate::limits::Transfer;

/// Bytes of a token that nobody can guess.
pub const SECRET_LEN: usize = 16;
/// And so many more over HTTPS, where the token is all that tells sessions apart: it is to be longer than 20 bytes there
/// (Part 6, 7.4.1).
pub const MORE_LEN: usize = 8;

/// What a session's requests carry: the core that made it, its place there, and a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionKey {
    pub core: u8,
    pub slot: u32,
    pub secret: [u8; SECRET_LEN],
    pub more: Option<[u8; MORE_LEN]>,
}

impl SessionKey {
    /// As a NodeId.
    pub fn to_node_id(self) -> NodeId {
        let [a, b, c, _] = self.slot.to_le_bytes();
        let mut bytes = vec![self.core, a, b, c];
        bytes.extend_from_slice(&self.secret);
        bytes.extend(self.more.into_iter().flatten());
        NodeId::new(0, ByteString::from(bytes))
    }

    /// From a request's header.
    pub fn read(token: RawNodeId<'_>) -> Option<Self> {
        let (core, slot, rest) = Self::split(token)?;
        let (secret, more) = rest.split_first_chunk()?;
        Some(Self {
            core,
            slot,
            secret: *secret,
            more: match more {
                [] => None,
                more => Some(*more.as_array()?),
            },
        })
    }

    /// The core and the place that a request's header names, and what nobody can guess.
    #[inline]
    pub fn split(token: RawNodeId<'_>) -> Option<(u8, u32, &[u8])> {
        let RawNodeId::Opaque { namespace: 0, id } = token else {
            return None;
        };
        let (&[core, a, b, c], secret) = id.split_first_chunk()?;
        Some((core, u32::from_le_bytes([a, b, c, 0]), secret))
    }

    /// Whether it is the one of which these are the parts.
    #[inline]
    pub fn has(&self, (core, slot, secret): (u8, u32, &[u8])) -> bool {
        let same = match (secret.split_first_chunk(), &self.more) {
            (Some((secret, [])), None) => *secret == self.secret,
            (Some((secret, more)), Some(own)) => *secret == self.secret && more == own,
            _ => false,
        };
        same && (core, slot) == (self.core, self.slot)
    }
}

/// In which loops those sessions live that moved from the one that made them.
#[derive(Debug, Default)]
pub struct MovedSessions {
    moved: Mutex<FxHashMap<SessionKey, u8>>,
}

impl MovedSessions {
    /// The loop where a session lives, if it still does.
    pub fn of(&self, key: &SessionKey) -> u8 {
        let moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        moved.get(key).copied().unwrap_or(key.core)
    }

    /// A session goes to a loop: it is sent, and lives there for everybody who asks, in one step.
    pub fn moves(&self, key: SessionKey, core: u8, send: impl FnOnce()) {
        let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        send();
        match key.core == core {
            true => moved.remove(&key),
            false => moved.insert(key, core),
        };
    }

    /// A session lives nowhere any more.
    pub fn forget(&self, key: SessionKey) {
        self.moves(key, key.core, || {});
    }
}

/// On whose behalf a session acts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owner {
    /// The same for the same user in whatever session; empty for one without a name.
    pub user: String,
    /// Which of the users of the plant that is; none for the owner of a certificate that is not among them.
    pub listed: Option<String>,
    /// What the client says it is.
    pub application_uri: String,
    /// Its certificate proves that, on a channel that is signed.
    pub signed: bool,
    /// It is told what clients did: it may do everything, and nobody else reads what it is told (Part 4, 6.5).
    pub audits: bool,
}

impl Owner {
    /// Its name for people; empty for nobody in particular.
    pub fn name(&self) -> &str {
        self.listed.as_deref().unwrap_or(&self.user)
    }

    /// Part 4, 5.14.7.1: a subscription goes over to the same user only; between sessions of nobody in particular, to
    /// the same application, if both have proven which they are.
    pub fn may_take_from(&self, other: &Self, rule: Transfer) -> bool {
        let same_application =
            self.signed && other.signed && self.application_uri == other.application_uri;
        match rule {
            Transfer::Anyone => true,
            Transfer::Never => false,
            Transfer::SameUser => {
                self.user == other.user && (!self.user.is_empty() || same_application)
            }
        }
    }
}

/// As whom a session is to be activated.
#[derive(Debug)]
pub struct Claim {
    /// Who the client says it is.
    pub user: String,
    /// What the client calls that in its own books.
    pub entry: String,
    /// The channel that it asks over, which is not always the one that the session had before.
    pub channel: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_a_key_by_all_of_its_bytes_and_no_others() {
        for more in [None, Some([7; MORE_LEN])] {
            let secret = [9; SECRET_LEN];
            let (core, slot) = (1, 0x04_03_02);
            let key = SessionKey {
                core,
                slot,
                secret,
                more,
            };
            let names = |id: &[u8]| {
                let token = RawNodeId::Opaque { namespace: 0, id };
                let has = SessionKey::split(token).is_some_and(|parts| key.has(parts));
                assert_eq!(has, SessionKey::read(token) == Some(key), "{id:?}");
                has
            };
            let mut token = vec![1, 2, 3, 4];
            token.extend(secret);
            token.extend(more.into_iter().flatten());
            assert!(names(&token));
            for at in 0..token.len() {
                assert!(!names(&token[..at]), "{at}");
                let mut other = token.clone();
                other[at] ^= 1;
                assert!(!names(&other), "{at}");
            }
            token.push(7);
            assert!(!names(&token));
        }
    }
}
