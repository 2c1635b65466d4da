//! The same inside TLS, with certificates of `uaperf ca`.

use std::path::Path;

use serde_json::Value;

use super::{end, listen, number, publish};
use crate::support::broker::Broker;
use crate::support::{Said, Server, command};

fn good(folder: &Path, words: &str) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    let said = Said::by(&mut command(folder, &words));
    assert_eq!(said.code, 0, "{words:?}: {}", said.err);
    said.out
}

/// An authority, and a certificate of it for a broker on the loopback.
fn certificates(folder: &Path) {
    good(folder, "ca make lab");
    good(
        folder,
        "ca issue lab broker --ip 127.0.0.1 --dns broker.example",
    );
    let issued = folder.join("lab/issued");
    let certificate = pki::store::read_certificates(&issued.join("broker.der")).unwrap();
    let pem: String = certificate.iter().map(pki::Certificate::pem).collect();
    std::fs::write(issued.join("broker.pem"), pem).unwrap();
}

fn config(folder: &Path, more: &str) -> String {
    let issued = folder.join("lab/issued");
    format!(
        "certfile {0}/broker.pem\nkeyfile {0}/broker.key\n{more}",
        issued.display()
    )
}

#[test]
fn a_broker_inside_tls_is_judged_as_servers_of_opc_wss_are() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    certificates(folder);
    let Some(broker) = Broker::start(folder, &config(folder, "allow_anonymous true")) else {
        return;
    };
    // Nobody knows it yet: both say what to do, and nothing was sent.
    for verb in ["publish", "listen"] {
        let url = broker.url("");
        let said = Said::by(&mut command(folder, &[verb, &url, "--duration", "1s"]));
        assert_eq!(said.code, 1, "{}{}", said.out, said.err);
        assert!(
            said.err
                .contains("the server's TLS certificate is not accepted"),
            "{}",
            said.err
        );
        assert!(said.err.contains("uaperf cert trust "), "{}", said.err);
    }
    // Once, whatever it is.
    let words = ["--cycles", "5", "--interval", "5ms", "--qos", "1"];
    let (sent, code) = publish(
        folder,
        &broker.url(""),
        &[&words[..], &["--trust"]].concat(),
    );
    assert!([0, 4].contains(&code), "{sent:#}");
    // For good, by the authority, of which a list is there.
    good(folder, "cert trust lab/root.der lab/root.crl");
    let listener = listen(folder, &broker.url("/opcua/#"), &["--datagrams", "5"]);
    let (sent, code) = publish(folder, &broker.url(""), &words);
    assert!([0, 4].contains(&code), "{sent:#}");
    assert_eq!(number(&sent, "/result/mqtt/acknowledged"), 5, "{sent:#}");
    let (heard, code) = end(listener);
    assert_eq!(code, 0, "{heard:#}");
    assert_eq!(number(&heard, "/result/datagrams"), 5, "{heard:#}");
    for told in [&sent, &heard] {
        let tls = told.pointer("/result/mqtt/tls").and_then(Value::as_str);
        assert!(tls.unwrap().starts_with("TLS 1.3 with TLS_"), "{told:#}");
    }
    // It is not the host of its certificate.
    let other = broker.url("").replace("127.0.0.1", "localhost");
    let said = Said::by(&mut command(folder, &["publish", &other, "--cycles", "1"]));
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    assert!(said.err.contains("localhost"), "{}", said.err);
    assert!(
        said.err.contains("BadCertificateHostNameInvalid"),
        "{}",
        said.err
    );

    // Its authority takes it back.
    good(folder, "ca revoke lab broker");
    good(folder, "cert trust lab/root.crl");
    let said = Said::by(&mut command(
        folder,
        &["listen", &broker.url(""), "--duration", "1s"],
    ));
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    assert!(said.err.contains("BadCertificateRevoked"), "{}", said.err);

    // What has no TLS is no such broker, and the other way round.
    let plain = broker.url("").replace("mqtts", "mqtt");
    let said = Said::by(&mut command(folder, &["publish", &plain, "--cycles", "1"]));
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(
        said.err.contains("mqtts:// is for ports with TLS"),
        "{}",
        said.err
    );
}

#[test]
fn large_messages_and_passwords_go_through_tls() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    certificates(folder);
    // A password file of mosquitto is made by its own tool; without one, nobody comes in.
    let Some(broker) = Broker::start(folder, &config(folder, "allow_anonymous false")) else {
        return;
    };
    std::fs::write(folder.join("secret"), "hidden-word\n").unwrap();
    let of_user = ["--user", "me", "--password-file", "secret", "--trust"];
    let said =
        Said::by(command(folder, &["publish", &broker.url(""), "--cycles", "1"]).args(of_user));
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    assert!(
        said.err.contains("the broker refuses: not authorised"),
        "{}",
        said.err
    );
    drop(broker);
    let Some(broker) = Broker::start(folder, &config(folder, "allow_anonymous true")) else {
        return;
    };
    // Each message is more than a record of TLS, and more than a socket takes at once.
    let listener = listen(
        folder,
        &broker.url("/opcua/#"),
        &["--trust", "--datagrams", "20"],
    );
    let words = [
        "--trust",
        "--mapping",
        "json",
        "--signals",
        "8000",
        "--qos",
        "2",
        "--cycles",
        "20",
        "--interval",
        "10ms",
    ];
    let (sent, code) = publish(folder, &broker.url(""), &words);
    assert!([0, 4].contains(&code), "{sent:#}");
    assert_eq!(number(&sent, "/result/mqtt/acknowledged"), 20, "{sent:#}");
    let (heard, code) = end(listener);
    assert_eq!(code, 0, "{heard:#}");
    assert_eq!(number(&heard, "/result/values"), 20 * 8000, "{heard:#}");
}

