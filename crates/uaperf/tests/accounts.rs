//! What goes wrong in a plant on purpose is found by the account of its client: exactly that, by cause,
//! equal to the plant's own ledger. Over real sockets, with real programs.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::BufRead;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{Server, Telling, command, json, ready, text};
use serde_json::Value;
use tempfile::TempDir;

/// Two hundred counters that go on every 20 ms.
const PLANT: &str = r#"
name = "counters"
[[namespace]]
uri = "urn:counters"
[[namespace.signals]]
ids = "i=1..200"
name = "Count{n}"
type = "UInt32"
pattern = "counter"
update = "20ms"
"#;

/// What URLs begin with, and an encoding.
type Way = (&'static str, &'static str);
const WAYS: [Way; 4] = [
    ("opc.wss", "binary"),
    ("opc.wss", "json"),
    ("opc.https", "binary"),
    ("opc.https", "json"),
];

/// A plant with faults, whose ledger is read when it has ended.
struct Plant {
    server: Server,
    folder: TempDir,
    /// Where subscribers go.
    url: String,
    /// What their messages are encoded in.
    encoding: &'static str,
}

impl Plant {
    fn with(faults: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("plant.toml");
        std::fs::write(&file, PLANT).unwrap();
        let ledger = folder.path().join("ledger.json");
        let mut options = vec![file.to_str().unwrap(), "--security", "none"];
        options.extend(["--threads", "1", "--grace", "0s"]);
        options.extend(["--ledger", ledger.to_str().unwrap()]);
        options.extend(faults.iter().flat_map(|fault| ["--fault", fault]));
        options.extend(["--wss", "0", "--https", "0", "--trust"]);
        let server = Server::start(&folder.path().join("pki"), &options);
        let url = server.url.clone();
        Self {
            server,
            folder,
            url,
            encoding: "binary",
        }
    }

    /// The same, and its subscribers come inside TLS.
    fn over(way: Way, faults: &[&str]) -> Self {
        let mut plant = Self::with(faults);
        while !plant.url.starts_with(way.0) {
            let mut line = String::new();
            plant.server.out.read_line(&mut line).unwrap();
            plant.url = ready(&line).to_owned();
        }
        plant.encoding = way.1;
        plant
    }

    fn subscriber(&self, options: &[&str]) -> Command {
        let words = ["subscribe", &self.url, "--out", "run.json", "--trust"];
        let mut command = command(self.folder.path(), &words);
        command
            .args(["--encoding", self.encoding])
            .args(["-n", "nsu=urn:counters;i=1..200"])
            .args(["--publishing", "100ms", "--settle", "1s"])
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (option, usual) in [("--sampling", "20ms"), ("--queue", "200")] {
            if !options.contains(&option) {
                command.args([option, usual]);
            }
        }
        command
    }

    /// Subscribes to all, and tells what came of it: the client's account, and the plant's ledger.
    fn subscribed(self, options: &[&str]) -> (Told, Ledger) {
        let output = self.subscriber(options).output().unwrap();
        let told = self.told(&text(&output.stderr));
        (told, self.ended())
    }

    fn told(&self, said: &str) -> Told {
        let file = self.folder.path().join("run.json");
        assert!(file.exists(), "{said}");
        Told(json(&file)["phases"][0]["subscriptions"].clone())
    }

    fn ended(mut self) -> Ledger {
        self.server.signal("TERM");
        self.server.child.wait().unwrap();
        Ledger(json(&self.folder.path().join("ledger.json")))
    }
}

/// What the client says.
struct Told(Value);

impl Told {
    fn count(&self, of: &str, name: &str) -> u64 {
        self.0[of][name].as_u64().unwrap()
    }

    fn cause(&self, name: &str) -> u64 {
        let causes = self.0["causes"].as_array().unwrap();
        let cause = causes.iter().find(|it| it["cause"] == name);
        cause.map_or(0, |cause| cause["count"].as_u64().unwrap())
    }

    /// Whatever was wrong with values, other than these.
    fn nothing_but(&self, expected: &[&str]) {
        for cause in self.0["causes"].as_array().unwrap() {
            let name = cause["cause"].as_str().unwrap();
            assert!(expected.contains(&name), "{cause}");
            assert!(cause["first"]["at_ns"].is_i64(), "{cause}");
        }
    }

