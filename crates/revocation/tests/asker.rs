//! What is asked over a socket, and what a server may answer without doing harm.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pki::make::{Authority, Request};
use pki::{
    Certificate, Checked, Expected, Fail, Key, Moment, Reason, Revocation, Role, Source, Trust,
};
use revocation::{Asker, CertificateManager, Waited};

const NOW: Moment = Moment::from_unix(1_800_000_000);
/// For what comes at once unless the machine has more to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// A host that says the same to everybody.
struct Host {
    at: String,
    came: Arc<AtomicUsize>,
}

impl Host {
    fn saying(say: impl Fn(&mut TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = format!("http://{}/a.crl", listener.local_addr().unwrap());
        let came = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&came);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                let _ = stream.read(&mut [0; 4096]);
                say(&mut stream);
            }
        });
        Self { at, came }
    }

    fn came(&self) -> usize {
        self.came.load(Ordering::SeqCst)
    }
}

struct Plant {
    root: Authority,
    key: Key,
}

impl Plant {
    fn new() -> Self {
        let key = Key::generate(2048).unwrap();
        let request = Request::authority("Root");
        let root = Authority::root(request, key.clone(), NOW).unwrap();
        Self { root, key }
    }

    fn certificate(&self, list_at: &str) -> Certificate {
        let request = Request::application("urn:plc1:drives").list_at(list_at);
        self.root.sign(&request, &self.key, NOW).unwrap()
    }

    /// Why nobody knows of it, or nothing if it is good.
    fn judge(
        &self,
        asker: &Arc<Asker>,
        leaf: &Certificate,
        source: Source,
        now: Moment,
    ) -> Option<String> {
        self.judge_waiting(asker, leaf, source, now).0
    }

    /// The same, and how long that waited.
    fn judge_waiting(
        &self,
        asker: &Arc<Asker>,
        leaf: &Certificate,
        source: Source,
        now: Moment,
    ) -> (Option<String>, Waited) {
        let trust = Trust {
            trusted: vec![self.root.certificate().clone()],
            ..Trust::default()
        };
        let expected = Expected {
            revocation: Revocation {
                source,
                fail: Fail::Hard,
            },
            ..Expected::of(Role::Client, now)
        };
        let mut waited = Waited::default();
        let judged = asker.judge(Arc::new(trust), leaf.der(), expected, &mut waited);
        let why = judged.err().map(|refusal| {
            assert_eq!(refusal.reason, Reason::RevocationUnknown);
            refusal.detail
        });
        (why, waited)
    }
}

fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {head}\r\n\r\n").into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

#[test]
fn a_host_that_answers_wrongly_endlessly_or_not_at_all_is_a_reason_and_no_harm() {
    let plant = Plant::new();
    let list = plant.root.revoke(&[], NOW, 7).unwrap().der().to_vec();
    let length = format!("200 OK\r\ncontent-length: {}", list.len());
    for (answer, why) in [
        (answer(&length, &list), None),
        (answer("200 OK", &list), None),
        (answer("404 Not Found", b""), Some("HTTP status 404")),
        // Nobody is followed to where he sends us.
        (
            answer("302 Found\r\nLocation: http://127.0.0.1/", b""),
            Some("HTTP status 302"),
        ),
        (
            answer("200 OK\r\nContent-Length: 9000000000", b""),
            Some("more than"),
        ),
        (
            answer("200 OK\r\nContent-Length: 10", b"short"),
            Some("too early"),
        ),
        (
            answer(&length, b"nonsense, and more of it"),
            Some("too early"),
        ),
        (answer("200 OK", b"nonsense"), Some("")),
        (
            b"SSH-2.0-OpenSSH\r\n\r\n".to_vec(),
            Some("no answer of HTTP"),
        ),
        (vec![b'x'; 100_000], Some("more than")),
        (Vec::new(), Some("too early")),
    ] {
        let shown =
            String::from_utf8_lossy(answer.get(..60.min(answer.len())).unwrap()).into_owned();
        let host = Host::saying(move |stream| {
            let _ = stream.write_all(&answer);
        });
        let leaf = plant.certificate(&host.at);
        let asker = Arc::new(Asker::new(PATIENCE));
        let found = plant.judge(&asker, &leaf, Source::Online, NOW);
        assert_eq!(host.came(), 1, "{shown}");
        match (&found, why) {
            (None, None) => {}
            (Some(found), Some(why)) => assert!(found.contains(why), "{shown}: {found}"),
            _ => panic!("{shown}: {found:?}"),
        }
    }
}

