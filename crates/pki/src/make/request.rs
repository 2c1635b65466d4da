//! What a certificate is to say.

use std::net::IpAddr;

use rcgen::{
    BasicConstraints, CertificateParams, CrlDistributionPoint, CustomExtension, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, IsCa, KeyUsagePurpose, SanType, SerialNumber,
};

use super::{MakeError, date};
use crate::certificate::Certificate;
use crate::der;
use crate::key::Key;
use crate::moment::Moment;
use crate::ocsp;
use crate::usage::{ExtendedUsage, Usage};

/// What a certificate is to say.
#[derive(Debug, Clone)]
pub struct Request {
    common_name: String,
    organization: Option<String>,
    domain: Option<String>,
    uris: Vec<String>,
    dns: Vec<String>,
    ips: Vec<IpAddr>,
    from: Option<Moment>,
    days: u32,
    kind: Kind,
    usage: Option<Usage>,
    extended: Option<ExtendedUsage>,
    lists: Vec<String>,
    responders: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Application,
    Authority { path_length: Option<u8> },
}

/// Five years: what most stacks give an application instance certificate.
pub const DEFAULT_DAYS: u32 = 5 * 365;

impl Request {
    fn new(common_name: String, kind: Kind) -> Self {
        Self {
            common_name,
            organization: None,
            domain: None,
            uris: Vec::new(),
            dns: Vec::new(),
            ips: Vec::new(),
            from: None,
            days: DEFAULT_DAYS,
            kind,
            usage: None,
            extended: None,
            lists: Vec::new(),
            responders: Vec::new(),
        }
    }

    /// An application instance certificate for this application URI.
    pub fn application(uri: impl Into<String>) -> Self {
        let uri = uri.into();
        let name = uri.rsplit(':').next().unwrap_or_default().to_owned();
        let mut request = Self::new(name, Kind::Application);
        request.uris.push(uri);
        request
    }

    /// The certificate of an authority with this name.
    pub fn authority(common_name: impl Into<String>) -> Self {
        Self::new(common_name.into(), Kind::Authority { path_length: None })
    }

    /// The subject's common name; for an application its product name.
    pub fn common_name(mut self, name: impl Into<String>) -> Self {
        self.common_name = name.into();
        self
    }

    /// The subject's organization: who runs the application.
    pub fn organization(mut self, name: impl Into<String>) -> Self {
        self.organization = Some(name.into());
        self
    }

    /// The subject's domain component: the host, by convention.
    pub fn domain(mut self, name: impl Into<String>) -> Self {
        self.domain = Some(name.into());
        self
    }

    /// One more DNS name.
    pub fn dns(mut self, name: impl Into<String>) -> Self {
        self.dns.push(name.into());
        self
    }

    /// One more address.
    pub fn ip(mut self, address: IpAddr) -> Self {
        self.ips.push(address);
        self
    }

    /// A host as typed: an address, or else a DNS name.
    pub fn host(self, host: &str) -> Self {
        match host.parse() {
            Ok(address) => self.ip(address),
            Err(_) => self.dns(host),
        }
    }

    /// How long it is valid.
    pub fn days(mut self, days: u32) -> Self {
        self.days = days;
        self
    }

    /// Valid from another time than now: for certificates that have expired.
    pub fn from(mut self, from: Moment) -> Self {
        self.from = Some(from);
        self
    }

    /// How many authorities may come below this one.
    pub fn path_length(mut self, length: u8) -> Self {
        self.kind = Kind::Authority {
            path_length: Some(length),
        };
        self
    }

    /// Another KeyUsage than the kind of certificate has.
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Another ExtendedKeyUsage than server and client.
    pub fn extended_usage(mut self, usage: ExtendedUsage) -> Self {
        self.extended = Some(usage);
        self
    }

    /// One more URL of the issuer's revocation list (CRLDistributionPoints).
    pub fn list_at(mut self, url: impl Into<String>) -> Self {
        self.lists.push(url.into());
        self
    }

