//! What servers count themselves beside what the program counts: plants of ours, and other stacks that keep
//! diagnostics.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support::{Server, command, text};
use peers::StartOptions;
use peers::testing::{require, start};
use record::Run;
use record::run::{CountComparison, Counted, Waiting};
use tempfile::TempDir;

/// A place for results and certificates, and what was printed.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    fn plant(&self, options: &[&str]) -> Server {
        let none = [&["--security", "none", "--threads", "1"], options].concat();
        Server::start(&self.folder.path().join("pki"), &none)
    }

    fn run(&self, words: &[&str]) -> (Run, String) {
        let output = command(self.folder.path(), words)
            .args(["--quiet", "--out", "run.json"])
            .output()
            .unwrap();
        let file = self.folder.path().join("run.json");
        assert!(file.exists(), "{}", text(&output.stderr));
        let run = Run::read(&file).unwrap();
        std::fs::remove_file(file).unwrap();
        (run, text(&output.stdout))
    }
}

fn rows(run: &Run) -> &[CountComparison] {
    &run.phases[0].diagnostics.as_ref().unwrap().beside
}

fn row<'a>(run: &'a Run, what: &str) -> &'a CountComparison {
    let found = rows(run).iter().find(|it| it.what == what);
    found.unwrap_or_else(|| panic!("no row of {what}: {:?}", rows(run)))
}

fn counted(run: &Run) -> &Counted {
    let told = run.phases[0].diagnostics.as_ref().unwrap();
    told.targets[0].known().unwrap()
}

/// Each row agrees, and the screen says so.
fn agrees(run: &Run, screen: &str) {
    for row in rows(run) {
        assert!(row.agrees(), "{row:?}");
    }
    assert!(screen.contains("own counters agree: "), "{screen}");
    assert!(!screen.contains("own counters differ"), "{screen}");
}

#[test]
fn a_plant_counts_as_many_requests_as_were_sent() {
    let bench = Bench::new();
    let plant = bench.plant(&[]);
    let url = plant.url.as_str();
    let node = "nsu=urn:bench;i=1000..1099";
    let (run, screen) = bench.run(&[
        "read",
        url,
        "-n",
        node,
        "--sessions",
        "3",
        "--requests",
        "500",
        "--threads",
        "2",
    ]);
    agrees(&run, &screen);
    assert_eq!(row(&run, "reads").server, 500);
    let sessions = counted(&run).sessions.known().unwrap().clone();
    assert_eq!((sessions.found, sessions.lost), (3, 0));
    // The Read of the diagnostics itself is counted, and is not among ours.
    assert_eq!(sessions.requests["readCount"], 501);

    let (run, screen) = bench.run(&[
        "browse",
        url,
        "-n",
        "i=2253",
        "--batch",
        "1",
        "--max-references",
        "1",
        "--requests",
        "5",
    ]);
    agrees(&run, &screen);
    // Each goes on with BrowseNext.
    assert!(row(&run, "browses").server > 5, "{:?}", rows(&run));

    let (run, screen) = bench.run(&[
        "read",
        url,
        "-n",
        node,
        "--fresh-session",
        "--requests",
        "20",
        "--allow",
        "storm",
    ]);
    agrees(&run, &screen);
    assert_eq!(row(&run, "sessions").server, 20);
}

