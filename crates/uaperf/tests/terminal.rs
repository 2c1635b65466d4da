//! What happens at a terminal: a screen while it runs, keys, and the terminal as it was before.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::support;
use crate::support::{Server, json};

/// Behind a program's back: what it writes to a terminal, and what is typed.
struct Terminal {
    ours: OwnedFd,
    /// The program's end; kept open, so that its settings can be looked at afterwards.
    theirs: OwnedFd,
    written: Arc<Mutex<Vec<u8>>>,
}

const PATIENCE: Duration = Duration::from_secs(60);

impl Terminal {
    fn new() -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let ours = openpt(flags).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs = File::options()
            .read(true)
            .write(true)
            .open(name.to_str().unwrap())
            .unwrap();
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&theirs, size).unwrap();
        let written = Arc::new(Mutex::new(Vec::new()));
        let mut from = File::from(ours.as_fd().try_clone_to_owned().unwrap());
        let to = Arc::clone(&written);
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(n) = from.read(&mut part) {
                to.lock().unwrap().extend(&part[..n]);
            }
        });
        Self {
            ours,
            theirs: theirs.into(),
            written,
        }
    }

    fn start(&self, command: &mut Command) -> Child {
        let end = || Stdio::from(self.theirs.try_clone().unwrap());
        command
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap()
    }

    fn press(&self, keys: &[u8]) {
        rustix::io::write(&self.ours, keys).unwrap();
    }

    /// What is on the screen: the last word at each place.
    fn screen(&self) -> String {
        let text = self.text();
        let mut rows = vec![vec![' '; 80]; 24];
        let (mut x, mut y) = (0, 0);
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            if letter == '\x1b' {
                // ESC [ parameters, up to the letter that says what to do.
                let mut order = String::new();
                for letter in letters.by_ref().skip(1) {
                    order.push(letter);
                    if letter.is_ascii_alphabetic() {
                        break;
                    }
                }
                if let Some(place) = order.strip_suffix('H') {
                    let (row, column) = place.split_once(';').unwrap_or(("1", "1"));
                    y = row.parse::<usize>().unwrap() - 1;
                    x = column.parse::<usize>().unwrap() - 1;
                }
                continue;
            }
            if let Some(place) = rows.get_mut(y).and_then(|row| row.get_mut(x)) {
                *place = letter;
            }
            x += 1;
        }
        let lines = rows.into_iter().map(String::from_iter);
        lines.collect::<Vec<String>>().join("\n")
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    fn wait_for(&self, what: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.screen().contains(what) && !self.text().contains(what) {
            assert!(Instant::now() < until, "no {what:?} in\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What was written last may still be on its way.
    fn wait_until_as_before(&self) {
        let until = Instant::now() + PATIENCE;
        while !self.is_as_before() {
            assert!(Instant::now() < until, "{:?}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn is_as_before(&self) -> bool {
        let modes = tcgetattr(&self.theirs).unwrap().local_modes;
        let cooked = modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        // The screen behind it is there again, and the cursor.
        let text = self.text();
        let last = |it: &str| text.rfind(it);
        cooked && last(LEFT) > last(ENTERED) && last("\x1b[?25h") > last("\x1b[?25l")
    }
}

const ENTERED: &str = "\x1b[?1049h";
const LEFT: &str = "\x1b[?1049l";

fn reading(plant: &Server, folder: &Path, more: &[&str]) -> Command {
    let mut command = support::command(folder, &["read", &plant.url]);
    command
        .args(["-n", "nsu=urn:bench;i=1000", "--security", "none"])
        .args(["--rate", "100/s", "--out", "run.json"])
        .args(more);
    command
}

fn plant(folder: &Path) -> Server {
    Server::start(&folder.join("server"), &["--profile", "bench", "--trust"])
}

#[test]
fn keys_change_a_run_which_says_so_and_the_terminal_is_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let plant = plant(folder.path());
    let terminal = Terminal::new();
    let mut child = terminal.start(&mut reading(&plant, folder.path(), &["--duration", "120s"]));
    terminal.wait_for("requests per second");
    terminal.wait_for("measuring");
    terminal.press(b"+");
    terminal.wait_for("110 % of the planned rate");
    terminal.press(b"p");
    terminal.wait_for("PAUSED");
    terminal.press(b"p");
    terminal.wait_for("it goes on");
    terminal.press(b"q");
    let status = child.wait().unwrap();
    let run = json(&folder.path().join("run.json"));
    terminal.wait_until_as_before();
    // It was ended before its time, and what was measured is not for comparison.
    assert_eq!(status.code(), Some(130), "{}", run["verdict"]);
    assert_eq!(run["verdict"]["kind"], "INCOMPLETE");
    let marks = run["marks"].as_array().unwrap();
    assert!(marks.contains(&"by-hand".into()), "{marks:?}");
    assert!(marks.contains(&"interrupted".into()), "{marks:?}");
    let did = run["phases"][0]["by_hand"].as_array().unwrap();
    let did: Vec<(&str, u64)> = did
        .iter()
        .map(|it| {
            let percent = it["offered_percent"].as_u64().unwrap();
            (it["did"].as_str().unwrap(), percent)
        })
        .collect();
    assert_eq!(
        did,
        [
            ("offered", 110),
            ("paused", 0),
            ("resumed", 110),
            ("ended-run", 110)
        ]
    );
    let notes = run["verdict"]["notes"].to_string();
    assert!(
        notes.contains("the offered load was changed by hand: 110 % of the plan from"),
        "{notes}"
    );
    // The summary is where the screen was.
    terminal.wait_for("\nresult ");
}

#[test]
fn a_run_that_ends_by_itself_leaves_the_terminal_as_it_was_and_no_mark() {
    let folder = tempfile::tempdir().unwrap();
    let plant = plant(folder.path());
    let terminal = Terminal::new();
    let mut command = reading(&plant, folder.path(), &["--requests", "100"]);
    terminal.start(&mut command).wait().unwrap();
    terminal.wait_until_as_before();
    let run = json(&folder.path().join("run.json"));
    assert!(run.get("marks").is_none(), "{}", run["marks"]);
    assert!(run["phases"][0].get("by_hand").is_none());
}

#[test]
fn control_c_twice_quits_and_a_signal_ends_the_run_both_with_the_terminal_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let plant = plant(folder.path());
    let terminal = Terminal::new();
    let mut child = terminal.start(&mut reading(&plant, folder.path(), &["--duration", "120s"]));
    terminal.wait_for("measuring");
    terminal.press(b"\x03\x03");
    child.wait().unwrap();
    terminal.wait_until_as_before();

    let terminal = Terminal::new();
    let mut child = terminal.start(&mut reading(&plant, folder.path(), &["--duration", "120s"]));
    terminal.wait_for("measuring");
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    child.wait().unwrap();
    terminal.wait_until_as_before();
    let run = json(&folder.path().join("run.json"));
    assert_eq!(run["marks"], serde_json::json!(["interrupted"]));
}

#[test]
fn plain_means_a_line_and_an_unreachable_server_an_error_on_the_terminal_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let plant = plant(folder.path());
    let terminal = Terminal::new();
    let mut command = reading(&plant, folder.path(), &["--requests", "200", "--plain"]);
    terminal.start(&mut command).wait().unwrap();
    terminal.wait_for("\nresult ");
    assert!(!terminal.text().contains(ENTERED), "{:?}", terminal.text());

    let terminal = Terminal::new();
    let mut nobody = support::command(
        folder.path(),
        &["read", "opc.tcp://127.0.0.1:9", "-n", "i=85"],
    );
    let status = terminal.start(&mut nobody).wait().unwrap();
    assert_eq!(status.code(), Some(1));
    terminal.wait_for("error: ");
    assert!(!terminal.text().contains(ENTERED), "{:?}", terminal.text());
}
