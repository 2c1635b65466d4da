//! The trust lists of a folder, read when they change and shared by all who judge with them.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::files::{self, failed};
use super::{Place, Store, StoreError};
use crate::moment::Moment;
use crate::revocation::Source;
use crate::trust::Trust;

/// Trust lists that are read anew when a file of theirs comes, goes or changes.
///
/// To look whether something changed costs a `stat` of five folders. A file that was changed in place leaves no trace
/// in its folder: once a second the names, sizes and times of all files are looked at. Whoever judges shares one
/// [`Trust`], in which each signature is verified once.
#[derive(Debug)]
pub struct WatchedTrust {
    store: Store,
    held: Mutex<Option<Held>>,
}

#[derive(Debug)]
struct Held {
    trust: Arc<Trust>,
    folders: Vec<Option<SystemTime>>,
    files: Vec<FileState>,
    looked: Moment,
    readings: u64,
}

/// A file as its folder shows it.
#[derive(Debug, PartialEq, Eq)]
struct FileState {
    path: PathBuf,
    length: u64,
    changed: Option<SystemTime>,
    /// Tells a file from another one that was put in its place.
    identity: Option<u64>,
}

impl WatchedTrust {
    /// Reads nothing yet.
    pub fn new(store: Store) -> Self {
        Self {
            store,
            held: Mutex::new(None),
        }
    }

    /// The folder.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The trust lists as they are now. Lists that cannot be read are an error, not the lists of before: a peer that
    /// was distrusted meanwhile must not be let in.
    pub fn current(&self, now: Moment) -> Result<Arc<Trust>, StoreError> {
        // Nothing is left half done by a thread that panics. Others wait here while one reads.
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let folders = self.folders()?;
        if let Some(held) = &*held
            && held.folders == folders
            && held.looked == now
        {
            return Ok(Arc::clone(&held.trust));
        }
        // Before they are read: what changes while they are makes them be read again.
        let files = self.files()?;
        let readings = held.as_ref().map_or(0, |held| held.readings);
        if let Some(held) = &mut *held
            && held.files == files
        {
            held.folders = folders;
            held.looked = now;
            return Ok(Arc::clone(&held.trust));
        }
        *held = None;
        let trust = Arc::new(self.store.trust()?.0);
        *held = Some(Held {
            trust: Arc::clone(&trust),
            folders,
            files,
            looked: now,
            readings: readings + 1,
        });
        Ok(trust)
    }

    /// The same, and all files are read again whether something changed or not.
    pub fn anew(&self, now: Moment) -> Result<Arc<Trust>, StoreError> {
        {
            let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(held) = &mut *held {
                held.folders.clear();
                held.files.clear();
            }
        }
        self.current(now)
    }

    /// The trust lists for judging with this source of revocation.
    pub fn for_source(&self, source: Source, now: Moment) -> Result<Arc<Trust>, StoreError> {
        match source {
            Source::Reread => self.anew(now),
            _ => self.current(now),
        }
    }

    /// How often the files were read.
    pub fn readings(&self) -> u64 {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().map_or(0, |held| held.readings)
    }

    fn all(&self) -> [PathBuf; 5] {
        let store = &self.store;
        [
            store.certificates(Place::Trusted),
            store.certificates(Place::Issuers),
            store.certificates(Place::Distrusted),
            store.revocations(Place::Trusted),
            store.revocations(Place::Issuers),
        ]
    }

    /// When each folder got or lost a file last.
    fn folders(&self) -> Result<Vec<Option<SystemTime>>, StoreError> {
        let changed = |folder: &PathBuf| match fs::metadata(folder) {
            Ok(there) => Ok(there.modified().ok()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", folder)(error)),
        };
        self.all().iter().map(changed).collect()
    }

    fn files(&self) -> Result<Vec<FileState>, StoreError> {
        let mut files = Vec::new();
        for folder in self.all() {
            let paths = files::in_folder(&folder)?;
            // One that is gone again was a moment too short there to count.
            files.extend(paths.into_iter().filter_map(|path| see(&path)));
        }
        Ok(files)
    }
}

fn see(path: &Path) -> Option<FileState> {
    let there = path.metadata().ok()?;
    Some(FileState {
        path: path.to_owned(),
        length: there.len(),
        changed: there.modified().ok(),
        identity: platform::file::identity(&there),
    })
}
