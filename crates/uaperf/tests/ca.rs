//! `uaperf ca` as a user types it, with OpenSSL as the judge: it reads what is made here, asks our responder, and answers
//! what we ask.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::support::lab::Lab;
use pki::make::Request;
use pki::store::{write_certificate, write_key};
use pki::{
    Certificate, Expected, ExtendedUsage, Fail, Key, Reason, Refusal, Revocation, Role, Source,
    Trust, Usage,
};
use revocation::{Asker, Waited};
use serde_json::Value;

/// For what comes at once unless the machine has more to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is done with a folder of authorities here.
struct Bench(Lab);

impl std::ops::Deref for Bench {
    type Target = Lab;
    fn deref(&self) -> &Lab {
        &self.0
    }
}

impl Bench {
    fn new() -> Self {
        Self(Lab::new())
    }

    /// The certificates of the folder as OpenSSL reads them.
    fn as_pem(&self, names: &[&str]) {
        for name in names {
            let file = Path::new(name).file_name().unwrap().to_str().unwrap();
            let to = self.path(&format!("{file}.pem"));
            fs::write(to, self.certificate(name).pem()).unwrap();
        }
    }

    fn openssl(&self, arguments: &str) -> Option<(bool, String)> {
        let output = Command::new("openssl")
            .args(arguments.split_whitespace())
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .output();
        let Ok(output) = output else {
            skipped();
            return None;
        };
        let text =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        Some((output.status.success(), text.into_owned()))
    }

    /// Judges as a server does that trusts the root, and asks. Of the root it has a list: it is not asked for that.
    fn judge(&self, leaf: &Certificate) -> Result<(), Refusal> {
        self.judge_within(leaf, PATIENCE)
    }

    fn judge_within(&self, leaf: &Certificate, patience: Duration) -> Result<(), Refusal> {
        let lists = pki::store::read_revocations(&self.path("lab/root.crl"));
        let trust = Arc::new(Trust {
            trusted: vec![self.certificate("root")],
            issuers: vec![self.certificate("ca1")],
            revocations: lists.unwrap(),
            ..Trust::default()
        });
        let expected = Expected {
            revocation: Revocation {
                source: Source::Cached,
                fail: Fail::Hard,
            },
            ..Expected::of(Role::Client, SystemTime::now().into())
        };
        let asker = Arc::new(Asker::new(patience));
        asker
            .judge(trust, leaf.der(), expected, &mut Waited::default())
            .map(drop)
    }
}

fn skipped() {
    without::skipped("openssl", "not installed", "apt-get install openssl");
}

#[test]
fn openssl_asks_our_responder_and_fetches_our_lists() {
    let lab = Bench::new();
    for (algorithm, hash) in [("rsa2048", ""), ("p256", "-sha256"), ("ed25519", "")] {
        let _ = fs::remove_dir_all(lab.path("lab"));
        let at = Lab::at();
        lab.good(&format!(
            "make lab --intermediates 1 --algorithm {algorithm} --at {at} --entries 3"
        ));
        lab.good("issue lab plc1 --dns plc1");
        lab.good("issue lab plc2 --dns plc2");
        lab.as_pem(&["root", "ca1", "issued/plc1", "issued/plc2"]);
        let _server = lab.serve("");
        let status = |name: &str, issuer: &str| {
            lab.openssl(&format!(
                "ocsp {hash} -issuer {issuer}.pem -cert {name}.pem -url {at}/ocsp -CAfile root.pem \
                 -verify_other {issuer}.pem"
            ))
        };
        let verify = |name: &str| {
            lab.openssl(&format!(
                "verify -x509_strict -crl_check -crl_download -CAfile root.pem -untrusted ca1.pem {name}.pem"
            ))
        };
        let Some((_, good)) = status("plc1", "ca1") else {
            return;
        };
        assert!(good.contains("Response verify OK"), "{good}");
        assert!(good.contains("plc1.pem: good"), "{good}");
        // The nonce came back: nothing is said of one that is missing.
        assert!(!good.contains("nonce"), "{good}");
        let (fine, told) = verify("plc1").unwrap();
        assert!(fine, "{told}");

        lab.good("revoke lab plc1 --reason keyCompromise");
        let (_, told) = status("plc1", "ca1").unwrap();
        assert!(told.contains("plc1.pem: revoked"), "{told}");
        assert!(told.contains("Reason: keyCompromise"), "{told}");
        let (fine, told) = verify("plc1").unwrap();
        assert!(!fine && told.contains("certificate revoked"), "{told}");
        let (fine, told) = verify("plc2").unwrap();
        assert!(fine, "{told}");
        let (_, told) = status("plc2", "ca1").unwrap();
        assert!(told.contains("plc2.pem: good"), "{told}");

        lab.good("revoke lab ca1");
        let (_, told) = status("ca1", "root").unwrap();
        assert!(told.contains("ca1.pem: revoked"), "{told}");
        // The name of one and the key of another: nobody answers for that.
        let (_, told) = status("plc1", "root").unwrap();
        assert!(told.contains("unauthorized"), "{told}");
    }
}

