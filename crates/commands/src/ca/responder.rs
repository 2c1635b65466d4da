//! What the responder knows: the folder's files, as they are now.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use pki::Moment;
use pki::make::Answers as Said;
use pki::ocsp::{self, CertificateId, OcspRequest, Standing};
use revocation::{Answers, Reply};

use super::folder::{Folder, One};
use super::index::Index;

/// RFC 6960, 4.2.1.
const MALFORMED: u8 = 1;
const TRY_LATER: u8 = 3;
const UNAUTHORIZED: u8 = 6;

/// Answers from a folder of authorities.
pub struct RevocationAnswers {
    folder: Folder,
    authorities: Vec<One>,
    /// How long an answer of OCSP is good.
    valid: Duration,
    indexes: Mutex<HashMap<String, Cached<Index>>>,
    lists: Mutex<HashMap<String, Cached<Vec<u8>>>>,
}

/// What was read of a file, and how that looked then.
struct Cached<T> {
    as_of: (SystemTime, u64),
    read: Arc<T>,
}

impl RevocationAnswers {
    /// Reads who the authorities are.
    pub fn new(folder: Folder, valid: Duration) -> anyhow::Result<Self> {
        Ok(Self {
            authorities: folder.authorities()?,
            folder,
            valid,
            indexes: Mutex::default(),
            lists: Mutex::default(),
        })
    }

    fn index(&self, name: &str) -> anyhow::Result<Arc<Index>> {
        let file = self.folder.file(name, "index");
        current(&self.indexes, name, &file, || self.folder.index(name))
    }

    fn standing(&self, id: &CertificateId, issuer: &str) -> anyhow::Result<Standing> {
        let index = self.index(issuer)?;
        Ok(match index.find(id.serial()) {
            None => Standing::Unknown,
            Some(entry) => entry.revoked.map_or(Standing::Good, |(at, reason)| {
                let reason = reason.map(super::index::Reason::number);
                Standing::Revoked { at, reason }
            }),
        })
    }

    fn answer(&self, request: &OcspRequest) -> anyhow::Result<Vec<u8>> {
        // One authority signs an answer, so all have to be its own.
        let first = request.certificates.first();
        let issuer = first.and_then(|id| {
            let mut all = self.authorities.iter();
            all.find(|one| id.is_of(one.authority.certificate()))
        });
        let Some(issuer) = issuer else {
            return Ok(ocsp::refuse(UNAUTHORIZED));
        };
        let own = |id: &CertificateId| id.is_of(issuer.authority.certificate());
        if !request.certificates.iter().all(own) {
            return Ok(ocsp::refuse(UNAUTHORIZED));
        }
        let now = Moment::from(SystemTime::now());
        let mut certificates = Vec::new();
        for id in &request.certificates {
            certificates.push((id.clone(), self.standing(id, &issuer.name)?));
        }
        Ok(issuer.authority.answer(&Said {
            certificates,
            now,
            next: (!self.valid.is_zero()).then(|| now.plus(self.valid)),
            nonce: request.nonce.as_deref(),
        })?)
    }
}

impl Answers for RevocationAnswers {
    fn list(&self, path: &str) -> Reply {
        let name = path.strip_prefix('/').unwrap_or_default();
        let name = name.strip_suffix(".crl").unwrap_or_default();
        // Known names only: paths that clients send lead nowhere else.
        let Some(one) = self.authorities.iter().find(|one| one.name == name) else {
            return Reply::Absent;
        };
        let file = self.folder.file(&one.name, "crl");
        let read = || Ok(std::fs::read(&file)?);
        match current(&self.lists, name, &file, read) {
            Ok(bytes) => Reply::Found(bytes),
            Err(error) => Reply::Failed(format!("{}: {error}", file.display())),
        }
    }

    fn status(&self, request: &[u8]) -> Reply {
        let Ok(request) = OcspRequest::from_der(request) else {
            return Reply::Found(Arc::new(ocsp::refuse(MALFORMED)));
        };
        match self.answer(&request) {
            Ok(bytes) => Reply::Found(Arc::new(bytes)),
            Err(error) => Reply::Failed(error.to_string()),
        }
    }

    fn busy(&self) -> Vec<u8> {
        ocsp::refuse(TRY_LATER)
    }
}

/// What is in a file, read when it changes.
fn current<T>(
    seen: &Mutex<HashMap<String, Cached<T>>>,
    name: &str,
    file: &Path,
    read: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<Arc<T>> {
    let at = file.metadata().map_err(|error| failed(file, &error))?;
    let as_of = (at.modified()?, at.len());
    // Others wait while one reads.
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(it) = seen.get(name)
        && it.as_of == as_of
    {
        return Ok(Arc::clone(&it.read));
    }
    let read = Arc::new(read()?);
    let it = Cached {
        as_of,
        read: Arc::clone(&read),
    };
    seen.insert(name.to_owned(), it);
    Ok(read)
}

fn failed(file: &Path, error: &std::io::Error) -> anyhow::Error {
    let file: PathBuf = file.to_owned();
    anyhow::anyhow!("{}: {error}", file.display())
}
