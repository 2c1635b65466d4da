//! What a server spends on each thing, held against what its process says by itself.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;

use crate::support::{Server, json, text, uaperf};
use observe::Process;
use peers::testing::{require, start};
use peers::{Stack, StackState, StartOptions};
use serde_json::Value;

/// The table of a server, and what was shown.
fn table(folder: &Path, url: &str, words: &[&str]) -> (Value, String) {
    let cost = ["cost", url, "--quiet", "--step", "500ms", "--out", "c.json"];
    let output = uaperf(folder, &[&cost[..], words].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    (json(&folder.join("c.json")), text(&output.stdout))
}

fn of<'a>(table: &'a Value, per: &str) -> &'a Value {
    let all = table["costs"].as_array().unwrap();
    all.iter().find(|it| it["per"] == per).expect(per)
}

fn points(cost: &Value) -> Vec<(f64, f64)> {
    let all = cost["points"].as_array().unwrap().iter();
    let point = |it: &Value| {
        (
            it["amount"].as_f64().unwrap(),
            it["cpu_cores"].as_f64().unwrap(),
        )
    };
    all.map(point).collect()
}

#[test]
fn a_read_costs_about_what_the_process_spends_on_reads() {
    let folder = tempfile::tempdir().unwrap();
    let served = Server::start(&folder.path().join("served"), &["--security", "none"]);
    let (table, screen) = table(folder.path(), &served.url, &["--only", "read,connection"]);
    assert_eq!(table["pid"], served.child.id());
    let read = of(&table, "read");
    assert_eq!(points(read).len(), 10, "{read}");
    // What many of them cost in a row, by the process's own clock.
    let process = Process::of(served.child.id()).unwrap();
    let before = process.cpu().unwrap();
    let load = ["read", &served.url, "--rate", "2k/s", "--requests", "4000"];
    uaperf(
        folder.path(),
        &[&load[..], &["--quiet", "--warmup", "0s"]].concat(),
    );
    let each = (process.cpu().unwrap() - before).as_nanos() as f64 / 4000.0;
    // The slope has no part in what it costs to be there, and is known as well as the machine is quiet.
    if let Some(found) = read["cpu_ns"]["each"].as_f64() {
        let error = read["cpu_ns"]["error"].as_f64().unwrap();
        let near = each * 0.3 - error..each * 2.0 + error;
        assert!(near.contains(&found), "{found} ± {error}, but {each}");
    } else {
        let why = read["cpu_ns"]["not_available"].as_str().unwrap();
        assert!(why.contains("cannot be told"), "{why}");
    }
    assert!(screen.contains("server CPU"), "{screen}");
    // Connecting again and again was not allowed, and that is said.
    let connection = of(&table, "connection");
    let why = connection["cpu_ns"]["not_available"].as_str().unwrap();
    assert!(why.contains("--allow storm"), "{why}");
    assert!(screen.contains("--allow storm"), "{screen}");
}

#[test]
fn sessions_that_a_server_does_not_let_in_are_left_out_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plant.toml");
    fs::write(&file, "name = \"small\"\n[limits]\nsessions = 40\n").unwrap();
    let file = file.to_str().unwrap();
    let pki = folder.path().join("served");
    let served = Server::start(&pki, &[file, "--security", "none"]);
    let cost = ["cost", &served.url, "--quiet", "--step", "500ms", "--json"];
    let output = uaperf(folder.path(), &[&cost[..], &["--only", "session"]].concat());
    // Nothing could be told: two steps make no line.
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let table: Value = serde_json::from_slice(&output.stdout).unwrap();
    let session = of(&table, "session");
    let amounts: Vec<f64> = points(session).iter().map(|it| it.0).collect();
    assert_eq!(amounts, [10.0, 30.0]);
    assert_eq!(
        session["left_out"].as_array().unwrap().len(),
        3,
        "{session}"
    );
    let why = session["cpu_ns"]["not_available"].as_str().unwrap();
    assert!(why.starts_with("2 steps were of use: 50: "), "{why}");
}

#[test]
fn a_server_that_is_not_there_or_no_process_is_no_table() {
    let folder = tempfile::tempdir().unwrap();
    let nobody = uaperf(folder.path(), &["cost", "opc.tcp://127.0.0.1:1", "--quiet"]);
    assert_eq!(nobody.status.code(), Some(1), "{nobody:?}");
    assert!(nobody.stdout.is_empty());
    let words = [
        "cost",
        "opc.tcp://127.0.0.1:1",
        "--server-pid",
        "4294967295",
    ];
    let no_process = uaperf(folder.path(), &words);
    assert_eq!(no_process.status.code(), Some(2), "{no_process:?}");
}

