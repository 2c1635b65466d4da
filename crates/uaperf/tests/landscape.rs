//! Landscapes of devices: what their ledger says is what their clients counted, whatever happens to them by schedule.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use crate::support::landscape::{Landscape, number, until_it_listens};
use crate::support::{Said, command, json};

/// Twenty devices on free ports. Those of one line fail each fifth write soon, those of the other begin anew.
const TWO_LINES: &str = r#"
name = "south"

[[group]]
name = "line1"
count = 12
port = 0
keys = "none"

[[group]]
name = "line2"
count = 8
port = 0
keys = "none"
application = "Press {n}"
uri = "urn:south:{device}"

[[event]]
at = "200ms"
devices = "line1-*"
action = "fault"
fault = "bad=BadDeviceFailure,on=write,every=5"

[[event]]
at = "200ms"
devices = "line2-*"
action = "restart"
for = "100ms"
"#;

fn said(folder: &Path, words: &[&str]) -> Said {
    Said::by(&mut command(folder, words))
}

#[test]
fn the_joint_ledger_is_what_clients_counted_while_lines_fail_by_schedule() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("devices.toml"), TWO_LINES).unwrap();
    let options = ["--trust", "--ledger", "truth.json", "--each"];
    let mut landscape = Landscape::start(folder.path(), &options, 20);
    let mut targets = String::new();
    for (url, _) in &landscape.ready {
        writeln!(targets, "{url}").unwrap();
    }
    std::fs::write(at("targets"), targets).unwrap();
    landscape.until("line1-* bad=BadDeviceFailure");
    landscape.until("line2-* restart");
    // They are back after a tenth of a second, and later on a machine that is busy.
    std::thread::sleep(Duration::from_millis(500));
    for (url, _) in &landscape.ready {
        until_it_listens(url);
    }

    let common = ["--security", "none", "--out"];
    let write = [
        "write",
        "@targets",
        "-n",
        "nsu=urn:uaperf:device;s=Device.Setpoint",
    ];
    // What is found to be unsettled would be left out of the client's count.
    let load = [
        "--sessions",
        "1",
        "--requests",
        "1000",
        "--warmup",
        "0s",
        "--allow",
        "write",
    ];
    let told = said(
        folder.path(),
        &[&write[..], &load, &common, &["write.json"]].concat(),
    );
    assert!(at("write.json").exists(), "{}{}", told.out, told.err);
    let subscribe = [
        "subscribe",
        "@targets",
        "-n",
        "nsu=urn:uaperf:device;i=1000..1004",
    ];
    let load = ["--sessions", "1", "--duration", "2s"];
    let told = said(
        folder.path(),
        &[&subscribe[..], &load, &common, &["subscribe.json"]].concat(),
    );
    assert!(at("subscribe.json").exists(), "{}{}", told.out, told.err);
    let ready = std::mem::take(&mut landscape.ready);
    assert_eq!(landscape.end(), Some(0));

    let truth = json(&at("truth.json"));
    let (wrote, subscribed) = (json(&at("write.json")), json(&at("subscribe.json")));
    let total = &wrote["phases"][0]["total"];
    assert_eq!(number(total, "/completed"), 1000);
    let statuses = total["statuses"].as_array().unwrap();
    let bad: u64 = statuses
        .iter()
        .filter(|it| it["name"] == "BadDeviceFailure")
        .map(|it| number(it, "/count"))
        .sum();
    assert!(bad > 50, "{statuses:?}");
    let counted = &truth["total"]["counted"];
    assert_eq!(number(counted, "/writes"), 1000 - bad);
    // Each of the eight that began anew is one more.
    assert_eq!(number(&truth, "/total/fault_hits"), bad + 8);
    assert_eq!(number(counted, "/sessions"), 0);
    let came = &subscribed["phases"][0]["subscriptions"];
    let sent = &truth["total"]["subscriptions"];
    assert!(number(came, "/values/received") > 100, "{came:#}");
    assert_eq!(
        number(came, "/values/received"),
        number(sent, "/computed/sent")
    );
    let messages = number(came, "/messages/notifications");
    assert_eq!(messages, number(sent, "/messages/sent"));

    let (groups, each) = (&truth["groups"], &truth["each"]);
    for (path, all) in [
        ("/counted/writes", 1000 - bad),
        ("/fault_hits", bad + 8),
        ("/devices", 20),
    ] {
        let sum: u64 = groups
            .as_array()
            .unwrap()
            .iter()
            .map(|it| number(it, path))
            .sum();
        assert_eq!(sum, all, "{path}");
    }
    let each = each.as_array().unwrap();
    let names: Vec<_> = each
        .iter()
        .map(|it| (it["url"].as_str().unwrap(), it["device"].as_str().unwrap()))
        .collect();
    assert_eq!(
        names,
        ready
            .iter()
            .map(|(url, name)| (url.as_str(), name.as_str()))
            .collect::<Vec<_>>()
    );
    let writes: u64 = each.iter().map(|it| number(it, "/counted/writes")).sum();
    assert_eq!(writes, 1000 - bad);
    assert_eq!(each[12]["application_uri"], "urn:south:line2-1");
    assert_eq!(truth["events"][1]["struck"], 8);
}

