//! `uaperf model` and `uaperf size` as users see them.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use record::Run;
use record::run::{
    Destination, Figure, Fingerprint, Kind, Phase, Target, Usage, UsageSeries, WarmUp,
};
use record::{Ledger, Times};
use serde_json::{Value, json};

use crate::support;
use crate::support::{Said, command};

fn said(folder: &Path, words: &[&str]) -> Said {
    Said::by(&mut command(folder, words))
}

fn docs(name: &str) -> String {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/model");
    folder.join(name).display().to_string()
}

/// A table of a server that takes 2 % when idle, 200 us for a message and 5 us for a value.
fn table(folder: &Path, name: &str, clients: &[u32]) {
    let mut table = String::from("run,sessions,items,publishing_ms,cpu_percent\n");
    for clients in clients {
        for (items, ms) in [
            (10, 100),
            (100, 100),
            (400, 100),
            (100, 500),
            (400, 500),
            (50, 50),
        ] {
            let messages = f64::from(*clients) * 1000.0 / f64::from(ms);
            let us = 2e4 + 200.0 * messages + 5.0 * messages * f64::from(items);
            let run = format!("{clients} x {items} each {ms}");
            table += &format!("{run},{clients},{items},{ms},{}\n", us / 1e4);
        }
    }
    std::fs::write(folder.join(name), table).unwrap();
}

#[test]
fn a_table_becomes_a_model_that_predicts_what_it_has_not_seen() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    table(at, "rows.csv", &[1, 2, 5, 10, 20]);
    table(at, "other.csv", &[7, 15]);
    let fitted = said(
        at,
        &["model", "fit", "rows.csv", "--name", "drive controller"],
    );
    assert_eq!(fitted.code, 0, "{}", fitted.err);
    assert!(
        fitted.out.starts_with("drive controller\n"),
        "{}",
        fitted.out
    );
    for line in [
        "30 rows, 30 configurations",
        "unknown, none was measured: read,",
        "as Burger et al. 2019",
    ] {
        assert!(fitted.out.contains(line), "{line}: {}", fitted.out);
    }
    assert!(
        fitted.out.ends_with("model       model.json\n"),
        "{}",
        fitted.out
    );
    let shown = said(at, &["model", "show", "model.json"]);
    assert!(fitted.out.starts_with(&shown.out), "{}", shown.out);

    let checked = said(
        at,
        &[
            "model",
            "check",
            "model.json",
            "other.csv",
            "--max-error",
            "3%",
        ],
    );
    assert_eq!(checked.code, 0, "{}{}", checked.out, checked.err);
    let bad = said(
        at,
        &[
            "model",
            "check",
            "burger2019",
            "other.csv",
            "--max-error",
            "3%",
        ],
    );
    assert_eq!(bad.code, 3, "{}", bad.out);
    let own = said(at, &["model", "check", "model.json", "rows.csv"]);
    assert!(
        own.out.contains("the rows that the model was fitted to"),
        "{}",
        own.out
    );

    // 7 clients, 700 points shared out: 2 % + 1.4 % + 3.5 %.
    let words = "model predict model.json --sessions 7 --points 700 --fanout share --publishing 100ms --json";
    let predicted = said(at, &words.split(' ').collect::<Vec<_>>());
    let predicted: Value = serde_json::from_str(&predicted.out).unwrap();
    let cpu = predicted[0]["prediction"]["cpu_percent"].as_f64().unwrap();
    assert!((cpu / 6.9 - 1.0).abs() < 0.03, "{predicted:#}");
    for screen in [&fitted.out, &checked.out] {
        let wide = screen.lines().find(|line| line.chars().count() > 100);
        assert_eq!(wide, None);
    }
}

#[test]
fn what_is_not_said_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let words = [
        "model",
        "predict",
        "burger2019",
        "--sessions",
        "4",
        "--points",
        "3000",
        "--publishing",
        "100ms",
    ];
    let asked = said(at, &words);
    assert_eq!(asked.code, 2);
    assert!(asked.err.contains("--fanout share"), "{}", asked.err);
    let plant =
        "name = \"x\"\n[[node]]\nname = \"n\"\npoints = 5\nclients = 2\npublishing = \"1s\"\n";
    std::fs::write(at.join("x.toml"), plant).unwrap();
    let sized = said(at, &["size", "x.toml", "--model", "burger2019"]);
    assert_eq!(sized.code, 1);
    assert!(sized.err.contains("fanout is not said"), "{}", sized.err);
    let sized = said(
        at,
        &["size", "x.toml", "--model", "burger2019", "--fanout", "all"],
    );
    assert_eq!(sized.code, 0, "{}", sized.err);
}

