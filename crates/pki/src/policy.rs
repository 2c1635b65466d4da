//! What a security policy asks of certificates (Part 7, the security policies).

use crate::certificate::{Certificate, PublicKey};
use crate::refusal::{Reason, Refusal};
use crate::signature::Hash;

/// Key lengths and hashes that a security policy accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRule {
    /// MinAsymmetricKeyLength.
    pub min_bits: usize,
    /// MaxAsymmetricKeyLength.
    pub max_bits: usize,
    /// The weakest hash of the CertificateSignatureAlgorithm.
    pub min_hash: Hash,
}

impl KeyRule {
    /// Basic128Rsa15 and Basic256, both deprecated.
    pub const DEPRECATED: Self = Self {
        min_bits: 1024,
        max_bits: 2048,
        min_hash: Hash::Sha1,
    };

    /// Basic256Sha256, Aes128_Sha256_RsaOaep and Aes256_Sha256_RsaPss.
    pub const RSA: Self = Self {
        min_bits: 2048,
        max_bits: 4096,
        min_hash: Hash::Sha256,
    };

    /// The rule of a security policy, by its URI or by the last part of it;
    /// `None` for the policy None and for unknown ones.
    pub fn of_policy(uri: &str) -> Option<Self> {
        let name = uri.rsplit_once('#').map_or(uri, |parts| parts.1);
        match name {
            "Basic128Rsa15" | "Basic256" => Some(Self::DEPRECATED),
            "Basic256Sha256" | "Aes128_Sha256_RsaOaep" | "Aes256_Sha256_RsaPss" => Some(Self::RSA),
            _ => None,
        }
    }

    /// Holds the certificate that a peer sent to the rule, whoever trusts it.
    pub fn judge(&self, sent: &[u8]) -> Result<(), Refusal> {
        let structure = |error: String| Refusal::new(Reason::Structure, "", error);
        let sent =
            Certificate::chain_from_der(sent).map_err(|error| structure(error.to_string()))?;
        let leaf = sent
            .first()
            .ok_or_else(|| structure("no certificate".into()))?;
        match self.objection(leaf, true) {
            Some(detail) => Err(Refusal::new(Reason::Policy, leaf.subject(), detail)),
            None => Ok(()),
        }
    }

    /// What about the certificate breaks the rule. `leaf`: it is the peer's own,
    /// whose key the policy uses; of authorities only weakness matters.
    pub(crate) fn objection(&self, certificate: &Certificate, leaf: bool) -> Option<String> {
        // The signature on a root is never relied upon, so its hash does not matter.
        if let Some(algorithm) = certificate.signature_algorithm()
            && algorithm.hash < self.min_hash
            && (leaf || !certificate.is_self_issued())
        {
            return Some(format!(
                "signed as {algorithm}, the security policy wants SHA-256 or better"
            ));
        }
        match certificate.public_key() {
            PublicKey::Rsa { bits, .. } => {
                let too_long = leaf && *bits > self.max_bits;
                (*bits < self.min_bits || too_long).then(|| {
                    format!(
                        "its RSA key has {bits} bits, the security policy wants {} to {}",
                        self.min_bits, self.max_bits
                    )
                })
            }
            other if leaf => Some(format!("its key is {other}, the security policy wants RSA")),
            _ => None,
        }
    }
}
