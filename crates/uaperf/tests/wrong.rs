//! Wrong command lines: one line that names the option, what was given and what is allowed, before
//! anything is sent.

#![allow(clippy::unwrap_used)]

use crate::support;
use crate::support::{Server, text, uaperf};

/// A server that nobody runs: what gets as far as connecting ends with exit code 1.
const URL: &str = "opc.tcp://127.0.0.1:1";

/// Words of a command line, what is wrong with it, and what is allowed instead.
const LINES: &[(&[&str], &[&str], &str)] = &[
    (
        &["read", "http://plc1"],
        &["http://plc1"],
        "want opc.tcp://host:port/path",
    ),
    (&["read", "plc1:port"], &["\"port\""], "want 1 to 65535"),
    (
        &["serve", "--listen", "127.0.0.1:4841"],
        &["--listen", "127.0.0.1:4841"],
        "--listen 127.0.0.1 --port 4841",
    ),
    (
        &["serve", "--listen", "here"],
        &["--listen"],
        "want an address such as",
    ),
    (&["read", "opc.tcp://plc1:0"], &["\"0\""], "want 1 to 65535"),
    (
        &["read", "opc.tcp://plc1:4850-4840"],
        &["4850-4840"],
        "want the smaller one first",
    ),
    (&["read", "@no/such/file"], &["no/such/file"], "cannot read"),
    (
        &["read", URL, "-n", "85"],
        &["--node", "\"85\""],
        "want i=85, ns=2;s=MyLevel",
    ),
    (
        &["read", URL, "-n", "ns=1;i=9..5"],
        &["--node", "9..5"],
        "want the smaller number first",
    ),
    (
        &["read", URL, "-n", "browse:Objects"],
        &["--node", "Objects"],
        "want /Objects/2:Folder/*",
    ),
    (
        &["read", URL, "--batch", "0"],
        &["--batch", "'0'"],
        "not in 1..=",
    ),
    (
        &["read", URL, "--sessions", "0"],
        &["--sessions", "'0'"],
        "not in 1..=",
    ),
    (
        &["read", URL, "--user", "op{n}"],
        &["--user", "op{n}"],
        "want --identity-each too",
    ),
    (
        &["read", URL, "--sessions", "many"],
        &["--sessions", "'many'"],
        "want a whole number",
    ),
    (
        &["read", URL, "--pin", "5000"],
        &["--pin 5000"],
        "want processors that this process may use: ",
    ),
    (
        &["serve", "--pin", "1023"],
        &["--pin 1023"],
        "want processors that this process may use: ",
    ),
    (
        &["read", URL, "--in-flight", "4", "--rate", "10/s"],
        &["--in-flight"],
        "cannot be used with '--rate",
    ),
    (
        &["read", URL, "--rate", "100"],
        &["--rate", "'100'"],
        "a slash and a unit of time: 100/s",
    ),
    (
        &["read", URL, "--rate", "9/s", "--coalesce", "4"],
        &["--coalesce 4"],
        "want a closed loop: --in-flight",
    ),
    (
        &["read", URL, "--in-flight", "4", "--coalesce", "5"],
        &["--coalesce 5"],
        "want 1 to the requests in flight",
    ),
    (
        &["read", URL, "--arrival", "poisson"],
        &["--arrival", "poisson"],
        "needs a rate",
    ),
    (
        &["read", URL, "--arrival", "ramp:1..2"],
        &["--arrival", "ramp:1..2"],
        "want a number above zero, a slash",
    ),
    (
        &["read", URL, "--arrival", "ramp:1/s..9/s", "--requests", "5"],
        &["--arrival", "ramp"],
        "want a duration over which the rate changes",
    ),
    (
        &["read", URL, "--rate", "5/s", "--arrival", "burst:5/s"],
        &["--arrival", "burst"],
        "brings its own rates",
    ),
    (
        &["read", URL, "--duration", "10"],
        &["--duration", "'10'"],
        "want a number and a unit: 250us",
    ),
    (
        &["read", URL, "--duration", "0s"],
        &["--duration 0s"],
        "want above zero",
    ),
    (
        &["read", URL, "--requests", "0"],
        &["--requests", "'0'"],
        "not in 1..",
    ),
    (
        &["read", URL, "--warmup", "-1s"],
        &["--warmup", "-1s"],
        "want one that is not negative",
    ),
    (
        &["read", URL, "--timeout", "0s"],
        &["--timeout 0s"],
        "want above zero",
    ),
    (
        &["read", URL, "--expect", "p99<5"],
        &["--expect", "p99<5"],
        "want a number and a unit",
    ),
    (
        &["read", URL, "--expect", "p999<5ms"],
        &["--expect", "p999"],
        "want p50, p90, p99, p99.9",
    ),
    (
        &["read", URL, "--expect", "latency.p99<5ms"],
        &["--expect", "latency"],
        "want response, service",
    ),
    (
        &["read", URL, "--abort-on", "errors"],
        &["--abort-on", "errors"],
        "want [what.]stat, one of < <= > >= =",
    ),
    (
        &["read", URL, "--attribute", "Vlaue"],
        &["--attribute", "Vlaue"],
        "want Value, DisplayName",
    ),
    (
        &["read", URL, "--timestamps", "all"],
        &["--timestamps", "all"],
        "want source, server, both or neither",
    ),
    (
        &["read", URL, "--index-range", "9:0"],
        &["--index-range", "9:0"],
        "want 5, 0:9",
    ),
    (
        &["read", URL, "--spread", "some"],
        &["--spread", "some"],
        "want all or split",
    ),
    (
        &["read", URL, "--catch-up", "maybe"],
        &["--catch-up", "maybe"],
        "want skip or burst",
    ),
    (
        &["read", URL, "--pin", "first"],
        &["--pin", "first"],
        "want a whole number",
    ),
    (
        &["read", URL, "--seed", "-1"],
        &["--seed", "-1"],
        "want one that is not negative",
    ),
    (
        &["read", URL, "--allow", "all"],
        &["--allow", "'all'"],
        "[possible values: write, call",
    ),
    (
        &["read", URL, "--ignore-limits"],
        &["--ignore-limits"],
        "--allow overload",
    ),
    (
        &["read", URL, "--security", "Basic257"],
        &["--security", "Basic257"],
        "want POLICY:MODE",
    ),
    (
        &["read", URL, "--out", "/"],
        &["--out /"],
        "want the name of a file",
    ),
    (&["write", URL, "-n", "i=1"], &["writing"], "--allow write"),
    (
        &["write", URL, "--allow", "write"],
        &["--node"],
        "were not provided",
    ),
    (
        &[
            "write", URL, "-n", "i=1", "--values", "42", "--allow", "write",
        ],
        &["--values", "42"],
        "want original, count",
    ),
    (
        &["call", URL, "--object", "i=1", "--method", "i=2"],
        &["calling"],
        "--allow call",
    ),
    (
        &["call", URL, "--object", "i=1"],
        &["--method"],
        "were not provided",
    ),
    (
        &["translate", URL, "--path", "Objects"],
        &["--path", "Objects"],
        "want /Objects/2:Folder/*",
    ),
    (
        &["translate", URL, "--path", "/Objects/*"],
        &["--path /Objects/*"],
        "want names without a star",
    ),
    (
        &["browse", URL, "--direction", "up"],
        &["--direction", "'up'"],
        "want forward, inverse or both",
    ),
    (
        &["register", URL, "--batch", "-5"],
        &["--batch", "-5"],
        "want one that is not negative",
    ),
    (&["raed", URL], &["raed"], "'read'"),
    (&["show"], &["FILE"], "were not provided"),
];

