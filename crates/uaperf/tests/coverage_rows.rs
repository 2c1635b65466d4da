//! Ten rows of `docs/coverage.md`, picked at random each day, and what they name tried: commands are run, options are given,
//! scenarios are planned, words are looked for in results.
//!
//! `UAPERF_COVERAGE_ROWS=all` tries each row, `UAPERF_COVERAGE_ROWS=T-12,B-3` these.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::support::{Said, Server, command, text};

const PICKED: usize = 10;

/// A row that is met: its requirement, and how.
#[derive(Debug, Clone)]
struct Row {
    id: String,
    how: String,
}

impl Row {
    fn all(page: &str) -> Vec<Self> {
        let row = |line: &str| {
            let mut cells = line.strip_prefix("| ")?.splitn(3, " | ");
            let (id, status) = (cells.next()?, cells.next()?);
            let how = cells.next()?.trim_end_matches('|').trim();
            (status == "met").then(|| Self {
                id: id.to_owned(),
                how: how.to_owned(),
            })
        };
        page.lines().filter_map(row).collect()
    }

    /// What stands between backticks.
    fn named(&self) -> impl Iterator<Item = &str> {
        self.how.split('`').skip(1).step_by(2)
    }
}

/// Words of a line as a shell takes them apart.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars().chain([' ']) {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    words
}

/// Whether somebody has to say what it is: `FILE`, `n`, `…`.
fn is_open(word: &str) -> bool {
    let open = |part: &str| {
        let is_name = part.len() > 1 && part.chars().all(|c| c.is_ascii_uppercase());
        is_name || part.len() == 1 && part.chars().all(char::is_lowercase)
    };
    word.contains('…') || word.split(['=', ':', '.']).any(open)
}

/// Where rows are tried.
struct Bench {
    folder: tempfile::TempDir,
    root: PathBuf,
    server: Server,
    /// Commands by their words, with their help.
    commands: Vec<(Vec<String>, String)>,
    /// What results of a Read and of a subscription say, on screens and in files.
    results: String,
}

