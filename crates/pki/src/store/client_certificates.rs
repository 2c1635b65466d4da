//! Certificates of many simulated clients or devices: found by their names, or made at first use.
//!
//! ```text
//! own/each/certs/NAME.der      a client's certificate
//! own/each/private/NAME.pem    its key
//! own/each/private/shared.pem  that of all that share one
//! ```
//!
//! One folder holds all certificates and nothing else, so that a server can be given them at once. They
//! are found by name: looking for the key of each of thousands among thousands would take minutes.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{Identity, Store, StoreError, files, read_certificates, read_key};
use crate::key::{Key, KeyKind};
use crate::make::Request;
use crate::moment::Moment;

/// A simulated client and what its certificate says if it has to be made.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// By which it is known in the folder.
    pub name: String,
    /// What it says.
    pub request: Request,
}

/// Whose keys they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// Each a key of its own, of this kind.
    Each(KeyKind),
    /// All the same one of this kind: keys of RSA take long to make.
    Shared(KeyKind),
}

impl Keys {
    const fn kind(self) -> KeyKind {
        match self {
            Self::Each(kind) | Self::Shared(kind) => kind,
        }
    }
}

impl Store {
    /// The folder of the certificates of simulated clients.
    pub fn each(&self) -> PathBuf {
        self.each_folder().join("certs")
    }

    fn each_folder(&self) -> PathBuf {
        self.folder.join("own").join("each")
    }

    /// The certificate and key of each of these clients. Those that are not there, or are not valid now,
    /// are made with such keys on all cores; those that are there stay as they are. `go_on` is told
    /// how many are made, and of how many, and says whether to go on.
    pub fn own_each(
        &self,
        wanted: &[Wanted],
        keys: Keys,
        now: Moment,
        go_on: &(dyn Fn(usize, usize) -> bool + Sync),
    ) -> Result<Vec<Identity>, StoreError> {
        let find = |it: &Wanted| self.find_each(&it.name, keys, now);
        let found = on_all_cores(wanted, find)?;
        if found.iter().all(Option::is_some) {
            return Ok(found.into_iter().flatten().collect());
        }
        let folder = self.each_folder();
        files::make_folder(&folder.join("private"), true)?;
        let _lock = super::own::lock(&folder)?;
        // Another process may have made them by now.
        let found = on_all_cores(wanted, find)?;
        let all = found.iter().filter(|it| it.is_none()).count();
        if let (Keys::Shared(kind), 1..) = (keys, all) {
            let (_, private) = self.files_of("", keys);
            if !is_there(&private)? {
                make_key(&private, kind)?;
            }
        }
        let made = AtomicUsize::new(0);
        let tell = Mutex::new(());
        go_on(0, all);
        let work: Vec<_> = wanted.iter().zip(found).collect();
        on_all_cores(&work, |(wanted, found)| {
            if let Some(found) = found {
                return Ok(found.clone());
            }
            let identity = self.make_each(wanted, keys, now)?;
            let one_at_a_time = tell.lock();
            let done = made.fetch_add(1, Ordering::Relaxed) + 1;
            let more = go_on(done, all) || done == all;
            drop(one_at_a_time);
            match more {
                true => Ok(identity),
                false => Err(StoreError::Stopped {
                    made: done,
                    of: all,
                }),
            }
        })
    }

    /// Keys on curves are beside those of RSA, under other names; so are those that are shared.
    fn files_of(&self, name: &str, keys: Keys) -> (PathBuf, PathBuf) {
        let private = self.each_folder().join("private");
        let curve = match keys.kind().curve() {
            None => String::new(),
            Some(curve) => format!("-{curve}"),
        };
        let (name, key) = match keys {
            Keys::Each(_) => (format!("{name}{curve}"), format!("{name}{curve}")),
            Keys::Shared(_) => (format!("{name}-shared{curve}"), format!("shared{curve}")),
        };
        (
            self.each().join(format!("{name}.der")),
            private.join(format!("{key}.pem")),
        )
    }

    /// One that is there and valid. One that is there and unusable is an error: somebody put it there.
    fn find_each(
        &self,
        name: &str,
        keys: Keys,
        now: Moment,
    ) -> Result<Option<Identity>, StoreError> {
        let (path, private) = self.files_of(name, keys);
        if !is_there(&path)? {
            return Ok(None);
        }
        let mut above = read_certificates(&path)?;
        let certificate = above.remove(0);
        if now < certificate.not_before() || certificate.not_after() < now {
            return Ok(None);
        }
        let no_key = || StoreError::NoKey {
            certificate: path.clone(),
            private: private.clone(),
        };
        if !is_there(&private)? {
            return Err(no_key());
        }
        let key = read_key(&private)?;
        if !key.belongs_to(&certificate) {
            return Err(no_key());
        }
        let mut identity = Identity {
            certificate,
            key,
            above,
            path: Some(path),
        };
        self.complete(&mut identity)?;
        Ok(Some(identity))
    }

    fn make_each(&self, wanted: &Wanted, keys: Keys, now: Moment) -> Result<Identity, StoreError> {
        let (path, private) = self.files_of(&wanted.name, keys);
        // The key first: a certificate without its key would be an error.
        let key = match keys {
            Keys::Each(kind) => make_key(&private, kind)?,
            Keys::Shared(_) => read_key(&private)?,
        };
        let certificate = wanted.request.self_signed(&key, now)?;
        files::write(&path, certificate.der())?;
        Ok(Identity {
            path: Some(path),
            ..Identity::new(certificate, key)
        })
    }
}

fn make_key(path: &Path, kind: KeyKind) -> Result<Key, StoreError> {
    let key = Key::make(kind).map_err(crate::make::MakeError::from)?;
    files::write_secret(path, key.pem().as_bytes())?;
    Ok(key)
}

fn is_there(path: &Path) -> Result<bool, StoreError> {
    path.try_exists().map_err(files::failed("read", path))
}

/// Does something with each of them on all cores, and gives what came of it in their order. The first
/// failure ends it.
fn on_all_cores<T: Sync, R: Send>(
    all: &[T],
    one: impl Fn(&T) -> Result<R, StoreError> + Sync,
) -> Result<Vec<R>, StoreError> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(all.len()));
    let failed = Mutex::new(None);
    let run = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(it) = all.get(place) else { return };
            match one(it) {
                Ok(result) => {
                    if let Ok(mut done) = done.lock() {
                        done.push((place, result));
                    }
                }
                Err(error) => {
                    next.store(all.len(), Ordering::Relaxed);
                    if let Ok(mut failed) = failed.lock() {
                        failed.get_or_insert(error);
                    }
                    return;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..cores.min(all.len()) {
            scope.spawn(run);
        }
        run();
    });
    if let Ok(Some(error)) = failed.into_inner() {
        return Err(error);
    }
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|it| it.0);
    Ok(done.into_iter().map(|it| it.1).collect())
}
