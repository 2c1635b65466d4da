//! The files of `deploy/`: what can be run of them is run, the rest is held to the schemas of those who read it.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support;
use crate::support::npm;
use crate::support::{Said, Server, command, text};

fn deploy(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("deploy").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(deploy(name)).unwrap()
}

/// Two programs in the place of those that start one in a container, which note with what they were started.
fn stand_ins(folder: &Path) {
    for (name, skip) in [("podman", 3), ("kubectl", 6)] {
        let file = folder.join(name);
        let program = env!("CARGO_BIN_EXE_uaperf");
        let text = format!(
            "#!/bin/sh\necho \"{name} $*\" >> {0}/started\nshift {skip}\nshift\n\
             XDG_STATE_HOME={0}/there UAPERF_PKI={0}/there/pki exec {program} \"$@\"\n",
            folder.display()
        );
        std::fs::write(&file, text).unwrap();
        let made = Command::new("chmod")
            .arg("755")
            .arg(&file)
            .status()
            .unwrap();
        assert!(made.success());
    }
}

#[test]
fn agents_in_containers_and_pods_are_started_as_by_ssh() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    stand_ins(path);
    let server = Server::start(
        &path.join("server"),
        &["--profile", "bench", "--security", "none"],
    );
    let run = |by: &str, name: &str| {
        let fleet = format!("ssh:{name}");
        let read = [
            "read",
            &server.url,
            "-n",
            "nsu=urn:bench;i=1000",
            "--security",
            "none",
        ];
        let load = [
            "--requests",
            "20",
            "--quiet",
            "--out",
            "run.json",
            "--fleet",
            &fleet,
        ];
        let mut command = command(path, &[&read[..], &load].concat());
        let paths = format!("{}:{}", path.display(), std::env::var("PATH").unwrap());
        let ssh = format!("sh {} {by}", deploy("exec.sh").display());
        Said::by(command.env("PATH", paths).env("UAPERF_SSH", ssh))
    };
    for (by, name) in [
        ("podman exec -i", "agent1"),
        ("kubectl -n lab exec -i", "uaperf-agent-0"),
    ] {
        let said = run(by, name);
        assert!(matches!(said.code, 0 | 4), "{}{}", said.out, said.err);
        let run = support::json(&path.join("run.json"));
        assert_eq!(run["hosts"][0]["name"], format!("ssh:{name}"));
        assert_eq!(run["hosts"][0]["total"]["completed"], 20);
    }
    let started = std::fs::read_to_string(path.join("started")).unwrap();
    assert_eq!(
        started,
        "podman exec -i agent1 uaperf agent --pipe\n\
         kubectl -n lab exec -i uaperf-agent-0 -- uaperf agent --pipe\n"
    );
    let said = run("", "agent1");
    assert_eq!(said.code, 1);
    assert!(
        said.err
            .contains("want the command that starts a program there"),
        "{}",
        said.err
    );
}

