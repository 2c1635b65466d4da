//! Who may activate a session. Passwords are kept as salted hashes.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{self, SHA256};
use aws_lc_rs::pbkdf2::{self, PBKDF2_HMAC_SHA256};

use crate::space::Rights;
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
