//! An X.509 certificate, parsed once from any bytes.

mod extensions;

use std::fmt;
use std::net::IpAddr;

use aws_lc_rs::digest;
use x509_parser::prelude::{FromDer, X509Certificate, X509Version};

use crate::der::without_leading_zeros;
use crate::encoding;
use crate::error::{CertificateError, MAX_SENT};
use crate::moment::Moment;
use crate::name::Name;
use crate::public_key::PublicKey;
use crate::signature::{SignatureAlgorithm, Signed};
use crate::usage::{ExtendedUsage, Usage};
use extensions::Extensions;

/// An X.509 v3 certificate.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    der: Vec<u8>,
    thumbprint: [u8; 20],
    serial: Vec<u8>,
    subject: Name,
    /// As it stands in the certificate: OCSP names an issuer by a hash of this.
    subject_der: Vec<u8>,
    issuer: Name,
    not_before: Moment,
    not_after: Moment,
    key: PublicKey,
    signed: Signed,
    extensions: Extensions,
}

impl Certificate {
    /// Reads one DER certificate that fills `bytes`.
    pub fn from_der(bytes: &[u8]) -> Result<Self, CertificateError> {
        if bytes.is_empty() {
            return Err(CertificateError::Empty);
        }
        let (certificate, rest) = Self::read(bytes, 0)?;
        match rest.len() {
            0 => Ok(certificate),
            trailing => Err(CertificateError::Trailing(trailing)),
        }
    }

