//! What kind of key a certificate is made with, as typed.

use pki::KeyKind;

/// What kind of key.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Kind {
    /// Length of the RSA key
    #[arg(long, value_enum, default_value = "2048", conflicts_with = "curve")]
    bits: Bits,
    /// A key on this elliptic curve instead, for the security policy of its name
    #[arg(long, value_enum, value_name = "CURVE")]
    curve: Option<Curve>,
}

impl Kind {
    /// Of an RSA key, or one on a curve.
    pub fn key(self) -> KeyKind {
        self.curve.map_or(KeyKind::Rsa(self.bits.count()), |curve| {
            KeyKind::On(curve.0)
        })
    }
}

/// What the security policies of today accept.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Bits {
    #[value(name = "2048")]
    B2048,
    #[value(name = "3072")]
    B3072,
    #[value(name = "4096")]
    B4096,
}

impl Bits {
    /// How many these are.
    fn count(self) -> u32 {
        match self {
            Self::B2048 => 2048,
            Self::B3072 => 3072,
            Self::B4096 => 4096,
        }
    }
}

/// A curve, by its name in security policies.
#[derive(Debug, Clone, Copy)]
struct Curve(pki::Curve);

impl clap::ValueEnum for Curve {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self(pki::Curve::P256),
            Self(pki::Curve::Ed25519),
            Self(pki::Curve::P384),
        ]
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        let name = self.0.policy_name();
        Some(clap::builder::PossibleValue::new(name).alias(self.0.name()))
    }
}
