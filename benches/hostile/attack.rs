//! Those who mean no good, in a process of their own: `attack KIND URL FOLDER`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use load::access::{Access, Credentials, Opening, Security, Session};
use load::attack::{legal as shared, raw};
use load::transport::Steps;
use wire::types::NodeId;
use zeroize::Zeroizing;

use crate::good::access;
use crate::legal;

/// The words that make this program one of them.
pub const ROLE: &str = "attack";
/// A client that will be killed.
pub const VICTIM: &str = "victim";

/// What they do, and how many do it.
pub const KINDS: [(&str, &str); 18] = [
    (
        "silent",
        "9,000 connections that send nothing, closed and opened again",
    ),
    (
        "half-open",
        "2,000 connections that say hello and open no channel",
    ),
    ("slow", "50 clients that ask for megabytes and do not read"),
    (
        "certificates",
        "8 clients that come with a certificate nobody trusts",
    ),
    ("passwords", "8 clients that log in with a wrong password"),
    ("fuzzed", "8 clients that send chunks with wrong bytes"),
    ("killed", "clients with 100 monitored items, killed"),
    (
        "browse",
        "4 clients that browse a folder of 500, 2,000 times in a request",
    ),
    (
        "everything",
        "4 clients that browse all there is, 1,000 nodes in a request",
    ),
    (
        "history",
        "4 clients that read a year of 50 histories in a request",
    ),
    ("writes", "4 clients that write 10,000 values in a request"),
    (
        "parts",
        "4 clients that read and write 1,000 parts of a large array in a request",
    ),
    ("items", "4 clients that make 10,000 items in a request"),
    ("texts", "4 clients that call a method with 500,000 texts"),
    (
        "watched",
        "4 clients that watch 100,000 values in a subscription",
    ),
    (
        "activations",
        "4 clients that send 3,000 ActivateSession requests at once",
    ),
    ("subscribers", "4 clients with 5,000 items that do not read"),
    (
        "unfinished",
        "500 clients that begin a message and do not end it",
    ),
];

/// Whether what they leave is forgotten some time after their connections.
pub fn leaves_sessions(kind: &str) -> bool {
    !matches!(
        kind,
        "silent" | "half-open" | "slow" | "certificates" | "fuzzed"
    )
}

const SILENT: usize = 9_000;
const HALF_OPEN: usize = 2_000;
const THREADS: usize = 8;
/// The bench address space, behind that of the specification and the server's own.
pub const BENCH: u16 = 2;

/// How often one of them has come and gone.
static CYCLES: AtomicU64 = AtomicU64::new(0);
/// Whether as many are there as are to be.
static READY: AtomicU64 = AtomicU64::new(0);

/// Connections and sessions that one of them did not get.
static REFUSED: AtomicU64 = AtomicU64::new(0);

pub fn cycle() {
    CYCLES.fetch_add(1, Ordering::Relaxed);
}

pub fn ready() {
    READY.store(1, Ordering::Relaxed);
}

pub fn refused() {
    REFUSED.fetch_add(1, Ordering::Relaxed);
}

