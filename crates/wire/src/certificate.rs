//! Application instance certificates as the wire needs them: the chain, its thumbprint, its key.
//!
//! Whether a certificate is to be trusted is for the `pki` crate to say.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use sha1::{Digest, Sha1};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

use crate::policy::{KeyError, PublicKey};

/// A certificate, or a chain with the certificate itself first (Part 6, 6.2.6): concatenated DER.
///
/// Cloning shares the bytes.
#[derive(Clone)]
pub struct Certificate(Arc<Inner>);

struct Inner {
    bytes: Vec<u8>,
    links: Vec<Range<usize>>,
    thumbprint: [u8; 20],
    public_key: PublicKey,
    application_uri: Option<String>,
}

/// Why bytes are not a certificate we can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// Nothing where a certificate should be.
    #[error("the certificate is empty")]
    Empty,
    /// Not DER, or not the structure of a certificate.
    #[error("certificate {index} of the chain is malformed at byte {at}")]
    Malformed {
        /// Its place in the chain, 0 for the leaf.
        index: usize,
        /// Where it begins.
        at: usize,
    },
    /// More bytes, or more certificates, than any sound chain has.
    #[error("a chain of more than {MAX_CHAIN} certificates")]
    TooLong,
    /// The leaf's key cannot be used.
    #[error("the certificate holds {0}")]
    Key(#[from] KeyError),
}

/// Longer chains are refused before they cost anything. Those who judge them (`pki::MAX_SENT`) have the same limit.
pub const MAX_CHAIN: usize = 10;

impl Certificate {
    /// Reads a certificate or chain. The leaf is parsed, of the others only the frame.
    pub fn from_der(der: &[u8]) -> Result<Self, CertificateError> {
        let mut links = Vec::new();
        let mut at = 0;
        while at < der.len() {
            let index = links.len();
            if index == MAX_CHAIN {
                return Err(CertificateError::TooLong);
            }
            let len = sequence_len(&der[at..]).ok_or(CertificateError::Malformed { index, at })?;
            links.push(at..at + len);
            at += len;
        }
        let leaf = links.first().ok_or(CertificateError::Empty)?.clone();
        let leaf = &der[leaf];
        let (_, parsed) = X509Certificate::from_der(leaf)
            .map_err(|_| CertificateError::Malformed { index: 0, at: 0 })?;
        Ok(Self(Arc::new(Inner {
            thumbprint: Sha1::digest(leaf).into(),
            public_key: PublicKey::from_info(parsed.public_key())?,
            application_uri: application_uri(&parsed),
            bytes: der.to_vec(),
            links,
        })))
    }

    /// The certificate itself, without those of its issuers.
    pub fn leaf(&self) -> &[u8] {
        self.0
            .links
            .first()
            .map_or(&[], |leaf| &self.0.bytes[leaf.clone()])
    }

    /// The certificates of the chain, leaf first.
    pub fn chain(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.0.links.iter().map(|link| &self.0.bytes[link.clone()])
    }

    /// The whole chain as it came.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    /// SHA-1 of the leaf: how an OPN chunk names its receiver's certificate (Part 6, 6.7.2.3).
    pub fn thumbprint(&self) -> [u8; 20] {
        self.0.thumbprint
    }

    /// The leaf's key.
    pub fn public_key(&self) -> &PublicKey {
        &self.0.public_key
    }

    /// The URI in the leaf's subjectAltName (Part 6, 6.2.2), if it has one.
    pub fn application_uri(&self) -> Option<&str> {
        self.0.application_uri.as_deref()
    }
}

impl PartialEq for Certificate {
    /// Equal leaves: one side may send its issuers along and the other not.
    fn eq(&self, other: &Self) -> bool {
        self.leaf() == other.leaf()
    }
}

impl Eq for Certificate {}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate")
            .field("application_uri", &self.0.application_uri)
            .field("key_bits", &self.0.public_key.bits())
            .field("links", &self.0.links.len())
            .finish_non_exhaustive()
    }
}

fn application_uri(certificate: &X509Certificate<'_>) -> Option<String> {
    let names = certificate.subject_alternative_name().ok()??;
    names
        .value
        .general_names
        .iter()
        .find_map(|name| match name {
            GeneralName::URI(uri) => Some((*uri).to_owned()),
            _ => None,
        })
}

/// How many bytes the DER sequence at the start takes, header included; none if it is cut.
fn sequence_len(der: &[u8]) -> Option<usize> {
    const SEQUENCE: u8 = 0x30;
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (header, content) = match first {
        0..=0x7f => (2, usize::from(first)),
        // 16 MiB is far beyond what a receive buffer takes.
        0x81..=0x83 => {
            let len = rest.get(..usize::from(first & 0x7f))?;
            let value = len
                .iter()
                .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            (2 + len.len(), value)
        }
        _ => return None,
    };
    let len = header + content;
    (tag == SEQUENCE && len <= der.len()).then_some(len)
}
