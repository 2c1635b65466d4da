//! Fleets in scenarios, agents whose results come late, and agents that do not do what everybody says.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::support;
use crate::support::{Said, Server, Telling, command, json, text};

const NODES: &str = "nsu=urn:bench;i=1000..1099";
const UAPERF: &str = env!("CARGO_BIN_EXE_uaperf");

/// A folder, and a server for it.
struct Lab {
    folder: TempDir,
    server: Server,
}

impl Lab {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(&folder.path().join("server"), &["--profile", "bench"]);
        Self { folder, server }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let file = self.path().join(name);
        std::fs::write(&file, text).unwrap();
        file
    }

    fn command(&self, words: &[&str]) -> Command {
        command(self.path(), words)
    }

    fn said(&self, words: &[&str]) -> Said {
        Said::by(&mut self.command(words))
    }

    /// In the place of ssh: whatever it is asked for, this is started.
    fn ssh(&self, script: &str) -> String {
        let file = self.file("ssh.sh", script);
        format!("sh {}", file.display())
    }

    fn read(&self, more: &[&str]) -> Vec<String> {
        let read = ["read", &self.server.url, "-n", NODES];
        let words = read.iter().chain(more);
        words.map(|it| (*it).to_owned()).collect()
    }
}

fn measured(said: &Said) {
    assert!(said.is_measured(), "{}{}", said.out, said.err);
}

fn completed(of: &Value) -> u64 {
    of["total"]["completed"].as_u64().unwrap()
}

fn hosts(run: &Value) -> &Vec<Value> {
    run["hosts"].as_array().unwrap()
}

/// Waits until something is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn phases_of_a_scenario_are_shared_out_by_weight_at_each_point_of_its_sweep() {
    let lab = Lab::new();
    let scenario = format!(
        "target = \"{}\"\n\
         [fleet]\nhosts = {{ sweep = [[\"local:1\"], [\"local:2*3\", \"local:1\"]] }}\n\
         [[phase]]\nservice = \"read\"\nnodes = [\"{NODES}\"]\nsessions = 7\nrequests = 70\n\
         [[phase]]\nservice = \"browse\"\nnodes = [\"i=85\"]\nrequests = 5\nfleet = false\n",
        lab.server.url
    );
    lab.file("x.toml", &scenario);
    let plan = lab.said(&["run", "x.toml", "--dry-run"]);
    assert!(plan.out.contains("agents      local:1"), "{}", plan.out);
    let page = ["--report", "page.html", "--csv", "all.csv"];
    let run = ["run", "x.toml", "--out", "out", "--quiet"];
    measured(&lab.said(&[&run[..], &page].concat()));
    let at = |name: &str| json(&lab.path().join("out").join(name));
    let sessions = |run: &Value| -> Vec<u64> {
        let each = hosts(run).iter();
        each.map(|it| it["sessions"].as_u64().unwrap()).collect()
    };
    let (one, three) = (at("001-point1-1.json"), at("002-point2-1.json"));
    assert_eq!(sessions(&one), [7]);
    assert_eq!(sessions(&three), [3, 3, 1]);
    for run in [&one, &three] {
        assert_eq!(completed(&run["phases"][0]), 70);
        assert_eq!(completed(&run["phases"][1]), 5);
        assert!(hosts(run).iter().all(|it| it["phase"] == 0));
        let sum: u64 = hosts(run).iter().map(completed).sum();
        assert_eq!(sum, 70);
    }
    assert_eq!(three["request"]["fleet"][0], "local:2*3");
    let page = std::fs::read_to_string(lab.path().join("page.html")).unwrap();
    assert!(page.contains("Agents that shared the load") && page.contains("local:3"));
    let csv = std::fs::read_to_string(lab.path().join("all.csv")).unwrap();
    let share = csv.lines().find(|it| it.contains("agent.local:3.share"));
    // One session of seven.
    let share: f64 = share.unwrap().split(',').nth(6).unwrap().parse().unwrap();
    assert!((share - 1.0 / 7.0).abs() < 1e-9, "{share}");
    // Side by side, and compared: who made the load is seen.
    let files = ["out/001-point1-1.json", "out/002-point2-1.json"];
    let shown = lab.said(&[&["show"][..], &files].concat()).out;
    for words in ["local:2", "of the load", "busiest core", "clock"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let compared = lab.said(&[&["compare"][..], &files].concat()).out;
    assert!(compared.contains("differ in their agents"), "{compared}");
    assert!(
        compared.contains("new local:3: 14.3 % of the load"),
        "{compared}"
    );
}

