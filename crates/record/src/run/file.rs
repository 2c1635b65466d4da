//! Reading and writing: all of a file or none of it.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::place::{make_folder, place};
use super::{FORMAT, Kind, Mark, Run, VERSION};
use crate::Timestamp;

/// Where a result goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// This file, whatever was in it.
    File(PathBuf),
    /// A new file in this folder, named after time and command; never over another one.
    Folder(PathBuf),
}

/// Why a result was not saved.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The folder cannot be made.
    #[error("cannot write the result: cannot create the folder {}: {source}", folder.display())]
    Folder {
        /// Which.
        folder: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file cannot be written: disk full, not permitted.
    #[error("cannot write the result to {}: {source}", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The run cannot be put into JSON.
    #[error("cannot write the result: {0}")]
    Json(serde_json::Error),
}

/// Why a result cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// It is not JSON, or a field is not what it should be.
    #[error("{}: {source}", file.display())]
    Json {
        /// Which.
        file: PathBuf,
        /// Where and what.
        source: serde_json::Error,
    },
    /// It is JSON, but not a result.
    #[error("{}: not a result of uaperf (want \"format\": \"uaperf run\")", .0.display())]
    NotARun(PathBuf),
    /// It is JSON, but not what a scenario leaves behind.
    #[error("{}: not the index of a scenario (want \"format\": \"uaperf sweep\")", .0.display())]
    NotASweep(PathBuf),
    /// A later uaperf wrote it.
    #[error("{}: written by a newer uaperf (file version {found}; this one reads up to {VERSION}): update uaperf", file.display())]
    Newer {
        /// Which.
        file: PathBuf,
        /// The version that it says.
        found: u64,
    },
    /// A later uaperf wrote it, with a verdict that has come since.
    #[error("{}: written by a newer uaperf (this one knows no verdict {verdict:?}): update uaperf", file.display())]
    NewerVerdict {
        /// Which.
        file: PathBuf,
        /// The verdict.
        verdict: String,
    },
}

/// A verdict of the run or a phase that has come after this version.
fn unknown_verdict(run: &Value) -> Option<String> {
    let phases = run["phases"].as_array().into_iter().flatten();
    std::iter::once(run)
        .chain(phases)
        .map(|it| &it["verdict"]["kind"])
        .find(|kind| kind.is_string() && Kind::deserialize(*kind).is_err())
        .and_then(|kind| kind.as_str().map(str::to_owned))
}

/// Takes out the marks that have come after this version.
fn take_unknown_marks(run: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    if let Some(marks) = run.get_mut("marks").and_then(Value::as_array_mut) {
        marks.retain(|mark| match mark.as_str() {
            Some(text) if Mark::deserialize(mark).is_err() => {
                unknown.push(text.to_owned());
                false
            }
            _ => true,
        });
    }
    unknown
}

impl Run {
    /// The whole file, as text.
    pub fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        Ok(text)
    }

    /// Reads a result; `file` is for messages.
    pub fn from_json(text: &[u8], file: &Path) -> Result<Self, ReadError> {
        let json = |source| ReadError::Json {
            file: file.to_owned(),
            source,
        };
        let mut value: Value = serde_json::from_slice(text).map_err(json)?;
        if value["format"] != FORMAT {
            return Err(ReadError::NotARun(file.to_owned()));
        }
        match value["version"].as_u64() {
            // Here older versions will be brought up to date, one after another.
            Some(1) => {}
            Some(found) if found > u64::from(VERSION) => {
                return Err(ReadError::Newer {
                    file: file.to_owned(),
                    found,
                });
            }
            _ => return Err(ReadError::NotARun(file.to_owned())),
        }
        if let Some(verdict) = unknown_verdict(&value) {
            return Err(ReadError::NewerVerdict {
                file: file.to_owned(),
                verdict,
            });
        }
        let marks = take_unknown_marks(&mut value);
        // From the text, since errors name line and column then; from another text if that has unknown marks.
        let known = match marks.is_empty() {
            true => Cow::Borrowed(text),
            false => Cow::Owned(serde_json::to_vec(&value).map_err(json)?),
        };
        let mut run: Self = serde_json::from_slice(&known).map_err(json)?;
        for mark in marks {
            run.notes.push(format!(
                "a newer uaperf marked it {mark:?}, which this one does not know"
            ));
        }
        Ok(run)
    }

    /// Reads what an agent of the same build has sent.
    pub fn from_agent(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(text.as_bytes())
    }

    /// Reads a result file.
    pub fn read(file: &Path) -> Result<Self, ReadError> {
        let text = fs::read(file).map_err(|source| ReadError::File {
            file: file.to_owned(),
            source,
        })?;
        Self::from_json(&text, file)
    }

    /// Writes it, and says where. Another program sees the whole file or none; when writing
    /// fails, what was there before still is.
    pub fn write(&self, destination: &Destination) -> Result<PathBuf, WriteError> {
        let text = self.to_json().map_err(WriteError::Json)?;
        let (folder, names): (PathBuf, Box<dyn Iterator<Item = String>>) = match destination {
            Destination::File(file) => {
                let folder = file.parent().unwrap_or(Path::new("")).to_owned();
                let Some(name) = file.file_name() else {
                    return Err(WriteError::File {
                        file: file.clone(),
                        source: io::Error::new(io::ErrorKind::InvalidInput, "it names no file"),
                    });
                };
                let name = name.to_string_lossy().into_owned();
                (folder, Box::new(std::iter::once(name)))
            }
            Destination::Folder(folder) => {
                let names = names(self.started, &self.command);
                (folder.clone(), Box::new(names))
            }
        };
        if !folder.as_os_str().is_empty() {
            fs::create_dir_all(&folder).map_err(|source| WriteError::Folder {
                folder: folder.clone(),
                source,
            })?;
        }
        let over = matches!(destination, Destination::File(_));
        let mut wanted = folder.clone();
        for name in names {
            wanted = folder.join(name);
            match place(&text, &wanted, over) {
                Err(error) if !over && error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => {
                    return Err(WriteError::File {
                        file: wanted,
                        source,
                    });
                }
                Ok(()) => return Ok(wanted),
            }
        }
        Err(WriteError::File {
            file: wanted,
            source: io::ErrorKind::AlreadyExists.into(),
        })
    }
}

/// Writes a file whose name is given, as a whole or not at all, and makes its folder.
pub fn place_file(text: &[u8], file: &Path) -> Result<PathBuf, WriteError> {
    make_folder(file).map_err(|source| WriteError::Folder {
        folder: file.parent().unwrap_or(file).to_owned(),
        source,
    })?;
    place(text, file, true).map_err(|source| WriteError::File {
        file: file.to_owned(),
        source,
    })?;
    Ok(file.to_owned())
}

/// `20260301T093000Z-read.json`, and further ones should that be taken.
fn names(started: Timestamp, command: &str) -> impl Iterator<Item = String> {
    let command: String = command
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let stem = format!("{}-{command}", started.compact());
    let more = stem.clone();
    std::iter::once(format!("{stem}.json"))
        .chain((2..1000).map(move |n| format!("{more}-{n}.json")))
}
