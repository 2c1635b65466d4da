//! Certificate revocation lists.

use std::collections::HashSet;
use std::fmt;

use x509_parser::extensions::ParsedExtension;
use x509_parser::oid_registry as oid;
use x509_parser::prelude::{CertificateRevocationList, FromDer};

use crate::certificate::Certificate;
use crate::der::without_leading_zeros;
use crate::encoding;
use crate::error::CertificateError;
use crate::moment::Moment;
use crate::name::Name;
use crate::signature::Signed;
use crate::usage::Usage;

/// What an authority took back.
#[derive(Clone, PartialEq, Eq)]
pub struct RevocationList {
    der: Vec<u8>,
    issuer: Name,
    this_update: Moment,
    next_update: Option<Moment>,
    revoked: HashSet<Vec<u8>>,
    signed: Signed,
    /// Why it says nothing about certificates in general, if so.
    partial: Option<String>,
}

impl RevocationList {
    /// Reads one DER revocation list that fills `bytes`.
    pub fn from_der(bytes: &[u8]) -> Result<Self, CertificateError> {
        if bytes.is_empty() {
            return Err(CertificateError::Empty);
        }
        let (rest, parsed) = CertificateRevocationList::from_der(bytes).map_err(|error| {
            CertificateError::Malformed {
                what: match error {
                    x509_parser::nom::Err::Incomplete(_) => "it ends too early".into(),
                    x509_parser::nom::Err::Error(error) | x509_parser::nom::Err::Failure(error) => {
                        error.to_string()
                    }
                },
                offset: 0,
            }
        })?;
        if !rest.is_empty() {
            return Err(CertificateError::Trailing(rest.len()));
        }
        let tbs = &parsed.tbs_cert_list;
        let revoked = tbs.revoked_certificates.iter();
        Ok(Self {
            der: bytes.to_vec(),
            issuer: Name::read(&tbs.issuer).ok_or(CertificateError::Name)?,
            this_update: Moment::from_unix(tbs.this_update.timestamp()),
            next_update: tbs
                .next_update
                .map(|time| Moment::from_unix(time.timestamp())),
            revoked: revoked
                .map(|entry| without_leading_zeros(entry.raw_serial()).to_vec())
                .collect(),
            signed: Signed::new(
                bytes,
                tbs.as_ref(),
                &parsed.signature_algorithm,
                &parsed.signature_value,
            )
            .ok_or_else(|| CertificateError::Malformed {
                what: "two different signature algorithms".into(),
                offset: 0,
            })?,
            partial: partial(&parsed),
        })
    }

    /// Reads the lists of a file: one in DER, or any number in PEM.
    pub fn read_file(bytes: &[u8]) -> Result<Vec<Self>, CertificateError> {
        let blocks = encoding::blocks(bytes, "X509 CRL")?;
        blocks.iter().map(|block| Self::from_der(block)).collect()
    }

    /// The list as DER.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// The list as PEM.
    pub fn pem(&self) -> String {
        pem::encode(&pem::Pem::new("X509 CRL", self.der.clone()))
    }

    /// The authority.
    pub fn issuer(&self) -> &Name {
        &self.issuer
    }

    /// When it was made.
    pub fn this_update(&self) -> Moment {
        self.this_update
    }

    /// When a newer one is due.
    pub fn next_update(&self) -> Option<Moment> {
        self.next_update
    }

    /// How many certificates it takes back.
    pub fn len(&self) -> usize {
        self.revoked.len()
    }

    /// Whether it takes back none.
    pub fn is_empty(&self) -> bool {
        self.revoked.is_empty()
    }

    /// Whether it is the list of this authority, signed by it, and the authority
    /// may sign lists (RFC 5280, 6.3.3 (f)).
    pub fn is_of(&self, authority: &Certificate) -> bool {
        self.issuer.matches(authority.subject())
            && authority
                .usage()
                .is_none_or(|usage| usage.allows(Usage::CRL_SIGN))
            && self.signed.is_by(authority.public_key())
    }

    /// Why it cannot say that a certificate is good at this time.
    pub(crate) fn objection(&self, now: Moment) -> Option<String> {
        if let Some(reason) = &self.partial {
            return Some(reason.clone());
        }
        if now < self.this_update {
            return Some(format!("it is of {}, the future", self.this_update));
        }
        match self.next_update {
            Some(due) if due < now => Some(format!("a newer one was due on {due}")),
            _ => None,
        }
    }

    pub(crate) fn takes_back(&self, certificate: &Certificate) -> bool {
        self.revoked.contains(certificate.serial())
    }
}

impl fmt::Debug for RevocationList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RevocationList({}, {})", self.issuer, self.revoked.len())
    }
}

// RFC 5280, 5.2: a list with a critical extension that is not understood must
// not be used to say that a certificate is good.
fn partial(list: &CertificateRevocationList<'_>) -> Option<String> {
    list.extensions().iter().find_map(|extension| {
        if extension.oid == oid::OID_X509_EXT_DELTA_CRL_INDICATOR {
            return Some("it is only the difference to another one".into());
        }
        match extension.parsed_extension() {
            ParsedExtension::IssuingDistributionPoint(point)
                if !point.only_contains_user_certs
                    && !point.only_contains_ca_certs
                    && !point.only_contains_attribute_certs
                    && !point.indirect_crl
                    && point.only_some_reasons.is_none() =>
            {
                None
            }
            ParsedExtension::IssuingDistributionPoint(_) => {
                Some("it is for a part of the certificates".into())
            }
            _ if extension.critical => Some(format!(
                "its critical extension {} is unknown",
                extension.oid.to_id_string()
            )),
            _ => None,
        }
    })
}
