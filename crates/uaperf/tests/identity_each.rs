//! `--identity-each`: sessions that are applications and users of their own, as the server sees them.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use crate::support::{command, json, text, uaperf};
use load::access::{Access, Security, Session, TrustRule};
use load::transport::Steps;
use pki::make::Request;
use pki::{Store, store};
use plant::TrustPolicy;
use wire::channel::Protection;
use wire::types::{
    NodeId, ReadRequest, ReadValueId, SessionDiagnosticsDataType,
    SessionSecurityDiagnosticsDataType, TimestampsToReturn, VariableId, Variant,
};

const SECURITY: &str = "Basic256Sha256:SignAndEncrypt";

/// A folder for a server, which trusts whom its folder says, and one for its clients.
struct Bench {
    folder: tempfile::TempDir,
    plant: plant::Server,
}

impl Bench {
    fn start(config: plant::Config) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Store::new(folder.path().join("server"));
        let request = Request::application("urn:test:plant").host("127.0.0.1");
        let own = server.own(&request, pki::KeyKind::Rsa(2048), SystemTime::now().into());
        let plant = plant::Server::start(plant::Config {
            protections: vec![SECURITY.parse::<Security>().map(exactly).unwrap()],
            identity: Some(own.unwrap()),
            trust: TrustPolicy::from(server),
            ..config
        });
        Self {
            folder,
            plant: plant.unwrap(),
        }
    }

    fn command(&self, options: &[&str]) -> Command {
        let words = ["read", self.plant.url(), "-n", "i=2258", "--trust"];
        let mut command = command(self.folder.path(), &words);
        command
            .args(["--quiet", "--out", "r.json", "--identity-each"])
            .args(options)
            .env("UAPERF_PASSWORD", "secret")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, options: &[&str]) -> Output {
        self.command(options).output().unwrap()
    }

    fn result(&self) -> serde_json::Value {
        json(&self.folder.path().join("r.json"))
    }

    fn each(&self) -> PathBuf {
        self.folder.path().join("pki/own/each")
    }

    /// What is in the folder of the clients, by name.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut all = BTreeMap::new();
        for folder in ["certs", "private"] {
            for entry in std::fs::read_dir(self.each().join(folder)).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                all.insert(name, std::fs::read(path).unwrap());
            }
        }
        all
    }

    fn certificate(&self, n: u32) -> PathBuf {
        self.each().join(format!("certs/client-{n:04}.der"))
    }

    fn trust(&self, certificate: &Path) {
        let server = Store::new(self.folder.path().join("server"));
        for one in store::read_certificates(certificate).unwrap() {
            server.trust_certificate(&one).unwrap();
        }
    }

    /// A session that the server trusts too.
    fn watcher(&self) -> Session {
        let own = Store::new(self.folder.path().join("watcher"));
        let request = Request::application("urn:test:watcher");
        let identity = own
            .own(&request, pki::KeyKind::Rsa(2048), SystemTime::now().into())
            .unwrap();
        self.trust(&identity.path.unwrap());
        let access = Access {
            security: SECURITY.parse().unwrap(),
            trust: TrustRule::Everyone,
            timeout: Duration::from_secs(60),
            ..Access::new(self.plant.url().parse().unwrap(), own, request)
        };
        let opening = access.discover().unwrap();
        access.open(&opening, &mut Steps::new()).unwrap()
    }

    /// Who the server sees while the command runs: application URI, certificate, user.
    fn seen(&self, options: &[&str]) -> (Seen, Output) {
        // Who looks on is there before it begins.
        let mut watcher = self.watcher();
        let mut seen = Seen::default();
        let mut child = self.command(options).spawn().unwrap();
        while child.try_wait().unwrap().is_none() {
            look(&mut watcher, &mut seen);
        }
        (seen, child.wait_with_output().unwrap())
    }
}

fn exactly(security: Security) -> Protection {
    match security {
        Security::Exactly(protection) => protection,
        other => panic!("{other:?}"),
    }
}

