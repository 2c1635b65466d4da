//! `action.yml` and the template for GitLab, held to their form and carried out as their services would.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::npm;
use crate::support::{Server, text};

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// What reads and checks such files; none where it cannot be had.
fn tools() -> Option<PathBuf> {
    let files = [
        ("package.json", include_str!("ci_services/package.json")),
        ("read.js", include_str!("ci_services/read.js")),
    ];
    npm::installed("ci-services", &files)
        .map_err(|why| {
            let reason = why.lines().next().unwrap_or_default();
            without::skipped("ci_services", reason, "apt-get install npm");
        })
        .ok()
}

fn read(tools: &Path, file: &str) -> Value {
    let output = Command::new("node")
        .arg("read.js")
        .arg(root().join(file))
        .current_dir(tools)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

const SCENARIO: &str = r#"
name = "reads"
[[phase]]
service = "read"
nodes = ["i=2258"]
security = "none"
rate = "200/s"
duration = "500ms"
warmup = "0s"
"#;

/// A job of a CI service, with the programs of the service in the place of the real ones.
struct Job {
    folder: tempfile::TempDir,
    env: Vec<(String, String)>,
}

impl Job {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("reads.toml"), SCENARIO).unwrap();
        for program in ["gh", "curl"] {
            let file = folder.path().join("bin").join(program);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            // Whoever writes to one that does not read is ended by SIGPIPE.
            let script = format!(
                "#!/bin/sh\ncase \"$*\" in *@-*) cat >/dev/null ;; esac\necho \"$@\" >>\"{}.said\"\n",
                file.display()
            );
            std::fs::write(&file, script).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let program = Path::new(env!("CARGO_BIN_EXE_uaperf")).parent().unwrap();
        let path = format!(
            "{}:{}:{}",
            folder.path().join("bin").display(),
            program.display(),
            std::env::var("PATH").unwrap()
        );
        let at = |name: &str| folder.path().join(name).display().to_string();
        let env = [
            ("PATH", path),
            ("UAPERF_PKI", at("client")),
            ("GITHUB_ACTION_PATH", root().display().to_string()),
            ("GITHUB_OUTPUT", at("output")),
            ("GITHUB_STEP_SUMMARY", at("summary.md")),
            ("GITHUB_REPOSITORY", "me/mine".to_owned()),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value));
        Self {
            folder,
            env: env.to_vec(),
        }
    }

    fn bash(&self, script: &str, env: &[(String, String)]) -> Output {
        Command::new("bash")
            .args(["-eo", "pipefail", "-c", script])
            .envs(self.env.iter().cloned())
            .envs(env.iter().cloned())
            .current_dir(self.folder.path())
            .output()
            .unwrap()
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// The steps of the action in a pull request, until one fails: its output.
    fn act(&self, action: &Value, inputs: &[(&str, &str)]) -> Output {
        let value = |text: &str| -> String {
            let mut text = text.to_owned();
            for (name, input) in action["inputs"].as_object().unwrap() {
                let given = inputs.iter().find(|(it, _)| it == name).map(|it| it.1);
                let default = input["default"].as_str().unwrap_or_default();
                let wanted = format!("${{{{ inputs.{name} }}}}");
                text = text.replace(&wanted, given.unwrap_or(default));
            }
            let output = self.file("output");
            let code = output
                .lines()
                .last()
                .and_then(|it| it.strip_prefix("exit-code="));
            text.replace(
                "${{ steps.measure.outputs.exit-code }}",
                code.unwrap_or_default(),
            )
            .replace("${{ github.token }}", "secret")
            .replace("${{ github.event.pull_request.number }}", "17")
        };
        let steps = action["runs"]["steps"].as_array().unwrap();
        for (n, step) in steps.iter().enumerate() {
            let env = step["env"].as_object().into_iter().flatten();
            let env: Vec<(String, String)> = env
                .map(|(name, it)| (name.clone(), value(it.as_str().unwrap())))
                .collect();
            assert!(env.iter().all(|it| !it.1.contains("${{")), "{env:?}");
            let output = self.bash(step["run"].as_str().unwrap(), &env);
            if !output.status.success() || n + 1 == steps.len() {
                return output;
            }
        }
        unreachable!()
    }
}

