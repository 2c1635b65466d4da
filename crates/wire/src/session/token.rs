//! Users: what a client proves itself with, and whom a server finds proven (Part 4, 7.41).

use std::fmt;

use opcua_types::{
    AnonymousIdentityToken, ByteString, ExtensionObject, IssuedIdentityToken, SignatureData,
    UAString, UserNameIdentityToken, UserTokenPolicy, UserTokenType, X509IdentityToken,
};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::secret;
pub use super::secret::{HideError, WrongSecret};
use super::{is_signed, sign, text};
use crate::certificate::Certificate;
use crate::channel::Identity;
use crate::policy::{Ephemeral, KeyUseError, Policy, PrivateKey, PublicKey};

/// What a client proves its user with.
#[derive(Clone)]
pub enum Credentials {
    /// Nobody in particular.
    Anonymous,
    /// A name and a password.
    UserName {
        /// The name.
        name: String,
        /// The password.
        password: Zeroizing<String>,
    },
    /// A certificate and the key that belongs to it.
    X509 {
        /// The user's certificate.
        certificate: Certificate,
        /// Its key.
        key: PrivateKey,
    },
    /// A token from an authorization service, passed through.
    Issued {
        /// The token, such as a JWT.
        data: Zeroizing<Vec<u8>>,
    },
}

impl Credentials {
    /// The kind of token policy they need.
    pub fn kind(&self) -> UserTokenType {
        match self {
            Self::Anonymous => UserTokenType::Anonymous,
            Self::UserName { .. } => UserTokenType::UserName,
            Self::X509 { .. } => UserTokenType::Certificate,
            Self::Issued { .. } => UserTokenType::IssuedToken,
        }
    }

    /// Whether they hold a secret that travels.
    pub fn is_secret(&self) -> bool {
        matches!(self, Self::UserName { .. } | Self::Issued { .. })
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => f.write_str("Anonymous"),
            Self::UserName { name, .. } => write!(f, "UserName({name:?})"),
            Self::X509 { certificate, .. } => write!(f, "X509({certificate:?})"),
            Self::Issued { data } => write!(f, "Issued({} bytes)", data.len()),
        }
    }
}

/// Whom a server was shown, with proof where there is one to be had. Whether this user may come
/// in is for the caller to say.
#[derive(Clone, PartialEq, Eq)]
pub enum UserIdentity {
    /// Nobody in particular.
    Anonymous,
    /// A name with a password still to be checked.
    UserName {
        /// The name.
        name: String,
        /// The password, decrypted.
        password: Zeroizing<Vec<u8>>,
    },
    /// A certificate whose owner holds its key; whether to trust it is still to be checked.
    X509 {
        /// The certificate.
        certificate: Certificate,
    },
    /// A token from an authorization service, still to be checked.
    Issued {
        /// The token, decrypted.
        data: Zeroizing<Vec<u8>>,
    },
}

impl UserIdentity {
    /// A fingerprint by which the same user is known again (Part 4, 5.7.3.1), without keeping
    /// what was secret.
    pub(super) fn fingerprint(&self) -> [u8; 32] {
        let parts: [&[u8]; 2] = match self {
            Self::Anonymous => [b"anonymous", b""],
            Self::UserName { name, .. } => [b"name", name.as_bytes()],
            Self::X509 { certificate } => [b"certificate", certificate.leaf()],
            Self::Issued { data } => [b"issued", data],
        };
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }
}

impl fmt::Debug for UserIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => f.write_str("Anonymous"),
            Self::UserName { name, .. } => write!(f, "UserName({name:?})"),
            Self::X509 { certificate } => write!(f, "X509({certificate:?})"),
            Self::Issued { data } => write!(f, "Issued({} bytes)", data.len()),
        }
    }
}

/// The server, as far as a user token depends on it.
pub(super) struct Server<'a> {
    /// Its certificate; needed where the token is encrypted or signed.
    pub(super) certificate: Option<&'a Certificate>,
    /// The last nonce it gave.
    pub(super) nonce: &'a [u8],
    /// The last ephemeral public key it gave.
    pub(super) ephemeral: Option<&'a [u8]>,
}

/// The client, as far as a user's secret depends on it.
pub(super) struct Sender<'a> {
    /// Signs secrets that are hidden with ephemeral keys.
    pub(super) identity: Option<&'a Identity>,
    /// Now, in ticks.
    pub(super) utc: i64,
}

