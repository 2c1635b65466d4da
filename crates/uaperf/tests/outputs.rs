//! Where results go: files that cannot be written, a reader who has gone, and what is kept all the same.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::Command;

use crate::support::{Said, Server, command, json, text};
use tempfile::TempDir;

/// A server, and a folder to work in.
struct Bench {
    server: Server,
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = ["--profile", "bench", "--security", "none"];
        let server = Server::start(&folder.path().join("server"), &options);
        Self { server, folder }
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// A short read with these words.
    fn read(&self, words: &[&str]) -> Command {
        let mut command = read(self.folder.path(), &self.server.url);
        command.args(words);
        command
    }

    /// A scenario of short reads from here, with what follows in it.
    fn scenario(&self, phases: &str) {
        let text = format!("name = \"x\"\ntarget = {:?}\n{phases}", self.server.url);
        std::fs::write(self.at("x.toml"), text).unwrap();
    }

    fn run(&self, words: &[&str]) -> Said {
        let words = [&["run", "x.toml", "--out", "r"], words].concat();
        Said::by(&mut command(self.folder.path(), &words))
    }
}

fn read(folder: &Path, url: &str) -> Command {
    let mut command = command(folder, &["read", url, "-n", "nsu=urn:bench;i=1000"]);
    command.args([
        "--rate",
        "100/s",
        "--duration",
        "300ms",
        "--warmup",
        "0s",
        "--quiet",
    ]);
    command
}

/// With nobody who reads what it prints; what else it said.
fn unread(command: &mut Command) -> (i32, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.stdout(writer).output().unwrap();
    (output.status.code().unwrap(), text(&output.stderr))
}

const READ: &str = "service = \"read\"\nnodes = [\"nsu=urn:bench;i=1000\"]\nrate = \"100/s\"\nduration = \"300ms\"\n\
                    warmup = \"0s\"\n";

#[test]
fn a_reader_who_has_gone_changes_neither_results_nor_exit_codes() {
    let bench = Bench::new();
    let files = [
        "--out",
        "r.json",
        "--report",
        "page.html",
        "--expect",
        "max<1ns",
    ];
    let read = unread(&mut bench.read(&files));
    // A busy machine may make it late.
    assert!(matches!(read.0, 3 | 4), "{read:?}");
    assert_eq!(
        json(&bench.at("r.json"))["phases"][0]["expectations"][0]["met"],
        false
    );
    assert!(bench.at("page.html").exists());

    bench.scenario(&format!(
        "[[phase]]\n{READ}batch = {{ sweep = [1, 2] }}\nexpect = [\"max<1ns\"]\n"
    ));
    let words = [
        "run",
        "x.toml",
        "--out",
        "r",
        "--quiet",
        "--report",
        "points.html",
    ];
    let run = unread(&mut command(bench.folder.path(), &words));
    assert!(matches!(run.0, 3 | 4), "{run:?}");
    assert!(bench.at("points.html").exists() && bench.at("r/002-point2-1.json").exists());

    // Nor does one who reads neither output nor errors.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut nobody = command(bench.folder.path(), &["show", "missing.json"]);
    nobody.stdout(writer.try_clone().unwrap()).stderr(writer);
    assert_eq!(nobody.status().unwrap().code(), Some(1));
}

#[test]
fn a_file_that_is_lost_is_named_and_the_exit_code_is_1() {
    let bench = Bench::new();
    let full = "/dev/full";
    for option in ["--hlog", "--csv", "--report", "--junit", "--live-file"] {
        let said = Said::by(&mut bench.read(&["--out", "r.json", option, full]));
        assert_eq!(said.code, 1, "{option}: {}", said.err);
        let lost = format!("error: {option} /dev/full: cannot be written: ");
        assert!(said.err.contains(&lost), "{option}: {}", said.err);
        // Everything else is there.
        assert!(said.out.contains("r.json"), "{option}: {}", said.out);
        std::fs::remove_file(bench.at("r.json")).unwrap();
    }
    let said = Said::by(&mut bench.read(&["--out", full]));
    assert_eq!(said.code, 1);
    let lost = "error: cannot write the result to /dev/full: ";
    let line = said
        .err
        .lines()
        .find(|line| line.starts_with(lost))
        .unwrap();
    let instead = line.split("it is in ").nth(1).unwrap();
    let instead = instead.strip_suffix(" instead").unwrap();
    assert!(bench.at(instead).exists(), "{line}");
    assert!(said.out.contains(instead), "{}", said.out);

    let mut command = bench.read(&["--out", "r.json"]);
    let output = command.stdout(std::fs::File::options().write(true).open(full).unwrap());
    let output = output.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.contains("error: cannot write to standard output: "),
        "{said}"
    );
}