#[derive(Debug, Default)]
struct Seen {
    uris: BTreeSet<String>,
    certificates: BTreeSet<Vec<u8>>,
    users: BTreeSet<String>,
}

fn look(watcher: &mut Session, seen: &mut Seen) {
    use VariableId as V;
    let ids = [
        V::Server_ServerDiagnostics_SessionsDiagnosticsSummary_SessionDiagnosticsArray,
        V::Server_ServerDiagnostics_SessionsDiagnosticsSummary_SessionSecurityDiagnosticsArray,
    ];
    let nodes = ids.map(|id| ReadValueId::from(NodeId::from(id)));
    let response = watcher.call(ReadRequest {
        request_header: Default::default(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(nodes.into()),
    });
    let mut ours = Vec::new();
    for value in response.unwrap().results.unwrap() {
        let Some(Variant::Array(array)) = value.value else {
            panic!("{value:?}");
        };
        for value in array.values {
            let Variant::ExtensionObject(object) = value else {
                panic!("{value:?}");
            };
            if let Some(session) = object.inner_as::<SessionDiagnosticsDataType>() {
                let uri = session.client_description.application_uri.as_ref();
                if uri == "urn:test:watcher" {
                    ours.push(session.session_id.clone());
                } else {
                    seen.uris.insert(uri.to_owned());
                }
            }
            if let Some(session) = object.inner_as::<SessionSecurityDiagnosticsDataType>()
                && !ours.contains(&session.session_id)
                && let Some(certificate) = &session.client_certificate.value
            {
                seen.certificates.insert(certificate.to_vec());
                let user = session.client_user_id_of_session.as_ref();
                seen.users.insert(user.to_owned());
            }
        }
    }
}

/// The certificates in the folder, and the application URIs in them.
fn made(bench: &Bench, clients: u32) -> (BTreeSet<Vec<u8>>, BTreeSet<String>) {
    let files = (1..=clients).map(|n| bench.certificate(n));
    files
        .map(|file| {
            let certificate = store::read_certificates(&file).unwrap().remove(0);
            let uri = certificate.application_uri().unwrap().to_owned();
            (certificate.der().to_vec(), uri)
        })
        .unzip()
}

#[test]
fn each_session_is_an_application_of_its_own_and_the_same_one_in_the_next_run() {
    let bench = Bench::start(plant::Config {
        faults: vec!["delay=20ms,on=read".parse().unwrap()],
        ..plant::Config::default()
    });
    let load = ["--sessions", "3", "--duration", "2s", "--warmup", "0s"];

    let refused = bench.run(&load);
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("BadSecurityChecksFailed"), "{said}");
    assert!(
        said.contains("each of the 3 has a certificate in"),
        "{said}"
    );
    assert!(said.contains(&*bench.each().join("certs").to_string_lossy()));
    assert!(said.contains("uaperf cert trust"), "{said}");

    let before = bench.files();
    assert_eq!(before.len(), 6, "{:?}", before.keys());
    let (certificates, uris) = made(&bench, 3);
    assert_eq!((certificates.len(), uris.len()), (3, 3));
    assert!(uris.iter().all(|uri| uri.contains(":uaperf:client-000")));
    (1..=3).for_each(|n| bench.trust(&bench.certificate(n)));

    for more in [&[][..], &["--fresh-session"]] {
        let (seen, output) = bench.seen(&[&load[..], more].concat());
        assert!(matches!(output.status.code(), Some(0 | 4)), "{output:?}");
        // What was looked at before the load was looked at by one of them.
        assert_eq!(seen.uris, uris, "{more:?}");
        assert_eq!(seen.certificates, certificates, "{more:?}");
        let run = bench.result();
        assert_eq!(run["phases"][0]["total"]["errors"], 0, "{run}");
        assert_eq!(bench.files(), before, "nothing is made anew");
    }
    bench.plant.stop();
}

