//! What the policies cost: a chunk signed and encrypted, and the operations with RSA keys.

use std::hint::black_box;
use std::time::Duration;

use pki::Key;
use serde::{Deserialize, Serialize};
use wire::policy::{Keys, Policy, PrivateKey};

use super::{CalibrateError, Measured};

/// A chunk of a message under a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chunk {
    /// Its size in bytes.
    pub bytes: usize,
    /// Nanoseconds to sign it.
    pub sign_ns: Measured,
    /// Nanoseconds to encrypt it, signature included.
    pub encrypt_ns: Measured,
    /// Nanoseconds to decrypt it.
    pub decrypt_ns: Measured,
    /// Nanoseconds to verify its signature.
    pub verify_ns: Measured,
}

/// Operations with RSA keys, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyOperations {
    /// Length of the key in bits.
    pub bits: usize,
    /// A signature.
    pub sign_ns: Measured,
    /// Its verification.
    pub verify_ns: Measured,
    /// One block encrypted with the public key.
    pub encrypt_ns: Measured,
    /// One block decrypted with the private key.
    pub decrypt_ns: Measured,
}

/// What a policy costs on this host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PolicyCost {
    /// Its name.
    pub policy: String,
    /// Chunks of several sizes.
    pub chunks: Vec<Chunk>,
    /// Operations with its keys.
    pub key: KeyOperations,
}

/// A small message, a large one, and a chunk as large as most stacks make them.
const SIZES: [usize; 3] = [128, 1024, 8192];

/// Measures a policy for about as long as said. Making the key comes on top.
pub fn policy(policy: Policy, budget: Duration) -> Result<PolicyCost, CalibrateError> {
    let each = budget / (SIZES.len() as u32 * 4 + 4);
    let chunks = SIZES
        .into_iter()
        .map(|bytes| chunk(policy, bytes, each))
        .collect::<Result<_, _>>()?;
    Ok(PolicyCost {
        policy: policy.name().to_owned(),
        chunks,
        key: key(policy, each)?,
    })
}

fn chunk(policy: Policy, bytes: usize, each: Duration) -> Result<Chunk, CalibrateError> {
    let keys = Keys::derive(policy, &[1; 32], &[2; 32]);
    let mut buffer: Vec<u8> = (0..bytes).map(|n| (n * 31) as u8).collect();
    let length = keys.signature_len();
    let body = bytes.saturating_sub(length);
    let sign_ns = Measured::time::<CalibrateError>(each, || {
        let (data, signature) = buffer.split_at_mut(body);
        keys.sign(black_box(data), signature);
        Ok(())
    })?;
    let verify_ns = Measured::time::<CalibrateError>(each, || {
        let (data, signature) = buffer.split_at(body);
        black_box(keys.verify(black_box(data), signature));
        Ok(())
    })?;
    let encrypt_ns = Measured::time(each, || keys.encrypt(black_box(&mut buffer)))?;
    let decrypt_ns = Measured::time(each, || keys.decrypt(black_box(&mut buffer)))?;
    Ok(Chunk {
        bytes,
        sign_ns,
        encrypt_ns,
        decrypt_ns,
        verify_ns,
    })
}

fn key(policy: Policy, each: Duration) -> Result<KeyOperations, CalibrateError> {
    // What applications use nowadays, where the policy takes it.
    let bits = 2048.clamp(*policy.key_bits().start(), *policy.key_bits().end());
    let made =
        Key::generate(bits as u32).map_err(|error| CalibrateError::Key(error.to_string()))?;
    let key = PrivateKey::from_der(made.pkcs8())
        .map_err(|error| CalibrateError::Key(error.to_string()))?;
    let public = key.public_key().clone();
    let message = [7; 64];
    let signature = key.sign(policy, &message)?;
    let cipher = public.encrypt(policy, &[9; 32])?;
    Ok(KeyOperations {
        bits,
        sign_ns: Measured::time(each, || {
            key.sign(policy, black_box(&message)).map(|it| {
                black_box(it);
            })
        })?,
        verify_ns: Measured::time::<CalibrateError>(each, || {
            black_box(public.verify(policy, black_box(&message), &signature));
            Ok(())
        })?,
        encrypt_ns: Measured::time(each, || {
            public.encrypt(policy, black_box(&[9; 32])).map(|it| {
                black_box(it);
            })
        })?,
        decrypt_ns: Measured::time(each, || {
            key.decrypt(policy, black_box(&cipher)).map(|it| {
                black_box(it);
            })
        })?,
    })
}
