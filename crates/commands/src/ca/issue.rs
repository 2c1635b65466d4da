//! `uaperf ca issue`: a certificate from the lowest authority.

use std::io::Write;
use std::net::IpAddr;
use std::path::PathBuf;

use pki::make::Request;
use pki::store::{write_certificate, write_key};
use pki::{Identity, Key, Moment, Store};
use serde_json::json;

use super::folder::{Folder, is_plain};
use crate::cert::Kind;
use crate::failure::Failure;
use crate::global::Global;
use crate::{place, screen};

/// Issue a certificate, from the lowest of the authorities
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uaperf ca issue lab --own --pki server             a server's own certificate, in its folder
  uaperf ca issue lab --own --pki client
  uaperf ca issue lab plc1 --uri urn:plc1:drives --dns plc1
      lab/issued/plc1.der and plc1.key
  uaperf ca issue lab old --own --pki client --ago 10 --days 5
      one that has expired")]
pub struct Args {
    /// The folder of the authorities
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Its name in the folder [default: own, own-2 and so on]
    #[arg(value_name = "NAME", value_parser = plain, required_unless_present = "own")]
    name: Option<String>,
    /// Make it this program's own certificate in --pki, in place of one there with the same kind of key
    #[arg(long)]
    own: bool,
    /// Application URI [default: urn:HOST:uaperf]
    #[arg(long)]
    uri: Option<String>,
    /// A DNS name of the host; may be repeated [default: this host and localhost]
    #[arg(long, value_name = "NAME")]
    dns: Vec<String>,
    /// An address of the host; may be repeated [default: the loopback addresses]
    #[arg(long, value_name = "ADDRESS")]
    ip: Vec<IpAddr>,
    #[command(flatten)]
    kind: Kind,
    /// How long it is valid
    #[arg(long, default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
    /// Valid since so many days: one that has expired, with fewer --days
    #[arg(long, value_name = "DAYS", default_value_t = 0)]
    ago: u16,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

fn plain(text: &str) -> Result<String, String> {
    match is_plain(text) {
        true => Ok(text.to_owned()),
        false => Err("want letters, digits, - _ and . only: it is a file's name".to_owned()),
    }
}

pub fn run(args: Args, now: Moment, global: &Global) -> anyhow::Result<()> {
    let folder = Folder::open(&args.folder)?;
    let name = name(&args, &folder)?;
    let issuer = folder.issuing()?;
    let request = folder.pointing(request(&args, &name, now), &issuer.name);
    let key = Key::make(args.kind.key())?;
    let certificate = issuer.authority.sign(&request, &key, now)?;
    let mut index = folder.index(&issuer.name)?;
    index.issued(&certificate);
    write_key(&folder.issued(&name, "key"), &key)?;
    write_certificate(&folder.issued(&name, "der"), &certificate)?;
    folder.put_index(&issuer.name, &index)?;
    let mut told = json!({
        "name": name,
        "subject": certificate.subject().to_string(),
        "thumbprint": certificate.thumbprint_hex(),
        "issuer": certificate.issuer().to_string(),
        "not_after": certificate.not_after().to_string(),
        "file": folder.issued(&name, "der"),
    });
    let mut text = format!(
        "issued {name}: {} [{}] by {}, until {}\n  {}",
        certificate.subject(),
        certificate.thumbprint_hex(),
        certificate.issuer(),
        certificate.not_after(),
        folder.issued(&name, "der").display()
    );
    if args.own {
        let store = Store::new(global.pki()?);
        for one in folder.authorities()? {
            store.know_issuer(one.authority.certificate())?;
        }
        let own = store.put_own(Identity::new(certificate, key))?;
        // What was put into a store has a file.
        let file = own.path.unwrap_or_default();
        let root = folder.file("root", "der");
        let (own, root) = (file.display(), root.display());
        text.push_str(&format!(
            "\n  our own in {own}\npeers have to trust {root}: uaperf cert trust {root}"
        ));
        told["own"] = json!(file);
    }
    let mut out = screen::out();
    match args.json {
        true => screen::json(&mut out, &told)?,
        false => writeln!(out, "{text}")?,
    }
    Ok(())
}

fn name(args: &Args, folder: &Folder) -> anyhow::Result<String> {
    let is_there = |name: &str| folder.issued(name, "der").exists();
    if let Some(name) = &args.name {
        if is_there(name) || folder.made.authorities.contains(name) {
            let told = format!("{name} was issued already");
            return Err(Failure::new(told).hint("another name").into());
        }
        return Ok(name.clone());
    }
    let mut names = std::iter::once("own".to_owned()).chain((2..).map(|n| format!("own-{n}")));
    // Names do not come to an end.
    Ok(names.find(|name| !is_there(name)).unwrap_or_default())
}

fn request(args: &Args, name: &str, now: Moment) -> Request {
    let own = place::own_request();
    let mut request = match &args.uri {
        Some(uri) => own.uri(uri),
        None => own,
    };
    if !args.own {
        request = request.common_name(name);
    }
    if !args.dns.is_empty() || !args.ip.is_empty() {
        request = request.without_hosts();
        let names = args.dns.iter();
        request = names.fold(request, |request, name| request.dns(name));
        request = args.ip.iter().fold(request, |request, ip| request.ip(*ip));
    }
    request
        .days(args.days)
        .from(now.plus_days(-i64::from(args.ago)))
}
