//! For tests only: what [`make`](crate::make) cannot make any more.

use crate::certificate::Certificate;
use crate::key::Key;
use crate::make::MakeError;
use crate::store::Identity;

/// An application with an RSA key of 1024 bits and a certificate signed with SHA-1,
/// for the policies Basic128Rsa15 and Basic256. Its key is known to everybody.
pub fn legacy() -> Result<Identity, MakeError> {
    let certificate = include_bytes!("../fixtures/legacy-1024-sha1.der");
    let key = include_bytes!("../fixtures/legacy-1024-sha1.key.der");
    Ok(Identity::new(
        Certificate::from_der(certificate)?,
        Key::from_der(key)?,
    ))
}

/// An application with an RSA key of 2048 bits and a certificate signed with SHA-1: nothing but its signature is wrong
/// under Basic256Sha256. Its key is known to everybody.
pub fn signed_with_sha1() -> Result<Identity, MakeError> {
    let certificate = include_bytes!("../fixtures/sha1-2048.der");
    let key = include_bytes!("../fixtures/sha1-2048.key.der");
    Ok(Identity::new(
        Certificate::from_der(certificate)?,
        Key::from_der(key)?,
    ))
}
