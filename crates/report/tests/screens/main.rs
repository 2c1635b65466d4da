//! Screens, as they were looked at and found good.
//!
//! `UPDATE_GOLDEN=1 cargo test -p report --test screens` writes them anew; look at the difference.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

mod bench;
mod notified;

use std::path::Path;

use proptest::prelude::*;
use record::Run;
use record::run::{Figure, Kind, Mark, Part, Status, Usage, UsageSeries, Verdict};
use report::{Named, Style, WIDTH, show, summary};

use bench::{SECOND, reading, run};

/// Compares with a file beside this one.
fn golden(name: &str, screen: &str) {
    narrow(screen);
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/screens/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, screen).unwrap();
    }
    let good = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(good == screen, "{name} has changed:\n{screen}");
}

fn narrow(screen: &str) {
    for line in screen.lines() {
        assert!(line.chars().count() <= WIDTH, "too wide: {line}");
        assert_eq!(line.trim_end(), line, "blanks at the end");
    }
}

/// A second's stall in ten seconds of a thousand requests each, one at a time.
fn stalled() -> Run {
    let mut run = run(&reading("1k/s"), 4 * SECOND..5 * SECOND);
    let verdict = Verdict {
        kind: Kind::ServerSaturated,
        evidence: vec![
            "requests waited up to 1.20 s for one of 1 slot, while the pacer was never late".into(),
        ],
        advice: vec![
            "more requests in flight, or look for what stops the server for a second".into(),
        ],
        notes: Vec::new(),
        ..Verdict::default()
    };
    run.phases[0].verdict = verdict.clone();
    run.verdict = verdict;
    run
}

#[test]
fn what_is_left_out_is_on_the_screen_the_page_and_in_the_table() {
    use record::run::{Counts, LeftOut, Outside};
    let mut run = stalled();
    run.phases[0].left_out.push(LeftOut {
        part: Outside::WarmUp,
        from_ns: 0,
        to_ns: 2_000_000_000,
        asked_ns: 1_500_000_000,
        counts: Counts {
            planned: 2000,
            completed: 2000,
            errors: 3,
            timeouts: 2,
            ..Counts::default()
        },
        max_ns: [("response".to_owned(), 3_000_000_000)].into(),
    });
    let words = [
        "warm-up of 2 s (1.50 s asked for, cut at the edge of a bin):",
        "2,000 completed, 3 with errors, 2 timed out, largest response 3 s",
    ];
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let screen = one_line(&summary(&run, Style::PLAIN));
    let page = one_line(&report::html(&[Named::new("r", run.clone())], None));
    for word in words {
        assert!(screen.contains(word), "{screen}");
        assert!(page.contains(word), "{page}");
    }
    let table = report::csv::csv(&run);
    for row in [
        "left-out.warm-up,2000000000,ns",
        "left-out.warm-up.errors,3,count",
        "left-out.warm-up.response.max,3000000000,ns",
    ] {
        assert!(table.contains(row), "{row}");
    }
}

#[test]
fn a_stall_shows_in_the_response_and_the_screen_says_why() {
    let screen = summary(&stalled(), Style::PLAIN);
    assert!(screen.starts_with("SERVER-SATURATED\n"));
    assert!(screen.contains("coordinated omission"));
    // One stall is one event, however many requests it held up.
    let row = screen
        .lines()
        .find(|line| line.starts_with("response"))
        .unwrap();
    assert!(row.contains("~9") && !row.contains("n/a"), "{row}");
    golden("stalled.txt", &screen);
}

/// A quiet run with all that there can be to say about resources and thresholds.
fn quiet() -> Run {
    let mut planned = reading("1k/s");
    planned.seed = 7;
    let mut run = run(&planned, 0..0);
    run.verdict.evidence = vec!["pacer late by 2.00 µs at p99, all requests sent".into()];
    run.phases[0].verdict = run.verdict.clone();
    let phase = &mut run.phases[0];
    phase.resources = vec![
        UsageSeries {
            who: "generator".into(),
            pid: Some(1),
            window: Usage {
                cpu_ns: Figure::Known(9_800_000_000),
                user_ns: Figure::Known(2_800_000_000),
                system_ns: Figure::Known(7_000_000_000),
                spun_ns: Figure::Known(9_000_000_000),
                cpu_cores: Figure::Known(0.98),
                rss_peak_bytes: Figure::Known(9_500_000),
                waited_ns: Figure::Known(1_200_000),
                ..Usage::default()
            },
            ..UsageSeries::default()
        },
        UsageSeries {
            who: "server".into(),
            pid: None,
            window: Usage {
                cpu_cores: Figure::missing("the server runs on another host"),
                ..Usage::default()
            },
            ..UsageSeries::default()
        },
    ];
    let thresholds = [
        "p99<5ms",
        "rate>=999/s",
        "service.max<1us",
        "errors=0",
        "cpu<80%",
        "generator-cpu<50%",
    ];
    let thresholds: Vec<plan::Threshold> = thresholds
        .iter()
        .map(|text| text.parse().unwrap())
        .collect();
    phase.expectations = judge::expectations(&thresholds, phase);
    run
}

