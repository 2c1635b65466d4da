//! Who may activate a session. Passwords are kept as salted hashes.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{self, SHA256};
use aws_lc_rs::pbkdf2::{self, PBKDF2_HMAC_SHA256};

use crate::space::access;
use crate::trust::TrustPolicy;

/// Who may activate a session.
#[derive(Debug, Clone)]
pub struct Users {
    /// Anybody, without a name.
    pub anonymous: bool,
    /// Names with passwords.
    pub passwords: Vec<(String, PasswordHash)>,
    /// Names with tokens that an authorization service issued.
    pub tokens: Vec<(String, TokenHash)>,
    /// Owners of certificates, when these are taken at all.
    pub certificates: Option<TrustPolicy>,
    /// Those of `rights` that are also the common names of certificates. Other owners may do what
    /// `named_rights` says.
    pub owners: Vec<String>,
    /// What those without a name may do.
    pub anonymous_rights: Rights,
    /// What those with a name or a certificate may do, unless `rights` names them.
    pub named_rights: Rights,
    /// What single users may do, by their names.
    pub rights: Vec<(String, Rights)>,
}

/// What a user may do with the nodes of a plant. The standard nodes are there for everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rights {
    /// Read values and monitor them.
    pub read: bool,
    /// Write values.
    pub write: bool,
    /// Call methods.
    pub call: bool,
    /// What is otherwise in zones of the address space.
    pub zones: Zones,
}

/// Zones that can have rights of their own.
pub const ZONES: usize = 15;

/// In place of a zone: what everybody may see, as the standard nodes.
pub(crate) const EVERYBODY: u8 = u8::MAX;
/// In place of a zone: what only those may see who may do everything.
pub(crate) const OWNERS: u8 = u8::MAX - 1;

/// Rights by zone: four bits each, the last of which says that the others count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Zones(u64);

impl Rights {
    /// Everything.
    pub const ALL: Self = Self {
        read: true,
        write: true,
        call: true,
        zones: Zones(0),
    };
    /// Look, and change nothing.
    pub const READ_ONLY: Self = Self {
        read: true,
        write: false,
        call: false,
        zones: Zones(0),
    };
    /// Nothing but to browse.
    pub const NONE: Self = Self {
        read: false,
        write: false,
        call: false,
        zones: Zones(0),
    };

    /// The same, but in a zone, of which there are 1 to [`ZONES`].
    #[must_use]
    pub fn with_zone(mut self, zone: u8, there: Self) -> Self {
        let bit = |is: bool, at: u32| u64::from(is) << at;
        let bits = 8 | bit(there.read, 0) | bit(there.write, 1) | bit(there.call, 2);
        let at = u32::from(zone) * 4;
        let cleared = self.zones.0 & !(15u64.wrapping_shl(at));
        self.zones = Zones(cleared | bits.wrapping_shl(at));
        self
    }

    /// What may be done in a zone; 0 is none in particular.
    #[inline]
    pub(crate) fn within(self, zone: u8) -> Self {
        let bits = match zone {
            0 => 0,
            zone => self.zones.0.wrapping_shr(u32::from(zone) * 4),
        };
        match bits & 8 {
            0 => self,
            _ => Self {
                read: bits & 1 != 0,
                write: bits & 2 != 0,
                call: bits & 4 != 0,
                zones: self.zones,
            },
        }
    }

    /// The bits of an access level that these rights leave (Part 3, 5.6.2: UserAccessLevel).
    #[inline]
    pub(crate) fn access(self) -> u8 {
        let mut bits = 0;
        if self.read {
            bits |= access::READ | access::HISTORY_READ;
        }
        if self.write {
            bits |= access::WRITE | access::STATUS_WRITE | access::TIMESTAMP_WRITE;
        }
        bits
    }
}

impl Default for Rights {
    fn default() -> Self {
        Self::ALL
    }
}

impl Default for Users {
    /// Anonymous, and nobody else; who comes in may do everything.
    fn default() -> Self {
        Self {
            anonymous: true,
            passwords: Vec::new(),
            tokens: Vec::new(),
            certificates: None,
            owners: Vec::new(),
            anonymous_rights: Rights::ALL,
            named_rights: Rights::ALL,
            rights: Vec::new(),
        }
    }
}

impl Users {
    /// What a user may do; `None` is one without a name.
    pub fn rights_of(&self, name: Option<&str>) -> Rights {
        match name {
            None => self.anonymous_rights,
            Some(name) => {
                let own = self.rights.iter().find(|(known, _)| known == name);
                own.map_or(self.named_rights, |(_, rights)| *rights)
            }
        }
    }

