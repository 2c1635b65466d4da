//! `uaperf ca revoke`: a certificate is taken back, and the lists are made anew.

use std::io::Write;
use std::path::{Path, PathBuf};

use pki::Moment;
use serde_json::json;

use super::folder::{Folder, read_one};
use super::index::{Reason, bytes};
use super::make::MOST_ENTRIES;
use crate::failure::Failure;
use crate::screen;

/// Revoke a certificate, and make all revocation lists anew
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uaperf ca revoke lab plc1                         one that was issued, by its name there
  uaperf ca revoke lab ca1 --reason CACompromise    an authority below the root
  uaperf ca revoke lab                              new lists, for those that are old
  uaperf ca revoke lab --entries 100000             the same, with so many entries

A responder that is running (uaperf ca serve) says so at once.")]
pub struct Args {
    /// The folder of the authorities
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Names in the folder, files of certificates, or serial numbers in hexadecimal digits
    #[arg(value_name = "NAME|FILE|SERIAL")]
    certificates: Vec<String>,
    /// Why
    #[arg(long, value_enum)]
    reason: Option<Reason>,
    /// Entries beside those that were revoked, of serial numbers that nobody has [default: as before]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MOST_ENTRIES))]
    entries: Option<u32>,
    /// How long the new lists are good; 0: they are old at once
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(0..=36_500))]
    list_days: u32,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, now: Moment) -> anyhow::Result<()> {
    let mut folder = Folder::open(&args.folder)?;
    let mut out = screen::out();
    let (mut revoked, mut lists) = (Vec::new(), Vec::new());
    for what in &args.certificates {
        let serial = serial(what, &folder)?;
        let issuer = revoke(&folder, &serial, now, args.reason)?.ok_or_else(|| {
            Failure::new(format!(
                "{what}: no certificate that was issued here and not revoked yet"
            ))
            .hint(format!("uaperf ca list {}", args.folder.display()))
        })?;
        match args.json {
            true => revoked.push(json!({"certificate": what, "issued_by": issuer})),
            false => writeln!(out, "revoked {what}, issued by {issuer}")?,
        }
    }
    if let Some(entries) = args.entries {
        folder.made.padding = entries;
        folder.put_made()?;
    }
    for one in folder.authorities()? {
        let entries = folder.put_list(&one, now, args.list_days)?;
        let file = folder.file(&one.name, "crl");
        match args.json {
            true => lists.push(json!({"file": file, "entries": entries})),
            false => writeln!(out, "{}: {entries} entries", file.display())?,
        }
    }
    if args.json {
        screen::json(&mut out, &json!({"revoked": revoked, "lists": lists}))?;
    }
    Ok(())
}

fn serial(what: &str, folder: &Folder) -> anyhow::Result<Vec<u8>> {
    let named = [folder.issued(what, "der"), folder.file(what, "der")];
    let plain = super::folder::is_plain(what);
    let mut files = named.into_iter().filter(|_| plain);
    let file = files.find(|file| file.is_file());
    let file = file.or_else(|| Some(PathBuf::from(what)).filter(|it| Path::is_file(it)));
    match file {
        Some(file) => Ok(read_one(&file)?.serial().to_vec()),
        None => bytes(what).ok_or_else(|| {
            let told = format!("{what}: neither a name here, nor a file, nor a serial number");
            Failure::new(told)
                .hint(format!("uaperf ca list {}", folder.path().display()))
                .into()
        }),
    }
}

/// By whichever authority issued it: its name.
fn revoke(
    folder: &Folder,
    serial: &[u8],
    now: Moment,
    reason: Option<Reason>,
) -> anyhow::Result<Option<String>> {
    for name in &folder.made.authorities {
        let mut index = folder.index(name)?;
        if index.revoke(serial, now, reason) {
            folder.put_index(name, &index)?;
            return Ok(Some(name.clone()));
        }
    }
    Ok(None)
}