#[test]
fn a_quiet_run_says_so_and_what_it_cost() {
    let screen = summary(&quiet(), Style::PLAIN);
    assert!(screen.starts_with("VALID\n"));
    assert!(!screen.contains("coordinated omission"));
    golden("quiet.txt", &screen);
}

#[test]
fn a_percentile_without_enough_independent_values_is_not_told() {
    let mut planned = reading("20/s");
    planned.duration = Some(std::time::Duration::from_secs(10));
    let run = run(&planned, 0..0);
    let screen = summary(&run, Style::PLAIN);
    let row = screen
        .lines()
        .find(|line| line.starts_with("response"))
        .unwrap();
    // Two hundred values: enough for p90, too few for p99 and p99.9.
    assert_eq!(row.matches("n/a").count(), 2, "{row}");
    assert!(screen.contains("too few values"));
    golden("few.txt", &screen);
}

#[test]
fn a_run_of_many_targets_with_errors_fits_the_page() {
    let mut run = stalled();
    for i in 0..30 {
        let mut target = run.targets[0].clone();
        target.url =
            format!("opc.tcp://a-server-with-a-really-long-name-{i}.plant.example:4840/some/path");
        run.targets.push(target);
        let sum = run.phases[0].total.clone();
        run.phases[0].parts.push(Part {
            target: i + 1,
            service: "read".into(),
            sum,
        });
    }
    run.marks = vec![Mark::Interrupted, Mark::Degraded];
    run.notes = vec!["a note ".repeat(30), "x".repeat(250)];
    let statuses = (0..12).map(|i| Status {
        code: 0x8000_0000 + (i << 16),
        name: format!("BadSomethingOrOther{i}"),
        count: u64::from(i) * 1000,
    });
    run.phases[0].total.statuses = statuses.collect();
    run.phases[0].total.errors = 66_000;
    golden("many.txt", &summary(&run, Style::PLAIN));
}

#[test]
fn a_run_in_which_nothing_was_answered_has_a_screen_too() {
    let mut run = run(&reading("1k/s"), 0..0);
    let warm_up = record::run::WarmUp::default();
    let empty = record::Ledger::with_end(SECOND).finish();
    run.phases = vec![record::run::Phase::new(
        "read",
        run.started,
        &empty,
        warm_up,
        0,
        &|_| String::new(),
    )];
    run.verdict = Verdict {
        kind: Kind::Failed,
        evidence: vec!["the server closed all connections".into()],
        ..Verdict::default()
    };
    golden("nothing.txt", &summary(&run, Style::PLAIN));
    run.phases.clear();
    run.plan = serde_json::Value::Null;
    narrow(&summary(&run, Style::PLAIN));
}

fn named(runs: Vec<Run>) -> Vec<Named> {
    let name = |(i, run)| Named::new(format!("results/run-{i}.json"), run);
    runs.into_iter().enumerate().map(name).collect()
}

#[test]
fn two_runs_stand_side_by_side_with_what_makes_them_hard_to_compare() {
    let (first, mut second) = (quiet(), stalled());
    second.machine.cpu = Figure::Known("Another CPU at 3 GHz".into());
    let screen = show(&named(vec![first, second]), Style::PLAIN);
    assert!(screen.contains("they differ in their CPU"));
    golden("two.txt", &screen);
}

