//! `uaperf subscribe` against plants whose conduct is known, over real sockets.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::BufRead;
use std::time::Duration;

use crate::support::{Server, command, json, program, ready, text};
use serde_json::Value;
use tempfile::TempDir;

/// A thousand counters that go on every 50 ms, a hundred nodes to be written to, and a fault.
fn plant(fault: &str) -> String {
    let signals = r#"
name = "counters"
[[namespace]]
uri = "urn:counters"
[[namespace.signals]]
ids = "i=1..1000"
name = "Count{n}"
type = "UInt32"
pattern = "counter"
update = "50ms"
[[namespace.signals]]
ids = "i=2001..2100"
name = "Set{n}"
type = "Int32"
access = "read-write"
"#;
    match fault {
        "" => signals.to_owned(),
        fault => format!("{signals}[[fault]]\n{fault}\n"),
    }
}

/// A server and a folder, which end with the test.
struct Bench {
    server: Server,
    folder: TempDir,
    /// Where commands go.
    url: String,
}

impl Bench {
    fn new(fault: &str) -> Self {
        Self::of(&plant(fault))
    }

    fn of(plant: &str) -> Self {
        Self::with(plant, &[])
    }

    /// The same over HTTPS.
    fn over_https(fault: &str) -> Self {
        let mut bench = Self::with(&plant(fault), &["--https", "0", "--trust"]);
        let mut line = String::new();
        bench.server.out.read_line(&mut line).unwrap();
        bench.url = ready(&line).to_owned();
        bench
    }

    fn with(plant: &str, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("plant.toml");
        std::fs::write(&file, plant).unwrap();
        let options = [
            file.to_str().unwrap(),
            "--security",
            "none",
            "--threads",
            "1",
            // Nobody has a name here, and no channel is signed.
            "--transfer",
            "anyone",
        ];
        let options = [&options[..], more].concat();
        let server = Server::start(&folder.path().join("pki"), &options);
        let url = server.url.clone();
        Self {
            server,
            folder,
            url,
        }
    }

    /// What subscriptions told, and the whole of the run.
    fn told(&self, options: &str) -> (Value, Value) {
        self.told_of(&options.split_whitespace().collect::<Vec<_>>())
    }

    fn told_of(&self, options: &[&str]) -> (Value, Value) {
        let words = ["subscribe", &self.url, "--quiet", "--out", "run.json"];
        let output = command(self.folder.path(), &words)
            .args(options)
            .output()
            .unwrap();
        let file = self.folder.path().join("run.json");
        assert!(file.exists(), "{}", text(&output.stderr));
        let run = json(&file);
        (run["phases"][0]["subscriptions"].clone(), run)
    }
}

fn count(told: &Value, of: &str, name: &str) -> u64 {
    told[of][name].as_u64().unwrap_or(0)
}

fn assert_agrees(told: &Value, what: &str) {
    let beside = told["beside"].as_array().unwrap();
    let row = beside.iter().find(|row| row["what"] == what).unwrap();
    assert_eq!(row["server"], row["client"], "{row}");
}

#[test]
fn what_a_plant_counts_comes_whole_and_the_plant_says_the_same() {
    let bench = Bench::new("");
    let (told, run) = bench.told(
        "-n ns=2;i=1..1000 --sessions 3 --subscriptions 2 --items 400 \
             --publishing 100ms --sampling 50ms --queue 20 --duration 2s --threads 2",
    );
    assert_eq!(told["outcome"], "lossless", "{told}");
    assert_eq!(
        (&told["subscriptions"], &told["items"]),
        (&6.into(), &2400.into())
    );
    assert_eq!(told["counters"], 2400);
    // Forty updates of each item in two seconds, but for what is on its way at both ends.
    let delivered = count(&told, "places", "delivered");
    assert!(delivered >= 2400 * 34, "{delivered}");
    assert_eq!(delivered, count(&told, "places", "updates"));
    assert_agrees(&told, "messages sent");
    assert_agrees(&told, "values sent");
    let steps = told["steps"].as_array().unwrap();
    let items = steps
        .iter()
        .find(|it| it["step"] == "create_items")
        .unwrap();
    assert_eq!(items["things"], 2400);
    let verdict = &run["phases"][0]["verdict"];
    assert_ne!(verdict["kind"], "FAILED");
    // What its cores slept before the measurement does not make them idle in it.
    let evidence = verdict["evidence"].to_string();
    assert!(!evidence.contains("generator 0 %"), "{evidence}");
}

