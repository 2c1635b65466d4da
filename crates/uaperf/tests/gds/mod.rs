//! Certificate managers and those who ask them: ours and node-opcua's in both roles.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use crate::support;
use crate::support::lab::Lab;
use crate::support::node::{self, Node, free_port};
use crate::support::{Said, Server, command};

/// Has a folder trust what these files hold.
fn trust(lab: &Lab, who: &str, files: &[PathBuf]) {
    let mut command = command(lab.folder.path(), &["cert", "trust", "--pki", who]);
    let said = Said::by(command.args(files));
    assert_eq!(said.code, 0, "{}", said.err);
}

fn authorities(lab: &Lab) -> Vec<PathBuf> {
    let names = ["root.der", "ca1.der", "root.crl", "ca1.crl"];
    names.map(|name| lab.path(&format!("lab/{name}"))).into()
}

/// The only file of a folder.
fn only(folder: PathBuf) -> PathBuf {
    let mut files = fs::read_dir(folder).unwrap();
    files.next().unwrap().unwrap().path()
}

#[test]
fn node_opcua_asks_our_certificate_manager() {
    let lab = Lab::new();
    let Some(mut node) = node::node("gds/client.js", lab.folder.path()) else {
        return;
    };
    lab.good("make lab --intermediates 1");
    lab.good("issue lab node --uri urn:test:node");
    lab.good("issue lab gone");
    lab.good("issue lab late --ago 10 --days 5");
    lab.good("revoke lab gone");
    trust(&lab, "gds", &authorities(&lab));
    let manager = Server::start(&lab.path("gds"), &["--check-revocation"]);
    let garbage = lab.path("garbage");
    fs::write(&garbage, "garbage").unwrap();
    let issued = |name: &str| lab.path(&format!("lab/issued/{name}"));
    let output = node
        .args([&manager.url[..]])
        .arg(lab.path("node"))
        .arg("urn:test:node")
        .args([issued("node.der"), issued("node.key"), issued("node.der")])
        .args([issued("gone.der"), issued("late.der"), garbage])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = support::text(&output.stdout);
    let lines: Vec<&str> = said.lines().collect();
    let expected = [
        "Good Good 30",
        "Good BadCertificateRevoked unknown",
        "Good BadCertificateTimeInvalid unknown",
        "Good BadCertificateInvalid unknown",
    ];
    let log = String::from_utf8_lossy(&output.stderr);
    assert_eq!(lines, expected, "{log}");
}

#[test]
fn we_ask_a_certificate_manager_of_node_opcua() {
    let lab = Lab::new();
    let Some(mut program) = node::node("gds/server.js", lab.folder.path()) else {
        return;
    };
    lab.good("make lab --intermediates 1");
    // The client's own is one that it makes: node-opcua takes such from anybody.
    lab.good("issue lab server --own --pki server");
    let mut made = command(lab.folder.path(), &["cert", "make", "--pki", "own"]);
    let said = Said::by(made.args(["--uri", "urn:test:gds"]));
    assert_eq!(said.code, 0, "{}", said.err);
    let own = only(lab.path("own/own/certs"));
    trust(&lab, "client", &[lab.path("lab/root.der"), own.clone()]);
    let port = free_port();
    let revoked = lab.path("revoked.der");
    program
        .arg(port.to_string())
        .arg(lab.path("node"))
        .arg("urn:test:gds")
        .args([own, only(lab.path("own/own/private")), revoked.clone()]);
    let mut node = Node::start(&mut program);
    assert_eq!(node.says("READY"), "");
    let server = Server::start(&lab.path("server"), &["--trust"]);
    let asks = format!("gds:opc.tcp://127.0.0.1:{port}");
    let probe = || {
        let words = ["probe", &server.url, "--security", "best", "--revocation"];
        let mut probe = command(lab.folder.path(), &words);
        let patience = ["--repeat", "1", "--revocation-timeout", "30s"];
        Said::by(probe.arg(&asks).args(patience).args(["--pki", "client"]))
    };
    let said = probe();
    assert_eq!(said.code, 0, "{}", said.err);
    fs::copy(lab.path("lab/issued/server.der"), &revoked).unwrap();
    let said = probe();
    assert!(said.err.contains("BadCertificateRevoked"), "{}", said.err);
    drop(node.child.stdin.take());
    node.child.wait().unwrap();
    fs::remove_file(&revoked).unwrap();
    let said = probe();
    let unknown = "BadCertificateRevocationUnknown";
    assert!(said.err.contains(unknown), "{}", said.err);
}
