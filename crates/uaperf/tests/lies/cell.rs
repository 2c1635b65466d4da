//! One cell: the program is run, and what it says is held to what is known.

use std::fmt;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::cause::Cause;
use super::row::{Row, Way};
use super::support::{self, Server, Telling, listens_to_signals, signal};

/// How long each phase offers load.
const DURATION: &str = "3s";

/// Shorter than this, nothing was measured.
const AT_ONCE: Duration = Duration::from_millis(2_500);

/// How long a program may take that was interrupted while it waited for a server.
const SOON: Duration = Duration::from_secs(5);

/// The program and the server stand still for so long.
const STOPPED: Duration = Duration::from_millis(1_500);

const PLANT: &str = r#"
name = "lies"

[limits]
nodes_per_read = 100
nodes_per_write = 100

[[namespace]]
uri = "urn:lies"

[[namespace.signals]]
folder = "Counters"
count = 99
ids = "i=1.."
name = "Counter{n}"
type = "UInt32"
pattern = "counter"
update = "50ms"
history = true

[[namespace.signals]]
folder = "Settings"
count = 300
ids = "i=100.."
name = "Setting{n}"
type = "Double"
access = "read-write"

[[namespace.method]]
name = "echo"
id = "i=4000"
object = "Methods"
object_id = "i=4001"
does = "echo"
arguments = [{ name = "value", type = "Double" }]
"#;

/// What a cell of the table holds.
pub enum Cell {
    /// It cannot occur, and why.
    Never(&'static str),
    Shows(Expected),
}

/// A figure that has to show it.
#[derive(Debug, Clone, Copy)]
pub enum Figure {
    /// So many operations failed, at least.
    Errors(u64),
    /// The largest response took so long, in nanoseconds.
    Slow(u64),
    /// A condition was not met.
    Unmet,
}

/// What the program has to say.
#[derive(Default)]
pub struct Expected {
    codes: Vec<i32>,
    kinds: Vec<&'static str>,
    not_valid: bool,
    figure: Option<Figure>,
    says: Option<&'static str>,
    denies: Option<&'static str>,
    within: Option<Duration>,
}

impl Expected {
    pub fn any() -> Self {
        Self::default()
    }

    pub fn codes(codes: &[i32]) -> Self {
        Self {
            codes: codes.to_vec(),
            ..Self::default()
        }
    }

    pub fn kinds(mut self, kinds: &[&'static str]) -> Self {
        self.kinds = kinds.to_vec();
        self
    }

    pub fn not_valid(mut self) -> Self {
        self.not_valid = true;
        self
    }

    pub fn figure(mut self, figure: Figure) -> Self {
        self.figure = Some(figure);
        self
    }

    pub fn says(mut self, words: &'static str) -> Self {
        self.says = Some(words);
        self
    }

    pub fn denies(mut self, words: &'static str) -> Self {
        self.denies = Some(words);
        self
    }

    /// Before anything is measured.
    pub fn at_once(mut self) -> Self {
        self.within = Some(AT_ONCE);
        self
    }

    pub fn soon(mut self) -> Self {
        self.within = Some(SOON);
        self
    }

    pub fn holds(&self, seen: &Seen) -> Result<(), String> {
        let want = |what: String| Err(what);
        if !self.codes.is_empty() && !self.codes.contains(&seen.code) {
            return want(format!("exit code {}, not {:?}", seen.code, self.codes));
        }
        let kinds: Vec<&str> = seen.runs.iter().map(kind).collect();
        if self.not_valid && kinds == ["VALID"] {
            return want("it is VALID".to_owned());
        }
        if !self.kinds.is_empty()
            && !kinds.is_empty()
            && !kinds.iter().any(|kind| self.kinds.contains(kind))
        {
            return want(format!("{kinds:?}, not {:?}", self.kinds));
        }
        if let Some(figure) = self.figure
            && !seen.shows(figure)
        {
            return want(format!("no figure shows {figure:?}"));
        }
        if let Some(words) = self.says
            && !seen.text().contains(words)
        {
            return want(format!("it does not say {words:?}"));
        }
        if let Some(words) = self.denies
            && seen.text().contains(words)
        {
            return want(format!("it says {words:?}"));
        }
        if let Some(within) = self.within
            && seen.took > within
        {
            return want(format!("it took {:?}", seen.took));
        }
        Ok(())
    }
}

fn kind(run: &Value) -> &str {
    run["verdict"]["kind"].as_str().unwrap_or_default()
}

/// What the program said and did.
pub struct Seen {
    code: i32,
    out: String,
    err: String,
    took: Duration,
    /// Result files: one, or those of a scenario's points.
    runs: Vec<Value>,
    /// Whether conditions are in them; of a search, its exit code says it.
    expects: bool,
}

impl Seen {
    /// Runs a command while something happens.
    pub fn of(row: &Row, cause: Cause) -> Self {
        let folder = tempfile::tempdir().unwrap();
        match row.way {
            Way::Files => Self::of_files(row, cause, &folder),
            _ => Self::of_load(row, cause, &folder),
        }
    }