#[test]
fn messages_that_a_plant_drops_are_republished_and_nothing_is_lost() {
    let bench = Bench::new("on = \"notification\"\ndrop_every = 7");
    let (told, _) =
        bench.told("-n ns=2;i=1..50 --publishing 50ms --sampling 50ms --queue 20 --duration 3s");
    let missing = count(&told, "messages", "missing_messages");
    assert!(missing >= 4, "{told}");
    assert_eq!(missing, count(&told, "messages", "republish_asked"));
    assert_eq!(missing, count(&told, "messages", "republish_answered"));
    assert_eq!(told["outcome"], "lossless", "{told}");
}

#[test]
fn a_connection_that_is_cut_is_taken_up_again_each_way() {
    let run = |way: &str| {
        // Twice, and not at the very end, where nobody takes anything up.
        let bench = Bench::new("on = \"notification\"\ndisconnect_every = 25\ntimes = 2");
        let (told, _) = bench.told(&format!(
            "-n ns=2;i=1..50 --publishing 50ms --sampling 50ms --queue 50 --duration 5s \
             {way}",
        ));
        assert!(count(&told, "messages", "cut") >= 1, "{way}: {told}");
        told
    };
    for way in ["--reconnect", "--reconnect=transfer"] {
        let told = run(way);
        assert_eq!(
            count(&told, "messages", "resumed"),
            count(&told, "messages", "cut")
        );
        assert_eq!(told["outcome"], "lossless", "{way}: {told}");
    }
    let told = run("--reconnect=recreate");
    assert_eq!(
        count(&told, "messages", "recreated"),
        count(&told, "messages", "cut")
    );
    // What passed while there was no subscription is known, and nothing else is missing.
    assert_eq!(count(&told, "places", "missing"), 0, "{told}");
}

/// Publish requests wait on connections of their own, so that nothing else waits for what they wait for.
#[test]
fn https_loses_nothing_and_answers_others_while_publish_requests_wait() {
    let bench = Bench::over_https("on = \"notification\"\ndrop_every = 9");
    for encoding in ["binary", "json"] {
        // Longer intervals than a Read may take.
        let (told, run) = bench.told(&format!(
            "-n ns=2;i=1..50 --sessions 2 --publishing 500ms --sampling 50ms --queue 30 --duration 6s --trust \
             --with-read ns=2;i=1..10 --with-batch 10 --rate 50/s --encoding {encoding}",
        ));
        assert_eq!(told["outcome"], "lossless", "{encoding}: {told}");
        let delivered = count(&told, "places", "delivered");
        assert!(delivered >= 100 * 80, "{delivered}");
        assert_eq!(delivered, count(&told, "places", "updates"));
        let missing = count(&told, "messages", "missing_messages");
        assert!(missing >= 1, "{told}");
        assert_eq!(missing, count(&told, "messages", "republish_answered"));
        let parts = run["phases"][0]["parts"].as_array().unwrap();
        let read = parts.iter().find(|part| part["service"] == "read").unwrap();
        assert_eq!(sent(&read["sum"]), 600, "{read}");
        assert_eq!(read["sum"]["errors"], 0);
        // Behind a Publish request half of them would have waited 250 ms and longer.
        let p50 = &read["sum"]["histograms"]["service"]["p50_ns"];
        assert!(p50.as_f64().unwrap() < 100e6, "{p50}");
    }
}

/// Requests that were answered; the last ones may be due too late to be sent.
fn sent(of: &Value) -> u64 {
    let count = |name: &str| of[name].as_u64().unwrap_or(0);
    assert!(count("unsent") <= 5, "{of}");
    count("completed") + count("unsent")
}

#[test]
fn connections_of_https_that_are_cut_are_taken_up_again() {
    let bench = Bench::over_https("on = \"notification\"\ndisconnect_every = 20\ntimes = 2");
    let (told, _) = bench.told(
        "-n ns=2;i=1..50 --publishing 50ms --sampling 50ms --queue 50 --duration 5s --trust --reconnect",
    );
    assert!(count(&told, "messages", "cut") >= 1, "{told}");
    assert_eq!(
        count(&told, "messages", "resumed"),
        count(&told, "messages", "cut")
    );
    assert_eq!(told["outcome"], "lossless", "{told}");
}

