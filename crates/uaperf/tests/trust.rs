//! Whom client and server trust, told from what happens between the two: `uaperf serve`, `uaperf cert`, and clients that
//! come to it, stay with it and come again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use load::access::{Access, AccessError, Credentials, Session};
use load::transport::{LinkError, Steps};
use pki::make::{Authority, Request};
use pki::store::Place;
use pki::{Certificate, Identity, Key, Moment, Store};
use tempfile::TempDir;
use wire::channel::ChannelError;
use wire::types::StatusCode;

use crate::support;
use crate::support::{Said, Server, program};

/// For what comes at once unless the machine has more to do.
const PATIENCE: Duration = Duration::from_secs(60);

fn now() -> Moment {
    SystemTime::now().into()
}

/// Who is refused, by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    Client,
    Server,
}

/// A server and a client with certificates of one authority that both of them trust.
struct Two {
    folder: TempDir,
    root: Authority,
    server: Server,
    /// The certificates of both, and of a user.
    server_is: Certificate,
    client_is: Certificate,
    user_is: Identity,
}

impl Two {
    fn start() -> Self {
        Self::of_at_most(Duration::from_secs(86_400))
    }

    /// Their certificates expire after so long.
    fn of_at_most(left: Duration) -> Self {
        let folder = TempDir::new().unwrap();
        let key = || Key::generate(2048).unwrap();
        let root = Authority::root(Request::authority("plant"), key(), now()).unwrap();
        let from = now().plus_days(-1).plus(left);
        let signed = |request: Request, key: Key| {
            let request = request.from(from).days(1);
            Identity::new(root.sign(&request, &key, now()).unwrap(), key)
        };
        let server = Request::application("urn:test:server");
        let server = server.dns("localhost").ip([127, 0, 0, 1].into());
        let server = signed(server, key());
        let client = signed(Request::application("urn:test:client"), key());
        let user = Request::application("urn:test:user").common_name("operator");
        let user = signed(user, key());
        let list = root.revoke(&[], now(), 30).unwrap();
        for name in ["server", "client", "users"] {
            let store = Store::new(folder.path().join(name));
            store.trust_certificate(root.certificate()).unwrap();
            store.add_revocations(&list).unwrap();
        }
        let at = |name: &str| Store::new(folder.path().join(name));
        let server_is = server.certificate.clone();
        let client_is = client.certificate.clone();
        at("server").put_own(server).unwrap();
        at("client").put_own(client).unwrap();
        let users = folder.path().join("users");
        let users = users.to_str().unwrap();
        let server = Server::start(&folder.path().join("server"), &["--user-pki", users]);
        Self {
            root,
            server,
            server_is,
            client_is,
            user_is: user,
            folder,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder of whoever refuses.
    fn refusing(&self, refused: Refused) -> PathBuf {
        self.path(match refused {
            Refused::Client => "server",
            Refused::Server => "client",
        })
    }

    fn certificate(&self, refused: Refused) -> &Certificate {
        match refused {
            Refused::Client => &self.client_is,
            Refused::Server => &self.server_is,
        }
    }

    fn access(&self, user: Credentials) -> Access {
        Access {
            security: "Basic256Sha256:SignAndEncrypt".parse().unwrap(),
            user,
            timeout: PATIENCE,
            ..Access::new(
                self.server.url.parse().unwrap(),
                Store::new(self.path("client")),
                Request::application("urn:test:client"),
            )
        }
    }

    fn open(&self) -> Result<Session, AccessError> {
        self.open_as(Credentials::Anonymous)
    }

    fn open_as(&self, user: Credentials) -> Result<Session, AccessError> {
        let access = self.access(user);
        access.open(&access.discover()?, &mut Steps::new())
    }

    /// `uaperf cert VERB THUMBPRINT` by a person; the certificate is taken from a file if it is in no list.
    fn says(&self, folder: &str, verb: &str, certificate: &Certificate) {
        let file = self.path("one.der");
        std::fs::write(&file, certificate.der()).unwrap();
        let said = Said::by(
            program()
                .args(["cert", verb])
                .arg(&file)
                .arg("--pki")
                .arg(self.path(folder)),
        );
        assert_eq!(said.code, 0, "{}", said.err);
    }
}

/// What the other side was told, or what this one says of the server.
fn is_refused(refused: Refused, error: AccessError, why: &str) {
    match (refused, error) {
        (Refused::Client, AccessError::Link(LinkError::Channel(ChannelError::Peer(message)))) => {
            assert_eq!(message.status, StatusCode::BadSecurityChecksFailed);
        }
        (Refused::Server, error @ AccessError::Untrusted { .. })
        | (
            Refused::Server,
            error @ AccessError::Link(LinkError::Channel(ChannelError::Server { .. })),
        ) => {
            let said = error.to_string();
            assert!(said.contains(why), "{said}");
        }
        (_, error) => panic!("{refused:?}: {error:?}"),
    }
}

#[test]
fn whom_a_person_rejects_is_refused_below_a_trusted_authority_until_he_is_trusted_again() {
    for refused in [Refused::Client, Refused::Server] {
        let two = Two::start();
        let mut session = two.open().unwrap();
        session.renew().unwrap();
        let folder = two.refusing(refused);
        let folder = folder.file_name().unwrap().to_str().unwrap();
        two.says(folder, "reject", two.certificate(refused));
        // Who is there already gets no new keys, and nobody comes in.
        is_refused(
            refused,
            session.renew().unwrap_err().into(),
            "distrusted by hand",
        );
        is_refused(refused, two.open().err().unwrap(), "distrusted by hand");
        let store = Store::new(two.path(folder));
        let (trust, _) = store.trust().unwrap();
        assert_eq!(trust.trusted, [two.root.certificate().clone()]);

        two.says(folder, "trust", two.certificate(refused));
        two.open().unwrap();
    }
}

#[test]
fn all_that_a_rejected_authority_signed_is_refused() {
    for refused in [Refused::Client, Refused::Server] {
        let two = Two::start();
        let mut session = two.open().unwrap();
        let folder = two.refusing(refused);
        let store = Store::new(&folder);
        // Also who is trusted by himself.
        let one = two.certificate(refused);
        store.trust_certificate(one).unwrap();
        store.know_issuer(two.root.certificate()).unwrap();
        session.renew().unwrap();
        let folder = folder.file_name().unwrap().to_str().unwrap();
        two.says(folder, "reject", two.root.certificate());
        // A tool of somebody else puts it back to complete chains: a person has not said so.
        store.know_issuer(two.root.certificate()).unwrap();
        is_refused(
            refused,
            session.renew().unwrap_err().into(),
            "this authority was distrusted by hand",
        );
        is_refused(refused, two.open().err().unwrap(), "this authority");
    }
}

#[test]
fn who_is_revoked_meanwhile_gets_no_new_keys_and_gives_none() {
    for refused in [Refused::Client, Refused::Server] {
        let two = Two::start();
        let mut session = two.open().unwrap();
        session.renew().unwrap();
        let store = Store::new(two.refusing(refused));
        let revoked = [two.certificate(refused)];
        let list = two.root.revoke(&revoked, now(), 30).unwrap();
        store.add_revocations(&list).unwrap();
        let error = session.renew().unwrap_err();
        is_refused(refused, error.into(), "BadCertificateRevoked");
        let error = two.open().err().unwrap();
        is_refused(refused, error, "BadCertificateRevoked");
    }
}

#[test]
fn whose_certificate_expires_meanwhile_gets_no_new_keys() {
    let two = Two::of_at_most(Duration::from_secs(12));
    let mut session = two.open().unwrap();
    session.renew().unwrap();
    let end = two.client_is.not_after();
    while now() <= end {
        std::thread::sleep(Duration::from_millis(100));
    }
    // The client judges first: the server has no say any more.
    let error = session.renew().unwrap_err();
    is_refused(Refused::Server, error.into(), "it expired on");
}

#[test]
fn a_client_whose_certificate_expires_meanwhile_is_refused_by_the_server() {
    let two = Two::of_at_most(Duration::from_secs(12));
    // It would go on with the server for as long as it lasts.
    let lax = Access {
        checks: pki::Checks::ALL.without(pki::Checks::TIME),
        ..two.access(Credentials::Anonymous)
    };
    let opening = lax.discover().unwrap();
    let mut session = lax.open(&opening, &mut Steps::new()).unwrap();
    session.renew().unwrap();
    let end = two.client_is.not_after();
    while now() <= end {
        std::thread::sleep(Duration::from_millis(100));
    }
    let error = session.renew().unwrap_err();
    is_refused(Refused::Client, error.into(), "");
}

#[test]
fn a_rejected_user_certificate_is_refused_below_a_trusted_authority() {
    let two = Two::start();
    let user = || {
        let own = load::access::identity(&two.user_is).unwrap();
        Credentials::X509 {
            certificate: own.certificate,
            key: own.key,
        }
    };
    two.open_as(user()).unwrap();
    two.says("users", "reject", &two.user_is.certificate);
    let refused = two.open_as(user()).err().unwrap();
    assert_eq!(refused.status(), StatusCode::BadIdentityTokenRejected);
    two.says("users", "trust", &two.user_is.certificate);
    two.open_as(user()).unwrap();
}

/// It came in and read, however busy the machine was.
fn reads(said: &Said) {
    assert!([0, 4].contains(&said.code), "{}: {}", said.code, said.err);
}

#[test]
fn a_server_under_a_wrong_name_is_refused_and_stays_trusted() {
    let folder = TempDir::new().unwrap();
    let store = Store::new(folder.path().join("server"));
    let key = Key::generate(2048).unwrap();
    let request = Request::application("urn:test:server").dns("plc1");
    let certificate = request.self_signed(&key, now()).unwrap();
    store
        .put_own(Identity::new(certificate.clone(), key))
        .unwrap();
    let server = Server::start(store.folder(), &["--trust"]);
    let mine = Store::new(folder.path().join("pki"));
    mine.trust_certificate(&certificate).unwrap();
    let read = |more: &[&str]| {
        let words = ["read", &server.url, "-n", "i=2258", "--requests", "3"];
        let mut command = support::command(folder.path(), &words);
        Said::by(command.args(["--security", "best"]).args(more))
    };
    for _ in 0..2 {
        let said = read(&[]);
        assert_eq!(said.code, 1, "{}", said.err);
        for words in [
            "it is for plc1, connected was 127.0.0.1 (BadCertificateHostNameInvalid)",
            "uaperf cert show",
            "--skip-check",
        ] {
            assert!(said.err.contains(words), "{words}: {}", said.err);
        }
        let (trust, _) = mine.trust().unwrap();
        assert_eq!(trust.trusted, std::slice::from_ref(&certificate));
    }
    let noted = std::fs::read_dir(mine.certificates(Place::Rejected)).unwrap();
    assert_eq!(noted.count(), 1);
    // It never left the list: under another check it is good at once.
    reads(&read(&["--skip-check", "host"]));
}

#[test]
fn a_rejected_server_is_refused_with_the_command_that_takes_it_back() {
    let two = Two::start();
    two.says("client", "reject", &two.server_is);
    let read = || {
        let words = ["read", &two.server.url, "-n", "i=2258", "--requests", "3"];
        let mut command = support::command(two.folder.path(), &words);
        command.env("UAPERF_PKI", two.path("client"));
        Said::by(command.args(["--security", "best"]))
    };
    let said = read();
    assert_eq!(said.code, 1, "{}", said.err);
    for words in ["it was distrusted by hand", "uaperf cert trust"] {
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
    two.says("client", "trust", &two.server_is);
    reads(&read());
}

/// What becomes of clients without certificates that take over subscriptions of each other.
fn transfers(options: &[&str]) -> String {
    let folder = TempDir::new().unwrap();
    let server = Server::start(&folder.path().join("server"), options);
    let nodes = "nsu=urn:bench;i=3030";
    let mut command = support::command(folder.path(), &["subscribe", &server.url, "-n", nodes]);
    let words = "--items 1 --sessions 2 --duration 2s --churn transfer:5/s --quiet";
    let said = Said::by(command.args(words.split_whitespace()));
    format!("{}{}", said.out, said.err)
}

#[test]
fn a_claimed_application_takes_over_no_subscription_unless_the_server_lets_anyone() {
    for (options, words) in [
        (&[] as &[&str], "BadUserAccessDenied"),
        (&["--transfer", "same-user"], "BadUserAccessDenied"),
        (&["--transfer", "never"], "BadServiceUnsupported"),
    ] {
        let said = transfers(options);
        let refused = format!("the server refused a transfer of --churn: {words}");
        assert!(said.contains(&refused), "{options:?}: {said}");
        assert!(!said.contains("transfers, each took"), "{said}");
    }
    let said = transfers(&["--transfer", "anyone"]);
    assert!(said.contains("transfers, each took"), "{said}");
}

#[test]
fn a_server_with_a_certificate_of_sha1_is_refused_where_the_policy_wants_better() {
    let folder = TempDir::new().unwrap();
    let store = Store::new(folder.path().join("server"));
    let old = pki::testing::signed_with_sha1().unwrap();
    store.put_own(old.clone()).unwrap();
    let server = Server::start(store.folder(), &["--trust"]);
    let mine = Store::new(folder.path().join("pki"));
    mine.trust_certificate(&old.certificate).unwrap();
    let read = |security: &str| {
        let words = ["read", &server.url, "-n", "i=2258", "--requests", "3"];
        let mut command = support::command(folder.path(), &words);
        // Of whom it is and for which host is another question.
        Said::by(command.args([
            "--security",
            security,
            "--skip-check",
            "host,uri,time,usage",
        ]))
    };
    let said = read("Basic256Sha256:SignAndEncrypt");
    assert_eq!(said.code, 1, "{}", said.err);
    let why = "BadCertificatePolicyCheckFailed";
    assert!(said.err.contains(why), "{}", said.err);
    reads(&read("Basic256:SignAndEncrypt"));
}