    fn of_load(row: &Row, cause: Cause, folder: &TempDir) -> Self {
        let folder = folder.path();
        let server = serve(folder, cause.fault(row).as_deref());
        if cause == Cause::InterruptedLooking {
            server.signal("STOP");
        }
        let mut command = support::command(folder, &[row.command()]);
        if row.way == Way::Search {
            command.arg("read");
        }
        words(&mut command, row, cause, &server.url, folder);
        let seen = Self::run(&mut command, row, cause, folder);
        server.signal("CONT");
        seen
    }

    /// `base.json` of a healthy server, `new.json` of another one, and the command for both.
    fn of_files(row: &Row, cause: Cause, folder: &TempDir) -> Self {
        let folder = folder.path();
        let read = &super::row::ROWS[0];
        for (name, cause) in [("base.json", Cause::Nothing), ("new.json", cause)] {
            let server = serve(folder, cause.fault(read).as_deref());
            let mut command = support::command(folder, &["read", &server.url]);
            command
                .args(read.words)
                .args(["--duration", DURATION, "--timeout", "500ms"]);
            command.args(["--quiet", "--out", name]).output().unwrap();
        }
        let mut command = support::command(folder, &[row.name]);
        match row.name {
            "show" => command.arg("new.json"),
            _ => command.args(["base.json", "new.json"]),
        };
        if row.name == "report" {
            command.args(["-o", out(cause, "page.html")]);
        }
        Self::run(&mut command, row, cause, folder)
    }

    fn run(command: &mut Command, row: &Row, cause: Cause, folder: &Path) -> Self {
        let began = Instant::now();
        fs::write(folder.join("taken"), "a file where a folder is wanted").unwrap();
        let out = folder.join("stdout");
        command.stderr(Stdio::piped());
        if cause == Cause::PipeClosed {
            // Its reader goes at once.
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            command.stdout(writer);
        } else {
            command.stdout(File::create(&out).unwrap());
        }
        let mut child = command.spawn().unwrap();
        // The writing end of the pipe is the child's alone.
        command.stdout(Stdio::null());
        let mut telling = Telling::of(&mut child);
        disturb(&child, &mut telling, row, cause);
        let err = telling.whole();
        let status = child.wait().unwrap();
        // As a shell says it.
        let code = status.code().or(status.signal().map(|signal| 128 + signal));
        let code = code.unwrap();
        let took = began.elapsed();
        Self {
            code,
            out: fs::read_to_string(&out).unwrap_or_default(),
            err: err.join().unwrap(),
            took,
            runs: runs(row, folder),
            expects: row.way != Way::Search,
        }
    }

    fn text(&self) -> String {
        format!("{}{}", self.out, self.err)
    }