    fn lossless(&self) {
        assert_eq!(self.0["outcome"], "lossless", "{}", self.0);
    }
}

/// What the plant says.
struct Ledger(Value);

impl Ledger {
    fn values(&self, name: &str) -> u64 {
        self.0["subscriptions"]["total"]["computed"][name]
            .as_u64()
            .unwrap()
    }

    fn messages(&self, name: &str) -> u64 {
        self.0["subscriptions"]["total"]["messages"][name]
            .as_u64()
            .unwrap()
    }

    fn hits(&self) -> u64 {
        self.0["faults"][0]["hits"].as_u64().unwrap()
    }
}

// Each fault ends before the run does, so that nothing hides in what is on its way at the end, and
// begins when all items have reported: it counts from the start of the server.
const WINDOW: &str = "after=4s,for=2s";
const LONG: &str = "7s";

#[test]
fn a_plant_without_faults_is_not_blamed() {
    let (told, ledger) = Plant::with(&[]).subscribed(&["--duration", "3s"]);
    told.lossless();
    told.nothing_but(&["late"]);
    assert_eq!(told.count("values", "received"), ledger.values("sent"));
}

#[test]
fn values_that_are_left_out_are_missing_and_nothing_tells_why() {
    let fault = format!("drop,on=value,every=97,{WINDOW}");
    let (told, ledger) = Plant::with(&[&fault]).subscribed(&["--duration", LONG]);
    assert!(ledger.hits() > 50, "{}", ledger.hits());
    assert_eq!(told.cause("missing"), ledger.hits());
    assert_eq!(told.cause("missing"), ledger.values("lost"));
    told.nothing_but(&["missing", "late"]);
}

#[test]
fn messages_that_are_dropped_are_recovered_to_the_last_value() {
    let fault = format!("drop,on=notification,every=4,{WINDOW}");
    let (told, ledger) = Plant::with(&[&fault]).subscribed(&["--duration", LONG]);
    told.lossless();
    assert_eq!(told.count("messages", "missing_messages"), ledger.hits());
    assert_eq!(
        told.count("messages", "republish_answered"),
        ledger.messages("republished")
    );
    assert_eq!(told.cause("recovered"), ledger.values("dropped"));
    told.nothing_but(&["recovered", "late"]);
}

#[test]
fn messages_that_come_twice_are_repeats() {
    let fault = format!("repeat,on=notification,every=4,{WINDOW}");
    let (told, ledger) = Plant::with(&[&fault]).subscribed(&["--duration", LONG]);
    told.lossless();
    assert!(ledger.hits() > 2);
    assert_eq!(told.count("messages", "repeated_messages"), ledger.hits());
    assert_eq!(
        told.count("messages", "repeated_messages"),
        ledger.messages("repeated")
    );
    assert!(told.cause("repeated") >= ledger.hits() * 200);
    told.nothing_but(&["repeated", "late"]);
}

#[test]
fn messages_behind_others_are_out_of_order_and_not_lost() {
    for effect in ["reorder=2", "delay=450ms"] {
        let fault = format!("{effect},on=notification,every=6,{WINDOW}");
        let (told, ledger) = Plant::with(&[&fault]).subscribed(&["--duration", LONG]);
        told.lossless();
        let (hits, passed) = (ledger.hits(), told.count("messages", "disordered"));
        assert!(hits > 1, "{effect}");
        // A message that is late is passed by none where all stands still meanwhile.
        let least = if effect == "reorder=2" { hits } else { 1 };
        assert!(
            (least..=hits).contains(&passed),
            "{effect}: {passed} of {hits}"
        );
        assert!(told.cause("out_of_order") >= passed * 200, "{effect}");
        told.nothing_but(&["out_of_order", "late", "recovered"]);
    }
}

#[test]
fn overflow_bits_without_a_loss_are_told_from_queues_that_overflow() {
    let fault = format!("overflow,on=value,every=50,{WINDOW}");
    let (told, ledger) = Plant::with(&[&fault]).subscribed(&["--duration", LONG]);
    told.lossless();
    assert_eq!(told.cause("overflow_alone"), ledger.hits());
    told.nothing_but(&["overflow_alone", "late"]);

    let (told, ledger) = Plant::with(&[]).subscribed(&["--duration", "3s", "--queue", "3"]);
    let lost = told.cause("overflowed");
    assert!(lost > 1000 && told.0["outcome"] == "lost", "{}", told.0);
    // Before the first value of an item, and behind its last, only the plant knows: half a second of
    // updates of each, on a busy machine.
    let more = ledger.values("overflowed") - lost;
    assert!(more <= 200 * 2 * 25, "{more}");
    told.nothing_but(&["overflowed", "late"]);
}

