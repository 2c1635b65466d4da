//! The Online Certificate Status Protocol (RFC 6960): what is asked of a responder, and what it answers.

mod response;

use aws_lc_rs::digest::{self, Algorithm};

use crate::certificate::Certificate;
use crate::der;
use crate::der::without_leading_zeros;
use crate::moment::Moment;

pub use response::OcspResponse;

/// id-ad-ocsp: the method of AuthorityInfoAccess, and the root of the identifiers below.
pub(crate) const METHOD: &[u8] = b"\x2b\x06\x01\x05\x05\x07\x30\x01";
/// id-pkix-ocsp-basic: the one kind of response there is.
pub(crate) const BASIC: &[u8] = b"\x2b\x06\x01\x05\x05\x07\x30\x01\x01";
/// id-pkix-ocsp-nonce.
pub(crate) const NONCE: &[u8] = b"\x2b\x06\x01\x05\x05\x07\x30\x01\x02";

const SHA1: &[u8] = b"\x2b\x0e\x03\x02\x1a";
const SHA256: &[u8] = b"\x60\x86\x48\x01\x65\x03\x04\x02\x01";

/// A request that names more certificates is not taken.
const MOST_NAMED: usize = 32;

/// Bytes that are no request or no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OcspError {
    /// Not the DER of one.
    #[error("not an OCSP message: {0}")]
    Malformed(&'static str),
    /// The responder says that it does not answer.
    #[error("the responder says {}", refusal(*.0))]
    Refused(u8),
    /// The responder answers in another form than the basic one.
    #[error("a response of an unknown kind")]
    Kind,
}

// RFC 6960, 4.2.1: OCSPResponseStatus.
fn refusal(status: u8) -> &'static str {
    match status {
        1 => "malformedRequest",
        2 => "internalError",
        3 => "tryLater",
        5 => "sigRequired",
        6 => "unauthorized",
        _ => "a status that does not exist",
    }
}

/// What a responder knows of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It was not revoked.
    Good,
    /// It was, then, for this reason of RFC 5280, 5.3.1.
    Revoked {
        /// When.
        at: Moment,
        /// CRLReason, if one was given.
        reason: Option<u8>,
    },
    /// It is not known there.
    Unknown,
}

/// Names a certificate: its issuer by hashes of name and key, and its serial number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CertificateId {
    algorithm: Vec<u8>,
    name: Vec<u8>,
    key: Vec<u8>,
    serial: Vec<u8>,
}

impl CertificateId {
    /// The certificate that `issuer` gave this serial number, hashed with SHA-1, as RFC 5019, 2.1.1 wants it: it protects
    /// nothing.
    pub fn of(certificate: &Certificate, issuer: &Certificate) -> Self {
        let hash = &digest::SHA1_FOR_LEGACY_USE_ONLY;
        let (name, key) = hashes(hash, issuer);
        Self {
            algorithm: SHA1.to_vec(),
            name,
            key,
            serial: certificate.serial().to_vec(),
        }
    }

    /// Whether it is of this authority.
    pub fn is_of(&self, issuer: &Certificate) -> bool {
        let hash = match self.algorithm.as_slice() {
            SHA1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
            SHA256 => &digest::SHA256,
            _ => return false,
        };
        let (name, key) = hashes(hash, issuer);
        (name, key) == (self.name.clone(), self.key.clone())
    }

    /// The serial number, without leading zeros.
    pub fn serial(&self) -> &[u8] {
        &self.serial
    }

    /// Whether it names this certificate of this issuer.
    pub(crate) fn names(&self, certificate: &Certificate, issuer: &Certificate) -> bool {
        self.serial == certificate.serial() && self.is_of(issuer)
    }

    pub(crate) fn der(&self) -> Vec<u8> {
        let mut algorithm = der::element(der::OBJECT, &self.algorithm);
        algorithm.extend(der::element(der::NULL, &[]));
        let mut inside = der::element(der::SEQUENCE, &algorithm);
        inside.extend(der::element(der::OCTET_STRING, &self.name));
        inside.extend(der::element(der::OCTET_STRING, &self.key));
        inside.extend(der::unsigned(&self.serial));
        der::element(der::SEQUENCE, &inside)
    }

