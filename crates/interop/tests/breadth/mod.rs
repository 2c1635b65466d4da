//! Clients that we did not write judge what our server has beside values: events and conditions,
//! histories, nodes that are added, users with certificates; and a library our messages in JSON. What was found is told in `docs/interop.md`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod aggregates;
mod audit;
mod findings;
mod judges;
mod messages_json;

use std::path::Path;
use std::time::SystemTime;

use interop::beside::{JUDGES, SUBJECTS};
use plant::{Config, Plant, Profile, Server};

use judges::{judge, judged, material};

/// What the profile has, with room for nodes, a counter with a history and somebody who comes with a
/// certificate.
fn served(folder: &Path) -> Server {
    let more = r#"
# A judge that does not get its CPU for a while finds everything afterwards.
[limits]
added_nodes = 100
queue_size = 1000000

[[group]]
name = "fitters"
may = ["read", "write"]

[[user]]
name = "anna"
certificate = true
group = "fitters"

[[namespace]]
uri = "urn:test:breadth"

[[namespace.signals]]
name = "Setpoint"
type = "Int32"
access = "read-write"

[[namespace.signals]]
name = "Count"
type = "UInt32"
pattern = "counter"
update = "100ms"
history = true
"#;
    let text = format!(
        "anonymous_may = [\"read\", \"write\", \"call\"]\nuser_certificates = \"users\"\n{}\n{more}",
        Profile::text("alarms").unwrap()
    );
    let request = pki::make::Request::application("urn:uaperf:plant").dns("localhost");
    started(&text, folder, Some(identity(&request)))
}

/// A server of a plant file.
fn started(text: &str, folder: &Path, identity: Option<pki::Identity>) -> Server {
    let plant = Plant::parse(text, "test", folder).unwrap();
    Server::start(plant.config(Config {
        profiles: Vec::new(),
        identity,
        ..Config::default()
    }))
    .unwrap()
}

fn identity(request: &pki::make::Request) -> pki::Identity {
    let key = pki::Key::generate(2048).unwrap();
    let now = SystemTime::now().into();
    pki::Identity::new(request.self_signed(&key, now).unwrap(), key)
}

/// Writes the certificates that judges come with: the application's, and those of anna, who is trusted,
/// and of eve, who is not.
fn certificates(folder: &Path) {
    let request = |name: &str| pki::make::Request::application(format!("urn:test:{name}"));
    for name in ["judge", "anna", "eve"] {
        let own = identity(&request(name).common_name(name).dns("localhost"));
        let file = |ending: &str| folder.join(format!("{name}.{ending}"));
        pki::store::write_certificate(&file("der"), &own.certificate).unwrap();
        pki::store::write_key(&file("pem"), &own.key).unwrap();
        if name == "anna" {
            let store = pki::Store::new(folder.join("users"));
            store.trust_certificate(&own.certificate).unwrap();
        }
    }
}

/// Has a stack's client look at everything that it can look at.
fn judged_by(stack: &str) {
    let folder = tempfile::tempdir().unwrap();
    let Some(command) = judge(stack, folder.path()) else {
        return;
    };
    certificates(folder.path());
    let server = served(folder.path());
    let steps = SUBJECTS.map(|subject| subject.step);
    let told = judged(command, server.url(), &steps, folder.path());
    for step in steps {
        findings::check(step, &told[step], &server);
    }
    // What the client counted is in the server's books, too, which leave nothing open.
    let events = server.tally().event;
    assert!(events.balances(), "{events:?}");
    let heard = ["flood", "where"].map(|step| told[step]["count"].as_u64().unwrap());
    assert!(events.sent >= heard.iter().sum(), "{events:?} {heard:?}");
    assert_eq!(events.unsampled, 0, "{events:?}");
}

#[test]
fn open62541_finds_what_there_is_beside_values() {
    judged_by("open62541");
}

#[test]
fn asyncua_finds_what_there_is_beside_values() {
    judged_by("asyncua");
}

#[test]
fn node_opcua_finds_what_there_is_beside_values() {
    judged_by("node-opcua");
}

#[test]
fn milo_finds_what_there_is_beside_values() {
    judged_by("milo1");
}

#[test]
fn no_judge_of_the_page_is_left_out() {
    assert_eq!(JUDGES, ["open62541", "asyncua", "node-opcua", "milo1"]);
}

#[test]
fn asyncua_browses_and_reads_what_stands_in_a_nodeset_file() {
    let folder = tempfile::tempdir().unwrap();
    let Some(command) = judge("asyncua", folder.path()) else {
        return;
    };
    let sets = plant::NodeSet::read(&[material("line.NodeSet2.xml")]).unwrap();
    let server = Server::start(Config {
        nodesets: sets,
        ..Config::default()
    })
    .unwrap();
    let told = judged(command, server.url(), &["nodeset"], folder.path());
    let told = &told["nodeset"];
    assert_eq!(told["speed"], 2.5, "{told}");
    assert_eq!(told["table"], serde_json::json!([1, -2, 3]), "{told}");
    assert_eq!(told["point"], serde_json::json!(["X", "Y"]), "{told}");
    assert_eq!(told["parent"], true, "{told}");
    // Structures by the file's own definitions: optional fields, and fields that are left out.
    let parts = serde_json::json!([[1.5, -2.0, 0.25], [3.0, 4.0, null]]);
    assert_eq!(told["parts"], parts, "{told}");
    let steps = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
    let until = "2026-11-22T10:00:00+00:00";
    let recipe = serde_json::json!(["bread", "On", steps, -5.0, 250.5, until, null]);
    assert_eq!(told["recipe"], recipe, "{told}");
    let token = ["PolicyId", "UserName", "Password", "EncryptionAlgorithm"];
    assert_eq!(told["token"], serde_json::json!(token), "{told}");
    let called = told["called"].as_str().unwrap();
    assert!(called.starts_with("Bad"), "{told}");
}

