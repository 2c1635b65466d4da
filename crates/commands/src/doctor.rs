//! `uaperf doctor`: whether this machine has what the program needs, before something fails for it.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use judge::Exit;
use observe::Tree;
use pki::store::Place;
use pki::{Identity, Moment, Store};
use serde::Serialize;

use crate::global::Global;
use crate::{calibrated, place, screen, written};

/// Check whether this machine has what uaperf needs: folders, certificates, ports, limits, peers
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// JSON for machines instead of a screen for people
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Nothing is changed. What disturbs measuring is another question: uaperf bench check.

Exit codes: 0 nothing is broken, 1 something is.

Examples:
  uaperf doctor
  uaperf doctor --pki pki --json";

/// The port that servers have unless they are told another.
const PORT: u16 = 4840;
/// Time enough to make another certificate.
const SOON_DAYS: i64 = 30;
/// Sessions of a usual bench, and what else has a descriptor.
const DESCRIPTORS: u64 = 4096;

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Standing {
    /// As it should be.
    Good,
    /// It works, and somebody should know.
    Note,
    /// Something will fail for it.
    Broken,
}

#[derive(Debug, Serialize)]
struct Checked {
    subject: &'static str,
    standing: Standing,
    found: String,
    /// What to do.
    mend: Option<String>,
}

fn good(subject: &'static str, found: impl Into<String>) -> Checked {
    Checked {
        subject,
        standing: Standing::Good,
        found: found.into(),
        mend: None,
    }
}

fn note(subject: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Checked {
    Checked {
        standing: Standing::Note,
        mend: Some(mend.into()),
        ..good(subject, found)
    }
}

fn broken(subject: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Checked {
    Checked {
        standing: Standing::Broken,
        ..note(subject, found, mend)
    }
}

#[derive(Debug, Serialize)]
struct Summary {
    version: &'static str,
    broken: usize,
    checks: Vec<Checked>,
}

/// Carries out `uaperf doctor`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    let now = SystemTime::now().into();
    let mut checks = Vec::new();
    match global.pki() {
        Ok(folder) => {
            checks.push(writable(
                "certificates",
                &folder,
                "--pki DIR or UAPERF_PKI=DIR",
            ));
            let store = Store::new(&folder);
            checks.push(own(&store, now));
            checks.push(lists(&store));
        }
        Err(error) => checks.push(broken(
            "certificates",
            error.to_string(),
            "set HOME, or name a folder with --pki",
        )),
    }
    checks.push(writable(
        "results",
        Path::new(written::FOLDER),
        "--out FILE, or another working folder",
    ));
    checks.push(port());
    checks.push(descriptors());
    checks.extend(ports());
    checks.push(calibrated());
    checks.push(peers());
    let broken = |it: &&Checked| it.standing == Standing::Broken;
    let told = Summary {
        version: env!("CARGO_PKG_VERSION"),
        broken: checks.iter().filter(broken).count(),
        checks,
    };
    screen::print(&told, args.json, write_screen)?;
    Ok(ExitCode::from(match told.broken {
        0 => Exit::Good,
        _ => Exit::Nothing,
    }))
}

/// Whether files can be written into a folder that may not be there yet.
fn writable(subject: &'static str, folder: &Path, instead: &str) -> Checked {
    match record::run::try_out(&folder.join("uaperf-doctor")) {
        Ok(()) => good(subject, format!("{} can be written", shown(folder))),
        Err(error) => broken(
            subject,
            format!("{} cannot be written: {error}", shown(folder)),
            format!("let this user write there, or name another place: {instead}"),
        ),
    }
}

fn shown(folder: &Path) -> String {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| PathBuf::from(folder));
    whole.display().to_string()
}

/// The certificate that clients and servers of this program have.
fn own(store: &Store, now: Moment) -> Checked {
    let subject = "own certificate";
    let identity: Identity = match store.find_own(now) {
        Ok(Some(identity)) => identity,
        Ok(None) => return good(subject, "none yet: made when an endpoint first wants one"),
        Err(error) => return broken(subject, error.to_string(), "uaperf cert make --force"),
    };
    let certificate = &identity.certificate;
    let left = certificate.not_after().days_since(now);
    let host = place::host_name();
    if left < SOON_DAYS {
        let found = format!("expires in {left} days, on {}", certificate.not_after());
        return note(
            subject,
            found,
            "uaperf cert make, and have servers trust the new one",
        );
    }
    if !certificate.names_host(&host) {
        let found = format!(
            "is not for {host}: clients that check it refuse `uaperf serve` under that name"
        );
        return note(subject, found, format!("uaperf cert make --dns {host}"));
    }
    let uri = certificate
        .application_uri()
        .unwrap_or("no application URI");
    good(subject, format!("{uri}, good for {left} days"))
}