#[test]
fn files_that_are_no_models_and_tables_that_are_wrong_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("x.json"), "{\"format\": \"other\"}").unwrap();
    std::fs::write(
        at.join("new.json"),
        "{\"format\": \"uaperf model\", \"version\": 9}",
    )
    .unwrap();
    std::fs::write(at.join("x.csv"), "sessions,cpu_percent\n1,5\n2,\n").unwrap();
    std::fs::write(
        at.join("few.csv"),
        "sessions,cpu_percent\n1,5\n2,6\n2,6.1\n",
    )
    .unwrap();
    for (words, wanted) in [
        (
            ["model", "show", "none.json"],
            "`uaperf model fit` makes one",
        ),
        (["model", "show", "x.json"], "not a model of uaperf"),
        (["model", "show", "new.json"], "update uaperf"),
        (
            ["model", "fit", "x.csv"],
            "x.csv: line 3, column cpu_percent",
        ),
        (["model", "fit", "few.csv"], "2 configurations"),
        (["model", "noise", "x.csv"], "line 3"),
    ] {
        let said = said(at, &words);
        assert_eq!(said.code, 1, "{words:?}: {}", said.out);
        assert!(said.err.contains(wanted), "{words:?}: {}", said.err);
    }
    assert!(!at.join("model.json").exists());
    let noise = said(at, &["model", "noise", "few.csv"]);
    assert!(
        noise.out.contains("differ by 1.2 %"),
        "{}{}",
        noise.out,
        noise.err
    );
}

#[test]
fn the_use_cases_of_burger_2019_stand_beside_what_they_printed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (file, lines) in [
        (
            "use_case_1.toml",
            [
                "2 x controller: 3000 points",
                "very busy and probably unreliable",
                "8 x FCI: 750 points",
            ],
        ),
        (
            "use_case_2.toml",
            [
                "10 x controller: 600 points",
                "published about 0.4 GHz",
                "published about 35 %",
            ],
        ),
    ] {
        let sized = said(at, &["size", &docs(file), "--model", "burger2019"]);
        assert_eq!(sized.code, 0, "{}", sized.err);
        for line in lines {
            assert!(sized.out.contains(line), "{line}: {}", sized.out);
        }
        let wide = sized.out.lines().find(|line| line.chars().count() > 100);
        assert_eq!(wide, None);
    }
    // The controller of the first one is too small for four clients that get all.
    let words = [
        "size",
        &docs("use_case_1.toml"),
        "--model",
        "burger2019",
        "--fanout",
        "all",
        "--strict",
        "--json",
    ];
    let sized = said(at, &words);
    assert_eq!(sized.code, 3);
    let sized: Value = serde_json::from_str(&sized.out).unwrap();
    let cpu = sized["nodes"][0]["cpu"]["cpu_percent"].as_f64().unwrap();
    assert!((300.0..350.0).contains(&cpu), "{cpu}");
}

/// A result of reads, whose server spent 1 % of a core and 50 us for each.
fn run(folder: &Path, per_s: u64, server: bool, verdict: Kind) {
    let end = 1_000_000_000;
    let mut ledger = Ledger::with_end(end);
    for at in 0..per_s {
        let planned = at * (end / per_s);
        let times = Times {
            planned,
            sent: planned,
            completed: planned + 100_000,
        };
        ledger.done(times, 0, 1, 1);
    }
    let started = "2026-03-01T09:30:00Z".parse().unwrap();
    let mut run = Run::new("read", started, Fingerprint::default());
    let read = plan::Work::Read(plan::Read::new(plan::Nodes::default()));
    run.plan = json!({
        "targets": ["opc.tcp://127.0.0.1:4840"],
        "phases": [serde_json::to_value(plan::Phase::new(read)).unwrap()],
    });
    run.targets.push(Target {
        security: "None".to_owned(),
        ..Target::default()
    });
    let tally = ledger.finish();
    let mut phase = Phase::new("read", started, &tally, WarmUp::default(), 0, &|_| {
        "Good".into()
    });
    phase.verdict.kind = verdict;
    let window = (phase.to_ns - phase.from_ns) as f64;
    if server {
        let cores = 0.01 + phase.total.rate_per_s.unwrap() * 50e-6;
        phase.resources.push(UsageSeries {
            who: "server".to_owned(),
            window: Usage {
                cpu_ns: Figure::Known((window * cores) as u64),
                ..Usage::default()
            },
            ..UsageSeries::default()
        });
    }
    run.phases.push(phase);
    let file = folder.join(format!("results/{per_s}-{server}.json"));
    run.write(&Destination::File(file)).unwrap();
}