#[test]
fn units_of_systemd_are_taken_by_it_and_their_commands_by_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let devices = "[[group]]\nname = \"line1\"\ncount = 2\nport = 0\n";
    std::fs::write(path.join("devices.toml"), devices).unwrap();
    let program = env!("CARGO_BIN_EXE_uaperf");
    let mut units = Vec::new();
    for (name, more) in [
        ("uaperf-landscape", "--check"),
        ("uaperf-plant", "--port 0"),
    ] {
        let unit = read(&format!("systemd/{name}.service"));
        let line = unit
            .lines()
            .find_map(|it| it.strip_prefix("ExecStart=/usr/local/bin/uaperf "));
        let line = line
            .unwrap()
            .replace("${STATE_DIRECTORY}", &path.display().to_string())
            .replace("/etc/uaperf/devices.toml", "devices.toml")
            .replace("--port 4840 ", "")
            .replace("0.0.0.0", "127.0.0.1");
        let words: Vec<&str> = line.split_whitespace().chain(more.split(' ')).collect();
        match name {
            "uaperf-landscape" => {
                let said = Said::by(&mut command(path, &words));
                assert_eq!(said.code, 0, "{line}: {}{}", said.out, said.err);
            }
            // As systemd ends it.
            _ => {
                let server = Server::of(&mut command(path, &words));
                server.signal("TERM");
                let until = Instant::now() + Duration::from_secs(30);
                while !path.join("truth.json").exists() {
                    assert!(Instant::now() < until, "no ledger");
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        }
        let file = path.join(format!("{name}.service"));
        std::fs::write(&file, unit.replace("/usr/local/bin/uaperf", program)).unwrap();
        units.push(file);
    }
    let verified = Command::new("systemd-analyze")
        .arg("verify")
        .args(&units)
        .output();
    let Ok(verified) = verified else {
        return without::say(
            "SKIPPED units of systemd: no systemd-analyze: apt-get install systemd",
        );
    };
    // What it says of other units of this machine is not ours.
    let said = text(&verified.stderr);
    let ours: Vec<&str> = said.lines().filter(|it| it.contains("uaperf-")).collect();
    assert!(ours.is_empty(), "{said}");
}

const PACKAGES: &str = r#"{"private":true,"type":"module","dependencies":{"dockerfile-ast":"0.7.1","kubernetes-models":"5.1.0","typescript":"5.9.3","yaml":"2.8.1"}}"#;

/// Says of each manifest whether the schema of its kind takes it (what is required, and values), whether the type of its kind
/// has each of its fields, and what a Containerfile is made of.
const CHECK: &str = r#"
import { readFileSync, mkdtempSync, writeFileSync, rmSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import { DockerfileParser } from "dockerfile-ast";
import ts from "typescript";
const [container, ...manifests] = process.argv.slice(2);
const folder = mkdtempSync("typed-");
const typed = [];
for (const file of manifests) {
  for (const document of parseAllDocuments(readFileSync(file, "utf8"))) {
    if (document.errors.length) throw document.errors[0];
    const it = document.toJS();
    const kind = (await import("kubernetes-models/" + it.apiVersion))[it.kind];
    if (!kind) throw new Error(`${file}: no kind ${it.kind}`);
    let error = null;
    try { new kind(it).validate(); } catch (found) { error = found.message; }
    const source = `${folder}/${typed.length}.ts`;
    writeFileSync(source, `import type { I${it.kind} } from "kubernetes-models/${it.apiVersion}";
export const it: I${it.kind} = ${JSON.stringify(it)};`);
    typed.push({ source, said: { kind: it.kind, error, it } });
  }
}
const options = { noEmit: true, strict: true, skipLibCheck: true, types: [], module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext };
const program = ts.createProgram(typed.map((it) => it.source), options);
for (const { source, said } of typed) {
  const found = ts.getPreEmitDiagnostics(program, program.getSourceFile(source));
  const text = found.map((it) => ts.flattenDiagnosticMessageText(it.messageText, " "));
  console.log(JSON.stringify({ ...said, error: said.error ?? text[0] ?? null }));
}
rmSync(folder, { recursive: true });
const parsed = DockerfileParser.parse(readFileSync(container, "utf8"));
const of = parsed.getInstructions().map((it) => ({ keyword: it.getKeyword(), words: it.getArguments().map((a) => a.getValue()) }));
console.log(JSON.stringify({ container: of }));
"#;

fn checked(folder: &Path, files: &[PathBuf]) -> Vec<serde_json::Value> {
    let mut node = Command::new("node");
    let output = node
        .current_dir(folder)
        .arg("check.js")
        .args(files)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = text(&output.stdout);
    lines
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect()
}

#[test]
fn manifests_of_kubernetes_and_the_containerfile_are_what_their_readers_take() {
    let folder = match npm::installed(
        "deploy-test",
        &[("package.json", PACKAGES), ("check.js", CHECK)],
    ) {
        Ok(folder) => folder,
        Err(why) => {
            return without::skipped("manifests of Kubernetes", why.trim(), "apt-get install npm");
        }
    };
    let work = tempfile::tempdir().unwrap();
    let manifests = ["agents", "landscape"].map(|it| deploy(&format!("kubernetes/{it}.yaml")));
    let container = deploy("container/Containerfile");
    let [agents, landscape] = manifests;
    let said = checked(&folder, &[container.clone(), agents.clone(), landscape]);
    let kinds: Vec<&str> = said.iter().filter_map(|it| it["kind"].as_str()).collect();
    assert_eq!(
        kinds,
        [
            "StatefulSet",
            "Service",
            "ConfigMap",
            "Deployment",
            "Service"
        ]
    );
    for it in said.iter().filter(|it| it["kind"].is_string()) {
        assert!(it["error"].is_null(), "{it}");
    }
    // A wrong word is seen.
    let wrong = work.path().join("wrong.yaml");
    let text = std::fs::read_to_string(&agents).unwrap();
    std::fs::write(&wrong, text.replace("replicas: 3", "replicaz: 3")).unwrap();
    let wrong = checked(&folder, &[container.clone(), wrong]);
    assert!(
        wrong[0]["error"].to_string().contains("replicaz"),
        "{}",
        wrong[0]
    );

    // What the program is given there, it takes.
    let devices = said[2]["it"]["data"]["devices.toml"].as_str().unwrap();
    std::fs::write(work.path().join("devices.toml"), devices).unwrap();
    let args = &said[3]["it"]["spec"]["template"]["spec"]["containers"][0]["args"];
    let args = args
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it.as_str().unwrap());
    let mut words: Vec<&str> = args.filter(|it| !it.starts_with("/var/")).collect();
    words[2] = "devices.toml";
    let place = words.iter().position(|it| *it == "--ledger").unwrap();
    words.splice(place..=place, ["--ledger", "truth.json", "--check"]);
    let told = Said::by(&mut command(work.path(), &words));
    assert_eq!(told.code, 0, "{}{}", told.out, told.err);
    assert!(told.out.contains("100"), "{}", told.out);

    let of = said.last().unwrap()["container"].as_array().unwrap();
    let keywords: Vec<&str> = of
        .iter()
        .map(|it| it["keyword"].as_str().unwrap())
        .collect();
    let want = "FROM RUN WORKDIR COPY RUN FROM COPY RUN ENV USER WORKDIR VOLUME ENTRYPOINT CMD";
    assert_eq!(keywords.join(" "), want);
    // A number: Kubernetes looks at it before it starts what must not be root.
    assert_eq!(of[9]["words"][0], "10001");
}

#[test]
fn what_kustomize_makes_of_the_manifests_has_the_namespace_the_image_and_so_many_agents() {
    const WHAT: &str = "manifests of kustomize";
    const INSTALL: &str = "go install sigs.k8s.io/kustomize/kustomize/v5@v5.7.1";
    let folder = deploy("kubernetes").display().to_string();
    let Some((built, out, err)) = by("kustomize", &["build", &folder]) else {
        // As with Helm: for who changes it.
        return without::say(&format!("SKIPPED {WHAT}: no kustomize: {INSTALL}"));
    };
    assert!(built, "{err}");
    let installed = npm::installed(
        "deploy-test",
        &[("package.json", PACKAGES), ("check.js", CHECK)],
    );
    let checks = match installed {
        Ok(folder) => folder,
        Err(why) => return without::skipped(WHAT, why.trim(), "apt-get install npm"),
    };
    let work = tempfile::tempdir().unwrap();
    let file = work.path().join("all.yaml");
    std::fs::write(&file, out).unwrap();
    let mut said = checked(&checks, &[deploy("container/Containerfile"), file]);
    said.retain(|it| it["kind"].is_string());
    assert_eq!(said.len(), 5);
    for it in &said {
        assert!(it["error"].is_null(), "{it}");
        assert_eq!(it["it"]["metadata"]["namespace"], "lab", "{it}");
    }
    let agents = said.iter().find(|it| it["kind"] == "StatefulSet").unwrap();
    let spec = &agents["it"]["spec"];
    assert_eq!(spec["replicas"], 3);
    assert_eq!(
        spec["template"]["spec"]["containers"][0]["image"],
        "registry.example/uaperf:latest"
    );
}

/// What a program says, or None where there is none.
fn by(program: &str, words: &[&str]) -> Option<(bool, String, String)> {
    let output = Command::new(program).args(words).output().ok()?;
    let said = (text(&output.stdout), text(&output.stderr));
    Some((output.status.success(), said.0, said.1))
}

/// What is of the same kind and name is beside each other, whoever orders it.
fn sorted(mut said: Vec<serde_json::Value>) -> Vec<serde_json::Value> {
    said.retain(|it| it["kind"].is_string());
    let name = |it: &serde_json::Value| format!("{} {}", it["kind"], it["it"]["metadata"]["name"]);
    said.sort_by_key(name);
    said
}

#[test]
fn the_chart_of_helm_gives_the_manifests_and_agents_that_wait_at_a_broker() {
    const WHAT: &str = "chart of Helm";
    const INSTALL: &str = "go install helm.sh/helm/v3/cmd/helm@v3.22.0";
    let chart = deploy("helm/uaperf").display().to_string();
    let Some((linted, out, err)) = by("helm", &["lint", "--strict", &chart]) else {
        // No package has it, and building it takes longer than the tests of the whole folder: that is for who changes the chart.
        return without::say(&format!("SKIPPED {WHAT}: no helm: {INSTALL}"));
    };
    assert!(linted, "{out}{err}");
    let folder = match npm::installed(
        "deploy-test",
        &[("package.json", PACKAGES), ("check.js", CHECK)],
    ) {
        Ok(folder) => folder,
        Err(why) => return without::skipped(WHAT, why.trim(), "apt-get install npm"),
    };
    let work = tempfile::tempdir().unwrap();
    let container = deploy("container/Containerfile");
    let rendered = |name: &str, more: &[&str]| {
        let words = [&["template", "uaperf", &chart, "-n", "lab"][..], more].concat();
        let (good, out, err) = by("helm", &words).unwrap();
        assert!(good, "{err}");
        let file = work.path().join(name);
        std::fs::write(&file, out).unwrap();
        let said = sorted(checked(&folder, &[container.clone(), file]));
        assert!(said.iter().all(|it| it["error"].is_null()), "{said:?}");
        said
    };
    let manifests = ["agents", "landscape"].map(|it| deploy(&format!("kubernetes/{it}.yaml")));
    let [agents, landscape] = manifests;
    let manifests = sorted(checked(&folder, &[container.clone(), agents, landscape]));
    assert_eq!(rendered("usual.yaml", &[]), manifests);

    let broker = [
        "--set=landscape.enabled=false",
        "--set=agents.broker.url=tls://broker:4222",
        "--set=agents.broker.tokenSecret=broker",
        "--set-string=agents.broker.keys=uaperf-ed25519 AAAA lab",
    ];
    // Whom it does not know an agent does not obey, and whom it may load has to be said.
    let words = [&["template", "uaperf", &chart][..], &broker].concat();
    let (good, _, err) = by("helm", &words).unwrap();
    assert!(!good && err.contains("targets"), "{err}");
    let targets = [
        &broker[..],
        &["--set=agents.broker.targets={10.0.0.*:4840}"],
    ]
    .concat();
    let said = rendered("broker.yaml", &targets);
    let kinds: Vec<&str> = said.iter().map(|it| it["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ConfigMap", "Service", "StatefulSet"]);
    let keys = said[0]["it"]["data"]["fleet.keys"].as_str().unwrap();
    assert_eq!(keys, "uaperf-ed25519 AAAA lab");
    let container = &said[2]["it"]["spec"]["template"]["spec"]["containers"][0];
    let args = container["args"].as_array().unwrap().iter();
    // The program takes these words, and refuses only what is made wrong here.
    let args: Vec<String> = args
        .map(|it| it.as_str().unwrap().replace("tls://", "tls://token@"))
        .collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    assert!(args.contains(&"--targets=10.0.0.*:4840"), "{args:?}");
    let args: Vec<&str> = args
        .into_iter()
        .map(|it| match it {
            "--allow-from=/etc/uaperf/fleet.keys" => "--allow-from=fleet.keys",
            other => other,
        })
        .collect();
    let key = Said::by(
        command(work.path(), &["fleet", "key"])
            .env("UAPERF_FLEET_KEY", work.path().join("fleet.key")),
    );
    std::fs::write(work.path().join("fleet.keys"), key.out).unwrap();
    let told = Said::by(&mut command(work.path(), &args));
    assert_eq!(told.code, 2, "{}", told.err);
    assert!(
        told.err.contains("has a user or a token in it"),
        "{}",
        told.err
    );
}
