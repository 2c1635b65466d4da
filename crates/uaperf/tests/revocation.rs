//! Whether a certificate was revoked, as a client and a server look it up: with an authority that answers, does not, or
//! does not know.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cell::Cell;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::lab::Lab;
use crate::support::{Said, Server, command, program};
use load::access::{Access, AccessError, ServerFacts, Session, TrustRule};
use load::certificate_manager;
use load::relay::{Background, Settings};
use load::transport::{LinkError, Steps, TransportStep};
use pki::make::Request;
use pki::{Fail, Revocation, Source, Store};
use revocation::{Asker, CertificateManager};
use wire::channel::ChannelError;
use wire::types::{CallMethodRequest, CallRequest, NodeId, StatusCode, Variant};

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
        Self::in_lab(Lab::new(), make, serve)
    }

    fn in_lab(lab: Lab, make: &str, serve: &[&str]) -> Self {
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

/// A server that checks certificates for others. It knows the authorities of a laboratory once it is shown them, and takes
/// clients of which nobody knows whether they were revoked.
struct Manager {
    server: Server,
    folder: PathBuf,
}

impl Manager {
    fn start(lab: &Lab) -> Self {
        let folder = lab.path("gds");
        let server = Server::start(
            &folder,
            &["--check-revocation", "--revocation-fail", "soft"],
        );
        Self { server, folder }
    }

    fn knows(&self, lab: &Lab) {
        for name in ["root", "ca1"] {
            let mut command = command(lab.folder.path(), &["cert", "trust"]);
            command.arg("--pki").arg(&self.folder);
            let file = lab.path(&format!("lab/{name}.der"));
            assert_eq!(Said::by(command.arg(file)).code, 0);
        }
    }

    fn gets_lists(&self, lab: &Lab) {
        for name in ["root", "ca1"] {
            list(&self.folder, &lab.path(&format!("lab/{name}.crl")));
        }
    }

    /// Its certificate is no authority's: nobody need be asked about it.
    fn is_trusted_by(&self, store: &Path) {
        let own = fs::read_dir(self.folder.join("own/certs")).unwrap();
        let own = own.map(|it| it.unwrap().path()).next().unwrap();
        let own = pki::store::read_certificates(&own).unwrap();
        Store::new(store).trust_certificate(&own[0]).unwrap();
    }
}

impl Two {
    /// A client that asks a certificate manager.
    fn asking_manager(&self, url: &str, fail: Fail) -> Access {
        self.asking_within(PATIENCE, TrustRule::Listed, url, fail)
    }

    fn asking_within(&self, timeout: Duration, trust: TrustRule, url: &str, fail: Fail) -> Access {
        let manager = Access {
            security: "best".parse().unwrap(),
            trust,
            url: url.parse().unwrap(),
            timeout,
            ..self.client()
        };
        let manager = Arc::new(certificate_manager::Manager::new(manager));
        Access {
            asker: Arc::new(Asker::new(timeout).with_manager(manager)),
            ..self.asking(Source::Manager, fail)
        }
    }

    /// What `uaperf probe` of the server says.
    fn probe(&self, options: &[&str]) -> serde_json::Value {
        let mut command = program();
        command
            .args(["probe", &self.server.url, "--json"])
            .args(["--security", "Basic256Sha256:Sign"])
            .args(options)
            .arg("--pki")
            .arg(self.lab.path("client"));
        let said = Said::by(&mut command);
        assert_eq!(said.code, 0, "{}", said.err);
        serde_json::from_str(&said.out).unwrap()
    }
}

/// A step of a probe.
fn step(probe: &serde_json::Value, step: TransportStep) -> Option<&serde_json::Value> {
    let mut steps = probe["steps"].as_array().unwrap().iter();
    steps.find(|it| it["step"] == step.name())
}

/// What comes of opening, and why.
fn outcome(access: &Access) -> Result<(), (StatusCode, String)> {
    match open(access) {
        Ok(_) => Ok(()),
        Err(error @ AccessError::Untrusted { .. }) => Err((error.status(), error.to_string())),
        Err(error) => panic!("{error:?}"),
    }
}

fn refusal(access: &Access) -> StatusCode {
    outcome(access).expect_err("refused").0
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
    let probe = two.probe(&["--repeat", "2", "--revocation", "online"]);
    let first = probe["first_check_ns"].as_u64().unwrap();
    assert!(Duration::from_nanos(first) >= delay, "{first}");
    let check = step(&probe, TransportStep::CheckCertificate).unwrap();
    assert_eq!(check["count"], 2);
    let asked = step(&probe, TransportStep::AskStatus).unwrap();
    assert_eq!(asked["count"], 2);
    let least = asked["min_ns"].as_u64().unwrap();
    assert!(Duration::from_nanos(least) >= delay, "{least}");
    // What is done here does not wait, and nobody else was asked.
    assert!(check["min_ns"].as_u64() < Some(least), "{check}");
    for other in [TransportStep::AskList, TransportStep::AskManager] {
        assert!(step(&probe, other).is_none());
    }
    // Without lists of the folder there is one step less.
    let probe = two.probe(&["--trust"]);
    assert!(step(&probe, TransportStep::CheckCertificate).is_none());
}

#[test]
fn a_client_asks_a_certificate_manager() {
    let two = Two::start("", &["--trust"]);
    let manager = Manager::start(&two.lab);
    let client = two.lab.path("client");
    let (url, lab) = (manager.server.url.as_str(), &two.lab);
    let soft = two.asking_manager(url, Fail::Soft);
    let hard = two.asking_manager(url, Fail::Hard);
    let unknown = StatusCode::BadCertificateRevocationUnknown;

    // The manager is not trusted, and then it does not trust us.
    let (status, why) = outcome(&hard).expect_err("refused");
    assert_eq!(status, unknown);
    assert!(why.contains("BadCertificateUntrusted"), "{why}");
    assert_eq!(outcome(&soft), Ok(()));
    manager.is_trusted_by(&client);
    let (status, why) = outcome(&hard).expect_err("refused");
    assert_eq!(status, unknown);
    assert!(why.contains("BadSecurityChecksFailed"), "{why}");
    // It knows of nobody whether they were revoked, and says so though it takes them itself.
    manager.knows(lab);
    let (status, why) = outcome(&hard).expect_err("refused");
    assert_eq!(status, unknown);
    assert!(why.contains("the certificate manager says"), "{why}");
    assert_eq!(outcome(&soft), Ok(()));

    manager.gets_lists(lab);
    assert_eq!(outcome(&hard), Ok(()));
    // At discovery and when the channel is opened; for server and authority at the same time.
    let before = hard.asker.asked();
    open(&hard).unwrap();
    assert_eq!(hard.asker.asked(), before + 2);
    let cached = Access {
        revocation: Revocation {
            source: Source::ManagerCached,
            fail: Fail::Hard,
        },
        ..hard.clone()
    };
    for _ in 0..3 {
        assert_eq!(outcome(&cached), Ok(()));
    }
    assert_eq!(hard.asker.asked(), before + 2);

    // Over a line of 60 ms, by the option: each channel has its check, and each check takes its time.
    let link = Settings::to(
        &url.parse().unwrap(),
        (Ipv4Addr::LOCALHOST, 0).into(),
        "delay=60ms".parse().unwrap(),
    );
    let link = Background::start(link.unwrap()).unwrap();
    let far = format!("gds:opc.tcp://{}", link.address());
    let patient = ["--revocation-timeout", "30s"];
    let probe = two.probe(&[&["--repeat", "2", "--revocation", &far], &patient[..]].concat());
    let asked = step(&probe, TransportStep::AskManager).unwrap();
    assert_eq!(asked["count"], 2);
    let least = asked["min_ns"].as_u64().unwrap();
    assert!(least >= 120_000_000, "{least}");
    drop(link);

    // By now the manager would let neither of them in again, but they are there.
    lab.good("revoke lab ca1");
    list(&manager.folder, &lab.path("lab/root.crl"));
    for access in [&hard, &soft] {
        assert_eq!(refusal(access), StatusCode::BadCertificateIssuerRevoked);
    }
    lab.good("revoke lab server");
    list(&manager.folder, &lab.path("lab/ca1.crl"));
    for access in [&hard, &soft] {
        assert_eq!(refusal(access), StatusCode::BadCertificateRevoked);
    }
    assert_eq!(outcome(&cached), Ok(()));

    drop(manager);
    let (status, why) = outcome(&hard).expect_err("refused");
    assert_eq!(status, unknown);
    assert!(why.contains("refused"), "{why}");
    assert_eq!(outcome(&soft), Ok(()));
}

#[test]
fn a_server_asks_a_certificate_manager_and_is_one_that_asks_nobody_for_others() {
    let lab = Lab::new();
    let manager = Manager::start(&lab);
    let url = &manager.server.url;
    let asks = format!("gds:{url}");
    let two = Two::in_lab(lab, "", &["--revocation", &asks, "--check-revocation"]);
    let (lab, client) = (&two.lab, two.client());
    manager.knows(lab);
    manager.gets_lists(lab);
    // Whom the server does not trust it does not ask.
    assert_eq!(
        two.refused(&client),
        "BadCertificateRevocationUnknown",
        "{url}"
    );
    manager.is_trusted_by(&lab.path("server"));
    let mut session = open(&client).unwrap();

    // As a manager it looks into its own lists, of which there are none; else two that ask each other would go on for ever.
    let asked = certificate_manager::Manager::new(Access {
        security: "best".parse().unwrap(),
        ..client.clone()
    });
    let leaf = lab.certificate("issued/client");
    let until = Instant::now() + PATIENCE;
    let checked = asked.check(&[leaf.der()], until).remove(0).unwrap();
    let unknown = StatusCode::BadCertificateRevocationUnknown;
    assert_eq!(StatusCode::from(checked.status), unknown);

    lab.good("revoke lab client");
    list(&manager.folder, &lab.path("lab/ca1.crl"));
    assert_eq!(two.refused(&client), "BadCertificateRevoked");
    assert!(session.renew().is_err());
    assert_eq!(two.logged(), "BadCertificateRevoked");
    lab.good("issue lab other --own --pki client");
    open(&client).unwrap();
    drop(manager);
    assert_eq!(two.refused(&client), "BadCertificateRevocationUnknown");
}

#[test]
fn a_certificate_manager_names_what_is_wrong_with_each_certificate() {
    let lab = Lab::new();
    let manager = Manager::start(&lab);
    lab.good("make lab --intermediates 1");
    lab.good("issue lab client --own --pki client");
    lab.good("issue lab gone --own --pki gone");
    lab.good("issue lab late --own --pki late --ago 10 --days 5");
    lab.good("make other");
    lab.good("revoke lab gone");
    manager.knows(&lab);
    manager.gets_lists(&lab);
    let stranger = pki::store::read_certificates(&lab.path("other/root.der"));
    let client = Access {
        security: "best".parse().unwrap(),
        trust: TrustRule::Everyone,
        timeout: PATIENCE,
        ..Access::new(
            manager.server.url.parse().unwrap(),
            Store::new(lab.path("client")),
            Request::application("urn:test:client"),
        )
    };
    let asked = certificate_manager::Manager::new(client.clone());
    let of = |name: &str| lab.certificate(name).der().to_vec();
    let all = [
        (of("issued/client"), StatusCode::Good),
        (of("ca1"), StatusCode::Good),
        (of("root"), StatusCode::Good),
        (of("issued/gone"), StatusCode::BadCertificateRevoked),
        (of("issued/late"), StatusCode::BadCertificateTimeInvalid),
        (
            stranger.unwrap()[0].der().to_vec(),
            StatusCode::BadCertificateUntrusted,
        ),
        (b"garbage".to_vec(), StatusCode::BadCertificateInvalid),
        (Vec::new(), StatusCode::BadCertificateInvalid),
    ];
    let ders: Vec<&[u8]> = all.iter().map(|(der, _)| der.as_slice()).collect();
    let until = Instant::now() + PATIENCE;
    let checked = asked.check(&ders, until);
    for (n, (answer, (_, expected))) in checked.iter().zip(&all).enumerate() {
        let checked = answer.as_ref().unwrap();
        assert_eq!(StatusCode::from(checked.status), *expected, "{n}");
        // As long as the list says; who signed itself is on no list.
        assert_eq!(checked.until.is_some(), expected.is_good() && n != 2, "{n}");
    }
    // More than it takes on at once.
    let many = vec![ders[0]; 17];
    let checked = asked.check(&many, until);
    assert_eq!(checked.iter().filter(|it| it.is_ok()).count(), 16);
    let why = checked[16].clone().unwrap_err();
    assert!(why.contains("BadTooManyOperations"), "{why}");

    let plain = Access {
        security: "none".parse().unwrap(),
        ..client
    };
    let mut session = open(&plain).unwrap();
    let namespaces = ServerFacts::ask(&mut session).unwrap().namespaces;
    let is_it = |uri: &String| uri == "http://opcfoundation.org/UA/GDS/";
    let directory = namespaces.iter().position(is_it).unwrap() as u16;
    let call = |arguments: Vec<Variant>| CallRequest {
        request_header: Default::default(),
        methods_to_call: Some(vec![CallMethodRequest {
            object_id: NodeId::new(directory, 141u32),
            method_id: NodeId::new(directory, 177u32),
            input_arguments: Some(arguments),
        }]),
    };
    let response = session.call(call(vec![])).unwrap();
    let status = response.results.unwrap()[0].status_code;
    assert_eq!(status, StatusCode::BadSecurityModeInsufficient);
}

#[test]
fn a_manager_that_says_nothing_or_is_none_leaves_it_unknown() {
    let two = Two::start("", &["--trust"]);
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let deaf = format!("opc.tcp://{}", deaf.local_addr().unwrap());
    let short = Duration::from_millis(200);
    let other = two.server.url.clone();
    for (url, patience, said) in [
        (&deaf, short, "no answer in time"),
        (&other, PATIENCE, "no CheckRevocationStatus"),
    ] {
        let asking = |fail| two.asking_within(patience, TrustRule::Everyone, url, fail);
        let (status, why) = outcome(&asking(Fail::Hard)).expect_err("refused");
        assert_eq!(status, StatusCode::BadCertificateRevocationUnknown);
        assert!(why.contains(said), "{why}");
        assert_eq!(outcome(&asking(Fail::Soft)), Ok(()));
    }
}

#[test]
fn certificates_of_users_are_looked_up_where_those_of_clients_are() {
    let lab = Lab::new();
    let users = lab.path("users");
    let two = Two::in_lab(
        lab,
        "--points ocsp",
        &[
            "--revocation",
            "online",
            "--user-pki",
            users.to_str().unwrap(),
        ],
    );
    let lab = &two.lab;
    lab.good("issue lab anna");
    let root = lab.certificate("root");
    Store::new(&users).trust_certificate(&root).unwrap();
    Store::new(&users)
        .know_issuer(&lab.certificate("ca1"))
        .unwrap();
    let key = pki::store::read_key(&lab.path("lab/issued/anna.key")).unwrap();
    let anna = pki::Identity::new(lab.certificate("issued/anna"), key);
    let anna = load::access::identity(&anna).unwrap();
    // Nobody asks about the client here, only about the user.
    let access = Access {
        security: "none".parse().unwrap(),
        user: load::access::Credentials::X509 {
            certificate: anna.certificate,
            key: anna.key,
        },
        ..two.client()
    };
    let rejected = || {
        let error = open(&access).expect_err("refused");
        assert_eq!(error.status(), StatusCode::BadIdentityTokenRejected);
    };
    rejected();
    let _responder = lab.serve("");
    open(&access).unwrap();
    lab.good("revoke lab anna");
    rejected();
}