#[test]
fn slow_sampling_and_queues_of_one_are_no_losses() {
    let plant = Plant::with(&[]);
    let options = ["--duration", "2s", "--sampling", "50ms", "--queue", "1"];
    let (told, ledger) = plant.subscribed(&options);
    told.lossless();
    assert!(told.cause("sampled_away") > 0 && told.cause("overwritten") > 0);
    assert!(told.cause("overwritten") <= ledger.values("overwritten"));
    told.nothing_but(&["sampled_away", "overwritten", "late"]);
}

#[test]
fn what_happens_to_messages_inside_tls_is_told_as_over_tcp() {
    for way in WAYS {
        // Over HTTP each Publish has a connection of its own, and a short answer passes a long one.
        let passes: &[&str] = if way.0 == "opc.https" {
            &["out_of_order"]
        } else {
            &[]
        };
        let fault = format!("drop,on=notification,every=4,{WINDOW}");
        let plant = Plant::over(way, &[&fault]);
        let (told, ledger) = plant.subscribed(&["--duration", LONG]);
        told.lossless();
        assert!(ledger.hits() > 2, "{way:?}");
        assert_eq!(
            told.count("messages", "missing_messages"),
            ledger.hits(),
            "{way:?}"
        );
        assert_eq!(told.cause("recovered"), ledger.values("dropped"), "{way:?}");
        told.nothing_but(&[&["recovered", "late"], passes].concat());

        let fault = format!("drop,on=value,every=97,{WINDOW}");
        let plant = Plant::over(way, &[&fault]);
        let (told, ledger) = plant.subscribed(&["--duration", LONG]);
        assert!(ledger.hits() > 50, "{way:?}");
        assert_eq!(told.cause("missing"), ledger.hits(), "{way:?}");
        told.nothing_but(&[&["missing", "late"], passes].concat());
    }
}

#[test]
fn a_server_that_stops_for_five_seconds_is_late_and_loses_nothing() {
    stops(&Plant::with(&[]));
}

#[test]
fn a_server_that_stops_for_five_seconds_is_late_and_loses_nothing_inside_tls() {
    for way in WAYS {
        stops(&Plant::over(way, &[]));
    }
}

fn stops(plant: &Plant) {
    let bounds = ["--duration", "9s", "--queue", "1000", "--timeout", "60s"];
    let mut running = plant.subscriber(&bounds).spawn().unwrap();
    let mut telling = Telling::of(&mut running);
    telling.until_it_measures();
    let said = telling.whole();
    plant.server.signal("STOP");
    std::thread::sleep(Duration::from_secs(5));
    plant.server.signal("CONT");
    running.wait().unwrap();
    let told = plant.told(&said.join().unwrap());
    told.lossless();
    // Nearly 250 updates of each item came behind the stop at once; of a machine that is busy, those that came before the end.
    let behind = told.cause("late") + told.cause("out_of_order");
    assert!(behind > 200 * 50, "{behind}");
    // Over HTTP each Publish has a connection of its own, and a short answer passes a long one.
    let passes = plant.url.starts_with("opc.https");
    told.nothing_but(&["late", "out_of_order"][..if passes { 2 } else { 1 }]);
}

#[test]
fn a_server_that_begins_anew_costs_what_passed_meanwhile() {
    let fault = "restart=1s,on=server,after=3s";
    let plant = Plant::with(&[fault]);
    let (told, ledger) = plant.subscribed(&["--duration", "8s", "--reconnect"]);
    assert_eq!(ledger.hits(), 1);
    assert_eq!(told.count("messages", "recreated"), 1, "{}", told.0);
    let outage = told.cause("outage");
    // A second of 50 updates of each of 200 items, and what it takes to come back.
    assert!((200 * 45..200 * 350).contains(&outage), "{outage}");
    assert_eq!(told.cause("missing"), 0);
    let away = told.0["outages"]["max_ns"].as_f64().unwrap();
    assert!((0.9e9..7e9).contains(&away), "{away}");
}