    fn read(inside: &[u8]) -> Option<Self> {
        let (algorithm, rest) = der::take(der::SEQUENCE, inside)?;
        let (algorithm, _parameters) = der::take(der::OBJECT, algorithm)?;
        let (name, rest) = der::take(der::OCTET_STRING, rest)?;
        let (key, rest) = der::take(der::OCTET_STRING, rest)?;
        let (serial, _) = der::take(der::INTEGER, rest)?;
        Some(Self {
            algorithm: algorithm.to_vec(),
            name: name.to_vec(),
            key: key.to_vec(),
            serial: without_leading_zeros(serial).to_vec(),
        })
    }
}

fn hashes(hash: &'static Algorithm, issuer: &Certificate) -> (Vec<u8>, Vec<u8>) {
    let of = |bytes| digest::digest(hash, bytes).as_ref().to_vec();
    (of(issuer.subject_der()), of(issuer.public_key().bytes()))
}

/// What a client asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OcspRequest {
    /// The certificates it asks for.
    pub certificates: Vec<CertificateId>,
    /// What it wants to find again in the answer, so that no old one is given to it.
    pub nonce: Option<Vec<u8>>,
}

impl OcspRequest {
    /// Asks for one certificate, without a nonce: RFC 5019 leaves it out, so that responders can keep answers.
    pub fn of(certificate: &Certificate, issuer: &Certificate) -> Self {
        Self {
            certificates: vec![CertificateId::of(certificate, issuer)],
            nonce: None,
        }
    }

    /// The request as DER.
    pub fn der(&self) -> Vec<u8> {
        let one = |id: &CertificateId| der::element(der::SEQUENCE, &id.der());
        let list: Vec<u8> = self.certificates.iter().flat_map(one).collect();
        let mut inside = der::element(der::SEQUENCE, &list);
        if let Some(nonce) = &self.nonce {
            inside.extend(der::element(der::context(2), &nonce_extensions(nonce)));
        }
        der::element(der::SEQUENCE, &der::element(der::SEQUENCE, &inside))
    }

    /// Reads what a client sent.
    pub fn from_der(bytes: &[u8]) -> Result<Self, OcspError> {
        Self::read(bytes).ok_or(OcspError::Malformed("a request"))
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (inside, rest) = der::take(der::SEQUENCE, bytes)?;
        // What stands behind it inside is a signature, which nobody asks for here.
        let (inside, _signature) = der::take(der::SEQUENCE, inside)?;
        let (_version, inside) = der::optional(der::context(0), inside)?;
        let (_requestor, inside) = der::optional(der::context(1), inside)?;
        let (mut list, inside) = der::take(der::SEQUENCE, inside)?;
        let mut certificates = Vec::new();
        while !list.is_empty() {
            let (one, rest) = der::take(der::SEQUENCE, list)?;
            let (id, _extensions) = der::take(der::SEQUENCE, one)?;
            if certificates.len() == MOST_NAMED {
                return None;
            }
            certificates.push(CertificateId::read(id)?);
            list = rest;
        }
        let (extensions, inside) = der::optional(der::context(2), inside)?;
        let nonce = extensions.and_then(nonce_of);
        (rest.is_empty() && inside.is_empty()).then_some(Self {
            certificates,
            nonce,
        })
    }
}

/// Extensions that hold a nonce and nothing else. The octet string around it is part of the nonce here: OpenSSL and others
/// send one inside another, some do not.
pub(crate) fn nonce_extensions(nonce: &[u8]) -> Vec<u8> {
    let mut inside = der::element(der::OBJECT, NONCE);
    inside.extend(der::element(der::OCTET_STRING, nonce));
    let extension = der::element(der::SEQUENCE, &inside);
    der::element(der::SEQUENCE, &extension)
}

fn nonce_of(extensions: &[u8]) -> Option<Vec<u8>> {
    let (mut list, _) = der::take(der::SEQUENCE, extensions)?;
    while !list.is_empty() {
        let (one, rest) = der::take(der::SEQUENCE, list)?;
        let (id, value) = der::take(der::OBJECT, one)?;
        if id == NONCE {
            return Some(der::take(der::OCTET_STRING, value)?.0.to_vec());
        }
        list = rest;
    }
    None
}

/// What a responder says instead of an answer: RFC 6960, 4.2.1.
pub fn refuse(status: u8) -> Vec<u8> {
    der::element(der::SEQUENCE, &der::element(der::ENUMERATED, &[status]))
}
