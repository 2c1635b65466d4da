//! What the fuzzers found, again; and a short run of the same targets, the same each time.

#![allow(
    unsafe_code,
    reason = "a global allocator is an unsafe trait; this one counts and passes on"
)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use fuzzed::change::{Random, change};
use fuzzed::{TARGETS, Target};

struct Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // gone when a thread ends
    let _ = LIVE.try_with(|live| {
        live.set(live.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        fuzzed::allocated::count(layout.size());
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        fuzzed::allocated::count(size);
        // Both may be there for a moment.
        count(size as isize);
        count(-(layout.size() as isize));
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// More than any run may hold at a time: messages are of 64 KiB at most, and decoding one may
/// take 64 times as much (`wire::service::Limits`), which a target does three times over.
const MOST: isize = 16 << 20;

fn folder(kind: &str, target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz")
        .join(kind)
        .join(target)
}

/// The files of a folder, in the order of their names; none if there is no folder.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .iter()
        .map(|path| (path.display().to_string(), fs::read(path).unwrap()))
        .collect()
}

fn meet(target: &Target, name: &str, input: &[u8]) {
    let (target, run) = *target;
    let before = LIVE.get();
    PEAK.set(before);
    let survived = catch_unwind(|| run(input)).is_ok();
    let peak = PEAK.get() - before;
    assert!(survived, "{target} fails at {name}: {input:02x?}");
    assert!(peak <= MOST, "{target} held {peak} bytes at {name}");
}

/// As many as take some seconds in a debug build; certificates take their time.
fn rounds(target: &str) -> usize {
    match target {
        "certificates" => 3_000,
        // Each is a server with clients.
        "plant" => 400,
        _ => 20_000,
    }
}

fn short_run(name: &str) {
    let target = TARGETS.iter().find(|(found, _)| *found == name).unwrap();
    let seeds = files(&folder("seeds", name));
    assert!(!seeds.is_empty(), "no seeds for {name}");
    let found = files(&folder("regressions", name));
    // Twice: the first run makes what is made once, and is not measured by its memory.
    for (_, input) in &seeds {
        let run = target.1;
        run(input);
    }
    for (path, input) in seeds.iter().chain(&found) {
        meet(target, path, input);
        for len in [0, 1, input.len() / 2] {
            meet(target, "a part of it", &input[..len.min(input.len())]);
        }
    }
    let mut random = Random(2026);
    for round in 0..rounds(name) {
        let mut input = seeds[random.below(seeds.len())].1.clone();
        let other = &seeds[random.below(seeds.len())].1;
        change(&mut input, other, &mut random);
        meet(target, &format!("round {round}"), &input);
    }
}

#[test]
fn frames_survive_any_bytes() {
    short_run("frame");
}

#[test]
fn nothing_unverified_passes_a_channel() {
    short_run("channel");
}

#[test]
fn services_decode_any_bytes_or_say_what_is_wrong() {
    short_run("services");
}

#[test]
fn messages_are_json_and_back_or_say_what_is_wrong() {
    short_run("uajson");
}

#[test]
fn no_certificate_is_trusted_that_no_authority_made() {
    short_run("certificates");
}

#[test]
fn a_client_survives_any_server() {
    short_run("client");
}

#[test]
fn a_server_survives_any_client() {
    short_run("server");
}

#[test]
fn datagrams_of_pubsub_are_read_or_refused() {
    short_run("uadp");
}

#[test]
fn texts_of_pubsub_are_read_or_refused() {
    short_run("json");
}

#[test]
fn multicast_dns_survives_whoever_is_on_the_network() {
    short_run("mdns");
}

#[test]
fn packets_of_a_broker_are_read_or_refused() {
    short_run("mqtt");
}

#[test]
fn what_comes_inside_https_is_read_or_refused() {
    short_run("http");
}

#[test]
fn a_plant_survives_whatever_its_clients_ask() {
    short_run("plant");
}

#[test]
fn every_folder_of_inputs_belongs_to_a_target() {
    for kind in ["seeds", "regressions"] {
        let root = folder(kind, ".");
        for entry in fs::read_dir(root).into_iter().flatten() {
            let name = entry.unwrap().file_name();
            let known = TARGETS.iter().any(|(target, _)| name == *target);
            assert!(known, "fuzz/{kind}/{} has no target", name.display());
        }
    }
}
