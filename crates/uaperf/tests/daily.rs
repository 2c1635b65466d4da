//! What makes a tool one for every day: it ends in time, says what was meant, and tells what a file is.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use crate::support::landscape::Landscape;
use crate::support::{Said, Server, command, json};

fn said(folder: &Path, words: &[&str]) -> Said {
    Said::by(&mut command(folder, words))
}

fn server(folder: &Path) -> Server {
    Server::start(&folder.join("server"), &["--profile", "bench"])
}

#[test]
fn a_node_that_is_not_there_is_told_with_the_one_that_is_nearest() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path());
    let read = |node: &str| {
        let words = [
            "read",
            &server.url,
            "-n",
            node,
            "--requests",
            "3",
            "--quiet",
        ];
        said(folder.path(), &words)
    };
    // The last of the doubles is 1499, the last of all 1999.
    let near = read("nsu=urn:bench;i=10000");
    assert_eq!(near.code, 1, "{}", near.err);
    assert!(
        near.out.contains("the nearest that the server has is ns="),
        "{}",
        near.out
    );
    assert!(near.out.contains(";i=1000"), "{}", near.out);
    let far = read("nsu=urn:bench;s=quite-another-name");
    assert_eq!(far.code, 1, "{}", far.err);
    assert!(!far.out.contains("nearest"), "{}", far.out);
    assert!(far.out.contains("uaperf browse"), "{}", far.out);
}

#[test]
fn too_many_errors_and_a_bad_window_end_a_run_early() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path());
    let ended = |node: &str, condition: &[&str], never: &str| {
        // Nobody waits for its end.
        let words = [
            "read",
            &server.url,
            "-n",
            node,
            "--rate",
            "200/s",
            "--duration",
            "10m",
            "--quiet",
            "--out",
            "ended.json",
        ];
        let said = said(folder.path(), &[&words, condition].concat());
        // Or 4, where the machine had no time for the load.
        assert!([1, 3, 4].contains(&said.code), "{} {}", said.code, said.err);
        let run = json(&folder.path().join("ended.json"));
        let marks = run["marks"].to_string();
        assert!(marks.contains("aborted"), "{marks}");
        let expected = &run["phases"][0]["expectations"][0];
        assert_eq!(expected["expected"], never, "{expected}");
    };
    ended(
        "nsu=urn:bench;i=1",
        &["--max-errors", "20"],
        "never errors>20",
    );
    ended(
        "nsu=urn:bench;i=1000",
        &["--abort-on", "rate[2s]<100k/s"],
        "never rate[2s]<100k/s",
    );
    let lost = [
        "subscribe",
        &server.url,
        "-n",
        "i=2258",
        "--abort-on",
        "loss[5s]>0",
    ];
    let lost = said(folder.path(), &lost);
    assert_eq!(lost.code, 2, "{}", lost.err);
    assert!(lost.err.contains("--abort-on 'loss>0'"), "{}", lost.err);
}

#[test]
fn a_result_is_checked_and_what_nobody_knows_in_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path());
    let words = [
        "read",
        &server.url,
        "--requests",
        "5",
        "--quiet",
        "--out",
        "r.json",
    ];
    let read = said(folder.path(), &words);
    assert!([0, 4].contains(&read.code), "{}", read.err);
    let good = said(folder.path(), &["validate", "r.json"]);
    assert_eq!(good.code, 0, "{}", good.err);
    assert!(
        good.out.starts_with("r.json: result of `read` of "),
        "{}",
        good.out
    );
    assert!(!good.out.contains("not known"), "{}", good.out);

    let mut added = json(&folder.path().join("r.json"));
    added["of_tomorrow"] = 1.into();
    added["phases"][0]["of_tomorrow"] = true.into();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("added.json", &added.to_string());
    write("cut.json", &added.to_string()[..200]);
    write("other.json", "{}");
    let all = said(
        folder.path(),
        &["check", "added.json", "cut.json", "other.json", "r.json"],
    );
    assert_eq!(all.code, 1, "{}", all.err);
    let unknown = "not known here, and ignored: of_tomorrow, phases[0].of_tomorrow";
    assert!(all.out.contains(unknown), "{}", all.out);
    assert!(all.out.contains("r.json: result of"), "{}", all.out);
    assert!(
        all.err.contains("cut.json: ") && all.err.contains("other.json: not a result"),
        "{}",
        all.err
    );
}

#[test]
fn a_landscape_tells_figures_of_each_device_while_it_serves() {
    let folder = tempfile::tempdir().unwrap();
    let group = "[[group]]\nname = \"line\"\ncount = 3\nport = 0\nkeys = \"none\"\n";
    std::fs::write(folder.path().join("devices.toml"), group).unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let landscape = Landscape::start(folder.path(), &["--trust", "--metrics", &address], 3);
    let mut stream = TcpStream::connect(&address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    for (url, name) in &landscape.ready {
        let sessions = format!("uaperf_server_sessions{{server=\"{url}\"}} 0");
        assert!(page.contains(&sessions), "{name}: {page}");
    }
    assert_eq!(landscape.end(), Some(0));

    let elsewhere = [
        "fleet",
        "serve",
        "devices.toml",
        "--trust",
        "--fleet",
        "local:1",
        "--metrics",
        &address,
    ];
    let refused = said(folder.path(), &elsewhere);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(
        refused.err.contains("agents serve the devices"),
        "{}",
        refused.err
    );
}
