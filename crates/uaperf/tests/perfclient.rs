//! The command lines of the 2016 thesis, against a plant with its nodes.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Output;

use crate::support::{Server, command, text};
use tempfile::TempDir;

/// `uaperf serve --profile tahvanainen2016`, and a folder for both sides.
struct Bench {
    server: Server,
    folder: TempDir,
}

impl Bench {
    fn start() -> Self {
        Self::with(&[])
    }

    fn with(faults: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = ["--profile", "tahvanainen2016", "--security", "none"];
        let server = Server::start(&folder.path().join("pki"), &[&options, faults].concat());
        Self { server, folder }
    }

    fn perfclient(&self, words: &[&str]) -> Output {
        command(self.folder.path(), &["perfclient", "-n", "ns=2;s=MyLevel"])
            .args(words)
            .arg(&self.server.url)
            .output()
            .unwrap()
    }
}

/// Without its figures.
fn masked(said: &str) -> String {
    said.lines()
        .map(|line| {
            let (words, figure) = line.split_once(": ").unwrap();
            let unit = figure.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            format!("{words}: #{unit}\n")
        })
        .collect()
}

/// The figure behind these words.
fn figure(said: &str, words: &str) -> f64 {
    let line = said.lines().find_map(|line| line.strip_prefix(words));
    let number = line.unwrap().trim_start_matches(": ");
    number.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn the_command_line_of_the_thesis_prints_its_statistics_in_its_order() {
    let bench = Bench::start();
    // As printed there, with fewer requests.
    let words = ["-clients", "1", "-batchsize", "100", "-rate", "100"];
    let more = ["-requests", "30", "-duration", "300", "-percentile", "0.9"];
    let output = bench.perfclient(&[words, more].concat());
    let said = text(&output.stdout);
    assert_eq!(
        masked(&said),
        "\
Number of read requests: #
Number of read responses: #
Total duration: # ms
Average response time: # ms
Max response time: # ms
0.9 percentile response time: # ms
Number of results: #
Results per second: #
"
    );
    let of = |words| figure(&said, words);
    assert_eq!(of("Number of read requests"), 30.0);
    assert_eq!(of("Number of read responses"), 30.0);
    assert_eq!(of("Number of results"), 3000.0);
    // From the first request to the last response: the 30th is due 29 periods after the first.
    let duration = of("Total duration");
    assert!(duration >= 290.0, "{said}");
    let (mean, p90) = (
        of("Average response time"),
        of("0.9 percentile response time"),
    );
    let max = of("Max response time");
    assert!(0.0 < mean && mean <= max && p90 <= max, "{said}");
    let rate = of("Results per second");
    assert!((rate - 3000.0 / duration * 1e3).abs() < 0.01, "{said}");
    // What the verdict is and where the result lies stands beside it.
    let beside = text(&output.stderr);
    assert!(beside.contains("result      results/"), "{beside}");
}

#[test]
fn the_command_line_of_the_thesis_for_subscriptions_prints_its_statistics_in_its_order() {
    let bench = Bench::start();
    // As printed there, for a shorter time.
    let words = ["-clients", "1", "-subscriptions", "5", "-items", "100"];
    let output = bench.perfclient(&[&words[..], &["-duration", "4"]].concat());
    let said = text(&output.stdout);
    assert_eq!(
        masked(&said),
        "\
Number Of Publish Requests: #
Number Of Publish Responses: #
Number of Monitored Items: #
Duration: # s
Monitored items per second: #
Average delay time: # ms
Max delay time: # ms
0.9 percentile delay time: # ms
Subscription min freq: #
Subscription max freq: #
",
        "{}",
        text(&output.stderr)
    );
    let of = |words| figure(&said, words);
    // The node changes each second and is published each second: four changes of 500 items, one more
    // or less at the edges of the time that is measured.
    let changes = of("Number of Monitored Items");
    assert!((1500.0..=2500.0).contains(&changes), "{said}");
    assert_eq!(changes % 100.0, 0.0, "whole messages of 100 items: {said}");
    let responses = of("Number Of Publish Responses");
    assert!((15.0..=25.0).contains(&responses), "{said}");
    let duration = of("Duration");
    let per_second = of("Monitored items per second");
    assert!((per_second - changes / duration).abs() < 0.01, "{said}");
    let (least, most) = (of("Subscription min freq"), of("Subscription max freq"));
    assert!(3.0 <= least && least <= most && most <= 5.0, "{said}");
    let (mean, max) = (of("Average delay time"), of("Max delay time"));
    assert!(
        mean <= max && of("0.9 percentile delay time") <= max,
        "{said}"
    );
}

#[test]
fn requests_and_batches_count_for_each_session_and_single_reads_for_each_value() {
    let bench = Bench::start();
    let run = |words: &[&str]| text(&bench.perfclient(words).stdout);
    let words = ["-clients", "3", "-batchsize", "7"];
    let words = [words, ["-requests", "5", "-rate", "50"]].concat();
    let said = run(&words);
    assert_eq!(figure(&said, "Number of read requests"), 15.0, "{said}");
    assert_eq!(figure(&said, "Number of results"), 105.0, "{said}");
    // So many requests of one value at once, in each cycle.
    let said = run(&[&words[..], &["-single"]].concat());
    assert_eq!(figure(&said, "Number of read requests"), 105.0, "{said}");
    assert_eq!(figure(&said, "Number of results"), 105.0, "{said}");
    // The duration ends it in any case.
    let said = run(&["-requests", "1000", "-rate", "2", "-duration", "5"]);
    assert_eq!(figure(&said, "Number of read requests"), 10.0, "{said}");
}

#[test]
fn of_a_server_that_is_too_slow_only_what_came_in_time_is_counted() {
    // 20 requests a second.
    let bench = Bench::with(&["--fault", "service_time=50ms,on=read"]);
    let words = ["-rate", "100", "-batchsize", "10", "-duration", "4"];
    let output = bench.perfclient(&words);
    let said = text(&output.stdout);
    let of = |words| figure(&said, words);
    assert!(of("Number of read requests") > 300.0, "{said}");
    let responses = of("Number of read responses");
    assert!((1.0..=80.0).contains(&responses), "{said}");
    assert_eq!(of("Number of results"), responses * 10.0, "{said}");
    assert_eq!(of("Total duration"), 4000.0, "{said}");
    let rate = of("Results per second");
    assert!((rate - responses * 10.0 / 4.0).abs() < 0.01, "{said}");
    // Who is still waiting is in no mean: nobody of these waited to the end.
    assert!(of("Max response time") <= 4000.0, "{said}");
    let beside = text(&output.stderr);
    assert!(
        beside.contains(", given up after 10 s or at the end"),
        "{beside}"
    );
    assert!(!beside.contains("answer: 0,"), "{beside}");
}

#[test]
fn requests_that_are_given_up_are_counted_and_in_no_mean() {
    // It answers what is asked before the reads begin, and some of them.
    let bench = Bench::with(&["--fault", "drop,on=read,after=15s"]);
    let words = ["-rate", "2", "-requests", "60", "-duration", "120"];
    let output = bench.perfclient(&[&words[..], &["--timeout", "1s"]].concat());
    let (said, beside) = (text(&output.stdout), text(&output.stderr));
    let of = |words| figure(&said, words);
    assert_eq!(of("Number of read requests"), 60.0, "{said}{beside}");
    let responses = of("Number of read responses");
    assert!((1.0..60.0).contains(&responses), "{said}");
    assert!(of("Max response time") < 1000.0, "{said}");
    let given_up = format!("answer: {}, given up after 1 s or", 60.0 - responses);
    assert!(beside.contains(&given_up), "{beside}");
}

#[test]
fn what_takes_longer_than_ten_seconds_is_waited_for() {
    // The first look at the server, and an answer.
    let slow = ["--fault", "delay=11s,on=create_session,times=1"];
    let late = ["--fault", "delay=11s,on=read,after=25s,times=1"];
    let bench = Bench::with(&[slow, late].concat());
    let words = ["-rate", "2", "-requests", "80", "-duration", "120"];
    let output = bench.perfclient(&words);
    let (said, beside) = (text(&output.stdout), text(&output.stderr));
    let of = |words| figure(&said, words);
    assert_eq!(of("Number of read responses"), 80.0, "{said}{beside}");
    assert!(of("Max response time") >= 11_000.0, "{said}");
}

#[test]
fn what_it_cannot_do_is_said_in_one_line() {
    let bench = Bench::start();
    for (words, said) in [
        (
            &["-rate", "5"][..],
            "-requests or -duration has to be given",
        ),
        (&["-requests", "5", "-rate", "fast"], "--rate"),
        (
            &["-requests", "5", "-percentile", "90"],
            "want a share from 0 to 1",
        ),
        (
            &["-subscriptions", "5", "-items", "100"],
            "-duration has to be given",
        ),
        (
            &["-items", "5", "-single", "-duration", "5"],
            "cannot be used with",
        ),
    ] {
        let output = bench.perfclient(words);
        let error = text(&output.stderr);
        assert!(
            error.starts_with("error: ") && error.contains(said),
            "{error}"
        );
        assert_eq!(output.status.code(), Some(2), "{error}");
    }
}
