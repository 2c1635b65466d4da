//! Agents at a broker inside TLS that knows its users by nkeys and by certificates.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Said, Server, Telling, command, json};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};

/// The broker of a test, and who waits there.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Base32 of RFC 4648, without padding.
fn base32(bytes: &[u8]) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bits: Vec<u8> = bytes
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |n| byte >> n & 1))
        .collect();
    let letter = |five: &[u8]| {
        let value = (0..5).fold(0, |sum, n| sum * 2 + five.get(n).copied().unwrap_or(0));
        alphabet[usize::from(value)] as char
    };
    bits.chunks(5).map(letter).collect()
}

/// With the sum that nkeys have at their end: CRC-16 of XMODEM, the low byte first.
fn summed(mut bytes: Vec<u8>) -> String {
    let mut sum = 0_u16;
    for byte in &bytes {
        sum ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            sum = match sum & 0x8000 {
                0 => sum << 1,
                _ => sum << 1 ^ 0x1021,
            };
        }
    }
    bytes.extend(sum.to_le_bytes());
    base32(&bytes)
}

/// The seed and the public key of a user, as nkeys write them.
fn nkey(seed: [u8; 32]) -> (String, String) {
    const SEED: u8 = 18 << 3;
    const USER: u8 = 20 << 3;
    let pair = Ed25519KeyPair::from_seed_unchecked(&seed).unwrap();
    let head = [SEED | USER >> 5, (USER & 31) << 3];
    let secret = summed([&head[..], &seed].concat());
    let public = summed([&[USER], pair.public_key().as_ref()].concat());
    assert!(secret.starts_with("SU") && public.starts_with('U'));
    (secret, public)
}

fn good(folder: &Path, words: &str) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    let said = Said::by(&mut command(folder, &words));
    assert_eq!(said.code, 0, "{words:?}: {}", said.err);
    said.out
}

/// What is in a file of certificates, as PEM.
fn pem(from: &Path, to: &Path) {
    let all = pki::store::read_certificates(from).unwrap();
    let text: String = all.iter().map(pki::Certificate::pem).collect();
    std::fs::write(to, text).unwrap();
}

