//! The judges: small programs beside this file, run with what `uaperf peers install` installed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use peers::testing::{require, say};
use serde_json::Value;

/// Longer than the longest that judges wait for each of their steps.
const PATIENCE: Duration = Duration::from_secs(400);

/// A file beside this one.
pub fn material(file: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/breadth");
    tests.join(file)
}

/// The command of a stack's judge, compiled into a folder where its language wants that; nothing when the
/// stack cannot be had.
pub fn judge(stack: &str, folder: &Path) -> Option<Command> {
    let home = require(stack)?.dir();
    Some(match stack {
        "asyncua" => {
            let mut command = Command::new(home.join("venv/bin/python"));
            command.arg(material("judge.py"));
            command
        }
        "node-opcua" => {
            let mut command = Command::new("node");
            command.env("NODE_PATH", home.join("node_modules"));
            command.arg(material("judge.js"));
            command
        }
        "milo1" => {
            let archives = format!("{}/lib/*", home.display());
            let mut compiler = Command::new("javac");
            compiler.arg("-d").arg(folder).args(["-cp", &archives]);
            compiled(compiler.arg(material("Breadth.java")));
            let path = format!("{}:{archives}", folder.display());
            let mut command = Command::new("java");
            let quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];
            command.args(quick).args(["-cp", &path, "Breadth"]);
            command
        }
        "open62541" => {
            let program = folder.join("judge");
            let mut compiler = Command::new("sh");
            compiler.arg(material("compile.sh")).arg(&program);
            compiled(compiler.arg(material("judge.c")).current_dir(home));
            Command::new(program)
        }
        other => panic!("{other} is no judge"),
    })
}

/// The command of a stack's script beside this file; nothing when the stack cannot be had.
pub fn script(stack: &str, file: &str) -> Option<Command> {
    let home = require(stack)?.dir();
    let mut command = match stack {
        "asyncua" => Command::new(home.join("venv/bin/python")),
        "node-opcua" => {
            let mut command = Command::new("node");
            command.env("NODE_PATH", home.join("node_modules"));
            command
        }
        other => panic!("{other} reads no scripts"),
    };
    command.arg(material(file));
    Some(command)
}

pub fn compiled(compiler: &mut Command) {
    let output = compiler.stdin(Stdio::null()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler:?}: {told}");
}

/// Has a judge do its steps; gives what it says of each.
pub fn judged(mut command: Command, url: &str, steps: &[&str], folder: &Path) -> Value {
    command.arg(url).arg(steps.join(",")).arg(folder);
    // Certificates that a stack makes for itself stay here.
    command.env("HOME", folder).env("XDG_CONFIG_HOME", folder);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let (out, log) = (folder.join("told"), folder.join("log"));
    command.stdin(Stdio::null());
    command.stdout(File::create(&out).unwrap());
    command.stderr(File::create(&log).unwrap());
    let mut child = command.spawn().unwrap();
    let end = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if Instant::now() > end => {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let text = std::fs::read_to_string(out).unwrap();
    let log = std::fs::read(log).unwrap();
    let log = String::from_utf8_lossy(&log);
    assert!(
        status.is_some_and(|status| status.success()),
        "{status:?}: {text}\n{log}"
    );
    let last = text.lines().last().unwrap_or_default();
    let told = serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {text}"));
    say(&short(&format!("{}: {last}", steps.join(","))));
    told
}

fn short(text: &str) -> String {
    text.chars().take(600).collect()
}
