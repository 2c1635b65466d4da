//! Each stack's client against its own server: what does not work here says nothing about ours.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use peers::testing::{require, say, start};
use peers::{Client, ClientOptions, Mode, Policy, Server, Stack, StartOptions, Token};

fn now() -> pki::Moment {
    SystemTime::now().into()
}

/// A user's certificate and key, as files.
fn user_certificate(dir: &Path) -> (PathBuf, PathBuf) {
    let key = pki::Key::generate(2048).unwrap();
    let request = pki::make::Request::application("urn:uaperf:peers:user").common_name("bench");
    let certificate = request.days(30).self_signed(&key, now()).unwrap();
    let files = (dir.join("user.der"), dir.join("user.pem"));
    fs::write(&files.0, certificate.der()).unwrap();
    fs::write(&files.1, key.pem().as_bytes()).unwrap();
    files
}

fn in_common<T: Copy + PartialEq>(a: &'static [T], b: &'static [T]) -> Vec<T> {
    a.iter().copied().filter(|x| b.contains(x)).collect()
}

/// Runs the client and gives what was wrong, or nothing.
fn complaint(stack: &'static Stack, server: &Server, options: &ClientOptions) -> Option<String> {
    let report = match Client::run(stack, server.url(), options) {
        Ok(report) => report,
        Err(error) => return Some(error.to_string()),
    };
    if !report.all_ok() {
        return Some(format!("{:?}", report.error));
    }
    let read = report.steps.read.as_ref();
    let wrong = read.map(|read| read.disagreements()).unwrap_or_default();
    (!wrong.is_empty()).then(|| wrong.join("; "))
}

/// None and the strongest policy of RSA that both sides have, in every mode and with every token: those between differ
/// in names of algorithms only, and each cell starts a program of theirs. Curves are left to the tables, where an
/// agreement that open62541 gets wrong now and then is tried again.
fn agrees_with_itself(name: &str) {
    let Some(stack) = require(name) else { return };
    let server = start(stack, &StartOptions::default());
    let dir = tempfile::tempdir().unwrap();
    let user_certificate = user_certificate(dir.path());
    let mut policies = in_common(stack.offers.policies, stack.speaks.policies);
    policies.retain(|it| Policy::OF_RSA.contains(it));
    let tokens = in_common(stack.offers.tokens, stack.speaks.tokens);
    let strongest = *policies.last().unwrap();
    policies.retain(|it| *it == Policy::None || *it == strongest);

    let begin = Instant::now();
    let mut complaints = Vec::new();
    let mut complete = HashSet::new();
    let mut cells = 0;
    for &policy in &policies {
        for &mode in policy.modes() {
            for &token in &tokens {
                let every_token = policy == Policy::None || mode == Mode::SignAndEncrypt;
                if token != Token::UserName && !every_token {
                    continue;
                }
                let options = ClientOptions {
                    policy,
                    mode,
                    user: (token == Token::UserName).then(|| ("bench".into(), "bench".into())),
                    user_certificate: (token == Token::X509).then(|| user_certificate.clone()),
                    // all steps once per policy
                    steps: match complete.insert(policy) {
                        true => Vec::new(),
                        false => vec!["connect", "read"],
                    },
                    ..ClientOptions::default()
                };
                cells += 1;
                if let Some(what) = complaint(stack, &server, &options) {
                    complaints.push(format!("{policy} {mode} {token}: {what}"));
                }
            }
        }
    }
    say(&format!(
        "{name}: {cells} cells against itself in {:.1?}",
        begin.elapsed()
    ));
    let log = fs::read_to_string(server.log()).unwrap_or_default();
    assert!(complaints.is_empty(), "{}\n{log}", complaints.join("\n"));
}

#[test]
fn asyncua_agrees_with_itself() {
    agrees_with_itself("asyncua");
}

#[test]
fn python_opcua_agrees_with_itself() {
    agrees_with_itself("pyopcua");
}

#[test]
fn node_opcua_agrees_with_itself() {
    agrees_with_itself("node-opcua");
}

#[test]
fn open62541_agrees_with_itself() {
    agrees_with_itself("open62541");
}

#[test]
fn async_opcua_agrees_with_itself() {
    agrees_with_itself("async-opcua");
}

#[test]
fn milo_1_agrees_with_itself() {
    agrees_with_itself("milo1");
}

#[test]
fn milo_0_6_agrees_with_itself() {
    agrees_with_itself("milo06");
}

#[test]
fn a_wrong_password_is_refused_and_reported() {
    for name in ["asyncua", "pyopcua", "node-opcua"] {
        let Some(stack) = require(name) else { continue };
        let server = start(stack, &StartOptions::default());
        let options = ClientOptions {
            user: Some(("bench".into(), "guess".into())),
            ..ClientOptions::default()
        };
        let report = Client::run(stack, server.url(), &options).unwrap();
        let connect = report.steps.connect.unwrap().outcome;
        assert!(!connect.ok, "{name} let a wrong password in");
        assert!(report.error.unwrap().starts_with("connect: "));
    }
}

#[test]
fn a_strict_server_lets_in_only_those_that_it_trusts() {
    for name in ["asyncua", "node-opcua"] {
        let Some(stack) = require(name) else { continue };
        let dir = tempfile::tempdir().unwrap();
        let key = pki::Key::generate(2048).unwrap();
        // the URI that the peer's client calls itself by
        let uri = format!("urn:uaperf:peers:{name}:client");
        let request = pki::make::Request::application(uri)
            .dns("localhost")
            .days(30);
        let certificate = request.self_signed(&key, now()).unwrap();
        let files = (dir.path().join("cert.der"), dir.path().join("key.pem"));
        fs::write(&files.0, certificate.der()).unwrap();
        fs::write(&files.1, key.pem().as_bytes()).unwrap();
        let client = ClientOptions {
            policy: Policy::Basic256Sha256,
            mode: Mode::SignAndEncrypt,
            certificate: Some(files),
            steps: vec!["connect"],
            ..ClientOptions::default()
        };
        let pki = dir.path().join("server");
        let strict = StartOptions {
            strict: true,
            pki: Some(pki.clone()),
            ..StartOptions::default()
        };

        let server = start(stack, &strict);
        let refused = complaint(stack, &server, &client);
        assert!(refused.is_some(), "{name} trusts an unknown client");
        drop(server);

        let trusted = pki.join("trusted").join("certs");
        fs::create_dir_all(&trusted).unwrap();
        fs::write(trusted.join("client.der"), certificate.der()).unwrap();
        // node-opcua remembers unknown clients
        let _ = fs::remove_dir_all(pki.join("rejected"));
        let server = start(stack, &strict);
        let log = server.log().to_owned();
        let complaint = complaint(stack, &server, &client);
        assert_eq!(complaint, None, "{}", fs::read_to_string(log).unwrap());
    }
}
