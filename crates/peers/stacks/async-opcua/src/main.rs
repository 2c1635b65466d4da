//! The async-opcua peer: `async-opcua-peer server …` and `async-opcua-peer client URL …`.

mod client;
mod judge;
mod server;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::exit;

use opcua::crypto::{CertificateStore, X509Data};
use x509_cert::der::Decode;
use x509_cert::ext::pkix::{SubjectAltName, name::GeneralName};

/// The version of the stack.
const VERSION: &str = "0.19.0";
const NAMESPACE: &str = "urn:bench";

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("server") => server::run(&Options::parse(args, &["--strict"])).await,
        Some("client") => match args.next() {
            Some(url) => exit(client::run(&url, &Options::parse(args, &[])).await),
            None => fail("client: no URL"),
        },
        _ => fail("usage: async-opcua-peer server|client …"),
    }
}

fn fail(what: &str) -> ! {
    eprintln!("{what}");
    exit(2)
}

/// `--name value` pairs, and flags without a value.
struct Options(HashMap<String, String>);

impl Options {
    fn parse(mut args: impl Iterator<Item = String>, flags: &[&str]) -> Self {
        let mut found = HashMap::new();
        while let Some(name) = args.next() {
            let value = match flags.contains(&name.as_str()) {
                true => String::new(),
                false => args
                    .next()
                    .unwrap_or_else(|| fail(&format!("{name}: no value"))),
            };
            found.insert(name, value);
        }
        Self(found)
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn pki(&self) -> PathBuf {
        // The stack resolves relative paths against its own folder.
        std::path::absolute(self.get("--pki").unwrap_or("pki")).unwrap_or_default()
    }
}

/// The paths of certificate and key below `pki`; both are made when they are missing.
fn identity(pki: &Path, role: &str) -> (PathBuf, PathBuf) {
    let (cert, key) = (pki.join("own/cert.der"), pki.join("own/key.pem"));
    if !cert.exists() || !key.exists() {
        let uri = format!("urn:uaperf:peers:async-opcua:{role}");
        let hosts = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let names = X509Data::alt_host_names(&uri, Some(hosts), false, false, false);
        let data = X509Data {
            key_size: 2048,
            common_name: format!("async-opcua {role}"),
            organization: "bench".into(),
            organizational_unit: "bench".into(),
            country: "EU".into(),
            state: "EU".into(),
            alt_host_names: names,
            certificate_duration_days: 1825,
        };
        if let Err(e) = std::fs::create_dir_all(pki.join("own")) {
            fail(&format!("{}: {e}", pki.display()));
        }
        if let Err(e) = CertificateStore::create_certificate_and_key(&data, true, &cert, &key) {
            fail(&e);
        }
    }
    (cert, key)
}

/// The application URI that a certificate (DER) was issued for.
fn application_uri(cert: &Path) -> Option<String> {
    let der = std::fs::read(cert).ok()?;
    let cert = x509_cert::Certificate::from_der(&der).ok()?;
    let (_, names) = cert.tbs_certificate.get::<SubjectAltName>().ok()??;
    names.0.into_iter().find_map(|name| match name {
        GeneralName::UniformResourceIdentifier(uri) => Some(uri.to_string()),
        _ => None,
    })
}