#[test]
fn a_broker_that_wants_to_know_its_clients_is_shown_their_certificates() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    certificates(folder);
    good(folder, "ca issue lab client --ip 127.0.0.1");
    let root = pki::store::read_certificates(&folder.join("lab/root.der")).unwrap();
    let root: String = root.iter().map(pki::Certificate::pem).collect();
    std::fs::write(folder.join("root.pem"), root).unwrap();
    let more = format!(
        "cafile {}/root.pem\nrequire_certificate true\nallow_anonymous true",
        folder.display()
    );
    let Some(broker) = Broker::start(folder, &config(folder, &more)) else {
        return;
    };
    let words = [
        "--cycles",
        "5",
        "--interval",
        "5ms",
        "--qos",
        "1",
        "--trust",
    ];
    let url = broker.url("");
    let without = [&["publish", &url], &words[..]].concat();
    let said = Said::by(&mut command(folder, &without));
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    let own = [
        "--client-cert",
        "lab/issued/client.der",
        "--client-key",
        "lab/issued/client.key",
    ];
    let shown = [&words[..], &own].concat();
    let (sent, code) = publish(folder, &broker.url(""), &shown);
    assert!([0, 4].contains(&code), "{sent:#}");
    assert_eq!(number(&sent, "/result/mqtt/acknowledged"), 5, "{sent:#}");
    // Not over a connection that everybody can read.
    let words = [&["publish", "mqtt://127.0.0.1:9"], &own[..]].concat();
    let said = Said::by(&mut command(folder, &words));
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("inside TLS"), "{}", said.err);
}

#[test]
fn a_plant_shows_its_certificate_to_a_broker_that_asks_for_one() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    certificates(folder);
    good(folder, "ca issue lab client --ip 127.0.0.1");
    let root = pki::store::read_certificates(&folder.join("lab/root.der")).unwrap();
    let root: String = root.iter().map(pki::Certificate::pem).collect();
    std::fs::write(folder.join("root.pem"), root).unwrap();
    let more = format!(
        "cafile {}/root.pem\nrequire_certificate true\nallow_anonymous true",
        folder.display()
    );
    let Some(broker) = Broker::start(folder, &config(folder, &more)) else {
        return;
    };
    let url = broker.url("/plant");
    let file = folder.join("line.toml").display().to_string();
    let write = |own: &str| {
        let text = format!(
            "[[namespace]]\nuri = 'urn:line'\n[[namespace.signals]]\ncount = 30\nname = 'A{{n}}'\ntype = 'UInt32'\n\
             pattern = 'counter'\nupdate = '20ms'\n[[publish]]\nto = '{url}'\ninterval = '20ms'\nqos = 1\n{own}"
        );
        std::fs::write(&file, text).unwrap();
    };
    let refused = |own: &str| {
        write(own);
        let words = ["serve", "line.toml", "--port", "0", "--trust"];
        let said = Said::by(&mut command(folder, &words));
        assert!(!said.out.contains("READY"), "{}", said.out);
        said
    };
    let said = refused("");
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    assert!(said.err.contains(&url), "{}", said.err);
    let own = [
        "--client-cert",
        "lab/issued/client.der",
        "--client-key",
        "lab/issued/client.key",
    ];
    let words = [&own[..], &["--trust", "--datagrams", "10"]].concat();
    let listener = listen(folder, &broker.url("/plant/#"), &words);
    // Files are looked for beside that of the plant.
    write("client_cert = 'lab/issued/client.der'\nclient_key = 'lab/issued/client.key'\n");
    let server = Server::start(&folder.join("server"), &[&file, "--trust"]);
    let (heard, _) = end(listener);
    drop(server);
    assert_eq!(number(&heard, "/result/datagrams"), 10, "{heard:#}");
    assert_eq!(number(&heard, "/result/values"), 300, "{heard:#}");
    // Neither without its key, nor where everybody could read it.
    let said = refused("client_cert = 'lab/issued/client.der'\n");
    assert_ne!(said.code, 0);
    assert!(said.err.contains("client_key"), "{}", said.err);
    let words = [
        "serve",
        "--publish",
        "mqtt://127.0.0.1:9",
        "--publish-client-cert",
        "a",
        "--publish-client-key",
        "b",
    ];
    let said = Said::by(&mut command(folder, &words));
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("inside TLS"), "{}", said.err);
}
