//! What is observed of a process, held against what it did and what the system says by other ways.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use observe::{
    Network, Process, Pulse, Target, TcpState, Tree, descendants, footing, links, shares, tasks,
    thread_cpu,
};

/// A shell that ends with its test.
struct Shell(Child);

impl Shell {
    fn new(script: &str) -> Self {
        Self::of("sh".as_ref(), script)
    }

    fn of(program: &Path, script: &str) -> Self {
        let shell = Command::new(program)
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut shell = Self(shell.unwrap());
        // It has done what it was to do.
        shell
            .0
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut [0])
            .unwrap();
        shell
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// The name of the test below, which runs itself as the process that is watched.
const BURNS: &str = "a_known_amount_of_cpu_is_read_as_the_process_itself_counts_it";

/// Of each tenth of a second 37 ms are spent: what its own CPU clock says in the end is what has to be read,
/// however long the machine made it wait.
#[test]
fn a_known_amount_of_cpu_is_read_as_the_process_itself_counts_it() {
    const BURST: Duration = Duration::from_millis(37);
    if std::env::var_os("BURN").is_some() {
        let own = Process::own();
        for _ in std::io::stdin().lines() {
            let end = thread_cpu().unwrap() + BURST;
            while thread_cpu().unwrap() < end {}
            println!("cpu={}", own.cpu().unwrap().as_nanos());
        }
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", BURNS, "--nocapture"])
        .env("BURN", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut asks = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut burst = || -> u64 {
        asks.write_all(b"\n").unwrap();
        let line = lines.find_map(|line| Some(line.unwrap().split_once("cpu=")?.1.to_owned()));
        line.unwrap().parse().unwrap()
    };
    let own_before = burst();
    let pulse = Pulse::of(child.id()).unwrap();
    let read_before = pulse.beat().unwrap().cpu_ns.unwrap();
    let own = (0..5).map(|_| burst()).last().unwrap() - own_before;
    let beat = pulse.beat().unwrap();
    let read = beat.cpu_ns.unwrap() - read_before;
    assert!(own >= 5 * BURST.as_nanos() as u64);
    // 37 and 1 of a hundred.
    assert!(read.abs_diff(own) <= own / 37, "{read} {own}");
    // Nearly all of it was spent in user space, in ticks.
    assert!(beat.user_ns.unwrap() + beat.system_ns.unwrap() + 20_000_000 >= own);
    drop(asks);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_pulse_says_that_its_process_has_ended() {
    let child = Shell::new("echo; read x");
    let pulse = Pulse::of(child.0.id()).unwrap();
    assert!(pulse.beat().unwrap().rss_bytes.unwrap() > 100_000);
    let glance = pulse.glance().unwrap();
    assert!(glance.rss_bytes.unwrap() > 100_000 && glance.cpu_ns.is_ok());
    drop(child);
    assert!(pulse.glance().unwrap_err().reason().contains("has ended"));
    assert!(pulse.beat().unwrap_err().reason().contains("has ended"));
    assert!(Pulse::of(u32::MAX).is_err());
}

#[test]
fn switches_of_a_thread_that_sleeps_are_voluntary_ones() {
    let id = std::process::id();
    let thread = std::thread::Builder::new().name("sleeps-often".into());
    let (done, wait) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let thread = thread.spawn(move || {
        for _ in 0..50 {
            std::thread::sleep(Duration::from_micros(50));
        }
        done.send(()).unwrap();
        let _ = ended.recv();
    });
    wait.recv().unwrap();
    let all = tasks(&Tree::here(), id).unwrap();
    let found = all.iter().find(|it| it.name == "sleeps-often").unwrap();
    assert!(found.voluntary_switches.clone().unwrap() >= 50);
    assert!(found.core.clone().is_ok() && found.migrations.clone().is_ok());
    drop(end);
    thread.unwrap().join().unwrap();
}

#[test]
fn a_child_of_a_child_belongs_to_a_process() {
    let child = Shell::new("sh -c 'echo; read x'; true");
    let found = descendants(&Tree::here(), std::process::id()).unwrap();
    assert!(found.contains(&child.0.id()));
    assert_eq!(descendants(&Tree::here(), child.0.id()).unwrap().len(), 1);
}

#[test]
fn private_memory_and_calls_that_write_are_seen() {
    let id = std::process::id();
    let look = || {
        (
            shares(&Tree::here(), id).unwrap(),
            footing(&Tree::here(), id).unwrap(),
        )
    };
    let before = look();
    let memory = vec![1_u8; 32 << 20];
    let mut null = std::fs::File::create("/dev/null").unwrap();
    for _ in 0..100 {
        null.write_all(&[0]).unwrap();
    }
    let after = look();
    let grown = after.0.private_bytes - before.0.private_bytes;
    assert!(grown >= 30 << 20, "{grown}");
    assert!(after.0.proportional_bytes >= 32 << 20);
    assert!(after.1.write_calls.unwrap() - before.1.write_calls.unwrap() >= 100);
    assert_eq!(memory.len(), 32 << 20);
}

/// Bytes that nobody reads wait on the receiving side; what TCP counted of a connection is what was written.
#[test]
fn what_waits_in_sockets_and_what_tcp_counted_is_what_was_sent() {
    let id = std::process::id();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let mut client = TcpStream::connect(at).unwrap();
    let (server, _) = listener.accept().unwrap();
    // One more, whom nobody accepts.
    let _waiting = TcpStream::connect(at).unwrap();
    client.write_all(&[7; 3000]).unwrap();
    let mut byte = [0];
    assert_eq!(server.peek(&mut byte).unwrap(), 1);
    let all = Network::default().sockets(id).unwrap();
    let listens = all
        .iter()
        .find(|it| it.local == at && it.state == TcpState::Listening)
        .unwrap();
    assert_eq!(listens.receive_queue, 1);
    assert!(listens.tcp.is_err());
    let receives = all
        .iter()
        .find(|it| it.local == at && it.remote == client.local_addr().unwrap())
        .unwrap();
    assert_eq!(
        (receives.state, receives.receive_queue),
        (TcpState::Established, 3000)
    );
    let sends = all
        .iter()
        .find(|it| it.local == client.local_addr().unwrap())
        .unwrap();
    let (sent, received) = (sends.tcp.clone().unwrap(), receives.tcp.clone().unwrap());
    assert_eq!((sent.sent_bytes, received.received_bytes), (3000, 3000));
    assert!(sent.congestion_window > 0 && sent.rtt_us > 0 && sent.segment_bytes > 500);
    assert_eq!((sent.retransmissions, received.sent_bytes), (0, 0));
    // The table of /proc says the same of what it knows.
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let line = table
        .lines()
        .find(|line| line.contains(&format!(" {} ", receives.inode)))
        .unwrap();
    assert!(line.contains(":00000BB8 "), "{line}");
}

#[test]
fn links_count_what_the_table_of_interfaces_counts() {
    let of_table = || {
        let text = std::fs::read_to_string("/proc/net/dev").unwrap();
        let line = text
            .lines()
            .find_map(|it| it.trim().strip_prefix("lo:").map(str::to_owned))
            .unwrap();
        line.split_whitespace()
            .next()
            .unwrap()
            .parse::<u64>()
            .unwrap()
    };
    let before = of_table();
    let lo = links(&Tree::here())
        .unwrap()
        .into_iter()
        .find(|it| it.name == "lo")
        .unwrap();
    let between = lo.received_bytes.unwrap();
    assert!((before..=of_table()).contains(&between));
    assert!(
        lo.speed_bits_per_s
            .unwrap_err()
            .reason()
            .contains("loopback")
    );
}

#[test]
fn a_process_is_found_by_its_id_its_port_and_its_name() {
    let own = std::process::id();
    assert_eq!(Target::Id(own).resolve(), Ok(own));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    assert_eq!(Target::Port(port).resolve(), Ok(own));
    // A copy of the shell under a name of its own.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("an-odd-named-server");
    std::fs::copy("/bin/sh", &program).unwrap();
    let start = || Shell::of(&program, "echo; read x");
    let name = Target::Name("an-odd-named-server".into());
    assert!(
        name.resolve()
            .unwrap_err()
            .reason()
            .contains("no process is named")
    );
    let first = start();
    assert_eq!(name.resolve(), Ok(first.0.id()));
    let second = start();
    let several = name.resolve().unwrap_err().reason().to_owned();
    assert!(
        several.contains("2 processes") && several.contains(&second.0.id().to_string()),
        "{several}"
    );
}
