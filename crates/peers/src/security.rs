//! Policies, modes and tokens by the names that peers are given on their command lines.

use std::fmt;

/// A security policy of OPC UA, by its name in Part 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Policy {
    None,
    Basic128Rsa15,
    Basic256,
    Basic256Sha256,
    Aes128Sha256RsaOaep,
    Aes256Sha256RsaPss,
    EccNistP256,
    EccNistP384,
}

impl Policy {
    /// Every policy that a peer may offer, weakest first.
    pub const ALL: &'static [Policy] = &[
        Policy::None,
        Policy::Basic128Rsa15,
        Policy::Basic256,
        Policy::Basic256Sha256,
        Policy::Aes128Sha256RsaOaep,
        Policy::Aes256Sha256RsaPss,
        Policy::EccNistP256,
        Policy::EccNistP384,
    ];
    /// None and the policies of RSA: nearly every stack has no other.
    pub const OF_RSA: &'static [Policy] = &[
        Policy::None,
        Policy::Basic128Rsa15,
        Policy::Basic256,
        Policy::Basic256Sha256,
        Policy::Aes128Sha256RsaOaep,
        Policy::Aes256Sha256RsaPss,
    ];
    /// The policies that are not deprecated.
    pub const CURRENT: &'static [Policy] = &[
        Policy::None,
        Policy::Basic256Sha256,
        Policy::Aes128Sha256RsaOaep,
        Policy::Aes256Sha256RsaPss,
    ];

    /// The name after the `#` of the policy's URI.
    pub fn name(self) -> &'static str {
        match self {
            Policy::None => "None",
            Policy::Basic128Rsa15 => "Basic128Rsa15",
            Policy::Basic256 => "Basic256",
            Policy::Basic256Sha256 => "Basic256Sha256",
            Policy::Aes128Sha256RsaOaep => "Aes128_Sha256_RsaOaep",
            Policy::Aes256Sha256RsaPss => "Aes256_Sha256_RsaPss",
            Policy::EccNistP256 => "ECC_nistP256",
            Policy::EccNistP384 => "ECC_nistP384",
        }
    }

    /// The modes that go with this policy: `None` alone, or signing with and without encryption.
    pub fn modes(self) -> &'static [Mode] {
        match self {
            Policy::None => &[Mode::None],
            _ => &[Mode::Sign, Mode::SignAndEncrypt],
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A message security mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Mode {
    None,
    Sign,
    SignAndEncrypt,
}

impl Mode {
    /// The mode's name in Part 4.
    pub fn name(self) -> &'static str {
        match self {
            Mode::None => "None",
            Mode::Sign => "Sign",
            Mode::SignAndEncrypt => "SignAndEncrypt",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A way for a user to say who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Token {
    Anonymous,
    UserName,
    X509,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Token::Anonymous => "Anonymous",
            Token::UserName => "UserName",
            Token::X509 => "X509",
        })
    }
}

/// What one side of a stack can do; each policy comes with all its [`Policy::modes`].
#[derive(Debug, Clone, Copy)]
pub struct Security {
    /// The policies it offers or can use.
    pub policies: &'static [Policy],
    /// The user tokens it offers or can send.
    pub tokens: &'static [Token],
}
