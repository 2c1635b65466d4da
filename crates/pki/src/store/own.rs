//! This application's certificate: found, or made at first use.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::files::{self, failed};
use super::{Place, Store, StoreError, read_certificates, read_key};
use crate::certificate::Certificate;
use crate::curve::Curve;
use crate::key::{Key, KeyKind};
use crate::make::Request;
use crate::moment::Moment;

/// A certificate with its private key: what a secure channel is opened with.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The application instance certificate.
    pub certificate: Certificate,
    /// Its private key.
    pub key: Key,
    /// The authorities above it that are known, without the root, lowest first.
    pub above: Vec<Certificate>,
    /// The file of the certificate, when it came from one.
    pub path: Option<PathBuf>,
}

impl Identity {
    /// A certificate with its key that came from elsewhere than a [`Store`].
    pub fn new(certificate: Certificate, key: Key) -> Self {
        Self {
            certificate,
            key,
            above: Vec::new(),
            path: None,
        }
    }

    /// The curve of its key; none for RSA.
    pub fn curve(&self) -> Option<Curve> {
        self.certificate.public_key().curve()
    }

    /// The application URI. An ApplicationDescription has to say the same.
    pub fn application_uri(&self) -> Option<&str> {
        self.certificate.application_uri()
    }

    /// What is sent to a peer: the certificate and the authorities above it but for
    /// the root, one after the other (Part 6, 6.2.6).
    pub fn sent(&self) -> Vec<u8> {
        let mut bytes = self.certificate.der().to_vec();
        for authority in &self.above {
            bytes.extend_from_slice(authority.der());
        }
        bytes
    }
}

impl Store {
    /// This application's certificate for keys of RSA or of a curve, and its key. When there
    /// is none they are made as `request` says, with a key of this kind, and written; of several
    /// processes that do so at once one makes them and the others wait.
    pub fn own(
        &self,
        request: &Request,
        kind: KeyKind,
        now: Moment,
    ) -> Result<Identity, StoreError> {
        if let Some(found) = self.find_own_on(kind.curve(), now)? {
            return Ok(found);
        }
        let _lock = lock(&self.folder.join("own"))?;
        match self.find_own_on(kind.curve(), now)? {
            Some(found) => Ok(found),
            None => self.make_own(request, kind, now),
        }
    }

    /// This application's certificate and key, if there: that of RSA, or else of a curve.
    pub fn find_own(&self, now: Moment) -> Result<Option<Identity>, StoreError> {
        Ok(self.all_own(now)?.into_iter().next())
    }

    /// The same of this curve, or of RSA without one.
    pub fn find_own_on(
        &self,
        curve: Option<Curve>,
        now: Moment,
    ) -> Result<Option<Identity>, StoreError> {
        let all = self.all_own(now)?;
        Ok(all.into_iter().find(|it| it.curve() == curve))
    }

    /// This application's certificates and keys: one for RSA and one for each curve, as far as
    /// they are there. Of several of a kind the one that is valid and was made last.
    pub fn all_own(&self, now: Moment) -> Result<Vec<Identity>, StoreError> {
        let mut all: Vec<Identity> = Vec::new();
        let mut problem = None;
        for path in files::in_folder(&self.certificates(Place::Own))? {
            let identity = match self.read_own(&path) {
                Ok(identity) => identity,
                Err(error) => {
                    problem = Some(error);
                    continue;
                }
            };
            match all.iter_mut().find(|it| it.curve() == identity.curve()) {
                None => all.push(identity),
                Some(other) if rank(&identity.certificate, now) > rank(&other.certificate, now) => {
                    *other = identity;
                }
                Some(_) => {}
            }
        }
        match problem {
            Some(problem) if all.is_empty() => return Err(problem),
            // A broken file beside a good one is for `list` to tell.
            _ => {}
        }
        for identity in &mut all {
            self.complete(identity)?;
        }
        all.sort_by_key(|it| it.curve().map(|curve| curve as u8));
        Ok(all)
    }

