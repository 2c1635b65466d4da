//! The one stack whose client knows WebSockets inside TLS.

use peers::testing::require;
use peers::{Client, ClientOptions, Mode, Policy};
use pki::make::Request;
use pki::{Identity, Key};
use plant::{Config, Profile, Server};

#[test]
fn milo_06_works_over_wss_under_each_policy() {
    let Some(stack) = require("milo06") else {
        return;
    };
    let key = Key::generate(2048).unwrap();
    let request = Request::application("urn:uaperf:interop:wss").dns("localhost");
    let certificate = request.self_signed(&key, std::time::SystemTime::now().into());
    let server = Server::start(Config {
        profiles: vec![Profile::Bench { update: None }],
        identity: Some(Identity::new(certificate.unwrap(), key)),
        wss: Some(0),
        ..Config::default()
    })
    .unwrap();
    let url = server.wss_url().unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (policy, mode) in [
        (Policy::None, Mode::None),
        (Policy::Basic256Sha256, Mode::Sign),
        (Policy::Basic256Sha256, Mode::SignAndEncrypt),
        (Policy::Aes128Sha256RsaOaep, Mode::SignAndEncrypt),
        (Policy::Aes256Sha256RsaPss, Mode::SignAndEncrypt),
    ] {
        let options = ClientOptions {
            policy,
            mode,
            pki: Some(folder.path().to_owned()),
            ..ClientOptions::default()
        };
        let report = Client::run(stack, url, &options).unwrap();
        assert!(report.all_ok(), "{policy:?} {mode:?}: {report:?}");
    }
    // All of it came over WebSockets: discovery and session of each.
    assert!(server.counted().cumulated_connections >= 10);
}
