//! `uaperf compare` as users see it: what is said, and with which exit code it ends.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use crate::support::{text, uaperf};
use record::run::{Destination, Fingerprint, Kind, Phase, WarmUp};
use record::{Ledger, Run, Times};
use serde_json::json;

/// A second of requests in a closed loop that take so long, give or take what a seed says.
fn save(folder: &Path, name: &str, time: u64, seed: u64, verdict: Kind) {
    save_at(folder, name, time, seed, verdict, "2026-03-01T09:30:00Z");
}

/// The same at a time of the day.
fn save_at(folder: &Path, name: &str, time: u64, seed: u64, verdict: Kind, started: &str) {
    let mut ledger = Ledger::with_end(2_000_000_000);
    let mut sent = 0;
    // Runs differ by half a percent.
    let time = time + time * (seed * 7 % 5) / 500;
    while sent + time < 2_000_000_000 {
        let wander = (sent / 1000 * 2_654_435_761 + seed) % (time / 10);
        let times = Times {
            planned: sent,
            sent,
            completed: sent + time + wander,
        };
        ledger.done(times, 0, 1, 1);
        sent += time + wander;
    }
    let started = started.parse().unwrap();
    let mut run = Run::new("read", started, Fingerprint::default());
    run.plan = json!({"phases": [{"seed": seed, "arrival": {"loop": "closed"}, "work": {"service": "read"}}]});
    let mut phase = Phase::new(
        "read",
        started,
        &ledger.finish(),
        WarmUp::default(),
        0,
        &|_| "Good".into(),
    );
    phase.verdict.kind = verdict;
    run.verdict.kind = verdict;
    run.phases.push(phase);
    run.write(&Destination::File(folder.join(name))).unwrap();
}

fn compare(folder: &Path, args: &[&str]) -> (String, String, Option<i32>) {
    let output = uaperf(folder, &[&["compare"], args].concat());
    (
        text(&output.stdout),
        text(&output.stderr),
        output.status.code(),
    )
}

fn sides() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for seed in 1..=5 {
        // The same again, measured another time: as far apart, and other runs.
        for (side, time, seed) in [
            ("base", 1_000_000, seed),
            ("same", 1_000_000, seed + 5),
            ("slow", 1_100_000, seed),
        ] {
            let name = format!("{side}/{seed}.json");
            save(folder.path(), &name, time, seed, Kind::Valid);
        }
    }
    folder
}

#[test]
fn a_regression_beyond_what_is_allowed_ends_with_3() {
    let folder = sides();
    let (screen, _, code) = compare(folder.path(), &["base", "slow", "--max-regression", "5%"]);
    assert_eq!(code, Some(3), "{screen}");
    assert!(
        screen.starts_with("WORSE  5 metrics: 4 worse, 1 the same\n"),
        "{screen}"
    );
    let mean = screen
        .lines()
        .find(|line| line.starts_with("response.mean"))
        .unwrap();
    assert!(mean.contains("+9.9 %") && mean.ends_with("worse"), "{mean}");
    assert!(
        screen.contains("FAILED      response.p99 is worse by "),
        "{screen}"
    );
    // Without a limit, or below it, it is only told.
    assert_eq!(compare(folder.path(), &["base", "slow"]).2, Some(0));
    assert_eq!(
        compare(folder.path(), &["base", "slow", "--max-regression", "20%"]).2,
        Some(0)
    );
    assert_eq!(
        compare(folder.path(), &["slow", "base", "--max-regression", "5%"]).2,
        Some(0)
    );
}

#[test]
fn the_same_is_called_the_same() {
    let folder = sides();
    let args = [
        "base",
        "same",
        "--max-regression",
        "5%",
        "--metric",
        "mean,p50,rate",
    ];
    let (screen, _, code) = compare(folder.path(), &args);
    assert_eq!(code, Some(0));
    assert!(
        screen.starts_with("SAME  4 metrics: 4 the same\n"),
        "{screen}"
    );
}