    /// Makes a new certificate of our own that takes the place of older ones of its kind.
    pub fn make_own(
        &self,
        request: &Request,
        kind: KeyKind,
        now: Moment,
    ) -> Result<Identity, StoreError> {
        let key = Key::make(kind).map_err(crate::make::MakeError::from)?;
        let certificate = request.self_signed(&key, now)?;
        self.put_own(Identity::new(certificate, key))
    }

    /// Keeps a certificate of our own. Older ones with keys of RSA, or of the same curve, make
    /// room: they go to the folder `own/replaced`, and their keys stay.
    pub fn put_own(&self, mut identity: Identity) -> Result<Identity, StoreError> {
        let certificate = &identity.certificate;
        let named = |ending| files::name(certificate.subject(), certificate.thumbprint(), ending);
        files::make_folder(&self.private(), true)?;
        // The key first: a certificate without its key would be an error.
        files::write_secret(
            &self.private().join(named("pem")),
            identity.key.pem().as_bytes(),
        )?;
        let path = self.certificates(Place::Own).join(named("der"));
        files::write(&path, certificate.der())?;
        for old in files::in_folder(&self.certificates(Place::Own))? {
            if old != path && !is_of_another_kind(&old, identity.curve()) {
                files::move_to(&old, &self.folder.join("own").join("replaced"))?;
            }
        }
        identity.path = Some(path);
        Ok(identity)
    }

    fn read_own(&self, path: &Path) -> Result<Identity, StoreError> {
        let mut certificates = read_certificates(path)?;
        let certificate = certificates.remove(0);
        for file in files::in_folder(&self.private())? {
            let Ok(key) = read_key(&file) else { continue };
            if key.belongs_to(&certificate) {
                return Ok(Identity {
                    certificate,
                    key,
                    above: certificates,
                    path: Some(path.to_owned()),
                });
            }
        }
        Err(StoreError::NoKey {
            certificate: path.to_owned(),
            private: self.private(),
        })
    }

    /// Finds the authorities above, in the own file and in the trust lists.
    pub(super) fn complete(&self, identity: &mut Identity) -> Result<(), StoreError> {
        if identity.certificate.is_self_issued() {
            return Ok(());
        }
        let (trust, _broken) = self.trust()?;
        let known = trust.issuers.iter().chain(&trust.trusted);
        let known = identity.above.iter().chain(known);
        if let Ok(paths) = crate::chain::paths(&identity.certificate, known)
            && let Some(path) = paths.first()
        {
            let authorities = path.iter().skip(1).take(path.len().saturating_sub(2));
            identity.above = authorities.copied().cloned().collect();
        }
        Ok(())
    }
}

/// Of several processes that write to a folder, the others wait.
pub(super) fn lock(folder: &Path) -> Result<std::fs::File, StoreError> {
    files::make_folder(folder, false)?;
    let path = folder.join(".lock");
    let mut options = OpenOptions::new();
    let file = options.create(true).append(true).open(&path);
    let file = file.map_err(failed("open", &path))?;
    // Freed when the file is closed, or its process ends. A file system without
    // locks is used without: the last one to write wins then.
    match file.lock() {
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(file),
        other => other.map(|()| file).map_err(failed("lock", &path)),
    }
}

/// Whether a file has a certificate with a key that is neither on this curve nor of RSA as well.
fn is_of_another_kind(path: &Path, curve: Option<Curve>) -> bool {
    let read = read_certificates(path).ok();
    let leaf = read.and_then(|all| all.into_iter().next());
    leaf.is_some_and(|it| it.public_key().curve() != curve)
}

fn rank(certificate: &Certificate, now: Moment) -> (bool, Moment) {
    let valid = certificate.not_before() <= now && now <= certificate.not_after();
    (valid, certificate.not_before())
}
