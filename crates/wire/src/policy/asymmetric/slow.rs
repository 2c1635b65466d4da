//! What the `rsa` crate needs for the cases `aws-lc-rs` declines.

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use rsa::pkcs1::DecodeRsaPrivateKey;
use rsa::pkcs8::DecodePrivateKey;
use rsa::{Oaep, Pkcs1v15Sign, RsaPrivateKey};
use zeroize::Zeroize;

use super::KeyUseError;
use crate::policy::hmac::HmacSha256;

/// Reads a key in DER, PKCS #8 or PKCS #1.
pub(super) fn read_private(der: &[u8]) -> Option<RsaPrivateKey> {
    RsaPrivateKey::from_pkcs8_der(der)
        .ok()
        .or_else(|| RsaPrivateKey::from_pkcs1_der(der).ok())
}

/// Signatures with SHA-1.
pub(super) fn pkcs1_sha1() -> Pkcs1v15Sign {
    Pkcs1v15Sign {
        hash_len: Some(20),
        // RFC 8017, 9.2, note 1: the DigestInfo of SHA-1.
        prefix: Box::new([
            0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04,
            0x14,
        ]),
    }
}

/// Encryption with OAEP and SHA-1.
pub(super) fn oaep_sha1() -> Oaep {
    Oaep::new::<sha1_for_rsa::Sha1>()
}

/// Randomness for the `rsa` crate, whose interface has no way to fail: the system's, drawn
/// beforehand and stretched.
pub(super) struct Stretched {
    key: HmacSha256,
    count: u64,
}

impl Stretched {
    pub(super) fn new() -> Result<Self, KeyUseError> {
        let mut seed = [0; 32];
        SystemRandom::new()
            .fill(&mut seed)
            .map_err(|_| KeyUseError::Failed)?;
        let key = HmacSha256::new(&seed);
        seed.zeroize();
        Ok(Self { key, count: 0 })
    }
}

impl rsa::rand_core::RngCore for Stretched {
    fn next_u32(&mut self) -> u32 {
        rsa::rand_core::impls::next_u32_via_fill(self)
    }

    fn next_u64(&mut self) -> u64 {
        rsa::rand_core::impls::next_u64_via_fill(self)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(32) {
            self.key.sign(&self.count.to_be_bytes(), chunk);
            self.count += 1;
        }
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), rsa::rand_core::Error> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

impl rsa::rand_core::CryptoRng for Stretched {}