#[test]
fn results_become_rows_and_those_that_cannot_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for per_s in [100, 200, 500, 1000, 2000] {
        run(at, per_s, true, Kind::Valid);
    }
    run(at, 300, false, Kind::Valid);
    run(at, 400, true, Kind::Failed);
    let fitted = said(at, &["model", "fit", "results", "--csv", "rows.csv"]);
    assert_eq!(fitted.code, 0, "{}", fitted.err);
    assert!(fitted.out.contains("fitted to   5 rows"), "{}", fitted.out);
    let left_out: Vec<&str> = fitted.err.lines().collect();
    assert_eq!(left_out.len(), 2, "{}", fitted.err);
    assert!(
        left_out[0].contains("300-false.json")
            && left_out[0].contains("the server's CPU is not in it")
    );
    assert!(left_out[1].contains("400-true.json") && left_out[1].contains("FAILED"));
    let model: Value = support::json(&at.join("model.json"));
    let cost = |term: &str| {
        let all = model["coefficients"].as_array().unwrap();
        let found = all.iter().find(|it| it["term"] == term);
        found.unwrap()["us"].as_f64().unwrap()
    };
    assert!((cost("read") / 50.0 - 1.0).abs() < 0.01, "{model:#}");
    assert!((cost("base") / 1e4 - 1.0).abs() < 0.02, "{model:#}");
    // The table makes the same model.
    let again = said(at, &["model", "fit", "rows.csv", "--out", "again.json"]);
    assert_eq!(again.code, 0, "{}", again.err);
    assert_eq!(support::json(&at.join("again.json")), model);
}

/// What is chosen can be measured, and what is measured is what was chosen.
#[test]
#[cfg(target_os = "linux")]
fn a_design_runs_and_its_results_are_rows() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let design = "model design --sessions 1,3 --points 30,300 --publishing 50ms,100ms --fanout share \
                  --runs 4 --repeat 1 --duration 1s --out campaign.toml";
    let designed = said(at, &design.split_whitespace().collect::<Vec<_>>());
    assert_eq!(designed.code, 0, "{}", designed.err);
    assert_eq!(designed.out, "4 of 8 loads in campaign.toml\n");
    let ran = said(at, &["run", "campaign.toml", "--out", "results"]);
    // On a busy machine the generator may be the limit of so short a run: it is one all the same.
    assert!([0, 4].contains(&ran.code), "{}{}", ran.out, ran.err);
    // Where values did not come on time there may be no model; rows there are.
    said(at, &["model", "fit", "results", "--csv", "rows.csv"]);
    let table = std::fs::read_to_string(at.join("rows.csv")).unwrap();
    let rows = model::row::read(&table).unwrap();
    assert_eq!(rows.len(), 4, "{table}");
    for row in rows {
        let workload = &row.workload;
        assert!([30.0, 300.0].contains(&workload.all_items()), "{row:?}");
        assert!([1.0, 3.0].contains(&workload.sessions), "{row:?}");
        assert_eq!(workload.sampling_ms, workload.publishing_ms);
        assert_eq!(workload.change_ms, 25.0);
        assert_eq!(workload.variables, workload.all_items());
        assert!(row.cpu_percent > 0.0 && row.rss_bytes.is_some(), "{row:?}");
        // As many values as the plan says, or fewer where the machine was busy.
        let came = row.values_per_s.unwrap() / workload.values_per_s();
        assert!(came > 0.2 && came < 1.3, "{row:?}");
    }
}

