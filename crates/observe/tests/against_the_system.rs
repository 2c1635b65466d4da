//! What is observed, held against what was done and what the system says by other ways.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use std::fs::File;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use observe::{Host, Process, fingerprint, limits, thread_cpu};

/// Uses CPU until the thread has used that much more.
fn burn(amount: Duration) {
    let end = thread_cpu().unwrap() + amount;
    while thread_cpu().unwrap() < end {}
}

#[test]
fn cpu_of_a_thread_that_has_ended_stays_in_its_process() {
    let mut process = Process::own();
    let before = process.sample();
    let burnt = Duration::from_millis(60);
    std::thread::spawn(move || burn(burnt)).join().unwrap();
    let spent = process.sample().since(&before);
    assert!(spent.cpu_ns.clone().unwrap() >= burnt.as_nanos() as u64);
    // What a result file is told is the same, and what nobody knows has its reason.
    let usage = spent.usage(&process.sample().peak_rss_bytes);
    assert_eq!(usage.cpu_ns.known(), spent.cpu_ns.as_ref().ok());
    assert!(usage.rss_peak_bytes.known().is_some());
    assert_eq!(usage.spun_ns.known(), None);
}

#[test]
fn cpu_of_a_thread_is_found_by_its_name() {
    let (done, wait) = channel();
    let (end, ended) = channel::<()>();
    let thread = std::thread::Builder::new().name("burns-cpu".into());
    let thread = thread
        .spawn(move || {
            burn(Duration::from_millis(60));
            done.send(()).unwrap();
            let _ = ended.recv();
        })
        .unwrap();
    wait.recv().unwrap();
    // It sleeps by now, or will: the kernel brings its figures up to date as it does.
    std::thread::sleep(Duration::from_millis(50));
    let threads = Process::own().threads().unwrap();
    let found = threads.iter().find(|thread| thread.name == "burns-cpu");
    assert!(found.unwrap().cpu_ns.clone().unwrap() >= 60_000_000);
    drop(end);
    thread.join().unwrap();
}

#[test]
fn another_process_is_watched_until_it_ends() {
    let mut child = Command::new("sh")
        .args([
            "-c",
            "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo; read x",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = [0];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
    let mut process = Process::of(child.id()).unwrap();
    let sample = process.sample();
    assert!(sample.cpu_ns.clone().unwrap() > 0);
    assert_eq!(sample.threads, Ok(1));
    assert!(sample.rss_bytes.clone().unwrap() > 100_000);
    assert!(sample.peak_rss_bytes.unwrap() >= sample.rss_bytes.unwrap());
    drop(child.stdin.take());
    child.wait().unwrap();
    let after = process.sample();
    for figure in [after.cpu_ns, after.rss_bytes, after.voluntary_switches] {
        assert!(figure.is_err(), "{figure:?} of a process that has ended");
    }
    assert!(
        process
            .threads()
            .unwrap_err()
            .reason()
            .contains("has ended")
    );
    assert!(Process::of(child.id()).is_err());
}

#[test]
fn opened_files_are_counted_as_descriptors() {
    let mut process = Process::own();
    let before = process.sample().descriptors.unwrap();
    let files: Vec<File> = (0..200).map(|_| File::open("/dev/null").unwrap()).collect();
    let during = process.sample().descriptors.unwrap();
    // Other tests of this process open and close a few meanwhile.
    assert!(
        (190..=230).contains(&(during - before)),
        "{before} {during}"
    );
    drop(files);
}

#[test]
fn sleeping_is_a_voluntary_switch() {
    let mut process = Process::own();
    let before = process.sample();
    for _ in 0..50 {
        std::thread::sleep(Duration::from_micros(100));
    }
    let spent = process.sample().since(&before);
    assert!(spent.voluntary_switches.unwrap() >= 50);
}

#[test]
fn touched_memory_is_resident_and_was_faulted_in() {
    let mut process = Process::own();
    let before = process.sample();
    let memory = vec![1u8; 64 << 20];
    let after = process.sample();
    assert!(after.rss_bytes.clone().unwrap() >= 64 << 20);
    assert!(after.since(&before).minor_faults.unwrap() > 0);
    assert_eq!(memory.len(), 64 << 20);
}

#[test]
fn the_host_has_as_many_cores_as_the_system_says() {
    let host = Host::sample();
    let getconf = Command::new("getconf").arg("_NPROCESSORS_ONLN").output();
    let online: usize = String::from_utf8(getconf.unwrap().stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert_eq!(host.cores.unwrap().len(), online);
    assert_eq!(fingerprint().cores_online.known(), Some(&(online as u64)));
    let memory = host.memory.unwrap();
    assert!(memory.available_bytes <= memory.total_bytes);
}

#[test]
fn bytes_over_the_loopback_are_seen_there() {
    let received = || {
        let network = Host::sample().network.unwrap();
        let lo = network.into_iter().find(|i| i.name == "lo").unwrap();
        lo.received_bytes
    };
    let before = received();
    let server = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let client = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..100 {
        client
            .send_to(&[0; 1000], server.local_addr().unwrap())
            .unwrap();
    }
    assert!(received() - before >= 100 * 1000);
}

#[test]
fn the_limit_of_descriptors_is_what_the_shell_says_and_can_be_raised() {
    let said = Command::new("sh")
        .args(["-c", "ulimit -Sn; ulimit -Hn"])
        .output();
    let said = String::from_utf8(said.unwrap().stdout).unwrap();
    let limits = limits::descriptors().unwrap();
    let words: Vec<&str> = said.split_whitespace().collect();
    assert_eq!(words[0], limits.soft.to_string());
    if words[1] != "unlimited" {
        assert_eq!(words[1], limits.hard.to_string());
    }
    // More than there may be is cut to that, less than there is changes nothing.
    let raised = limits::raise_descriptors(limits.hard).unwrap();
    assert_eq!(raised.soft, raised.hard);
    assert_eq!(limits::raise_descriptors(1).unwrap(), raised);
    assert!(limits::ports().unwrap().count() > 1000);
}

#[test]
fn the_fingerprint_agrees_with_uname() {
    let uname = Command::new("uname").arg("-sr").output().unwrap();
    let uname = String::from_utf8(uname.stdout).unwrap();
    assert_eq!(fingerprint().kernel.known().unwrap(), uname.trim());
}