/// Makes the token and, for a certificate, the userTokenSignature. The error tells of a key or
/// certificate that is missing or does not fit `policy`.
pub(super) fn present(
    credentials: &Credentials,
    policy_id: &UAString,
    policy: Policy,
    server: &Server<'_>,
    sender: &Sender<'_>,
) -> Result<(ExtensionObject, SignatureData), HideError> {
    let none = SignatureData::default();
    let policy_id = policy_id.clone();
    Ok(match credentials {
        Credentials::Anonymous => (
            ExtensionObject::from_message(AnonymousIdentityToken { policy_id }),
            none,
        ),
        Credentials::UserName { name, password } => {
            let (password, encryption_algorithm) =
                hide(password.as_bytes(), policy, server, sender)?;
            let token = UserNameIdentityToken {
                policy_id,
                user_name: name.into(),
                password,
                encryption_algorithm,
            };
            (ExtensionObject::from_message(token), none)
        }
        Credentials::X509 { certificate, key } => {
            let signature = match server.certificate {
                Some(server_certificate) => sign(key, policy, server_certificate, server.nonce)?,
                None => none,
            };
            let token = X509IdentityToken {
                policy_id,
                certificate_data: certificate.as_bytes().into(),
            };
            (ExtensionObject::from_message(token), signature)
        }
        Credentials::Issued { data } => {
            let (token_data, encryption_algorithm) = hide(data, policy, server, sender)?;
            let token = IssuedIdentityToken {
                policy_id,
                token_data,
                encryption_algorithm,
            };
            (ExtensionObject::from_message(token), none)
        }
    })
}

/// The secret as it travels, and the name of what it is encrypted with.
fn hide(
    secret: &[u8],
    policy: Policy,
    server: &Server<'_>,
    sender: &Sender<'_>,
) -> Result<(ByteString, UAString), HideError> {
    if policy.curve().is_some() {
        let receiver = server.ephemeral.ok_or(HideError::NoKey)?;
        let own = sender.identity.ok_or(HideError::NoIdentity(policy))?;
        let hidden = secret::hide(secret, policy, server.nonce, receiver, own, sender.utc)?;
        // What it is encrypted with, it says itself (Part 4, 7.41.4: null for an EncryptedSecret).
        return Ok((ByteString::from(hidden), UAString::null()));
    }
    // Part 4, 7.41.2.2: without encryption the secret alone is sent, without the nonce.
    let Some(algorithm) = policy.asymmetric_encryption_uri() else {
        return Ok((ByteString::from(secret), UAString::null()));
    };
    let key = server.certificate.ok_or(KeyUseError::NoKeys { policy })?;
    let cipher = encrypt_secret(policy, key.public_key(), secret, server.nonce)?;
    Ok((ByteString::from(cipher), UAString::from(algorithm)))
}

/// Encrypts a secret in the legacy format (Part 4, 7.41.2.2): length, secret and the last nonce
/// of the server, in as many RSA blocks as it takes.
pub fn encrypt_secret(
    policy: Policy,
    key: &PublicKey,
    secret: &[u8],
    nonce: &[u8],
) -> Result<Vec<u8>, KeyUseError> {
    let len = u32::try_from(secret.len() + nonce.len()).map_err(|_| KeyUseError::Failed)?;
    let plain = Zeroizing::new([&len.to_le_bytes(), secret, nonce].concat());
    key.encrypt(policy, &plain)
}

/// Decrypts a secret in the legacy format. All that is wrong with it is one and the same error.
pub fn decrypt_secret(
    policy: Policy,
    key: &PrivateKey,
    cipher: &[u8],
    nonce: &[u8],
) -> Result<Zeroizing<Vec<u8>>, WrongSecret> {
    let plain = key.decrypt(policy, cipher).map_err(|_| WrongSecret)?;
    let (len, rest) = plain.split_first_chunk().ok_or(WrongSecret)?;
    let len = usize::try_from(u32::from_le_bytes(*len)).map_err(|_| WrongSecret)?;
    let (content, padding) = rest.split_at_checked(len).ok_or(WrongSecret)?;
    let secret = len.checked_sub(nonce.len()).ok_or(WrongSecret)?;
    let (secret, end) = content.split_at_checked(secret).ok_or(WrongSecret)?;
    let is_nonce = end.ct_eq(nonce);
    // Part 4, 7.41.2.2 by way of its errata: padding a client adds must be zeros.
    let is_padding = padding.ct_eq(&vec![0; padding.len()]);
    match (is_nonce & is_padding).into() {
        true => Ok(Zeroizing::new(secret.to_vec())),
        false => Err(WrongSecret),
    }
}

/// Why a user token was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Not a token, or one whose policy is of another kind or unknown.
    #[error("no identity token that this endpoint knows")]
    Unknown,
    /// No token of this kind is offered.
    #[error("identity tokens of this kind are not offered here")]
    NotOffered,
    /// The secret is not encrypted as the token's policy says.
    #[error("the secret is encrypted with {0:?}, and the token policy wants another algorithm")]
    Algorithm(Policy),
    /// See [`WrongSecret`].
    #[error(transparent)]
    Secret(#[from] WrongSecret),
    /// The user's certificate cannot be read.
    #[error("the user's certificate is unusable: {0}")]
    Certificate(#[from] crate::certificate::CertificateError),
    /// The user did not prove to hold the certificate's key.
    #[error("the user token's signature is missing or wrong")]
    Signature,
}

/// Which policy of the endpoint a token names, and the token.
pub(super) fn recognise<'a>(
    token: &ExtensionObject,
    policies: &'a [UserTokenPolicy],
) -> Result<(&'a UserTokenPolicy, Token), TokenError> {
    let token = Token::read(token).ok_or(TokenError::Unknown)?;
    let mut offered = policies
        .iter()
        .filter(|policy| policy.token_type == token.kind())
        .peekable();
    offered.peek().ok_or(TokenError::NotOffered)?;
    // Some clients name no policy when there is only one of the kind, most often Anonymous.
    let policy = offered
        .find(|policy| {
            token
                .policy_id()
                .is_none_or(|id| policy.policy_id.as_ref() == id)
        })
        .ok_or(TokenError::Unknown)?;
    Ok((policy, token))
}