#[test]
fn a_gaussian_process_is_fitted_where_there_are_loads_enough() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    table(at, "few.csv", &[1, 2, 5, 10]);
    let few = said(at, &["model", "fit", "few.csv", "--kind", "gp"]);
    assert_eq!(few.code, 1);
    for line in ["24 configurations", "wants 30", "leave out --kind gp"] {
        assert!(few.err.contains(line), "{line}: {}", few.err);
    }
    table(at, "rows.csv", &[1, 2, 5, 10, 20]);
    let fitted = said(at, &["model", "fit", "rows.csv", "--kind", "gp"]);
    assert_eq!(fitted.code, 0, "{}", fitted.err);
    for line in ["a Gaussian process corrects", "its costs alone"] {
        assert!(fitted.out.contains(line), "{line}: {}", fitted.out);
    }
    let words =
        "model predict model.json --sessions 7 --points 700 --fanout share --publishing 100ms";
    let predicted = said(at, &words.split(' ').collect::<Vec<_>>());
    assert!(
        predicted.out.contains("corrected   the sum"),
        "{}",
        predicted.out
    );
}

#[test]
fn what_to_measure_next_is_a_table_and_a_scenario_that_can_be_run() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    table(at, "rows.csv", &[1, 2, 3]);
    assert_eq!(said(at, &["model", "fit", "rows.csv"]).code, 0);
    let plant = "name = \"line\"\nfanout = \"all\"\n[[node]]\nname = \"controller\"\npoints = 2000\n\
                 clients = 12\npublishing = \"500ms\"\nsecurity = \"Sign\"\n";
    std::fs::write(at.join("line.toml"), plant).unwrap();
    let words = "model next model.json --plant line.toml --out next.toml --runs 3";
    let next = said(at, &words.split(' ').collect::<Vec<_>>());
    assert_eq!(next.code, 0, "{}", next.err);
    for line in [
        "now         controller:",
        "then        controller:",
        "scenario    next.toml",
    ] {
        assert!(next.out.contains(line), "{line}: {}", next.out);
    }
    // What nobody measured is measured: signed messages.
    assert_eq!(next.out.matches(" Sign ").count(), 3, "{}", next.out);
    let wide = next.out.lines().find(|line| line.chars().count() > 110);
    assert_eq!(wide, None);
    let scenario = std::fs::read_to_string(at.join("next.toml")).unwrap();
    assert!(
        scenario.contains("security = \"Basic256Sha256:Sign\""),
        "{scenario}"
    );
    let checked = said(at, &["check", "next.toml"]);
    assert_eq!(
        checked.code, 0,
        "{}{}\n{scenario}",
        checked.out, checked.err
    );
    let words = "model next model.json --plant line.toml --json";
    let json = said(at, &words.split(' ').collect::<Vec<_>>());
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["loads"].as_array().unwrap().len(), 5, "{json:#}");
}

#[test]
fn where_nothing_would_help_no_scenario_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    table(at, "rows.csv", &[1, 2, 5, 10, 20]);
    assert_eq!(said(at, &["model", "fit", "rows.csv"]).code, 0);
    let words = "model next model.json --sessions 5 --points 500 --publishing 100ms --fanout share --out next.toml";
    let next = said(at, &words.split(' ').collect::<Vec<_>>());
    assert_eq!(next.code, 0, "{}", next.err);
    assert!(next.out.contains("nothing would help"), "{}", next.out);
    assert!(!at.join("next.toml").exists());
    // Nothing to predict, and nothing that can be measured.
    let words = "model next model.json";
    let none = said(at, &words.split(' ').collect::<Vec<_>>());
    assert_eq!(none.code, 2, "{}", none.err);
    assert!(none.err.contains("--plant"), "{}", none.err);
    let words = "model next burger2019 --sessions 4 --points 3000 --publishing 100ms --fanout all --cpu-limit 1%";
    let none = said(at, &words.split(' ').collect::<Vec<_>>());
    assert_eq!(none.code, 1, "{}", none.out);
    assert!(none.err.contains("--cpu-limit"), "{}", none.err);
}