#[test]
fn a_writer_makes_it_known_what_there_was() {
    let bench = Bench::new("");
    let (told, run) = bench.told(
        "-n ns=2;i=2001..2100 --publishing 100ms --sampling 10ms --queue 20 \
             --duration 2s --writer 20/s --allow write",
    );
    assert_eq!(told["counters"], 100, "{told}");
    assert_eq!(told["outcome"], "lossless", "{told}");
    assert!(count(&told, "places", "delivered") >= 100 * 30, "{told}");
    let notes = run["notes"].to_string();
    assert!(notes.contains("the writer wrote"), "{notes}");
}

#[test]
fn sessions_read_beside_their_subscriptions() {
    let bench = Bench::new("");
    let (told, run) = bench.told(
        "-n ns=2;i=1..10 --publishing 100ms --duration 2s --with-read ns=2;i=1..10 \
             --with-batch 10 --rate 50/s",
    );
    assert_ne!(told["outcome"], "lost", "{told}");
    let parts = run["phases"][0]["parts"].as_array().unwrap();
    let read = parts.iter().find(|part| part["service"] == "read").unwrap();
    assert_eq!(sent(&read["sum"]), 100, "{read}");
    assert_eq!(read["sum"]["errors"], 0);
}

#[test]
fn items_that_change_while_they_report_lose_nothing() {
    let bench = Bench::new("");
    let (told, _) = bench.told(
        "-n ns=2;i=1..50 --subscriptions 2 --publishing 100ms --sampling 50ms \
             --queue 50 --duration 3s --churn modify:4/s --churn publishing:2/s",
    );
    let steps = told["steps"].as_array().unwrap();
    let taken = |name: &str| steps.iter().any(|it| it["step"] == name);
    assert!(taken("modify"), "{told}");
    assert_eq!(count(&told, "places", "missing"), 0, "{told}");
}

#[test]
fn what_is_to_be_silent_is_no_failure_and_what_a_filter_holds_back_no_loss() {
    let bench = Bench::new("");
    let common = "-n ns=2;i=1..20 --publishing 100ms --sampling 50ms --queue 5 --duration 1s";
    for (options, why) in [
        ("--mode sampling", "items sample without reporting"),
        ("--mode disabled", "items are disabled"),
        ("--publishing-off", "publishing is disabled"),
    ] {
        let (told, run) = bench.told(&format!("{common} {options}"));
        assert_eq!(run["verdict"]["kind"], "VALID", "{}", run["verdict"]);
        assert_eq!(count(&told, "values", "received"), 0);
        assert!(told["held"].as_str().unwrap().starts_with(why), "{told}");
    }
    // The status of a counter does not change.
    let (told, _) = bench.told(&format!("{common} --trigger status"));
    let outcome = (&told["outcome"], count(&told, "values", "received"));
    assert_eq!(outcome, (&"nothing-missing".into(), 20), "{told}");
    // Neither do values that differ by less than the deadband come, however long it takes.
    let (told, _) = bench.told(&format!("{common} --deadband 100"));
    let outcome = (&told["outcome"], count(&told, "values", "received"));
    assert_eq!(outcome, (&"lossless".into(), 20), "{told}");
}

#[test]
fn values_without_timestamps_have_a_rate_and_no_delays() {
    let bench = Bench::new("");
    let options =
        "-n ns=2;i=1..20 --publishing 100ms --sampling 50ms --queue 5 --timestamps neither";
    let words: Vec<&str> = options.split_whitespace().collect();
    let output = command(
        bench.folder.path(),
        &["subscribe", &bench.server.url, "--duration", "1s"],
    );
    let output = { output }.args(words).output().unwrap();
    let screen = text(&output.stdout);
    assert!(screen.contains("\ndelay       n/a"), "{screen}");
    assert!(!screen.contains("mean delay of an item"), "{screen}");
    let rate = screen.lines().find(|line| line.starts_with("rate "));
    assert!(!rate.unwrap().contains(" 0/s"), "{screen}");
}

