//! `--pcap`: connections as captures, at both ends, clear and encrypted.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod keys;
mod limits;
mod taken;
mod tshark;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::support::{Said, Server, command};
use taken::{Block, Sent, blocks, chunks, connections, names};

/// Types of messages by the ids of their encodings (Part 6, A.3).
const READ_REQUEST: u32 = 631;
const READ_RESPONSE: u32 = 634;

/// A folder with a server that is recorded in it.
struct Bench {
    folder: tempfile::TempDir,
    server: Server,
    port: u16,
}

impl Bench {
    fn start(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let capture = folder.path().join("server.pcapng");
        let recorded = ["--trust", "--pcap", capture.to_str().unwrap()];
        let server = Server::start(
            &folder.path().join("server"),
            &[&recorded, options].concat(),
        );
        let port = server.url.rsplit_once(':').unwrap().1;
        let port = port.trim_end_matches('/').parse().unwrap();
        Self {
            folder,
            server,
            port,
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command of a client that goes well, with what is to be believed of its figures left open.
    fn ask(&self, words: &[&str]) -> Said {
        let words = [&words[..1], &[&self.server.url], &words[1..]].concat();
        let said = Said::by(&mut command(self.folder.path(), &words));
        assert!([0, 4].contains(&said.code), "{}", said.err);
        said
    }

    /// Ends the server, and gives the connections that it recorded.
    fn end(&mut self) -> BTreeMap<u16, Sent> {
        self.server.signal("INT");
        assert!(self.server.child.wait().unwrap().success());
        connections(&blocks(&self.at("server.pcapng")), self.port)
    }

    fn taken(&self, name: &str) -> BTreeMap<u16, Sent> {
        connections(&blocks(&self.at(name)), self.port)
    }
}

/// The lines of all secrets in a capture, each before the chunks of its token.
fn secrets(file: &Path) -> String {
    let mut all = String::new();
    for block in blocks(file) {
        match block {
            Block::Secrets(lines) => all.push_str(&lines),
            Block::Segment(it) if it.payload.starts_with(b"MSG") => {
                let (channel, token) = names(&it.payload);
                let line = format!("client_key_{channel}_{token}: ");
                // The look at the endpoints is clear.
                if !all.contains(&line) {
                    assert_eq!(it.payload[24..26], [1, 0], "encrypted, without a key");
                }
            }
            Block::Segment(_) => {}
        }
    }
    all
}

fn read(security: &str, file: &str) -> Vec<String> {
    let words = ["read", "-n", "i=2258", "--requests", "20", "--quiet"];
    let words = words.into_iter().chain(["--security", security]);
    let words = words.chain(["--trust", "--pcap", file]);
    words.map(str::to_owned).collect()
}

fn refs(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

#[test]
fn both_ends_record_the_same_bytes_in_whole_connections() {
    let mut bench = Bench::start(&["--security", "none"]);
    bench.ask(&["probe", "--pcap", "probe.pcapng"]);
    bench.ask(&["discover", "--pcap", "discover.pcapng"]);
    bench.ask(&refs(&read("none", "read.pcapng")));
    let mut clients = bench.taken("probe.pcapng");
    assert!(clients.len() > 2, "{}", clients.len());
    clients.append(&mut bench.taken("discover.pcapng"));
    clients.append(&mut bench.taken("read.pcapng"));
    assert_eq!(bench.end(), clients);
    // Nothing is encrypted: there are no keys.
    assert_eq!(secrets(&bench.at("read.pcapng")), "");
    assert_eq!(std::fs::read(bench.at("read.pcapng.keys")).unwrap(), b"");
}

#[test]
fn a_command_reads_as_often_in_its_capture_as_it_was_told() {
    let bench = Bench::start(&["--security", "none"]);
    bench.ask(&refs(&read("none", "read.pcapng")));
    let read = bench.taken("read.pcapng");
    let wants = |bytes: &[u8], kind: u32| {
        let all = chunks(bytes).into_iter();
        all.filter(|it| it.starts_with(b"MSG"))
            .filter(|it| u32::from(u16::from_le_bytes([it[26], it[27]])) == kind)
            .count()
    };
    let asked: usize = read
        .values()
        .map(|it| wants(&it.by_client, READ_REQUEST))
        .sum();
    let told: usize = read
        .values()
        .map(|it| wants(&it.by_server, READ_RESPONSE))
        .sum();
    assert_eq!(asked, told);
    // What is read beside the load, of the server and its diagnostics, is some ten more.
    assert!((20..60).contains(&asked), "{asked}");
}

#[test]
fn tshark_reads_requests_and_values_and_finds_no_fault_in_the_segments() {
    if !tshark::is_there() {
        return;
    }
    let mut bench = Bench::start(&["--security", "none"]);
    bench.ask(&refs(&read("none", "read.pcapng")));
    bench.end();
    for name in ["read.pcapng", "server.pcapng"] {
        let file = bench.at(name);
        let tell =
            |filter: &str, fields: &[&str]| tshark::fields(&file, bench.port, filter, fields);
        let asked = tell(
            "opcua.servicenodeid.numeric == 631",
            &["opcua.nodeid.numeric"],
        );
        let of_the_time = asked
            .iter()
            .filter(|it| it.split(',').any(|id| id == "2258"));
        assert!(of_the_time.count() >= 20, "{asked:?}");
        let told = tell("opcua.servicenodeid.numeric == 634", &["opcua.DateTime"]);
        assert!(
            told.iter().filter(|it| !it.is_empty()).count() >= 20,
            "{told:?}"
        );
        let faults = "tcp.analysis.flags or tcp.checksum.status == 0 or ip.checksum.status == 0 or _ws.malformed";
        assert_eq!(tell(faults, &["frame.number"]), [""; 0], "{name}");
    }
}

#[test]
fn the_logged_keys_decrypt_what_both_ends_recorded() {
    // AES-256 and SHA-256, AES-256 and SHA-1, AES-128 and SHA-256.
    for (policy, key, signature) in [
        ("Basic256Sha256", 64, "32"),
        ("Basic256", 64, "20"),
        ("Aes128_Sha256_RsaOaep", 32, "32"),
    ] {
        let mut bench = Bench::start(&[]);
        bench.ask(&refs(&read(
            &format!("{policy}:SignAndEncrypt"),
            "read.pcapng",
        )));
        bench.end();
        let lines = secrets(&bench.at("read.pcapng"));
        let beside = std::fs::read_to_string(bench.at("read.pcapng.keys")).unwrap();
        assert_eq!(lines, beside);
        let log = keys::log(&lines);
        assert_eq!(
            log,
            keys::log(&secrets(&bench.at("server.pcapng"))),
            "{policy}"
        );
        for values in log.values() {
            assert_eq!(values["client_key"].len(), key);
            assert_eq!(values["server_siglen"], signature);
            assert_ne!(values["client_key"], values["server_key"]);
        }
        for name in ["read.pcapng", "server.pcapng"] {
            let mut read = (0, 0);
            for sent in bench.taken(name).values() {
                let kinds = |bytes, side, kind| {
                    let all = chunks(bytes).into_iter();
                    let encrypted =
                        all.filter(|it| it.starts_with(b"MSG") && log.contains_key(&names(it)));
                    encrypted
                        .filter(|it| keys::message_type(&log, side, it) == kind)
                        .count()
                };
                read.0 += kinds(&sent.by_client, "client", READ_REQUEST);
                read.1 += kinds(&sent.by_server, "server", READ_RESPONSE);
            }
            assert_eq!(read.0, read.1, "{policy}, {name}");
            assert!(read.0 >= 20, "{policy}, {name}: {read:?}");
        }
    }
}

#[test]
fn tshark_decrypts_with_the_secrets_in_the_capture_and_with_the_keys_beside_it() {
    if !tshark::decrypts() {
        return;
    }
    let bench = Bench::start(&[]);
    bench.ask(&refs(&read("Basic256Sha256:SignAndEncrypt", "read.pcapng")));
    let file = bench.at("read.pcapng");
    let filter = "opcua.servicenodeid.numeric == 631";
    let reads = |file: &Path, options: &[&str]| {
        let ids = ["opcua.nodeid.numeric"];
        let asked = tshark::fields_with(file, bench.port, filter, &ids, options);
        let of_the_time = asked
            .iter()
            .filter(|it| it.split(',').any(|id| id == "2258"));
        of_the_time.count()
    };
    assert!(reads(&file, &[]) >= 20);
    // The same for a capture that somebody else made.
    let other = bench.at("other.pcapng");
    std::fs::write(&other, taken::without_secrets(&file)).unwrap();
    assert_eq!(reads(&other, &[]), 0);
    let keys = format!("-oopcua.debug_file:{}.keys", file.display());
    assert!(reads(&other, &[&keys]) >= 20);
}

#[test]
fn signed_channels_have_no_keys_in_the_log_as_anybody_can_read_them() {
    let bench = Bench::start(&[]);
    bench.ask(&refs(&read("Basic256Sha256:Sign", "read.pcapng")));
    assert_eq!(std::fs::read(bench.at("read.pcapng.keys")).unwrap(), b"");
    let read = bench.taken("read.pcapng");
    let signed = read.values().flat_map(|it| chunks(&it.by_client));
    let requests = signed.filter(|it| it.starts_with(b"MSG") && it[24..28] == [1, 0, 0x77, 2]);
    assert!(requests.count() >= 20);
}

#[test]
fn a_renewed_channel_has_keys_for_each_of_its_tokens() {
    let mut bench = Bench::start(&[]);
    bench.ask(&[
        "connect",
        "--kind",
        "renewal",
        "--requests",
        "3",
        "--allow",
        "storm",
        "--quiet",
        "--trust",
        "--security",
        "Basic256Sha256:SignAndEncrypt",
        "--pcap",
        "renewed.pcapng",
    ]);
    bench.end();
    let log = keys::log(&secrets(&bench.at("renewed.pcapng")));
    let mut tokens: BTreeMap<u32, usize> = BTreeMap::new();
    for (channel, _) in log.keys() {
        *tokens.entry(*channel).or_default() += 1;
    }
    let (renewed, count) = tokens.iter().max_by_key(|(_, count)| **count).unwrap();
    // The first one and those of three renewals.
    assert_eq!(*count, 4, "{tokens:?}");
    let taken = bench.taken("renewed.pcapng");
    let asked = taken.values().flat_map(|it| chunks(&it.by_client));
    let mut read: BTreeMap<u32, usize> = BTreeMap::new();
    for chunk in asked.filter(|it| it.starts_with(b"MSG") && names(it).0 == *renewed) {
        if keys::message_type(&log, "client", chunk) == READ_REQUEST {
            *read.entry(names(chunk).1).or_default() += 1;
        }
    }
    assert!(read.len() >= 3, "{read:?}");
}

#[test]
fn only_its_owner_may_read_a_capture_and_its_keys() {
    let bench = Bench::start(&["--security", "none"]);
    std::fs::write(bench.at("probe.pcapng"), "what was there before").unwrap();
    let said = bench.ask(&["probe", "--pcap", "probe.pcapng"]);
    for name in ["probe.pcapng", "probe.pcapng.keys"] {
        let mode = std::fs::metadata(bench.at(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert!(
        said.err
            .contains("warning: probe.pcapng and probe.pcapng.keys get the keys")
    );
    assert!(said.err.contains("no private key"), "{}", said.err);
}
