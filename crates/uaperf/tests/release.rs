//! The files of a release, made of the program as it was built for the tests.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support;
use crate::support::npm;
use crate::support::text;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a program prints when it ends well.
fn said(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {out}{err}");
    out
}

const TARGET: &str = "x86_64-unknown-linux-musl";
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn build(out: &Path) -> Command {
    let mut build = Command::new("bash");
    build
        .args(["deploy/release/build.sh", TARGET])
        .current_dir(root())
        .env("OUT", out)
        .env("LEVEL", "1")
        .env("PROGRAM", env!("CARGO_BIN_EXE_uaperf"));
    build
}

#[test]
fn an_archive_is_unpacked_and_works_and_its_parts_are_those_that_cargo_names() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path(), folder.path().join("out"));
    let commit = Command::new("git")
        .args(["rev-parse", "HEAD"])
        .current_dir(root())
        .output();
    // Sources that came as an archive are in no commit.
    if !commit.is_ok_and(|it| it.status.success()) {
        let want = "apt-get install git, and a clone of it";
        return without::skipped("releases", "no git, or no commit", want);
    }
    said(&mut build(&out));
    said(
        Command::new("sha256sum")
            .args(["--check", "--quiet", "SHA256SUMS"])
            .current_dir(&out),
    );
    let sums = std::fs::read_to_string(out.join("SHA256SUMS")).unwrap();
    let name = format!("uaperf-{VERSION}-{TARGET}");
    for file in [
        format!("{name}.tar.gz"),
        format!("{name}.cdx.json"),
        format!("uaperf-{VERSION}-source.tar.gz"),
        "uaperf.rb".to_owned(),
    ] {
        assert!(sums.contains(&format!("  {file}\n")), "{file} in {sums}");
    }

    // In a folder where nothing else is, with nothing of this user.
    let archive = out.join(format!("{name}.tar.gz"));
    said(
        Command::new("tar")
            .arg("-xzf")
            .arg(&archive)
            .current_dir(path),
    );
    let unpacked = path.join(&name);
    let program = unpacked.join("uaperf");
    let clean = || {
        let mut command = Command::new(&program);
        command.env_clear().env("HOME", path).current_dir(&unpacked);
        command
    };
    assert_eq!(
        said(clean().arg("--version")),
        format!("uaperf {VERSION}\n")
    );
    let starter = said(clean().args(["new", "read"]));
    assert!(starter.contains("[[phase]]"), "{starter}");
    for file in ["LICENSE", "README.md", "CHANGELOG.md"] {
        assert_eq!(
            std::fs::read(unpacked.join(file)).unwrap(),
            std::fs::read(root().join(file)).unwrap()
        );
    }
    let page = std::fs::read_to_string(unpacked.join("man/uaperf-subscribe.1")).unwrap();
    assert!(page.contains(".TH uaperf-subscribe 1"), "{page}");
    for (file, words) in [
        ("uaperf.bash", "complete -F"),
        ("_uaperf", "#compdef uaperf"),
        ("uaperf.fish", "complete -c uaperf"),
    ] {
        let text = std::fs::read_to_string(unpacked.join("completions").join(file)).unwrap();
        assert!(text.contains(words) && text.contains("saturate"), "{file}");
    }

    parts(&support::json(&out.join(format!("{name}.cdx.json"))));
    judged(&out.join(format!("{name}.cdx.json")));
    package(path, &out);
    manifests(&out);
    let formula = std::fs::read_to_string(out.join("uaperf.rb")).unwrap();
    let source = sums
        .lines()
        .find(|line| line.ends_with("-source.tar.gz"))
        .unwrap();
    assert!(
        formula.contains(source.split(' ').next().unwrap()) && !formula.contains('@'),
        "{formula}"
    );
}

