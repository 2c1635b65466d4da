//! What a responder answers.

use x509_parser::prelude::FromDer;
use x509_parser::x509::AlgorithmIdentifier;

use super::{BASIC, CertificateId, OcspError, Standing};
use crate::certificate::Certificate;
use crate::der;
use crate::moment::Moment;
use crate::signature::Signed;
use crate::usage::Usage;

/// A response that names more certificates is not taken.
const MOST_ANSWERS: usize = 64;
/// Certificates that a responder sends along to prove who it is.
const MOST_SENT: usize = 4;

/// A signed answer of a responder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OcspResponse {
    answers: Vec<Single>,
    signed: Signed,
    /// Of the responder, where it is not the issuer itself.
    sent: Vec<Certificate>,
}

/// What it says of one certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Single {
    id: CertificateId,
    standing: Standing,
    this_update: Moment,
    next_update: Option<Moment>,
}

impl OcspResponse {
    /// Reads one DER response that fills `bytes`.
    pub fn from_der(bytes: &[u8]) -> Result<Self, OcspError> {
        let malformed = || OcspError::Malformed("a response");
        let (inside, rest) = der::take(der::SEQUENCE, bytes).ok_or_else(malformed)?;
        let (status, inside) = der::take(der::ENUMERATED, inside).ok_or_else(malformed)?;
        match status {
            [0] if rest.is_empty() => {}
            [status] if *status > 0 => return Err(OcspError::Refused(*status)),
            _ => return Err(malformed()),
        }
        let basic = |inside| {
            let (inside, _) = der::take(der::context(0), inside)?;
            let (inside, _) = der::take(der::SEQUENCE, inside)?;
            let (kind, inside) = der::take(der::OBJECT, inside)?;
            Some((kind, der::take(der::OCTET_STRING, inside)?.0))
        };
        let (kind, basic) = basic(inside).ok_or_else(malformed)?;
        if kind != BASIC {
            return Err(OcspError::Kind);
        }
        Self::read(basic).ok_or_else(malformed)
    }

    /// BasicOCSPResponse.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (inside, rest) = der::take(der::SEQUENCE, bytes)?;
        let (content, inside) = der::whole(der::SEQUENCE, inside)?;
        let (algorithm, inside) = der::whole(der::SEQUENCE, inside)?;
        let (_, algorithm) = AlgorithmIdentifier::from_der(algorithm).ok()?;
        let (signature, inside) = der::take(der::BIT_STRING, inside)?;
        let (&unused, signature) = signature.split_first()?;
        let (certificates, inside) = der::optional(der::context(0), inside)?;
        let mut sent = Vec::new();
        if let Some(certificates) = certificates {
            let (mut list, _) = der::take(der::SEQUENCE, certificates)?;
            while !list.is_empty() && sent.len() < MOST_SENT {
                let (one, rest) = der::whole(der::SEQUENCE, list)?;
                // One that cannot be read proves nothing; the others may.
                sent.extend(Certificate::from_der(one));
                list = rest;
            }
        }
        let whole = unused == 0 && rest.is_empty() && inside.is_empty();
        whole.then_some(())?;
        Some(Self {
            answers: answers(content)?,
            signed: Signed::beside(content, &algorithm, signature),
            sent,
        })
    }

    /// What it says of a certificate of this issuer, and until when; else why it says nothing.
    pub fn standing(
        &self,
        certificate: &Certificate,
        issuer: &Certificate,
        now: Moment,
    ) -> Result<Standing, String> {
        let single = self.answers.iter();
        let single = single.filter(|single| single.id.names(certificate, issuer));
        // Of several the newest.
        let Some(single) = single.max_by_key(|single| single.this_update) else {
            return Err("the answer is about another certificate".to_owned());
        };
        if !self.is_by(issuer, now) {
            return Err(format!(
                "the answer is signed neither by {} nor by a responder of it",
                issuer.subject()
            ));
        }
        // That it was revoked stays true, however old the answer is.
        if let Standing::Revoked { .. } = single.standing {
            return Ok(single.standing);
        }
        if now.plus(CLOCKS_DIFFER) < single.this_update {
            return Err(format!(
                "the answer is of {}, the future",
                single.this_update
            ));
        }
        match single.next_update {
            Some(due) if due < now => {
                Err(format!("the answer is old, a newer one was due on {due}"))
            }
            _ => Ok(single.standing),
        }
    }

    /// When the first of its answers is due to be asked again; none if any could change at once.
    pub fn next_update(&self) -> Option<Moment> {
        let due: Option<Vec<Moment>> = self.answers.iter().map(|it| it.next_update).collect();
        due?.into_iter().min()
    }

    // RFC 6960, 4.2.2.2: signed by the issuer, or by whom the issuer itself made a responder. Whether a responder was revoked
    // is not asked: it would be asked of itself (id-pkix-ocsp-nocheck).
    fn is_by(&self, issuer: &Certificate, now: Moment) -> bool {
        if self.signed.is_by(issuer.public_key()) {
            return true;
        }
        self.sent.iter().any(|responder| {
            responder.extended_usage().is_some_and(|usage| usage.ocsp)
                && responder
                    .usage()
                    .is_none_or(|usage| usage.allows(Usage::DIGITAL_SIGNATURE))
                && responder.unknown_critical().is_none()
                && responder.not_before() <= now
                && now <= responder.not_after()
                && responder.issuer().matches(issuer.subject())
                && self.signed.is_by(responder.public_key())
                && responder.is_signed_by(issuer)
        })
    }
}