#[test]
fn who_drips_an_answer_byte_by_byte_is_given_up_in_time() {
    let plant = Plant::new();
    let host = Host::saying(|stream| {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE && stream.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let leaf = plant.certificate(&host.at);
    let asker = Arc::new(Asker::new(Duration::from_millis(300)));
    let why = plant.judge(&asker, &leaf, Source::Online, NOW).unwrap();
    assert!(why.contains("no answer in time"), "{why}");
}

#[test]
fn an_answer_is_kept_while_it_is_true_and_a_failure_for_ten_seconds() {
    let plant = Plant::new();
    let list = plant.root.revoke(&[], NOW, 7).unwrap().der().to_vec();
    let good = Host::saying(move |stream| {
        let _ = stream.write_all(&answer("200 OK", &list));
    });
    let bad = Host::saying(|stream| {
        let _ = stream.write_all(&answer("503 Later", b""));
    });
    let asker = Arc::new(Asker::new(PATIENCE));
    let judge = |leaf: &Certificate, seconds: u64| {
        let now = NOW.plus(Duration::from_secs(seconds));
        plant.judge(&asker, leaf, Source::Cached, now)
    };
    let leaf = plant.certificate(&good.at);
    for seconds in [0, 1, 3_599] {
        assert_eq!(judge(&leaf, seconds), None);
    }
    // All certificates of one issuer have the same list.
    assert_eq!(judge(&plant.certificate(&good.at), 100), None);
    assert_eq!(good.came(), 1);
    assert_eq!(judge(&leaf, 3_600), None);
    assert_eq!(good.came(), 2);
    assert_eq!(plant.judge(&asker, &leaf, Source::Online, NOW), None);
    assert_eq!(good.came(), 3);

    let leaf = plant.certificate(&bad.at);
    for (seconds, came) in [(0, 1), (9, 1), (10, 2)] {
        assert!(judge(&leaf, seconds).unwrap().contains("503"));
        assert_eq!(bad.came(), came, "{seconds}");
    }
}

#[test]
fn a_wait_counts_as_that_for_a_list_whether_it_comes_or_not() {
    const SLOW: Duration = Duration::from_millis(60);
    let plant = Plant::new();
    let list = plant.root.revoke(&[], NOW, 7).unwrap().der().to_vec();
    let slow = Host::saying(move |stream| {
        std::thread::sleep(SLOW);
        let _ = stream.write_all(&answer("200 OK", &list));
    });
    let silent = Host::saying(|_| std::thread::sleep(Duration::from_secs(1)));
    let ask = |asker: &Arc<Asker>, host: &Host| {
        let leaf = plant.certificate(&host.at);
        plant.judge_waiting(asker, &leaf, Source::Cached, NOW)
    };
    let asker = Arc::new(Asker::new(PATIENCE));
    let (why, waited) = ask(&asker, &slow);
    assert_eq!(why, None);
    assert!(waited.lists >= SLOW, "{waited:?}");
    assert_eq!(waited.total(), waited.lists);
    // What is kept waits for nobody.
    assert_eq!(ask(&asker, &slow), (None, Waited::default()));

    let asker = Arc::new(Asker::new(SLOW));
    let (why, waited) = ask(&asker, &silent);
    assert!(why.unwrap().contains("no answer in time"));
    assert!(waited.lists >= SLOW, "{waited:?}");
}

/// Ends the thread that asks it, but for the last time.
#[derive(Debug)]
struct Panicking(AtomicUsize);

impl CertificateManager for Panicking {
    fn check(&self, certificates: &[&[u8]], _: Instant) -> Vec<Result<Checked, String>> {
        if self.0.fetch_add(1, Ordering::SeqCst) < 16 {
            panic!("as it is meant to");
        }
        let good = Checked {
            status: 0,
            until: None,
        };
        certificates.iter().map(|_| Ok(good)).collect()
    }
}

#[test]
fn a_thread_that_panics_leaves_its_place_to_others() {
    let plant = Plant::new();
    let manager = Arc::new(Panicking(AtomicUsize::new(0)));
    let leaf = plant.certificate("http://127.0.0.1:9/a.crl");
    let asker = Arc::new(Asker::new(PATIENCE).with_manager(manager));
    for _ in 0..16 {
        let why = plant.judge(&asker, &leaf, Source::Manager, NOW).unwrap();
        assert!(why.contains("the certificate manager"), "{why}");
    }
    assert_eq!(plant.judge(&asker, &leaf, Source::Manager, NOW), None);
}
