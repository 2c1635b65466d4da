//! Results on disk: an agent's own until the controller has taken them, and a controller's until its result is whole.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::place;

/// What is kept of one load: a folder of its own.
#[derive(Debug, Clone)]
pub struct ResultFolder {
    folder: PathBuf,
}

/// Bytes of a name.
const NAME: usize = 16;

/// What nobody asked for is kept so long.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

/// A name that no other load has.
pub fn name() -> String {
    let mut bytes = [0; NAME];
    load::transport::random()(&mut bytes);
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}

/// Whether somebody else's word is such a name: it becomes a part of a path.
pub fn is_name(text: &str) -> bool {
    text.len() == 2 * NAME && text.bytes().all(|it| it.is_ascii_hexdigit())
}

fn all() -> anyhow::Result<PathBuf> {
    Ok(place::state()?.join("fleet"))
}

impl ResultFolder {
    /// That of a load, which may be empty.
    pub fn of(load: &str) -> anyhow::Result<Self> {
        match is_name(load) {
            true => Ok(Self {
                folder: all()?.join(load),
            }),
            false => Err(anyhow::anyhow!(
                "{load:?} is no name of a load (want {} hexadecimal digits)",
                2 * NAME
            )),
        }
    }

    /// Those of all loads of which something is kept here, with their names.
    pub fn every() -> anyhow::Result<Vec<(String, Self)>> {
        let folders = match std::fs::read_dir(all()?) {
            Ok(folders) => folders,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let mut every = Vec::new();
        for folder in folders {
            let folder = folder?;
            let name = folder.file_name().to_string_lossy().into_owned();
            if is_name(&name) {
                let folder = folder.path();
                every.push((name, Self { folder }));
            }
        }
        every.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(every)
    }

    /// Removes what nobody asked for in a long time. What cannot be removed stays.
    pub fn tidy() {
        let old = |shelf: &Self| {
            let changed = std::fs::metadata(&shelf.folder).and_then(|it| it.modified());
            let age = changed.map(|it| SystemTime::now().duration_since(it));
            matches!(age, Ok(Ok(age)) if age > KEPT)
        };
        // Tidying up is no reason to fail: the next run tries again.
        let every = Self::every().unwrap_or_default();
        for (_, shelf) in every.iter().filter(|(_, shelf)| old(shelf)) {
            shelf.clear();
        }
    }

    /// Keeps something under a name, or in place of what has it.
    pub fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        record::run::replace(&self.folder.join(name), bytes)
    }

    /// What is kept under a name.
    pub fn get(&self, name: &str) -> io::Result<Vec<u8>> {
        std::fs::read(self.folder.join(name))
    }

    /// Where that is.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// It is not needed any more; nor is the folder, if nothing else is in it.
    pub fn remove(&self, name: &str) {
        // What cannot be removed is removed when it is old.
        let _ = std::fs::remove_file(self.folder.join(name));
        let _ = std::fs::remove_dir(&self.folder);
    }

    /// Nothing of it is needed any more.
    pub fn clear(&self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Those of loads whose results are whole, and not written yet.
static WHOLE: Mutex<Vec<ResultFolder>> = Mutex::new(Vec::new());

/// Is needed until a result is written.
pub fn until_kept(shelf: ResultFolder) {
    let mut whole = WHOLE.lock().unwrap_or_else(PoisonError::into_inner);
    whole.push(shelf);
}

/// A result is written: what it was made of is not needed any more.
pub fn kept() {
    let mut whole = WHOLE.lock().unwrap_or_else(PoisonError::into_inner);
    whole.drain(..).for_each(|it| it.clear());
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_load_has_a_name_that_is_no_path() {
        assert!(is_name(&name()));
        assert_ne!(name(), name());
        for text in ["", "..", "../../../../../../../etc/passwd1", "0123"] {
            let error = ResultFolder::of(text).unwrap_err().to_string();
            assert!(error.contains("(want 32 hexadecimal digits)"), "{error}");
        }
    }
}
