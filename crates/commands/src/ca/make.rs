//! `uaperf ca make`: a root, and authorities below it.

use std::io::Write;
use std::path::PathBuf;

use pki::make::{Authority, Request};
use pki::{Curve, Key, Moment};
use revocation::Address;
use serde_json::json;

use super::folder::{CaSettings, Folder, One};
use super::index::Index;
use crate::failure::Failure;
use crate::screen;

/// Make authorities: a root, and up to three below it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uaperf ca make lab                               a root, whose lists peers have in a folder
  uaperf ca make lab --intermediates 1 --at http://127.0.0.1:8889
      a root and one below it; certificates say that they can be asked for there with OCSP, or
      their list can be had (uaperf ca serve lab)
  uaperf ca make lab --at http://ca.plant --points crl --entries 100000
      lists only, with as many entries as large authorities have")]
pub struct Args {
    /// The folder to make
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Authorities between the root and the certificates that are issued
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=3))]
    intermediates: u8,
    /// Their keys: RSA of so many bits, or an elliptic curve
    #[arg(long, value_enum, default_value = "rsa2048")]
    algorithm: Algorithm,
    /// Their names: "NAME root", "NAME 1" and so on
    #[arg(long, value_name = "TEXT", default_value = "uaperf lab")]
    name: String,
    /// Where peers are to ask, http://HOST:PORT: goes into the certificates, those of authorities too
    #[arg(long, value_name = "URL", value_parser = base)]
    at: Option<String>,
    /// What certificates say of where to ask: ocsp, crl, or both
    #[arg(
        long,
        value_name = "ocsp,crl",
        value_delimiter = ',',
        default_value = "ocsp,crl"
    )]
    points: Vec<Point>,
    /// How long they are valid
    #[arg(long, default_value_t = 3650, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
    /// Entries of their revocation lists, of serial numbers that nobody has
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=MOST_ENTRIES))]
    entries: u32,
    /// How long their revocation lists are good; 0: they are old at once
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(0..=36_500))]
    list_days: u32,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// A list of more does not fit into what peers read.
pub const MOST_ENTRIES: i64 = 500_000;

/// What keys authorities have.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Algorithm {
    #[value(name = "rsa2048")]
    Rsa2048,
    #[value(name = "rsa3072")]
    Rsa3072,
    #[value(name = "rsa4096")]
    Rsa4096,
    #[value(name = "p256")]
    P256,
    #[value(name = "p384")]
    P384,
    #[value(name = "ed25519")]
    Ed25519,
}

impl Algorithm {
    fn make(self) -> Result<Key, pki::KeyError> {
        match self {
            Self::Rsa2048 => Key::generate(2048),
            Self::Rsa3072 => Key::generate(3072),
            Self::Rsa4096 => Key::generate(4096),
            Self::P256 => Key::generate_on(Curve::P256),
            Self::P384 => Key::generate_on(Curve::P384),
            Self::Ed25519 => Key::generate_on(Curve::Ed25519),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Point {
    Ocsp,
    Crl,
}

fn base(text: &str) -> Result<String, String> {
    let address: Address = text.parse().map_err(|error| format!("{error}"))?;
    Ok(address.to_string().trim_end_matches('/').to_owned())
}

pub fn run(args: Args, now: Moment) -> anyhow::Result<()> {
    if Folder::is_there(&args.folder) {
        let told = format!("there are authorities in {} already", args.folder.display());
        return Err(Failure::new(told)
            .hint("another folder, or remove this one")
            .into());
    }
    let names = (0..=args.intermediates).map(|n| match n {
        0 => "root".to_owned(),
        n => format!("ca{n}"),
    });
    let made = CaSettings {
        ocsp: args.at.is_some() && args.points.contains(&Point::Ocsp),
        crl: args.at.is_some() && args.points.contains(&Point::Crl),
        at: args.at.clone(),
        padding: args.entries,
        ..CaSettings::new(names.collect())
    };
    let folder = Folder::new(&args.folder, made);
    let all = authorities(&args, &folder, now)?;
    let mut out = screen::out();
    let mut made = Vec::new();
    for one in &all {
        folder.put_authority(&one.name, &one.authority)?;
    }
    for (place, one) in all.iter().enumerate() {
        let mut index = Index::default();
        if let Some(below) = all.get(place + 1) {
            index.issued(below.authority.certificate());
        }
        folder.put_index(&one.name, &index)?;
        let entries = folder.put_list(one, now, args.list_days)?;
        let certificate = one.authority.certificate();
        let file = folder.file(&one.name, "der");
        made.push(json!({
            "name": one.name,
            "subject": certificate.subject().to_string(),
            "key": certificate.public_key().to_string(),
            "entries": entries,
            "file": file,
        }));
        if !args.json {
            writeln!(
                out,
                "{:<5} {}, key {}; its revocation list has {entries} entries",
                one.name,
                certificate.subject(),
                certificate.public_key()
            )?;
        }
    }
    // Last: a folder without it is not one.
    folder.put_made()?;
    if args.json {
        screen::json(
            &mut out,
            &json!({"folder": args.folder, "authorities": made}),
        )?;
        return Ok(());
    }
    let shown = args.folder.display();
    writeln!(out, "try: uaperf ca issue {shown} --own --pki FOLDER")?;
    Ok(())
}

fn authorities(args: &Args, folder: &Folder, now: Moment) -> anyhow::Result<Vec<One>> {
    let request = |name: String| Request::authority(name).days(args.days);
    let mut all: Vec<One> = Vec::new();
    for (place, name) in folder.made.authorities.iter().enumerate() {
        let key = args.algorithm.make()?;
        let authority = match all.last() {
            None => Authority::root(request(format!("{} root", args.name)), key, now)?,
            Some(above) => {
                let request = request(format!("{} {place}", args.name));
                let request = folder.pointing(request, &above.name);
                above.authority.authority(request, key, now)?
            }
        };
        all.push(One {
            name: name.clone(),
            authority,
        });
    }
    Ok(all)
}
