//! `uaperf cert` as a user types it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Said, command, program};
use serde_json::Value;
use tempfile::TempDir;

struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn pki(&self) -> PathBuf {
        self.path("pki")
    }

    /// Types `uaperf cert ARGUMENTS` in the folder.
    fn cert(&self, arguments: &str) -> Said {
        let mut command = command(self.folder.path(), &["cert"]);
        Said::by(command.args(arguments.split_whitespace()))
    }

    fn good(&self, arguments: &str) -> String {
        let said = self.cert(arguments);
        assert_eq!(said.code, 0, "{}", said.err);
        said.out
    }

    fn json(&self, arguments: &str) -> Value {
        serde_json::from_str(&self.good(arguments)).unwrap()
    }

    fn files(&self, folder: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.pki().join(folder));
        entries.map_or(Vec::new(), |entries| {
            entries.map(|entry| entry.unwrap().path()).collect()
        })
    }
}

#[test]
fn our_own_certificate_is_made_shown_and_listed() {
    let bench = Bench::new();
    let said = bench.cert("show own");
    assert_eq!(said.code, 1);
    assert!(said.err.contains("try: uaperf cert make"), "{}", said.err);

    bench.good("make --organization Plant");
    let shown = &bench.json("show --json")[0];
    assert_eq!(shown["place"], "own");
    assert_eq!(shown["self_signed"], true);
    assert_eq!(shown["problems"], Value::Array(Vec::new()));
    let uri = shown["application_uri"].as_str().unwrap();
    assert!(uri.starts_with("urn:") && uri.ends_with(":uaperf"), "{uri}");
    let names = shown["dns_names"].as_array().unwrap();
    assert!(names.contains(&"localhost".into()));

    let list = bench.good("list");
    let thumbprint = shown["thumbprint"].as_str().unwrap();
    assert!(list.contains(&thumbprint[..12]), "{list}");
    assert!(list.contains("1825 days left") || list.contains("1824 days left"));
    let text = bench.good("show own");
    assert!(text.contains(thumbprint) && text.contains("Problems     none"));
}

#[test]
fn a_second_certificate_of_our_own_needs_force() {
    let bench = Bench::new();
    bench.good("make");
    let first = bench.json("show own --json")[0]["thumbprint"].clone();
    let said = bench.cert("make");
    assert_eq!(said.code, 1);
    assert!(said.err.contains("is there already"), "{}", said.err);
    assert!(said.err.contains("--force"), "{}", said.err);
    assert_eq!(bench.json("show own --json")[0]["thumbprint"], first);

    bench.good("make --force --days 10");
    let second = &bench.json("show own --json")[0];
    assert_ne!(second["thumbprint"], first);
    let problem = second["problems"][0].as_str().unwrap();
    assert!(problem.contains("expires in"), "{problem}");
}

#[test]
fn an_authority_signs_a_certificate_for_somebody_else() {
    let bench = Bench::new();
    bench.good("make --ca --name Plant --out ca.der");
    let text = bench.good(
        "make --issuer ca.der --uri urn:plc1:drives --dns plc1 --ip 192.0.2.7 --out plc1.pem",
    );
    assert!(
        text.contains("urn:plc1:drives") && text.contains("CN=Plant"),
        "{text}"
    );
    let pem = fs::read_to_string(bench.path("plc1.pem")).unwrap();
    assert!(pem.starts_with("-----BEGIN CERTIFICATE-----"));
    let shown = &bench.json("show plc1.pem --json")[0];
    assert_eq!(shown["issuer"], "CN=Plant");
    assert_eq!(shown["dns_names"], serde_json::json!(["plc1"]));
    assert_eq!(shown["ip_addresses"], serde_json::json!(["192.0.2.7"]));
    // Nothing of it is our own.
    assert!(bench.files("own/certs").is_empty());

    let said = bench.cert("make --issuer ca.der --out plc1.pem");
    assert_eq!(said.code, 1, "{}", said.out);
    let said = bench.cert("make --issuer plc1.pem --out x.der");
    assert!(said.err.contains("is not an authority"), "{}", said.err);
}

