//! A folder with certificates and trust lists, laid out as the OPC Foundation's
//! stacks and tools do:
//!
//! ```text
//! own/certs, own/private        this application's certificate and key
//! own/replaced                  its certificates of before
//! own/each/certs, …/private     those of simulated clients
//! trusted/certs, trusted/crl    whom it trusts
//! issuers/certs, issuers/crl    authorities that complete chains
//! distrusted/certs              whom a person said not to trust, whoever vouches for them
//! rejected/certs                who was turned away, newest last
//! ```
//!
//! Files may be DER or PEM. They are written under another name first and renamed
//! then, so that several processes can use one folder.

mod client_certificates;
mod files;
mod own;
mod watched;

use std::fmt;
use std::path::{Path, PathBuf};

pub use client_certificates::{Keys, Wanted};
pub use own::Identity;
pub use watched::WatchedTrust;

use crate::certificate::Certificate;
use crate::crl::RevocationList;
use crate::trust::Trust;

/// More certificates than this are not kept of those that were turned away.
pub const MAX_REJECTED: usize = 100;
/// Nor more bytes than this of all of them together.
pub const MAX_REJECTED_BYTES: u64 = 1 << 20;
/// One that is longer is not kept at all: it would push out many others.
const MAX_NOTED_BYTES: usize = 64 << 10;

/// What kept the folder from being read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system said no.
    #[error("cannot {action} {}: {error}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the operating system said.
        error: std::io::Error,
    },
    /// A file that holds something else than its folder says.
    #[error(transparent)]
    Broken(#[from] BrokenFile),
    /// There is a certificate of our own but not its private key.
    #[error("no private key in {} belongs to the certificate {}", private.display(), certificate.display())]
    NoKey {
        /// The certificate.
        certificate: PathBuf,
        /// Where its key should be.
        private: PathBuf,
    },
    /// The certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] crate::make::MakeError),
    /// It was ended before all certificates were made. Those that were stay.
    #[error("stopped when {made} of {of} certificates were made")]
    Stopped {
        /// So many were.
        made: usize,
        /// Of so many.
        of: usize,
    },
}

/// A file in one of the folders that cannot be used. The others still are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct BrokenFile {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: String,
}

/// One of the folders with certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// This application's.
    Own,
    /// Whom it trusts.
    Trusted,
    /// Authorities that complete chains.
    Issuers,
    /// Whom a person said not to trust, whoever vouches for them.
    Distrusted,
    /// Who was turned away.
    Rejected,
}

impl Place {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Own,
        Self::Trusted,
        Self::Issuers,
        Self::Distrusted,
        Self::Rejected,
    ];
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own => "own",
            Self::Trusted => "trusted",
            Self::Issuers => "issuers",
            Self::Distrusted => "distrusted",
            Self::Rejected => "rejected",
        })
    }
}

/// A certificate in one of the folders.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Which folder.
    pub place: Place,
    /// The file.
    pub path: PathBuf,
    /// What it holds.
    pub certificate: Certificate,
}

/// Everything in the folders.
#[derive(Debug, Default)]
pub struct Listing {
    /// The certificates, by folder and file name.
    pub entries: Vec<Entry>,
    /// The revocation lists with their files.
    pub revocations: Vec<(PathBuf, RevocationList)>,
    /// Files that cannot be used.
    pub broken: Vec<BrokenFile>,
}