    /// Reads a certificate and the authorities above it, one after the other, as
    /// Part 6, 6.2.6 has them sent.
    pub fn chain_from_der(bytes: &[u8]) -> Result<Vec<Self>, CertificateError> {
        if bytes.is_empty() {
            return Err(CertificateError::Empty);
        }
        let mut chain = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            if chain.len() == MAX_SENT {
                return Err(CertificateError::TooMany);
            }
            let (certificate, after) = Self::read(rest, bytes.len() - rest.len())?;
            chain.push(certificate);
            rest = after;
        }
        Ok(chain)
    }

    /// Reads the certificates of a file: DER, one or several after one another, or
    /// any number in PEM with other things between.
    pub fn read_file(bytes: &[u8]) -> Result<Vec<Self>, CertificateError> {
        let mut certificates = Vec::new();
        for block in encoding::blocks(bytes, "CERTIFICATE")? {
            certificates.extend(Self::chain_from_der(&block)?);
        }
        Ok(certificates)
    }

    fn read(bytes: &[u8], offset: usize) -> Result<(Self, &[u8]), CertificateError> {
        let (rest, parsed) =
            X509Certificate::from_der(bytes).map_err(|error| CertificateError::Malformed {
                what: match error {
                    x509_parser::nom::Err::Incomplete(_) => "it ends too early".into(),
                    x509_parser::nom::Err::Error(error) | x509_parser::nom::Err::Failure(error) => {
                        error.to_string()
                    }
                },
                offset,
            })?;
        let malformed = |what: &str| CertificateError::Malformed {
            what: what.into(),
            offset,
        };
        let der = parsed.as_raw();
        if parsed.version() != X509Version::V3 {
            return Err(CertificateError::Version(
                parsed.version().0.saturating_add(1),
            ));
        }
        let tbs = &parsed.tbs_certificate;
        if tbs.signature != parsed.signature_algorithm {
            return Err(malformed("two different signature algorithms"));
        }
        let signed = Signed::new(
            der,
            tbs.as_ref(),
            &parsed.signature_algorithm,
            &parsed.signature_value,
        );
        let key = PublicKey::read(&tbs.subject_pki);
        let certificate = Self {
            der: der.to_vec(),
            thumbprint: thumbprint(der),
            serial: without_leading_zeros(tbs.raw_serial()).to_vec(),
            subject: Name::read(&tbs.subject).ok_or(CertificateError::Name)?,
            subject_der: tbs.subject.as_raw().to_vec(),
            issuer: Name::read(&tbs.issuer).ok_or(CertificateError::Name)?,
            not_before: Moment::from_unix(tbs.validity.not_before.timestamp()),
            not_after: Moment::from_unix(tbs.validity.not_after.timestamp()),
            key: key.ok_or_else(|| malformed("the public key"))?,
            signed: signed.ok_or_else(|| malformed("two different signature algorithms"))?,
            extensions: Extensions::read(tbs.extensions())?,
        };
        Ok((certificate, rest))
    }

    /// The certificate as DER.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// The certificate as PEM.
    pub fn pem(&self) -> String {
        pem::encode(&pem::Pem::new("CERTIFICATE", self.der.clone()))
    }

    /// SHA-1 over the DER: what OPC UA names a certificate by.
    pub fn thumbprint(&self) -> &[u8; 20] {
        &self.thumbprint
    }

    /// The thumbprint in capital hexadecimal digits.
    pub fn thumbprint_hex(&self) -> String {
        hex(&self.thumbprint)
    }

    /// The serial number that the issuer gave, without leading zeros.
    pub fn serial(&self) -> &[u8] {
        &self.serial
    }

    /// Whom it is about.
    pub fn subject(&self) -> &Name {
        &self.subject
    }

    /// Who signed it.
    pub fn issuer(&self) -> &Name {
        &self.issuer
    }

    /// Valid from here on.
    pub fn not_before(&self) -> Moment {
        self.not_before
    }

    /// Valid up to here.
    pub fn not_after(&self) -> Moment {
        self.not_after
    }

    /// The subject's public key.
    pub fn public_key(&self) -> &PublicKey {
        &self.key
    }

    /// The algorithm that signed it; `None` for one that is not known here.
    pub fn signature_algorithm(&self) -> Option<SignatureAlgorithm> {
        self.signed.algorithm
    }

    /// Whether it is an authority's (BasicConstraints).
    pub fn is_authority(&self) -> bool {
        self.extensions.authority
    }

    /// How many authorities may come below this one.
    pub fn path_length(&self) -> Option<u32> {
        self.extensions.path_length
    }

    /// KeyUsage, when there.
    pub fn usage(&self) -> Option<Usage> {
        self.extensions.usage
    }

    /// ExtendedKeyUsage, when there.
    pub fn extended_usage(&self) -> Option<ExtendedUsage> {
        self.extensions.extended
    }

    /// The application URI: the first URI among the alternative names.
    pub fn application_uri(&self) -> Option<&str> {
        self.extensions.uris.first().map(String::as_str)
    }

    /// The DNS names it is for.
    pub fn dns_names(&self) -> &[String] {
        &self.extensions.dns
    }

    /// The addresses it is for.
    pub fn ip_addresses(&self) -> &[IpAddr] {
        &self.extensions.ips
    }

    /// Where the revocation list of its issuer is (CRLDistributionPoints).
    pub fn list_urls(&self) -> &[String] {
        &self.extensions.lists
    }

    /// Who knows whether it was revoked: OCSP responders (AuthorityInfoAccess).
    pub fn responder_urls(&self) -> &[String] {
        &self.extensions.responders
    }

    /// Whether it is for this host, as typed in a URL.
    pub fn names_host(&self, host: &str) -> bool {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let host = host.trim_end_matches('.');
        let named = |name: &String| name.trim_end_matches('.').eq_ignore_ascii_case(host);
        // Some stacks write an address as a DNS name.
        self.dns_names().iter().any(named)
            || host
                .parse()
                .is_ok_and(|ip: IpAddr| self.ip_addresses().contains(&ip))
    }

    /// Whether subject and issuer are the same.
    pub fn is_self_issued(&self) -> bool {
        self.subject.matches(&self.issuer)
    }

    /// Whether it is signed with its own key.
    pub fn is_self_signed(&self) -> bool {
        self.is_self_issued() && self.is_signed_by(self)
    }

    /// Whether the key of `issuer` signed this. Says nothing about its right to.
    pub fn is_signed_by(&self, issuer: &Self) -> bool {
        self.signed.is_by(&issuer.key)
    }

    /// Whether both say the same of the same key: an issuer gives a serial number once. The bytes may differ where a
    /// signature can be written in several ways, and so the thumbprint.
    pub(crate) fn is_a_copy_of(&self, other: &Self) -> bool {
        self.serial == other.serial && self.key == other.key && self.issuer.matches(&other.issuer)
    }

    pub(crate) fn subject_der(&self) -> &[u8] {
        &self.subject_der
    }

    pub(crate) fn unknown_critical(&self) -> Option<&str> {
        self.extensions.unknown_critical.as_deref()
    }

    /// Whether the key identifiers say that `issuer` signed this; a hint only.
    pub(crate) fn points_to(&self, issuer: &Self) -> bool {
        match (&self.extensions.issuer_key, &issuer.extensions.subject_key) {
            (Some(wanted), Some(key)) => wanted == key,
            _ => false,
        }
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Certificate({} [{}])",
            self.subject,
            hex(&self.thumbprint)
        )
    }
}

pub(crate) fn thumbprint(der: &[u8]) -> [u8; 20] {
    let digest = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, der);
    let mut thumbprint = [0; 20];
    for (to, from) in thumbprint.iter_mut().zip(digest.as_ref()) {
        *to = *from;
    }
    thumbprint
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}
