//! Pages as people see them: in a browser, without network.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use plan::Random;
use record::run::{
    CoreCourse, CpuCourse, Destination, Figure, Fingerprint, Kind, Phase, ThreadCourse,
    ThreadUsage, Usage, UsageSeries, WarmUp,
};
use record::{Lateness, Ledger, Run, Times};
use serde_json::{Value, json};

use crate::support::npm;
use crate::support::{text, uaperf};

/// A run of so many seconds with a thousand requests each, whose times scatter around a level.
fn run(seconds: u64, level: u64, batch: u64, seed: u64) -> Run {
    run_of(seconds, level, batch, seed, 0)
}

/// The same with as many requests, doubled so often.
fn run_of(seconds: u64, level: u64, batch: u64, seed: u64, doubled: u32) -> Run {
    let mut random = Random::new(seed);
    let mut ledger = Ledger::with_end(seconds * 1_000_000_000);
    for k in 0..seconds * 1000 {
        let planned = k * 1_000_000;
        let late = (random.exponential() * 20_000.0) as u64;
        let sent = planned + late;
        let times = Times {
            planned,
            sent,
            completed: sent + level / 2 + (random.exponential() * level as f64) as u64,
        };
        ledger.late(sent, Lateness::default(), 1);
        let status = if k % 997 == 5 { 0x8034_0000 } else { 0 };
        ledger.done(times, status, batch as u32, 1);
    }
    let started = "2026-03-01T09:30:00Z".parse().unwrap();
    let mut run = Run::new("read", started, Fingerprint::default());
    let cut = WarmUp {
        cut_ns: 300_000_000,
        found_ns: Some(300_000_000),
        ..WarmUp::default()
    };
    let name = |code: u32| {
        if code == 0 {
            "Good".to_owned()
        } else {
            "BadNodeIdUnknown".to_owned()
        }
    };
    let mut tally = ledger.finish();
    for _ in 0..doubled {
        tally.merge(&tally.clone());
    }
    let mut phase = Phase::new("read", started, &tally, cut, 0, &name);
    phase.resources.push(UsageSeries {
        who: "server".into(),
        window: Usage {
            cpu_ns: Figure::Known(seconds * 30_000_000),
            cpu_cores: Figure::Known(0.03),
            ..Usage::default()
        },
        at_ns: (1..=seconds * 5).map(|k| k * 200_000_000).collect(),
        cpu_cores: (0..seconds * 5).map(|_| Some(0.03)).collect(),
        ..UsageSeries::default()
    });
    run.plan = json!({"phases": [{
        "seed": seed,
        "sessions": 1,
        "arrival": {"loop": "open", "arrival": "constant", "rate": {"count": 100, "per_ns": 1_000_000_000}},
        "work": {"service": "read", "batch": batch, "nodes": ["<i>&=1"]},
    }]});
    run.targets.push(record::run::Target {
        url: "opc.tcp://<b>plc</b>:4840".into(),
        security: "None".into(),
        ..record::run::Target::default()
    });
    run.phases.push(phase);
    run
}

fn save(run: &Run, file: &Path) {
    run.write(&Destination::File(file.to_owned())).unwrap();
}

/// The browser and the packages that drive it; none, with a line that says so, where they cannot be had.
struct Browser {
    program: PathBuf,
    folder: PathBuf,
}