/// Who is trusted, and who waits to be.
fn lists(store: &Store) -> Checked {
    let subject = "trust lists";
    let listing = match store.list() {
        Ok(listing) => listing,
        Err(error) => return broken(subject, error.to_string(), "let this user read there"),
    };
    let count = |place: Place| {
        listing
            .entries
            .iter()
            .filter(|it| it.place == place)
            .count()
    };
    let (trusted, rejected) = (count(Place::Trusted), count(Place::Rejected));
    let found = format!("{trusted} trusted, {rejected} rejected");
    if let Some(file) = listing.broken.first() {
        let found = format!("{found}; {}: {}", file.path.display(), file.problem);
        return note(
            subject,
            found,
            "take the file away, or put a good one in its place",
        );
    }
    match rejected {
        0 => good(subject, found),
        _ => note(
            subject,
            found,
            "uaperf cert list shows them, uaperf cert trust NAME takes one in",
        ),
    }
}

/// Whether a server can have the registered port.
fn port() -> Checked {
    let subject = "port 4840";
    if TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).is_ok() {
        return good(subject, "free on 127.0.0.1");
    }
    let named = |pid| Some((pid, observe::name_of(&Tree::here(), pid).ok()?));
    let found = match observe::listener(PORT).ok().and_then(named) {
        Some((pid, name)) => format!("taken on 127.0.0.1 by {name} ({pid})"),
        None => "taken on 127.0.0.1".to_owned(),
    };
    note(subject, found, "uaperf serve --port 0 takes a free one")
}

/// Each session has one.
fn descriptors() -> Checked {
    let subject = "descriptors";
    match observe::limits::descriptors() {
        Ok(limit) if limit.hard < DESCRIPTORS => note(
            subject,
            format!("{} at most: each session takes one", limit.hard),
            "raise the hard limit of open files (ulimit -Hn, limits.conf)",
        ),
        Ok(limit) => good(subject, format!("{}, up to {}", limit.soft, limit.hard)),
        Err(why) => good(subject, format!("not known: {}", why.reason())),
    }
}

/// Each connection to one address takes one.
fn ports() -> Option<Checked> {
    let ports = observe::limits::ports().ok()?;
    let found = format!("{} for connections to one server", ports.count());
    Some(good("local ports", found))
}

/// Whether it is known what this host can do.
fn calibrated() -> Checked {
    let subject = "calibration";
    match calibrated::is_current() {
        Some(true) => good(subject, "of this host and build"),
        Some(false) => note(subject, "of another host or build", "uaperf calibrate"),
        None => note(
            subject,
            "none: results do not say how near the generator is to its limit",
            "uaperf calibrate",
        ),
    }
}

/// Other stacks that can be started.
fn peers() -> Checked {
    let installed = ::peers::Stack::all()
        .iter()
        .filter(|it| matches!(it.state(), ::peers::StackState::Installed));
    let names: Vec<&str> = installed.map(|it| it.name).collect();
    match names.is_empty() {
        true => good("peers", "none installed (uaperf peers install NAME)"),
        false => good("peers", names.join(", ")),
    }
}

fn write_screen(out: &mut String, told: &Summary) -> std::fmt::Result {
    writeln!(out, "uaperf {}\n", told.version)?;
    for it in &told.checks {
        let standing = match it.standing {
            Standing::Good => "good",
            Standing::Note => "note",
            Standing::Broken => "BROKEN",
        };
        writeln!(out, "{standing:<8} {:<17} {}", it.subject, it.found)?;
        if let Some(mend) = &it.mend {
            writeln!(out, "{:27}try: {mend}", "")?;
        }
    }
    match told.broken {
        0 => writeln!(out, "\nnothing is broken"),
        n => writeln!(out, "\n{n} of {} are broken", told.checks.len()),
    }
}