/// Another vendor's stack: one that is there already, or else the one that is installed fastest. None of the figures
/// depends on which it is.
fn another() -> Option<&'static Stack> {
    let names = ["asyncua", "open62541", "node-opcua", "gopcua"];
    let mut all = names.into_iter().filter_map(Stack::named);
    let there = all.find(|it| matches!(it.state(), StackState::Installed));
    there.or_else(|| names.into_iter().find_map(require))
}

#[test]
fn another_stack_has_a_cost_of_each_read() {
    let Some(stack) = another() else {
        return;
    };
    let server = start(stack, &StartOptions::default());
    let folder = tempfile::tempdir().unwrap();
    let (table, _) = table(folder.path(), server.url(), &["--only", "read"]);
    let read = of(&table, "read");
    assert!(
        points(read)
            .iter()
            .all(|(amount, cores)| *amount > 0.0 && *cores > 0.0),
        "{read}"
    );
}

#[test]
fn one_command_measures_the_plant_and_another_stack_each_on_a_server_of_its_own() {
    // Installed before anything is measured: it takes minutes where it has to be built.
    let stack = another().map(|it| it.name);
    let names = std::iter::once("plant").chain(stack).collect::<Vec<_>>();
    let folder = tempfile::tempdir().unwrap();
    let listed = names.join(",");
    let cost = [
        "cost",
        "--peers",
        &listed,
        "--step",
        "500ms",
        "--only",
        "subscription,read",
    ];
    let output = uaperf(
        folder.path(),
        &[
            &cost[..],
            &["--quiet", "--out", "all", "--report", "all.html"],
        ]
        .concat(),
    );
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let screen = text(&output.stdout);
    assert!(
        screen.contains("| server | idle subscription | Read |"),
        "{screen}"
    );
    assert!(
        screen.contains("| server | idle subscription |\n"),
        "{screen}"
    );
    let page = fs::read_to_string(folder.path().join("all/costs.md")).unwrap();
    assert_eq!(page, screen);
    for name in &names {
        let table = json(&folder.path().join(format!("all/{name}.json")));
        for per in ["subscription", "read"] {
            assert!(points(of(&table, per)).len() >= 3, "{name}: {table}");
        }
    }
    // A bar for each server, as long as what it costs; without one where noise hides that.
    let page = fs::read_to_string(folder.path().join("all.html")).unwrap();
    assert!(page.contains("CPU of each: Read"), "{page}");
    let known = names.iter().filter(|name| {
        let table = json(&folder.path().join(format!("all/{name}.json")));
        of(&table, "read")["cpu_ns"]["each"].is_number()
    });
    let figure = page
        .split("<figure")
        .find(|it| it.contains("CPU of each: Read"))
        .unwrap();
    // One drawing for a wide window and one for a narrow one.
    assert_eq!(
        figure.matches("rect class=\"fill\"").count(),
        2 * known.count(),
        "{figure}"
    );
    // The files that were kept give the same page again, but for the order of the servers.
    let again = uaperf(folder.path(), &["report", "all", "-o", "again.html"]);
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    let again = fs::read_to_string(folder.path().join("again.html")).unwrap();
    let bars = |page: &str| page.matches("rect class=\"fill\"").count();
    assert_eq!(bars(&again), bars(&page));
    let names_all = names
        .iter()
        .all(|name| again.contains(&format!("{name}: ")));
    assert!(names_all, "{again}");
    let one = ["report", "all/plant.json", "-o", "-"];
    let one = text(&uaperf(folder.path(), &one).stdout);
    assert!(one.contains("What each thing costs uaperf plant"), "{one}");
    fs::write(folder.path().join("other.json"), "{}").unwrap();
    let mixed = ["report", "all/plant.json", "other.json"];
    let mixed = uaperf(folder.path(), &mixed);
    assert_eq!(mixed.status.code(), Some(2));
    let said = text(&mixed.stderr);
    assert!(
        said.contains("other.json: is no table of `uaperf cost`"),
        "{said}"
    );
    fs::write(
        folder.path().join("new.json"),
        r#"{"format":"uaperf-cost","version":9}"#,
    )
    .unwrap();
    let newer = text(&uaperf(folder.path(), &["report", "new.json"]).stderr);
    assert!(newer.contains("written by a newer uaperf"), "{newer}");

    // Each had processes of its own, and none is left.
    let wrong = uaperf(folder.path(), &["cost", "--peers", "open62451"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    let both = ["cost", "opc.tcp://127.0.0.1:1", "--peers", "plant"];
    assert_eq!(uaperf(folder.path(), &both).status.code(), Some(2));
}