impl Browser {
    fn find() -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = ["chromium", "chromium-browser", "google-chrome"]
            .iter()
            .flat_map(|name| std::env::split_paths(&path).map(move |dir| dir.join(name)))
            .find(|program| program.is_file());
        let Some(program) = program else {
            return missing("no chromium");
        };
        let files = [
            ("package.json", include_str!("browser/package.json")),
            ("look.js", include_str!("browser/look.js")),
        ];
        let folder = match npm::installed("browser", &files) {
            Ok(folder) => folder,
            Err(why) => return missing(&why),
        };
        Some(Self { program, folder })
    }

    /// Opens a page and says what was there.
    fn look(&self, page: &Path) -> Value {
        let output = Command::new("node")
            .arg("look.js")
            .arg(&self.program)
            .arg(page)
            .args(std::env::var_os("UAPERF_PICTURES"))
            .current_dir(&self.folder)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn missing(why: &str) -> Option<Browser> {
    let reason = why.lines().next().unwrap_or_default();
    without::skipped("browser", reason, "apt-get install chromium npm");
    None
}

/// What is true of every page.
fn sound(found: &Value) {
    assert_eq!(found["console"], json!([]), "the console is silent");
    assert_eq!(found["requests"], json!([]), "nothing is fetched");
    assert_eq!(found["landmarks"], json!([1, 1, 1]));
    for chart in found["charts"].as_array().unwrap() {
        assert_eq!(chart["told"], true, "{chart}");
        assert_eq!(chart["broken"], false, "{chart}");
        let drawn = ["lines", "bars"].map(|it| chart[it].as_u64().unwrap());
        assert!(drawn.iter().any(|it| *it > 0), "{chart}");
        assert!(chart["texts"].as_array().unwrap().len() >= 4, "{chart}");
    }
    let [white, black, again, preferred] = [0, 1, 2, 3].map(|i| found["paper"][i].clone());
    assert_eq!(
        (&white, &black),
        (&again, &preferred),
        "the switch and the preference agree"
    );
    assert_ne!(white, black);
    assert!(
        found["narrow"][0].as_u64() <= found["narrow"][1].as_u64(),
        "{}",
        found["narrow"]
    );
    assert_eq!(found["cut"], 0, "charts that a narrow window cuts");
    for entry in found["contents"].as_array().unwrap() {
        assert_eq!(entry[1], true, "{entry} leads nowhere");
    }
    for scheme in ["light", "dark"] {
        let least = &found["contrast"][scheme];
        assert!(least[0].as_f64().unwrap() >= 4.5, "{scheme}: {least}");
    }
}

fn titles(found: &Value) -> Vec<&str> {
    let charts = found["charts"].as_array().unwrap();
    charts
        .iter()
        .map(|it| it["title"].as_str().unwrap())
        .collect()
}

#[test]
fn the_page_of_a_run_is_drawn_switched_read_off_and_copied_in_a_browser_without_network() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    save(&run(6, 100_000, 1, 1), &folder.path().join("one.json"));
    let output = uaperf(folder.path(), &["report", "one.json", "-o", "one.html"]);
    assert!(output.status.success(), "{output:?}");
    let page = folder.path().join("one.html");
    assert!(std::fs::metadata(&page).unwrap().len() < 300_000);
    let found = browser.look(&page);
    sound(&found);
    assert!(
        found["first"].as_str().unwrap().starts_with("VALID"),
        "{found}"
    );
    let first = found["first"].as_str().unwrap();
    assert!(first.contains("half were answered within"), "{first}");
    let contents: Vec<&str> = found["contents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it[0].as_str().unwrap())
        .collect();
    for part in ["What was measured", "Times", "Resources", "Over time"] {
        assert!(contents.contains(&part), "{part}: {contents:?}");
    }
    // Pictures and tables are to be had as files.
    let saved = &found["saved"];
    assert_eq!(
        saved["svg"][0], "uaperf-latency-by-percentile.svg",
        "{saved}"
    );
    assert_eq!(
        (&saved["svg"][2], &saved["alone"]),
        (&json!("<svg"), &json!(true)),
        "{saved}"
    );
    assert_eq!(saved["png"][2], "\u{89}PNG", "{saved}");
    assert!(saved["csv"][1].as_u64() > Some(20), "{saved}");
    // What a server calls itself is text.
    assert!(
        found["first"]
            .as_str()
            .unwrap()
            .contains("opc.tcp://<b>plc</b>:4840")
    );
    assert_eq!(
        titles(&found),
        [
            "Latency by percentile",
            "Density of round-trip times",
            "Rate over time",
            "Times over time",
            "Requests in flight",
            "CPU over time",
        ]
    );
    // Response, service, and lateness that is off at first; then response off, and on again.
    let layers = json!([
        [true, true, false],
        [false, true, false],
        [true, true, false]
    ]);
    assert_eq!(found["layers"], layers);
    assert_eq!(found["pressed"], "false");
    let read = found["pointer"].as_str().unwrap();
    assert!(
        read.starts_with('p') && read.contains("response  ") && read.contains("service  "),
        "{read}"
    );
    let first = found["keys"][0].as_str().unwrap();
    assert!(first.starts_with("p0\n"), "{first}");
    // The table of times, by its largest values: up, down, and as it was.
    let largest = |place: usize| -> Vec<f64> {
        let cells = match place {
            0 => &found["sorted"][0],
            n => &found["sorted"][n][1],
        };
        let cells = cells.as_array().unwrap().iter();
        cells
            .map(|it| it.as_str().unwrap().parse().unwrap())
            .collect()
    };
    let mut rising = largest(0);
    rising.sort_by(f64::total_cmp);
    assert!(rising.len() >= 3 && rising != largest(0), "{rising:?}");
    assert_eq!(found["sorted"][1][0], "ascending");
    assert_eq!(largest(1), rising);
    rising.reverse();
    assert_eq!(
        (&found["sorted"][2][0], largest(2)),
        (&json!("descending"), rising)
    );
    assert_eq!(
        (&found["sorted"][3][0], largest(3)),
        (&Value::Null, largest(0))
    );
    let csv = found["csv"].as_str().unwrap();
    assert!(
        csv.starts_with("percentile (percentile),response (ns),service (ns),lateness (ns)\n0,"),
        "{csv}"
    );
    assert_eq!(csv.lines().count() as u64, found["rows"].as_u64().unwrap());
    assert!(
        found["table"]
            .as_str()
            .unwrap()
            .starts_with(",mean (ns),stddev (ns),p50 (ns),")
    );
}

#[test]
fn the_page_of_a_sweep_has_bands_and_the_published_points_of_the_same_experiment() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for (i, batch) in [100, 500, 1000, 2000].into_iter().enumerate() {
        for seed in 1..=3 {
            let level = 200_000 * (i as u64 + 1);
            let file = folder.path().join(format!("sweep/{batch}-{seed}.json"));
            save(&run(1, level, batch, seed + batch), &file);
        }
    }
    let output = uaperf(folder.path(), &["report", "sweep", "-o", "sweep.html"]);
    assert!(output.status.success(), "{output:?}");
    let page = folder.path().join("sweep.html");
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(
        text.contains("Tahvanainen 2016, table 13"),
        "published points are named"
    );
    assert!(text.contains("class=\"band\""));
    let found = browser.look(&page);
    sound(&found);
    assert_eq!(
        titles(&found),
        [
            "Response times over batch",
            "Response time for each value over batch",
            "Values per second over batch",
            "Server CPU a request over batch",
            "Server CPU over batch",
            "Response by percentile, over each other",
            "Density of response times, over each other",
        ]
    );
    // Four points of three curves, and thirteen published ones: 6 means and 7 of p90.
    assert_eq!(found["charts"][0]["marks"], 4 * 3 + 13);
}

