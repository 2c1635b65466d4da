//! `uaperf demo pubsub`: with a broker of its own, with one that is named, without one, and interrupted.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs::read_dir;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::broker::{Broker, OPEN};
use crate::support::{Said, command};
use rustix::process::{Pid, Signal, kill_process};

/// Carries the demo out, short; what is left of its temporary folders, and its results.
fn demo(folder: &Path, words: &[&str]) -> (Said, usize, Option<PathBuf>) {
    let temporary = folder.join("tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    let words = [&["demo", "pubsub", "--duration", "600ms"], words].concat();
    let said = Said::by(command(folder, &words).env("TMPDIR", &temporary));
    let results = read_dir(folder.join("results")).map(|mut it| it.next().unwrap().unwrap().path());
    (said, read_dir(temporary).unwrap().count(), results.ok())
}

/// The figures of a row of the summary.
fn row<'a>(said: &'a Said, name: &str) -> Vec<&'a str> {
    let line = said.out.lines().find(|it| it.trim().starts_with(name));
    let line = line.unwrap_or_else(|| panic!("{name}: {}{}", said.out, said.err));
    line.trim()[name.len()..]
        .split("  ")
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .collect()
}

/// Whether this machine has a mosquitto, as tests of MQTT want it; they say what to do if not.
fn has_broker() -> bool {
    let folder = tempfile::tempdir().unwrap();
    Broker::start(folder.path(), OPEN).is_some()
}

#[test]
fn all_three_ways_stand_beside_each_other_on_the_screen_and_on_a_page_and_nothing_is_left() {
    if !has_broker() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (said, left, results) = demo(folder.path(), &[]);
    let context = format!("{}{}", said.out, said.err);
    assert_eq!((said.code, left), (0, 0), "{context}");
    for (name, figures) in [("lost", 3), ("jitter, p90", 3), ("CPU a value, plant", 3)] {
        let found = row(&said, name);
        assert_eq!(found.len(), figures, "{name}: {context}");
        assert!(found.iter().all(|it| *it != "n/a"), "{name}: {context}");
    }
    // JSON has the names of fields, and RawData not even their types.
    let bytes: Vec<f64> = row(&said, "bytes a value")
        .iter()
        .map(|it| it.trim_end_matches(" B").parse().unwrap())
        .collect();
    assert!(bytes[1] < bytes[0] && bytes[0] < bytes[2], "{context}");
    let page = std::fs::read_to_string(results.unwrap().join("report.html")).unwrap();
    for words in [
        "Client/server beside PubSub",
        "UDP, RawData, secured",
        "MQTT, JSON",
        "Listeners, each with a socket and a thread",
    ] {
        assert!(page.contains(words), "{words}");
    }
    // The broker has ended with it.
    let at = said.out.split("mqtt://").nth(1).unwrap();
    let at = at.split('/').next().unwrap();
    assert!(TcpStream::connect(at).is_err(), "{at}");
}

#[test]
fn without_a_broker_the_rest_goes_on_and_it_is_said_how_to_get_one() {
    let folder = tempfile::tempdir().unwrap();
    let (said, left, results) = demo(folder.path(), &["--broker", "none"]);
    let context = format!("{}{}", said.out, said.err);
    assert_eq!((said.code, left), (0, 0), "{context}");
    assert!(said.out.contains("MQTT is left out"), "{context}");
    assert!(said.out.contains("apt install mosquitto"), "{context}");
    assert_eq!(row(&said, "delay, p50").len(), 2, "{context}");
    assert!(results.unwrap().join("report.html").exists());
}

#[test]
fn a_broker_that_lets_nobody_in_leaves_the_rest_and_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let Some(broker) = Broker::start(folder.path(), "allow_anonymous false") else {
        return;
    };
    let (said, left, _) = demo(folder.path(), &["--broker", &broker.url("")]);
    let context = format!("{}{}", said.out, said.err);
    assert_eq!((said.code, left), (1, 0), "{context}");
    assert_eq!(row(&said, "lost").len(), 2, "{context}");
    assert!(
        said.err.contains("MQTT, JSON: nothing was measured"),
        "{context}"
    );
}

#[test]
fn a_broker_that_is_not_there_or_that_cannot_be_used_is_an_error_before_anything_begins() {
    let folder = tempfile::tempdir().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("mqtt://{}", free.local_addr().unwrap());
    drop(free);
    for (url, code, words) in [
        (url.as_str(), 1, "apt install mosquitto"),
        ("mqtts://127.0.0.1", 2, "want mqtt://"),
        ("127.0.0.1", 2, "want mqtt://"),
    ] {
        let (said, left, results) = demo(folder.path(), &["--broker", url]);
        let context = format!("{url}: {}{}", said.out, said.err);
        assert_eq!((said.code, left), (code, 0), "{context}");
        assert!(said.err.contains(words) && results.is_none(), "{context}");
    }
}

#[test]
fn an_interrupted_demo_leaves_no_folder_no_plant_and_no_broker_behind() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let mut child = command(folder.path(), &["demo", "pubsub", "--duration", "60s"])
        .env("TMPDIR", &temporary)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.find(|it| it.as_ref().unwrap().contains("server=opc.tcp://"));
    let line = line.unwrap().unwrap();
    let plant = line.split("opc.tcp://").nth(1).unwrap();
    let plant = plant.trim_end_matches([' ', '\\']);
    let until = Instant::now() + Duration::from_secs(60);
    while TcpStream::connect(plant).is_err() {
        assert!(Instant::now() < until, "no plant at {plant}");
        std::thread::sleep(Duration::from_millis(10));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(read_dir(&temporary).unwrap().count(), 0);
    assert!(TcpStream::connect(plant).is_err(), "{plant}");
    // No process has a word of this folder any more.
    let of_it = |it: &PathBuf| {
        let words = std::fs::read(it.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(&*folder.path().to_string_lossy())
    };
    let processes = read_dir("/proc").unwrap().map(|it| it.unwrap().path());
    let left: Vec<PathBuf> = processes.filter(of_it).collect();
    assert!(left.is_empty(), "{left:?}");
}