#[test]
fn a_plant_says_how_busy_its_loop_was_and_what_waited_and_its_thread_agrees() {
    let bench = Bench::new();
    let plant = bench.plant(&[]);
    let (run, screen) = bench.run(&[
        "read",
        &plant.url,
        "-n",
        "nsu=urn:bench;i=1000..1099",
        "--sessions",
        "4",
        "--in-flight",
        "4",
        "--warmup",
        "0s",
        "--duration",
        "2s",
    ]);
    let phase = &run.phases[0];
    let told = counted(&run).internals.as_ref().unwrap();
    let reads = told.service("Read").unwrap();
    // The first reading of the diagnostics ended behind it.
    assert_eq!(reads.count, phase.whole().completed + 1);
    assert!(reads.mean_ns().unwrap() > 1000.0, "{reads:?}");
    let (busiest, busy) = told.busiest().unwrap();
    assert_eq!(busiest.name, "plant-0");
    let server = phase.resources.iter().find(|it| it.who == "server");
    let threads = &server.unwrap().threads;
    let thread = threads.iter().find(|it| it.name == "plant-0").unwrap();
    // Between its time on a core and that with what it waited for one. What the kernel does between two turns, and a wait for
    // the first of a turn, is in the thread's time alone.
    let (least, most) = (*thread.cpu_cores.known().unwrap(), thread.busiest.unwrap());
    assert!(
        (least - 0.2..most + 0.2).contains(&busy),
        "{least}, {busy}, {most}"
    );
    assert!(busy > 0.3, "{told:?}");
    let requests = told.queue(Waiting::Requests).unwrap();
    let (mean, largest) = (requests.mean().unwrap(), requests.largest.unwrap());
    assert!(
        (1.0..=16.0).contains(&mean) && (2..=16).contains(&largest),
        "{requests:?}"
    );
    assert!(screen.contains("plant-0 busy "), "{screen}");
    assert!(screen.contains("time in service: Read "), "{screen}");
    assert!(screen.contains("requests at a turn "), "{screen}");
    let page = report::html(&[report::Named::new("run.json".to_owned(), run)], None);
    assert!(page.contains("How busy the loops of the plant were"));
    assert!(page.contains("What waited at the plant"));

    let (run, _) = bench.run(&[
        "subscribe",
        &plant.url,
        "-n",
        "nsu=urn:bench;i=3030",
        "--publishing",
        "500ms",
        "--sampling",
        "100ms",
        "--queue",
        "10",
        "--duration",
        "3s",
    ]);
    let told = counted(&run).internals.as_ref().unwrap();
    assert!(told.service("publishing").unwrap().count >= 5, "{told:?}");
    // Five values are sampled between two publishings.
    let queued = told.queue(Waiting::Notifications).unwrap();
    assert!(
        queued.mean().unwrap() > 3.0 && queued.mean().unwrap() < 6.5,
        "{queued:?}"
    );
    let parked = told.queue(Waiting::PublishRequests).unwrap();
    assert!(parked.mean().unwrap() >= 1.0, "{parked:?}");
}

#[test]
fn run_spans_of_update_loops_stand_in_results_and_over_each_other_on_a_page() {
    let bench = Bench::new();
    let measured = ["1", "2", "3"].map(|threads| {
        let options = [
            "--profile",
            "burger2019",
            "--signals",
            "100",
            "--update",
            "20ms",
        ];
        let plant = bench.plant(&[&options[..], &["--update-threads", threads]].concat());
        let (run, screen) = bench.run(&[
            "subscribe",
            &plant.url,
            "-n",
            "browse:/Objects/Signals/*",
            "--publishing",
            "100ms",
            "--duration",
            "1s",
        ]);
        let told = counted(&run).internals.as_ref().unwrap();
        let update = &told.updates[0];
        assert_eq!(update.interval_ns, 20_000_000);
        assert_eq!(
            (update.signals, update.threads.to_string().as_str()),
            (100, threads)
        );
        // Before the measured second there is a warm-up. A busy machine leaves passes out, which are missed then.
        let due = told.elapsed_ns / update.interval_ns;
        let passes = update.spans.count() + update.missed;
        assert!(passes.abs_diff(due) <= 2, "{passes} of {due}");
        let (p50, longest) = (
            update.spans.quantile(0.5).unwrap(),
            update.spans.max().unwrap(),
        );
        assert!(0 < p50 && p50 <= longest, "{update:?}");
        assert!(
            screen.contains("100 signals new every 20 ms by "),
            "{screen}"
        );
        assert!(screen.contains("run span p50 "), "{screen}");
        report::Named::new(format!("{threads}.json"), run)
    });
    let page = report::html(&measured, None);
    assert!(page.contains("Run span of the plant, cumulative"));
    let page = report::html(&measured[..1], None);
    assert!(page.contains("Run spans of the plant, by its own word"));
}