#[test]
fn what_openssl_revokes_in_our_folder_counts_and_the_other_way_round() {
    let lab = Bench::new();
    lab.good(&format!("make lab --at {}", Lab::at()));
    for name in ["plc1", "plc2"] {
        lab.good(&format!("issue lab {name} --dns {name}"));
    }
    lab.good("revoke lab plc2 --reason superseded");
    lab.as_pem(&["root", "issued/plc1"]);
    let config = "[ca]\ndefault_ca = lab\n[lab]\ndatabase = lab/root.index\ndefault_md = sha256\n\
                  default_crl_days = 7\ncrlnumber = number\n";
    fs::write(lab.path("ca.cnf"), config).unwrap();
    fs::write(lab.path("number"), "01\n").unwrap();
    let ca = "ca -config ca.cnf -keyfile lab/root.key -cert root.pem";
    let Some((fine, told)) = lab.openssl(&format!("{ca} -updatedb")) else {
        return;
    };
    assert!(fine, "{told}");
    let (fine, told) = lab
        .openssl(&format!("{ca} -revoke plc1.pem -crl_reason superseded"))
        .unwrap();
    assert!(fine, "{told}");
    // Its list of our database has both.
    let (fine, told) = lab.openssl(&format!("{ca} -gencrl -out both.crl")).unwrap();
    assert!(fine, "{told}");
    let list = pki::store::read_revocations(&lab.path("both.crl"))
        .unwrap()
        .remove(0);
    assert!(list.is_of(&lab.certificate("root")));
    assert_eq!(list.len(), 2);
    // And so have ours.
    assert!(lab.good("revoke lab").contains("root.crl: 2 entries"));
    let listed: Value = serde_json::from_str(&lab.good("list lab --json")).unwrap();
    let issued = listed["authorities"][0]["issued"].as_array().unwrap();
    assert!(
        issued.iter().all(|one| one["standing"] == "revoked"),
        "{listed}"
    );
}

/// `openssl ocsp` as a responder, ended with the test.
struct Theirs(Child);