    /// One more URL of a responder that knows whether it was revoked (AuthorityInfoAccess).
    pub fn responder_at(mut self, url: impl Into<String>) -> Self {
        self.responders.push(url.into());
        self
    }

    /// The application URI, the first if there are several.
    pub fn application_uri(&self) -> Option<&str> {
        self.uris.first().map(String::as_str)
    }

    /// Another application URI.
    pub fn uri(mut self, uri: impl Into<String>) -> Self {
        self.uris = vec![uri.into()];
        self
    }

    /// Without the hosts so far.
    pub fn without_hosts(mut self) -> Self {
        self.dns.clear();
        self.ips.clear();
        self
    }

    /// Without an application URI: for a user's certificate, or a wrong one.
    pub fn without_uri(mut self) -> Self {
        self.uris.clear();
        self
    }

    /// A certificate that is signed with its own key.
    pub fn self_signed(&self, key: &Key, now: Moment) -> Result<Certificate, MakeError> {
        let pair = key.pair().map_err(MakeError::Sign)?;
        let made = self.parameters(key, true, now)?.self_signed(&pair);
        let made = made.map_err(MakeError::Sign)?;
        Ok(Certificate::from_der(made.der())?)
    }

    pub(super) fn parameters(
        &self,
        key: &Key,
        self_signed: bool,
        now: Moment,
    ) -> Result<CertificateParams, MakeError> {
        let mut parameters = CertificateParams::default();
        let from = self.from.unwrap_or(now);
        parameters.not_before = date(from)?;
        parameters.not_after = date(from.plus_days(self.days.into()))?;
        parameters.serial_number = Some(serial()?);
        parameters.distinguished_name = self.subject();
        parameters.subject_alt_names = self.names()?;
        parameters.use_authority_key_identifier_extension = true;
        parameters.is_ca = match self.kind {
            Kind::Application => IsCa::ExplicitNoCa,
            Kind::Authority { path_length: None } => IsCa::Ca(BasicConstraints::Unconstrained),
            Kind::Authority {
                path_length: Some(length),
            } => IsCa::Ca(BasicConstraints::Constrained(length)),
        };
        // Part 6, 6.2.2: keyCertSign is for certificates that sign themselves.
        let application = match key.curve() {
            None => Usage::APPLICATION,
            Some(_) => Usage::CURVED_APPLICATION,
        };
        let usage = self.usage.unwrap_or(match self.kind {
            Kind::Application if self_signed => application | Usage::CERT_SIGN,
            Kind::Application => application,
            Kind::Authority { .. } => Usage::DIGITAL_SIGNATURE | Usage::CERT_SIGN | Usage::CRL_SIGN,
        });
        parameters.key_usages = purposes(usage);
        let extended = self.extended.or(match self.kind {
            Kind::Application => Some(ExtendedUsage {
                any: false,
                server: true,
                client: true,
                ocsp: false,
            }),
            Kind::Authority { .. } => None,
        });
        parameters.extended_key_usages = extended.map(extended_purposes).unwrap_or_default();
        parameters.crl_distribution_points = self.points()?;
        if !self.responders.is_empty() {
            let content = self.access()?;
            let access = CustomExtension::from_oid_content(&AUTHORITY_INFO_ACCESS, content);
            parameters.custom_extensions.push(access);
        }
        Ok(parameters)
    }

    fn points(&self) -> Result<Vec<CrlDistributionPoint>, MakeError> {
        let point = |url: &String| {
            Ok(CrlDistributionPoint {
                uris: vec![ascii(url)?.to_owned()],
            })
        };
        self.lists.iter().map(point).collect()
    }