#[test]
fn memory_bytes_and_delays_stand_beside_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut table =
        String::from("sessions,items,publishing_ms,cpu_percent,rss_bytes,bytes_per_s\n");
    for clients in [1.0, 3.0, 10.0] {
        for (items, ms) in [(10.0, 100.0), (100.0, 100.0), (400.0, 500.0), (50.0, 200.0)] {
            let messages = clients * 1000.0 / ms;
            let cpu = 1.0 + 0.02 * messages + 5e-4 * messages * items;
            let rss = 1e7 + 1e5 * clients + 1e3 * clients * items;
            let bytes = messages * (160.0 + 26.0 * items);
            table += &format!("{clients},{items},{ms},{cpu},{rss},{bytes}\n");
        }
    }
    std::fs::write(at.join("rows.csv"), table).unwrap();
    let fitted = said(at, &["model", "fit", "rows.csv"]);
    assert!(
        fitted.out.contains("\nmemory "),
        "{}{}",
        fitted.out,
        fitted.err
    );
    let words = "model predict model.json --sessions 5 --points 1000 --fanout share --publishing 100ms --json";
    let predicted = said(at, &words.split(' ').collect::<Vec<_>>());
    let predicted: Value = serde_json::from_str(&predicted.out).unwrap();
    for (key, wanted) in [("memory_bytes", 1.15e7), ("bytes_per_s", 50.0 * 5360.0)] {
        let found = predicted[0][key]["value"].as_f64().unwrap();
        assert!(
            (found / wanted - 1.0).abs() < 0.02,
            "{key}: {found} {wanted}"
        );
    }
    // Over a link, a value takes as long as with `size` below.
    let words = format!("{} --link delay=20ms", words.trim_end_matches(" --json"));
    let predicted = said(at, &words.split(' ').collect::<Vec<_>>());
    for part in ["\ndelay       p50 ", "phase 50.0, queue", "link 20.0 ms"] {
        assert!(predicted.out.contains(part), "{part}: {}", predicted.out);
    }
    let words = words.replace("--sessions 5", "--sessions 5,10");
    let several = said(at, &words.split(' ').collect::<Vec<_>>());
    assert!(
        several.out.contains("delay p50           p95\n"),
        "{}",
        several.out
    );
    let plant = "name = \"x\"\nfanout = \"share\"\n[[node]]\nname = \"n\"\npoints = 1000\nclients = 5\n\
                 publishing = \"100ms\"\nlink = \"l\"\n[[link]]\nname = \"l\"\nlink = \"delay=20ms\"\n";
    std::fs::write(at.join("x.toml"), plant).unwrap();
    let sized = said(at, &["size", "x.toml", "--model", "model.json"]);
    for line in [
        "  memory    11.5 MB",
        "  sends     2.14 Mbit/s",
        "phase 50.0, queue",
        "link 20.0 ms",
    ] {
        assert!(
            sized.out.contains(line),
            "{line}: {}{}",
            sized.out,
            sized.err
        );
    }
}

#[test]
fn what_a_model_says_is_drawn_as_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    table(at, "rows.csv", &[1, 2, 5, 10, 20]);
    table(at, "other.csv", &[7, 15]);
    assert_eq!(said(at, &["model", "fit", "rows.csv"]).code, 0);
    let page = |words: &str| {
        let drawn = said(at, &words.split(' ').collect::<Vec<_>>());
        assert_eq!(drawn.code, 0, "{}", drawn.err);
        let page = std::fs::read_to_string(at.join("page.html")).unwrap();
        // What is drawn, without the script that comes last.
        let drawn = page.rsplit_once("<script>").unwrap().0;
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{words}");
        drawn.to_owned()
    };
    let checked = page("model check model.json other.csv --report page.html");
    for part in [
        "Measured against predicted",
        "What is left over, by sessions",
        "7 sessions, every 100 ms",
        "15 sessions, every 100 ms",
        "12 rows",
    ] {
        assert!(checked.contains(part), "{part}");
    }
    // A ring for each row, in each of five charts, wide and narrow.
    assert!(
        checked.matches("<circle").count() >= 12 * 5 * 2,
        "{checked}"
    );
    // Where only one load of a kind was measured there is no curve.
    assert!(!checked.contains("every 50 ms"));
    let of_seven = said(
        at,
        &[
            "model",
            "check",
            "model.json",
            "other.csv",
            "--sessions",
            "7",
        ],
    );
    assert!(
        of_seven.out.contains("of 6 rows"),
        "{}{}",
        of_seven.out,
        of_seven.err
    );
    let none = said(at, &["model", "fit", "other.csv", "--sessions", "8"]);
    assert_eq!(none.code, 1, "{}", none.out);
    assert!(
        none.err.contains("no row has so many sessions"),
        "{}",
        none.err
    );
    let plant = docs("use_case_1.toml");
    let sized = page(&format!(
        "size {plant} --model model.json --report page.html"
    ));
    for part in [
        "2 x controller",
        "CPU over points",
        "the limit",
        "Points that fit, by clients",
        "Where the time goes",
        "publish and sample half as often",
    ] {
        assert!(sized.contains(part), "{part}");
    }
    // What cannot be written is said before anything is computed.
    let bad = said(
        at,
        &[
            "size",
            &plant,
            "--model",
            "model.json",
            "--report",
            "rows.csv/x.html",
        ],
    );
    assert_eq!((bad.code, bad.out.as_str()), (1, ""), "{}", bad.err);
}