/// Does it until standard input ends, and says ten times a second how often.
pub fn attack(mut words: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let kind = words.next().context("which kind?")?;
    let url = words.next().context("which server?")?;
    let folder = words.next().context("which folder?")?;
    observe::limits::raise_descriptors(SILENT as u64 + 200).ok();
    let address: SocketAddr = url
        .strip_prefix("opc.tcp://")
        .and_then(|address| address.parse().ok())
        .context("a server by its address")?;
    let begin: Box<dyn FnOnce() + Send> = match kind.as_str() {
        "silent" => Box::new(move || crowd(SILENT, address, |_| true)),
        "half-open" => {
            let hello = raw::hello(&url);
            Box::new(move || crowd(HALF_OPEN, address, move |socket| greeted(socket, &hello)))
        }
        "slow" => Box::new(move || legal::slow(&url)),
        "certificates" => {
            let security = "Basic256Sha256:SignAndEncrypt"
                .parse()
                .map_err(anyhow::Error::msg)?;
            let way = access(&url, security, Path::new(&folder), Credentials::Anonymous)?;
            Box::new(move || turned_away(&way))
        }
        "passwords" => {
            let user = Credentials::UserName {
                name: "operator".into(),
                password: Zeroizing::new("wrong".into()),
            };
            let way = access(&url, plain(), Path::new(&folder), user)?;
            Box::new(move || turned_away(&way))
        }
        "fuzzed" => {
            let hello = raw::hello(&url);
            Box::new(move || fuzzed(address, &hello))
        }
        "killed" => Box::new(move || killed(&url, &folder)),
        "browse" => Box::new(move || legal::repeated(&url)),
        "everything" => Box::new(move || legal::everything(&url)),
        "history" => Box::new(move || legal::year(&url)),
        "writes" => Box::new(move || legal::ten_thousand_values(&url)),
        "parts" => Box::new(move || legal::parts_of_an_array(&url)),
        "items" => Box::new(move || legal::ten_thousand_items(&url)),
        "texts" => Box::new(move || legal::many_texts(&url)),
        "watched" => Box::new(move || legal::all_in_one(&url)),
        "activations" => Box::new(move || legal::activations(&url)),
        "subscribers" => Box::new(move || legal::subscribers(&url)),
        "unfinished" => Box::new(move || legal::unfinished(&url)),
        other => bail!("there is no attack {other:?}"),
    };
    std::thread::spawn(begin);
    std::thread::spawn(|| {
        let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let mut out = std::io::stdout().lock();
    loop {
        let [ready, cycles, refused] =
            [&READY, &CYCLES, &REFUSED].map(|count| count.load(Ordering::Relaxed));
        writeln!(out, "{ready} {cycles} {refused}")?;
        out.flush()?;
        std::thread::sleep(Duration::from_millis(100));
    }
}

const fn plain() -> Security {
    Security::Exactly(wire::channel::Protection::NONE)
}

fn greeted(socket: &mut TcpStream, hello: &[u8]) -> bool {
    let patience = socket.set_read_timeout(Some(Duration::from_secs(30)));
    patience.is_ok() && raw::greet(socket, hello).is_ok()
}

/// So many connections at once; the oldest are closed and others take their places, a hundred at a time.
fn crowd(size: usize, address: SocketAddr, come: impl Fn(&mut TcpStream) -> bool) {
    let mut there = std::collections::VecDeque::with_capacity(size);
    loop {
        while there.len() < size {
            let came = TcpStream::connect(address).ok();
            let came = came.and_then(|mut socket| come(&mut socket).then_some(socket));
            match came {
                Some(socket) => there.push_back(socket),
                None => {
                    refused();
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
        ready();
        std::thread::sleep(Duration::from_millis(100));
        for _ in 0..100.min(size) {
            drop(there.pop_front());
            cycle();
        }
    }
}

pub fn session(url: &str) -> Option<Session> {
    let folder = std::env::temp_dir();
    let way = access(url, plain(), &folder, Credentials::Anonymous).ok()?;
    let opening = way.discover().ok()?;
    way.open(&opening, &mut Steps::new()).ok()
}

/// Threads that try to come in, and are refused.
fn turned_away(way: &Access) {
    let opening: Opening = loop {
        match way.discover() {
            Ok(opening) => break opening,
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let opening = &opening;
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(move || {
                loop {
                    match way.open(opening, &mut Steps::new()) {
                        // Whoever is let in is no attacker: the figures would be of something else.
                        Ok(_) => std::process::exit(1),
                        Err(_) => {
                            cycle();
                            refused();
                        }
                    }
                    ready();
                }
            });
        }
    });
}

/// Threads that send what looks like chunks, wrong in a few bytes, until they are thrown out.
fn fuzzed(address: SocketAddr, hello: &[u8]) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS as u64 {
            scope.spawn(move || {
                let mut random = plan::Random::stream(thread, &[]);
                loop {
                    let _ = astray(address, hello, &mut random);
                    cycle();
                    ready();
                }
            });
        }
    });
}

fn astray(address: SocketAddr, hello: &[u8], random: &mut plan::Random) -> std::io::Result<()> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(Duration::from_millis(20)))?;
    raw::malformed(&mut socket, hello, random);
    Ok(())
}

/// Starts clients that subscribe, and kills them.
fn killed(url: &str, folder: &str) {
    loop {
        let started = std::env::current_exe().and_then(|program| {
            Command::new(program)
                .args([VICTIM, url, folder])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
        });
        let Ok(mut child) = started else {
            std::thread::sleep(Duration::from_millis(100));
            continue;
        };
        // It says a word once it has subscribed; one that cannot ends without it.
        let said = child.stdout.as_mut().map(|out| out.read(&mut [0; 16]));
        let _ = child.kill();
        let _ = child.wait();
        if let Some(Ok(1..)) = said {
            cycle();
            ready();
        }
    }
}

/// Subscribes, says so, and waits to be killed.
pub fn victim(mut words: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let url = words.next().context("which server?")?;
    let mut session = session(&url).context("no session")?;
    let created = session.call(shared::subscription(100.0))?;
    let nodes: Vec<_> = (0..100).map(|n| NodeId::new(BENCH, 1000 + n)).collect();
    session.call(shared::items(
        created.subscription_id,
        &nodes,
        nodes.len(),
        100.0,
    ))?;
    // Who started it may have ended; otherwise it is killed before this ends.
    let _ = std::io::stdout().lock().write_all(b"subscribed\n");
    std::io::stdin().lock().read_to_end(&mut Vec::new())?;
    Ok(())
}