/// A run whose server has two threads, of which one does more and more.
fn run_in_parts(batch: u64, seed: u64) -> Run {
    let mut run = run(6, 100_000, batch, seed);
    let usage = &mut run.phases[0].resources[0];
    let rows = 60_usize;
    let busy = |row: usize| 0.1 * batch as f64 / 100.0 + 0.001 * (row % 10) as f64;
    let all = |part: f64| (0..rows).map(|row| Some(busy(row) * part)).collect();
    let some = |part: f64| {
        let told = |row: usize| (row % 5 == 4).then_some(busy(row) * part);
        (0..rows).map(told).collect()
    };
    let thread = |name: &str, part: f64| ThreadUsage {
        name: name.into(),
        count: 1,
        cpu_cores: Figure::Known(busy(5) * part),
        cpu_ns: Figure::Known(1),
        user_ns: Figure::missing("few ticks"),
        system_ns: Figure::missing("few ticks"),
        waited_ns: Figure::Known(0),
        voluntary_switches: Figure::Known(0),
        involuntary_switches: Figure::Known(0),
        migrations: Figure::Known(0),
        busiest: Some(0.5),
    };
    usage.window.cpu_cores = Figure::Known(busy(5));
    usage.window.user_ns = Figure::Known(750);
    usage.window.system_ns = Figure::Known(250);
    usage.threads = vec![thread("loop", 0.7), thread("<i>", 0.2)];
    usage.at_ns = (1..=rows as u64).map(|row| row * 100_000_000).collect();
    usage.cpu_cores = all(1.0);
    usage.cpu_course = Some(CpuCourse {
        at_ns: usage.at_ns.clone(),
        cpu_cores: all(1.0),
        user_cores: some(0.75),
        system_cores: some(0.25),
        threads: [("loop", 0.7), ("<i>", 0.2)]
            .map(|(name, part)| ThreadCourse {
                name: name.into(),
                cpu_cores: all(part),
            })
            .to_vec(),
        cores: Vec::new(),
    });
    let host = CpuCourse {
        at_ns: usage.at_ns.clone(),
        cpu_cores: all(1.0),
        user_cores: all(0.75),
        system_cores: all(0.25),
        threads: Vec::new(),
        cores: [(1, 0.75), (0, 0.2)]
            .map(|(core, part)| CoreCourse {
                core,
                busy: all(part),
            })
            .to_vec(),
    };
    run.phases[0].resources.push(UsageSeries {
        who: "host".into(),
        cpu_course: Some(host),
        ..UsageSeries::default()
    });
    run
}