#[test]
fn what_is_wrong_with_a_landscape_is_said_with_its_line_before_anything_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let check = |text: &str| {
        std::fs::write(folder.path().join("devices.toml"), text).unwrap();
        said(
            folder.path(),
            &["fleet", "serve", "devices.toml", "--check"],
        )
    };
    let good = check(TWO_LINES);
    assert_eq!(good.code, 0, "{}", good.err);
    assert!(
        good.out.contains("south: 20 devices, 2 events"),
        "{}",
        good.out
    );
    assert!(
        good.out.contains("line2-* restart: 8 devices (restart=100"),
        "{}",
        good.out
    );
    let group = "[[group]]\nname = \"a\"\n";
    let event = format!("{group}[[event]]\nat = \"1s\"\ndevices = \"a-1\"\n");
    let other = "count = 3\n[[group]]\nname = \"b\"\nport = 4842\n";
    for (text, wrong, line) in [
        (String::new(), "no devices", 1),
        (
            format!("{group}count = 0\n"),
            "group[0].count: 0 (want 1 to 60000)",
            3,
        ),
        (
            format!("{group}port = 65535\ncount = 2\n"),
            "beyond port 65535",
            3,
        ),
        (
            format!("{group}{group}"),
            "there is a group of this name",
            4,
        ),
        (
            format!("{group}{other}"),
            "port 4842 is that of another group",
            6,
        ),
        (
            format!("{group}profile = \"x\"\n"),
            "no profile \"x\" (want one of bench",
            3,
        ),
        (
            format!("{group}plant = \"x.toml\"\n"),
            "cannot read x.toml",
            3,
        ),
        (
            format!("{group}keys = \"RSA\"\n"),
            "\"RSA\" (want one of P-256",
            3,
        ),
        (
            format!("{group}uri = \"urn:{{x}}\"\n"),
            "want text with {device}",
            3,
        ),
        (
            format!("{group}count = 2\nuri = \"urn:x\"\n"),
            "the URI of two devices",
            4,
        ),
        (
            format!("{group}security = [\"best\"]\n"),
            "want POLICY:MODE or none",
            3,
        ),
        (
            format!("{group}publish_interval = \"1s\"\n"),
            "nothing is published",
            3,
        ),
        (
            format!("{group}publish_signals = 3\n"),
            "nothing is published",
            3,
        ),
        (
            format!("{group}keys = \"none\"\nsecurity = [\"Basic256Sha256:Sign\"]\n"),
            "needs a certificate",
            4,
        ),
        (
            "[[group]]\nname = \"a b\"\n".to_owned(),
            "want letters, digits",
            2,
        ),
        (
            format!("{event}action = \"stop\"\n"),
            "want one of down, restart, slow, fault",
            6,
        ),
        (
            format!("{event}action = \"slow\"\n"),
            "want by = \"50ms\"",
            6,
        ),
        (
            format!("{event}action = \"fault\"\nfault = \"x=1\"\n"),
            "no such key in a fault",
            7,
        ),
        (
            format!("{event}action = \"down\"\nby = \"1s\"\n"),
            "for action = \"slow\" only",
            7,
        ),
        (
            event.replace("a-1", "b-*") + "action = \"down\"\n",
            "\"b-*\" is no device",
            5,
        ),
        (
            event.replace("1s", "soon") + "action = \"down\"\n",
            "event[0].at",
            4,
        ),
        (
            format!("{group}color = \"red\"\n"),
            "unknown field `color`",
            3,
        ),
    ] {
        let told = check(&text);
        assert_eq!(told.code, 2, "{text}: {}{}", told.out, told.err);
        assert!(told.err.contains(wrong), "{text}: {}", told.err);
        let place = format!("devices.toml line {line}");
        assert!(told.err.contains(&place), "{text}: {}", told.err);
    }
}

