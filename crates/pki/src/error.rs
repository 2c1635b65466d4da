//! Why bytes are no certificate.

/// More certificates than this are not taken from one peer.
pub const MAX_SENT: usize = 10;

/// Bytes that are no certificate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// Nothing there. Most often an endpoint without security.
    #[error("no certificate: there are no bytes")]
    Empty,
    /// Not DER, or not X.509.
    #[error("not a certificate: {what} at byte {offset}")]
    Malformed {
        /// What the parser stumbled over.
        what: String,
        /// Where the certificate that does not parse begins.
        offset: usize,
    },
    /// Part 6, 6.2.2 wants version 3.
    #[error("not an X.509 v3 certificate: version {0}")]
    Version(u32),
    /// An extension that is there twice or does not parse.
    #[error("bad extension {0}")]
    Extension(String),
    /// An empty part in the subject or issuer name.
    #[error("bad name: an empty part")]
    Name,
    /// Text that is no PEM, or PEM of something else.
    #[error("bad PEM file: {0}")]
    Pem(String),
    /// Two certificates where one was due, or rubbish behind it.
    #[error("{0} bytes after the certificate")]
    Trailing(usize),
    /// A chain longer than [`MAX_SENT`].
    #[error("more than {MAX_SENT} certificates in one chain")]
    TooMany,
}