#[test]
fn one_run_each_cannot_tell_unless_it_is_asked_for() {
    let folder = sides();
    let single = ["base/1.json", "slow/1.json", "--metric", "mean"];
    let with = |more: &[&str]| compare(folder.path(), &[&single, more].concat());
    let limit = ["--max-regression", "5%"];
    let (screen, _, code) = with(&limit);
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.starts_with("CANNOT TELL"), "{screen}");
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("one run each: intervals come from the samples inside them"),
        "{words}"
    );
    let (screen, _, code) = with(&["--fail-on", "cannot-tell"]);
    assert_eq!(code, Some(3), "{screen}");
    assert!(
        screen.contains("FAILED      response.mean: cannot tell: --fail-on cannot-tell\n"),
        "{screen}"
    );
    let (screen, _, code) = with(&[&limit[..], &["--single-run"]].concat());
    assert_eq!(code, Some(3), "{screen}");
    assert!(screen.starts_with("WORSE"), "{screen}");
}

#[test]
fn what_a_comparison_may_not_come_to_is_named() {
    let folder = sides();
    let code = |args: &[&str]| compare(folder.path(), args).2;
    for (new, what, ends) in [
        ("slow", "worse", 3),
        ("slow", "cannot-tell", 0),
        ("slow", "any-difference", 3),
        ("same", "worse,any-difference", 0),
    ] {
        let args = ["base", new, "--metric", "mean", "--fail-on", what];
        assert_eq!(code(&args), Some(ends), "{new} {what}");
    }
    let better = ["slow", "base", "--metric", "mean", "--fail-on"];
    assert_eq!(code(&[&better[..], &["worse"]].concat()), Some(0));
    assert_eq!(code(&[&better[..], &["any-difference"]].concat()), Some(3));
}

#[test]
fn a_side_that_broke_is_never_better() {
    let folder = sides();
    for seed in 1..=5 {
        let at = |side: &str| format!("{side}/{seed}.json");
        // Quick, and one of five did not do what was asked.
        let kind = |bad| if seed == 3 { bad } else { Kind::Valid };
        save(
            folder.path(),
            &at("failed"),
            500_000,
            seed,
            kind(Kind::Failed),
        );
        save(
            folder.path(),
            &at("short"),
            500_000,
            seed,
            kind(Kind::Incomplete),
        );
    }
    for (base, new, word, told) in [
        ("base", "failed", "WORSE", "1 of 5 runs of new is FAILED"),
        (
            "base",
            "short",
            "NOT COMPARABLE",
            "1 of 5 runs of new is INCOMPLETE",
        ),
        (
            "failed",
            "base",
            "NOT COMPARABLE",
            "1 of 5 runs of base is FAILED",
        ),
    ] {
        let (screen, _, code) = compare(folder.path(), &[base, new]);
        assert_eq!(code, Some(3), "{screen}");
        assert!(screen.starts_with(word), "{screen}");
        assert!(
            screen.contains(&format!("failure     {told}\n")),
            "{screen}"
        );
        assert!(
            !screen.contains("BETTER") && !screen.contains("  better\n"),
            "{screen}"
        );
    }
}