/// Kinds of load beside reading, writing and subscribing: what each needs, and how many are completed of nine.
const KINDS: &[(&str, &str)] = &[
    ("browse", "nodes = 'i=85'"),
    ("translate", ""),
    (
        "call",
        "object = 'nsu=urn:bench;i=4001'\nmethod = 'nsu=urn:bench;i=4000'\nargs = '1.5'\nallow = 'call'",
    ),
    ("connect", "allow = 'storm'"),
    ("items", ""),
    ("sequence", "sequences = 'one*1: read i=2258'"),
];

#[test]
fn every_kind_of_load_is_shared_out() {
    let lab = Lab::new();
    let mut scenario = format!(
        "target = \"{}\"\n[fleet]\nhosts = 'local:2'\n",
        lab.server.url
    );
    scenario.push_str("[defaults]\nsessions = 3\nrequests = 9\n");
    for (service, more) in KINDS {
        scenario.push_str(&format!(
            "[[phase]]\nservice = '{service}'\ngroup = 'all'\n{more}\n"
        ));
    }
    lab.file("x.toml", &scenario);
    measured(&lab.said(&["run", "x.toml", "--out", "out", "--quiet"]));
    let run = json(&lab.path().join("out/001-point1-1.json"));
    for (n, (service, _)) in KINDS.iter().enumerate() {
        let phase = &run["phases"][n];
        assert_eq!(phase["name"], *service);
        assert_eq!(completed(phase), 9, "{service}");
        let own: Vec<&Value> = hosts(&run).iter().filter(|it| it["phase"] == n).collect();
        let sessions: Vec<&Value> = own.iter().map(|it| &it["sessions"]).collect();
        assert_eq!(sessions, [2, 1], "{service}");
        assert_eq!(
            own.iter().map(|it| completed(it)).sum::<u64>(),
            9,
            "{service}"
        );
    }
}

#[test]
fn an_agent_that_is_not_there_leaves_a_point_that_is_incomplete_and_says_so() {
    let lab = Lab::new();
    let scenario = format!(
        "target = \"{}\"\n[[phase]]\nservice = \"read\"\nnodes = [\"{NODES}\"]\nrequests = 20\n",
        lab.server.url
    );
    lab.file("x.toml", &scenario);
    let fleet = ["--fleet", "local:1,ssh:nobody.invalid*cores"];
    let run = ["run", "x.toml", "--out", "out", "--quiet"];
    let mut command = lab.command(&[&run[..], &fleet].concat());
    let told = Said::by(command.env("UAPERF_SSH", "false"));
    assert_eq!(told.code, 1, "{}{}", told.out, told.err);
    let run = json(&lab.path().join("out/001-point1-1.json"));
    assert_eq!(run["verdict"]["kind"], "INCOMPLETE");
    assert_eq!(run["marks"].to_string(), "[\"degraded\"]");
    assert_eq!(completed(&run["phases"][0]), 20);
    assert!(hosts(&run)[1]["lost"].is_string());
    let index = json(&lab.path().join("out/index.json"));
    assert_eq!(index["scenario"]["fleet"][1], "ssh:nobody.invalid*cores");
}

#[test]
fn what_agents_cannot_do_in_a_scenario_is_refused_with_its_line() {
    let lab = Lab::new();
    let refused = |phase: &str, fleet: &str, want: &str| {
        let target = "target = \"opc.tcp://127.0.0.1:1\"\n";
        lab.file("x.toml", &format!("{target}{fleet}[[phase]]\n{phase}\n"));
        let told = lab.said(&["check", "x.toml"]);
        assert_eq!(told.code, 2, "{}", told.out);
        assert!(told.err.contains(want), "{want}: {}", told.err);
    };
    let two = "[fleet]\nhosts = \"local:2\"\n";
    let publish = "service = \"publish\"";
    let want = "bad phase[0].service: agents do not carry out publish yet";
    refused(publish, two, want);
    let read = "service = \"read\"\nnodes = \"i=2258\"\n";
    let with = |line: &str| format!("{read}{line}");
    refused(
        &with("samples = true"),
        two,
        "bad phase[0].samples: agents of --fleet",
    );
    refused(&with("fresh_session = true"), two, "x.toml line 7");
    refused(&with("fleet = false"), two, "no phase is shared by them");
    refused(read, "[fleet]\nhosts = \"plc1\"\n", "bad fleet.hosts");
    refused(read, "[fleet]\nhosts = []\n", "names no agents");
    refused(read, "[fleet]\nhost = \"local:1\"\n", "did you mean hosts?");
    refused(
        read,
        "[fleet]\nhosts = \"local:2*0\"\n",
        "want a weight of 1 to 1000",
    );
    refused(
        read,
        "[fleet]\nhosts = \"local:1\"\norphan = \"1s\"\n",
        "want 3s or more",
    );
}

