//! Audit events (Part 4, 6.5) as another stack's client hears them.

use plant::{Config, Plant, Server};

use super::judges::{judged, script};
use super::{certificates, identity};

const PLANT: &str = r#"
audit = true

[[namespace]]
uri = "urn:test:audit"

[[namespace.signals]]
name = "Setpoint"
ids = "s=Setpoint"
type = "Int32"
access = "read-write"
"#;

#[test]
fn asyncua_hears_of_its_writes_over_a_channel_that_is_encrypted_and_over_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let Some(command) = script("asyncua", "audit.py") else {
        return;
    };
    certificates(folder.path());
    let request = pki::make::Request::application("urn:uaperf:plant").dns("localhost");
    let plant = Plant::parse(PLANT, "test", folder.path()).unwrap();
    let server = Server::start(plant.config(Config {
        profiles: Vec::new(),
        identity: Some(identity(&request)),
        ..Config::default()
    }))
    .unwrap();
    let told = judged(command, server.url(), &["audit"], folder.path());
    let told = &told["audit"];
    assert_eq!(told["auditing"], true, "{told}");
    let wrote = serde_json::json!(["Attribute/Write", "ns=2;s=Setpoint", true, 41, 13]);
    assert_eq!(told["secured"], serde_json::json!([wrote]), "{told}");
    assert_eq!(told["plain"], serde_json::json!([]), "{told}");
}
