//! `uaperf cert list`: what is in the folders.

use std::io::{self, Write};

use pki::RevocationList;
use pki::store::{BrokenFile, Listing};
use serde_json::{Value, json};

use crate::screen::{self, tell};

use super::{Bench, FoundCertificate, view};

/// List all certificates: our own, trusted ones, issuers, distrusted and rejected ones
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uaperf cert list
  uaperf cert list --json | jq '.certificates[] | select(.remaining_days < 30)'")]
pub struct Args {
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, bench: &Bench) -> anyhow::Result<()> {
    let listing = bench.store.list()?;
    let mut out = screen::out();
    if args.json {
        screen::json(&mut out, &to_json(listing, bench))?;
    } else {
        write_table(&mut out, listing, bench)?;
    }
    Ok(())
}

/// As many digits as fit a table; more than enough to be unique.
const DIGITS: usize = 12;

fn write_table(out: &mut impl Write, listing: Listing, bench: &Bench) -> io::Result<()> {
    let folder = bench.store.folder().display();
    if listing.entries.is_empty() {
        writeln!(out, "No certificates in {folder}")?;
    } else {
        writeln!(
            out,
            "{:<10} {:<DIGITS$}  {:<20} SUBJECT",
            "LIST", "THUMBPRINT", "VALID"
        )?;
    }
    for entry in &listing.entries {
        let certificate = &entry.certificate;
        let thumbprint = certificate.thumbprint_hex();
        writeln!(
            out,
            "{:<10} {:<DIGITS$}  {:<20} {}{}",
            entry.place.to_string(),
            thumbprint.get(..DIGITS).unwrap_or(&thumbprint),
            view::remaining(certificate, bench.now),
            certificate.subject(),
            if certificate.is_authority() {
                " (authority)"
            } else {
                ""
            },
        )?;
    }
    for (_, list) in &listing.revocations {
        writeln!(out, "{}", revocation_line(list))?;
    }
    // Beside the point of the table, but the reason why something is not in it.
    for BrokenFile { path, problem } in &listing.broken {
        tell!("warning: {}: {problem}", path.display());
    }
    Ok(())
}

fn revocation_line(list: &RevocationList) -> String {
    let due = list.next_update();
    let due = due.map_or(String::new(), |due| format!(", next due {due}"));
    format!(
        "revocation list of {}: {} taken back{due}",
        list.issuer(),
        list.len()
    )
}

fn to_json(listing: Listing, bench: &Bench) -> Value {
    let certificates = listing.entries.into_iter().map(FoundCertificate::from);
    let certificates = certificates.map(|found| view::to_json(&found, bench.now));
    let lists = listing.revocations.iter().map(|(path, list)| {
        json!({
            "file": path,
            "issuer": list.issuer().to_string(),
            "revoked": list.len(),
            "this_update": list.this_update().to_string(),
            "next_update": list.next_update().map(|due| due.to_string()),
        })
    });
    let broken = listing.broken.iter();
    let broken = broken.map(|file| json!({"file": file.path, "problem": file.problem}));
    json!({
        "folder": bench.store.folder(),
        "certificates": certificates.collect::<Vec<_>>(),
        "revocation_lists": lists.collect::<Vec<_>>(),
        "broken": broken.collect::<Vec<_>>(),
    })
}