#[test]
fn an_authority_comes_with_a_revocation_list_and_both_are_trusted_at_once() {
    let bench = Bench::new();
    bench.good("make --ca --out ca.der");
    let text = bench.good("trust ca.der ca.crl");
    assert!(text.contains("revocation list of CN=uaperf CA"), "{text}");
    assert_eq!(bench.files("trusted/crl").len(), 1);
    let list = bench.json("list --json");
    assert_eq!(list["revocation_lists"][0]["revoked"], 0);

    // What it signs is good for a peer with these two files and nothing else.
    bench.good("make --issuer ca.der --uri urn:plc1:drives --dns plc1 --out plc1.der");
    let (trust, broken) = pki::Store::new(bench.pki()).trust().unwrap();
    assert_eq!(broken, []);
    let now = std::time::SystemTime::now().into();
    let mut expected = pki::Expected::of(pki::Role::Server, now);
    expected.host = Some("plc1");
    expected.keys = Some(pki::KeyRule::RSA);
    let sent = fs::read(bench.path("plc1.der")).unwrap();
    trust.judge(&sent, &expected).unwrap();
}

#[test]
#[cfg(unix)]
fn the_private_key_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    bench.good("make --ca --out ca.der");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&bench.path("ca.key")), 0o600);
}

#[test]
fn our_own_certificate_signed_by_an_authority_knows_its_issuer() {
    let bench = Bench::new();
    bench.good("make --ca --out ca.pem");
    bench.good("make --issuer ca.pem");
    let list = bench.json("list --json");
    let places: Vec<_> = list["certificates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["place"].as_str().unwrap())
        .collect();
    assert_eq!(places, ["own", "issuers"]);
}

#[test]
fn a_certificate_is_trusted_from_a_file_and_rejected_by_its_thumbprint() {
    let bench = Bench::new();
    bench.good("make --ca --out ca.der");
    bench.good("trust ca.der");
    let thumbprint = bench.json("show ca.der --json")[0]["thumbprint"]
        .as_str()
        .unwrap()
        .to_lowercase();
    assert_eq!(bench.files("trusted/certs").len(), 1);

    bench.good(&format!("reject {}", &thumbprint[..8]));
    assert_eq!(bench.files("trusted/certs").len(), 0);
    assert_eq!(bench.files("distrusted/certs").len(), 1);
    let listed = bench.json("list --json");
    assert_eq!(listed["certificates"][0]["place"], "distrusted");

    bench.good(&format!("trust {thumbprint}"));
    assert_eq!(bench.files("trusted/certs").len(), 1);
    assert_eq!(bench.files("distrusted/certs").len(), 0);
}

#[test]
fn our_own_certificate_is_not_rejected() {
    let bench = Bench::new();
    bench.good("make");
    assert_eq!(bench.cert("reject own").code, 1);
    assert_eq!(bench.files("own/certs").len(), 1);
}

#[test]
fn what_is_not_there_is_said_with_what_to_type_next() {
    let bench = Bench::new();
    fs::write(bench.path("note.txt"), "not a certificate").unwrap();
    for (arguments, what, next) in [
        ("show nothing.der", "neither a file", "cert list"),
        ("show 12", "neither a file", "4 or more"),
        (
            "trust ABCDEF",
            "no certificate with this thumbprint",
            "cert list",
        ),
        (
            "trust note.txt",
            "note.txt: not a certificate",
            "DER or PEM",
        ),
        ("make --issuer note.txt", "note.txt: not a certificate", ""),
    ] {
        let said = bench.cert(arguments);
        assert_eq!(said.code, 1, "{arguments}");
        assert!(said.err.contains(what), "{arguments}: {}", said.err);
        assert!(said.err.contains(next), "{arguments}: {}", said.err);
        assert_eq!(said.out, "");
    }
}

#[test]
fn wrong_usage_has_an_exit_code_of_its_own() {
    let bench = Bench::new();
    for arguments in [
        "",
        "mke",
        "make --bits 1024",
        "make --ca",
        "make --days 0",
        "make --ca --out x --uri urn:x",
        "make --ip plc1",
    ] {
        assert_eq!(bench.cert(arguments).code, 2, "{arguments:?}");
    }
    let said = Said::by(program().args(["cert", "list"]).env_clear());
    assert_eq!(said.code, if cfg!(windows) { 0 } else { 2 }, "{}", said.err);
    assert!(
        cfg!(windows) || said.err.contains("--pki DIR"),
        "{}",
        said.err
    );
}

#[test]
fn a_broken_file_is_named_beside_the_good_ones() {
    let bench = Bench::new();
    bench.good("make");
    let trusted = bench.pki().join("trusted/certs");
    fs::create_dir_all(&trusted).unwrap();
    fs::write(trusted.join("bad.der"), "x").unwrap();
    let said = bench.cert("list");
    assert_eq!(said.code, 0);
    assert!(said.out.contains("own"), "{}", said.out);
    assert!(said.err.contains("bad.der"), "{}", said.err);
    assert_eq!(
        bench.json("list --json")["broken"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
#[cfg(unix)]
fn the_folder_is_in_the_users_configuration_unless_named() {
    let home = TempDir::new().unwrap();
    let said = Said::by(
        program()
            .args(["cert", "make"])
            .env_remove("UAPERF_PKI")
            .env_remove("XDG_CONFIG_HOME")
            .env("HOME", home.path()),
    );
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(home.path().join(".config/uaperf/pki/own/certs").is_dir());
    let other = home.path().join("other");
    let said = Said::by(program().args(["cert", "list", "--pki"]).arg(&other));
    assert!(said.out.contains(&*other.to_string_lossy()), "{}", said.out);
}

#[test]
#[cfg(unix)]
fn a_reader_that_goes_away_is_not_a_failure() {
    let bench = Bench::new();
    let program = env!("CARGO_BIN_EXE_uaperf");
    let said = Said::by(Command::new("sh").args([
        "-c",
        &format!(
            "'{program}' --pki '{}' cert list | true",
            bench.pki().display()
        ),
    ]));
    assert_eq!((said.code, said.err.as_str()), (0, ""));
}

#[test]
fn help_and_version_are_there_for_every_verb() {
    for verb in ["make", "show", "list", "trust", "reject"] {
        let said = Bench::new().cert(&format!("{verb} --help"));
        assert_eq!(said.code, 0);
        assert!(said.out.contains("Examples:"), "{verb}");
    }
    let said = Said::by(program().arg("--version"));
    assert_eq!(
        said.out.trim(),
        concat!("uaperf ", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn a_certificate_for_each_curve_stands_beside_the_one_of_rsa() {
    let bench = Bench::new();
    bench.good("make");
    bench.good("make --curve nistP256");
    let text = bench.good("make --curve nistP384");
    assert!(text.contains("elliptic curve P-384"), "{text}");
    assert!(text.contains("ECC_nistP384"), "{text}");
    assert!(text.contains("ECDSA with SHA-384"), "{text}");
    let text = bench.good("make --curve curve25519");
    assert!(text.contains("elliptic curve Ed25519"), "{text}");
    assert!(text.contains("ECC_curve25519"), "{text}");
    assert!(text.contains("signed as Ed25519"), "{text}");
    let shown = bench.json("show own --json");
    let keys: Vec<_> = shown
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["key"])
        .collect();
    let want = [
        "RSA 2048 bits",
        "elliptic curve P-256",
        "elliptic curve Ed25519",
        "elliptic curve P-384",
    ];
    assert_eq!(keys, want);
    for one in shown.as_array().unwrap() {
        assert_eq!(one["problems"].as_array().unwrap().len(), 0, "{one}");
    }
    let again = bench.cert("make --curve nistP256");
    assert!(again.err.contains("is there already"), "{}", again.err);
    let unknown = bench.cert("make --curve brainpoolP256r1");
    assert_eq!(unknown.code, 2);
    assert!(
        unknown.err.contains("nistP256, curve25519, nistP384"),
        "{}",
        unknown.err
    );
    let both = bench.cert("make --curve nistP256 --bits 3072");
    assert_eq!(both.code, 2);
}
