//! The extensions that OPC UA asks for, out of those that are there.

use std::net::IpAddr;

use x509_parser::extensions::{
    AuthorityInfoAccess, CRLDistributionPoint, DistributionPointName, GeneralName, ParsedExtension,
};
use x509_parser::oid_registry as oid;
use x509_parser::prelude::X509Extension;

use crate::error::CertificateError;
use crate::name::printable;
use crate::usage::{ExtendedUsage, Usage};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Extensions {
    pub authority: bool,
    pub path_length: Option<u32>,
    pub usage: Option<Usage>,
    pub extended: Option<ExtendedUsage>,
    pub subject_key: Option<Vec<u8>>,
    pub issuer_key: Option<Vec<u8>>,
    pub uris: Vec<String>,
    pub dns: Vec<String>,
    pub ips: Vec<IpAddr>,
    pub lists: Vec<String>,
    pub responders: Vec<String>,
    pub unknown_critical: Option<String>,
}

impl Extensions {
    pub fn read(extensions: &[X509Extension<'_>]) -> Result<Self, CertificateError> {
        let mut found = Self::default();
        for (index, extension) in extensions.iter().enumerate() {
            let id = || extension.oid.to_id_string();
            let earlier = extensions.iter().take(index);
            if earlier.into_iter().any(|other| other.oid == extension.oid) {
                return Err(CertificateError::Extension(format!("{}: twice", id())));
            }
            match extension.parsed_extension() {
                ParsedExtension::ParseError { .. } => {
                    return Err(CertificateError::Extension(id()));
                }
                ParsedExtension::BasicConstraints(constraints) => {
                    found.authority = constraints.ca;
                    found.path_length = constraints.path_len_constraint;
                }
                ParsedExtension::KeyUsage(usage) => {
                    found.usage = Some(Usage::from_flags(usage.flags));
                }
                ParsedExtension::ExtendedKeyUsage(usage) => {
                    found.extended = Some(ExtendedUsage {
                        any: usage.any,
                        server: usage.server_auth,
                        client: usage.client_auth,
                        ocsp: usage.ocsp_signing,
                    });
                }
                ParsedExtension::SubjectKeyIdentifier(key) => {
                    found.subject_key = Some(key.0.to_vec());
                }
                ParsedExtension::AuthorityKeyIdentifier(authority) => {
                    found.issuer_key = authority.key_identifier.as_ref().map(|key| key.0.to_vec());
                }
                ParsedExtension::SubjectAlternativeName(names) => {
                    found.read_names(&names.general_names);
                }
                ParsedExtension::CRLDistributionPoints(points) => {
                    found.lists = points.iter().flat_map(list_urls).collect();
                }
                ParsedExtension::AuthorityInfoAccess(access) => {
                    found.responders = responder_urls(access);
                }
                // Understood well enough to be ignored: they restrict nothing that
                // OPC UA asks for.
                ParsedExtension::CertificatePolicies(_) | ParsedExtension::NSCertType(_) => {}
                // RFC 5280, 4.2: a critical extension that is not understood
                // makes the certificate unusable.
                _ if extension.critical => found.unknown_critical = Some(id()),
                _ => {}
            }
        }
        Ok(found)
    }

    fn read_names(&mut self, names: &[GeneralName<'_>]) {
        for name in names {
            match name {
                GeneralName::URI(uri) => self.uris.push(printable(uri)),
                GeneralName::DNSName(name) => self.dns.push(printable(name)),
                GeneralName::IPAddress(bytes) => {
                    if let Ok(octets) = <[u8; 4]>::try_from(*bytes) {
                        self.ips.push(octets.into());
                    } else if let Ok(octets) = <[u8; 16]>::try_from(*bytes) {
                        self.ips.push(octets.into());
                    }
                }
                _ => {}
            }
        }
    }
}

// RFC 5280, 4.2.1.13: a point for some reasons only, or of another issuer, says nothing about all certificates.
fn list_urls(point: &CRLDistributionPoint<'_>) -> Vec<String> {
    match &point.distribution_point {
        Some(DistributionPointName::FullName(names))
            if point.reasons.is_none() && point.crl_issuer.is_none() =>
        {
            names.iter().filter_map(url).collect()
        }
        _ => Vec::new(),
    }
}

fn responder_urls(access: &AuthorityInfoAccess<'_>) -> Vec<String> {
    let ways = access.iter();
    let ways = ways.filter(|way| way.access_method == oid::OID_PKIX_ACCESS_DESCRIPTOR_OCSP);
    ways.filter_map(|way| url(&way.access_location)).collect()
}

fn url(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::URI(url) => Some(printable(url)),
        _ => None,
    }
}