/// The load is real, costs are what this machine makes of them: what is looked at is that rows become a model.
#[cfg(target_os = "linux")]
#[test]
fn what_a_publisher_spends_becomes_a_model_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let scenario = "[[phase]]\nservice = 'publish'\nencoding = 'raw'\ngroups = { sweep = [1, 4] }\n\
                    signals = { sweep = [10, 200] }\ninterval = { sweep = ['2ms', '10ms'] }\nduration = '1s'\n";
    std::fs::write(at.join("x.toml"), scenario).unwrap();
    let ran = said(at, &["run", "x.toml", "--out", "results", "--quiet"]);
    assert!([0, 4].contains(&ran.code), "{}{}", ran.out, ran.err);
    let words = [
        "model", "fit", "results", "--csv", "rows.csv", "--name", "ours",
    ];
    let fitted = said(at, &words);
    assert_eq!(fitted.code, 0, "{}{}", fitted.out, fitted.err);
    let rows = model::row::read(&std::fs::read_to_string(at.join("rows.csv")).unwrap()).unwrap();
    assert_eq!(rows.len(), 8, "{}", fitted.err);
    for row in &rows {
        assert_eq!(row.workload.pubsub.as_deref(), Some("raw"), "{row:?}");
        assert!(
            row.cpu_percent > 0.0 && row.bytes_per_s.unwrap() > 0.0,
            "{row:?}"
        );
    }
    let words = "model predict model.json --groups 2,4 --points 400 --publishing 5ms";
    let predicted = said(at, &words.split(' ').collect::<Vec<_>>());
    assert_eq!(predicted.code, 0, "{}", predicted.err);
    assert!(
        predicted.out.starts_with("  groups    points"),
        "{}",
        predicted.out
    );
    // It has no clients.
    let plant = docs("use_case_1.toml");
    for words in [
        format!("size {plant} --model model.json"),
        format!("simulate plant {plant} --model model.json"),
    ] {
        let refused = said(at, &words.split(' ').collect::<Vec<_>>());
        assert_eq!(refused.code, 2, "{words}: {}", refused.out);
        assert!(
            refused.err.contains("a model of a publisher"),
            "{}",
            refused.err
        );
    }
    table(at, "servers.csv", &[1, 2, 5]);
    let mixed = said(at, &["model", "fit", "rows.csv", "servers.csv"]);
    assert_eq!(mixed.code, 1, "{}", mixed.out);
    let wanted = "rows of publishers (raw) and of servers";
    assert!(mixed.err.contains(wanted), "{}", mixed.err);
    let strange = said(at, &["model", "check", "model.json", "servers.csv"]);
    assert_eq!(strange.code, 2, "{}", strange.out);
    let wrong = said(at, &["model", "predict", "burger2019", "--groups", "2"]);
    assert_eq!(wrong.code, 2, "{}", wrong.out);
    let words = "model predict model.json --sessions 2 --points 400 --publishing 5ms";
    let wrong = said(at, &words.split(' ').collect::<Vec<_>>());
    assert_eq!(wrong.code, 2, "{}", wrong.out);
}

#[test]
fn a_plant_is_sized_for_a_server_that_was_measured_and_named_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let plant = docs("use_case_1.toml");
    let sized = said(folder.path(), &["size", &plant, "--model", "open62541"]);
    assert_eq!(sized.code, 0, "{}", sized.err);
    let words = sized.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let named = "model open62541 1.5.10, measured on a virtual machine";
    assert!(words.contains(named), "{}", sized.out);
    assert!(
        words.contains("memory") && words.contains("Mbit/s"),
        "{}",
        sized.out
    );
    // Its rows are those that are kept.
    let rows = docs("campaigns/open62541.csv");
    let checked = said(folder.path(), &["model", "check", "open62541", &rows]);
    let seen = "the rows that the model was fitted to";
    assert!(checked.out.contains(seen), "{}{}", checked.out, checked.err);
    let none = said(folder.path(), &["model", "show", "nobody"]);
    assert!(
        none.err
            .contains("burger2019, plant, open62541, pyopcua, node-opcua"),
        "{}",
        none.err
    );
}
