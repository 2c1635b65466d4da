//! Why a server does not start.

use std::io;
use std::net::SocketAddr;

use wire::certificate::CertificateError;
use wire::policy::KeyError;

use crate::describe::IndexTaken;
use crate::fault::NoSuchNode;
use crate::file::Wrong;
use crate::nodeset::NodeSetError;

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Nothing can listen there: most often the port is taken, or the address is not one of
    /// this machine.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the operating system said.
        source: io::Error,
    },
    /// The operating system has no more threads or descriptors.
    #[error("cannot start a loop: {0}")]
    Loop(#[from] io::Error),
    /// The certificate cannot be used for a secure channel.
    #[error("the server's certificate cannot be used: {0}")]
    Certificate(#[from] CertificateError),
    /// The private key cannot be used for a secure channel.
    #[error("the server's private key cannot be used: {0}")]
    Key(#[from] KeyError),
    /// A fault is about a node that is not there.
    #[error("the fault {0} cannot be: {1}")]
    Fault(String, NoSuchNode),
    /// A profile is no plant.
    #[error(transparent)]
    Profile(#[from] Wrong),
    /// Two plants want the same namespace index.
    #[error("these plants do not go together: {0}")]
    Namespace(#[from] IndexTaken),
    /// A file of nodes cannot be served.
    #[error(transparent)]
    NodeSet(#[from] NodeSetError),
    /// Certificate and key are of no use to TLS.
    #[error("{0} cannot be offered: {1}")]
    Tls(&'static str, wss::TlsError),
    /// TLS without a certificate.
    #[error("{0} cannot be offered without a certificate")]
    NoCertificate(&'static str),
    /// Nothing is left of what was to be offered.
    #[error("nothing to offer: the security policies asked for need a certificate")]
    NothingToOffer,
    /// Two certificates that are not of the same application.
    #[error(
        "the certificates are of two applications, {0:?} and {1:?}; a server is one (uaperf cert make --uri, with --curve)"
    )]
    Applications(String, String),
}
