//! Files hold DER or PEM; which one shows in their bytes, not in their names.

use crate::error::CertificateError;

/// The bytes of a DER file, or the contents of the PEM blocks with this tag.
pub(crate) fn blocks(bytes: &[u8], tag: &str) -> Result<Vec<Vec<u8>>, CertificateError> {
    // openssl writes text before the first PEM line.
    const PEM: &[u8] = b"-----BEGIN ";
    if !bytes.windows(PEM.len()).any(|window| window == PEM) {
        return Ok(vec![bytes.to_vec()]);
    }
    let all = pem::parse_many(bytes).map_err(|error| CertificateError::Pem(error.to_string()))?;
    let wanted = all.into_iter().filter(|block| block.tag() == tag);
    let wanted: Vec<_> = wanted.map(pem::Pem::into_contents).collect();
    if wanted.is_empty() {
        return Err(CertificateError::Pem(format!("no block {tag}")));
    }
    Ok(wanted)
}
