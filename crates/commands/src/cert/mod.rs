//! `uaperf cert`: this program's certificate and the ones it trusts.

mod kind;
mod list;
mod make;
mod show;
mod trust;
mod view;

use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use pki::store::{Entry, Place, read_certificates};
use pki::{Certificate, Moment, Store};

pub use kind::Kind;

use crate::failure::Failure;
use crate::global::Global;

/// Make, show, trust and reject certificates
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Make(make::Args),
    Show(show::Args),
    List(list::Args),
    Trust(trust::TrustArgs),
    Reject(trust::RejectArgs),
}

const EXAMPLES: &str = "\
Examples:
  uaperf cert list                       what is there, and for how many days yet
  uaperf cert show own                   this program's own certificate
  uaperf cert trust 3F09A1               trust a server that was turned away
  uaperf cert trust plc1.der             trust a certificate from a file
  uaperf cert make --dns line4.plant     a new certificate of our own
  uaperf cert make --ca --out plant.der  an authority for the test plant";

/// Carries out `uaperf cert`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    let bench = Bench {
        store: Store::new(global.pki()?),
        now: SystemTime::now().into(),
    };
    match args.command {
        Command::Make(args) => make::run(args, &bench),
        Command::Show(args) => show::run(args, &bench),
        Command::List(args) => list::run(args, &bench),
        Command::Trust(args) => trust::run_trust(args, &bench),
        Command::Reject(args) => trust::run_reject(args, &bench),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// What every verb needs.
struct Bench {
    store: Store,
    now: Moment,
}

impl Bench {
    /// The certificates a user means: `own` (one for each kind of key), a file, or the beginning of a
    /// thumbprint.
    fn resolve(&self, what: &str) -> anyhow::Result<Vec<FoundCertificate>> {
        if what == "own" {
            let all = self.store.all_own(self.now)?;
            if all.is_empty() {
                return Err(Failure::new(format!(
                    "there is no certificate of our own in {}",
                    self.store.folder().display()
                ))
                .hint("uaperf cert make")
                .into());
            }
            let found = all.into_iter().map(|own| FoundCertificate {
                file: own.path.map(|path| path.display().to_string()),
                place: Some(Place::Own),
                certificate: own.certificate,
            });
            return Ok(found.collect());
        }
        let path = Path::new(what);
        if path.is_file() {
            let certificates = read_certificates(path).map_err(|broken| {
                Failure::new(broken.to_string()).hint("a certificate as DER or PEM")
            })?;
            let found = certificates
                .into_iter()
                .map(|certificate| FoundCertificate {
                    file: Some(what.to_owned()),
                    place: None,
                    certificate,
                });
            return Ok(found.collect());
        }
        let found = self.by_thumbprint(what)?;
        Ok(found.into_iter().map(FoundCertificate::from).collect())
    }

    /// The one certificate whose thumbprint begins so; in several places, maybe.
    fn by_thumbprint(&self, beginning: &str) -> anyhow::Result<Vec<Entry>> {
        const SHORTEST: usize = 4;
        let digits = beginning.chars().filter(char::is_ascii_hexdigit).count();
        let like_digits = |c: char| c.is_ascii_hexdigit() || matches!(c, ':' | ' ');
        if digits < SHORTEST || !beginning.chars().all(like_digits) {
            return Err(Failure::new(format!(
                "{beginning}: neither a file nor the beginning of a thumbprint"
            ))
            .hint("a file, or 4 or more hexadecimal digits from `uaperf cert list`")
            .into());
        }
        let found = self.store.find(beginning)?;
        let Some(first) = found.first() else {
            return Err(Failure::new(format!(
                "{beginning}: no certificate with this thumbprint in {}",
                self.store.folder().display()
            ))
            .hint("uaperf cert list")
            .into());
        };
        let first = &first.certificate;
        if let Some(other) = found.iter().find(|entry| entry.certificate != *first) {
            return Err(Failure::new(format!(
                "{beginning}: could be {} ({}) or {} ({})",
                first.thumbprint_hex(),
                first.subject(),
                other.certificate.thumbprint_hex(),
                other.certificate.subject()
            ))
            .hint("type more of the thumbprint")
            .into());
        }
        Ok(found)
    }
}

/// A certificate, and where it was found.
struct FoundCertificate {
    certificate: Certificate,
    file: Option<String>,
    place: Option<Place>,
}

impl From<Entry> for FoundCertificate {
    fn from(entry: Entry) -> Self {
        Self {
            certificate: entry.certificate,
            file: Some(entry.path.display().to_string()),
            place: Some(entry.place),
        }
    }
}
