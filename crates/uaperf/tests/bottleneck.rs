//! What limits a server is named by commands that load one whose limit is known.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::path::Path;

use serde_json::Value;
use support::{Said, Server, command, json};

mod support;

const PLANT: [&str; 4] = ["--profile", "bench", "--security", "none"];

/// Reads until the server is what limits it; on a busy machine the generator may be, which says nothing of the server.
/// What was found, and what the screen says in one line.
fn saturated(folder: &Path, url: &str, words: &[&str]) -> (Value, String) {
    let mut last = String::new();
    for _ in 0..6 {
        let read = ["read", url, "--duration", "3s", "--quiet"];
        let out = ["--out", "run.json"];
        let said = Said::by(&mut command(folder, &[&read[..], &out, words].concat()));
        assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
        let run = json(&folder.join("run.json"));
        let phase = &run["phases"][0];
        if phase["verdict"]["kind"] == "SERVER-SATURATED" {
            let screen = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
            return (phase["bottleneck"].clone(), screen);
        }
        assert_eq!(phase["bottleneck"], Value::Null, "{phase}");
        last = said.out;
    }
    panic!("the server is never the limit:\n{last}");
}

fn candidate<'a>(found: &'a Value, of: &str) -> &'a Value {
    let all = found["candidates"].as_array().unwrap();
    all.iter().find(|it| it["of"] == of).unwrap()
}

#[test]
fn a_plant_of_one_loop_is_limited_by_that_thread_or_by_the_only_core() {
    let folder = tempfile::tempdir().unwrap();
    let loops = ["--threads", "1"];
    let server = Server::start(&folder.path().join("s"), &[&PLANT[..], &loops].concat());
    let work = ["-n", "nsu=urn:bench;i=1000..1099", "--batch", "100"];
    let load = ["--sessions", "4", "--in-flight", "8", "--warmup", "500ms"];
    let (found, screen) = saturated(folder.path(), &server.url, &[&work[..], &load].concat());
    let limit = found["limited_by"].as_str().unwrap_or("none");
    let cores = candidate(&found, "server-cpu");
    let allowed = &cores["for"][0]["allowed"];
    let only = *allowed == 1.0;
    match only {
        true => assert_eq!(limit, "server-cpu", "{found}"),
        false => {
            assert_eq!(limit, "server-thread", "{found}");
            let thread = &candidate(&found, "server-thread")["for"][0];
            assert_eq!(thread["name"], "plant-0", "{found}");
            assert!(thread["busy"].as_f64().unwrap() >= 0.9, "{found}");
            let said = "limited by: one thread of the server (plant-0 busy 9";
            assert!(
                screen.contains(said) || screen.contains("(plant-0 busy 100 %"),
                "{screen}"
            );
        }
    }
    let page = ["report", "run.json", "-o", "-"];
    let page = Said::by(&mut command(folder.path(), &page)).out;
    assert!(page.contains("<b>Limited by </b>") && page.contains("What limited it"));
}

#[test]
fn a_plant_that_sleeps_is_never_called_busy() {
    let folder = tempfile::tempdir().unwrap();
    let sleeps = ["--fault", "service-time=10ms,on=read"];
    let server = Server::start(&folder.path().join("s"), &[&PLANT[..], &sleeps].concat());
    let load = ["-n", "nsu=urn:bench;i=1000", "--rate", "200/s"];
    let (found, screen) = saturated(folder.path(), &server.url, &load);
    assert_eq!(found["limited_by"], Value::Null, "{found}");
    for of in ["server-cpu", "server-thread", "generator", "link"] {
        assert_eq!(
            candidate(&found, of)["finding"],
            "does-not-limit",
            "{found}"
        );
    }
    assert_eq!(found["server_waits"], true, "{found}");
    let said = "limited by: not known: the server waits for something that is not seen here";
    assert!(screen.contains(said), "{screen}");
}

#[test]
fn a_slow_link_is_the_limit_and_the_server_behind_it_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("s"), &PLANT);
    // 100 values take about 2 kB each way: 12 of 40 requests a second.
    let work = ["-n", "nsu=urn:bench;i=1000..1099", "--batch", "100"];
    let load = ["--rate", "40/s", "--link", "200kbit/s", "--warmup", "500ms"];
    let (found, screen) = saturated(folder.path(), &server.url, &[&work[..], &load].concat());
    assert_eq!(found["limited_by"], "link", "{found}");
    let share = candidate(&found, "link")["for"][0]["share"].as_f64();
    assert!(share.is_some_and(|it| (0.9..=1.0).contains(&it)), "{found}");
    assert_eq!(
        candidate(&found, "server-cpu")["finding"],
        "does-not-limit",
        "{found}"
    );
    assert!(
        screen.contains("limited by: the link (the emulated link carried 9")
            || screen.contains("limited by: the link (the emulated link carried 100 %"),
        "{screen}"
    );
}