#[test]
fn each_gets_one_line_that_names_option_value_and_what_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for (words, named, allowed) in LINES {
        let output = uaperf(folder.path(), words);
        let text = text(&output.stderr);
        let line = words.join(" ");
        let (error, rest) = text.split_once('\n').unwrap_or((&text, ""));
        // Behind the error there may be one line with what to try, and nothing else.
        let short = rest.is_empty() || rest.starts_with("  try: ") && rest.lines().count() == 1;
        let names = named.iter().all(|name| error.contains(name));
        // What is allowed may be told as what to try.
        let good = output.status.code() == Some(2)
            && output.stdout.is_empty()
            && error.starts_with("error: ")
            && short
            && names
            && text.contains(allowed);
        if !good {
            wrong.push(format!("{line} ({:?}):\n{text}", output.status.code()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "nothing is written: {left:?}");
}

#[test]
fn the_name_alone_shows_what_most_people_do() {
    let folder = tempfile::tempdir().unwrap();
    let said = uaperf(folder.path(), &[]);
    assert_eq!(said.status.code(), Some(2));
    let shown = text(&said.stderr);
    for word in [
        "demo",
        "probe",
        "read",
        "subscribe",
        "compare",
        "uaperf --help",
    ] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    assert!(shown.lines().count() < 15, "{shown}");
}

#[test]
fn a_host_alone_is_a_server_at_the_registered_port() {
    let folder = tempfile::tempdir().unwrap();
    for (command, host) in [
        ("read", "127.0.0.1:1"),
        ("probe", "127.0.0.1:1"),
        ("discover", "[::1]:1"),
    ] {
        let said = uaperf(folder.path(), &[command, host]);
        assert_eq!(said.status.code(), Some(1), "{command}");
        let error = text(&said.stderr);
        assert!(error.contains(&format!("opc.tcp://{host}")), "{error}");
    }
}

#[test]
fn an_empty_variable_is_one_that_is_not_set() {
    let folder = tempfile::tempdir().unwrap();
    let mut list = support::command(folder.path(), &["cert", "list"]);
    list.env("UAPERF_PKI", "").env("HOME", folder.path());
    list.env("XDG_CONFIG_HOME", folder.path().join("config"));
    let said = support::Said::by(&mut list);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
}

#[test]
fn a_path_that_leads_nowhere_is_told_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("server"), &[]);
    for (path, error) in [
        (
            "browse:/Objcts/*",
            "/Objcts/*: there is no Objcts (did you mean Objects?)",
        ),
        ("browse:/Something/*", "there is no Something (there are "),
    ] {
        let words = [
            "read",
            &server.url,
            "-n",
            path,
            "--security",
            "none",
            "--requests",
            "1",
        ];
        let output = uaperf(folder.path(), &words);
        let said = text(&output.stderr);
        assert!(said.contains(error), "{error}: {said}");
        assert_ne!(output.status.code(), Some(0));
    }
}