    fn shows(&self, figure: Figure) -> bool {
        if !self.expects {
            return self.code != 0;
        }
        let phases = self.runs.iter().filter_map(|run| run["phases"].as_array());
        let phases: Vec<&Value> = phases.flatten().collect();
        let conditions = phases
            .iter()
            .filter_map(|phase| phase["expectations"].as_array());
        let conditions: Vec<&Value> = conditions.flatten().collect();
        let found = |name: &str| {
            let all = conditions.iter().filter(|it| it["expected"] == name);
            all.filter_map(|it| it["found"].as_f64())
                .fold(0.0, f64::max)
        };
        match figure {
            Figure::Errors(n) => {
                let total = phases
                    .iter()
                    .filter_map(|phase| phase["total"]["errors"].as_f64());
                found("errors=0").max(total.fold(0.0, f64::max)) >= n as f64
            }
            Figure::Slow(ns) => found("max<150ms").max(found("delay.max<700ms")) >= ns as f64,
            Figure::Unmet => conditions.iter().any(|it| it["met"] == false),
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  exit code {} after {:?}", self.code, self.took)?;
        for run in &self.runs {
            writeln!(f, "  {}", run["verdict"])?;
            for phase in run["phases"].as_array().into_iter().flatten() {
                writeln!(f, "  {}", phase["expectations"])?;
            }
        }
        let lines = self.out.lines().chain(self.err.lines()).take(30);
        for line in lines {
            writeln!(f, "  | {line}")?;
        }
        Ok(())
    }
}

/// A server to which this happens.
fn serve(folder: &Path, fault: Option<&str>) -> Server {
    let file = folder.join("plant.toml");
    fs::write(&file, PLANT).unwrap();
    let file = file.to_str().unwrap();
    let mut options = vec![file, "--security", "none", "--allow-nodes", "10000"];
    if let Some(fault) = fault {
        options.extend(["--fault", fault]);
    }
    Server::start(&folder.join("server"), &options)
}

/// Where the result goes.
fn out(cause: Cause, usual: &'static str) -> &'static str {
    match cause {
        Cause::DiskFull => "/dev/full",
        Cause::NotWritable => "taken/r",
        _ => usual,
    }
}

/// What the command is told.
fn words(command: &mut Command, row: &Row, cause: Cause, url: &str, folder: &Path) {
    // Nobody listens there: the port is reserved.
    const NOBODY: &str = "opc.tcp://127.0.0.1:1";
    let timeout = match cause {
        Cause::InterruptedLooking => "60s",
        _ => "500ms",
    };
    let (refuses, missing) = (
        cause == Cause::RefusesSome,
        cause == Cause::SecondTargetMissing,
    );
    if row.way == Way::Scenario {
        let file = folder.join("lies.toml");
        let targets = match missing {
            true => format!("[{url:?}, {NOBODY:?}]"),
            false => format!("{url:?}"),
        };
        let sessions = if refuses { 4 } else { 1 };
        let impossible = match cause {
            Cause::PipeClosed => ", \"max<1ns\"",
            _ => "",
        };
        let text = format!(
            "name = \"lies\"\ntarget = {targets}\n[[phase]]\nservice = \"read\"\n\
             nodes = [\"nsu=urn:lies;i=1\"]\nsessions = {sessions}\nrate = {{ sweep = [\"40/s\", \"60/s\"] }}\n\
             duration = \"3s\"\ntimeout = {timeout:?}\nexpect = [\"errors=0\", \"max<150ms\"{impossible}]\n"
        );
        fs::write(&file, text).unwrap();
        command.arg(file).args(["--out", out(cause, "r")]);
        return;
    }
    command.arg(url).args(row.words);
    if missing {
        command.arg(NOBODY);
    }
    match row.way {
        Way::Look => {
            command.args(["--timeout", timeout]);
            return;
        }
        Way::Search => {
            command.args(["--duration", "1s", "--trials", "6", "--timeout", timeout]);
            command.args(["--out", out(cause, "r")]);
        }
        Way::Thesis => {
            command.args(["-duration", "4", "--out", out(cause, "r.json")]);
        }
        _ => {
            command.args(["--duration", DURATION, "--timeout", timeout]);
            command.args(["--out", out(cause, "r.json")]);
            command.args(match row.way {
                Way::Subscriptions => ["--expect", "loss=0", "--expect", "delay.max<700ms"],
                _ => ["--expect", "errors=0", "--expect", "max<150ms"],
            });
        }
    }
    match cause {
        Cause::RefusesSome if row.way == Way::Thesis => command.args(["-clients", "4"]),
        Cause::RefusesSome => command.args(["--sessions", "4"]),
        Cause::LimitReached => command.args(["-n", "nsu=urn:lies;i=100..300", "--batch", "150"]),
        Cause::PipeClosed if row.expects() && row.way == Way::Subscriptions => {
            command.args(["--expect", "delay.mean<1ns"])
        }
        Cause::PipeClosed if row.expects() => command.args(["--expect", "max<1ns"]),
        _ => command,
    };
}

/// What happens to the program itself.
fn disturb(child: &Child, telling: &mut Telling, row: &Row, cause: Cause) {
    let pid = child.id();
    let listening = || {
        let until = Instant::now() + SOON;
        while !listens_to_signals(pid) && Instant::now() < until {
            sleep(Duration::from_millis(5));
        }
    };
    match cause {
        Cause::Interrupted | Cause::GeneratorStopped => {
            match row.way {
                // It says nothing while it measures.
                Way::Search | Way::Scenario => {
                    listening();
                    sleep(Duration::from_millis(1_800));
                }
                _ => telling.until_it_measures(),
            }
            if cause == Cause::Interrupted {
                signal(pid, "INT");
            } else {
                signal(pid, "STOP");
                sleep(STOPPED);
                signal(pid, "CONT");
            }
        }
        Cause::InterruptedLooking => {
            // A single look has nothing to keep: a signal ends it as it ends any program.
            if row.way != Way::Look {
                listening();
            }
            sleep(Duration::from_millis(300));
            signal(pid, "INT");
        }
        _ => {}
    }
}

/// The result files that are there.
fn runs(row: &Row, folder: &Path) -> Vec<Value> {
    if row.has_run() {
        let file = folder.join("r.json");
        return file
            .exists()
            .then(|| support::json(&file))
            .into_iter()
            .collect();
    }
    if row.way != Way::Scenario {
        return Vec::new();
    }
    let files = fs::read_dir(folder.join("r"))
        .into_iter()
        .flatten()
        .flatten();
    let mut files: Vec<_> = files.map(|it| it.path()).collect();
    files.sort();
    files
        .iter()
        .filter(|file| file.extension().is_some_and(|it| it == "json"))
        .filter(|file| file.file_name().is_some_and(|it| it != "index.json"))
        .map(|file| support::json(file))
        .collect()
}