const NODE: &str = "nsu=urn:bench;i=1000";

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = root.canonicalize().unwrap();
        for name in ["docs", "scenarios"] {
            std::os::unix::fs::symlink(root.join(name), folder.path().join(name)).unwrap();
        }
        let server = Server::start(&folder.path().join("pki"), &["--trust"]);
        let mut bench = Self {
            folder,
            root,
            server,
            commands: Vec::new(),
            results: String::new(),
        };
        bench.find(&[]);
        assert!(bench.commands.len() > 60, "{}", bench.commands.len());
        for service in ["read", "subscribe"] {
            let said = bench.measured(service, &["--out", "x.json"]);
            assert!(is_done(&said), "{}{}", said.out, said.err);
            let file = std::fs::read_to_string(bench.folder.path().join("x.json")).unwrap();
            bench.results += &format!("{}\n{file}\n", said.out);
        }
        bench
    }

    fn said(&self, words: &[&str]) -> Said {
        Said::by(&mut command(self.folder.path(), words))
    }

    /// A command and all below it.
    fn find(&mut self, above: &[String]) {
        let mut typed: Vec<&str> = above.iter().map(String::as_str).collect();
        typed.push("--help");
        let said = self.said(&typed);
        assert_eq!(said.code, 0, "{typed:?}: {}", said.err);
        let listed = said.out.split("\nCommands:\n").nth(1).unwrap_or_default();
        let below = listed.lines().take_while(|it| !it.is_empty());
        let names = below.filter(|it| it.starts_with("  ") && !it.starts_with("   "));
        let names: Vec<String> = names
            .filter_map(|it| it.split_whitespace().next())
            .filter(|it| *it != "help")
            .map(str::to_owned)
            .collect();
        self.commands.push((above.to_vec(), said.out));
        for name in names {
            let mut at = above.to_vec();
            at.push(name);
            self.find(&at);
        }
    }

    /// A short measurement of the server.
    fn measured(&self, service: &str, more: &[&str]) -> Said {
        let mut words = vec![service, &self.server.url, "-n", NODE, "--duration", "200ms"];
        words.extend(
            ["--security", "none"]
                .iter()
                .filter(|_| !more.contains(&"--security")),
        );
        words.extend(more);
        self.said(&words)
    }

    /// The command that words begin with, and its help.
    fn command(&self, words: &[String]) -> Option<&(Vec<String>, String)> {
        let fits = |it: &&(Vec<String>, String)| !it.0.is_empty() && words.starts_with(&it.0);
        self.commands
            .iter()
            .filter(fits)
            .max_by_key(|it| it.0.len())
    }

    /// Tries what a row names; what it did, or nothing where there is nothing to try.
    fn tried(&self, named: &str) -> Option<Result<String, String>> {
        let mut words = words(named);
        if words.first().is_some_and(|it| it == "uaperf") {
            words.remove(0);
            return Some(self.tried_command(&words));
        }
        if named.starts_with("--") {
            return Some(self.tried_option(&words));
        }
        if named.starts_with("scenarios/") {
            return Some(self.planned(named));
        }
        if named.starts_with("crates/") || named.starts_with("docs/") {
            let is_there = self.root.join(named).exists();
            return Some(match is_there {
                true => Ok(format!("{named} is there")),
                false => Err(format!("{named} is not there")),
            });
        }
        // A word of results.
        let is_word = named
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        let found = is_word && named.len() > 3 && self.results.contains(named);
        found.then(|| Ok(format!("{named} stands in results")))
    }

    /// A command is one that there is, has the options that it is named with, and does what it says where nothing is left open.
    fn tried_command(&self, words: &[String]) -> Result<String, String> {
        let line = words.join(" ");
        let (at, help) = self
            .command(words)
            .ok_or_else(|| format!("no command: {line}"))?;
        let own = words.iter().take_while(|it| *it != "--");
        for option in own.filter(|it| it.starts_with("--")) {
            let name = option.split('=').next().unwrap_or(option);
            if !has(help, name) {
                return Err(format!("{} has no {name}", at.join(" ")));
            }
        }
        let rest = &words[at.len()..];
        let wants = |it: &String| help.contains(&format!("{it} <"));
        if rest.iter().any(|it| is_open(it)) || rest.last().is_some_and(wants) {
            return Ok(format!("{line}: as its help has it"));
        }
        let typed: Vec<&str> = words.iter().map(String::as_str).collect();
        let said = match (at[0].as_str(), rest) {
            ("read" | "subscribe" | "browse", []) => self.measured(&at[0], &[]),
            ("probe", []) => self.said(&["probe", &self.server.url, "--security", "none"]),
            ("paper", [_, ..]) if at.get(1).is_some_and(|it| it == "run") => {
                let mut typed = typed;
                typed.push("--dry-run");
                self.said(&typed)
            }
            ("size" | "new", [_, ..]) => {
                let mut typed = typed;
                let made = self.folder.path().join("made.toml");
                // A file that is there is not written over.
                let _ = std::fs::remove_file(&made);
                if at[0] == "new" && rest.len() == 1 {
                    typed.push("made.toml");
                }
                self.said(&typed)
            }
            _ => return Ok(format!("{line}: as its help has it")),
        };
        match said.code {
            code if is_done(&said) => Ok(format!("{line}: ended with {code}")),
            code => Err(format!(
                "{line}: ended with {code}: {}{}",
                said.out, said.err
            )),
        }
    }

    /// An option is one of a command, and is taken by a Read where that has it and its value is known.
    fn tried_option(&self, words: &[String]) -> Result<String, String> {
        let line = words.join(" ");
        for option in words.iter().filter(|it| it.starts_with("--")) {
            let name = option.split('=').next().unwrap_or(option);
            if !self.commands.iter().any(|it| has(&it.1, name)) {
                return Err(format!("no command has {name}"));
            }
        }
        let read = &self.command(&["read".to_owned()]).ok_or("no read")?.1;
        let is_said = |it: &String| !it.starts_with("--") || it.contains('=');
        let whole = words.chunk_by(|_, next| !next.starts_with("--"));
        let is_whole = whole
            .clone()
            .all(|it| it.iter().any(is_said) && has(read, it[0].split('=').next().unwrap_or("")));
        // What takes long, or wants something else of this machine, is left to tests of its own.
        let elsewhere = [
            "--fleet",
            "--isolated",
            "--observe",
            "--link",
            "--revocation",
            "--duration",
            "--warmup",
            "--requests",
            "--settle",
            "--rt",
        ];
        let is_elsewhere = words
            .iter()
            .any(|it| elsewhere.iter().any(|no| it.starts_with(no)));
        if !is_whole || is_elsewhere || words.iter().any(|it| is_open(it)) {
            return Ok(format!("{line}: as the help has it"));
        }
        let mut typed: Vec<&str> = words.iter().map(String::as_str).collect();
        typed.push("--trust");
        let said = self.measured("read", &typed);
        match said.code {
            code if is_done(&said) => Ok(format!("read … {line}: ended with {code}")),
            code => Err(format!(
                "read … {line}: ended with {code}: {}{}",
                said.out, said.err
            )),
        }
    }

    /// A scenario, or each of a folder, can be planned.
    fn planned(&self, named: &str) -> Result<String, String> {
        let at = self.root.join(named);
        let mut files = vec![at.clone()];
        if at.is_dir() {
            let all = std::fs::read_dir(&at).map_err(|it| it.to_string())?;
            files = all.map(|it| it.unwrap().path()).collect();
        }
        files.retain(|it| it.extension().is_some_and(|it| it == "toml"));
        for file in &files {
            let said = self.said(&["run", "--dry-run", &file.to_string_lossy()]);
            if said.code != 0 {
                return Err(format!("{}: {}", file.display(), said.err));
            }
        }
        match at.exists() {
            true => Ok(format!("{named}: {} planned", files.len())),
            false => Err(format!("{named} is not there")),
        }
    }
}

