//! The other stacks' clients against the other stacks' servers: shows that all peers keep to the
//! same contract, and where two stacks disagree among themselves, so that neither is taken for
//! the truth when ours disagrees with one of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Instant;

use peers::testing::{require, say, start};
use peers::{Client, ClientOptions, Mode, Policy, Stack, StartOptions, State};

/// Pairs that are known to disagree: client, server, policy, and why.
const KNOWN: &[(&str, &str, Policy, &str)] = &[];

fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

fn others_agree_with(name: &str) {
    let Some(target) = require(name) else { return };
    let server = start(target, &StartOptions::default());
    let begin = Instant::now();
    let mut complaints = Vec::new();
    for client in Stack::all().iter().filter(|stack| stack.name != name) {
        // Building all of them takes minutes: only where the environment says CI=true.
        if !in_ci() && !matches!(client.state(), State::Installed) {
            say(&format!(
                "SKIPPED {} as client: not installed: uaperf peers install {0}",
                client.name
            ));
            continue;
        }
        let Some(client) = require(client.name) else {
            continue;
        };
        for (policy, mode) in [
            (Policy::None, Mode::None),
            (Policy::Basic256Sha256, Mode::SignAndEncrypt),
        ] {
            let options = ClientOptions {
                policy,
                mode,
                user: Some(("bench".into(), "bench".into())),
                ..ClientOptions::default()
            };
            let complaint = match Client::run(client, server.url(), &options) {
                Err(error) => Some(error.to_string()),
                Ok(report) if !report.all_ok() => report.error,
                Ok(report) => report
                    .steps
                    .read
                    .and_then(|read| read.disagreements().into_iter().next()),
            };
            let known = KNOWN
                .iter()
                .find(|(c, s, p, _)| (*c, *s, *p) == (client.name, name, policy));
            match (complaint, known) {
                (None, None) => {}
                (Some(what), Some((.., why))) => {
                    say(&format!(
                        "{} on {name}, {policy}: {what} (known: {why})",
                        client.name
                    ));
                }
                (Some(what), None) => {
                    complaints.push(format!("{} on {name}, {policy}: {what}", client.name));
                }
                (None, Some((.., why))) => complaints.push(format!(
                    "{} on {name}, {policy}: works now, although {why}",
                    client.name
                )),
            }
        }
    }
    say(&format!(
        "{name}: all other clients in {:.1?}",
        begin.elapsed()
    ));
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn other_clients_agree_with_asyncua() {
    others_agree_with("asyncua");
}

#[test]
fn other_clients_agree_with_python_opcua() {
    others_agree_with("pyopcua");
}

#[test]
fn other_clients_agree_with_node_opcua() {
    others_agree_with("node-opcua");
}
