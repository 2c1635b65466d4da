//! Captures that cannot be written, become too long, or are broken off.

use std::io::Read as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::Bench;
use super::taken::{Block, blocks};
use crate::support::{Said, Telling, command, signal};

/// Nobody is there: whoever tried to connect would say so.
const NOBODY: &str = "opc.tcp://127.0.0.1:1";

fn refused(folder: &Path, words: &[&str]) -> Said {
    let said = Said::by(&mut command(folder, words));
    assert!(!said.err.contains("connect"), "{}", said.err);
    said
}

#[test]
fn a_capture_that_cannot_be_written_ends_a_command_before_it_connects() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::os::unix::fs::symlink("/dev/full", at.join("full.pcapng")).unwrap();
    std::fs::create_dir(at.join("folder")).unwrap();
    for (file, code, want) in [
        (
            "nothing/run.pcapng",
            1,
            "cannot be written: No such file or directory",
        ),
        (
            "full.pcapng",
            1,
            "--pcap full.pcapng: cannot be written: No space left on device",
        ),
        ("folder", 2, "--pcap folder: that is a folder"),
        (
            "-",
            2,
            "--pcap -: a capture goes into a file or a named pipe",
        ),
    ] {
        for words in [
            &["probe", NOBODY, "--pcap", file][..],
            &["discover", NOBODY, "--pcap", file],
            &["serve", "--port", "0", "--security", "none", "--pcap", file],
        ] {
            let said = refused(at, words);
            assert!(said.err.contains(want), "{words:?}: {}", said.err);
            assert_eq!(said.code, code, "{words:?}: {}", said.err);
        }
    }
    let alone = refused(at, &["probe", NOBODY, "--pcap-max", "1MiB"]);
    assert_eq!(alone.code, 2, "{}", alone.err);
    let words = [
        "read", NOBODY, "-n", "i=1", "--pcap", "same", "--out", "same",
    ];
    let twice = refused(at, &words);
    assert!(
        twice.err.contains("--pcap and --out name the same file"),
        "{}",
        twice.err
    );
    assert_eq!(twice.code, 2);
}

#[test]
fn a_capture_ends_before_it_is_too_long_and_the_command_does_not() {
    let bench = Bench::start(&["--security", "none"]);
    let said = bench.ask(&["probe", "--pcap", "probe.pcapng", "--pcap-max", "10kB"]);
    let length = std::fs::metadata(bench.at("probe.pcapng")).unwrap().len();
    assert!((5_000..=10_000).contains(&length), "{length}");
    blocks(&bench.at("probe.pcapng"));
    let want = "warning: --pcap probe.pcapng: ended at --pcap-max 10000B; ";
    assert!(said.err.contains(want), "{}", said.err);
}

/// A pipe whose reader leaves is a disk that becomes full in the middle.
#[test]
fn a_disk_that_becomes_full_is_reported_in_the_end_and_costs_no_request() {
    let bench = Bench::start(&["--security", "none"]);
    let pipe = bench.at("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let reader = std::thread::spawn(move || {
        let mut some = [0; 64];
        std::fs::File::open(pipe).unwrap().read_exact(&mut some)
    });
    let words = [
        "read",
        &bench.server.url,
        "-n",
        "i=2258",
        "--requests",
        "500",
    ];
    let more = [
        "--security",
        "none",
        "--quiet",
        "--pcap",
        "pipe",
        "--out",
        "run.json",
    ];
    let said = Said::by(&mut command(
        bench.folder.path(),
        &[&words[..], &more].concat(),
    ));
    reader.join().unwrap().unwrap();
    let want = "error: --pcap pipe: cannot be written to the end: Broken pipe";
    assert!(said.err.contains(want), "{}", said.err);
    assert!(
        said.err
            .contains("of what was sent and received are missing")
    );
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.out.contains("Good 500"), "{}", said.out);
}

#[test]
fn a_command_that_is_interrupted_or_killed_leaves_a_capture_of_whole_blocks() {
    let bench = Bench::start(&["--security", "none"]);
    let words = [
        "read",
        &bench.server.url,
        "-n",
        "i=2258",
        "--duration",
        "60s",
    ];
    for how in ["INT", "KILL"] {
        let file = format!("{how}.pcapng");
        let more = [
            "--security",
            "none",
            "--plain",
            "--rate",
            "200/s",
            "--pcap",
            &file,
        ];
        let mut child = command(bench.folder.path(), &[&words[..], &more].concat())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut telling = Telling::of(&mut child);
        telling.until_it_measures();
        match how {
            "KILL" => child.kill().unwrap(),
            _ => signal(child.id(), how),
        }
        let rest = telling.whole();
        let until = Instant::now() + Duration::from_secs(20);
        while child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < until, "it did not end");
            std::thread::sleep(Duration::from_millis(10));
        }
        rest.join().unwrap();
        let all = blocks(&bench.at(&file));
        let carried = all.iter().filter(|it| match it {
            Block::Segment(it) => !it.payload.is_empty(),
            Block::Secrets(_) => false,
        });
        assert!(carried.count() > 100, "{how}");
        if how == "INT" {
            bench.taken(&file);
        }
    }
}
