//! Agents that only dial out: a broker between them and the controller, which may be away.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::support;
use crate::support::nats::{Nats, TOKEN};
use crate::support::{Said, Server, Telling, command, json};

const NODES: &str = "nsu=urn:bench;i=1000..1099";

struct Lab {
    folder: TempDir,
    server: Server,
    broker: Nats,
    agents: Vec<(Child, Telling)>,
}

impl Lab {
    fn new() -> Option<Self> {
        let broker = Nats::start()?;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), format!("{TOKEN}\n")).unwrap();
        let server = Server::start(&folder.path().join("server"), &["--profile", "bench"]);
        let lab = Self {
            folder,
            server,
            broker,
            agents: Vec::new(),
        };
        let key = lab.said(&["fleet", "key"]);
        assert_eq!(key.code, 0, "{}", key.err);
        std::fs::write(lab.folder.path().join("keys"), key.out).unwrap();
        Some(lab)
    }

    /// `uaperf`, as this tenant.
    fn command(&self, tenant: &str, words: &[&str]) -> Command {
        let folder = self.folder.path();
        let mut command = command(folder, words);
        command
            .env("UAPERF_FLEET_KEY", folder.join("fleet.key"))
            .env("UAPERF_NATS_URL", self.broker.url())
            .env("UAPERF_NATS_TENANT", tenant)
            .env("UAPERF_NATS_TOKEN_FILE", folder.join("token"));
        command
    }

    fn said(&self, words: &[&str]) -> Said {
        Said::by(&mut self.command("one", words))
    }

    fn words<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        [&["read", &self.server.url, "-n", NODES][..], more].concat()
    }

    /// An agent that waits.
    fn agent(&mut self, tenant: &str, name: &str) {
        self.agent_for(tenant, name, "read,subscribe");
    }

    /// One that may do this.
    fn agent_for(&mut self, tenant: &str, name: &str, loads: &str) {
        let url = self.broker.url();
        let guard = ["--allow-from", "keys", "--targets", "*", "--loads", loads];
        let words = [
            "agent",
            "--nats",
            &url,
            "--tag",
            "lab,other",
            "--name",
            name,
        ];
        let mut command = self.command(tenant, &[&words[..], &guard].concat());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut telling = Telling::of(&mut child);
        telling.until("waits for loads under lab, other");
        self.agents.push((child, telling));
    }

    fn run(&self, file: &str) -> Value {
        json(&self.folder.path().join(file))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for (agent, _) in &mut self.agents {
            let _ = agent.kill();
            let _ = agent.wait();
        }
    }
}

fn measured(said: &Said) {
    assert!(said.is_measured(), "{}{}", said.out, said.err);
}

fn completed(run: &Value) -> u64 {
    run["phases"][0]["total"]["completed"].as_u64().unwrap()
}

fn names(run: &Value) -> Vec<&str> {
    let hosts = run["hosts"].as_array().unwrap().iter();
    hosts.map(|it| it["name"].as_str().unwrap()).collect()
}

