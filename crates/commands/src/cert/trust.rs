//! `uaperf cert trust` and `uaperf cert reject`: whom this program talks to.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use pki::Certificate;
use pki::store::{Place, read_certificates, read_revocations};
use serde::Serialize;

use super::Bench;
use crate::failure::Failure;
use crate::screen;

/// Trust a certificate: one that was turned away, or one from a file
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uaperf cert trust 3F09A1                a server that was turned away before
  uaperf cert trust plant-ca.pem          an authority, and so all that it signs
  uaperf cert trust --issuer root.der     an authority that completes chains, no more
  uaperf cert trust plant.der plant.crl   the same with its revocation list

Of a file with several certificates the first is trusted; the authorities behind it
complete its chain.")]
pub struct TrustArgs {
    /// Files, or beginnings of thumbprints
    #[arg(value_name = "FILE|THUMBPRINT", required = true)]
    certificates: Vec<String>,
    /// Only let it complete chains of authorities, without trusting it
    #[arg(long)]
    issuer: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Trust a certificate no longer; connections to its owner are refused
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uaperf cert reject 3F09A1
  uaperf cert reject old-plc.der

It stays refused below a trusted authority, too, and so does all that a rejected authority
signed, until `uaperf cert trust` takes it back. Of a file with several certificates the
first is rejected.")]
pub struct RejectArgs {
    /// A file, or the beginning of a thumbprint
    #[arg(value_name = "FILE|THUMBPRINT")]
    certificate: String,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// What was done with a certificate or a revocation list, and the file that it is in now.
#[derive(Debug, Serialize)]
struct Done {
    did: TrustChange,
    /// Of a revocation list its issuer.
    subject: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    thumbprint: Option<String>,
    file: PathBuf,
    /// What is wrong with it all the same.
    problems: Vec<String>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
enum TrustChange {
    Trusted,
    KnownAsIssuer,
    Rejected,
    AddedRevocationList,
}

impl Done {
    fn with(did: TrustChange, certificate: &Certificate, file: PathBuf) -> Self {
        Self {
            did,
            subject: certificate.subject().to_string(),
            thumbprint: Some(certificate.thumbprint_hex()),
            file,
            problems: Vec::new(),
        }
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let subject = &self.subject;
        let thumbprint = self.thumbprint.as_deref().unwrap_or_default();
        match self.did {
            TrustChange::Trusted => writeln!(out, "trusted: {subject} [{thumbprint}]")?,
            TrustChange::KnownAsIssuer => {
                writeln!(out, "known as issuer: {subject} [{thumbprint}]")?
            }
            TrustChange::Rejected => writeln!(out, "rejected: {subject} [{thumbprint}]")?,
            TrustChange::AddedRevocationList => {
                writeln!(out, "added the revocation list of {subject}")?
            }
        }
        writeln!(out, "  {}", self.file.display())?;
        for problem in &self.problems {
            writeln!(out, "  but {problem}")?;
        }
        Ok(())
    }
}

/// Reports all that was done, also where what came next could not be.
fn tell(done: &[Done], as_json: bool) -> io::Result<()> {
    let mut out = screen::out();
    match as_json {
        true => screen::json(&mut out, &done),
        false => done.iter().try_for_each(|it| it.write(&mut out)),
    }
}

pub fn run_trust(args: TrustArgs, bench: &Bench) -> anyhow::Result<()> {
    let mut done = Vec::new();
    let trusted = trust(&args, bench, &mut done);
    if trusted.is_ok() || !done.is_empty() {
        tell(&done, args.json)?;
    }
    trusted
}

fn trust(args: &TrustArgs, bench: &Bench, done: &mut Vec<Done>) -> anyhow::Result<()> {
    for what in &args.certificates {
        let path = Path::new(what);
        if path.is_file() {
            import(path, args.issuer, bench, done)?;
        } else if let Some(entry) = bench.by_thumbprint(what)?.first() {
            if args.issuer {
                bench.store.forgive(&entry.certificate)?;
            }
            done.push(keep(&entry.certificate, args.issuer, bench)?);
        }
    }
    Ok(())
}

fn import(path: &Path, issuer: bool, bench: &Bench, done: &mut Vec<Done>) -> anyhow::Result<()> {
    let broken = match read_certificates(path) {
        Ok(certificates) => {
            for (index, certificate) in certificates.iter().enumerate() {
                if index == 0 && issuer {
                    bench.store.forgive(certificate)?;
                }
                if index == 0 || certificate.is_authority() {
                    done.push(keep(certificate, issuer || index > 0, bench)?);
                }
            }
            return Ok(());
        }
        Err(broken) => broken,
    };
    let Ok(lists) = read_revocations(path) else {
        return Err(Failure::new(broken.to_string())
            .hint("a certificate or a revocation list, as DER or PEM")
            .into());
    };
    for list in &lists {
        done.push(Done {
            did: TrustChange::AddedRevocationList,
            subject: list.issuer().to_string(),
            thumbprint: None,
            file: bench.store.add_revocations(list)?,
            problems: Vec::new(),
        });
    }
    Ok(())
}

fn keep(certificate: &Certificate, issuer: bool, bench: &Bench) -> anyhow::Result<Done> {
    let (did, file) = if issuer {
        (
            TrustChange::KnownAsIssuer,
            bench.store.know_issuer(certificate)?,
        )
    } else {
        (
            TrustChange::Trusted,
            bench.store.trust_certificate(certificate)?,
        )
    };
    Ok(Done {
        problems: certificate.problems(bench.now),
        ..Done::with(did, certificate, file)
    })
}

pub fn run_reject(args: RejectArgs, bench: &Bench) -> anyhow::Result<()> {
    let found = bench.resolve(&args.certificate)?;
    if found.iter().any(|one| one.place == Some(Place::Own)) {
        return Err(Failure::new("this is our own certificate")
            .hint("uaperf cert make --force")
            .into());
    }
    let mut done = Vec::new();
    if let Some(one) = found.first() {
        let file = bench.store.distrust(&one.certificate)?;
        done.push(Done::with(TrustChange::Rejected, &one.certificate, file));
    }
    Ok(tell(&done, args.json)?)
}
