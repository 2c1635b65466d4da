//! What an authority answers as an OCSP responder.

use aws_lc_rs::digest;
use rcgen::SigningKey;

use super::{Authority, MakeError, date};
use crate::der;
use crate::moment::Moment;
use crate::ocsp::{BASIC, CertificateId, Standing, nonce_extensions};

/// What an authority says as a responder.
#[derive(Debug, Clone)]
pub struct Answers<'a> {
    /// What it says of which certificate.
    pub certificates: Vec<(CertificateId, Standing)>,
    /// When it says so.
    pub now: Moment,
    /// When it is to be asked again; none: at any time.
    pub next: Option<Moment>,
    /// What the client sent to find it again.
    pub nonce: Option<&'a [u8]>,
}

impl Authority {
    /// The signed response with these answers, as DER.
    pub fn answer(&self, answers: &Answers<'_>) -> Result<Vec<u8>, MakeError> {
        let key = self.certificate().public_key().bytes();
        let key = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, key);
        let key = der::element(der::OCTET_STRING, key.as_ref());
        let mut inside = der::element(der::context(2), &key);
        inside.extend(time(answers.now)?);
        let mut list = Vec::new();
        for (id, standing) in &answers.certificates {
            list.extend(single(id, standing, answers)?);
        }
        inside.extend(der::element(der::SEQUENCE, &list));
        if let Some(nonce) = answers.nonce {
            inside.extend(der::element(der::context(1), &nonce_extensions(nonce)));
        }
        let content = der::element(der::SEQUENCE, &inside);
        let pair = self.key().kept_pair().map_err(MakeError::Sign)?;
        let mut signature = vec![0];
        signature.extend(pair.sign(&content).map_err(MakeError::Sign)?);
        let mut basic = content;
        basic.extend(self.key().signature_algorithm().map_err(MakeError::Sign)?);
        basic.extend(der::element(der::BIT_STRING, &signature));
        let basic = der::element(der::SEQUENCE, &basic);
        let mut bytes = der::element(der::OBJECT, BASIC);
        bytes.extend(der::element(der::OCTET_STRING, &basic));
        let bytes = der::element(der::context(0), &der::element(der::SEQUENCE, &bytes));
        let mut whole = der::element(der::ENUMERATED, &[0]);
        whole.extend(bytes);
        Ok(der::element(der::SEQUENCE, &whole))
    }
}

fn single(
    id: &CertificateId,
    standing: &Standing,
    answers: &Answers<'_>,
) -> Result<Vec<u8>, MakeError> {
    let mut inside = id.der();
    inside.extend(match standing {
        Standing::Good => der::element(der::primitive(0), &[]),
        Standing::Unknown => der::element(der::primitive(2), &[]),
        Standing::Revoked { at, reason } => {
            let mut revoked = time(*at)?;
            if let Some(reason) = reason {
                let reason = der::element(der::ENUMERATED, &[*reason]);
                revoked.extend(der::element(der::context(0), &reason));
            }
            der::element(der::context(1), &revoked)
        }
    });
    inside.extend(time(answers.now)?);
    if let Some(next) = answers.next {
        inside.extend(der::element(der::context(0), &time(next)?));
    }
    Ok(der::element(der::SEQUENCE, &inside))
}

/// GeneralizedTime.
fn time(moment: Moment) -> Result<Vec<u8>, MakeError> {
    let at = date(moment)?;
    let text = format!(
        "{:04}{:02}{:02}{:02}{:02}{:02}Z",
        at.year(),
        u8::from(at.month()),
        at.day(),
        at.hour(),
        at.minute(),
        at.second()
    );
    Ok(der::element(der::TIME, text.as_bytes()))
}