#[test]
fn agents_at_a_broker_are_one_result_and_tenants_do_not_hear_each_other() {
    let Some(mut lab) = Lab::new() else { return };
    for (tenant, name) in [("one", "a"), ("one", "b.plant"), ("two", "c")] {
        lab.agent(tenant, name);
    }
    let load = [
        "--requests",
        "1000",
        "--sessions",
        "6",
        "--fleet",
        "nats:lab",
    ];
    let told = lab.said(&lab.words(&[&load[..], &["--out", "one.json"]].concat()));
    measured(&told);
    let run = lab.run("one.json");
    assert_eq!(names(&run), ["nats:lab/a", "nats:lab/b.plant"]);
    assert_eq!(completed(&run), 1000);
    assert_eq!(
        run["phases"][0]["total"]["histograms"]["response"]["count"],
        1000
    );
    let hosts = run["hosts"].as_array().unwrap();
    let each = hosts
        .iter()
        .map(|it| it["total"]["completed"].as_u64().unwrap());
    assert_eq!(each.sum::<u64>(), 1000);
    assert!(
        hosts
            .iter()
            .all(|it| it["sessions"] == 3 && it["clock"]["error_ns"].is_u64())
    );
    assert!(
        !std::fs::read_to_string(lab.folder.path().join("one.json"))
            .unwrap()
            .contains(TOKEN)
    );
    // Free again once its process has ended; the other tenant has its own.
    let words = lab.words(&[
        "--requests",
        "9",
        "--fleet",
        "nats:other",
        "--out",
        "two.json",
    ]);
    measured(&Said::by(&mut lab.command("two", &words)));
    assert_eq!(names(&lab.run("two.json")), ["nats:other/c"]);
    // By name, and one that is not there: another one does its share.
    let some = [
        "--requests",
        "90",
        "--sessions",
        "3",
        "--fleet",
        "nats:lab/a,nats:lab/c",
    ];
    let told = lab.said(&lab.words(&[&some[..], &["--out", "three.json"]].concat()));
    assert_eq!(told.code, 1, "{}{}", told.out, told.err);
    assert!(
        told.err.contains("it does not wait under the tag lab"),
        "{}",
        told.err
    );
    assert_eq!(completed(&lab.run("three.json")), 90);
    let nobody = lab.said(&lab.words(&["--fleet", "nats:nowhere"]));
    assert_eq!(nobody.code, 1);
    assert!(
        nobody.err.contains("no agent waits under the tag nowhere"),
        "{}",
        nobody.err
    );
    // Somebody else's key.
    let mut stranger = lab.command("two", &words);
    let strange = lab.folder.path().join("strange.key");
    let made = Said::by(
        lab.command("two", &["fleet", "key"])
            .env("UAPERF_FLEET_KEY", &strange),
    );
    assert_eq!(made.code, 0, "{}", made.err);
    let told = Said::by(stranger.env("UAPERF_FLEET_KEY", &strange));
    assert_eq!(told.code, 1);
    assert!(told.err.contains("signed with another key"), "{}", told.err);
}

#[test]
fn a_token_that_the_broker_does_not_know_and_secrets_in_a_url_are_refused() {
    let Some(lab) = Lab::new() else { return };
    let words = lab.words(&["--fleet", "nats:lab"]);
    let agent = |url: &str| {
        let guard = ["--allow-from", "keys", "--targets", "*"];
        let words = ["agent", "--tag", "lab", "--nats", url];
        lab.command("one", &[&words[..], &guard].concat())
    };
    std::fs::write(lab.folder.path().join("token"), "another-token").unwrap();
    let url = lab.broker.url();
    for command in [&mut lab.command("one", &words), &mut agent(&url)] {
        let told = Said::by(command);
        assert_eq!(told.code, 2, "{}", told.err);
        assert!(
            told.err
                .contains("refuses this user: authorization violation"),
            "{}",
            told.err
        );
        assert!(told.err.contains("UAPERF_NATS_TOKEN_FILE"), "{}", told.err);
        assert!(!told.err.contains("another-token"), "{}", told.err);
    }
    let secret = agent(&url.replace("//", "//secret@")).output().unwrap();
    let told = support::text(&secret.stderr);
    assert_eq!(secret.status.code(), Some(2));
    assert!(
        told.contains("has a user or a token in it") && !told.contains("secret@"),
        "{told}"
    );
    let open = lab.said(&["agent", "--nats", &url, "--tag", "lab"]);
    assert_eq!(open.code, 2);
    assert!(open.err.contains("--allow-from"), "{}", open.err);
    let unset = Said::by(lab.command("one", &words).env_remove("UAPERF_NATS_URL"));
    assert_eq!(unset.code, 2);
    assert!(
        unset.err.contains("UAPERF_NATS_URL is not set"),
        "{}",
        unset.err
    );
}