#[test]
fn cpu_stands_on_top_of_each_other_over_time_and_over_load_and_has_a_density() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    save(&run_in_parts(100, 1), &folder.path().join("one.json"));
    let output = uaperf(folder.path(), &["report", "one.json", "-o", "one.html"]);
    assert!(output.status.success(), "{output:?}");
    let found = browser.look(&folder.path().join("one.html"));
    sound(&found);
    let chart = |title: &str| {
        let charts = found["charts"].as_array().unwrap().iter();
        let mut of = charts.filter(|it| it["title"] == title);
        of.next()
            .unwrap_or_else(|| panic!("{title}: {:?}", titles(&found)))["lines"]
            .clone()
    };
    // Two threads, and others that did the tenth that is missing.
    assert_eq!(chart("CPU of server by threads"), 3);
    assert_eq!(chart("CPU of server in user space and in the kernel"), 2);
    assert_eq!(chart("CPU of host by cores"), 3);
    assert_eq!(chart("Density of CPU"), 1);
    for batch in [100, 200, 400] {
        for seed in 1..=2 {
            let file = folder.path().join(format!("s/{batch}-{seed}.json"));
            save(&run_in_parts(batch, seed), &file);
        }
    }
    let output = uaperf(folder.path(), &["report", "s", "-o", "s.html"]);
    assert!(output.status.success(), "{output:?}");
    let found = browser.look(&folder.path().join("s.html"));
    sound(&found);
    for (title, lines) in [
        ("Server CPU in user space and in the kernel over batch", 2),
        ("Server CPU by threads over batch", 3),
        ("Density of the server's CPU, over each other", 3),
    ] {
        let charts = found["charts"].as_array().unwrap();
        let drawn = charts.iter().find(|it| it["title"] == title);
        let drawn = drawn.unwrap_or_else(|| panic!("{title}: {:?}", titles(&found)));
        assert_eq!(drawn["lines"], lines, "{title}");
    }
    // The same over what came of it, in place of what was varied.
    let output = uaperf(
        folder.path(),
        &["report", "s", "--x", "cpu", "-o", "x.html"],
    );
    assert!(output.status.success(), "{output:?}");
    let found = browser.look(&folder.path().join("x.html"));
    sound(&found);
    for title in [
        "Response times over cpu.mean",
        "Server CPU by threads over cpu.mean",
    ] {
        assert!(titles(&found).contains(&title), "{:?}", titles(&found));
    }
    let output = uaperf(folder.path(), &["report", "s", "--x", "batch"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn points_without_numbers_stand_below_each_other_and_other_commands_are_no_points_of_them() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for (i, security) in ["None", "Basic256Sha256:Sign"].into_iter().enumerate() {
        for seed in 1..=3 {
            let mut run = run(1, 100_000 * (i as u64 + 1), 1, seed);
            run.command = "run".into();
            run.request = json!({"scenario": "policies", "values": {"security": security}});
            save(&run, &folder.path().join(format!("s/{i}-{seed}.json")));
        }
    }
    let mut other = run(1, 100_000, 10, 9);
    other.command = "browse".into();
    save(&other, &folder.path().join("other.json"));
    let output = uaperf(
        folder.path(),
        &["report", "s", "other.json", "-o", "p.html"],
    );
    assert!(output.status.success(), "{output:?}");
    let found = browser.look(&folder.path().join("p.html"));
    sound(&found);
    let first = found["first"].as_str().unwrap();
    assert!(
        first.contains("7 runs, policies: 2 points of security; browse: 1 run"),
        "{first}"
    );
    assert!(
        first.contains("policies: Against None: Basic256Sha256:Sign: p99"),
        "{first}"
    );
    assert_eq!(
        titles(&found)[..4],
        [
            "Response times by security",
            "Mean response time by security",
            "Server CPU a request by security",
            "Response by percentile, over each other"
        ]
    );
    assert_eq!(found["charts"][1]["bars"], 2);
    // The single run is there in full.
    assert!(titles(&found).contains(&"Latency by percentile"), "{found}");

    // Of runs that cannot be believed nothing is claimed, and single ones are called so.
    let point = |seed: u64, time: u64, kind: Kind, name: &str| {
        let mut run = run(1, time, 1, seed);
        run.command = "run".into();
        run.request = json!({"scenario": "policies", "values": {"security": name}});
        run.verdict.kind = kind;
        save(&run, &folder.path().join(format!("t/{name}.json")));
    };
    let page = |folder: &Path| {
        let output = uaperf(folder, &["report", "t", "-o", "q.html"]);
        assert!(output.status.success(), "{output:?}");
        std::fs::read_to_string(folder.join("q.html")).unwrap()
    };
    point(1, 100_000, Kind::Valid, "None");
    point(2, 200_000, Kind::Valid, "Sign");
    let shown = page(folder.path());
    assert!(shown.contains("(one run each: "), "{shown}");
    point(2, 200_000, Kind::GeneratorLimited, "Sign");
    let shown = page(folder.path());
    assert!(
        shown.contains("Not compared: figures of some runs"),
        "{shown}"
    );
    assert!(!shown.contains("Against None"), "{shown}");
}

#[test]
fn the_page_of_a_comparison_shows_changes_against_the_margin() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for (side, level) in [("base", 100_000), ("new", 150_000), ("old", 90_000)] {
        for seed in 1..=5 {
            let file = folder.path().join(format!("all/{side}/{seed}.json"));
            save(&run(1, level, 1, seed + level), &file);
        }
    }
    let args = [
        "compare",
        "all/base",
        "all/new",
        "--report",
        "c.html",
        "--history",
        "all",
    ];
    let output = uaperf(folder.path(), &args);
    let screen = text(&output.stdout);
    assert!(screen.starts_with("WORSE"), "{screen}");
    assert!(
        screen.lines().any(|line| line.starts_with("history")),
        "{screen}"
    );
    let found = browser.look(&folder.path().join("c.html"));
    sound(&found);
    assert_eq!(titles(&found)[0], "Change against base");
    assert!(titles(&found).contains(&"response.mean"), "the history");
}