#[test]
fn too_few_publish_requests_are_told_with_what_waited() {
    let bench = Bench::new("");
    let options = "-n ns=2;i=1..40 --subscriptions 40 --items 1 --publishing 50ms --phase aligned --duration 1s";
    let (told, run) = bench.told(&format!("{options} --publish-requests 1"));
    assert!(told["waited"].as_u64().unwrap() > 0, "{told}");
    let notes = run["notes"].to_string();
    assert!(
        notes.contains("one Publish request is too few for 40 subscriptions"),
        "{notes}"
    );
}

#[test]
fn items_that_only_sample_for_a_while_tell_all_of_it_later() {
    let bench = Bench::new("");
    let (told, run) = bench.told(
        "-n ns=2;i=1..50 --publishing 100ms --sampling 50ms --queue 100 \
             --duration 3500ms --churn mode:2/s",
    );
    let steps = told["steps"].as_array().unwrap();
    assert!(steps.iter().any(|it| it["step"] == "set_mode"), "{told}");
    assert_eq!(told["outcome"], "lossless", "{told}");
    assert_eq!(count(&told, "places", "unjudged"), 0, "{told}");
    assert_eq!(told["overdue"], 0, "{told}");
    assert_ne!(run["verdict"]["kind"], "SERVER-SATURATED", "{run}");
}

#[test]
fn the_ledgers_of_several_plants_are_added_up() {
    let (bench, other) = (Bench::new(""), Bench::new(""));
    let url = &other.server.url;
    let (told, _) = bench.told(&format!(
        "{url} -n ns=2;i=1..20 --publishing 100ms --sampling 50ms --queue 10 \
             --duration 2s",
    ));
    assert_eq!(told["subscriptions"], 2, "{told}");
    assert_eq!(told["outcome"], "lossless", "{told}");
    assert_agrees(&told, "values sent");
    assert_agrees(&told, "sampled away");
}

#[test]
fn wrong_usage_is_told_in_one_line() {
    let wrong = |args: &[&str], said: &str| {
        let output = program()
            .args(["subscribe", "opc.tcp://127.0.0.1:1"])
            .args(args)
            .output()
            .unwrap();
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(said), "{error}");
    };
    wrong(&["--rate", "10/s"], "requests beside the subscriptions");
    wrong(&["--writer", "1/s"], "has to be allowed");
    wrong(
        &["--lifetime", "20"],
        "--lifetime 20: want three times --keep-alive or more",
    );
    wrong(
        &["--churn", "modify"],
        "want modify, mode, publishing, refresh, transfer or transfer-initial with its rate",
    );
    wrong(&["--deadband", "x"], "want 0.5");
    wrong(&["--publish-requests", "0"], "want 1 to 65000, or auto");
}

/// A flood, alarms, and a fault.
fn alarms(fault: &str) -> String {
    let events = r#"
name = "alarms"
[[namespace]]
uri = "urn:alarms"
[[namespace.events]]
folder = "Flood"
name = "Flood{n}"
count = 10
type = "SystemEventType"
rate = "1000/s"
severity = [100, 900]
[[namespace.events]]
folder = "Tanks"
name = "Level{n}"
count = 5
type = "ExclusiveLevelAlarmType"
rate = "20/s"
limits = { high = 90 }
"#;
    match fault {
        "" => events.to_owned(),
        fault => format!("{events}[[fault]]\n{fault}\n"),
    }
}

const EVENTS: [&str; 5] = ["--events", "--publishing", "100ms", "--duration", "2s"];

#[test]
fn every_event_of_a_flood_comes_and_its_ids_and_the_plant_say_so() {
    let bench = Bench::of(&alarms(""));
    let more = ["--refresh", "--churn", "refresh:4/s", "--sessions", "2"];
    let (told, run) = bench.told_of(&[&EVENTS[..], &more].concat());
    assert_eq!(told["outcome"], "lossless", "{told}");
    assert_eq!(told["counters"], 2);
    let events = |name| told["events"]["counts"][name].as_u64().unwrap();
    assert_eq!(events("raised"), count(&told, "values", "in_order"));
    assert_eq!(told["events"]["sources"], 30);
    assert!(events("refresh_starts") >= 4, "{told}");
    assert_eq!(events("refresh_starts"), events("refresh_ends"));
    assert!(events("refreshed") > 0);
    assert_eq!(count(&told, "values", "repeated"), 0);
    let kinds = &told["events"]["kinds"];
    assert!(kinds["SystemEventType"].as_u64() > kinds["ExclusiveLevelAlarmType"].as_u64());
    assert_agrees(&told, "events sent");
    // Time and ReceiveTime of these events are the same.
    let total = &run["phases"][0]["total"];
    let count = |name: &str| total["histograms"][name]["count"].clone();
    assert_eq!(count("delay"), count("server-delay"));
}

