//! Whether a certificate was revoked, as a client and a server look it up: with an authority that answers, does not, or
//! does not know.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cell::Cell;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lab::Lab;
use load::access::{Access, AccessError, Session, TrustRule};
use load::transport::{LinkError, Step, Steps};
use pki::make::Request;
use pki::{Fail, Revocation, Source, Store};
use revocation::Asker;
use support::{Said, Server, command, program};
use wire::channel::ChannelError;
use wire::types::StatusCode;

#[path = "support/lab.rs"]
mod lab;
mod support;

/// For what comes at once unless the machine has more to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server and a client with certificates of a laboratory's authority, which both trust.
struct Two {
    lab: Lab,
    server: Server,
    /// Lines of its log that were looked at.
    seen: Cell<usize>,
}

impl Two {
    /// Authorities like this, and a server that looks up like that.
    fn start(make: &str, serve: &[&str]) -> Self {
        let lab = Lab::new();
        lab.good(&format!(
            "make lab --intermediates 1 --at {} {make}",
            Lab::at()
        ));
        let root = lab.path("lab/root.der");
        for who in ["server", "client"] {
            lab.good(&format!("issue lab {who} --own --pki {who}"));
            let mut command = command(lab.folder.path(), &["cert", "trust", "--pki", who]);
            assert_eq!(Said::by(command.arg(&root)).code, 0);
        }
        let log = fs::File::create(lab.path("log")).unwrap();
        let mut command = program();
        command
            .args(["serve", "--port", "0"])
            .args(serve)
            .arg("--pki")
            .arg(lab.path("server"))
            .stdin(Stdio::null())
            .stderr(log);
        let server = Server::of(&mut command);
        let seen = Cell::new(0);
        Self { lab, server, seen }
    }

    /// A client that takes every server.
    fn client(&self) -> Access {
        Access {
            security: "Basic256Sha256:SignAndEncrypt".parse().unwrap(),
            trust: TrustRule::Everyone,
            timeout: PATIENCE,
            ..Access::new(
                self.server.url.parse().unwrap(),
                Store::new(self.lab.path("client")),
                Request::application("urn:test:client"),
            )
        }
    }

    /// One that looks up whether the server's certificate was revoked.
    fn asking(&self, source: Source, fail: Fail) -> Access {
        Access {
            trust: TrustRule::Listed,
            revocation: Revocation { source, fail },
            asker: Arc::new(Asker::new(PATIENCE)),
            ..self.client()
        }
    }

    /// What the server's log says of this client, which is refused.
    fn refused(&self, access: &Access) -> String {
        let error = open(access).expect_err("refused by the server");
        let AccessError::Link(LinkError::Channel(ChannelError::Peer(message))) = &error else {
            panic!("{error:?}")
        };
        // Part 4, 6.1.3: the peer is not told which check it was.
        assert_eq!(message.status, StatusCode::BadSecurityChecksFailed);
        self.logged()
    }