#[test]
fn asyncua_finds_the_objects_of_sessions_and_switches_diagnostics() {
    let folder = tempfile::tempdir().unwrap();
    let Some(command) = judge("asyncua", folder.path()) else {
        return;
    };
    let server = Server::start(Config::default()).unwrap();
    let told = judged(command, server.url(), &["sessions"], folder.path());
    let wanted = serde_json::json!({
        // Objects: of the judge, with another session, after its end, with EnabledFlag false and true again.
        "before": 1, "during": 2, "after": 1, "off": 0, "on": 1,
        "fields": 43, "same": true, "subscriptions": 1, "listed": true, "refused": "BadNotReadable",
    });
    assert_eq!(told["sessions"], wanted);
}

/// A plant that grants little.
const NARROW: &str = r#"
[limits]
sessions = 3
nodes_per_read = 40
nodes_per_write = 10
methods_per_call = 10
nodes_per_browse = 10
nodes_per_register = 10
paths_per_translate = 10
continuation_points = 2
added_nodes = 2
subscriptions_per_session = 2
items_per_call = 10
items_per_subscription = 15
publish_requests = 3

[[namespace]]
uri = "urn:test:narrow"

[[namespace.signals]]
ids = "i=1..40"
type = "Int32"
access = "read-write"

[[namespace.signals]]
name = "Big"
type = "Byte"
dimensions = [100000]

[[namespace.signals]]
name = "Count"
type = "UInt32"
pattern = "counter"
update = "100ms"
history = true

[[namespace.method]]
name = "Echo"
object = "Methods"
"#;

/// The codes of Part 4 for what exceeds a limit or is not there; `docs/plant.md` names the clause of each.
fn refusals() -> serde_json::Value {
    let many = "BadTooManyOperations";
    let ten = |good: usize| -> Vec<&str> {
        let good = std::iter::repeat_n("Good", good);
        good.chain(std::iter::repeat("BadTooManyMonitoredItems"))
            .take(10)
            .collect()
    };
    serde_json::json!({
        "nothing": "BadNothingToDo", "read": many, "write": many, "call": many, "browse": many, "translate": many,
        "register": many, "items": many,
        "points": ["Good", "Good", "BadNoContinuationPoints"],
        "nodes": ["Good", "Good", "BadResourceUnavailable"],
        "subscriptions": "BadTooManySubscriptions",
        "monitored": ten(5),
        "publish": "BadTooManyPublishRequests",
        "sessions": ["Good", "Good", "BadTooManySessions"],
        "answer": "BadResponseTooLarge",
        "aggregate": ["BadAggregateNotSupported"],
        "processed": ["BadAggregateNotSupported"],
        "modified": ["BadHistoryOperationUnsupported"],
        "query": "BadServiceUnsupported",
    })
}

fn refused(stack: &str) {
    let folder = tempfile::tempdir().unwrap();
    let Some(command) = judge(stack, folder.path()) else {
        return;
    };
    let server = started(NARROW, folder.path(), None);
    let told = judged(command, server.url(), &["limits"], folder.path());
    assert_eq!(told["limits"], refusals());
}

#[test]
fn asyncua_is_refused_what_exceeds_a_limit_with_the_code_for_it() {
    refused("asyncua");
}

#[test]
fn node_opcua_is_refused_what_exceeds_a_limit_with_the_code_for_it() {
    refused("node-opcua");
}

/// The models that a file has, and those that it needs.
fn models(text: &str) -> (Vec<&str>, Vec<&str>) {
    let of = |tag: &str| {
        let tags = text.split('<').filter(|it| it.starts_with(tag));
        let uri = |it: &str| it.find("ModelUri=\"").map(|at| at + "ModelUri=\"".len());
        tags.filter_map(|it| it[uri(it)?..].split('"').next())
            .collect()
    };
    (of("Model "), of("RequiredModel "))
}

#[test]
fn companion_specifications_are_read_with_all_their_values() {
    let Some(stack) = peers::testing::require("node-opcua") else {
        return;
    };
    let folder = stack
        .dir()
        .join("node_modules/node-opcua-nodesets/nodesets");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().path());
    let files = files.filter(|it| it.extension().is_some_and(|it| it == "xml"));
    let mut waiting: Vec<_> = files
        .map(|file| (std::fs::read_to_string(&file).unwrap(), file))
        .collect();
    let standard = "http://opcfoundation.org/UA/";
    waiting.retain(|(text, _)| !models(text).0.is_empty() && !models(text).0.contains(&standard));
    waiting.sort_by(|a, b| a.1.cmp(&b.1));
    let all = waiting.len();
    // A file goes behind those that it needs.
    let mut known = vec![standard.to_owned()];
    let mut order = Vec::new();
    while !waiting.is_empty() {
        let before = waiting.len();
        waiting.retain(|(text, file)| {
            let (own, needed) = models(text);
            let waits = needed
                .iter()
                .any(|it| !known.iter().any(|known| known == it));
            if !waits {
                known.extend(own.into_iter().map(str::to_owned));
                order.push(file.clone());
            }
            waits
        });
        assert!(waiting.len() < before, "{:?}", waiting[0].1);
    }
    let sets = plant::NodeSet::read(&order).unwrap();
    let nodes: usize = sets.iter().map(|set| set.loaded().nodes).sum();
    let left_out = sets.iter().flat_map(|set| &set.loaded().left_out);
    assert_eq!(left_out.collect::<Vec<_>>(), Vec::<&plant::LeftOut>::new());
    peers::testing::say(&format!("{all} specifications, {nodes} nodes"));
}