/// A read that has begun, by agents whose pipes can be cut.
fn begun(lab: &Lab, ssh: &str, fleet: &str) -> (Child, Telling) {
    let load = [
        "--sessions",
        "4",
        "--duration",
        "3s",
        "--warmup",
        "0s",
        "--plain",
    ];
    let fleet = ["--out", "run.json", "--fleet", fleet];
    let words = lab.read(&[&load[..], &fleet].concat());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut command = lab.command(&words);
    let mut child = command
        .env("UAPERF_SSH", ssh)
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut telling = Telling::of(&mut child);
    telling.until_it_measures();
    (child, telling)
}

/// Agents behind two pipes; who holds the first one is written down.
fn relayed(lab: &Lab) -> String {
    let script = format!(
        "sh -c 'echo $$ > {}; exec cat' | {UAPERF} agent --pipe | cat\n",
        lab.path().join("holder").display()
    );
    lab.ssh(&script)
}

#[test]
fn what_an_agent_did_whose_way_broke_is_brought_into_the_result_later() {
    let lab = Lab::new();
    let ssh = relayed(&lab);
    let (child, telling) = begun(&lab, &ssh, "local:1,ssh:lab");
    let holder = std::fs::read_to_string(lab.path().join("holder")).unwrap();
    support::signal(holder.trim().parse().unwrap(), "TERM");
    let err = telling.whole();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    let err = err.join().unwrap();
    assert!(
        err.contains("agent ssh:lab was lost while it made its load"),
        "{err}"
    );
    let before = json(&lab.path().join("run.json"));
    let load = hosts(&before)[1]["books"].as_str().unwrap().to_owned();
    let listed = lab.said(&["fleet", "collect"]).out;
    assert!(
        listed.contains(&load) && listed.contains("missing: ssh:lab"),
        "{listed}"
    );
    // Whoever cannot be reached has told nothing.
    let mut command = lab.command(&["fleet", "collect", "run.json"]);
    let told = Said::by(command.env("UAPERF_SSH", "false"));
    assert_eq!(told.code, 1, "{}", told.out);
    assert_eq!(json(&lab.path().join("run.json")), before);
    let mut command = lab.command(&["fleet", "collect", "run.json"]);
    let told = Said::by(command.env("UAPERF_SSH", &ssh));
    // It had stopped when it was alone.
    assert_eq!(told.code, 1, "{}{}", told.out, told.err);
    let after = json(&lab.path().join("run.json"));
    let own: u64 = hosts(&after).iter().map(completed).sum();
    assert_eq!(completed(&after["phases"][0]), own);
    assert!(own > completed(&before["phases"][0]));
    assert_eq!(hosts(&after)[1]["late"], true);
    assert!(hosts(&after)[1]["lost"].is_null());
    let evidence = after["verdict"]["evidence"].to_string();
    assert!(
        evidence.contains("agent ssh:lab had lost its controller and stopped after"),
        "{evidence}"
    );
    assert!(!evidence.contains("is missing"), "{evidence}");
    // What is whole is kept nowhere any more.
    let listed = lab.said(&["fleet", "collect"]).out;
    assert_eq!(listed, "no results wait here\n");
    let told = lab.said(&["fleet", "collect", "run.json"]);
    assert_eq!(told.code, 2, "{}", told.err);
}

#[test]
fn a_load_whose_controller_was_killed_has_a_result_of_what_its_agents_kept() {
    let lab = Lab::new();
    let (mut child, telling) = begun(&lab, "false", "local:2");
    child.kill().unwrap();
    child.wait().unwrap();
    drop(telling);
    let state = lab.path().join("state/uaperf/fleet");
    let folders: Vec<PathBuf> = std::fs::read_dir(&state)
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    let [folder] = folders.as_slice() else {
        panic!("{folders:?}");
    };
    let kept = |n: u32| folder.join(format!("agent-{n}")).exists();
    until("agents keep what they did", || kept(0) && kept(1));
    let load = folder.file_name().unwrap().to_str().unwrap();
    let told = lab.said(&["fleet", "collect", load, "--out", "late.json"]);
    assert_eq!(told.code, 1, "{}{}", told.out, told.err);
    let run = json(&lab.path().join("late.json"));
    assert_eq!(run["verdict"]["kind"], "INCOMPLETE");
    assert_eq!(run["command"], "read");
    let own: u64 = hosts(&run).iter().map(completed).sum();
    assert!(own > 0 && own == completed(&run["phases"][0]));
    assert!(hosts(&run).iter().all(|it| it["late"] == true));
    assert!(!folder.exists());
    let nobody = "0".repeat(32);
    let told = lab.said(&["fleet", "collect", &nobody]);
    assert!(
        told.code == 2 && told.err.contains("is known here"),
        "{}",
        told.err
    );
}

