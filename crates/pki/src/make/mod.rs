//! Making certificates, authorities and revocation lists.
//!
//! ```
//! use pki::{Key, Moment, make::{Authority, Request}};
//!
//! let now = Moment::from_unix(1_800_000_000);
//! let plant = Authority::root(Request::authority("Plant CA"), Key::generate(2048)?, now)?;
//! let key = Key::generate(2048)?;
//! let request = Request::application("urn:plc1:drives").dns("plc1").days(365);
//! let certificate = plant.sign(&request, &key, now)?;
//! assert!(certificate.is_signed_by(plant.certificate()));
//! # Ok::<(), pki::make::MakeError>(())
//! ```

mod answer;
mod authority;
mod request;

use time::OffsetDateTime;

pub use answer::Answers;
pub use authority::{Authority, Revoked};
pub use request::{DEFAULT_DAYS, Request};

use crate::error::CertificateError;
use crate::key::KeyError;
use crate::moment::Moment;

/// What kept something from being made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MakeError {
    /// The private key cannot be made or read.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Certificates hold names in ASCII only.
    #[error("bad name {0:?}: want ASCII letters, digits and signs")]
    Name(String),
    /// A validity period outside of the years 0 to 9999.
    #[error("bad validity: {0}")]
    Time(Moment),
    /// The key is not one that can sign here, such as one of 1024 bits.
    #[error("this key cannot sign: {0}")]
    Sign(rcgen::Error),
    /// Only an authority may sign others.
    #[error("{0} is not an authority")]
    NotAnAuthority(String),
    /// The private key is of another certificate.
    #[error("the private key does not belong to {0}")]
    OtherKey(String),
    /// The authority's name has parts that cannot be written the same way again.
    #[error("the name of the authority {0} cannot be copied into a certificate")]
    Issuer(String),
    /// What was made does not parse: a fault of this program.
    #[error("made a certificate that cannot be read: {0}")]
    Unreadable(#[from] CertificateError),
}

fn date(moment: Moment) -> Result<OffsetDateTime, MakeError> {
    moment
        .to_date_time()
        .filter(|date| (0..=9999).contains(&date.year()))
        .ok_or(MakeError::Time(moment))
}