/// An authority of `uaperf ca`, a broker with a certificate of it, and its port.
fn broker(folder: &Path, users: &str, verifies: bool) -> Option<(Ended, u16)> {
    let program = peers::testing::require("nats-server")?.program();
    good(folder, "ca make lab");
    good(folder, "ca issue lab broker --ip 127.0.0.1");
    good(folder, "ca issue lab client --ip 127.0.0.1");
    let issued = folder.join("lab/issued");
    for name in ["broker", "client"] {
        let file = |ending: &str| issued.join(format!("{name}.{ending}"));
        pem(&file("der"), &file("pem"));
    }
    pem(&folder.join("lab/root.der"), &folder.join("root.pem"));
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let (at, root) = (issued.display(), folder.join("root.pem"));
    let verify = match verifies {
        true => format!("ca_file: \"{}\"\n  verify: true", root.display()),
        false => String::new(),
    };
    let config = format!(
        "listen: \"127.0.0.1:{port}\"\ntls {{\n  cert_file: \"{at}/broker.pem\"\n  key_file: \"{at}/broker.key\"\n  \
         {verify}\n}}\n{users}\n"
    );
    std::fs::write(folder.join("nats.conf"), config).unwrap();
    let child = Command::new(program)
        .args(["-c", "nats.conf"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let child = Ended(child);
    let since = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(since.elapsed() < Duration::from_secs(30), "no broker");
        std::thread::sleep(Duration::from_millis(20));
    }
    Some((child, port))
}

/// An agent that waits there.
fn agent(mut of: Command) -> Ended {
    let mut child = of.stderr(Stdio::piped()).spawn().unwrap();
    let mut telling = Telling::of(&mut child);
    telling.until("waits for loads under lab");
    // What else it says goes nowhere.
    drop(telling.whole());
    Ended(child)
}

const AGENT: [&str; 10] = [
    "agent",
    "--tag=lab",
    "--name=a",
    "--allow-from",
    "keys",
    "--targets",
    "127.0.0.1",
    "--loads",
    "read,publish",
    "--nats",
];

#[test]
fn a_broker_inside_tls_carries_loads_of_users_whose_nkeys_it_knows_and_of_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (seed, public) = nkey([7; 32]);
    let (other, _) = nkey([8; 32]);
    let all = "\"uaperf.one.>\"";
    let users = format!(
        "authorization {{ users = [ {{ nkey: {public}, permissions: {{ publish: {all}, subscribe: {all} }} }} ] }}"
    );
    let Some((_broker, port)) = broker(path, &users, false) else {
        return;
    };
    std::fs::write(path.join("seed"), &seed).unwrap();
    std::fs::write(path.join("other"), &other).unwrap();
    let url = format!("tls://127.0.0.1:{port}");
    let uaperf = |words: &[&str], ca: bool, nkey: Option<&str>| {
        let mut command = command(path, words);
        command
            .env("UAPERF_FLEET_KEY", path.join("fleet.key"))
            .env("UAPERF_NATS_TENANT", "one")
            .env("UAPERF_NATS_URL", &url);
        if ca {
            command.env("UAPERF_NATS_CA", path.join("root.pem"));
        }
        if let Some(file) = nkey {
            command.env("UAPERF_NATS_NKEY", path.join(file));
        }
        command
    };
    let key = Said::by(&mut uaperf(&["fleet", "key"], false, None));
    std::fs::write(path.join("keys"), key.out).unwrap();
    let check = ["fleet", "check", "nats:lab"];
    let refused = |ca: bool, nkey: Option<&str>, want: &str| {
        let said = Said::by(&mut uaperf(&check, ca, nkey));
        assert!(matches!(said.code, 1 | 2), "{} {}", said.code, said.err);
        assert!(said.err.contains(want), "{want}: {}", said.err);
    };
    // An authority that nobody knows, no key, and the key of somebody else.
    refused(false, Some("seed"), "no TLS with the broker");
    refused(true, None, "refuses this user");
    refused(true, Some("other"), "refuses this user");
    refused(true, Some("seed"), "no agent waits under the tag lab");

    let server = Server::start(&path.join("server"), &["--profile", "bench"]);
    let words = [&AGENT[..], &[&url]].concat();
    let _agent = agent(uaperf(&words, true, Some("seed")));
    let read = [
        "read",
        &server.url,
        "-n",
        "nsu=urn:bench;i=1000..1099",
        "--requests",
        "300",
        "--sessions",
        "3",
        "--fleet",
        "nats:lab",
        "--out",
        "run.json",
    ];
    let said = Said::by(&mut uaperf(&read, true, Some("seed")));
    assert!(matches!(said.code, 0 | 4), "{}{}", said.out, said.err);
    let run = json(&path.join("run.json"));
    assert_eq!(run["phases"][0]["total"]["completed"], 300);
    assert_eq!(run["hosts"][0]["name"], "nats:lab/a");

    // A publisher's keys pass the broker, as it is inside TLS. The agent is free when its process has ended.
    let free = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = free.local_addr().unwrap();
    drop(free);
    let scenario = format!(
        "[[phase]]\nservice = 'publish'\nto = 'opc.udp://{to}'\nsignals = 10\ninterval = '20ms'\nduration = '1s'\n\
         security = 'sign'\non = 'nats:lab'\n"
    );
    std::fs::write(path.join("x.toml"), scenario).unwrap();
    let run = ["run", "x.toml", "--quiet", "--out"];
    let mut said = None;
    for n in 0..20 {
        let out = format!("out{n}");
        let words = [&run[..], &[&out]].concat();
        let it = Said::by(&mut uaperf(&words, true, Some("seed")));
        let is_busy = it.out.contains("no agent is free") || it.out.contains("at work");
        let text = format!("{}{}", it.out, it.err);
        said = Some((it.code, path.join(out), text));
        if !is_busy {
            break;
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    let (code, out, text) = said.unwrap();
    assert!(matches!(code, 0 | 4), "{text}");
    let run = json(&out.join("001-point1-1.json"));
    let told = &run["phases"][0]["pubsub"];
    assert_eq!(told["listeners"][0]["values"], 500, "{told}");
    assert_eq!(run["hosts"][0]["name"], "nats:lab/a");
}

#[test]
fn a_broker_that_asks_for_certificates_is_shown_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let Some((_broker, port)) = broker(path, "", true) else {
        return;
    };
    let check = |shows: bool| {
        let mut command = command(path, &["fleet", "check", "nats:lab"]);
        command
            .env("UAPERF_NATS_URL", format!("tls://127.0.0.1:{port}"))
            .env("UAPERF_NATS_CA", path.join("root.pem"));
        if shows {
            let issued = path.join("lab/issued");
            command.env("UAPERF_NATS_CERT", issued.join("client.pem"));
            command.env("UAPERF_NATS_KEY", issued.join("client.key"));
        }
        Said::by(&mut command)
    };
    let without = check(false);
    assert!(without.code != 0, "{}", without.out);
    assert!(!without.err.contains("no agent waits"), "{}", without.err);
    // Who shows one comes in: nobody waits there yet.
    let shown = check(true);
    assert!(
        shown.err.contains("no agent waits under the tag lab"),
        "{}",
        shown.err
    );
}
