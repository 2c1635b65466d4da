//! `uaperf run`: scenarios carried out on a plant that they start themselves.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use record::Run;
use record::run::Kind;
use record::sweep::{MeasurementState, Sweep};
use tempfile::TempDir;

use crate::support;
use crate::support::{Server, Telling, command, signal, text};

/// A folder with a scenario in it.
struct Desk(TempDir);

impl Desk {
    fn with(scenario: &str) -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        std::fs::write(desk.path().join("x.toml"), scenario).unwrap();
        desk
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn out(&self) -> PathBuf {
        self.path().join("out")
    }

    fn command(&self, args: &[&str]) -> Command {
        command(self.path(), args)
    }

    fn uaperf(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// The same, started in another folder.
    fn uaperf_in(&self, folder: &Path, args: &[&str]) -> Output {
        self.command(args).current_dir(folder).output().unwrap()
    }

    /// A server, its certificates apart from those of the client.
    fn serve(&self, options: &[&str]) -> Server {
        Server::start(&self.path().join("server"), options)
    }

    fn index(&self) -> Sweep {
        Sweep::read(&self.out()).unwrap()
    }

    fn states(&self) -> Vec<MeasurementState> {
        self.index()
            .measurements
            .iter()
            .map(|it| it.state)
            .collect()
    }

    fn runs(&self) -> Vec<Run> {
        let index = self.index();
        let files = index.measurements.iter().filter_map(|it| it.file.clone());
        files
            .map(|file| Run::read(&self.out().join(file)).unwrap())
            .collect()
    }
}

/// Measured; whether a busy machine was steady meanwhile is another matter.
fn measured(output: &Output) {
    let code = output.status.code();
    assert!(
        matches!(code, Some(0 | 4)),
        "{code:?}\n{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
}

const HEAD: &str = "name = \"small\"\n[start]\nplant = \"bench\"\n[[phase]]\nservice = \"read\"\n\
                    nodes = [\"nsu=urn:bench;i=1000..1009\"]\nrate = \"200/s\"\nwarmup = \"0s\"\n";

fn is_there(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn every_point_and_repetition_is_measured_and_kept_and_the_server_ends_with_them() {
    let desk = Desk::with(&format!(
        "repeat = 2\norder = \"mirrored\"\n{HEAD}batch = {{ sweep = [1, 10] }}\nduration = \"500ms\"\n\
         expect = [\"errors=0\"]\n"
    ));
    let output = desk.uaperf(&["run", "x.toml", "--out", "out"]);
    measured(&output);
    let shown = text(&output.stdout);
    // The verdict first, as of every result.
    let worst = desk
        .runs()
        .iter()
        .map(|run| run.verdict.kind)
        .max()
        .unwrap();
    assert_eq!(shown.lines().next(), Some(worst.name()), "{shown}");
    assert!(
        shown.contains("small: 4 measurements, 4 measured"),
        "{shown}"
    );
    assert!(shown.contains("point  batch"), "{shown}");
    let told = text(&output.stderr);
    assert!(
        told.contains("[4/4] batch 1, repetition 2 of 2; about "),
        "{told}"
    );
    assert_eq!(desk.states(), [MeasurementState::Done; 4]);
    let batches: Vec<u64> = desk
        .runs()
        .iter()
        .map(|run| run.plan["phases"][0]["work"]["batch"].as_u64().unwrap())
        .collect();
    assert_eq!(batches, [1, 10, 10, 1]);
    for (run, it) in desk.runs().iter().zip(desk.index().measurements) {
        // 200/s for half a second.
        assert_eq!(run.phases[0].total.planned, 100);
        assert_eq!(it.expected, Some(true));
        assert_eq!(run.request["values"]["batch"], it.values[0].as_str());
        let server = run.phases[0]
            .resources
            .iter()
            .find(|it| it.who == "server")
            .unwrap();
        assert!(!is_there(server.pid.unwrap()), "the server is still there");
    }
    // Another run into the same folder would mix up two.
    let again = desk.uaperf(&["run", "x.toml", "--out", "out"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("has results already"));
}

#[test]
fn a_sweep_that_was_killed_and_resumed_has_the_same_points() {
    let desk = Desk::with(&format!(
        "order = \"random\"\nseed = 5\n{HEAD}batch = {{ sweep = [1, 2, 3, 4, 5] }}\nduration = \"400ms\"\n"
    ));
    let mut child = desk
        .command(&["run", "x.toml", "--out", "out", "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let patience = Instant::now() + Duration::from_secs(60);
    let done = || match Sweep::read(&desk.out()) {
        Ok(index) => index
            .measurements
            .iter()
            .filter(|it| it.state == MeasurementState::Done)
            .count(),
        Err(_) => 0,
    };
    while done() < 2 {
        assert!(Instant::now() < patience, "two points take no minute");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = desk.index();
    let kept = before
        .measurements
        .iter()
        .filter(|it| it.state == MeasurementState::Done);
    let kept: Vec<(PathBuf, Vec<u8>)> = kept
        .map(|it| {
            let file = desk.out().join(it.file.as_ref().unwrap());
            let bytes = std::fs::read(&file).unwrap();
            (file, bytes)
        })
        .collect();
    assert!((2..5).contains(&kept.len()), "{}", kept.len());
    let planned = desk.uaperf(&["run", "--resume", "out", "--dry-run"]);
    let (n, left) = (kept.len(), 5 - kept.len());
    let told = format!("so far      {n} measured, {left} to be measured; what is left:");
    assert!(text(&planned.stdout).contains(&told), "{planned:?}");
    assert_eq!(desk.index(), before);
    measured(&desk.uaperf(&["run", "--resume", "out"]));
    let after = desk.index();
    assert_eq!(desk.states(), [MeasurementState::Done; 5]);
    let points = |index: &Sweep| -> Vec<(usize, u32, Vec<String>)> {
        let all = index.measurements.iter();
        all.map(|it| (it.point, it.repetition, it.values.clone()))
            .collect()
    };
    assert_eq!(points(&before), points(&after));
    for (file, bytes) in kept {
        assert_eq!(
            std::fs::read(&file).unwrap(),
            bytes,
            "what was measured stays"
        );
    }
    let mut batches: Vec<u64> = desk
        .runs()
        .iter()
        .map(|run| run.plan["phases"][0]["work"]["batch"].as_u64().unwrap())
        .collect();
    batches.sort_unstable();
    assert_eq!(batches, [1, 2, 3, 4, 5]);
}

#[test]
fn a_point_that_fails_is_marked_and_the_rest_goes_on() {
    // The second has no server; the port was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let desk = Desk::with("");
    let server = desk.serve(&["--security", "none"]);
    // What a scenario refers to lies beside it, wherever it is run from.
    std::fs::create_dir(desk.path().join("tests")).unwrap();
    std::fs::write(desk.path().join("tests/nodes.txt"), "i=2258\ni=2256\n").unwrap();
    let scenario = format!(
        "target = {{ sweep = [\"opc.tcp://127.0.0.1:{port}\", \"{}\"] }}\n[[phase]]\nservice = \"read\"\n\
         requests = 20\nnodes = [\"@nodes.txt\"]\n",
        server.url
    );
    std::fs::write(desk.path().join("tests/x.toml"), scenario).unwrap();
    let output = desk.uaperf(&["run", "tests/x.toml", "--out", "out"]);
    assert_eq!(
        desk.states(),
        [MeasurementState::Failed, MeasurementState::Done]
    );
    let shown = text(&output.stdout);
    assert!(
        shown.contains("failed: ") && shown.contains("1 measured, 1 failed"),
        "{shown}"
    );
    assert!(shown.contains("uaperf run --resume out"), "{shown}");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(desk.runs()[0].phases[0].total.completed, 20);
}

#[test]
fn a_scenario_is_gone_on_with_from_any_folder_and_from_where_it_was_moved_to() {
    let desk = Desk::with("");
    let (tests, elsewhere) = (desk.path().join("tests"), desk.path().join("elsewhere"));
    std::fs::create_dir(&tests).unwrap();
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(tests.join("nodes.txt"), "i=2258\ni=2256\n").unwrap();
    let scenario = "[start]\nplant = \"bench\"\n[[phase]]\nservice = \"read\"\nrequests = 20\nnodes = [\"@nodes.txt\"]\n";
    std::fs::write(tests.join("x.toml"), scenario).unwrap();
    measured(&desk.uaperf(&["run", "tests/x.toml", "--out", "out"]));
    let forget = || {
        let mut index = desk.index();
        index.measurements[0].state = MeasurementState::Planned;
        index.write(&desk.out()).unwrap();
    };
    forget();
    measured(&desk.uaperf_in(&elsewhere, &["run", "--resume", "../out"]));
    assert_eq!(desk.states(), [MeasurementState::Done]);
    std::fs::rename(&tests, desk.path().join("moved")).unwrap();
    forget();
    let lost = desk.uaperf(&["run", "--resume", "out"]);
    assert_eq!(lost.status.code(), Some(2));
    let told = text(&lost.stderr);
    assert!(
        told.contains("nodes.txt") && told.contains("WHERE/IT/IS/NOW"),
        "{told}"
    );
    measured(&desk.uaperf(&["run", "moved/x.toml", "--resume", "out"]));
    assert_eq!(desk.states(), [MeasurementState::Done]);
}

#[test]
fn a_sweep_ends_where_its_condition_comes_true_and_the_points_beyond_are_marked() {
    let desk = Desk::with(&format!(
        "stop_when = [\"errors=0\"]\nslo = [\"p50<1h\"]\n{HEAD}sessions = {{ sweep = [1, 2] }}\n\
         batch = {{ sweep = [1, 2, 3] }}\nduration = \"300ms\"\n"
    ));
    let output = desk.uaperf(&["run", "x.toml", "--out", "out"]);
    measured(&output);
    use MeasurementState::{Done, LeftOut};
    assert_eq!(
        desk.states(),
        [Done, LeftOut, LeftOut, Done, LeftOut, LeftOut]
    );
    let index = desk.index();
    assert_eq!(index.measurements[0].stopped.as_deref(), Some("errors=0"));
    assert_eq!(index.measurements[0].slo, Some(true));
    assert_eq!(
        index.measurements[2].why.as_deref(),
        Some("beyond sessions 1, batch 1")
    );
    let shown = text(&output.stdout);
    assert!(
        shown.contains("The sweep ended at sessions 2, batch 1: errors=0."),
        "{shown}"
    );
    assert!(
        shown.contains("2 of 2 points kept the objective"),
        "{shown}"
    );
}

#[test]
fn phases_of_a_group_run_side_by_side_and_others_after_them() {
    let desk = Desk::with(
        "[start]\nplant = \"bench\"\n[defaults]\nduration = \"3s\"\nwarmup = \"0s\"\n\
         [group.mix]\nsessions = 4\nrate_total = \"400/s\"\n\
         [[phase]]\nservice = \"read\"\ngroup = \"mix\"\nweight = 3\n\
         [[phase]]\nservice = \"browse\"\ngroup = \"mix\"\nweight = 1\n\
         [[phase]]\nservice = \"read\"\nname = \"alone\"\n",
    );
    measured(&desk.uaperf(&["run", "x.toml", "--out", "out", "--quiet"]));
    let run = desk.runs().remove(0);
    let names: Vec<&str> = run.phases.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["read", "browse", "alone"]);
    assert_eq!(run.plan["phases"].as_array().unwrap().len(), 3);
    let from = |n: usize| run.phases[n].started.unix_ns();
    let to = |n: usize| from(n) + i128::from(run.phases[n].end_ns);
    assert!(from(0) < to(1) && from(1) < to(0), "the first two overlap");
    assert!(from(2) >= to(0).max(to(1)), "the third comes after them");
    assert_eq!(
        (run.phases[0].total.planned, run.phases[1].total.planned),
        (900, 300)
    );
}

#[test]
fn what_ctrl_c_ended_is_marked_and_measured_again() {
    let desk = Desk::with(&format!(
        "{HEAD}batch = {{ sweep = [1, 2] }}\nduration = \"$d\"\n[parameters]\nd = \"20s\"\n"
    ));
    let mut child = desk
        .command(&["run", "x.toml", "--out", "out"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let patience = Instant::now() + Duration::from_secs(60);
    while Sweep::read(&desk.out()).is_err() {
        assert!(Instant::now() < patience);
        std::thread::sleep(Duration::from_millis(20));
    }
    // Whoever sees that it has begun may interrupt it.
    #[cfg(target_os = "linux")]
    assert!(support::listens_to_signals(child.id()));
    let mut telling = Telling::of(&mut child);
    telling.until_it_measures();
    telling.whole();
    signal(child.id(), "INT");
    let output = child.wait_with_output().unwrap();
    let shown = text(&output.stdout);
    assert!(
        shown.contains("go on with  uaperf run --resume out"),
        "{shown}"
    );
    assert_eq!(
        desk.states(),
        [MeasurementState::Interrupted, MeasurementState::Planned]
    );
    assert_eq!(output.status.code(), Some(130));
    // What was measured of it is kept, and says that it is not all.
    assert_eq!(desk.runs()[0].verdict.kind, Kind::Incomplete);
}

#[test]
fn a_scenario_and_its_mistakes_are_told_before_anything_runs() {
    let desk = Desk::with(&format!("{HEAD}bacth = 3\n"));
    for command in [
        ["check", "x.toml"].as_slice(),
        &["run", "x.toml"],
        &["run", "--dry-run", "x.toml"],
    ] {
        let output = desk.uaperf(command);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(
            text(&output.stderr),
            "error: bad phase[0].bacth: there is no key of this name (did you mean batch?), x.toml line 9 \
             column 1\n"
        );
    }
    assert!(!desk.path().join("results").exists());
    // Each of several is told.
    for (name, text) in [
        ("y.toml", "tagret = 1\n"),
        ("z.toml", format!("{HEAD}batch = 3\n").as_str()),
    ] {
        std::fs::write(desk.path().join(name), text).unwrap();
    }
    let output = desk.uaperf(&["check", "x.toml", "y.toml", "z.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(
        told.contains("did you mean batch?") && told.contains("did you mean target?"),
        "{told}"
    );
    assert!(
        text(&output.stdout).starts_with("z.toml: small: 1 point"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn a_starter_is_written_checked_and_shown() {
    let desk = Desk::with("");
    for kind in ["read", "capacity", "security", "mixed", "peers"] {
        let file = format!("{kind}.toml");
        let made = desk.uaperf(&["new", kind, &file]);
        assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
        let checked = desk.uaperf(&["check", &file]);
        assert_eq!(checked.status.code(), Some(0), "{}", text(&checked.stderr));
        let shown = text(&desk.uaperf(&["run", "--dry-run", &file]).stdout);
        assert!(
            shown.contains("Load over time, first point\n") && shown.contains("takes "),
            "{shown}"
        );
    }
    let again = desk.uaperf(&["new", "read", "read.toml"]);
    assert_eq!(again.status.code(), Some(2));
}

#[test]
fn a_plan_says_of_pubsub_what_is_published_and_who_listens() {
    let desk = Desk::with(
        "name = \"signals\"\n\
         [[phase]]\nname = \"out\"\nservice = \"publish\"\nto = \"opc.udp://239.255.0.1:0\"\n\
         signals = 50\ninterval = \"10ms\"\nlisteners = 2\nduration = \"5s\"\n\
         [[phase]]\nname = \"in\"\nservice = \"listen\"\nfrom = \"opc.udp://239.255.0.1:4850\"\n\
         listeners = 3\nduration = \"4s\"\n",
    );
    let output = desk.uaperf(&["run", "--dry-run", "x.toml"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for what in [
        "out to opc.udp://239.255.0.1:0, in from opc.udp://239.255.0.1:4850",
        "out, 50 values each 10ms, 2 listeners, 5s",
        "in, 3 listeners, 4s",
        "5000 values/s",
    ] {
        assert!(shown.contains(what), "{what}: {shown}");
    }
    assert!(
        !shown.contains("in flight") && !shown.contains("servers"),
        "{shown}"
    );
}

#[test]
fn a_test_description_document_of_2015_is_run_and_its_rows_follow_its_formulas() {
    let desk = Desk::with("");
    let server = desk.serve(&["--profile", "gonzalez2015", "--trust"]);
    let document = "### TEST\ntest: One page, alone and many at once\nname: page_concurrent\ncycles: 20\n\n\
                    concurrency: 1\nresource: ns=4;s=MAIN.PAGE\nmeasure\n\ncycles: 5\nconcurrency: 8\n\
                    measure\n\ncount: 4\nsecurity: on\nmeasure\nrequest: write\nsecurity: off\nmeasure\n";
    // As an editor on Windows writes it.
    let written = format!("\u{feff}{}", document.replace('\n', "\r\n"));
    std::fs::write(desk.path().join("page.txt"), written).unwrap();
    let refused = desk.uaperf(&["run", "page.txt"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("a test description names no server"));
    let target = ["--target", server.url.as_str(), "--trust", "--out", "out"];
    measured(&desk.uaperf(&[&["run", "page.txt"], target.as_slice()].concat()));
    let rows = std::fs::read_to_string(desk.out().join("page.results.csv")).unwrap();
    let rows: Vec<Vec<String>> = rows
        .replace("One page, alone", "One page alone")
        .lines()
        .map(|line| line.split(',').map(str::to_owned).collect())
        .collect();
    assert_eq!(rows.len(), 5, "{rows:?}");
    assert_eq!(rows[0][..5], ["test", "name", "time", "n_r", "t_ms"]);
    let column = |name: &str| rows[0].iter().position(|it| it == name).unwrap();
    let number = |row: usize, name: &str| rows[row][column(name)].parse::<f64>().unwrap();
    let n_r: Vec<f64> = (1..5).map(|row| number(row, "n_r")).collect();
    assert_eq!(n_r, [1.0, 8.0, 32.0, 32.0]);
    let cycles: Vec<f64> = (1..5).map(|row| number(row, "cycles")).collect();
    assert_eq!(cycles, [20.0, 5.0, 5.0, 5.0]);
    let near = |a: f64, b: f64| (a - b).abs() <= b.abs() * 1e-9;
    for row in 1..5 {
        assert!(near(
            number(row, "t_c_ms"),
            number(row, "t_ms") / number(row, "cycles")
        ));
        assert!(near(
            number(row, "t_r_ms"),
            number(row, "t_c_ms") / number(row, "n_r")
        ));
        assert!(near(
            number(row, "sigma_ms").powi(2),
            number(row, "sigma_printed_ms2")
        ));
        assert_eq!(number(row, "errors"), 0.0);
    }
    let runs = desk.runs();
    for (run, (requests, values)) in runs.iter().zip([(20, 20), (40, 40), (40, 160), (40, 160)]) {
        assert_eq!(
            (run.phases[0].total.completed, run.phases[0].total.values),
            (requests, values)
        );
    }
    let security: Vec<&str> = runs
        .iter()
        .map(|run| run.targets[0].security.as_str())
        .collect();
    assert_eq!(security[0], "None");
    assert!(security[2].ends_with(":SignAndEncrypt"), "{security:?}");
}

#[test]
fn a_condition_that_comes_true_ends_its_measurement_and_not_the_scenario() {
    let desk = Desk::with(
        "sweep = \"zipped\"\n[start]\nplant = \"bench\"\n\
         [parameters]\nlong = { sweep = [\"60s\", \"1s\"] }\nend = { sweep = [\"errors=0\", \"errors>1%\"] }\n\
         [defaults]\nduration = \"$long\"\nrate = \"100/s\"\nsamples = true\nhlog = true\n\
         [[phase]]\nservice = \"read\"\ngroup = \"g\"\nname = \"ends it\"\nabort_on = \"$end\"\n\
         [[phase]]\nservice = \"browse\"\ngroup = \"g\"\n\
         [[phase]]\nservice = \"read\"\nname = \"behind\"\nrequests = 10\n",
    );
    let output = desk.uaperf(&["run", "x.toml", "--out", "out", "--junit", "x.xml"]);
    assert!(desk.out().exists(), "{}", text_of(&output));
    assert_eq!(
        desk.states(),
        [MeasurementState::Done; 2],
        "{}",
        text_of(&output)
    );
    let index = desk.index();
    assert_eq!(index.measurements[0].aborted.as_deref(), Some("errors=0"));
    assert_eq!(index.measurements[1].aborted, None);
    let runs = desk.runs();
    let names =
        |run: &Run| -> Vec<String> { run.phases.iter().map(|it| it.name.clone()).collect() };
    // What runs beside it ends with it, and what would follow does not begin.
    assert_eq!(names(&runs[0]), ["ends it", "browse"]);
    assert_eq!(names(&runs[1]), ["ends it", "browse", "behind"]);
    assert_eq!(runs[0].marks, [record::run::Mark::Aborted]);
    for phase in &runs[0].phases {
        assert!(phase.end_ns < 60_000_000_000, "{}", phase.end_ns);
    }
    let shown = text_of(&output);
    assert!(shown.contains("aborted"), "{shown}");
    assert!(
        shown.contains("measurement 1 (long 60s, end errors=0) was ended early: errors=0."),
        "{shown}"
    );
    // A condition that came true is one that was not kept; a busy machine comes first.
    assert!(
        matches!(output.status.code(), Some(3 | 4)),
        "{:?}",
        output.status
    );
    let junit = std::fs::read_to_string(desk.path().join("x.xml")).unwrap();
    assert!(junit.contains("name=\"never errors=0\""), "{junit}");
    // What was wanted beside the results bears the names of the phases.
    for file in [
        "ends-it.samples.csv",
        "ends-it.hlog",
        "browse.hlog",
        "behind.samples.csv",
    ] {
        let file = desk.out().join(format!("002-point2-1.{file}"));
        assert!(file.exists(), "{}", file.display());
    }
}

fn text_of(output: &Output) -> String {
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

#[test]
fn every_classic_shape_does_what_it_is_named_for() {
    for kind in [
        "hmi",
        "historian",
        "mes",
        "gateway",
        "commissioning",
        "alarms",
        "field",
    ] {
        let desk = Desk::with("");
        let written = desk.uaperf(&["new", kind, "shape.toml"]);
        assert!(written.status.success(), "{}", text(&written.stderr));
        let words = ["run", "shape.toml", "-P", "duration=4s"];
        let ran = desk.uaperf(&[&words[..], &["--out", "out", "--quiet"]].concat());
        let said = format!("{kind}: {}{}", text(&ran.stdout), text(&ran.stderr));
        assert_eq!(desk.states(), [MeasurementState::Done], "{said}");
        for phase in desk.runs().iter().flat_map(|run| &run.phases) {
            assert_eq!(phase.total.errors, 0, "{}: {said}", phase.name);
            let heard = phase.subscriptions.as_ref();
            let came = heard.map(|it| it.values.values().sum::<u64>());
            assert_ne!(came, Some(0), "{}: {said}", phase.name);
        }
    }
}
