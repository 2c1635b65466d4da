//! Files that are read again and again.

use std::fs::File;
use std::io::Seek as _;

use crate::figure::Figure;
use crate::files;

/// The files of one folder, kept open: to find and open one of `/proc` costs more than to read it.
#[derive(Debug)]
pub(crate) struct KeptFiles {
    folder: String,
    open: Vec<(&'static str, File)>,
}

impl KeptFiles {
    /// Those of this folder; none is open yet.
    pub fn of(folder: String) -> Self {
        Self {
            folder,
            open: Vec::new(),
        }
    }

    /// Where a file of it is.
    pub fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    /// What a file says now.
    pub fn text(&mut self, name: &'static str) -> Figure<String> {
        if let Some(at) = self.open.iter().position(|(known, _)| *known == name)
            && let Some((_, file)) = self.open.get_mut(at)
        {
            match again(file) {
                Ok(text) => return Ok(text),
                // What it describes has ended. Another may have the same id by now.
                Err(_) => drop(self.open.swap_remove(at)),
            }
        }
        let (file, text) = files::opened(&self.path(name))?;
        self.open.push((name, file));
        Ok(text)
    }
}

fn again(file: &mut File) -> std::io::Result<String> {
    file.rewind()?;
    files::rest(file)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use platform::System;

    use super::*;

    #[test]
    fn a_file_that_was_read_is_read_again_and_opened_once() {
        if !System::IS_LINUX {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stat");
        fs::write(&path, "first").unwrap();
        let mut kept = KeptFiles::of(folder.path().display().to_string());
        assert_eq!(kept.text("stat").as_deref(), Ok("first"));
        fs::write(&path, "and a second").unwrap();
        assert_eq!(kept.text("stat").as_deref(), Ok("and a second"));
        fs::remove_file(&path).unwrap();
        assert_eq!(kept.text("stat").as_deref(), Ok("and a second"));
        assert!(kept.text("sched").is_err());
    }

    #[test]
    fn who_ended_is_not_there_any_more_though_its_file_was_open() {
        if !System::IS_LINUX {
            return;
        }
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let (say, said) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let own = fs::read_link("/proc/thread-self").unwrap();
            say.send(format!("/proc/{}", own.display())).unwrap();
            let _ = ended.recv();
        });
        let mut kept = KeptFiles::of(said.recv().unwrap());
        assert!(kept.text("stat").is_ok());
        drop(end);
        thread.join().unwrap();
        // The kernel may take a moment longer than those who wait for the thread.
        let is_gone = (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            kept.text("stat").is_err()
        });
        assert!(is_gone);
    }
}