#[test]
fn runs_that_are_compared_with_themselves_or_counted_twice_are_told() {
    let folder = sides();
    let path = folder.path();
    let copy = |from: &str, to: &str| {
        let to = path.join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(path.join(from), to).unwrap();
    };
    for seed in 1..=5 {
        copy(&format!("base/{seed}.json"), &format!("moved/{seed}.json"));
        copy(&format!("slow/{seed}.json"), &format!("mixed/{seed}.json"));
    }
    copy("base/1.json", "mixed/6.json");
    copy("slow/1.json", "mixed/again.json");
    let said = |args: &[&str]| -> String {
        let (screen, ..) = compare(path, args);
        screen.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let themselves = "note both sides are the same runs, compared with themselves";
    for args in [
        ["base", "base"],
        ["base/1.json", "base/1.json"],
        ["base", "moved"],
        ["base/", "./base"],
    ] {
        assert!(
            said(&args).contains(themselves),
            "{args:?}: {}",
            said(&args)
        );
    }
    let mixed = said(&["base", "mixed"]);
    assert!(
        mixed.contains("note 1 of 7 runs of new is a run of base, too"),
        "{mixed}"
    );
    assert!(
        mixed.contains("note 1 of 7 runs of new is a copy of another"),
        "{mixed}"
    );
    let apart = said(&["base", "slow"]);
    assert!(
        !apart.contains("themselves") && !apart.contains("copy"),
        "{apart}"
    );
    // Of earlier occasions, those that are compared are none, wherever they lie.
    let (screen, ..) = compare(
        path,
        &["base", "slow", "--history", ".", "--report", "c.html"],
    );
    assert!(
        screen.lines().any(|line| line.starts_with("history")),
        "{screen}"
    );
    let page = std::fs::read_to_string(path.join("c.html")).unwrap();
    assert!(
        page.contains(">mixed<") && !page.contains(">moved<"),
        "{page}"
    );
}

#[test]
fn runs_that_cannot_be_believed_end_with_4() {
    let folder = sides();
    for seed in 1..=5 {
        save(
            folder.path(),
            &format!("shaky/{seed}.json"),
            1_500_000,
            seed,
            Kind::Unsteady,
        );
    }
    let (screen, _, code) = compare(folder.path(), &["base", "shaky", "--max-regression", "5%"]);
    assert_eq!(code, Some(4));
    assert!(
        screen.contains("5 of 5 runs of new are UNSTEADY"),
        "{screen}"
    );
    save(folder.path(), "same/6.json", 1_000_000, 6, Kind::Unsteady);
    let (screen, ..) = compare(folder.path(), &["base", "same"]);
    assert!(
        screen.contains("1 of 5 runs of new is UNSTEADY"),
        "{screen}"
    );
}

#[test]
fn three_runs_are_told_to_be_too_few() {
    let folder = sides();
    for side in ["base", "slow"] {
        for seed in [4, 5] {
            std::fs::remove_file(folder.path().join(format!("{side}/{seed}.json"))).unwrap();
        }
    }
    let (screen, ..) = compare(folder.path(), &["base", "slow", "--metric", "mean"]);
    assert!(screen.starts_with("CANNOT TELL"), "{screen}");
    assert!(
        screen.contains("3 + 3 runs cannot reach p 0.05 (at best 0.10); would take 4 + 4 runs"),
        "{screen}"
    );
}

#[test]
fn what_cannot_be_compared_is_told() {
    let folder = sides();
    for (args, code, error) in [
        (
            &["base"][..],
            2,
            "error: the following required arguments were not provided: <NEW>",
        ),
        (&["base", "gone"], 1, "error: cannot read gone: "),
        (
            &["base", "same", "--max-regression", "much"],
            2,
            "error: invalid value 'much' for '--max-regression <PERCENT>'",
        ),
        (
            &["base", "same", "--metric", "speed"],
            2,
            "error: invalid value 'speed' for '--metric <METRIC>': \"speed\" is no metric (want cpu-per-request, rate",
        ),
        (
            &["base", "same", "--metric", "delay.p99"],
            1,
            "error: nothing to compare: the two sides have no point",
        ),
    ] {
        let (_, said, found) = compare(folder.path(), args);
        assert_eq!(found, Some(code), "{said}");
        assert!(said.starts_with(error), "{said}");
    }
}

#[test]
fn a_comparison_for_machines_has_what_the_screen_has() {
    let folder = sides();
    let limits = ["--max-regression", "5%"];
    let (screen, _, code) = compare(folder.path(), &[&["base", "slow"][..], &limits].concat());
    assert_eq!(code, Some(3), "{screen}");
    let (json, _, code) = compare(
        folder.path(),
        &[&["base", "slow", "--json"][..], &limits].concat(),
    );
    assert_eq!(code, Some(3), "{json}");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["format"], "uaperf-comparison");
    assert_eq!(json["exit_code"], 3);
    let failed = json["failed"].as_array().unwrap();
    assert!(!failed.is_empty());
    for line in failed {
        assert!(screen.contains(line.as_str().unwrap()), "{line}: {screen}");
    }
    let metrics = json["points"][0]["metrics"].as_array().unwrap();
    let p50 = metrics
        .iter()
        .find(|it| it["metric"] == "response.p50")
        .unwrap();
    assert_eq!(p50["outcome"], "worse");
    assert_eq!(p50["better_is"], "lower");
    assert_eq!(p50["base"]["runs"].as_array().unwrap().len(), 5);
    let (ratio, interval) = (p50["ratio"].as_f64().unwrap(), &p50["interval"]);
    assert!(interval[0].as_f64().unwrap() <= ratio && ratio <= interval[1].as_f64().unwrap());
}