#[test]
fn messages_with_events_that_a_plant_drops_are_republished() {
    let bench = Bench::of(&alarms("on = \"notification\"\ndrop_every = 5"));
    let (told, _) = bench.told_of(&EVENTS);
    assert!(count(&told, "messages", "missing_messages") >= 2, "{told}");
    assert!(count(&told, "values", "recovered") > 0, "{told}");
    assert_eq!(told["outcome"], "lossless", "{told}");
    assert_eq!(count(&told, "values", "repeated"), 0);
}

#[test]
fn a_queue_that_is_too_short_for_a_flood_is_found_by_ids_and_by_overflow_events() {
    let bench = Bench::of(&alarms(""));
    let (told, _) = bench.told_of(&[&EVENTS[..], &["--queue", "20"]].concat());
    assert_eq!(told["outcome"], "lost", "{told}");
    let overflows = told["events"]["counts"]["overflow_events"].as_u64();
    assert!(overflows.unwrap() >= 10, "{told}");
    let beside = told["beside"].as_array().unwrap();
    let row = beside.iter().find(|row| row["what"] == "overflowed");
    let (server, ours) = (&row.unwrap()["server"], &row.unwrap()["client"]);
    // What overflowed before the first event of a source, or behind the last, nobody can count.
    let (server, ours) = (server.as_u64().unwrap(), ours.as_u64().unwrap());
    assert!(ours <= server && ours * 2 > server, "{ours} of {server}");
    assert_eq!(count(&told, "places", "missing"), 0);
}

#[test]
fn a_filter_lets_through_what_it_says_and_the_server_says_what_it_does_not_know() {
    let bench = Bench::of(&alarms(""));
    let filter = "OfType AlarmConditionType and ActiveState/Id = true and SourceName like 'Level%'";
    let (told, run) = bench.told_of(
        &[
            &EVENTS[..],
            &["--where", filter, "--select", "Message,ConditionId,Nothing"],
        ]
        .concat(),
    );
    let kinds = told["events"]["kinds"].as_object().unwrap();
    let kinds: Vec<_> = kinds.keys().collect();
    assert_eq!(kinds, ["ExclusiveLevelAlarmType"], "{told}");
    assert_eq!(told["outcome"], "nothing-missing");
    // Odd ones make active, even ones do not.
    let counts = &told["events"]["counts"];
    assert!(counts["passed_over"].as_u64().unwrap() > 0, "{told}");
    let unknown = told["events"]["unknown_fields"].to_string();
    assert!(unknown.contains("Nothing (BadNodeIdUnknown)"), "{unknown}");
    assert!(run["notes"].to_string().contains("Nothing"), "{run}");

    let words = [
        "subscribe",
        &bench.server.url,
        "--events",
        "--where",
        "Severity >= ",
    ];
    let output = command(bench.folder.path(), &words).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(
        told.contains("character 13: want a field or a value"),
        "{told}"
    );
}

#[test]
fn subscriptions_that_go_from_session_to_session_lose_nothing() {
    let bench = Bench::new("");
    for (churn, initial) in [("transfer:5/s", false), ("transfer-initial:5/s", true)] {
        let (told, _) = bench.told(&format!(
            "-n ns=2;i=1..100 --items 50 --sessions 4 --threads 2 --subscriptions 2 --publishing 100ms \
             --sampling 50ms --queue 50 --duration 3s --churn {churn}"
        ));
        assert_eq!(told["outcome"], "lossless", "{told}");
        let steps = told["steps"].as_array().unwrap();
        let transfers = steps.iter().find(|it| it["step"] == "transfer").unwrap();
        assert!(transfers["things"].as_u64().unwrap() > 4, "{told}");
        // Last values come once more only where that was asked for, and are known as such.
        assert_eq!(count(&told, "values", "resent") > 0, initial, "{told}");
        assert_eq!(count(&told, "values", "repeated"), 0, "{told}");
        // The session that had it is told, which is no end.
        assert!(count(&told, "messages", "status_changes") > 4, "{told}");
        assert!(!told["causes"].to_string().contains("ended"), "{told}");
        assert_agrees(&told, "messages sent");
        assert_agrees(&told, "values sent");
    }
}

