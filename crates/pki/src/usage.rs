//! What a key may be used for: KeyUsage and ExtendedKeyUsage (RFC 5280, 4.2.1.3
//! and 4.2.1.12).

use std::fmt;
use std::ops::BitOr;

/// The bits of the KeyUsage extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Usage(u16);

impl Usage {
    /// Signatures other than on certificates and revocation lists.
    pub const DIGITAL_SIGNATURE: Self = Self(1);
    /// Signatures that cannot be denied later (nonRepudiation).
    pub const NON_REPUDIATION: Self = Self(1 << 1);
    /// Encrypting keys.
    pub const KEY_ENCIPHERMENT: Self = Self(1 << 2);
    /// Encrypting data, as OpenSecureChannel does.
    pub const DATA_ENCIPHERMENT: Self = Self(1 << 3);
    /// Agreeing on keys (elliptic curves).
    pub const KEY_AGREEMENT: Self = Self(1 << 4);
    /// Signing certificates.
    pub const CERT_SIGN: Self = Self(1 << 5);
    /// Signing revocation lists.
    pub const CRL_SIGN: Self = Self(1 << 6);

    /// Part 6, 6.2.2: what an RSA application instance certificate has to allow.
    pub const APPLICATION: Self = Self(0b1111);
    /// The same of one on an elliptic curve, whose key only signs.
    pub const CURVED_APPLICATION: Self = Self(0b11);

    const NAMES: [(Self, &'static str); 7] = [
        (Self::DIGITAL_SIGNATURE, "digitalSignature"),
        (Self::NON_REPUDIATION, "nonRepudiation"),
        (Self::KEY_ENCIPHERMENT, "keyEncipherment"),
        (Self::DATA_ENCIPHERMENT, "dataEncipherment"),
        (Self::KEY_AGREEMENT, "keyAgreement"),
        (Self::CERT_SIGN, "keyCertSign"),
        (Self::CRL_SIGN, "cRLSign"),
    ];

    pub(crate) fn from_flags(flags: u16) -> Self {
        Self(flags)
    }

    /// Whether all bits of `other` are set.
    pub fn allows(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any bit of `other` is set.
    pub fn allows_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The bits of `wanted` that are missing here.
    pub fn missing(self, wanted: Self) -> Self {
        Self(wanted.0 & !self.0)
    }

    /// Whether no bit is set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for Usage {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Self::NAMES.iter().filter(|row| self.allows(row.0));
        write_list(f, names.map(|row| row.1))
    }
}

/// What the ExtendedKeyUsage extension says, as far as OPC UA cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ExtendedUsage {
    /// anyExtendedKeyUsage.
    pub any: bool,
    /// May be a server.
    pub server: bool,
    /// May be a client.
    pub client: bool,
    /// May sign what an OCSP responder answers (RFC 6960, 4.2.2.2).
    pub ocsp: bool,
}

impl fmt::Display for ExtendedUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = [
            (self.any, "any"),
            (self.server, "serverAuth"),
            (self.client, "clientAuth"),
            (self.ocsp, "OCSPSigning"),
        ];
        write_list(f, rows.into_iter().filter(|row| row.0).map(|row| row.1))
    }
}

fn write_list<'a>(f: &mut fmt::Formatter<'_>, names: impl Iterator<Item = &'a str>) -> fmt::Result {
    let mut none = true;
    for name in names {
        if !none {
            f.write_str(", ")?;
        }
        none = false;
        f.write_str(name)?;
    }
    if none {
        f.write_str("none")?;
    }
    Ok(())
}
