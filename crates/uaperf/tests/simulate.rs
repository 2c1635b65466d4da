//! `uaperf simulate plant` as users see it.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use crate::support::{Said, command};
use record::Run;
use record::run::Kind;
use serde_json::Value;

fn said(folder: &Path, words: &[&str]) -> Said {
    Said::by(&mut command(folder, words))
}

fn switch() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/model/switch.toml");
    file.display().to_string()
}

/// The example of the documentation: a switch reboots, and then a controller restarts.
#[test]
fn what_happens_when_the_switch_reboots_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let found = said(at, &["simulate", "plant", &switch()]);
    assert_eq!(found.code, 0, "{}", found.err);
    assert!(
        found.out.starts_with("SIMULATED line 4, 10 min, seed 1\n"),
        "{}",
        found.out
    );
    let words = found.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for says in [
        "at 3 min link cell switch is down for 45 s: 12 of 12 clients lost their connection; all clients were connected again 47",
        "at 6 min controller 2 restarts for 20 s: 3 of 12 clients lost their connection",
        "12 resumed, 3 made anew",
        "below the limit of 70 %",
        "nearest to its limit: CPU of controller",
        "Nothing of this was measured.",
    ] {
        assert!(words.contains(says), "{says}: {words}");
    }
    let wide = found.out.lines().find(|line| line.chars().count() > 120);
    assert_eq!(wide, None);
}

#[test]
fn the_same_seed_writes_the_same_files_and_they_say_that_nobody_measured_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let simulate = |out: &str, seed: &str| {
        let file = switch();
        let words = ["simulate", "plant", &file, "--seed", seed, "--out", out];
        let found = said(at, &[&words[..], &["--duration", "4m", "--json"]].concat());
        assert_eq!(found.code, 0, "{}", found.err);
        let bytes = std::fs::read(at.join(out).join("controller.json")).unwrap();
        (found.out, bytes)
    };
    let first = simulate("a", "1");
    assert_eq!(first, simulate("b", "1"));
    let other = simulate("c", "2");
    assert_ne!(first, other);
    let summary: Value = serde_json::from_str(&first.0).unwrap();
    assert_eq!(summary["simulated"], true);
    let run = Run::read(&at.join("a/controller.json")).unwrap();
    assert!(run.is_simulated());
    assert_eq!((run.verdict.kind, run.targets.len()), (Kind::Valid, 4));
    let told = run.phases[0].subscriptions.as_ref().unwrap();
    let kind = &summary["kinds"][0];
    assert_eq!(told.count("received"), kind["values"].as_u64().unwrap());
    assert_eq!(told.lost, kind["missed"].as_u64().unwrap());
    // 3 x 1,000 values of 4 controllers twice a second, for 4 minutes.
    let all = told.delivered() + told.lost;
    assert!(
        all.abs_diff(3 * 1000 * 4 * 2 * 240) <= 3 * 1000 * 4 * 2,
        "{all}"
    );

    let shown = said(at, &["show", "a/controller.json"]);
    assert!(shown.out.starts_with("SIMULATED\nVALID\n"), "{}", shown.out);
    let both = said(at, &["show", "a/controller.json", "c/controller.json"]);
    assert!(
        both.out.contains("nothing of this was measured"),
        "{}",
        both.out
    );
    let compared = said(at, &["compare", "a/controller.json", "c/controller.json"]);
    assert!(
        compared.out.contains("1 of 1 runs of base is SIMULATED"),
        "{}{}",
        compared.out,
        compared.err
    );
    let page = said(at, &["report", "a/controller.json", "--output", "a.html"]);
    assert_eq!(page.code, 0, "{}", page.err);
    let page = std::fs::read_to_string(at.join("a.html")).unwrap();
    assert!(page.contains("SIMULATED VALID"));
    // What a model computed teaches a model nothing.
    let fitted = said(at, &["model", "fit", "a"]);
    assert_eq!(fitted.code, 1);
    assert!(fitted.err.contains("it is simulated"), "{}", fitted.err);
}

#[test]
fn a_file_for_each_server_or_client_is_written_when_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (files, count, one) in [
        ("node", 4, "controller-2.json"),
        ("client", 12, "controller-2-3.json"),
    ] {
        let file = switch();
        let words = [
            "simulate",
            "plant",
            &file,
            "--duration",
            "20s",
            "--out",
            files,
        ];
        let found = said(at, &[&words[..], &["--files", files]].concat());
        assert_eq!(found.code, 0, "{}", found.err);
        let written = std::fs::read_dir(at.join(files)).unwrap().count();
        assert_eq!(written, count);
        let run = Run::read(&at.join(files).join(one)).unwrap();
        assert_eq!(run.targets[0].url, "opc.tcp://controller-2.simulated:4840");
        let cpu = run.phases[0].resources[0].window.cpu_cores.known().unwrap();
        assert!((0.2..0.3).contains(cpu), "{cpu}");
    }
}