/// Those that are linked are those that cargo's own tree has, and the lock file has their sums.
fn parts(bill: &Value) {
    let of = |scope: &str| -> BTreeSet<String> {
        let all = bill["components"].as_array().unwrap().iter();
        let some = all.filter(|it| it["scope"] == scope);
        let name = |it: &Value| {
            format!(
                "{} v{}",
                it["name"].as_str().unwrap(),
                it["version"].as_str().unwrap()
            )
        };
        some.map(name).collect()
    };
    let (linked, built) = (of("required"), of("excluded"));
    let tree = |edges: &str| -> BTreeSet<String> {
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args([
                "tree",
                "--locked",
                "--offline",
                "--package",
                "uaperf",
                "--prefix",
                "none",
            ])
            .args(["--target", TARGET, "--edges", edges])
            .current_dir(root());
        let words = said(&mut cargo);
        let names = words.lines().filter_map(|line| {
            let mut words = line.split(' ');
            Some(format!("{} {}", words.next()?, words.next()?))
        });
        names.filter(|it| !it.starts_with("uaperf v")).collect()
    };
    let expected = tree("normal,no-proc-macro");
    assert!(expected.len() > 100, "{expected:?}");
    assert_eq!(linked, expected);
    let all: BTreeSet<String> = linked.union(&built).cloned().collect();
    assert!(all.is_superset(&tree("normal,build")), "{built:?}");
    for it in bill["components"].as_array().unwrap() {
        let licence = it["licenses"][0]["expression"].as_str().unwrap_or_default();
        assert!(spdx::Expression::parse(licence).is_ok(), "{it}");
        let ours = root()
            .join("crates")
            .join(it["name"].as_str().unwrap())
            .exists();
        let sum = it["hashes"][0]["content"].as_str().unwrap_or_default();
        assert!(ours || sum.len() == 64, "{it}");
    }
}

const PACKAGES: &str =
    r#"{"private":true,"type":"module","dependencies":{"@ruby/prism":"1.9.0","yaml":"2.8.1"}}"#;

/// What Ruby's own parser has against the formula, and what the manifests of winget are as data.
const CHECK: &str = r#"
import { readFileSync } from "node:fs";
import { loadPrism } from "@ruby/prism";
import { parse } from "yaml";
const [formula, ...manifests] = process.argv.slice(2);
const ruby = await loadPrism();
const text = readFileSync(formula, "utf8");
const errors = (text) => ruby(text).errors.map((it) => it.message);
if (errors(text.replace("def install", "def")).length === 0) throw new Error("a parser that takes anything");
console.log(JSON.stringify({ formula: errors(text), manifests: manifests.map((it) => parse(readFileSync(it, "utf8"))) }));
"#;

/// The formula is Ruby, and manifests of winget are YAML that name the archive that there is.
fn manifests(out: &Path) {
    let folder = match npm::installed(
        "release-test",
        &[("package.json", PACKAGES), ("check.js", CHECK)],
    ) {
        Ok(folder) => folder,
        Err(why) => return without::skipped("manifests", why.trim(), "apt-get install npm"),
    };
    let winget = root().join("deploy/release/winget");
    let kinds = ["", ".installer", ".locale.en-US"];
    let files = kinds.map(|kind| winget.join(format!("uaperf.uaperf{kind}.yaml.in")));
    let filled = out.join("..").join("winget");
    std::fs::create_dir_all(&filled).unwrap();
    let mut check = Command::new("node");
    check
        .arg("check.js")
        .arg(out.join("uaperf.rb"))
        .current_dir(folder);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text
            .replace("@VERSION@", VERSION)
            .replace("@SHA256@", &"A".repeat(64));
        let to = filled.join(file.file_name().unwrap());
        std::fs::write(&to, text.replace("@DATE@", "2026-01-02")).unwrap();
        check.arg(to);
    }
    let found: Value = serde_json::from_str(&said(&mut check)).unwrap();
    assert_eq!(
        found["formula"].as_array().map(Vec::len),
        Some(0),
        "{found}"
    );
    let types = ["version", "installer", "defaultLocale"];
    for (manifest, kind) in std::iter::zip(found["manifests"].as_array().unwrap(), types) {
        assert_eq!(
            (&manifest["ManifestType"], &manifest["PackageVersion"]),
            (&kind.into(), &VERSION.into())
        );
        assert_eq!(manifest["PackageIdentifier"], "uaperf.uaperf");
    }
    let nested = found["manifests"][1]["NestedInstallerFiles"][0]["RelativeFilePath"].as_str();
    let archive = format!("uaperf-{VERSION}-x86_64-pc-windows-gnu");
    assert_eq!(nested, Some(format!("{archive}\\uaperf.exe").as_str()));
    let url = found["manifests"][1]["Installers"][0]["InstallerUrl"]
        .as_str()
        .unwrap();
    assert!(
        url.ends_with(&format!("/v{VERSION}/{archive}.zip")),
        "{url}"
    );
}

const JUDGE: &str = "cyclonedx-python-lib[json-validation]==11.12.0";

/// Strict: what the schema does not know is wrong.
const READ: &str = "
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
text = open(sys.argv[1]).read()
judge = JsonStrictValidator(SchemaVersion.V1_5)
error = judge.validate_str(text)
assert error is None, error
assert judge.validate_str(text.replace('\"bomFormat\"', '\"bomFormal\"')) is not None
";

