//! OpenSSL as the judge of what is made here.

use std::fs;
use std::path::Path;
use std::process::Command;

use pki::{Certificate, Curve, Key, KeyKind, Trust};
use tempfile::TempDir;

use crate::plant::{NOW, Plant, expected, key, request};

/// What `openssl ARGUMENTS` says, and whether it is content; `None` where there
/// is no openssl.
fn openssl(folder: &Path, arguments: &str) -> Option<(bool, String)> {
    let output = Command::new("openssl")
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output();
    let Ok(output) = output else {
        without::skipped("openssl", "not installed", "apt-get install openssl");
        return None;
    };
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    Some((output.status.success(), text.into_owned()))
}

#[test]
fn openssl_reads_our_certificate_as_part_6_wants_it() {
    let folder = TempDir::new().unwrap();
    let certificate = request().domain("plc1").self_signed(&key(0), NOW).unwrap();
    fs::write(folder.path().join("a.der"), certificate.der()).unwrap();
    let arguments = "x509 -inform DER -in a.der -noout -text -fingerprint -sha1";
    let Some((good, text)) = openssl(folder.path(), arguments) else {
        return;
    };
    assert!(good, "{text}");
    for expected in [
        "Version: 3",
        "Signature Algorithm: sha256WithRSAEncryption",
        "CN = drives, O = Plant, DC = plc1",
        "Public-Key: (2048 bit)",
        "Digital Signature, Non Repudiation, Key Encipherment, Data Encipherment, Certificate Sign",
        "TLS Web Server Authentication, TLS Web Client Authentication",
        "URI:urn:plc1:drives, DNS:plc1, IP Address:192.0.2.7",
        "CA:FALSE",
        "X509v3 Subject Key Identifier",
        "X509v3 Authority Key Identifier",
    ] {
        assert!(text.contains(expected), "no {expected} in {text}");
    }
    let fingerprint = text.rsplit("ingerprint=").next().unwrap().replace(':', "");
    assert_eq!(fingerprint.trim(), certificate.thumbprint_hex());
}

#[test]
fn openssl_reads_our_keys_of_every_kind() {
    let folder = TempDir::new().unwrap();
    let on_curves = Curve::ALL.into_iter().map(KeyKind::On);
    for kind in std::iter::once(KeyKind::Rsa(2048)).chain(on_curves) {
        let key = Key::make(kind).unwrap();
        fs::write(folder.path().join("key.pem"), key.pem().as_bytes()).unwrap();
        let arguments = "pkey -in key.pem -pubout -outform DER -out public.der";
        let Some((good, text)) = openssl(folder.path(), arguments) else {
            return;
        };
        assert!(good, "{kind:?}: {text}");
        let public = fs::read(folder.path().join("public.der")).unwrap();
        let certificate = request().self_signed(&key, NOW).unwrap();
        assert!(
            public.ends_with(certificate.public_key().bytes()),
            "{kind:?}"
        );
        assert!(key.belongs_to(&certificate), "{kind:?}");
    }
}

#[test]
fn openssl_verifies_our_chain_and_sees_what_we_took_back() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let plant = Plant::new();
    let lists = |list: [pki::RevocationList; 3]| list.map(|list| list.pem()).concat();
    write("root.pem", &plant.root.certificate().pem());
    write(
        "middle.pem",
        &(plant.division.certificate().pem() + &plant.line.certificate().pem()),
    );
    write("leaf.pem", &plant.leaf.pem());
    let none = |authority: &pki::make::Authority| authority.revoke(&[], NOW, 30).unwrap();
    let (root, division) = (none(&plant.root), none(&plant.division));
    write(
        "good.crl",
        &lists([root.clone(), division.clone(), none(&plant.line)]),
    );
    let taken = plant.line.revoke(&[&plant.leaf], NOW, 30).unwrap();
    write("bad.crl", &lists([root, division, taken]));
    let verify = |crl: &str| {
        let arguments = format!(
            "verify -attime {} -x509_strict -crl_check_all -CRLfile {crl} -CAfile root.pem \
             -untrusted middle.pem leaf.pem",
            NOW.unix() + 60
        );
        openssl(folder.path(), &arguments)
    };
    let (Some(good), Some(bad)) = (verify("good.crl"), verify("bad.crl")) else {
        return;
    };
    assert!(good.0, "{}", good.1);
    assert!(!bad.0 && bad.1.contains("revoked"), "{}", bad.1);
}

#[test]
fn what_openssl_makes_is_read_and_judged() {
    let folder = TempDir::new().unwrap();
    for (new_key, hash) in [
        ("rsa:2048", "-sha256"),
        ("rsa:2048", "-sha512"),
        ("rsa:3072", "-sha384"),
        (
            "rsa:2048",
            "-sha256 -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:-1",
        ),
        ("ec -pkeyopt ec_paramgen_curve:P-256", "-sha256"),
        ("ec -pkeyopt ec_paramgen_curve:secp384r1", "-sha384"),
        ("ed25519", ""),
    ] {
        let arguments = format!(
            "req -x509 -newkey {new_key} {hash} -nodes -days 30 -subj /CN=other/O=Plant \
             -addext subjectAltName=URI:urn:plc1:drives,DNS:plc1 \
             -keyout key.pem -outform DER -out a.der"
        );
        let Some((good, text)) = openssl(folder.path(), &arguments) else {
            return;
        };
        assert!(good, "{text}");
        let bytes = fs::read(folder.path().join("a.der")).unwrap();
        let certificate = Certificate::from_der(&bytes).unwrap();
        assert!(certificate.is_self_signed(), "{new_key} {hash}");
        let secret = Key::read(&fs::read(folder.path().join("key.pem")).unwrap()).unwrap();
        assert!(secret.belongs_to(&certificate), "{new_key}");
        let trust = Trust {
            trusted: vec![certificate.clone()],
            ..Trust::default()
        };
        let mut expected = expected();
        expected.now = certificate.not_before();
        let rsa = new_key.starts_with("rsa");
        assert_eq!(
            trust.judge(&bytes, &expected).is_ok(),
            rsa,
            "{new_key} {hash}"
        );
        expected.keys = None;
        trust.judge(&bytes, &expected).unwrap();
    }
}