#[test]
fn files_are_held_against_each_other_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("taken"), "a file").unwrap();
    std::os::unix::fs::symlink("x.csv", at("link")).unwrap();
    // Nobody listens there, and nobody is asked.
    let nowhere = "opc.tcp://127.0.0.1:1";
    for (words, code, error) in [
        (
            &["--out", "x", "--csv", "./x"],
            2,
            "error: --out and --csv name the same file: ./x",
        ),
        (
            &["--csv", "x.csv", "--junit", "link"],
            2,
            "error: --csv and --junit name the same file: link",
        ),
        (
            &["--csv", "-", "--out", "/dev/stdout"],
            2,
            "error: --out and --csv: both go to standard output",
        ),
        (
            &["--out", "taken/r.json", "--csv", "x"],
            1,
            "error: --out taken/r.json: cannot be written: ",
        ),
        (
            &["--csv", "taken/x", "--out", "x"],
            1,
            "error: --csv taken/x: cannot be written: ",
        ),
    ] {
        let mut command = read(folder.path(), nowhere);
        let said = Said::by(command.args(words));
        assert_eq!(
            (said.code, said.err.starts_with(error)),
            (code, true),
            "{}",
            said.err
        );
    }
    // What was tried out is not left behind.
    let names = std::fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<_> = names.map(|it| it.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["link", "taken"]);
}

#[test]
fn a_table_on_standard_output_is_alone_there() {
    let bench = Bench::new();
    let said = Said::by(&mut bench.read(&["--out", "r.json", "--csv", "-"]));
    let commas = said.out.lines().map(|line| line.matches(',').count());
    let commas: Vec<usize> = commas.collect();
    assert!(
        commas.len() > 2 && commas.iter().all(|n| *n == commas[0]),
        "{}",
        said.out
    );
    assert!(said.err.contains("r.json"), "{}", said.err);

    let said = Said::by(&mut bench.read(&["--out", "-"]));
    let run: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(run["format"], "uaperf run");
}