/// Whether CycloneDX's own library takes it by its schema.
fn judged(bill: &Path) {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cyclonedx");
    let python = home.join("bin/python");
    // Written last, so that an installation that was interrupted is made anew.
    let stamp = home.join("installed.txt");
    if std::fs::read_to_string(&stamp).ok().as_deref() != Some(JUDGE) {
        let venv = Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&home)
            .output();
        let install = "-m pip install --quiet --no-input --disable-pip-version-check --timeout 30";
        let installed = venv.and_then(|_| {
            Command::new(&python)
                .args(install.split(' '))
                .arg(JUDGE)
                .output()
        });
        match installed {
            Ok(output) if output.status.success() => std::fs::write(&stamp, JUDGE).unwrap(),
            Ok(output) => {
                return without::skipped(
                    "cyclonedx-python-lib",
                    text(&output.stderr).trim(),
                    "pip",
                );
            }
            Err(error) => {
                return without::skipped(
                    "cyclonedx-python-lib",
                    &error.to_string(),
                    "apt-get install python3-venv",
                );
            }
        }
    }
    said(Command::new(python).args(["-c", READ]).arg(bill));
}

/// Debian's own tools read the package, and what is in it works.
fn package(path: &Path, out: &Path) {
    let file = out.join(format!("uaperf_{VERSION}_amd64.deb"));
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        return without::skipped(
            "the package for Debian",
            "no dpkg-deb",
            "apt-get install dpkg",
        );
    }
    let field = |name: &str| said(Command::new("dpkg-deb").arg("--field").arg(&file).arg(name));
    assert_eq!(
        (field("Package").trim(), field("Version").trim()),
        ("uaperf", VERSION)
    );
    let into = path.join("package");
    said(
        Command::new("dpkg-deb")
            .arg("--extract")
            .arg(&file)
            .arg(&into),
    );
    let program = into.join("usr/bin/uaperf");
    assert_eq!(
        said(Command::new(program).arg("--version")),
        format!("uaperf {VERSION}\n")
    );
    for name in [
        "share/man/man1/uaperf.1.gz",
        "share/bash-completion/completions/uaperf",
        "share/zsh/vendor-completions/_uaperf",
        "share/doc/uaperf/copyright",
    ] {
        assert!(into.join("usr").join(name).exists(), "{name}");
    }
    let listed = said(Command::new("dpkg-deb").arg("--contents").arg(&file));
    assert!(
        listed.lines().all(|line| line.contains(" root/root ")),
        "{listed}"
    );
}

#[test]
fn a_release_that_cannot_be_made_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("precious"), "").unwrap();
    let refused = |command: &mut Command, words: &str| {
        let output = command.output().unwrap();
        let err = text(&output.stderr);
        assert!(!output.status.success() && err.contains(words), "{err}");
        assert!(err.contains("\n  try: "), "{err}");
    };
    refused(&mut build(folder.path()), "no folder of a release");
    assert!(folder.path().join("precious").exists());
    let out = folder.path().join("out");
    refused(
        build(&out).arg("x86_64-pc-windows-gnu"),
        "PROGRAM is of one target",
    );
    refused(build(&out).env("LEVEL", "10"), "LEVEL=10 is no level");
    let of = |target: &str| {
        let mut build = Command::new("bash");
        build.args(["deploy/release/build.sh", target]);
        build.current_dir(root()).env("OUT", &out);
        build
    };
    refused(
        &mut of("riscv64-unknown-linux-musl"),
        "riscv64-unknown-linux-musl is not known here",
    );
    let zig = folder.path().join("no-zig");
    refused(
        of("aarch64-unknown-linux-musl").env("ZIG", zig),
        "no C compiler for aarch64-unknown-linux-musl",
    );
}

#[test]
fn zig_is_told_the_target_by_the_name_that_it_knows() {
    let compiler = || {
        let mut compiler = Command::new("bash");
        compiler
            .args([
                "deploy/release/zigcc.sh",
                "-O3",
                "--target=aarch64-unknown-linux-musl",
            ])
            .args(["-c", "a file.c"])
            .current_dir(root());
        compiler
    };
    let told = said(
        compiler()
            .env("ZIG", "echo python3 -m ziglang")
            .env("ZIG_TARGET", "aarch64-linux-musl"),
    );
    let wanted = "python3 -m ziglang cc -target aarch64-linux-musl -O3 -c a file.c -fno-sanitize=undefined\n";
    assert_eq!(told, wanted);
    let alone = compiler()
        .env_remove("ZIG")
        .env_remove("ZIG_TARGET")
        .output()
        .unwrap();
    assert!(!alone.status.success() && text(&alone.stderr).contains("ZIG"));
}
