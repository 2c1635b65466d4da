//! The key service of PubSub, asked by clients that we did not write (Part 14, 8.3.2).

use std::time::Duration;

use peers::testing::require;
use peers::{ClientOptions, Mode, Policy};
use plant::{Config, Profile, SecurityGroup, Server};
use wire::policy::pubsub::SecurityKeys;

use super::written;

/// The stacks whose clients ask.
const ASK: [&str; 2] = ["node-opcua", "asyncua"];

#[test]
fn clients_get_the_keys_of_a_group_over_encrypted_channels_only() {
    let stacks: Vec<_> = ASK.iter().filter_map(|name| require(name)).collect();
    if stacks.is_empty() {
        return;
    }
    let key = pki::Key::make(pki::KeyKind::Rsa(2048)).unwrap();
    let certificate = pki::make::Request::application("urn:uaperf:interop:keys")
        .host("localhost")
        .host("127.0.0.1")
        .self_signed(&key, std::time::SystemTime::now().into())
        .unwrap();
    let server = Server::start(Config {
        // Clients look for it as soon as they are there.
        profiles: vec![Profile::Bench { update: None }],
        identity: Some(pki::Identity::new(certificate, key)),
        security_groups: vec![SecurityGroup {
            lifetime: Duration::from_secs(600),
            ..SecurityGroup::new("bench")
        }],
        ..Config::default()
    })
    .unwrap();
    let told = server.watch().security_keys("bench", 0, 3).unwrap();
    let hex = |key: &[u8]| key.iter().map(|byte| format!("{byte:02x}")).collect();
    let keys: Vec<String> = told.keys.iter().map(|key| hex(key)).collect();
    let (url, told) = (server.url(), &told);
    std::thread::scope(|scope| {
        for stack in stacks {
            let keys = &keys;
            scope.spawn(move || {
                for (policy, mode) in [
                    (Policy::Basic256Sha256, Mode::SignAndEncrypt),
                    (Policy::Basic256Sha256, Mode::Sign),
                ] {
                    let more = ClientOptions {
                        policy,
                        mode,
                        ..ClientOptions::default()
                    };
                    let text = written(stack, url, "keys", more);
                    match mode {
                        Mode::SignAndEncrypt => are_keys(&text, told, keys, stack.name),
                        _ => assert_eq!(text.trim(), "BadSecurityModeInsufficient"),
                    }
                }
            });
        }
    });
    let counts = server.watch().security_groups();
    assert!(counts[0].given >= 2, "{counts:?}");
}

/// Whether a client got what the server has.
fn are_keys(text: &str, told: &SecurityKeys, keys: &[String], stack: &str) {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(told.policy.uri().as_str()), "{stack}");
    assert_eq!(lines.next(), Some("1"), "{stack}");
    let to_next: u64 = lines.next().unwrap().parse().unwrap();
    assert!((1..=600_000).contains(&to_next), "{stack}: {to_next} ms");
    assert_eq!(lines.next(), Some("600000"), "{stack}");
    assert!(lines.eq(keys.iter()), "{stack}: other keys");
}
