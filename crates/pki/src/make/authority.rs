//! Authorities: they sign certificates and take them back.

use rcgen::{
    CertificateRevocationListParams, Issuer, KeyIdMethod, KeyPair, RevocationReason,
    RevokedCertParams, SerialNumber,
};

use super::{MakeError, Request, date};
use crate::certificate::Certificate;
use crate::crl::RevocationList;
use crate::key::Key;
use crate::moment::Moment;
use crate::name::Name;

/// A certificate that signs others, with its private key.
#[derive(Debug)]
pub struct Authority {
    certificate: Certificate,
    key: Key,
}

/// A certificate that is taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revoked {
    /// Its serial number.
    pub serial: Vec<u8>,
    /// When.
    pub at: Moment,
    /// CRLReason of RFC 5280, 5.3.1.
    pub reason: Option<u8>,
}

fn reason(number: u8) -> Option<RevocationReason> {
    Some(match number {
        1 => RevocationReason::KeyCompromise,
        2 => RevocationReason::CaCompromise,
        3 => RevocationReason::AffiliationChanged,
        4 => RevocationReason::Superseded,
        5 => RevocationReason::CessationOfOperation,
        6 => RevocationReason::CertificateHold,
        _ => return None,
    })
}

impl Authority {
    /// An authority that signs itself.
    pub fn root(request: Request, key: Key, now: Moment) -> Result<Self, MakeError> {
        let certificate = request.self_signed(&key, now)?;
        Self::new(certificate, key)
    }

    /// An authority from files that are there already.
    pub fn new(certificate: Certificate, key: Key) -> Result<Self, MakeError> {
        if !key.belongs_to(&certificate) {
            return Err(MakeError::OtherKey(certificate.subject().to_string()));
        }
        if !certificate.is_authority() {
            return Err(MakeError::NotAnAuthority(certificate.subject().to_string()));
        }
        Ok(Self { certificate, key })
    }

    /// An authority below this one.
    pub fn authority(&self, request: Request, key: Key, now: Moment) -> Result<Self, MakeError> {
        let certificate = self.sign(&request, &key, now)?;
        Self::new(certificate, key)
    }

    /// Its certificate.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Its private key.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Makes the certificate that the request asks for.
    pub fn sign(
        &self,
        request: &Request,
        key: &Key,
        now: Moment,
    ) -> Result<Certificate, MakeError> {
        let pair = key.pair().map_err(MakeError::Sign)?;
        let parameters = request.parameters(key, false, now)?;
        let made = parameters
            .signed_by(&pair, &self.issuer()?)
            .map_err(MakeError::Sign)?;
        let made = Certificate::from_der(made.der())?;
        self.check_name(made.issuer())?;
        Ok(made)
    }

    /// A list of certificates that this authority takes back, good from now on for
    /// so many days.
    pub fn revoke(
        &self,
        certificates: &[&Certificate],
        now: Moment,
        days: u32,
    ) -> Result<RevocationList, MakeError> {
        let revoked = certificates.iter().map(|certificate| Revoked {
            serial: certificate.serial().to_vec(),
            at: now,
            reason: None,
        });
        self.revocation_list(revoked, now, days)
    }

    /// The same by serial numbers, each with its own time and reason.
    pub fn revocation_list(
        &self,
        revoked: impl IntoIterator<Item = Revoked>,
        now: Moment,
        days: u32,
    ) -> Result<RevocationList, MakeError> {
        let entry = |it: Revoked| {
            Ok(RevokedCertParams {
                serial_number: SerialNumber::from_slice(&it.serial),
                revocation_time: date(it.at)?,
                reason_code: it.reason.and_then(reason),
                invalidity_date: None,
            })
        };
        let revoked: Result<_, MakeError> = revoked.into_iter().map(entry).collect();
        let parameters = CertificateRevocationListParams {
            this_update: date(now)?,
            next_update: date(now.plus_days(days.into()))?,
            // A later list has a greater number.
            crl_number: SerialNumber::from(now.unix().unsigned_abs()),
            issuing_distribution_point: None,
            revoked_certs: revoked?,
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let made = parameters
            .signed_by(&self.issuer()?)
            .map_err(MakeError::Sign)?;
        let made = RevocationList::from_der(made.der())?;
        self.check_name(made.issuer())?;
        Ok(made)
    }

    fn issuer(&self) -> Result<Issuer<'static, KeyPair>, MakeError> {
        let pair = self.key.pair().map_err(MakeError::Sign)?;
        let der = self.certificate.der().into();
        Issuer::from_ca_cert_der(&der, pair).map_err(MakeError::Sign)
    }

    fn check_name(&self, written: &Name) -> Result<(), MakeError> {
        let subject = self.certificate.subject();
        if written.matches(subject) {
            Ok(())
        } else {
            Err(MakeError::Issuer(subject.to_string()))
        }
    }
}