#[test]
fn several_sides_are_compared_with_one_and_the_worst_is_the_exit_code() {
    let folder = sides();
    let limits = ["--max-regression", "5%"];
    let several = |form: &[&str], news: &[&str]| {
        let words = [&["base"], news, &limits, form].concat();
        compare(folder.path(), &words)
    };
    let (screen, _, code) = several(&[], &["same", "slow"]);
    assert_eq!(code, Some(3), "{screen}");
    let heads = |word: &str| screen.lines().filter(|it| it.starts_with(word)).count();
    assert_eq!(
        (heads("SAME  "), heads("WORSE  "), heads("base  ")),
        (1, 1, 2)
    );
    assert_eq!(several(&[], &["same", "same"]).2, Some(0));
    // One that cannot be believed does not hide one that is worse for certain.
    for seed in 1..=5 {
        let name = format!("late/{seed}.json");
        save(
            folder.path(),
            &name,
            1_000_000,
            seed,
            Kind::GeneratorLimited,
        );
    }
    assert_eq!(several(&[], &["late"]).2, Some(4));
    assert_eq!(several(&[], &["late", "slow"]).2, Some(3));

    let (json, _, code) = several(&["--format", "json"], &["same", "slow"]);
    assert_eq!(code, Some(3), "{json}");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json[0]["new"], &json[0]["exit_code"]),
        (&"same".into(), &0.into())
    );
    assert_eq!(
        (&json[1]["new"], &json[1]["exit_code"]),
        (&"slow".into(), &3.into())
    );
}

#[test]
fn a_comparison_as_markdown_is_a_table_and_no_markup_of_others() {
    let folder = sides();
    std::fs::rename(folder.path().join("slow"), folder.path().join("a|<b>")).unwrap();
    let words = [
        "base",
        "a|<b>",
        "--format",
        "markdown",
        "--max-regression",
        "5%",
    ];
    let (text, _, code) = compare(folder.path(), &words);
    assert_eq!(code, Some(3), "{text}");
    assert!(
        text.starts_with("### WORSE: 5 metrics: 4 worse, 1 the same\n"),
        "{text}"
    );
    assert!(text.contains("new: a\\|&lt;b>"), "{text}");
    assert!(!text.contains("a|<"), "{text}");
    let rows: Vec<&str> = text.lines().filter(|it| it.starts_with('|')).collect();
    assert_eq!(rows.len(), 2 + 5, "{text}");
    // A cell that held a bar of its own would make a column more.
    assert!(rows.iter().all(|it| it.matches('|').count() == 7), "{text}");
    let p99 = rows.iter().find(|it| it.contains("response.p99")).unwrap();
    assert!(p99.ends_with("| **worse** |"), "{p99}");
    assert!(
        text.contains("\n**FAILED:** response.p99 is worse by "),
        "{text}"
    );
}

#[test]
fn runs_in_blocks_are_warned_of_on_the_screen_in_json_and_on_the_page() {
    let folder = tempfile::tempdir().unwrap();
    for n in 1..=3 {
        // Base and new each in a row; old and new in turn.
        for (side, minute) in [("base", n), ("new", 9 + 2 * n), ("old", 10 + 2 * n)] {
            let (name, at) = (
                format!("{side}/{n}.json"),
                format!("2026-03-01T09:{minute:02}:00Z"),
            );
            save_at(folder.path(), &name, 1_000_000, n, Kind::Valid, &at);
        }
    }
    let warned = "all runs of base were measured before all runs of new";
    let plain = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (screen, _, code) = compare(folder.path(), &["base", "new", "--report", "page.html"]);
    let screen = plain(screen);
    assert_eq!(code, Some(0), "{screen}");
    assert!(
        screen.contains(warned) && screen.contains("in turn: base, new"),
        "{screen}"
    );
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains(warned));
    let (json, ..) = compare(folder.path(), &["base", "new", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json["doubts"].to_string().contains(warned), "{json}");
    let (screen, ..) = compare(folder.path(), &["old", "new"]);
    assert!(!plain(screen).contains("before all runs"));
}

