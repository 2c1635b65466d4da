//! `uaperf cert make`: a certificate of our own, one for somebody else, or an
//! authority.

use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use pki::make::{Authority, DEFAULT_DAYS, Request};
use pki::store::{read_certificates, read_key, write_certificate, write_key, write_revocations};
use pki::{Certificate, Identity, Key};

use super::{Bench, FoundCertificate, Kind, view};
use crate::failure::Failure;
use crate::place;
use crate::screen;

/// Make a certificate with its private key
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uaperf cert make
      our own, as made by itself at first use; --force replaces the one that is there
  uaperf cert make --curve nistP256
      our own for ECC_nistP256, beside the one with an RSA key
  uaperf cert make --ca --name 'Plant CA' --out plant.der
      an authority: plant.der, its private key in plant.key, and plant.crl, the list of
      certificates it took back, without which peers refuse what it signs
  uaperf cert make --issuer plant.der
      our own, signed by that authority
  uaperf cert make --issuer plant.der --uri urn:plc1:drives --dns plc1 --out plc1.pem
      one for somebody else: plc1.pem and plc1.key")]
pub struct Args {
    /// Make the certificate of an authority, which can sign others
    #[arg(long, requires = "out", conflicts_with_all = ["uri", "dns", "ip"])]
    ca: bool,
    /// The authority that signs it [default: it signs itself]
    #[arg(long, value_name = "FILE")]
    issuer: Option<PathBuf>,
    /// The private key of the issuer [default: its file with the ending .key]
    #[arg(long, value_name = "FILE", requires = "issuer")]
    issuer_key: Option<PathBuf>,
    /// Common name [default: uaperf, or "uaperf CA"]
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Organization: who runs the application
    #[arg(long, value_name = "TEXT")]
    organization: Option<String>,
    #[command(flatten)]
    kind: Kind,
    /// How long it is valid
    #[arg(long, default_value_t = DEFAULT_DAYS, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
    /// Application URI [default: urn:HOST:uaperf]
    #[arg(long)]
    uri: Option<String>,
    /// A DNS name of the host; may be repeated [default: this host and localhost]
    #[arg(long, value_name = "NAME")]
    dns: Vec<String>,
    /// An address of the host; may be repeated [default: the loopback addresses]
    #[arg(long, value_name = "ADDRESS")]
    ip: Vec<IpAddr>,
    /// Write it to this file (DER; PEM when it ends in .pem or .crt), and its key beside it with the ending .key
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace what is there
    #[arg(long)]
    force: bool,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, bench: &Bench) -> anyhow::Result<()> {
    refuse_to_overwrite(&args, bench)?;
    let issuer = args.issuer.as_deref();
    let issuer = issuer.map(|file| Issuer::read(file, args.issuer_key.as_deref()));
    let issuer = issuer.transpose()?;
    let request = request(&args);
    let key = Key::make(args.kind.key())?;
    let certificate = match &issuer {
        Some(issuer) => issuer.authority.sign(&request, &key, bench.now)?,
        None => request.self_signed(&key, bench.now)?,
    };
    let mut out = screen::out();
    let identity = Identity::new(certificate.clone(), key);
    let (file, hint) = match &args.out {
        Some(file) => (
            Some(file.clone()),
            write_files(file, identity, &args, bench)?,
        ),
        None => {
            for authority in issuer.iter().flat_map(|issuer| &issuer.chain) {
                bench.store.know_issuer(authority)?;
            }
            let path = bench.store.put_own(identity)?.path;
            let hint = "servers have to trust this file before they let us in";
            (path, hint.to_owned())
        }
    };
    let found = FoundCertificate {
        certificate,
        file: file.map(|file| file.display().to_string()),
        place: None,
    };
    if args.json {
        screen::json(&mut out, &view::to_json(&found, bench.now))?;
        return Ok(());
    }
    view::write_text(&mut out, &found, bench.now)?;
    writeln!(out, "{hint}")?;
    Ok(())
}

/// Writes the certificate, its key and, of an authority, its revocation list; gives
/// what the user should know of it.
fn write_files(
    file: &Path,
    identity: Identity,
    args: &Args,
    bench: &Bench,
) -> anyhow::Result<String> {
    let key_file = key_beside(file);
    write_key(&key_file, &identity.key)?;
    write_certificate(file, &identity.certificate)?;
    let hint = format!("its private key is in {}", key_file.display());
    if !args.ca {
        return Ok(hint);
    }
    let list_file = file.with_extension("crl");
    let authority = Authority::new(identity.certificate, identity.key)?;
    write_revocations(&list_file, &authority.revoke(&[], bench.now, args.days)?)?;
    let (file, list) = (file.display(), list_file.display());
    Ok(format!(
        "{hint}\nits revocation list is in {list}, with nothing taken back\n\
         try: uaperf cert trust {file} {list}"
    ))
}

fn refuse_to_overwrite(args: &Args, bench: &Bench) -> anyhow::Result<()> {
    if args.force {
        return Ok(());
    }
    let there = match &args.out {
        Some(file) => [file.clone(), key_beside(file)]
            .into_iter()
            .find(|path| path.exists()),
        None => {
            let curve = args.kind.key().curve();
            let own = bench.store.find_own_on(curve, bench.now)?;
            own.and_then(|own| own.path)
        }
    };
    there.map_or(Ok(()), |path| {
        Err(Failure::new(format!("{} is there already", path.display()))
            .hint("the same with --force, to replace it")
            .into())
    })
}

fn request(args: &Args) -> Request {
    let mut request = if args.ca {
        Request::authority("uaperf CA")
    } else {
        application(args)
    };
    request = request.days(args.days);
    if let Some(name) = &args.name {
        request = request.common_name(name);
    }
    if let Some(organization) = &args.organization {
        request = request.organization(organization);
    }
    request
}

fn application(args: &Args) -> Request {
    let own = place::own_request();
    let request = match &args.uri {
        Some(uri) => own.uri(uri),
        None => own,
    };
    if args.dns.is_empty() && args.ip.is_empty() {
        return request;
    }
    let request = request.without_hosts();
    let request = args
        .dns
        .iter()
        .fold(request, |request, name| request.dns(name));
    args.ip.iter().fold(request, |request, ip| request.ip(*ip))
}

/// An authority from a file, with the ones above it when the file holds them.
struct Issuer {
    authority: Authority,
    chain: Vec<Certificate>,
}

impl Issuer {
    fn read(file: &Path, key_file: Option<&Path>) -> anyhow::Result<Self> {
        let chain = read_certificates(file)?;
        let beside = key_beside(file);
        let key = read_key(key_file.unwrap_or(&beside)).map_err(|broken| {
            Failure::new(broken.to_string())
                .hint("--issuer-key FILE with the private key of the issuer")
        })?;
        let certificate = chain.first().cloned();
        let certificate = certificate
            .ok_or_else(|| Failure::new(format!("{}: no certificate inside", file.display())))?;
        Ok(Self {
            authority: Authority::new(certificate, key)?,
            chain,
        })
    }
}

fn key_beside(certificate: &Path) -> PathBuf {
    certificate.with_extension("key")
}
