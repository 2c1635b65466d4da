//! Why a certificate is refused, with the status code of Part 4, 6.1.3.

use std::fmt;

/// The steps of Part 4, 6.1.3 that can fail, in the order of its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// BadCertificateInvalid: not an X.509 v3 certificate. Most often a broken
    /// file or an empty byte string where a certificate was due.
    Structure,
    /// BadCertificateChainIncomplete: an authority above it is neither sent nor
    /// known. Its certificate belongs into the issuers folder.
    ChainIncomplete,
    /// BadCertificateInvalid: the signature is not the issuer's.
    Signature,
    /// BadCertificatePolicyCheckFailed: key length or hash are not what the
    /// security policy wants.
    Policy,
    /// BadCertificateUntrusted: neither it nor an authority above it is trusted.
    Untrusted,
    /// BadCertificateUntrusted: a person said that it, or an authority above it, is not to be trusted. Only a person
    /// takes that back.
    Distrusted,
    /// BadCertificateTimeInvalid: expired, or not valid yet. Check the clocks.
    Time,
    /// BadCertificateIssuerTimeInvalid: the same, of an authority above it.
    IssuerTime,
    /// BadCertificateHostNameInvalid: it names other hosts than the one that was
    /// connected to.
    Host,
    /// BadCertificateUriInvalid: it names another application URI than the
    /// ApplicationDescription.
    Uri,
    /// BadCertificateUseNotAllowed: KeyUsage or ExtendedKeyUsage forbid it.
    Use,
    /// BadCertificateIssuerUseNotAllowed: an issuer that is no authority, or not
    /// for a chain this long.
    IssuerUse,
    /// BadCertificateRevocationUnknown: no current revocation list of its issuer.
    RevocationUnknown,
    /// BadCertificateIssuerRevocationUnknown: the same, of an authority above it.
    IssuerRevocationUnknown,
    /// BadCertificateRevoked: its issuer took it back.
    Revoked,
    /// BadCertificateIssuerRevoked: an authority above it was taken back.
    IssuerRevoked,
}

impl Reason {
    /// The OPC UA status code.
    pub fn status(self) -> u32 {
        match self {
            Self::Structure | Self::Signature => 0x8012_0000,
            Self::ChainIncomplete => 0x810D_0000,
            Self::Policy => 0x8114_0000,
            Self::Untrusted | Self::Distrusted => 0x801A_0000,
            Self::Time => 0x8014_0000,
            Self::IssuerTime => 0x8015_0000,
            Self::Host => 0x8016_0000,
            Self::Uri => 0x8017_0000,
            Self::Use => 0x8018_0000,
            Self::IssuerUse => 0x8019_0000,
            Self::RevocationUnknown => 0x801B_0000,
            Self::IssuerRevocationUnknown => 0x801C_0000,
            Self::Revoked => 0x801D_0000,
            Self::IssuerRevoked => 0x801E_0000,
        }
    }

    /// The first one with this status code.
    pub fn of(status: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.status() == status)
    }

    /// The name of the status code.
    pub fn status_name(self) -> &'static str {
        match self {
            Self::Structure | Self::Signature => "BadCertificateInvalid",
            Self::ChainIncomplete => "BadCertificateChainIncomplete",
            Self::Policy => "BadCertificatePolicyCheckFailed",
            Self::Untrusted | Self::Distrusted => "BadCertificateUntrusted",
            Self::Time => "BadCertificateTimeInvalid",
            Self::IssuerTime => "BadCertificateIssuerTimeInvalid",
            Self::Host => "BadCertificateHostNameInvalid",
            Self::Uri => "BadCertificateUriInvalid",
            Self::Use => "BadCertificateUseNotAllowed",
            Self::IssuerUse => "BadCertificateIssuerUseNotAllowed",
            Self::RevocationUnknown => "BadCertificateRevocationUnknown",
            Self::IssuerRevocationUnknown => "BadCertificateIssuerRevocationUnknown",
            Self::Revoked => "BadCertificateRevoked",
            Self::IssuerRevoked => "BadCertificateIssuerRevoked",
        }
    }

    /// All of them, in the order in which they are looked for.
    pub const ALL: [Self; 16] = [
        Self::Structure,
        Self::ChainIncomplete,
        Self::Signature,
        Self::Policy,
        Self::Untrusted,
        Self::Distrusted,
        Self::Time,
        Self::IssuerTime,
        Self::Host,
        Self::Uri,
        Self::Use,
        Self::IssuerUse,
        Self::RevocationUnknown,
        Self::IssuerRevocationUnknown,
        Self::Revoked,
        Self::IssuerRevoked,
    ];
}

/// A certificate was refused.
///
/// The detail is for this side's log and user. What goes on the wire is the
/// caller's choice: Part 4, 6.1.3 wants BadSecurityChecksFailed for most of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The step that failed.
    pub reason: Reason,
    /// The subject of the certificate it failed for; empty when it has none.
    pub subject: String,
    /// What was expected and what came.
    pub detail: String,
}

impl Refusal {
    pub(crate) fn new(
        reason: Reason,
        subject: impl fmt::Display,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            reason,
            subject: subject.to_string(),
            detail: detail.into(),
        }
    }

    /// The OPC UA status code.
    pub fn status(&self) -> u32 {
        self.reason.status()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.reason.status_name();
        if self.subject.is_empty() {
            write!(f, "{} ({name})", self.detail)
        } else {
            write!(f, "{}: {} ({name})", self.subject, self.detail)
        }
    }
}

impl std::error::Error for Refusal {}