impl Theirs {
    fn start(lab: &Bench, signer: &str, at: &str) -> Option<Self> {
        let port = at.rsplit(':').next().unwrap();
        let arguments = format!(
            "ocsp -index lab/ca1.index -CA ca1.pem -rsigner {signer}.pem -rkey {signer}.key -port {port} -nmin 5"
        );
        let child = Command::new("openssl")
            .args(arguments.split_whitespace())
            .current_dir(lab.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = child else {
            skipped();
            return None;
        };
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        assert!(line.starts_with("ACCEPT"), "{line}");
        Some(Self(child))
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn we_ask_the_responder_of_openssl() {
    let lab = Bench::new();
    lab.good("make lab --intermediates 1");
    let line = lab.authority("ca1");
    write_key(&lab.path("ca1.key"), line.key()).unwrap();
    lab.as_pem(&["ca1"]);
    let now = SystemTime::now().into();
    // One that may answer for the authority, and one that may not.
    for (name, ocsp) in [("responder", true), ("nobody", false)] {
        let key = Key::generate(2048).unwrap();
        let request = Request::application("urn:responder")
            .without_uri()
            .common_name(name)
            .usage(Usage::DIGITAL_SIGNATURE)
            .extended_usage(ExtendedUsage {
                ocsp,
                any: !ocsp,
                ..ExtendedUsage::default()
            });
        let certificate = line.sign(&request, &key, now).unwrap();
        write_certificate(&lab.path(&format!("{name}.pem")), &certificate).unwrap();
        write_key(&lab.path(&format!("{name}.key")), &key).unwrap();
    }
    let at = Lab::at();
    let key = Key::generate(2048).unwrap();
    let certificate = || {
        let request = Request::application("urn:plc:one").responder_at(format!("{at}/ocsp"));
        line.sign(&request, &key, now).unwrap()
    };
    let (plc, other) = (certificate(), certificate());
    let standing = |signer: &str, certificate: &Certificate, status: &str, revoked: &str| {
        let digits = plc.serial().iter().map(|byte| format!("{byte:02X}"));
        let digits: String = digits.collect();
        let text = format!("{status}\t401126094928Z\t{revoked}\t{digits}\tunknown\t/CN=plc\n");
        fs::write(lab.path("lab/ca1.index"), text).unwrap();
        // It reads its file once.
        let _theirs = Theirs::start(&lab, signer, &at)?;
        Some(lab.judge(certificate))
    };
    for signer in ["ca1", "responder"] {
        let Some(judged) = standing(signer, &plc, "V", "") else {
            return;
        };
        assert_eq!(judged, Ok(()), "{signer}");
        let revoked = standing(signer, &plc, "R", "261126094929Z").unwrap();
        assert_eq!(revoked.unwrap_err().reason, Reason::Revoked, "{signer}");
    }
    for (signer, certificate, why) in [
        ("ca1", &other, "does not know"),
        ("nobody", &plc, "signed neither by"),
    ] {
        let refusal = standing(signer, certificate, "V", "").unwrap().unwrap_err();
        assert_eq!(refusal.reason, Reason::RevocationUnknown, "{signer}");
        assert!(refusal.detail.contains(why), "{refusal}");
    }
}

#[test]
fn a_responder_in_trouble_says_so_and_one_that_is_out_says_nothing() {
    let lab = Bench::new();
    lab.good(&format!("make lab --at {} --intermediates 1", Lab::at()));
    lab.good("issue lab plc1 --dns plc1");
    let plc = lab.certificate("issued/plc1");
    for (options, why, seconds) in [
        ("--error-rate 100%", "503", 20),
        ("--outage 0s..1h", "in time", 1),
    ] {
        let _server = lab.serve(options);
        let refusal = lab
            .judge_within(&plc, Duration::from_secs(seconds))
            .unwrap_err();
        assert_eq!(refusal.reason, Reason::RevocationUnknown, "{options}");
        assert!(refusal.detail.contains(why), "{refusal}");
    }
    // Nobody listens any more.
    let refusal = lab.judge(&plc).unwrap_err();
    assert_eq!(refusal.reason, Reason::RevocationUnknown);
    let _server = lab.serve("");
    assert_eq!(lab.judge(&plc), Ok(()));
}

#[test]
fn what_cannot_be_is_refused_with_what_to_do() {
    let lab = Bench::new();
    lab.good("make lab");
    lab.good("issue lab plc1 --dns plc1");
    for (arguments, code, why) in [
        ("make lab", 1, "already"),
        ("make other --at https://ca", 2, "http://"),
        ("issue nowhere plc1", 1, "uaperf ca make"),
        ("issue lab plc1", 1, "issued already"),
        ("issue lab ../plc1", 2, "file's name"),
        ("revoke lab plc9", 1, "uaperf ca list"),
        ("revoke lab root", 1, "uaperf ca list"),
        ("serve lab --outage 5s", 2, "10s..40s"),
        ("serve lab --error-rate 101%", 2, "0% to 100%"),
    ] {
        let said = lab.ca(arguments);
        assert_eq!(said.code, code, "{arguments}: {}", said.err);
        assert!(said.err.contains(why), "{arguments}: {}", said.err);
    }
    lab.good("revoke lab plc1");
    assert_eq!(lab.ca("revoke lab plc1").code, 1);
    fs::write(lab.path("lab/root.index"), "nonsense\n").unwrap();
    let said = lab.ca("list lab");
    assert!(said.err.contains("root.index line 1"), "{}", said.err);
}

#[test]
fn help_is_there_for_every_verb() {
    for verb in ["make", "issue", "revoke", "list", "serve"] {
        let said = Bench::new().ca(&format!("{verb} --help"));
        assert_eq!(said.code, 0);
        assert!(said.out.contains("Examples:"), "{verb}");
    }
}