#[test]
fn a_session_that_gives_its_only_subscription_away_goes_on_when_it_has_another() {
    let bench = Bench::new("");
    let (told, _) = bench.told(
        "-n ns=2;i=1..50 --sessions 2 --publishing 100ms --sampling 50ms --queue 50 \
             --duration 3s --churn transfer:4/s",
    );
    assert_eq!(told["outcome"], "lossless", "{told}");
    assert_agrees(&told, "values sent");
}

// Part 4, 7.22.4: what a plant folds is no loss.
#[test]
fn aggregates_come_for_each_interval_and_the_plant_says_the_same() {
    let bench = Bench::new("");
    let (told, run) = bench.told(
        "-n ns=2;i=1..100 --publishing 100ms --sampling 50ms --queue 20 --duration 2s \
         --aggregate average --processing-interval 100ms",
    );
    let plan = &run["plan"]["phases"][0]["work"]["aggregate"];
    assert_eq!(plan["function"], "average", "{}", run["plan"]);
    assert_eq!(plan["interval_ns"], 100_000_000);
    assert_eq!(told["held"], Value::Null, "{told}");
    assert_ne!(told["outcome"], "lost", "{told}");
    assert_agrees(&told, "messages sent");
    assert_agrees(&told, "values sent");
    // Twenty intervals of each item in two seconds, but for what is on its way at both ends; forty updates were folded.
    let row = |what: &str| {
        let beside = told["beside"].as_array().unwrap();
        let row = beside.iter().find(|row| row["what"] == what).unwrap();
        row["server"].as_u64().unwrap()
    };
    let values = row("values sent");
    assert!((100 * 15..=100 * 30).contains(&values), "{values}");
}

// Part 11, 6.5.4.
#[test]
fn a_history_is_read_as_what_its_intervals_amount_to() {
    let bench = Bench::of(
        r#"
[[namespace]]
uri = "urn:counters"
[[namespace.signals]]
ids = "i=1..10"
type = "UInt32"
pattern = "counter"
update = "10ms"
history = true
"#,
    );
    // An interval before there was a value would be bad (Part 13, 4.2.1).
    std::thread::sleep(Duration::from_millis(700));
    let read = |more: &str| {
        let options = format!("-n ns=2;i=1..10 --last 500ms --requests 20 {more}");
        let words = ["history", &bench.url, "--quiet", "--out", "run.json"];
        let output = command(bench.folder.path(), &words)
            .args(options.split_whitespace())
            .output()
            .unwrap();
        (output, json(&bench.folder.path().join("run.json")))
    };
    let (output, run) = read("--aggregate time-average --processing-interval 100ms");
    // A busy machine may be a reason not to trust the times; that is not what is looked at.
    let errors = &run["phases"][0]["total"]["errors"];
    assert_eq!(errors, 0, "{}", text(&output.stderr));
    let values = |run: &Value| run["phases"][0]["total"]["values"].as_u64();
    assert_eq!(values(&run), Some(20 * 5), "{}", run["phases"][0]);
    // Of aggregates that the server does not have, nothing comes.
    let (output, run) = read("--aggregate worst-quality");
    assert!(!output.status.success(), "{}", text(&output.stdout));
    let all = text(&output.stdout) + &text(&output.stderr) + &run.to_string();
    assert!(all.contains("BadAggregateNotSupported"), "{all}");
    // What goes together only without what is left.
    let bad = command(
        bench.folder.path(),
        &["history", &bench.url, "-n", "ns=2;i=1", "--batch", "2"],
    )
    .args(["--aggregate", "count"])
    .output()
    .unwrap();
    assert_eq!(bad.status.code(), Some(2), "{}", text(&bad.stderr));
    assert!(
        text(&bad.stderr).contains("--no-follow"),
        "{}",
        text(&bad.stderr)
    );
}
