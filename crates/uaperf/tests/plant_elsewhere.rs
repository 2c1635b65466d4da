//! Scenarios whose plant is started on another host, with load from that host and from this one.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::sshd::Sshd;
use crate::support::{Said, command, json};
use serde_json::Value;

const UAPERF: &str = env!("CARGO_BIN_EXE_uaperf");

/// Servers that an ssh server has started, by their command lines.
fn servers(folder: &Path) -> Vec<String> {
    let name = folder.display().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let each = processes.filter_map(|it| {
        let read = |file: &str| std::fs::read(it.path().join(file)).ok();
        let words = String::from_utf8_lossy(&read("cmdline")?).replace('\0', " ");
        let ours = String::from_utf8_lossy(&read("environ")?).contains(&name);
        (ours && words.contains("serve --with-parent") && !words.contains("ssh.conf"))
            .then_some(words)
    });
    each.collect()
}

#[test]
fn a_plant_on_one_host_is_loaded_from_two_and_its_ledger_is_that_of_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let Some(sshd) = Sshd::start("plant on another host", path) else {
        return;
    };
    // The name by which ssh knows it is none of the network.
    let scenario = format!(
        "[start]\nplant = \"bench\"\non = \"ssh:lab:{UAPERF}\"\nlisten = \"127.0.0.1\"\nsecurity = [\"none\"]\n\
         [fleet]\nhosts = [\"local:1\", \"ssh:lab:{UAPERF}\"]\n\
         [[phase]]\nservice = \"subscribe\"\nnodes = [\"nsu=urn:bench;i=3030\"]\nsessions = 4\n\
         publishing = \"100ms\"\nsampling = \"50ms\"\nqueue = 20\nduration = \"2s\"\nwarmup = \"0s\"\n"
    );
    std::fs::write(path.join("x.toml"), scenario).unwrap();
    let mut run = command(path, &["run", "x.toml", "--out", "out", "--quiet"]);
    let said = Said::by(run.env("UAPERF_SSH", &sshd.ssh));
    assert!(matches!(said.code, 0 | 4), "{}{}", said.out, said.err);
    let run = json(&path.join("out/001-point1-1.json"));
    let hosts: Vec<&Value> = run["hosts"].as_array().unwrap().iter().collect();
    let sessions: Vec<&Value> = hosts.iter().map(|it| &it["sessions"]).collect();
    assert_eq!(sessions, [2, 2]);
    let told = &run["phases"][0]["subscriptions"];
    let beside = told["beside"].as_array().unwrap();
    for what in ["values sent", "sampled away"] {
        let row = beside.iter().find(|row| row["what"] == what).unwrap();
        assert_eq!(row["server"], row["client"], "{row}");
    }
    let sent = beside.iter().find(|row| row["what"] == "values sent");
    assert!(sent.unwrap()["server"].as_u64().unwrap() >= 40, "{told}");
    // What it spends is seen there.
    let resources = run["phases"][0]["resources"].to_string();
    assert!(resources.contains("ssh:lab"), "{resources}");
    let until = Instant::now() + Duration::from_secs(20);
    while !servers(path).is_empty() {
        assert!(Instant::now() < until, "left: {:?}", servers(path));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn what_cannot_be_started_on_another_host_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let refused = |start: &str, want: &[&str]| {
        let phase = "[[phase]]\nservice = \"read\"\nnodes = \"i=2258\"\nrequests = 5\n";
        std::fs::write(path.join("x.toml"), format!("[start]\n{start}\n{phase}")).unwrap();
        std::fs::write(path.join("plant.toml"), "name = \"x\"\n").unwrap();
        let said = Said::by(&mut command(path, &["check", "x.toml"]));
        assert_eq!(said.code, 2, "{}", said.out);
        for want in want {
            assert!(said.err.contains(want), "{want}: {}", said.err);
        }
    };
    let on = |more: &str| format!("plant = \"bench\"\n{more}");
    refused(
        &on("on = \"plc1\""),
        &["start.on", "names no agents", "line 3"],
    );
    refused(&on("on = \"local:1\""), &["started without it"]);
    refused("peer = \"open62541\"\non = \"ssh:a\"", &["other stacks"]);
    refused(
        "plant = \"plant.toml\"\non = \"ssh:a\"",
        &["a plant file is not on that host"],
    );
    let name = on("on = \"ssh:a\"\nhost = \"a;reboot\"");
    refused(&name, &["start.host", "a shell of the host", "line 4"]);
    // A host that is not there is an error of the run.
    let scenario =
        on("on = \"ssh:a\"\n[[phase]]\nservice = \"read\"\nnodes = \"i=2258\"\nrequests = 5\n");
    std::fs::write(path.join("x.toml"), format!("[start]\n{scenario}")).unwrap();
    let mut run = command(path, &["run", "x.toml", "--out", "out", "--quiet"]);
    let said = Said::by(run.env("UAPERF_SSH", "false"));
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    let out = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(out.contains("did not start on ssh:a"), "{out}");
}