    /// What the owner of a certificate may do, by the common name of its subject.
    pub fn rights_of_owner(&self, name: Option<&str>) -> Rights {
        let known = self.owner_named(name);
        known.map_or(self.named_rights, |name| self.rights_of(Some(name)))
    }

    /// Which of the users with a certificate this is, by the common name of its subject.
    pub fn owner_named<'a>(&self, name: Option<&'a str>) -> Option<&'a str> {
        name.filter(|name| self.owners.iter().any(|owner| owner == name))
    }

    /// Whose issued token this is.
    pub fn owner_of(&self, token: &[u8]) -> Option<&str> {
        let hash = TokenHash::new(token);
        // All are looked at, so that time tells nothing.
        let mut owner = None;
        for (name, known) in &self.tokens {
            if verify_slices_are_equal(&known.0, &hash.0).is_ok() {
                owner = Some(name.as_str());
            }
        }
        owner
    }

    /// Whether this is the user's password. Takes as long for a name that is unknown: it
    /// belongs on a helper thread.
    pub fn check(&self, name: &str, password: &[u8]) -> bool {
        let known = self.passwords.iter().find(|(known, _)| known == name);
        match known.or(self.passwords.first()) {
            Some((_, hash)) => hash.verify(password) & known.is_some(),
            None => false,
        }
    }
}

/// An issued token as it may be kept: tokens are long and random, so a plain hash hides them.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// The hash of a token.
    pub fn new(token: &[u8]) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest::digest(&SHA256, token).as_ref());
        Self(hash)
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash")
    }
}

/// A password as it may be kept: PBKDF2 with HMAC-SHA256, a salt of its own, and a number of
/// rounds. As text: `pbkdf2-sha256$ROUNDS$SALT$HASH`, in hexadecimal.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash {
    rounds: NonZeroU32,
    salt: Vec<u8>,
    hash: Vec<u8>,
}

const SCHEME: &str = "pbkdf2-sha256";
const HASH_LEN: usize = 32;

impl PasswordHash {
    /// The hash of a password. More rounds make guessing, and each session, more expensive.
    pub fn new(password: &[u8], salt: [u8; 16], rounds: NonZeroU32) -> Self {
        let mut hash = vec![0; HASH_LEN];
        pbkdf2::derive(PBKDF2_HMAC_SHA256, rounds, &salt, password, &mut hash);
        Self {
            rounds,
            salt: salt.into(),
            hash,
        }
    }

    /// Whether this is the password, in a time that does not depend on how much of it is right.
    pub fn verify(&self, password: &[u8]) -> bool {
        pbkdf2::verify(
            PBKDF2_HMAC_SHA256,
            self.rounds,
            &self.salt,
            password,
            &self.hash,
        )
        .is_ok()
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash")
    }
}

impl fmt::Display for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}${}$", self.rounds)?;
        self.salt
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("$")?;
        self.hash
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Text that is no password hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a password hash (want {SCHEME}$ROUNDS$SALT$HASH)")]
pub struct NotAHash;

impl FromStr for PasswordHash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        let mut parts = text.split('$');
        let mut next = || parts.next().ok_or(NotAHash);
        if next()? != SCHEME {
            return Err(NotAHash);
        }
        let rounds = next()?.parse().map_err(|_| NotAHash)?;
        let salt = from_hex(next()?)?;
        let hash = from_hex(next()?)?;
        if hash.len() != HASH_LEN {
            return Err(NotAHash);
        }
        Ok(Self { rounds, salt, hash })
    }
}

fn from_hex(text: &str) -> Result<Vec<u8>, NotAHash> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|pair| {
            let pair = str::from_utf8(pair).map_err(|_| NotAHash)?;
            u8::from_str_radix(pair, 16).map_err(|_| NotAHash)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(password: &str) -> PasswordHash {
        PasswordHash::new(password.as_bytes(), [7; 16], NonZeroU32::new(3).unwrap())
    }

    #[test]
    fn only_the_right_password_of_a_known_user_is_right() {
        let users = Users {
            passwords: vec![("bench".into(), hash("bench")), ("eve".into(), hash("x"))],
            ..Users::default()
        };
        assert!(users.check("bench", b"bench"));
        assert!(users.check("eve", b"x"));
        assert!(!users.check("bench", b"x"));
        assert!(!users.check("nobody", b"bench"));
        assert!(!Users::default().check("bench", b"bench"));
    }

    #[test]
    fn a_hash_is_kept_as_text_and_its_debug_form_says_nothing() {
        let text = hash("secret").to_string();
        assert_eq!(text.parse(), Ok(hash("secret")));
        assert_eq!("secret".parse::<PasswordHash>(), Err(NotAHash));
        assert_eq!(format!("{:?}", hash("secret")), "PasswordHash");
    }
}