/// The folder.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The folder need not be there; it is made when something is written.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of the certificates of one kind.
    pub fn certificates(&self, place: Place) -> PathBuf {
        self.folder.join(place.to_string()).join("certs")
    }

    /// The folder of revocation lists of one kind.
    pub fn revocations(&self, place: Place) -> PathBuf {
        self.folder.join(place.to_string()).join("crl")
    }

    fn private(&self) -> PathBuf {
        self.folder.join("own").join("private")
    }

    /// Reads all there is.
    pub fn list(&self) -> Result<Listing, StoreError> {
        let mut listing = Listing::default();
        for place in Place::ALL {
            self.list_certificates(place, &mut listing)?;
        }
        for place in [Place::Trusted, Place::Issuers] {
            for path in files::in_folder(&self.revocations(place))? {
                match read_revocations(&path) {
                    Ok(lists) => {
                        let lists = lists.into_iter().map(|list| (path.clone(), list));
                        listing.revocations.extend(lists);
                    }
                    Err(broken) => listing.broken.push(broken),
                }
            }
        }
        Ok(listing)
    }

    fn list_certificates(&self, place: Place, listing: &mut Listing) -> Result<(), StoreError> {
        for path in files::in_folder(&self.certificates(place))? {
            match read_certificates(&path) {
                Ok(certificates) => {
                    for certificate in certificates {
                        let path = path.clone();
                        listing.entries.push(Entry {
                            place,
                            path,
                            certificate,
                        });
                    }
                }
                Err(broken) => listing.broken.push(broken),
            }
        }
        Ok(())
    }

    /// The certificates whose thumbprint begins with these hexadecimal digits, in
    /// any case and with or without colons.
    pub fn find(&self, thumbprint: &str) -> Result<Vec<Entry>, StoreError> {
        let digits: String = thumbprint
            .chars()
            .filter(|c| !matches!(c, ':' | ' '))
            .map(|c| c.to_ascii_uppercase())
            .collect();
        let mut entries = self.list()?.entries;
        entries.retain(|entry| {
            !digits.is_empty() && entry.certificate.thumbprint_hex().starts_with(&digits)
        });
        Ok(entries)
    }

    /// The trust lists, and the files that could not be used for them.
    pub fn trust(&self) -> Result<(Trust, Vec<BrokenFile>), StoreError> {
        let listing = self.list()?;
        let of = |place: Place| {
            let entries = listing.entries.iter();
            let entries = entries.filter(move |entry| entry.place == place);
            entries.map(|entry| entry.certificate.clone()).collect()
        };
        let trust = Trust {
            trusted: of(Place::Trusted),
            issuers: of(Place::Issuers),
            distrusted: of(Place::Distrusted),
            revocations: listing
                .revocations
                .iter()
                .map(|pair| pair.1.clone())
                .collect(),
        };
        Ok((trust, listing.broken))
    }

    /// Trusts a certificate from now on: it leaves the other lists. Gives its file.
    pub fn trust_certificate(&self, certificate: &Certificate) -> Result<PathBuf, StoreError> {
        let path = self.put(Place::Trusted, certificate)?;
        for place in [Place::Rejected, Place::Issuers, Place::Distrusted] {
            self.take_out(place, certificate)?;
        }
        Ok(path)
    }

    /// Keeps an authority's certificate to complete chains with, without trusting it. One that is distrusted completes
    /// no chain until [`forgive`](Self::forgive) takes that back. Gives its file.
    pub fn know_issuer(&self, certificate: &Certificate) -> Result<PathBuf, StoreError> {
        self.put(Place::Issuers, certificate)
    }

    /// Takes back that a certificate is distrusted, without trusting it.
    pub fn forgive(&self, certificate: &Certificate) -> Result<(), StoreError> {
        self.take_out(Place::Distrusted, certificate)
    }

    /// Notes that a certificate was seen and refused, so that a person can look at it and trust it. Nothing else
    /// changes: whatever a peer sends, and whoever refuses it, no certificate leaves the trust list by this.
    ///
    /// The folder is bounded in files and bytes; the oldest go. One that is there already is not written again. Gives
    /// its file, or nothing for a certificate that is too long to be kept.
    pub fn note(&self, certificate: &Certificate) -> Result<Option<PathBuf>, StoreError> {
        if certificate.der().len() > MAX_NOTED_BYTES {
            return Ok(None);
        }
        let name = files::name(certificate.subject(), certificate.thumbprint(), "der");
        let path = self.certificates(Place::Rejected).join(name);
        if !path.exists() {
            // Losing it to a power cut harms nobody: it is not worth waiting for the disk.
            files::write_unsynced(&path, certificate.der())?;
            self.bound_rejected(&path)?;
        }
        Ok(Some(path))
    }

    /// Trusts a certificate no longer, because a person said so: it leaves the trust list and the issuers, and is kept
    /// among the distrusted ones. There it stays refused, with all that it issued, also below a trusted authority, until
    /// [`trust_certificate`](Self::trust_certificate). Gives its file there.
    pub fn distrust(&self, certificate: &Certificate) -> Result<PathBuf, StoreError> {
        // First of all: whoever reads the folders meanwhile finds it distrusted.
        let path = self.put(Place::Distrusted, certificate)?;
        for place in [Place::Trusted, Place::Issuers, Place::Rejected] {
            self.take_out(place, certificate)?;
        }
        Ok(path)
    }

    fn bound_rejected(&self, except: &Path) -> Result<(), StoreError> {
        let folder = self.certificates(Place::Rejected);
        files::keep_newest(&folder, MAX_REJECTED, MAX_REJECTED_BYTES, except)
    }

    /// Keeps a revocation list; with the trusted ones when its authority is
    /// trusted, else with the issuers'. Gives its file.
    pub fn add_revocations(&self, list: &RevocationList) -> Result<PathBuf, StoreError> {
        let trusted = self.trust()?.0.trusted;
        let place = if trusted.iter().any(|authority| list.is_of(authority)) {
            Place::Trusted
        } else {
            Place::Issuers
        };
        let thumbprint = crate::certificate::thumbprint(list.der());
        let name = files::name(list.issuer(), &thumbprint, "crl");
        let path = self.revocations(place).join(name);
        files::write(&path, list.der())?;
        Ok(path)
    }

    fn put(&self, place: Place, certificate: &Certificate) -> Result<PathBuf, StoreError> {
        let mut listing = Listing::default();
        self.list_certificates(place, &mut listing)?;
        let mut entries = listing.entries.into_iter();
        if let Some(entry) = entries.find(|entry| entry.certificate == *certificate) {
            return Ok(entry.path);
        }
        let name = files::name(certificate.subject(), certificate.thumbprint(), "der");
        let path = self.certificates(place).join(name);
        files::write(&path, certificate.der())?;
        Ok(path)
    }

    /// Removes the files that hold this certificate and nothing else.
    fn take_out(&self, place: Place, certificate: &Certificate) -> Result<(), StoreError> {
        for path in files::in_folder(&self.certificates(place))? {
            let Ok(inside) = read_certificates(&path) else {
                continue;
            };
            if !inside.contains(certificate) {
                continue;
            }
            // A file of several: the others stay, each in a file of its own.
            for other in inside.iter().filter(|other| *other != certificate) {
                let name = files::name(other.subject(), other.thumbprint(), "der");
                files::write(&self.certificates(place).join(name), other.der())?;
            }
            files::remove(&path)?;
        }
        Ok(())
    }
}