    /// What the next line of the server's log says of who was refused.
    fn logged(&self) -> String {
        let seen = self.seen.replace(self.seen.get() + 1);
        let end = Instant::now() + PATIENCE;
        loop {
            let log = fs::read_to_string(self.lab.path("log")).unwrap();
            let mut lines = log.lines().filter(|line| line.contains(" refused "));
            if let Some(line) = lines.nth(seen) {
                let status = line.split(": ").nth(1).unwrap();
                return status.split(',').next().unwrap().to_owned();
            }
            assert!(Instant::now() < end, "{log}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// From now on the responder knows nothing of this certificate.
    fn forget(&self, name: &str, authority: &str) {
        let serial = self.lab.certificate(name).serial().to_vec();
        let serial: String = serial.iter().map(|byte| format!("{byte:02X}")).collect();
        let file = self.lab.path(&format!("lab/{authority}.index"));
        let text = fs::read_to_string(&file).unwrap();
        let lines = text.lines().filter(|line| !line.contains(&serial));
        let left: String = lines.map(|line| format!("{line}\n")).collect();
        assert!(left.len() < text.len());
        fs::write(&file, left).unwrap();
    }

    /// What the client itself says of the server.
    fn judged(&self, source: Source, fail: Fail) -> Result<(), StatusCode> {
        match open(&self.asking(source, fail)) {
            Ok(_) => Ok(()),
            Err(error @ AccessError::Untrusted { .. }) => Err(error.status()),
            Err(error) => panic!("{error:?}"),
        }
    }
}

fn open(access: &Access) -> Result<Session, AccessError> {
    access.open(&access.discover()?, &mut Steps::new())
}

/// Gives a folder a revocation list.
fn list(folder: &Path, list: &Path) {
    let lists = pki::store::read_revocations(list).unwrap();
    Store::new(folder).add_revocations(&lists[0]).unwrap();
}

#[test]
fn a_server_refuses_whom_its_authority_revoked_and_whom_nobody_knows() {
    let two = Two::start(
        "--points ocsp",
        &["--revocation", "online", "--revocation-timeout", "30s"],
    );
    let client = two.client();
    // The responder is down: nobody knows of the client, and it is fatal.
    assert_eq!(two.refused(&client), "BadCertificateRevocationUnknown");
    let responder = two.lab.serve("");
    let mut session = open(&client).unwrap();
    session.renew().unwrap();

    two.lab.good("revoke lab client");
    assert_eq!(two.refused(&client), "BadCertificateRevoked");
    // Who is there already gets no new keys.
    assert!(session.renew().is_err());
    assert_eq!(two.logged(), "BadCertificateRevoked");

    two.lab
        .good("issue lab late --own --pki client --ago 10 --days 5");
    assert_eq!(two.refused(&client), "BadCertificateTimeInvalid");
    two.lab.good("issue lab unheard --own --pki client");
    open(&client).unwrap();
    two.forget("issued/unheard", "ca1");
    assert_eq!(two.refused(&client), "BadCertificateRevocationUnknown");

    two.lab.good("issue lab other --own --pki client");
    open(&client).unwrap();
    two.lab.good("revoke lab ca1");
    assert_eq!(two.refused(&client), "BadCertificateIssuerRevoked");
    // With a list of the client's issuer only, nobody knows of the issuer itself.
    drop(responder);
    list(&two.lab.path("server"), &two.lab.path("lab/ca1.crl"));
    assert_eq!(
        two.refused(&client),
        "BadCertificateIssuerRevocationUnknown"
    );
}

#[test]
fn a_soft_server_takes_whom_nobody_knows_and_refuses_whom_its_authority_revoked() {
    let two = Two::start("", &["--revocation", "online", "--revocation-fail", "soft"]);
    let client = two.client();
    open(&client).unwrap();
    let _responder = two.lab.serve("");
    open(&client).unwrap();
    two.lab.good("revoke lab client");
    assert_eq!(two.refused(&client), "BadCertificateRevoked");
}

#[test]
fn a_server_that_waits_for_an_authority_serves_others() {
    let two = Two::start(
        "",
        &["--revocation", "online", "--revocation-timeout", "60s"],
    );
    let _responder = two.lab.serve("--outage 0s..10m");
    let client = two.client();
    // More than there are threads for RSA.
    let mut waiting = Vec::new();
    for _ in 0..6 {
        let client = client.clone();
        waiting.push(std::thread::spawn(move || {
            let quick = Access {
                timeout: Duration::from_secs(3),
                ..client
            };
            open(&quick).expect_err("nobody answers")
        }));
    }
    let plain = Access {
        security: "none".parse().unwrap(),
        user: load::access::Credentials::UserName {
            name: "bench".into(),
            password: "bench".to_owned().into(),
        },
        plain_password: true,
        ..client
    };
    // Its password is checked by a helper thread, whoever waits meanwhile.
    while waiting.iter().any(|it| !it.is_finished()) {
        open(&plain).unwrap();
    }
    for it in waiting {
        it.join().unwrap();
    }
}

#[test]
fn whom_a_person_rejects_while_an_authority_is_asked_is_refused() {
    let two = Two::start("", &["--revocation", "online", "--revocation-fail", "soft"]);
    let authority = TcpListener::bind(two.lab.address()).unwrap();
    let (folder, asked) = (two.lab.folder.path().to_owned(), two.lab.path("lab/issued"));
    std::thread::spawn(move || {
        let mut rejected = false;
        for stream in authority.incoming() {
            // The server has judged as far as that goes without an answer.
            if !std::mem::replace(&mut rejected, true) {
                let mut command = command(&folder, &["cert", "reject", "--pki", "server"]);
                assert_eq!(Said::by(command.arg(asked.join("client.der"))).code, 0);
            }
            drop(stream);
        }
    });
    assert_eq!(two.refused(&two.client()), "BadCertificateUntrusted");
}

#[test]
fn a_client_refuses_a_server_that_was_revoked_or_that_nobody_knows() {
    let two = Two::start("", &["--trust"]);
    let (hard, soft) = (Fail::Hard, Fail::Soft);
    let unknown = Err(StatusCode::BadCertificateRevocationUnknown);
    for source in Source::ALL {
        assert_eq!(two.judged(source, hard), unknown, "{source}");
        assert_eq!(two.judged(source, soft), Ok(()), "{source}");
    }
    let responder = two.lab.serve("");
    assert_eq!(two.judged(Source::Offline, hard), unknown);
    assert_eq!(two.judged(Source::Online, hard), Ok(()));
    assert_eq!(two.judged(Source::Cached, hard), Ok(()));
    // Of both the answers are kept, not of one alone.
    let (cached, online) = (
        two.asking(Source::Cached, hard),
        two.asking(Source::Online, hard),
    );
    for _ in 0..3 {
        open(&cached).unwrap();
        open(&online).unwrap();
    }
    assert_eq!(cached.asker.asked(), 2);
    // Server and authority, at discovery and when the channel is opened.
    assert_eq!(online.asker.asked(), 12);
    drop(responder);
    open(&cached).unwrap();
    assert!(open(&online).is_err());

    // Lists in the folder, where nobody is asked.
    for name in ["root", "ca1"] {
        let file = two.lab.path(&format!("lab/{name}.crl"));
        list(&two.lab.path("client"), &file);
    }
    for source in Source::ALL {
        assert_eq!(two.judged(source, hard), Ok(()), "{source}");
    }
    two.lab.good("revoke lab server");
    assert_eq!(two.judged(Source::Cached, hard), Ok(()));
    let _responder = two.lab.serve("");
    let revoked = Err(StatusCode::BadCertificateRevoked);
    assert_eq!(two.judged(Source::Online, soft), revoked);
    list(&two.lab.path("client"), &two.lab.path("lab/ca1.crl"));
    assert_eq!(two.judged(Source::Offline, soft), revoked);
}

#[test]
fn the_check_is_a_step_of_its_own_and_takes_as_long_as_the_authority() {
    let two = Two::start("", &["--trust"]);
    let delay = Duration::from_millis(120);
    let _responder = two.lab.serve("--delay 120ms");
    let mut command = program();
    command
        .args(["probe", &two.server.url, "--repeat", "2", "--json"])
        .args([
            "--security",
            "Basic256Sha256:Sign",
            "--revocation",
            "online",
        ])
        .arg("--pki")
        .arg(two.lab.path("client"));
    let said = Said::by(&mut command);
    assert_eq!(said.code, 0, "{}", said.err);
    let probe: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let first = probe["first_check_ns"].as_u64().unwrap();
    assert!(Duration::from_nanos(first) >= delay, "{first}");
    let steps = probe["steps"].as_array().unwrap();
    let check = steps
        .iter()
        .find(|it| it["step"] == Step::CheckCertificate.name())
        .unwrap();
    assert_eq!(check["count"], 2);
    let least = check["min_ns"].as_u64().unwrap();
    assert!(Duration::from_nanos(least) >= delay, "{least}");
    // Without lists of the folder there is one step less.
    let mut command = program();
    command
        .args(["probe", &two.server.url, "--json", "--trust"])
        .args(["--security", "Basic256Sha256:Sign"])
        .arg("--pki")
        .arg(two.lab.path("client"));
    let said = Said::by(&mut command);
    assert!(!said.out.contains(Step::CheckCertificate.name()));
}