#[test]
fn devices_have_certificates_that_are_made_once_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[[group]]\nname = \"cell\"\ncount = 3\nport = 0\n";
    std::fs::write(folder.path().join("devices.toml"), text).unwrap();
    let certificates = || {
        let landscape = Landscape::start(folder.path(), &["--trust"], 3);
        let url = landscape.ready[1].0.clone();
        assert_eq!(landscape.ready[1].1, "cell-2");
        let told = said(folder.path(), &["discover", &url]);
        assert!(
            told.out.contains("ECC_nistP256"),
            "{}{}",
            told.out,
            told.err
        );
        assert!(told.out.contains("uaperf:devices:cell-2"), "{}", told.out);
        assert_eq!(landscape.end(), Some(0));
        let found = find(folder.path(), "der");
        let mut found: Vec<_> = found.iter().map(|it| std::fs::read(it).unwrap()).collect();
        found.sort();
        found
    };
    let first = certificates();
    assert!(first.len() >= 3, "{}", first.len());
    assert_eq!(certificates(), first);
    // A device that would become another application is refused, with what to do.
    let other = format!("{text}uri = \"urn:other:{{n}}\"\n");
    std::fs::write(folder.path().join("devices.toml"), other).unwrap();
    let told = said(
        folder.path(),
        &["fleet", "serve", "devices.toml", "--trust"],
    );
    assert_eq!(told.code, 2, "{}", told.err);
    assert!(
        told.err.contains("the certificate of cell-1 is for"),
        "{}",
        told.err
    );
    assert!(told.err.contains("remove "), "{}", told.err);
}

/// Files below a folder whose names end so, but for certificates of clients.
fn find(folder: &Path, ending: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(find(&path, ending)),
            false if path.extension().is_some_and(|it| it == ending) => found.push(path),
            false => {}
        }
    }
    found.retain(|it| it.to_string_lossy().contains("landscapes"));
    found
}

#[test]
fn a_port_that_is_taken_is_said_with_the_device_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let text = format!("[[group]]\nname = \"cell\"\nport = {port}\nkeys = \"none\"\n");
    std::fs::write(folder.path().join("devices.toml"), text).unwrap();
    let told = said(
        folder.path(),
        &["fleet", "serve", "devices.toml", "--trust"],
    );
    assert_eq!(told.code, 1, "{}", told.err);
    let what = format!("cannot serve cell-1 on 127.0.0.1:{port}");
    assert!(told.err.contains(&what), "{}", told.err);
    let told = said(
        folder.path(),
        &[
            "fleet",
            "serve",
            "devices.toml",
            "--ledger",
            "no/such/folder",
        ],
    );
    assert_eq!(told.code, 1, "{}", told.err);
    assert!(told.err.contains("cannot write the ledger"), "{}", told.err);
}

#[test]
fn a_device_with_a_key_of_ed25519_is_met_under_the_policy_of_its_curve() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[[group]]\nname = \"cell\"\ncount = 1\nport = 0\nkeys = \"Ed25519\"\n";
    std::fs::write(folder.path().join("devices.toml"), text).unwrap();
    let landscape = Landscape::start(folder.path(), &["--trust"], 1);
    let url = landscape.ready[0].0.clone();
    let probe = |security: &str| {
        said(
            folder.path(),
            &["probe", &url, "--trust", "--security", security],
        )
    };
    for mode in ["Sign", "SignAndEncrypt"] {
        let security = format!("ECC_curve25519:{mode}");
        let told = probe(&security);
        assert_eq!(told.code, 0, "{}", told.err);
        assert!(told.out.contains(&security), "{}", told.out);
    }
    let other = probe("ECC_nistP256:Sign");
    assert_ne!(other.code, 0);
    assert!(other.err.contains("ECC_curve25519"), "{}", other.err);
    assert_eq!(landscape.end(), Some(0));
}
