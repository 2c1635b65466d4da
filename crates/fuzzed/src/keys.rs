//! Keys and certificates that everybody knows, read once.

use std::sync::LazyLock;

use wire::certificate::Certificate;
use wire::channel::{Identity, Random};
use wire::policy::{Curve, Ephemeral, Policy, PrivateKey, Shared};

fn read(certificate: &[u8], key: &[u8]) -> Identity {
    Identity {
        certificate: Certificate::from_der(certificate).unwrap(),
        key: PrivateKey::from_der(key).unwrap(),
    }
}

/// One of 2048 bits, for every policy.
pub fn identity() -> Identity {
    static IDENTITY: LazyLock<Identity> = LazyLock::new(|| {
        read(
            include_bytes!("../../wire/tests/keys/cert2048.der"),
            include_bytes!("../../wire/tests/keys/rsa2048.der"),
        )
    });
    IDENTITY.clone()
}

/// Another one.
pub fn unknown_identity() -> Identity {
    static IDENTITY: LazyLock<Identity> = LazyLock::new(|| {
        read(
            include_bytes!("../../wire/tests/keys/cert3072.der"),
            include_bytes!("../../wire/tests/keys/rsa3072.der"),
        )
    });
    IDENTITY.clone()
}

/// What two sides agreed on, once for each curve; none for policies without one.
pub fn agreed(policy: Policy) -> Option<Shared> {
    static SHARED: LazyLock<[Shared; 3]> = LazyLock::new(|| {
        Curve::ALL.map(|curve| {
            let [client, server] = [(); 2].map(|()| Ephemeral::make(curve).unwrap());
            client.agree(server.public()).unwrap()
        })
    });
    let place = Curve::ALL
        .iter()
        .position(|it| Some(*it) == policy.curve())?;
    Some(SHARED[place].clone())
}

/// Nonces that are the same each time.
pub fn random(seed: u8) -> Random {
    let mut state = seed;
    Box::new(move |bytes| {
        for byte in bytes {
            state = state.wrapping_mul(181).wrapping_add(101);
            *byte = state;
        }
    })
}