#[test]
fn a_client_that_the_server_does_not_trust_is_missed_and_it_is_said_what_to_do() {
    let bench = Bench::start(plant::Config::default());
    let load = ["--sessions", "3", "--requests", "30", "--warmup", "0s"];
    bench.run(&load);
    [1, 3]
        .iter()
        .for_each(|&n| bench.trust(&bench.certificate(n)));
    for (more, missed) in [
        (None, "of 3 sessions 2 were opened: session 1 (client-0002)"),
        (Some("--fresh-session"), ""),
    ] {
        let words: Vec<_> = load.into_iter().chain(more).collect();
        bench.run(&words);
        let run = bench.result();
        let verdict = &run["verdict"];
        let notes = format!(
            "{} {} {}",
            run["notes"], verdict["notes"], verdict["evidence"]
        );
        assert!(notes.contains("each of the 3 has a certificate"), "{notes}");
        assert!(notes.contains(missed), "{notes}");
        if more.is_some() {
            assert_eq!(run["phases"][0]["total"]["errors"], 10, "{run}");
        }
    }
    bench.plant.stop();
}

#[test]
fn each_session_logs_in_its_own_user_with_one_password_or_a_line_of_a_file() {
    let mut config = plant::Config::default();
    let hash =
        |password: &str| plant::PasswordHash::new(password.as_bytes(), [7; 16], NonZeroU32::MIN);
    let users = [
        ("op1", "secret"),
        ("op2", "secret"),
        ("line1", "a"),
        ("line2", "b"),
    ];
    config.users.passwords = users.map(|(name, word)| (name.into(), hash(word))).into();
    let bench = Bench::start(config);
    let load = ["--sessions", "2", "--duration", "1s", "--warmup", "0s"];
    bench.run(&[&load[..], &["--user", "op{n}"]].concat());
    [1, 2]
        .iter()
        .for_each(|&n| bench.trust(&bench.certificate(n)));
    std::fs::write(bench.folder.path().join("words"), "a\r\nb\n\n").unwrap();
    let ways = [
        (&["--user", "op{n}"][..], ["op1", "op2"]),
        (
            &["--user", "line{n}", "--password-file", "words"],
            ["line1", "line2"],
        ),
    ];
    for (way, users) in ways {
        let (seen, output) = bench.seen(&[&load[..], way].concat());
        assert!(matches!(output.status.code(), Some(0 | 4)), "{output:?}");
        assert_eq!(seen.users, users.map(str::to_owned).into());
        let user = bench.result()["targets"][0]["user"].clone();
        assert_eq!(user, format!("{} to {}", users[0], users[1]));
    }
    let words = [
        "--user",
        "line{n}",
        "--password-file",
        "words",
        "--sessions",
        "3",
    ];
    let few = bench.run(&words);
    let said = text(&few.stderr);
    assert_eq!(few.status.code(), Some(2), "{said}");
    assert!(said.contains("words: 2 passwords for 3 sessions"), "{said}");
    bench.plant.stop();
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let bench = Bench::start(plant::Config::default());
    std::fs::create_dir_all(bench.each().parent().unwrap()).unwrap();
    std::fs::write(bench.each(), "a file in the way").unwrap();
    let output = bench.run(&["--sessions", "2"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&*bench.each().to_string_lossy()), "{said}");
    assert!(said.contains("--pki"), "{said}");
    bench.plant.stop();
}

#[test]
fn without_security_no_certificate_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let plant = plant::Server::start(plant::Config::default()).unwrap();
    let words = ["read", plant.url(), "--security", "none", "--requests", "9"];
    let each = ["--sessions", "3", "--identity-each", "--out", "r.json"];
    let output = uaperf(folder.path(), &[&words[..], &each].concat());
    assert!(matches!(output.status.code(), Some(0 | 4)), "{output:?}");
    assert!(!folder.path().join("pki/own").exists());
    plant.stop();
}