#[test]
fn the_file_that_is_sized_is_simulated_and_both_say_the_same_of_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/model/use_case_2.toml");
    let file = file.display().to_string();
    let model = ["--model", "burger2019", "--json"];
    let sized = said(at, &[&["size", &file], &model[..]].concat());
    let simulated = said(
        at,
        &[
            &["simulate", "plant", &file, "--duration", "1m"],
            &model[..],
        ]
        .concat(),
    );
    assert_eq!(
        (sized.code, simulated.code),
        (0, 0),
        "{}{}",
        sized.err,
        simulated.err
    );
    let sized: Value = serde_json::from_str(&sized.out).unwrap();
    let simulated: Value = serde_json::from_str(&simulated.out).unwrap();
    for n in 0..2 {
        let predicted = sized["nodes"][n]["cpu"]["cpu_percent"].as_f64().unwrap();
        let found = simulated["kinds"][n]["cpu_percent"].as_f64().unwrap();
        assert!(
            (found / predicted - 1.0).abs() < 0.01,
            "{predicted} {found}"
        );
    }
    let with_phases = |phases| {
        let words = [
            "simulate",
            "plant",
            &file,
            "--duration",
            "20s",
            "--phases",
            phases,
        ];
        said(at, &[&words, &model[..]].concat())
    };
    let (staggered, aligned) = (with_phases("staggered"), with_phases("aligned"));
    let queueing = |it: &Said| -> u64 {
        let all: Value = serde_json::from_str(&it.out).unwrap();
        all["kinds"][0]["queueing"]["p95_ns"].as_u64().unwrap()
    };
    assert!(queueing(&aligned) > 3 * queueing(&staggered));
}

#[test]
fn what_is_wrong_with_a_plant_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let text = "name = \"x\"\nfanout = \"all\"\n[[node]]\nname = \"a\"\npoints = 10\nclients = 2\npublishing = \"1s\"\n";
    let costs = "[costs]\nmessage = \"1ms\"\n";
    for (more, says) in [
        (String::new(), "nothing says what a message costs"),
        (
            format!("{costs}[[event]]\nat = \"1m\"\nlink = \"b\"\ndown = \"1s\"\n"),
            "there is no [[link]] of that name",
        ),
        (
            format!("{costs}[[event]]\nat = \"1m\"\nnode = \"a\"\ndown = \"1s\"\n"),
            "want a link with `down`",
        ),
        (
            format!("{costs}[[event]]\nat = \"1m\"\nnode = \"a\"\nwhich = 4\nrestart = \"1s\"\n"),
            "no number 4 of it, but 1",
        ),
        (
            format!("{costs}[[link]]\nname = \"s\"\nlink = \"5g\"\n"),
            "link \"s\"",
        ),
        (
            format!("{costs}[client]\nback_off = \"9s..1s\"\n"),
            "from shorter to longer",
        ),
        (format!("{costs}base = \"2s\"\n"), "200 % of its cores"),
    ] {
        std::fs::write(at.join("x.toml"), format!("{text}{more}")).unwrap();
        let found = said(at, &["simulate", "plant", "x.toml"]);
        assert_ne!(found.code, 0);
        assert!(found.err.contains(says), "{says}: {}", found.err);
    }
    std::fs::write(at.join("x.toml"), format!("{text}count = 5000\n{costs}")).unwrap();
    let found = said(
        at,
        &[
            "simulate", "plant", "x.toml", "--out", "o", "--files", "node",
        ],
    );
    assert_eq!(found.code, 2);
    assert!(found.err.contains("5000 run files"), "{}", found.err);
}

fn talk(at: &Path, words: &[&str]) -> Value {
    let all = [&["simulate"], words, &["--costs", "none", "--json"]].concat();
    let found = said(at, &all);
    assert_eq!(found.code, 0, "{}", found.err);
    serde_json::from_str(&found.out).unwrap()
}