/// What a busy machine makes of half a second is not what is tested.
fn is_measured(code: Option<i32>) -> bool {
    matches!(code, Some(0 | 4))
}

#[test]
fn the_action_measures_in_turn_compares_and_comments() {
    let Some(tools) = tools() else { return };
    let checked = Command::new("npx")
        .args(["--no-install", "action-validator"])
        .arg(root().join("action.yml"))
        .current_dir(&tools)
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", text(&checked.stdout));

    let action = read(&tools, "action.yml");
    let job = Job::new();
    let [base, new] = ["a", "b"].map(|it| Server::start(&job.folder.path().join(it), &[]));
    let url = new.url.clone();
    let inputs = [
        ("scenario", "reads.toml"),
        ("target", url.as_str()),
        ("base-target", &base.url),
        ("times", "2"),
        ("metric", "p50,rate"),
        ("max-regression", "100000%"),
    ];
    let output = job.act(&action, &inputs);
    assert!(is_measured(output.status.code()), "{output:?}");
    let comment = job.file("uaperf-results/comment.md");
    assert!(
        comment.contains("| response.p50 |") && comment.contains("2 + 2 runs"),
        "{comment}"
    );
    assert_eq!(job.file("summary.md"), comment);
    let said = job.file("bin/gh.said");
    assert!(
        said.starts_with("pr comment 17 --repo me/mine --body-file uaperf-results/comment.md"),
        "{said}"
    );
    assert!(
        job.file("uaperf-results/report.html")
            .contains("Change against base")
    );

    // What is there already is not mixed with something new.
    let output = job.act(&action, &inputs);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    // Two runs on each side tell nothing, and that may be a failure.
    let more = [
        ("fail-on", "cannot-tell"),
        ("out", "again"),
        ("base", "uaperf-results/base"),
    ];
    let inputs: Vec<_> = inputs
        .into_iter()
        .filter(|it| it.0 != "base-target")
        .chain(more)
        .collect();
    let output = job.act(&action, &inputs);
    assert!(matches!(output.status.code(), Some(3 | 4)), "{output:?}");
    drop(new);
    let inputs: Vec<_> = inputs
        .into_iter()
        .filter(|it| it.0 != "out")
        .chain([("out", "gone")])
        .collect();
    let output = job.act(&action, &inputs);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn the_template_measures_and_comments_in_the_merge_request() {
    let Some(tools) = tools() else { return };
    let template = &read(&tools, "tools/ci/gitlab.yml")[".uaperf"];
    let job = Job::new();
    let new = Server::start(&job.folder.path().join("b"), &[]);
    let given = [
        ("SCENARIO", "reads.toml"),
        ("TARGET", &new.url),
        ("TIMES", "1"),
        ("UAPERF_DIR", root().to_str().unwrap()),
        ("OUT", template["variables"]["OUT"].as_str().unwrap()),
        ("UAPERF_TOKEN", "secret"),
        ("CI_MERGE_REQUEST_IID", "5"),
        ("CI_PROJECT_ID", "9"),
        ("CI_API_V4_URL", "https://gitlab.test/api/v4"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let lines = template["script"].as_array().unwrap().iter();
    let script: Vec<&str> = lines.map(|it| it.as_str().unwrap()).collect();
    let output = job.bash(&script.join("\n"), &given);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(
        job.file("uaperf-results/comment.md")
            .starts_with("Nothing to compare with yet")
    );
    let said = job.file("bin/curl.said");
    assert!(
        said.ends_with("https://gitlab.test/api/v4/projects/9/merge_requests/5/notes\n"),
        "{said}"
    );
    assert!(job.file("uaperf-results/report.html").len() > 10_000);
}