/// Reads the certificates of a file, DER or PEM.
pub fn read_certificates(path: &Path) -> Result<Vec<Certificate>, BrokenFile> {
    let bytes = files::read(path)?;
    Certificate::read_file(&bytes).map_err(|error| broken(path, error))
}

/// Reads the revocation lists of a file, DER or PEM.
pub fn read_revocations(path: &Path) -> Result<Vec<RevocationList>, BrokenFile> {
    let bytes = files::read(path)?;
    RevocationList::read_file(&bytes).map_err(|error| broken(path, error))
}

/// Writes a certificate to a file of its own, as PEM when it is called so.
pub fn write_certificate(path: &Path, certificate: &Certificate) -> Result<(), StoreError> {
    if files::is_called_pem(path) {
        files::write(path, certificate.pem().as_bytes())
    } else {
        files::write(path, certificate.der())
    }
}

/// Writes a revocation list to a file of its own, as DER.
pub fn write_revocations(path: &Path, list: &RevocationList) -> Result<(), StoreError> {
    files::write(path, list.der())
}

/// Writes a private key as PEM that only its owner can read.
pub fn write_key(path: &Path, key: &crate::Key) -> Result<(), StoreError> {
    files::write_secret(path, key.pem().as_bytes())
}

/// Reads a private key, PEM or DER.
pub fn read_key(path: &Path) -> Result<crate::Key, BrokenFile> {
    let bytes = files::read(path)?;
    crate::Key::read(&bytes).map_err(|error| broken(path, error))
}

fn broken(path: &Path, problem: impl fmt::Display) -> BrokenFile {
    BrokenFile {
        path: path.to_owned(),
        problem: problem.to_string(),
    }
}