#[test]
fn a_handshake_is_the_same_with_the_same_seed_on_any_number_of_processors() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let lossy = "2Mbit/s,delay=20ms,jitter=3ms,loss=2%";
    let words = ["handshake", "--link", lossy, "--sessions", "200"];
    let first = talk(at, &words);
    assert_eq!(first, talk(at, &words));
    assert_ne!(first, talk(at, &[&words[..], &["--seed", "2"]].concat()));
    assert!(first["sent_again"].as_u64().unwrap() > 20, "{first}");
    assert_eq!(
        (&first["sessions"], &first["failed"]),
        (&200.into(), &0.into())
    );
    let steps: Vec<&str> = first["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["step"].as_str().unwrap())
        .collect();
    assert_eq!(
        steps,
        [
            "TCP connect",
            "hello",
            "open channel",
            "create session",
            "activate session",
            "close session",
            "close channel"
        ]
    );
}

#[test]
fn simulated_talks_become_run_files_that_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let both = ["--security", "best", "--link", "delay=5ms"];
    for (command, kind, more) in [
        ("handshake", "connect", vec!["--sessions", "3"]),
        (
            "handshake",
            "connect",
            vec!["--sessions", "3", "--every", "0s"],
        ),
        ("requests", "read", vec!["--requests", "20", "--batch", "5"]),
    ] {
        let words = [&[command], &both[..], &more, &["--out", "run.json"]].concat();
        let summary = talk(at, &words);
        let run = Run::read(&at.join("run.json")).unwrap();
        assert!(run.is_simulated());
        assert_eq!(run.verdict.kind, Kind::Valid);
        assert_eq!(
            run.plan["phases"][0]["work"]["service"], kind,
            "{}",
            run.plan
        );
        let total = &run.phases[0].total;
        assert_eq!(total.errors, 0);
        assert_eq!(total.completed, if kind == "read" { 20 } else { 3 });
        assert_eq!(summary["security"], "Aes256_Sha256_RsaPss:SignAndEncrypt");
        for words in [
            vec!["show", "run.json"],
            vec!["report", "run.json", "--output", "run.html"],
        ] {
            let found = said(at, &words);
            assert_eq!(found.code, 0, "{words:?}: {}", found.err);
        }
    }
}

#[test]
fn who_asks_an_authority_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let base = [
        "handshake",
        "--link",
        "delay=1ms",
        "--security",
        "best",
        "--sessions",
        "3",
        "--offers",
        "used",
    ];
    let times = |more: &[&str]| {
        let it = talk(at, &[&base[..], more].concat());
        let time = |which: &str| it["activation"][which].as_u64().unwrap();
        (time("p50_ns"), time("max_ns"))
    };
    let (alone, _) = times(&[]);
    assert_eq!(alone, 10_000_000);
    let second = ["--authority", "1s", "--revocation"];
    // Both ends ask, one after the other.
    let (online, _) = times(&[&second[..], &["online"]].concat());
    assert_eq!(online, alone + 2_000_000_000);
    let (cached, first) = times(&[&second[..], &["cached"]].concat());
    assert_eq!((cached, first), (alone, online));
}

#[test]
fn a_talk_that_cannot_be_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for (words, code, says) in [
        (
            vec!["--link", "loss=100%", "--costs", "none"],
            1,
            "TCP connect: no answer in time",
        ),
        (vec!["--link", "5g", "--costs", "none"], 2, "want a preset"),
        (vec!["--costs", "nowhere.json"], 1, "uaperf calibrate"),
        (
            vec!["--costs", "none", "--security", "Basic256Sha256:None"],
            2,
            "want POLICY:MODE",
        ),
        (vec!["--costs", "none", "--sessions", "0"], 2, "1..=1000000"),
        (vec!["--costs", "none", "--out", "."], 2, "that is a folder"),
    ] {
        let found = said(at, &[&["simulate", "handshake"], &words[..]].concat());
        let told = format!("{}{}", found.out, found.err);
        assert_eq!(found.code, code, "{words:?}: {told}");
        assert!(told.contains(says), "{words:?}: {told}");
    }
}

#[test]
fn the_study_of_2010_comes_out_beside_what_it_printed() {
    let folder = tempfile::tempdir().unwrap();
    let found = said(folder.path(), &["simulate", "cavalieri2010", "--json"]);
    assert_eq!(found.code, 0, "{}", found.err);
    let it: Value = serde_json::from_str(&found.out).unwrap();
    let rows = it["table_1"].as_array().unwrap();
    assert_eq!(rows.len(), 8);
    for row in rows {
        let error = row["error_percent"].as_f64().unwrap();
        assert!(error.abs() <= 2.0, "{row}");
    }
    assert_eq!(it["tornado"].as_array().unwrap().len(), 6);
}