#[test]
fn large_reports_stay_small_and_open() {
    let folder = tempfile::tempdir().unwrap();
    // Two hundred points, a run of 10⁸ requests, and one of the longest series with a thousand targets.
    for batch in 1..=200 {
        save(
            &run(1, 100_000 + batch * 1000, batch, batch),
            &folder.path().join(format!("s/{batch:03}.json")),
        );
    }
    let mut long = run(60, 100_000, 1, 1);
    let sum = run(1, 100_000, 1, 1).phases[0].total.clone();
    for target in 0..1000 {
        long.targets.push(record::run::Target {
            url: format!("opc.tcp://plc:{target}"),
            ..record::run::Target::default()
        });
        long.phases[0].parts.push(record::run::Part {
            target,
            service: "read".into(),
            sum: sum.clone(),
        });
    }
    save(&long, &folder.path().join("long.json"));
    let many = run_of(60, 100_000, 1, 2, 11);
    assert!(many.phases[0].total.completed > 100_000_000);
    save(&many, &folder.path().join("many.json"));
    for (what, page) in [
        ("s", "s.html"),
        ("long.json", "long.html"),
        ("many.json", "many.html"),
    ] {
        let output = uaperf(folder.path(), &["report", what, "-o", page]);
        assert!(output.status.success(), "{output:?}");
        let size = std::fs::metadata(folder.path().join(page)).unwrap().len();
        assert!(size < 3_000_000, "{what}: {size}");
        if let Some(browser) = Browser::find() {
            let found = browser.look(&folder.path().join(page));
            sound(&found);
            let loaded = &found["loaded_ms"];
            println!("{what}: {size} bytes, open after {loaded} ms");
        }
    }
}

#[test]
fn what_cannot_be_drawn_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    for (args, code, error) in [
        (
            &["report"][..],
            2,
            "error: the following required arguments were not provided: <FILE|DIR>...",
        ),
        (
            &["report", "gone.json"],
            1,
            "error: cannot read gone.json: ",
        ),
        (
            &["report", "empty"],
            1,
            "error: empty: no results in this folder",
        ),
        (
            &["report", "empty", "-o", "empty"],
            2,
            "error: --output empty: that is a folder (want the name of a file)",
        ),
    ] {
        let output = uaperf(folder.path(), args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.starts_with(error), "{said}");
    }
}