#[test]
fn a_plant_counts_the_steps_of_rounds_and_the_sessions_that_come_and_go() {
    let bench = Bench::new();
    let plant = bench.plant(&[]);
    let url = plant.url.as_str();
    let (run, screen) = bench.run(&[
        "items",
        url,
        "-n",
        "nsu=urn:bench;i=1000..1009",
        "--items-per-call",
        "5",
        "--sessions",
        "3",
        "--requests",
        "20",
    ]);
    agrees(&run, &screen);
    assert_eq!(row(&run, "subscriptions created").server, 20);
    assert_eq!(row(&run, "requests for items").server, 40);
    assert_eq!(row(&run, "requests to delete items").server, 40);
    assert_eq!(counted(&run).sessions.known().unwrap().found, 3);

    for kind in ["churn", "storm"] {
        let (run, screen) = bench.run(&[
            "connect",
            url,
            "--kind",
            kind,
            "--sessions",
            "12",
            "--reads",
            "2",
            "--allow",
            "storm",
            "--duration",
            "1s",
        ]);
        agrees(&run, &screen);
        let sessions = row(&run, "sessions").server;
        assert!(sessions >= 12, "{kind}: {sessions}");
        assert_eq!(kind == "storm", sessions == 12, "{kind}: {sessions}");
    }
    let (run, screen) = bench.run(&[
        "connect",
        url,
        "--kind",
        "reconnect",
        "--sessions",
        "2",
        "--reads",
        "2",
        "--requests",
        "10",
        "--allow",
        "storm",
    ]);
    agrees(&run, &screen);
    assert_eq!(row(&run, "reads").server, 20);

    let (run, screen) = bench.run(&[
        "sequence",
        url,
        "--sequence",
        "screen: browse i=85 -> read nsu=urn:bench;i=1000 -> read nsu=urn:bench;i=1001",
        "--sessions",
        "2",
        "--requests",
        "8",
    ]);
    agrees(&run, &screen);
    assert_eq!(row(&run, "reads").server, 16);
    assert_eq!(row(&run, "browses").server, 8);
}

#[test]
fn a_plant_counts_what_subscriptions_brought_before_they_are_deleted() {
    let bench = Bench::new();
    let plant = bench.plant(&[]);
    let (run, screen) = bench.run(&[
        "subscribe",
        &plant.url,
        "-n",
        "nsu=urn:bench;i=3030",
        "-n",
        "i=2258",
        "--sessions",
        "4",
        "--subscriptions",
        "3",
        "--publishing",
        "50ms",
        "--duration",
        "2s",
        "--threads",
        "2",
        "--with-read",
        "i=2258",
    ]);
    agrees(&run, &screen);
    let told = run.phases[0].subscriptions.as_ref().unwrap();
    assert_eq!(row(&run, "subscriptions").server, 12);
    assert_eq!(row(&run, "monitored items").server, 24);
    assert_eq!(row(&run, "values").client, told.count("received"));
    assert!(row(&run, "messages").server >= 12 * 10, "{:?}", rows(&run));
    assert!(row(&run, "reads").server > 0);
}

