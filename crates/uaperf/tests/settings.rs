//! Settings: options out of files and variables, and servers by their names.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A folder with a file of settings, and a user's folder that is empty.
struct Place(TempDir);

impl Place {
    fn with(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("here/below")).unwrap();
        std::fs::write(folder.path().join("here/uaperf.toml"), settings).unwrap();
        Self(folder)
    }

    fn here(&self) -> &Path {
        self.0.path()
    }

    /// The program in a folder below the file's, as somebody without settings of his own types it.
    fn typed(&self, words: &[&str], variables: &[(&str, &str)]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_uaperf"))
            .args(words)
            .current_dir(self.here().join("here/below"))
            .env_remove("UAPERF_SETTINGS")
            .env("XDG_CONFIG_HOME", self.here().join("user"))
            .env("HOME", self.here().join("user"))
            .envs(variables.iter().copied())
            .output()
            .unwrap()
    }

    /// What is set of a command: the option, its values and where, as the program tells.
    fn set(&self, words: &[&str], variables: &[(&str, &str)]) -> Value {
        let words = [&["config", "show", "--json"], words].concat();
        let told = self.typed(&words, variables);
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        serde_json::from_slice(&told.stdout).unwrap_or_else(|_| panic!("{said}"))
    }

    fn user(&self, settings: &str) {
        let folder = self.here().join("user/uaperf");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("uaperf.toml"), settings).unwrap();
    }
}

/// The values of an option, and where they are set.
fn of(set: &Value, option: &str) -> (Vec<String>, String) {
    let options = set["options"].as_array().unwrap();
    let found = options.iter().find(|it| it["option"] == option);
    let found = found.unwrap_or_else(|| panic!("--{option} is not set: {set}"));
    let values = found["values"].as_array().unwrap().iter();
    let values = values.map(|it| it.as_str().unwrap().to_owned()).collect();
    let from = found["from"].as_str().unwrap();
    let from = from.rsplit('/').next().unwrap().to_owned();
    (values, from)
}

const SETTINGS: &str = "\
timeout = \"5s\"
duration = \"7s\"

