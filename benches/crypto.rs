//! What it costs to protect a message under Basic256Sha256, beside OpenSSL doing the same.
//!
//! `cargo bench -p benches --bench crypto --features openssl`
//!
//! OpenSSL is used at its best: the cipher context keeps its key schedule and only takes the IV
//! anew; HMAC is built on the bare SHA-256 contexts, prepared once and copied, without the
//! lookups of its newer interface. Both sides are checked to give the same bytes first.

#![allow(
    clippy::expect_used,
    reason = "a bench has nobody to tell but its user"
)]

use std::hint::black_box;

use benches::{Subject, compare, print};
use wire::policy::{Keys, Policy};

const SIGNATURE: usize = 32;

fn main() {
    let turns = 400;
    for len in [128, 1024] {
        let keys = Keys::derive(Policy::Basic256Sha256, SECRET, SEED);
        let message: Vec<u8> = (0..len).map(|i| (i * 31) as u8).collect();
        let mut ours = buffer(&message);
        let mut signed = buffer(&message);

        #[cfg(feature = "openssl")]
        let (mut yardstick, mut theirs) = (openssl_keys::Yardstick::new(), buffer(&message));
        // The safe interface to its cipher asks for a spare block, and leaves it alone.
        #[cfg(feature = "openssl")]
        theirs.extend([0; 16]);
        #[cfg(feature = "openssl")]
        {
            protect(&keys, &mut ours);
            yardstick.protect(&mut theirs);
            assert_eq!(ours, theirs[..ours.len()], "both sides protect alike");
        }

        let mut subjects = vec![
            Subject::new("sign", || {
                let (data, signature) = signed.split_at_mut(len);
                keys.sign(black_box(data), signature);
            }),
            Subject::new("sign and encrypt", || protect(&keys, black_box(&mut ours))),
        ];
        #[cfg(feature = "openssl")]
        subjects.push(Subject::new("OpenSSL: sign and encrypt", || {
            yardstick.protect(black_box(&mut theirs));
        }));
        print(
            &format!("Basic256Sha256, {len} bytes"),
            &compare(turns, &mut subjects),
        );
    }
    #[cfg(not(feature = "openssl"))]
    println!("No yardstick: add --features openssl (needs libssl-dev).");
}

const SECRET: &[u8] = &[1; 32];
const SEED: &[u8] = &[2; 32];

fn buffer(message: &[u8]) -> Vec<u8> {
    [message, &[0; SIGNATURE]].concat()
}

fn protect(keys: &Keys, buffer: &mut [u8]) {
    let (data, signature) = buffer.split_at_mut(buffer.len() - SIGNATURE);
    keys.sign(data, signature);
    let encrypted = keys.encrypt(buffer);
    debug_assert!(encrypted.is_ok());
}

#[cfg(feature = "openssl")]
mod openssl_keys {
    use openssl::cipher::Cipher;
    use openssl::cipher_ctx::CipherCtx;
    use openssl::sha::Sha256;

    use super::{SECRET, SEED, SIGNATURE};

    pub struct Yardstick {
        inner: Sha256,
        outer: Sha256,
        cipher: CipherCtx,
        iv: [u8; 16],
    }

    impl Yardstick {
        pub fn new() -> Self {
            let derived = p_sha256(SECRET, SEED, 80);
            let (signing, rest) = derived.split_at(32);
            let (encryption, iv) = rest.split_at(32);
            let mut cipher = CipherCtx::new().expect("a context");
            cipher
                .encrypt_init(Some(Cipher::aes_256_cbc()), Some(encryption), Some(iv))
                .expect("a key and IV of the right length");
            cipher.set_padding(false);
            let (inner, outer) = hmac_states(signing);
            Self {
                inner,
                outer,
                cipher,
                iv: iv.try_into().expect("16 bytes"),
            }
        }

        pub fn protect(&mut self, buffer: &mut [u8]) {
            let len = buffer.len() - 16;
            let (data, signature) = buffer[..len].split_at_mut(len - SIGNATURE);
            signature.copy_from_slice(&hmac(&self.inner, &self.outer, data));
            self.cipher
                .encrypt_init(None, None, Some(&self.iv))
                .expect("an IV");
            self.cipher
                .cipher_update_inplace(buffer, len)
                .expect("whole blocks");
        }
    }

    fn hmac_states(key: &[u8]) -> (Sha256, Sha256) {
        let state = |pad: u8| {
            let mut block = [pad; 64];
            block.iter_mut().zip(key).for_each(|(pad, key)| *pad ^= key);
            let mut state = Sha256::new();
            state.update(&block);
            state
        };
        (state(0x36), state(0x5c))
    }

    fn hmac(inner: &Sha256, outer: &Sha256, data: &[u8]) -> [u8; 32] {
        let (mut inner, mut outer) = (inner.clone(), outer.clone());
        inner.update(data);
        outer.update(&inner.finish());
        outer.finish()
    }

    fn p_sha256(secret: &[u8], seed: &[u8], len: usize) -> Vec<u8> {
        let (inner, outer) = hmac_states(secret);
        let mut a = hmac(&inner, &outer, seed);
        let mut derived = Vec::new();
        while derived.len() < len {
            derived.extend(hmac(&inner, &outer, &[&a[..], seed].concat()));
            a = hmac(&inner, &outer, &a);
        }
        derived.truncate(len);
        derived
    }
}
