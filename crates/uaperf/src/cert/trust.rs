//! `uaperf cert trust` and `uaperf cert reject`: whom this program talks to.

use std::io::Write;
use std::path::Path;

use pki::Certificate;
use pki::store::{Place, read_certificates, read_revocations};

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
}

pub fn run_trust(args: TrustArgs, bench: &Bench) -> anyhow::Result<()> {
    let mut out = screen::out();
    for what in &args.certificates {
        let path = Path::new(what);
        if path.is_file() {
            import(&mut out, path, args.issuer, bench)?;
        } else if let Some(entry) = bench.by_thumbprint(what)?.first() {
            if args.issuer {
                bench.store.forgive(&entry.certificate)?;
            }
            keep(&mut out, &entry.certificate, args.issuer, bench)?;
        }
    }
    Ok(())
}

fn import(out: &mut impl Write, path: &Path, issuer: bool, bench: &Bench) -> anyhow::Result<()> {
    let broken = match read_certificates(path) {
        Ok(certificates) => {
            for (index, certificate) in certificates.iter().enumerate() {
                if index == 0 && issuer {
                    bench.store.forgive(certificate)?;
                }
                if index == 0 || certificate.is_authority() {
                    keep(out, certificate, issuer || index > 0, bench)?;
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
        let file = bench.store.add_revocations(list)?;
        writeln!(out, "added the revocation list of {}", list.issuer())?;
        writeln!(out, "  {}", file.display())?;
    }
    Ok(())
}

fn keep(
    out: &mut impl Write,
    certificate: &Certificate,
    issuer: bool,
    bench: &Bench,
) -> anyhow::Result<()> {
    let (what, file) = if issuer {
        ("known as issuer", bench.store.know_issuer(certificate)?)
    } else {
        ("trusted", bench.store.trust_certificate(certificate)?)
    };
    let thumbprint = certificate.thumbprint_hex();
    writeln!(out, "{what}: {} [{thumbprint}]", certificate.subject())?;
    writeln!(out, "  {}", file.display())?;
    for problem in certificate.problems(bench.now) {
        writeln!(out, "  but {problem}")?;
    }
    Ok(())
}

pub fn run_reject(args: RejectArgs, bench: &Bench) -> anyhow::Result<()> {
    let found = bench.resolve(&args.certificate)?;
    let mut out = screen::out();
    if found.iter().any(|one| one.place == Some(Place::Own)) {
        return Err(Failure::new("this is our own certificate")
            .hint("uaperf cert make --force")
            .into());
    }
    if let Some(one) = found.first() {
        let file = bench.store.distrust(&one.certificate)?;
        let thumbprint = one.certificate.thumbprint_hex();
        writeln!(
            out,
            "rejected: {} [{thumbprint}]",
            one.certificate.subject()
        )?;
        writeln!(out, "  {}", file.display())?;
    }
    Ok(())
}