#[test]
fn a_broker_that_is_back_in_time_costs_nothing_and_one_that_is_not_an_agent_until_its_results_are_collected()
 {
    let Some(mut lab) = Lab::new() else { return };
    lab.agent("one", "a");
    let load = [
        "--sessions",
        "2",
        "--rate",
        "50/s",
        "--warmup=0s",
        "--fleet",
        "local:1,nats:lab/a",
    ];
    let begun = |lab: &Lab, more: &[&str]| {
        let words = [&load[..], more].concat();
        let mut command = lab.command("one", &lab.words(&words));
        let mut child = command
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut telling = Telling::of(&mut child);
        telling.until_it_measures();
        (child, telling.whole())
    };
    let (child, told) = begun(&lab, &["--duration", "5s", "--out", "whole.json"]);
    lab.broker.kill();
    sleep(Duration::from_secs(1));
    lab.broker.again();
    let code = child.wait_with_output().unwrap().status.code();
    let told = told.join().unwrap();
    assert!(matches!(code, Some(0 | 4)), "{told}");
    assert!(!told.contains("was lost"), "{told}");
    let run = lab.run("whole.json");
    let hosts = run["hosts"].as_array().unwrap().iter();
    let each: Vec<u64> = hosts
        .map(|it| it["total"]["completed"].as_u64().unwrap())
        .collect();
    // On a busy machine a pacer skips some of the 250 that each would send.
    assert!(
        each.len() == 2 && each.iter().all(|it| *it > 150),
        "{each:?} {told}"
    );
    assert_eq!(completed(&run), each.iter().sum::<u64>());

    let lost = ["--duration", "4s", "--orphan", "3s", "--out", "lost.json"];
    let (child, told) = begun(&lab, &lost);
    lab.broker.kill();
    let code = child.wait_with_output().unwrap().status.code();
    let told = told.join().unwrap();
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("agent nats:lab/a was lost"), "{told}");
    let run = lab.run("lost.json");
    assert_eq!(run["verdict"]["kind"], "INCOMPLETE", "{}", run["verdict"]);
    assert!(run["marks"].to_string().to_lowercase().contains("degraded"));
    lab.broker.again();
    // The agent is free when the process of the load has ended.
    let mut late = lab.said(&["fleet", "collect", "lost.json"]);
    for _ in 0..20 {
        if !late.err.contains("at work") && !late.err.contains("does not wait") {
            break;
        }
        sleep(Duration::from_millis(500));
        late = lab.said(&["fleet", "collect", "lost.json"]);
    }
    let run = lab.run("lost.json");
    let host = &run["hosts"][1];
    assert!(
        host["late"] == true && host["lost"].is_null(),
        "{host} {}",
        late.err
    );
    let each = run["hosts"].as_array().unwrap().iter();
    let each: u64 = each
        .map(|it| it["total"]["completed"].as_u64().unwrap())
        .sum();
    assert_eq!(completed(&run), each);
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_at_a_broker_looks_at_its_host_for_a_phase_and_for_a_watch() {
    let Some(mut lab) = Lab::new() else { return };
    lab.agent_for("one", "a", "watch");
    lab.agent_for("one", "b", "watch");
    lab.agent("one", "c");
    let (_, port) = lab.server.url.rsplit_once(':').unwrap();
    let port = port.to_owned();
    let scenario = |process: &str, host: &str| {
        let text = format!(
            "target = '{}'\n[[phase]]\nservice = 'read'\nnodes = '{NODES}'\nrate = '50/s'\nduration = '3s'\n\
             security = 'none'\nobserve = ['{process}', '{host}']\n",
            lab.server.url
        );
        std::fs::write(lab.folder.path().join("x.toml"), text).unwrap();
        lab.said(&["run", "x.toml", "--out", "out", "--quiet"])
    };
    measured(&scenario(&format!("nats:lab/a::{port}"), "nats:lab/b"));
    let run = lab.run("out/001-point1-1.json");
    let all = run["phases"][0]["resources"].as_array().unwrap().iter();
    let observed: Vec<&Value> = all.filter(|it| it["who"] == "observed").collect();
    let found: Vec<(&str, &str)> = observed
        .iter()
        .map(|it| {
            (
                it["name"].as_str().unwrap(),
                it["source"]["from"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(found, [("uaperf at a", "nats:lab/a"), ("b", "nats:lab/b")]);
    let spent = observed[0]["window"]["cpu_cores"].as_f64().unwrap();
    assert!(spent > 0.0, "{}", observed[0]);
    // It is free again, and looks for others.
    let target = format!("nats:lab/a::{port}");
    let watched = lab.said(&["watch", &target, "--duration", "3s", "--json"]);
    assert_eq!(watched.code, 0, "{}", watched.err);
    assert!(watched.out.contains("\"uaperf at a\""), "{}", watched.out);
    for (target, want) in [
        (
            "nats:lab/c",
            "watch is not among its --loads: read, subscribe",
        ),
        ("nats:lab/a:nobody-is-called-so", "nobody-is-called-so"),
        ("nats:lab/d", "it does not wait under the tag lab"),
        ("nats:none", "no agent waits under the tag none"),
        ("nats:lab*2", "want nats:TAG or nats:TAG/NAME"),
        ("nats:lab:a;b", "want nats:TAG or nats:TAG/NAME"),
    ] {
        let told = lab.said(&["watch", target, "--duration", "1s"]);
        assert_eq!(told.code, 2, "{target}: {}{}", told.out, told.err);
        assert!(told.err.contains(want), "{want}: {}", told.err);
    }
}