#[test]
fn several_are_beside_each_other_on_a_page() {
    let folder = sides();
    let args = ["base", "same", "slow", "--report", "c.html"];
    let (screen, errors, code) = compare(folder.path(), &args);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{screen}");
    assert_eq!(
        screen.matches("\nreport      c.html\n").count(),
        1,
        "{screen}"
    );
    let page = std::fs::read_to_string(folder.path().join("c.html")).unwrap();
    assert!(page.contains("Change of each against base"), "{page}");
    for side in ["same", "slow"] {
        assert!(page.contains(&format!("<h2>{side}</h2>")), "{side}");
    }
    assert_eq!(page.matches("Change against base").count(), 2);
    // Of both new sides the one that changed more, once on the page.
    let figures = large(&page);
    assert!(
        figures.contains("worse") && figures.contains(", slow"),
        "{figures}"
    );
    assert!(!figures.contains(", same<"), "{figures}");
    let (_, errors, code) = compare(folder.path(), &["base", "slow", "--report", "one.html"]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let page = std::fs::read_to_string(folder.path().join("one.html")).unwrap();
    let figures = large(&page);
    assert!(
        figures.contains("worse") && figures.contains(" to "),
        "{figures}"
    );
}

/// The large figures of a page, which has them once.
fn large(page: &str) -> &str {
    let parts: Vec<&str> = page.split("<ul class=\"figures\">").collect();
    assert_eq!(parts.len(), 2, "{page}");
    parts[1].split("</ul>").next().unwrap()
}

#[test]
fn phases_can_be_chosen() {
    let folder = sides();
    let all = compare(folder.path(), &["base", "slow", "--phase", "read"]);
    assert_eq!(all.2, Some(0), "{}", all.0);
    assert_eq!(all.0, compare(folder.path(), &["base", "slow"]).0);
    let (_, errors, code) = compare(folder.path(), &["base", "slow", "--phase", "write"]);
    assert_eq!(code, Some(1));
    assert!(errors.contains("nothing to compare"), "{errors}");
}

/// Days on which one and the same was measured, from the first of a month on.
fn nightly(folder: &Path, times: &[u64]) {
    for (day, time) in (1..).zip(times) {
        let started = format!("2026-03-{day:02}T09:30:00Z");
        for seed in 1..=2 {
            let name = format!("nightly/day-{day:02}/{seed}.json");
            let seed = seed + 3 * day;
            save_at(folder, &name, *time, seed, Kind::Valid, &started);
        }
    }
}

#[test]
fn a_trend_says_since_when_it_is_worse() {
    let folder = tempfile::tempdir().unwrap();
    let mut times = [1_000_000; 14];
    times[9..].fill(1_150_000);
    nightly(folder.path(), &times);
    // A day that says nothing of the server is none.
    save(
        folder.path(),
        "nightly/bad.json",
        9_000_000,
        1,
        Kind::GeneratorLimited,
    );
    let trend = |more: &[&str]| {
        let words = [&["results", "trend", "nightly"], more].concat();
        let output = uaperf(folder.path(), &words);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let screen = trend(&["--report", "t.html"]);
    assert!(
        screen.contains("for the worse, 0 for the better"),
        "{screen}"
    );
    assert!(
        screen.contains("worse since day-10: 1.05 ms to 1.2"),
        "{screen}"
    );
    assert!(
        screen.contains("left out    bad: read: nothing to be believed"),
        "{screen}"
    );
    let page = std::fs::read_to_string(folder.path().join("t.html")).unwrap();
    assert!(page.contains("Changes of level") && page.contains("day-10"));
    let object: serde_json::Value =
        serde_json::from_str(&trend(&["--json", "--metric", "p99"])).unwrap();
    assert_eq!(object["format"], "uaperf-trend");
    let [one] = object["trends"].as_array().unwrap().as_slice() else {
        unreachable!("{object}");
    };
    assert_eq!(one["occasions"].as_array().unwrap().len(), 14);
    assert_eq!(one["changes"][0]["since"], "day-10");
    assert_eq!(one["changes"][0]["worse"], true);
    // A comparison with a history says it as well.
    let (screen, ..) = compare(
        folder.path(),
        &[
            "nightly/day-13",
            "nightly/day-14",
            "--history",
            "nightly",
            "--metric",
            "p50",
        ],
    );
    assert!(
        screen.contains("  change    worse since day-10: "),
        "{screen}"
    );
}

#[test]
fn a_trend_of_nothing_says_so() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    for (words, told) in [
        (["trend", "empty"], "nothing here has such a figure"),
        (["trend", "missing"], "cannot read missing"),
    ] {
        let output = uaperf(folder.path(), &[&["results"], &words[..]].concat());
        assert_eq!(output.status.code(), Some(1));
        assert!(
            text(&output.stderr).contains(told),
            "{}",
            text(&output.stderr)
        );
    }
}