#[test]
fn a_scenario_that_can_keep_no_more_shows_what_was_done_and_names_what_is_lost() {
    let bench = Bench::new();
    bench.scenario(&format!(
        "[[phase]]\n{READ}batch = {{ sweep = [1, 2, 3] }}\n"
    ));
    // A folder where the second result is to be.
    std::fs::create_dir_all(bench.at("r/002-point2-1.json/x")).unwrap();
    let said = bench.run(&["--quiet"]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(
        said.err
            .contains("error: cannot write the result to r/002-point2-1.json: "),
        "{}",
        said.err
    );
    assert!(
        said.out
            .contains("3 measurements, 1 measured, 1 failed, 1 to be measured"),
        "{}",
        said.out
    );
    assert!(said.out.contains("it is in results/"), "{}", said.out);
    assert!(bench.at("r/001-point1-1.json").exists());
}

#[test]
fn a_phase_that_cannot_begin_leaves_those_before_it() {
    let bench = Bench::new();
    bench.scenario(&format!(
        "[[phase]]\nname = \"first\"\n{READ}[[phase]]\nname = \"second\"\n{}",
        READ.replace("i=1000", "i=1000..1009")
            + "batch = 5\n"
            + "security = \"Basic256Sha256:Sign\"\n"
    ));
    let said = bench.run(&["--quiet", "--junit", "x.xml"]);
    assert_eq!(said.code, 1, "{}", said.err);
    let run = json(&bench.at("r/001-point1-1.json"));
    assert_eq!(run["verdict"]["kind"], "INCOMPLETE");
    assert_eq!(run["phases"].as_array().unwrap().len(), 1);
    let evidence = run["verdict"]["evidence"][0].as_str().unwrap();
    assert!(
        evidence.starts_with("second was not measured: "),
        "{evidence}"
    );
    let junit = std::fs::read_to_string(bench.at("x.xml")).unwrap();
    assert!(junit.contains("second was not measured"), "{junit}");
}

#[test]
fn test_cases_say_what_could_not_be_measured() {
    let bench = Bench::new();
    // A busy machine may give points that were measured an error of their own.
    let count = |file: &str| {
        let text = std::fs::read_to_string(bench.at(file)).unwrap();
        text.matches("not all of it was measured").count()
    };
    // The second of two points, and then both.
    bench.scenario(&format!(
        "[[phase]]\n{}security = {{ sweep = [\"none\", \"Basic256Sha256:Sign\"] }}\n",
        READ
    ));
    let said = bench.run(&["--quiet", "--junit", "one.xml"]);
    assert_ne!(said.code, 0, "{}", said.err);
    assert_eq!(count("one.xml"), 1);
    let both =
        "security = { sweep = [\"Basic256Sha256:Sign\", \"Basic256Sha256:SignAndEncrypt\"] }";
    bench.scenario(&format!("[[phase]]\n{READ}{both}\n"));
    std::fs::remove_dir_all(bench.at("r")).unwrap();
    let said = bench.run(&["--quiet", "--junit", "both.xml"]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert_eq!(count("both.xml"), 2);
    // And of a command whose server is not there.
    let mut command = read(bench.folder.path(), "opc.tcp://127.0.0.1:1");
    assert_eq!(Said::by(command.args(["--junit", "none.xml"])).code, 1);
    assert_eq!(count("none.xml"), 1);
}

#[test]
fn what_is_printed_is_chosen_and_nothing_else_goes_to_standard_output() {
    let bench = Bench::new();
    let read = |words: &[&str]| Said::by(&mut bench.read(&[&["--out", "r.json"], words].concat()));
    let kept = || json(&bench.at("r.json"));

    let said = read(&["-q"]);
    assert_eq!(said.out.lines().count(), 1, "{}", said.out);
    let verdict = kept()["verdict"]["kind"].as_str().unwrap().to_owned();
    let word = verdict.replace('-', "_").to_uppercase();
    let first = said
        .out
        .split_whitespace()
        .next()
        .unwrap()
        .replace('-', "_");
    assert_eq!(first, word);
    assert_eq!(said.err, "");

    let said = read(&["-qq", "--expect", "max<1ns"]);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", ""));
    assert!(matches!(said.code, 3 | 4), "the exit code still says it");

    for form in [&["--json"][..], &["--format", "json"]] {
        let said = read(form);
        let printed: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!(printed, kept());
    }
    let said = read(&["--format", "csv", "--csv", "r.csv"]);
    let file = std::fs::read_to_string(bench.at("r.csv")).unwrap();
    assert_eq!(said.out.lines().next(), file.lines().next());
    assert!(said.out.lines().count() > 5);

    let said = Said::by(&mut command(
        bench.folder.path(),
        &["show", "r.json", "--json"],
    ));
    let printed: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(printed, kept());
    let words = ["show", "r.json", "r.json", "--json"];
    let said = Said::by(&mut command(bench.folder.path(), &words));
    let printed: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(printed[1], kept());

    // Two things that want standard output.
    let said = read(&["--json", "--csv", "-"]);
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("--json: a file goes to standard output"),
        "{}",
        said.err
    );
    let said = read(&["--json", "-q"]);
    assert_eq!(said.code, 2, "{}", said.out);

    bench.scenario(&format!("[[phase]]\n{READ}"));
    let said = bench.run(&["--json"]);
    let index: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(index, json(&bench.at("r/index.json")));
    std::fs::remove_dir_all(bench.at("r")).unwrap();
    let said = bench.run(&["-q"]);
    assert_eq!(said.out.lines().count(), 1, "{}", said.out);
}

#[test]
fn what_a_threshold_allows_is_a_budget_on_screen_page_and_in_the_file() {
    let bench = Bench::new();
    let read = |expected: &str| {
        let words = ["--expect", expected];
        let files = ["--out", "r.json", "--report", "page.html"];
        Said::by(&mut bench.read(&[&words[..], &files].concat()))
    };
    let said = read("p99<1ns,errors<1%,errors=0");
    assert!(matches!(said.code, 3 | 4), "{}{}", said.out, said.err);
    let file = json(&bench.at("r.json"));
    let budgets = file["phases"][0]["series"]["budgets"].as_array().unwrap();
    let spent = |n: usize| budgets[n]["spent"].as_f64().unwrap();
    assert_eq!(budgets.len(), 2, "{budgets:?}");
    // All were missed where one of a hundred may be.
    assert!(
        (spent(0) - 100.0).abs() < 1e-6 && spent(1) == 0.0,
        "{budgets:?}"
    );
    assert!(
        said.out.contains("of the error budget of 1 % spent"),
        "{}",
        said.out
    );
    let page = std::fs::read_to_string(bench.at("page.html")).unwrap();
    assert!(page.contains("Error budget over time") && page.contains("of it spent"));
    // What allows nothing has none.
    read("errors=0");
    assert!(json(&bench.at("r.json"))["phases"][0]["series"]["budgets"].is_null());
    let page = std::fs::read_to_string(bench.at("page.html")).unwrap();
    assert!(!page.contains("Error budget over time"));
}
