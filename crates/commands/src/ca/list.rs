//! `uaperf ca list`: who the authorities are, and what they issued.

use std::fmt::Write as _;
use std::path::PathBuf;

use pki::Moment;
use pki::store::read_revocations;
use serde::Serialize;

use super::folder::Folder;
use super::index::{Entry, hex};
use crate::screen;

/// List authorities, what they issued and what they revoked
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uaperf ca list lab
  uaperf ca list lab --json    for machines")]
pub struct Args {
    /// The folder of the authorities
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Listed {
    at: Option<String>,
    authorities: Vec<Authority>,
}

#[derive(Debug, Serialize)]
struct Authority {
    name: String,
    subject: String,
    key: String,
    not_after: String,
    list_entries: usize,
    list_next_update: Option<String>,
    issued: Vec<Issued>,
}

#[derive(Debug, Serialize)]
struct Issued {
    serial: String,
    subject: String,
    not_after: String,
    standing: &'static str,
    revoked_at: Option<String>,
}

pub fn run(args: Args, now: Moment) -> anyhow::Result<()> {
    let folder = Folder::open(&args.folder)?;
    let mut authorities = Vec::new();
    for one in folder.authorities()? {
        let lists = read_revocations(&folder.file(&one.name, "crl"))?;
        let list = lists.first();
        let certificate = one.authority.certificate();
        let next = list.and_then(pki::RevocationList::next_update);
        let index = folder.index(&one.name)?;
        authorities.push(Authority {
            subject: certificate.subject().to_string(),
            key: certificate.public_key().to_string(),
            not_after: certificate.not_after().to_string(),
            list_entries: list.map_or(0, pki::RevocationList::len),
            list_next_update: next.map(|it| it.to_string()),
            issued: index.entries().iter().map(|it| issued(it, now)).collect(),
            name: one.name,
        });
    }
    let listed = Listed {
        at: folder.made.at.clone(),
        authorities,
    };
    screen::print(&listed, args.json, write)?;
    Ok(())
}

fn issued(entry: &Entry, now: Moment) -> Issued {
    Issued {
        serial: hex(&entry.serial),
        subject: entry.subject.trim_start_matches('/').to_owned(),
        not_after: entry.expires.to_string(),
        standing: match entry.revoked {
            Some(_) => "revoked",
            None if entry.expires < now => "expired",
            None => "good",
        },
        revoked_at: entry.revoked.map(|it| it.0.to_string()),
    }
}

fn write(out: &mut String, listed: &Listed) -> std::fmt::Result {
    match &listed.at {
        Some(at) => writeln!(out, "peers ask at {at}")?,
        None => writeln!(out, "peers are not told where to ask")?,
    }
    for it in &listed.authorities {
        writeln!(
            out,
            "{}  {}, key {}, until {}; list of {} entries, a new one due {}",
            it.name,
            it.subject,
            it.key,
            it.not_after,
            it.list_entries,
            it.list_next_update.as_deref().unwrap_or("at any time"),
        )?;
        for one in &it.issued {
            writeln!(
                out,
                "  {:<7} {}  {}, until {}",
                one.standing, one.serial, one.subject, one.not_after
            )?;
        }
    }
    Ok(())
}
