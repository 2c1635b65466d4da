//! Aggregates (Part 13) as other stacks reckon them: of the same values they have the same numbers.

use plant::Server;
use serde_json::Value;

use super::judges::{judged, script};
use super::started;

/// A signal that jumps, with a history.
const PLANT: &str = r#"
[[namespace]]
uri = "urn:test:aggregates"

[[namespace.signals]]
name = "Level"
ids = "s=Level"
type = "Double"
pattern = { noise = { low = -50, high = 50 } }
update = "100ms"
history = true
"#;

fn served(folder: &std::path::Path) -> Server {
    started(PLANT, folder, None)
}

/// Two lists of rows whose numbers are the same but for so much.
fn same(one: &Value, other: &Value, slack: f64) -> bool {
    match (one, other) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b, slack))
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= slack * a.abs().max(1.0)
        }
        (a, b) => a == b,
    }
}

fn are_the_same(told: &Value, least: usize) {
    let told = told.as_object().unwrap();
    let pairs = told.iter().filter(|(_, it)| it.is_object());
    let mut count = 0;
    for (name, it) in pairs {
        // The clock of asyncua has microseconds, values jump by up to 100, and intervals last 250 ms.
        let slack = match name.as_str() {
            "TimeAverage" | "Total" => 2e-3,
            _ => 1e-9,
        };
        assert!(same(&it["served"], &it["own"], slack), "{name}: {it}");
        assert!(it["own"].as_array().unwrap().len() >= 5, "{name}: {it}");
        count += 1;
    }
    assert!(count >= least, "{told:?}");
}

#[test]
fn node_opcua_reckons_aggregates_as_we_do() {
    let folder = tempfile::tempdir().unwrap();
    let Some(command) = script("node-opcua", "aggregates.js") else {
        return;
    };
    let server = served(folder.path());
    let told = judged(command, server.url(), &["processed", "item"], folder.path());
    are_the_same(&told["processed"], 7);
    let item = &told["item"];
    let heard = item["heard"].as_array().unwrap();
    assert!(heard.len() >= 6, "{item}");
    assert_eq!(
        heard[0][0], item["asked"],
        "the boundary that was asked for"
    );
    assert!(same(&item["heard"], &item["history"], 1e-9), "{item}");
}

#[test]
fn what_asyncua_reads_of_aggregates_is_what_is_reckoned_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let Some(command) = script("asyncua", "aggregates.py") else {
        return;
    };
    let server = served(folder.path());
    let told = judged(command, server.url(), &["processed"], folder.path());
    are_the_same(&told["processed"], 13);
}
