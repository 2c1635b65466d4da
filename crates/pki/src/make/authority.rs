//! Authorities: they sign certificates and take them back.

use rcgen::{
    CertificateRevocationListParams, Issuer, KeyIdMethod, KeyPair, RevokedCertParams, SerialNumber,
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
        let parameters = request.parameters(false, now)?;
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
        let revocation_time = date(now)?;
        let revoked = certificates.iter().map(|certificate| RevokedCertParams {
            serial_number: SerialNumber::from_slice(certificate.serial()),
            revocation_time,
            reason_code: None,
            invalidity_date: None,
        });
        let parameters = CertificateRevocationListParams {
            this_update: revocation_time,
            next_update: date(now.plus_days(days.into()))?,
            // A later list has a greater number.
            crl_number: SerialNumber::from(now.unix().unsigned_abs()),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
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