    /// RFC 5280, 4.2.2.1: AuthorityInfoAccess with the method id-ad-ocsp.
    fn access(&self) -> Result<Vec<u8>, MakeError> {
        let mut all = Vec::new();
        for url in &self.responders {
            let mut way = der::element(der::OBJECT, ocsp::METHOD);
            way.extend(der::element(der::URI, ascii(url)?.as_bytes()));
            all.extend(der::element(der::SEQUENCE, &way));
        }
        Ok(der::element(der::SEQUENCE, &all))
    }

    fn subject(&self) -> DistinguishedName {
        let mut name = DistinguishedName::new();
        name.push(DnType::CommonName, self.common_name.as_str());
        if let Some(organization) = &self.organization {
            name.push(DnType::OrganizationName, organization.as_str());
        }
        if let Some(domain) = &self.domain {
            const DOMAIN_COMPONENT: [u64; 7] = [0, 9, 2342, 19_200_300, 100, 1, 25];
            name.push(DnType::from_oid(&DOMAIN_COMPONENT), domain.as_str());
        }
        name
    }

    fn names(&self) -> Result<Vec<SanType>, MakeError> {
        let ascii = |name: &String| {
            let ascii = name.as_str().try_into();
            ascii.map_err(|_| MakeError::Name(name.clone()))
        };
        let mut names = Vec::new();
        for uri in &self.uris {
            names.push(SanType::URI(ascii(uri)?));
        }
        for name in &self.dns {
            names.push(SanType::DnsName(ascii(name)?));
        }
        names.extend(self.ips.iter().copied().map(SanType::IpAddress));
        Ok(names)
    }
}

fn ascii(text: &str) -> Result<&str, MakeError> {
    let good = text.bytes().all(|byte| byte.is_ascii_graphic());
    good.then_some(text)
        .ok_or_else(|| MakeError::Name(text.to_owned()))
}

/// id-pe-authorityInfoAccess.
const AUTHORITY_INFO_ACCESS: [u64; 9] = [1, 3, 6, 1, 5, 5, 7, 1, 1];

// RFC 5280, 4.1.2.2: positive, unique, at most 20 bytes.
fn serial() -> Result<SerialNumber, MakeError> {
    let mut bytes = [0; 16];
    aws_lc_rs::rand::fill(&mut bytes)
        .map_err(|_| MakeError::Sign(rcgen::Error::RingUnspecified))?;
    if let Some(first) = bytes.first_mut() {
        *first = (*first & 0x7f) | 0x40;
    }
    Ok(SerialNumber::from_slice(&bytes))
}

fn purposes(usage: Usage) -> Vec<KeyUsagePurpose> {
    let table = [
        (Usage::DIGITAL_SIGNATURE, KeyUsagePurpose::DigitalSignature),
        (Usage::NON_REPUDIATION, KeyUsagePurpose::ContentCommitment),
        (Usage::KEY_ENCIPHERMENT, KeyUsagePurpose::KeyEncipherment),
        (Usage::DATA_ENCIPHERMENT, KeyUsagePurpose::DataEncipherment),
        (Usage::KEY_AGREEMENT, KeyUsagePurpose::KeyAgreement),
        (Usage::CERT_SIGN, KeyUsagePurpose::KeyCertSign),
        (Usage::CRL_SIGN, KeyUsagePurpose::CrlSign),
    ];
    let allowed = table.into_iter().filter(|row| usage.allows(row.0));
    allowed.map(|row| row.1).collect()
}

fn extended_purposes(usage: ExtendedUsage) -> Vec<ExtendedKeyUsagePurpose> {
    let table = [
        (usage.any, ExtendedKeyUsagePurpose::Any),
        (usage.server, ExtendedKeyUsagePurpose::ServerAuth),
        (usage.client, ExtendedKeyUsagePurpose::ClientAuth),
        (usage.ocsp, ExtendedKeyUsagePurpose::OcspSigning),
    ];
    let wanted = table.into_iter().filter(|row| row.0);
    wanted.map(|row| row.1).collect()
}