/// A user token of a kind we know.
pub(super) enum Token {
    Anonymous(AnonymousIdentityToken),
    UserName(UserNameIdentityToken),
    X509(X509IdentityToken),
    Issued(IssuedIdentityToken),
}

impl Token {
    /// No token at all stands for Anonymous (Part 4, 5.7.3.2).
    fn read(token: &ExtensionObject) -> Option<Self> {
        if token.is_null() {
            let policy_id = UAString::null();
            return Some(Self::Anonymous(AnonymousIdentityToken { policy_id }));
        }
        None.or_else(|| token.inner_as().cloned().map(Self::Anonymous))
            .or_else(|| token.inner_as().cloned().map(Self::UserName))
            .or_else(|| token.inner_as().cloned().map(Self::X509))
            .or_else(|| token.inner_as().cloned().map(Self::Issued))
    }

    fn kind(&self) -> UserTokenType {
        match self {
            Self::Anonymous(_) => UserTokenType::Anonymous,
            Self::UserName(_) => UserTokenType::UserName,
            Self::X509(_) => UserTokenType::Certificate,
            Self::Issued(_) => UserTokenType::IssuedToken,
        }
    }

    fn policy_id(&self) -> Option<&str> {
        text(match self {
            Self::Anonymous(token) => &token.policy_id,
            Self::UserName(token) => &token.policy_id,
            Self::X509(token) => &token.policy_id,
            Self::Issued(token) => &token.policy_id,
        })
    }

    /// Decrypts or verifies it; takes milliseconds where RSA is involved.
    pub(super) fn prove(
        self,
        signature: &SignatureData,
        policy: Policy,
        server: &Server<'_>,
        keys: &Keys<'_>,
    ) -> Result<UserIdentity, TokenError> {
        let reveal = |secret: &ByteString, algorithm: &UAString| {
            reveal(secret, algorithm, policy, server.nonce, keys)
        };
        match self {
            Self::Anonymous(_) => Ok(UserIdentity::Anonymous),
            Self::UserName(token) => Ok(UserIdentity::UserName {
                password: reveal(&token.password, &token.encryption_algorithm)?,
                name: text(&token.user_name).unwrap_or_default().to_owned(),
            }),
            Self::X509(token) => {
                let certificate = Certificate::from_der(token.certificate_data.as_ref())?;
                let key = certificate.public_key();
                // Part 4, 7.41.2.1 would let policy None go without a signature, and with it
                // anybody who has once seen the certificate.
                let proven = server.certificate.is_some_and(|server_certificate| {
                    is_signed(signature, key, policy, server_certificate, server.nonce)
                });
                match proven {
                    true => Ok(UserIdentity::X509 { certificate }),
                    false => Err(TokenError::Signature),
                }
            }
            Self::Issued(token) => Ok(UserIdentity::Issued {
                data: reveal(&token.token_data, &token.encryption_algorithm)?,
            }),
        }
    }
}

/// What a server opens secrets with.
pub(super) struct Keys<'a> {
    /// Its certificate's key.
    pub(super) own: Option<&'a PrivateKey>,
    /// The ephemeral key that it gave the client.
    pub(super) ephemeral: Option<&'a Ephemeral>,
    /// The certificate of the client, by the channel.
    pub(super) sender: Option<&'a Certificate>,
}

/// The secret out of a token.
fn reveal(
    secret: &ByteString,
    algorithm: &UAString,
    policy: Policy,
    nonce: &[u8],
    keys: &Keys<'_>,
) -> Result<Zeroizing<Vec<u8>>, TokenError> {
    if policy.curve().is_some() {
        let (Some(own), Some(sender)) = (keys.ephemeral, keys.sender) else {
            return Err(WrongSecret.into());
        };
        return Ok(secret::reveal(secret.as_ref(), policy, nonce, own, sender)?);
    }
    if text(algorithm) != policy.asymmetric_encryption_uri() {
        return Err(TokenError::Algorithm(policy));
    }
    match (policy, keys.own) {
        (Policy::None, _) => Ok(Zeroizing::new(secret.as_ref().to_vec())),
        (_, Some(key)) => Ok(decrypt_secret(policy, key, secret.as_ref(), nonce)?),
        (_, None) => Err(WrongSecret.into()),
    }
}