#[test]
fn messages_that_a_plant_drops_are_named_where_its_counts_differ() {
    let bench = Bench::new();
    let plant = bench.plant(&["--fault", "drop,on=notification,every=10"]);
    let (run, screen) = bench.run(&[
        "subscribe",
        &plant.url,
        "-n",
        "nsu=urn:bench;i=3030",
        "--publishing",
        "50ms",
        "--duration",
        "3s",
    ]);
    let told = run.phases[0].subscriptions.as_ref().unwrap();
    let fetched = told.count("republish_answered");
    assert!(fetched > 0);
    let messages = row(&run, "messages");
    assert_eq!(messages.server - messages.client, fetched);
    let because = messages.because.as_ref().unwrap();
    assert!(
        because.contains(&format!("{fetched} were lost on the way")),
        "{because}"
    );
    assert!(screen.contains("own counters differ: "), "{screen}");
    // The values came all the same, and both say so.
    assert!(row(&run, "values").agrees());
    assert!(row(&run, "republish requests").agrees());
}

#[test]
fn a_response_that_a_plant_drops_is_a_request_it_counted() {
    let bench = Bench::new();
    let plant = bench.plant(&["--fault", "drop,on=read,every=20,times=2"]);
    let (run, _) = bench.run(&[
        "read",
        &plant.url,
        "-n",
        "nsu=urn:bench;i=1000",
        "--requests",
        "50",
        "--timeout",
        "1s",
    ]);
    assert!(run.phases[0].total.timeouts > 0);
    assert!(row(&run, "reads").agrees(), "{:?}", rows(&run));
}

/// Reads, subscribes and makes items, with two sessions.
fn witnessed(name: &str) -> Option<[Run; 3]> {
    let stack = require(name)?;
    let server = start(stack, &StartOptions::default());
    let bench = Bench::new();
    let url = server.url();
    let (read, _) = bench.run(&[
        "read",
        url,
        "-n",
        "nsu=urn:bench;i=1000",
        "--sessions",
        "2",
        "--requests",
        "100",
        "--security",
        "none",
    ]);
    let (subscribe, _) = bench.run(&[
        "subscribe",
        url,
        "-n",
        "nsu=urn:bench;i=3030",
        "-n",
        "nsu=urn:bench;i=3031",
        "--sessions",
        "2",
        "--subscriptions",
        "2",
        "--publishing",
        "100ms",
        "--duration",
        "3s",
        "--security",
        "none",
        "--queue",
        "10",
    ]);
    let (items, _) = bench.run(&[
        "items",
        url,
        "-n",
        "nsu=urn:bench;i=1000..1009",
        "--sessions",
        "2",
        "--requests",
        "10",
        "--security",
        "none",
    ]);
    Some([read, subscribe, items])
}

fn counts_as_we_do(name: &str) {
    let Some([read, subscribe, items]) = witnessed(name) else {
        return;
    };
    assert_eq!(row(&read, "reads").server, 100);
    assert!(row(&read, "reads").agrees());
    for what in ["subscriptions", "monitored items", "messages", "values"] {
        assert!(
            row(&subscribe, what).agrees(),
            "{name}: {:?}",
            rows(&subscribe)
        );
    }
    assert!(row(&subscribe, "values").server > 50);
    for what in ["subscriptions created", "requests for items"] {
        let row = row(&items, what);
        assert_eq!((row.server, row.client), (10, 10), "{name}: {what}");
    }
}

#[test]
fn node_opcua_counts_as_we_do() {
    counts_as_we_do("node-opcua");
}

#[test]
fn open62541_counts_as_we_do() {
    counts_as_we_do("open62541");
}

#[test]
fn a_server_without_diagnostics_is_told_in_the_file_and_nowhere_else() {
    let Some(stack) = require("asyncua") else {
        return;
    };
    let server = start(stack, &StartOptions::default());
    let bench = Bench::new();
    let (run, screen) = bench.run(&[
        "read",
        server.url(),
        "-n",
        "nsu=urn:bench;i=1000",
        "--requests",
        "10",
        "--security",
        "none",
    ]);
    let told = run.phases[0].diagnostics.as_ref().unwrap();
    assert_eq!(told.silence(), Some("the server has no diagnostics"));
    assert!(told.beside.is_empty());
    assert!(!screen.contains("diagnostics"), "{screen}");
    assert!(!screen.contains("own counters"), "{screen}");
}
