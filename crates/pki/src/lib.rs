//! Certificates, trust lists, chains and revocation for OPC UA applications.
//!
//! - [`Certificate`] and [`RevocationList`] are parsed once, from any bytes.
//! - [`Trust`] holds what an administrator decided and judges what a peer sent,
//!   in the steps of Part 4, 6.1.3; a [`Refusal`] knows its status code.
//! - [`Store`] is a folder on disk with the layout of the OPC Foundation; its
//!   [`own`](Store::own) makes the application instance certificate at first use.
//! - [`make`] makes keys, certificates, authorities and revocation lists.
//!
//! Files are allowed here, clocks are not: the time is an argument.

mod certificate;
mod chain;
mod checks;
mod crl;
mod curve;
mod der;
mod encoding;
mod error;
mod judging;
mod key;
pub mod make;
mod moment;
mod name;
pub mod ocsp;
mod policy;
mod public_key;
mod refusal;
mod review;
mod revocation;
mod signature;
pub mod store;
pub mod testing;
mod trust;
mod usage;

pub use certificate::Certificate;
pub use checks::{Checks, UnknownCheck};
pub use crl::RevocationList;
pub use curve::Curve;
pub use error::{CertificateError, MAX_SENT};
pub use judging::{Judging, Next};
pub use key::{Key, KeyError, KeyKind};
pub use moment::Moment;
pub use name::Name;
pub use policy::{KeyRule, KeyWanted};
pub use public_key::PublicKey;
pub use refusal::{Reason, Refusal};
pub use revocation::{Answer, Ask, Checked, Fail, Question, Revocation, Source};
pub use signature::{Hash, Scheme, SignatureAlgorithm};
pub use store::{Identity, Store, StoreError, WatchedTrust};
pub use trust::{Accepted, Expected, Role, Trust};
pub use usage::{ExtendedUsage, Usage};