#[test]
fn a_page_of_several_runs_begins_with_the_ends_of_what_they_found() {
    let runs: Vec<Named> = [("still", 0..0), ("stalls", 4 * SECOND..5 * SECOND)]
        .map(|(name, stall)| Named::new(name, run(&reading("1k/s"), stall)))
        .to_vec();
    let page = report::html(&runs, None);
    let first = page.split("<ul class=\"figures\">").nth(1).unwrap();
    let first = first.split("</ul>").next().unwrap();
    // A second's stall shows in the p99 of one of them.
    let p99 = first
        .split("<li>")
        .find(|it| it.contains("p99 response, highest"));
    let p99 = p99.unwrap();
    assert!(p99.contains("stalls; lowest "), "{p99}");
    assert!(
        first.contains("errors") && first.contains("over 2 runs"),
        "{first}"
    );
}

#[test]
fn a_run_without_requests_is_not_the_lowest_of_them() {
    let mut runs = vec![quiet(), stalled()];
    let lowest = |runs: &[Run]| {
        let page = report::html(&named(runs.to_vec()), None);
        let mut figures = page.split("<li>");
        let rate = figures.find(|it| it.contains("requests, most")).unwrap();
        rate.split("</li>").next().unwrap().to_owned()
    };
    let of_two = lowest(&runs);
    assert!(of_two.contains("lowest"), "{of_two}");
    runs.push(notified::notified(notified::Trouble::Nothing));
    assert_eq!(lowest(&runs), of_two);
}

#[test]
fn many_runs_are_a_trend() {
    let runs: Vec<Run> = (1..=8)
        .map(|k| run(&reading(&format!("{k}00/s")), 0..k * 10_000_000))
        .collect();
    golden("trend.txt", &show(&named(runs), Style::PLAIN));
}

#[test]
fn runs_of_subscriptions_are_shown_by_their_delays_and_what_they_lost() {
    use notified::{Trouble, notified};
    let few = [Trouble::Nothing, Trouble::Much].map(notified).to_vec();
    golden("delays.txt", &show(&named(few), Style::PLAIN));
    let many = [Trouble::Nothing, Trouble::Much]
        .into_iter()
        .cycle()
        .take(6);
    let many = many.map(notified).collect();
    golden("delays-trend.txt", &show(&named(many), Style::PLAIN));
}

#[test]
fn values_without_timestamps_are_counted_and_publish_requests_are_no_delays_of_theirs() {
    let mut run = notified::notified(notified::Trouble::Nothing);
    let total = &mut run.phases[0].total;
    let waited = quiet().phases[0].total.histogram("response").clone();
    total.histograms.insert("response".into(), waited);
    total.histograms.remove("delay");
    let shown = |run: &Run| show(&named(vec![run.clone(), run.clone()]), Style::PLAIN);
    let sampled = shown(&run);
    assert!(sampled.contains("2000/s      ×1.00    2000/s"), "{sampled}");
    assert!(sampled.contains("delay mean"), "{sampled}");
    run.phases[0].total.histograms.remove("server-delay");
    // They are counted through its warm-up, too.
    run.phases[0].from_ns = 5 * SECOND;
    let unknown = shown(&run);
    assert!(unknown.contains("2000/s      ×1.00    2000/s"), "{unknown}");
    assert!(
        !unknown.contains("mean") && !unknown.contains("p50"),
        "{unknown}"
    );
}

#[test]
fn values_are_those_of_the_window_and_the_others_are_named() {
    let warm_up = record::run::WarmUp {
        given_ns: Some(5 * SECOND),
        cut_ns: 5 * SECOND,
        ..Default::default()
    };
    // A message of a hundred values each 100 ms, from 20 ms on, in two subscriptions: 50 each before 5 s.
    let run = notified::behind(warm_up, notified::Trouble::Nothing);
    let screen = summary(&run, Style::PLAIN);
    assert!(screen.contains("10,000 values in 100 messages"), "{screen}");
    let one_line = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        one_line.contains("10,000 more outside of the measured window"),
        "{screen}"
    );
    let table = report::csv::csv(&run);
    assert!(table.contains("window.values,10000,count"), "{table}");
}

#[test]
fn points_of_a_scenario_are_shown_by_what_was_varied() {
    let mut runs = Vec::new();
    for sessions in 1..=3 {
        for security in ["None", "Basic256Sha256:SignAndEncrypt"] {
            let mut run = quiet();
            run.request =
                serde_json::json!({"values": {"sessions": sessions, "security": security}});
            runs.push(run);
        }
    }
    golden("points.txt", &show(&named(runs.clone()), Style::PLAIN));
    runs.truncate(3);
    golden("few-points.txt", &show(&named(runs), Style::PLAIN));
}

