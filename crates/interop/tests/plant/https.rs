//! The one stack that comes from a registry and knows HTTPS, as a client of ours and as a server to ours.

use std::net::TcpListener;
use std::time::Duration;

use load::access::{Access, TrustRule};
use load::transport::Steps;
use peers::testing::require;
use peers::{Client, ClientOptions, StartOptions};
use pki::make::Request;
use pki::{Identity, Key, Store};
use plant::{Config, Profile, Server};

#[test]
fn milo_06_works_over_https() {
    let Some(stack) = require("milo06") else {
        return;
    };
    let key = Key::generate(2048).unwrap();
    let request = Request::application("urn:uaperf:interop:https").dns("localhost");
    let certificate = request.self_signed(&key, std::time::SystemTime::now().into());
    let server = Server::start(Config {
        profiles: vec![Profile::Bench { update: None }],
        identity: Some(Identity::new(certificate.unwrap(), key)),
        https: Some(0),
        threads: 2,
        ..Config::default()
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = ClientOptions {
        pki: Some(folder.path().to_owned()),
        ..ClientOptions::default()
    };
    let report = Client::run(stack, server.https_url().unwrap(), &options).unwrap();
    assert!(report.all_ok(), "{report:?}");
    let counted = server.counted();
    // Its Publish requests wait on connections beside the one of its other requests.
    assert!(counted.cumulated_connections >= 2, "{counted:?}");
    assert!(counted.notifications > 0, "{counted:?}");
}

#[test]
fn a_session_of_ours_works_on_milo_06_over_https() {
    let Some(stack) = require("milo06") else {
        return;
    };
    let port = {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let options = StartOptions {
        extra: vec!["--https".into(), port.to_string()],
        ..StartOptions::default()
    };
    let _server = peers::Server::start(stack, &options).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("opc.https://127.0.0.1:{port}/bench");
    let mut access = Access::new(
        url.parse().unwrap(),
        Store::new(folder.path()),
        Request::application("urn:uaperf:interop:client").dns("localhost"),
    );
    access.trust = TrustRule::Everyone;
    // Its first handshake of TLS takes seconds on a busy machine.
    access.timeout = Duration::from_secs(60);
    let opening = access.discover().unwrap();
    assert_eq!(opening.endpoints().len(), 1);
    let mut session = access.open(&opening, &mut Steps::new()).unwrap();
    for _ in 0..10 {
        let state = session.read_state().unwrap();
        assert_eq!(state.results.unwrap().len(), 1);
    }
    session.close(&mut Steps::new()).unwrap();
}