/// A responder's clock may be ahead of ours by so much.
const CLOCKS_DIFFER: std::time::Duration = std::time::Duration::from_secs(300);

/// ResponseData: whose answers these are is told by the signature, not by the name in it.
fn answers(content: &[u8]) -> Option<Vec<Single>> {
    let (inside, _) = der::take(der::SEQUENCE, content)?;
    let (_version, inside) = der::optional(der::context(0), inside)?;
    let (_by_name, inside) = der::optional(der::context(1), inside)?;
    let (_by_key, inside) = der::optional(der::context(2), inside)?;
    let (_produced, inside) = der::take(der::TIME, inside)?;
    let (mut list, _extensions) = der::take(der::SEQUENCE, inside)?;
    let mut answers = Vec::new();
    while !list.is_empty() {
        let (one, rest) = der::take(der::SEQUENCE, list)?;
        if answers.len() == MOST_ANSWERS {
            return None;
        }
        answers.push(single(one)?);
        list = rest;
    }
    Some(answers)
}

fn single(inside: &[u8]) -> Option<Single> {
    let (id, inside) = der::take(der::SEQUENCE, inside)?;
    let (standing, inside) = standing(inside)?;
    let (this_update, inside) = der::take(der::TIME, inside)?;
    let (next_update, _extensions) = der::optional(der::context(0), inside)?;
    let next_update = match next_update {
        Some(inside) => Some(time(der::take(der::TIME, inside)?.0)?),
        None => None,
    };
    Some(Single {
        id: CertificateId::read(id)?,
        standing,
        this_update: time(this_update)?,
        next_update,
    })
}

fn standing(bytes: &[u8]) -> Option<(Standing, &[u8])> {
    if let Some((_, rest)) = der::take(der::primitive(0), bytes) {
        return Some((Standing::Good, rest));
    }
    if let Some((_, rest)) = der::take(der::primitive(2), bytes) {
        return Some((Standing::Unknown, rest));
    }
    let (inside, rest) = der::take(der::context(1), bytes)?;
    let (at, inside) = der::take(der::TIME, inside)?;
    let (reason, _) = der::optional(der::context(0), inside)?;
    let reason = match reason {
        Some(inside) => der::take(der::ENUMERATED, inside)?.0.first().copied(),
        None => None,
    };
    let at = time(at)?;
    Some((Standing::Revoked { at, reason }, rest))
}

/// GeneralizedTime as DER has it: `20260301120000Z`.
fn time(text: &[u8]) -> Option<Moment> {
    let text = std::str::from_utf8(text).ok()?;
    Moment::from_digits(text.strip_suffix('Z')?)
}