#[test]
fn colours_change_nothing_but_colours() {
    let runs = [vec![quiet()], vec![quiet(), stalled()], vec![stalled(); 6]];
    for runs in runs.map(named) {
        let coloured = show(&runs, Style::COLOUR);
        assert!(coloured.contains("\x1b["));
        let mut plain = String::new();
        let mut rest = coloured.as_str();
        while let Some((before, after)) = rest.split_once("\x1b[") {
            plain.push_str(before);
            rest = after.split_once('m').unwrap().1;
        }
        plain.push_str(rest);
        let trimmed = |text: &str| {
            text.lines()
                .map(str::trim_end)
                .collect::<Vec<_>>()
                .join("\n")
        };
        assert_eq!(trimmed(&plain), trimmed(&show(&runs, Style::PLAIN)));
    }
}

#[test]
fn colours_need_a_terminal_that_wants_them() {
    // A file is no terminal, whatever the environment says.
    let file = std::fs::File::open(env!("CARGO_MANIFEST_PATH")).unwrap();
    assert_eq!(Style::detect(&file, |_| None), Style::PLAIN);
}

#[test]
fn a_csv_has_one_row_for_each_phase_and_metric() {
    let mut run = stalled();
    run.phases[0].name = "one, \"two\"".into();
    let csv = report::csv::csv(&run);
    let mut lines = csv.lines();
    assert_eq!(
        lines.next(),
        Some("started,command,phase,target,service,metric,value,unit,point")
    );
    let row = |metric: &str| {
        let start = r#"2026-03-01T09:30:00.000000000Z,read,"one, ""two""",all,read,"#;
        let line = csv
            .lines()
            .find(|line| line.starts_with(&format!("{start}{metric},")));
        line.unwrap_or_else(|| panic!("no {metric}"))
            .strip_prefix(start)
            .unwrap()
            .to_owned()
    };
    assert_eq!(row("verdict"), "verdict,SERVER-SATURATED,,");
    assert_eq!(row("completed"), "completed,10000,count,");
    assert_eq!(row("rate"), "rate,1000,1/s,");
    assert_eq!(row("status.Good"), "status.Good,10000,count,");
    assert_eq!(row("socket.p99"), "socket.p99,0,ns,");
    assert_eq!(row("lag.p99"), "lag.p99,,ns,");
    let mut metrics: Vec<&str> = csv
        .lines()
        .map(|line| line.rsplitn(3, ',').last().unwrap())
        .collect();
    let all = metrics.len();
    metrics.sort_unstable();
    metrics.dedup();
    assert_eq!(metrics.len(), all, "each metric once");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_figures_and_no_words_make_a_screen_too_wide(
        numbers in prop::collection::vec(any::<u64>(), 12),
        words in "\\PC{0,300}",
        cores in any::<f64>(),
    ) {
        let mut run = quiet();
        run.command = words.clone();
        run.verdict.evidence = vec![words.clone()];
        run.targets[0].url = words.clone();
        run.targets[0].product.name = Figure::Known(words.clone());
        let phase = &mut run.phases[0];
        phase.name = words;
        let sum = &mut phase.total;
        sum.completed = numbers[0];
        sum.errors = numbers[1];
        sum.skipped = numbers[2];
        sum.planned = numbers[3];
        sum.rate_per_s = Some(numbers[4] as f64);
        sum.values_per_s = Some(numbers[5] as f64);
        sum.requests.total_bytes = numbers[6];
        sum.requests.mean_bytes = Some(numbers[7] as f64);
        let wide = record::Histogram::of(numbers[8], 1 + numbers[9] % 10_000);
        sum.histograms.insert("response".into(), wide);
        phase.resources[0].window.cpu_cores = Figure::Known(cores);
        phase.resources[0].window.rss_peak_bytes = Figure::Known(numbers[10]);
        let part = Part { target: 0, service: "read".into(), sum: phase.total.clone() };
        phase.parts = vec![part.clone(), part];
        narrow(&summary(&run, Style::PLAIN));
        let other = quiet();
        narrow(&show(&named(vec![run.clone(), other.clone()]), Style::PLAIN));
        narrow(&show(&named(vec![other.clone(), run, other.clone(), other.clone(), other]), Style::PLAIN));
    }
}
