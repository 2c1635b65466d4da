//! Certificates of many simulated clients: found by their names, or made at first use.
//!
//! ```text
//! own/each/certs/NAME.der      a client's certificate
//! own/each/private/NAME.pem    its key
//! ```
//!
//! One folder holds all certificates and nothing else, so that a server can be given them at once. They
//! are found by name: looking for the key of each of thousands among thousands would take minutes.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

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

impl Store {
    /// The folder of the certificates of simulated clients.
    pub fn each(&self) -> PathBuf {
        self.each_folder().join("certs")
    }

    fn each_folder(&self) -> PathBuf {
        self.folder.join("own").join("each")
    }

    /// The certificate and key of each of these clients. Those that are not there, or are not valid now,
    /// are made with keys of this kind on all cores; those that are there stay as they are. `go_on` is told
    /// how many are made, and of how many, and says whether to go on.
    pub fn own_each(
        &self,
        wanted: &[Wanted],
        kind: KeyKind,
        now: Moment,
        go_on: &(dyn Fn(usize, usize) -> bool + Sync),
    ) -> Result<Vec<Identity>, StoreError> {
        let find = |it: &Wanted| self.find_each(&it.name, kind, now);
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
        let made = AtomicUsize::new(0);
        let tell = Mutex::new(());
        go_on(0, all);
        let work: Vec<_> = wanted.iter().zip(found).collect();
        on_all_cores(&work, |(wanted, found)| {
            if let Some(found) = found {
                return Ok(found.clone());
            }
            let identity = self.make_each(wanted, kind, now)?;
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

    /// Keys on curves are beside those of RSA, under other names.
    fn files_of(&self, name: &str, kind: KeyKind) -> (PathBuf, PathBuf) {
        let private = self.each_folder().join("private");
        let name = match kind.curve() {
            None => name.to_owned(),
            Some(curve) => format!("{name}-{curve}"),
        };
        (
            self.each().join(format!("{name}.der")),
            private.join(format!("{name}.pem")),
        )
    }

    /// One that is there and valid. One that is there and unusable is an error: somebody put it there.
    fn find_each(
        &self,
        name: &str,
        kind: KeyKind,
        now: Moment,
    ) -> Result<Option<Identity>, StoreError> {
        let (path, private) = self.files_of(name, kind);
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

    fn make_each(
        &self,
        wanted: &Wanted,
        kind: KeyKind,
        now: Moment,
    ) -> Result<Identity, StoreError> {
        let (path, private) = self.files_of(&wanted.name, kind);
        let key = Key::make(kind).map_err(crate::make::MakeError::from)?;
        let certificate = wanted.request.self_signed(&key, now)?;
        // The key first: a certificate without its key would be an error.
        files::write_secret(&private, key.pem().as_bytes())?;
        files::write(&path, certificate.der())?;
        Ok(Identity {
            path: Some(path),
            ..Identity::new(certificate, key)
        })
    }
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
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|it| it.0);
    Ok(done.into_iter().map(|it| it.1).collect())
}