[read]
duration = \"1s\"
expect = [\"p99<60s\", \"errors=0\"]
";

fn one(value: &str) -> Vec<String> {
    vec![value.to_owned()]
}

#[test]
fn variables_go_before_the_file_a_command_before_all_and_the_file_before_the_users() {
    let place = Place::with(SETTINGS);
    place.user("timeout = \"1s\"\nseed = 7\n");
    let set = place.set(&["read"], &[]);
    assert_eq!(of(&set, "timeout"), (one("5s"), "uaperf.toml:1".into()));
    assert_eq!(of(&set, "duration"), (one("1s"), "uaperf.toml:5".into()));
    assert_eq!(of(&set, "seed"), (one("7"), "uaperf.toml:2".into()));
    assert_eq!(of(&set, "expect").0, ["p99<60s", "errors=0"]);
    let variables = [("UAPERF_TIMEOUT", "3s"), ("UAPERF_DURATION", "")];
    let set = place.set(&["read"], &variables);
    assert_eq!(of(&set, "timeout"), (one("3s"), "UAPERF_TIMEOUT".into()));
    // An empty variable is one that is not set.
    assert_eq!(of(&set, "duration"), (one("1s"), "uaperf.toml:5".into()));
    let set = place.set(&["subscribe"], &[]);
    assert_eq!(of(&set, "duration"), (one("7s"), "uaperf.toml:2".into()));
    let none = place.set(&["read"], &[("UAPERF_SETTINGS", "none")]);
    assert_eq!(of(&none, "timeout"), (one("10s"), "default".into()));
}

/// Options may stand before the command.
#[test]
fn what_is_typed_before_the_command_takes_the_place_of_a_setting_too() {
    let place = Place::with("log-format = \"json\"\n");
    let output = place.typed(&["--log-format", "text", "cert", "list"], &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// What is said on standard error by a command that is refused.
fn refused(place: &Place, words: &[&str]) -> String {
    let output = place.typed(words, &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_is_wrong_in_a_file_is_told_with_its_line_and_nothing_is_measured() {
    let read = ["read", "opc.tcp://127.0.0.1:1", "-n", "i=2258"];
    for (settings, said) in [
        (
            "\nsecruity = \"best\"",
            "uaperf.toml:2: secruity: there is no option --secruity of any command (did you mean security?)",
        ),
        (
            "[reed]\nrate = \"1/s\"",
            "uaperf.toml:1: reed: there is no such command",
        ),
        (
            "[read]\ninterval = \"1s\"",
            "uaperf.toml:2: interval: there is no option --interval of uaperf read",
        ),
        (
            "trust = true",
            "uaperf.toml:1: trust: --trust is typed each time",
        ),
        (
            "[write]\nallow = \"write\"",
            "uaperf.toml:2: allow: --allow is typed each time",
        ),
        (
            "[targets.line4]\nuser = \"x\"",
            "uaperf.toml:1: line4: it has no url",
        ),
        ("timeout = [", "TOML parse error"),
        ("[read]\nrate = \"often\"", "set by: "),
    ] {
        let place = Place::with(settings);
        let refused = refused(&place, &read);
        assert!(refused.contains(said), "{settings}: {refused}");
    }
    let missing = refused(&Place::with(""), &["read", "@line4", "-n", "i=2258"]);
    assert!(
        missing.contains("@line4 is no target of the settings"),
        "{missing}"
    );
    let file = refused(
        &Place::with(""),
        &[
            "probe",
            "opc.tcp://127.0.0.1:1",
            "--settings",
            "nowhere.toml",
        ],
    );
    assert!(file.contains("nowhere.toml"), "{file}");
}

#[test]
fn a_target_that_is_typed_without_its_sign_is_told_how_to_type_it() {
    let place = Place::with("[targets.\"line4.invalid\"]\nurl = \"opc.tcp://127.0.0.1:9\"\n");
    let output = place.typed(&["read", "line4.invalid", "-n", "i=2258"], &[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("write @line4.invalid"), "{err}");
}

#[test]
fn a_server_with_a_name_is_measured_with_its_settings_and_the_result_has_them_all() {
    let place = Place::with(SETTINGS);
    let server = plant::Server::start(plant::Config {
        listen: ([127, 0, 0, 1], 0).into(),
        ..plant::Config::default()
    })
    .unwrap();
    let url = server.url();
    let settings = format!(
        "{SETTINGS}\n[targets.line4]\nurl = \"{url}\"\nsecurity = \"none\"\npassword-file = \"secret\"\nuser = \"bench\"\n"
    );
    std::fs::write(place.here().join("here/uaperf.toml"), settings).unwrap();
    std::fs::write(place.here().join("here/secret"), "bench\n").unwrap();
    let out = place.here().join("result.json");
    let out = out.to_str().unwrap();
    let words = [
        "read",
        "@line4",
        "-n",
        "i=2258",
        "--duration",
        "300ms",
        "--out",
        out,
    ];
    let anonymous = ["--user-token", "nowhere"];
    let output = place.typed(&words, &[]);
    // It has no users, and says so: that of the settings was given.
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("takes no user name"), "{output:?}");
    // What is typed instead of it takes its place.
    let instead = place.typed(&[words.as_slice(), &anonymous].concat(), &[]);
    let said = String::from_utf8_lossy(&instead.stderr);
    assert!(
        said.contains("nowhere") && !said.contains("cannot be used with"),
        "{said}"
    );

    std::fs::write(
        place.here().join("here/uaperf.toml"),
        format!("{SETTINGS}\n[targets.line4]\nurl = \"{url}\"\nsecurity = \"none\"\n"),
    )
    .unwrap();
    let output = place.typed(&words, &[]);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{output:?}");
    let run: Value = serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap();
    let typed = run["request"]["argv"].as_array().unwrap();
    for word in [
        &*url.to_string(),
        "--security=none",
        "--expect=errors=0",
        "--timeout=5s",
    ] {
        assert!(typed.iter().any(|it| it == word), "{word}: {typed:?}");
    }
    assert!(!typed.iter().any(|it| it == "--duration=1s"), "{typed:?}");
}

#[test]
fn files_of_targets_and_of_nodes_are_still_taken_where_settings_name_targets() {
    let server = plant::Server::start(plant::Config {
        listen: ([127, 0, 0, 1], 0).into(),
        ..plant::Config::default()
    })
    .unwrap();
    let url = server.url();
    let place = Place::with(&format!(
        "[targets.nodes]\nurl = \"{url}\"\nsecurity = \"none\"\n"
    ));
    let here = place.here().join("here/below");
    std::fs::write(here.join("servers"), format!("# of line 4\n{url}\n")).unwrap();
    std::fs::write(here.join("nodes"), "i=2258\ni=2255\n").unwrap();
    let out = place.here().join("result.json");
    let rest = [
        "--security",
        "none",
        "--duration",
        "300ms",
        "--out",
        out.to_str().unwrap(),
    ];
    // The value of another option is a file, whatever targets are called.
    for words in [["@servers", "-n", "@nodes"], ["@nodes", "--node", "@nodes"]] {
        let words = [&["read"], &words[..], &rest].concat();
        let output = place.typed(&words, &[]);
        assert!(
            matches!(output.status.code(), Some(0 | 4)),
            "{words:?}: {output:?}"
        );
        let run: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
        assert_eq!(run["targets"].as_array().unwrap().len(), 1);
        let nodes = &run["plan"]["phases"][0]["work"];
        assert!(nodes.to_string().contains("2255"), "{nodes}");
    }
}