#[test]
fn an_agent_takes_signed_commands_only_for_its_servers_and_kinds_of_load() {
    let lab = Lab::new();
    let key = |name: &str| {
        let file = lab.path().join(name);
        let file = file.to_str().unwrap();
        let told = lab.said(&["fleet", "key", "--key", file]);
        assert_eq!(told.code, 0, "{}", told.err);
        // It is made once.
        assert_eq!(lab.said(&["fleet", "key", "--key", file]).out, told.out);
        told.out
    };
    let known = lab.file("keys", &format!("# of the lab\n{}", key("own")));
    key("other");
    let port = lab.server.url.rsplit(':').next().unwrap().to_owned();
    let journal = lab.path().join("journal");
    let agent = |guard: &str| {
        let (keys, journal) = (known.display(), journal.display());
        lab.ssh(&format!(
            "exec {UAPERF} agent --pipe --allow-from {keys} --journal {journal} {guard}\n"
        ))
    };
    let good = format!("--targets '127.0.0.*:{port}' --loads read");
    let load = |words: &[&str], key: &str, guard: &str| {
        let more = ["--requests", "20", "--out", "run.json", "--quiet"];
        let fleet = ["--fleet", "ssh:lab"];
        let words = [words, &more, &fleet].concat();
        let mut command = lab.command(&words);
        command.env("UAPERF_SSH", agent(guard));
        Said::by(command.env("UAPERF_FLEET_KEY", lab.path().join(key)))
    };
    let read = ["read", &lab.server.url, "-n", NODES];
    measured(&load(&read, "own", &good));
    assert_eq!(
        completed(&json(&lab.path().join("run.json"))["phases"][0]),
        20
    );
    let write = ["write", &lab.server.url, "-n", NODES, "--allow", "write"];
    let other = "--targets plc1 --loads read,write";
    for (words, key, guard, want) in [
        (&read[..], "none", &*good, "the command is not signed"),
        (&read[..], "other", &good, "signed with another key"),
        (
            &write[..],
            "own",
            &good,
            "write is not among its --loads: read",
        ),
        (&read[..], "own", other, "is not among its --targets"),
    ] {
        let told = load(words, key, guard);
        assert_eq!(told.code, 1, "{want}: {}{}", told.out, told.err);
        assert!(told.err.contains(want), "{want}: {}", told.err);
    }
    let journal = std::fs::read_to_string(journal).unwrap();
    let has = |words: &str| journal.lines().filter(|it| it.contains(words)).count();
    assert_eq!(
        (has(" taken: read"), has("ended as asked")),
        (1, 1),
        "{journal}"
    );
    assert_eq!(has("refused"), 4, "{journal}");
    // An agent that could not say later what it did does nothing.
    let told = lab.said(&[
        "agent",
        "--pipe",
        "--allow-from",
        "keys",
        "--targets",
        "a",
        "--journal",
        "/",
    ]);
    assert_ne!(told.code, 0);
    let told = lab.said(&["agent", "--pipe", "--allow-from", "keys"]);
    assert!(
        told.code == 2 && told.err.contains("--targets"),
        "{}",
        told.err
    );
}

#[test]
fn a_key_is_one_that_openssl_reads() {
    let lab = tempfile::tempdir().unwrap();
    let words = ["fleet", "key", "--key", "own.key"];
    let line = Said::by(&mut command(lab.path(), &words)).out;
    let hex = line
        .strip_prefix("ed25519:")
        .and_then(|it| it.get(..64))
        .unwrap();
    let text = Command::new("openssl")
        .args(["pkey", "-in", "own.key", "-noout", "-text_pub"])
        .current_dir(lab.path())
        .output();
    let Ok(text) = text else {
        return without::skipped("fleet key", "no openssl", "apt-get install openssl");
    };
    let digits: String = String::from_utf8_lossy(&text.stdout)
        .lines()
        .filter(|it| it.starts_with(' '))
        .flat_map(|it| it.chars().filter(char::is_ascii_hexdigit))
        .collect();
    assert_eq!(digits, hex, "{}", String::from_utf8_lossy(&text.stderr));
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(lab.path().join("own.key"))
        .unwrap()
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}
