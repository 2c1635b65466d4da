//! The folder of authorities: who they are, what they issued and revoked.
//!
//! ```text
//! ca.json               what was made
//! root.der, root.key    the root; ca1, ca2, ca3: those below it, the last of which issues
//! root.crl              what it revoked, as peers read it
//! root.index            what it issued, as `openssl ca` keeps it
//! issued/NAME.der, .key what was issued
//! ```

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use pki::make::{Authority, Request, Revoked};
use pki::store::{read_certificates, read_key, write_certificate, write_key, write_revocations};
use pki::{Certificate, Moment};
use serde::{Deserialize, Serialize};

use super::index::Index;
use crate::failure::Failure;

/// A folder of authorities.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// What it was made with.
    pub made: CaSettings,
}

/// What a folder was made with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CaSettings {
    /// `uaperf-ca`.
    pub format: String,
    /// Of the format.
    pub version: u32,
    /// The authorities, the root first.
    pub authorities: Vec<String>,
    /// Where peers are to ask, if they are: in front of `/ocsp` and `/NAME.crl`.
    pub at: Option<String>,
    /// Whether certificates say where a responder is.
    pub ocsp: bool,
    /// Whether they say where the revocation list is.
    pub crl: bool,
    /// So many serial numbers are in each list beside those that were revoked.
    pub padding: u32,
}

/// An authority of the folder.
#[derive(Debug)]
pub struct One {
    /// Its name there.
    pub name: String,
    /// Certificate and key.
    pub authority: Authority,
}

const FORMAT: &str = "uaperf-ca";
const VERSION: u32 = 1;

impl Folder {
    /// A new one, without authorities so far.
    pub fn new(path: &Path, made: CaSettings) -> Self {
        Self {
            path: path.to_owned(),
            made,
        }
    }

    /// One that was made before.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let file = path.join("ca.json");
        let shown = file.display();
        let text = fs::read_to_string(&file).map_err(|error| {
            Failure::new(format!("cannot read {shown}: {error}"))
                .hint(format!("uaperf ca make {}", path.display()))
        })?;
        let made: CaSettings =
            serde_json::from_str(&text).with_context(|| format!("{shown} is unusable"))?;
        let usable = made.format == FORMAT && made.version == VERSION;
        // Names become names of files.
        let plain = made.authorities.iter().all(|name| is_plain(name));
        if !usable || !plain || made.authorities.is_empty() {
            return Err(Failure::new(format!("{shown} is not of this version of uaperf")).into());
        }
        Ok(Self {
            path: path.to_owned(),
            made,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether something is there already.
    pub fn is_there(path: &Path) -> bool {
        path.join("ca.json").exists()
    }

    /// A file of an authority.
    pub fn file(&self, name: &str, ending: &str) -> PathBuf {
        self.path.join(format!("{name}.{ending}"))
    }

    /// A file of what was issued.
    pub fn issued(&self, name: &str, ending: &str) -> PathBuf {
        self.path.join("issued").join(format!("{name}.{ending}"))
    }

    /// The authority with this name.
    pub fn authority(&self, name: &str) -> anyhow::Result<One> {
        let certificate = read_one(&self.file(name, "der"))?;
        let key = read_key(&self.file(name, "key"))?;
        Ok(One {
            name: name.to_owned(),
            authority: Authority::new(certificate, key)?,
        })
    }

    /// All of them, the root first.
    pub fn authorities(&self) -> anyhow::Result<Vec<One>> {
        let names = self.made.authorities.iter();
        names.map(|name| self.authority(name)).collect()
    }

    /// The one that issues.
    pub fn issuing(&self) -> anyhow::Result<One> {
        let last = self.made.authorities.last();
        self.authority(last.map_or("root", String::as_str))
    }

    /// What an authority issued.
    pub fn index(&self, name: &str) -> anyhow::Result<Index> {
        let file = self.file(name, "index");
        let text = match fs::read_to_string(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            other => other.with_context(|| format!("cannot read {}", file.display()))?,
        };
        Index::read(&text, &file.display().to_string())
    }

    /// What certificates of this authority say of where to ask.
    pub fn pointing(&self, request: Request, issuer: &str) -> Request {
        let Some(at) = &self.made.at else {
            return request;
        };
        let request = match self.made.ocsp {
            true => request.responder_at(format!("{at}/ocsp")),
            false => request,
        };
        match self.made.crl {
            true => request.list_at(format!("{at}/{issuer}.crl")),
            false => request,
        }
    }

    /// Writes an authority that was made.
    pub fn put_authority(&self, name: &str, authority: &Authority) -> anyhow::Result<()> {
        write_key(&self.file(name, "key"), authority.key())?;
        write_certificate(&self.file(name, "der"), authority.certificate())?;
        Ok(())
    }

    /// Writes what an authority issued.
    pub fn put_index(&self, name: &str, index: &Index) -> anyhow::Result<()> {
        write(&self.file(name, "index"), index.text().as_bytes())?;
        // Two certificates of one subject are nothing unusual, which openssl has to be told.
        let attributes = self.file(name, "index.attr");
        write(&attributes, b"unique_subject = no\n")
    }

    /// Writes the revocation list of an authority, good for so many days.
    pub fn put_list(&self, one: &One, now: Moment, days: u32) -> anyhow::Result<usize> {
        let index = self.index(&one.name)?;
        let revoked = index.entries().iter().filter_map(|entry| {
            let (at, reason) = entry.revoked?;
            Some(Revoked {
                serial: entry.serial.clone(),
                at,
                reason: reason.map(super::index::Reason::number),
            })
        });
        let padding = (0..self.made.padding).map(|number| Revoked {
            serial: padding(number),
            at: now,
            reason: None,
        });
        let list = one
            .authority
            .revocation_list(revoked.chain(padding), now, days)?;
        write_revocations(&self.file(&one.name, "crl"), &list)?;
        Ok(list.len())
    }

    /// Writes what the folder was made with.
    pub fn put_made(&self) -> anyhow::Result<()> {
        let text = serde_json::to_vec_pretty(&self.made)?;
        write(&self.path.join("ca.json"), &text)
    }
}

impl CaSettings {
    /// Of this version.
    pub fn new(authorities: Vec<String>) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            authorities,
            at: None,
            ocsp: false,
            crl: false,
            padding: 0,
        }
    }
}

/// Serial numbers of nobody's certificates, as long as those that are given here; those begin with other bits.
fn padding(number: u32) -> Vec<u8> {
    let mut serial = vec![0x20];
    serial.extend_from_slice(b"revoked....");
    serial.extend_from_slice(&number.to_be_bytes());
    serial
}

/// Whether it may be a file's name.
pub fn is_plain(name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= 100 && !name.starts_with('.') && name.chars().all(good)
}

/// The first certificate of a file.
pub fn read_one(path: &Path) -> anyhow::Result<Certificate> {
    let certificates = read_certificates(path)?;
    let first = certificates.into_iter().next();
    Ok(first.ok_or_else(|| Failure::new(format!("{}: no certificate", path.display())))?)
}

/// Whole or not at all.
fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let failed = || format!("cannot write {}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(failed)?;
    }
    let beside = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // Best effort: the first error is the one to report.
        let _ = fs::remove_file(&beside);
    }
    written.with_context(failed)
}
