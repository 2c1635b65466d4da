//! A server while it runs, until somebody ends it.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::Context;
use load::access::Access;
use load::lan::Announcement;
use plant::{Server, ServerWatch};

use super::figures;
use super::live::{self, Display};
use super::publishing::Publishers;
use super::registering::{self, Registering};
use crate::failure::Failure;
use crate::interrupt;
use crate::metrics::Listeners;
use crate::screen;

/// How a server is run.
pub struct Running {
    /// Where the ledger is written to at the end.
    pub ledger: Option<PathBuf>,
    /// Nothing is shown meanwhile.
    pub quiet: bool,
    /// How long clients are told before it ends.
    pub grace: Duration,
    /// The discovery servers that it is to be known to.
    pub register: Vec<Access>,
    /// How often they are told.
    pub register_every: Duration,
    /// What they are told that it can do.
    pub capabilities: Vec<String>,
    /// What this network is told.
    pub announcement: Option<Announcement>,
    /// Who reads figures meanwhile, or is sent them.
    pub listeners: Listeners,
}

/// Why a server is to end.
pub enum End {
    /// Somebody said so.
    Signal,
    /// Its parent is gone.
    Parent,
}

/// Serves until it is told to end, then tells clients and says what it did.
pub fn run(
    servers: Vec<Server>,
    publishers: Publishers,
    ended: &mpsc::Receiver<End>,
    running: Running,
) -> anyhow::Result<()> {
    let watches: Vec<_> = servers.iter().map(Server::watch).collect();
    let display = (!running.quiet).then(|| Display::start(watches.clone()));
    let registering = Registering::start(
        running.register,
        &registering::registration(&servers, running.capabilities),
        running.register_every,
        &Display::notes(display.as_ref()),
    );
    let announcer = running.announcement.map(|it| {
        let notes = Display::notes(display.as_ref());
        notes.tell(format!(
            "announced by multicast DNS on {}",
            it.interfaces().join(", ")
        ));
        it.begin(move |line| notes.warn(line))
    });
    let (told, notes) = (watches.clone(), Display::notes(display.as_ref()));
    let figures = move || figures::families(&told);
    running
        .listeners
        .begin(figures, move |line| notes.warn(line))?;
    let end = ended.recv().context("nobody is left who could end this")?;
    // First of all, so that nobody is sent here any more.
    registering.end();
    if let Some(announcer) = announcer {
        announcer.end();
    }
    // Who only listens is not told that it ends.
    drop(publishers);
    // Whoever started this waits for its end and not for its words.
    if let End::Signal = end {
        say_goodbye(&servers, running.grace);
    }
    drop(servers);
    registering.finish();
    if let Some(display) = display {
        display.stop();
    }
    if let Some(path) = &running.ledger {
        write_ledger(path, &ledger(&watches))?;
    }
    if !running.quiet {
        totals(&watches);
    }
    Ok(())
}

/// Tells the clients of all servers that they end, and waits until none is left or the time is
/// over.
pub fn say_goodbye(servers: &[Server], grace: Duration) {
    for server in servers {
        server.announce_end(grace);
    }
    let end = Instant::now().checked_add(grace);
    let sessions = || servers.iter().any(|server| server.counted().sessions > 0);
    while sessions() && end.is_none_or(|end| Instant::now() < end) {
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// How often is looked whether clients are gone.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The truth of one server, or those of several as a list.
fn ledger(watches: &[ServerWatch]) -> String {
    let truths = watches.iter().map(|watch| watch.ground_truth().to_json());
    let truths: Vec<_> = truths.collect();
    match truths.as_slice() {
        [one] => format!("{one}\n"),
        several => format!("[\n{}\n]\n", several.join(",\n")),
    }
}

/// Finds out whether a ledger can be written now, not after hours.
pub fn check_ledger(path: &Path) -> Result<(), Failure> {
    std::fs::write(path, "").map_err(|error| cannot_write(path, &error))
}

/// Writes what it did.
pub fn write_ledger(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!(
        "cannot write the ledger to {}: {error}",
        path.display()
    ))
    .hint("--ledger FILE needs a folder that exists and may be written to")
}

/// Nobody may read it any more.
fn totals(watches: &[ServerWatch]) {
    let text = live::totals(watches);
    let _ = screen::out().write_all(text.as_bytes());
}

/// From now on, Ctrl-C or SIGTERM; a second one does not wait. Or the end of a parent, which is the end
/// of standard input.
pub fn endings(with_parent: bool) -> anyhow::Result<mpsc::Receiver<End>> {
    let (end, ended) = mpsc::channel();
    let interrupted = end.clone();
    interrupt::first(move || {
        // The receiver is gone only when the server is being stopped already.
        let _ = interrupted.send(End::Signal);
    })?;
    if with_parent {
        std::thread::spawn(move || {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            let _ = end.send(End::Parent);
        });
    }
    Ok(ended)
}