/// Whether a command did what it was told. A busy machine may keep a short measurement from being whole.
fn is_done(said: &Said) -> bool {
    matches!(said.code, 0 | 3 | 4) || said.code == 1 && said.out.contains("INCOMPLETE")
}

/// Whether an option stands in a help text, by its whole name.
fn has(help: &str, name: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
    help.match_indices(name)
        .any(|(at, _)| ends(&help[at + name.len()..]))
}

#[test]
fn ten_rows_that_are_met_say_what_the_program_does() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/coverage.md");
    let page = text(&std::fs::read(page).unwrap());
    let rows = Row::all(&page);
    assert!(rows.len() > 400, "{}", rows.len());
    let bench = Bench::new();
    let asked = std::env::var("UAPERF_COVERAGE_ROWS").unwrap_or_default();
    let day = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let day = day.unwrap().as_secs() / 86_400;
    let place = |row: &Row| {
        let mut hasher = DefaultHasher::new();
        (day, &row.id).hash(&mut hasher);
        hasher.finish()
    };
    let mut picked = rows.clone();
    picked.sort_by_key(place);
    if !asked.is_empty() && asked != "all" {
        picked.retain(|row| asked.split(',').any(|it| it == row.id));
    }
    let most = if asked.is_empty() {
        PICKED
    } else {
        picked.len()
    };
    let (mut replayed, mut wrong) = (0, Vec::new());
    for row in picked {
        if replayed == most {
            break;
        }
        let tried: Vec<_> = row.named().filter_map(|it| bench.tried(it)).collect();
        replayed += usize::from(!tried.is_empty());
        for it in tried {
            match it {
                Ok(said) => println!("{}: {said}", row.id),
                Err(error) => wrong.push(format!("{}: {error}", row.id)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(replayed >= PICKED.min(most), "{replayed} of {most}");
}

#[test]
fn a_row_that_names_what_is_not_there_is_found_out() {
    let bench = Bench::new();
    for wrong in [
        "uaperf reed",
        "uaperf read --no-such-thing",
        "--no-such-thing",
        "scenarios/nothing.toml",
        "crates/nothing.rs",
        "uaperf size nothing.toml --model plant",
        "--expect 'p99<banana'",
    ] {
        let found = bench.tried(wrong);
        assert!(matches!(found, Some(Err(_))), "{wrong}: {found:?}");
    }
    assert!(bench.tried("nothingofthekind").is_none());
}
