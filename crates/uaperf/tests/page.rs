//! A browser as a client: a page asks the plant by `fetch` and `WebSocket`, in JSON and in binary.
//!
//! The page is served from here, and what it found is posted back: no more is needed of a browser than that it starts.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Server, ready};
use serde_json::{Value, json};
use wire::service::{Limits, Request, Response};
use wire::types::{
    GetEndpointsRequest, MessageSecurityMode, OpenSecureChannelRequest, RequestHeader,
    SecurityTokenRequestType,
};

const PATIENCE: Duration = Duration::from_secs(120);

fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = ["chromium", "chromium-browser", "google-chrome"]
        .iter()
        .flat_map(|name| std::env::split_paths(&path).map(move |dir| dir.join(name)))
        .find(|program| program.is_file());
    if program.is_none() {
        without::skipped(
            "a page in a browser",
            "no chromium",
            "apt-get install chromium",
        );
    }
    program
}

struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Opens a page. Certificates are those of a plant that nobody knows, so none is judged.
fn open(program: &Path, profile: &Path, url: &str) -> Browser {
    let child = Command::new(program)
        .args(["--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--disable-dev-shm-usage", "--no-first-run"])
        .arg("--ignore-certificate-errors")
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(url)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Browser(child.unwrap())
}

/// A request of HTTP: its first line and its body.
fn asked(socket: &TcpStream) -> Option<(String, Vec<u8>)> {
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .ok()?;
    let mut reader = BufReader::new(socket);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(digits) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = digits.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first, body))
}

/// Serves the page until it has told what it found.
fn found(listener: &TcpListener, page: &str, browser: &mut Browser) -> Value {
    listener.set_nonblocking(true).unwrap();
    let until = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < until, "the page told nothing");
        let Ok((mut socket, _)) = listener.accept() else {
            if let Some(status) = browser.0.try_wait().unwrap() {
                panic!("the browser ended: {status}");
            }
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        socket.set_nonblocking(false).unwrap();
        let Some((first, body)) = asked(&socket) else {
            continue;
        };
        let (kind, said) = match first.starts_with("GET / ") {
            true => ("text/html; charset=utf-8", page),
            false => ("text/plain", ""),
        };
        let length = said.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{said}"
        );
        let _ = socket.write_all(answer.as_bytes());
        if first.starts_with("POST /found") {
            return serde_json::from_slice(&body).unwrap();
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}

fn encoded(request: impl Into<Request>) -> Vec<u8> {
    let mut out = Vec::new();
    request.into().encode(&mut out).unwrap();
    out
}

fn header(handle: u32) -> RequestHeader {
    RequestHeader {
        request_handle: handle,
        ..RequestHeader::dummy()
    }
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
}

/// HEL and OPN of a client without security (Part 6, 7.1.2.3 and 6.7.2).
fn opening(url: &str) -> [Vec<u8>; 2] {
    let numbers = [0_u32, 65_536, 65_536, 0, 0].map(u32::to_le_bytes).concat();
    let hello = [numbers, text(url)].concat();
    let request = encoded(OpenSecureChannelRequest {
        request_header: header(1),
        client_protocol_version: 0,
        request_type: SecurityTokenRequestType::Issue,
        security_mode: MessageSecurityMode::None,
        requested_lifetime: 60_000,
        ..OpenSecureChannelRequest::default()
    });
    let open = [
        0_u32.to_le_bytes().to_vec(),
        text("http://opcfoundation.org/UA/SecurityPolicy#None"),
        vec![0xff; 8],
        [1_u32, 1].map(u32::to_le_bytes).concat(),
        request,
    ];
    let whole = |letters: &[u8; 4], body: Vec<u8>| {
        let size = (8 + body.len() as u32).to_le_bytes();
        [&letters[..], &size, &body].concat()
    };
    [whole(b"HELF", hello), whole(b"OPNF", open.concat())]
}

fn endpoints(body: &str) -> usize {
    let response = Response::decode(&bytes(body), &Limits::default()).unwrap();
    let Response::GetEndpoints(response) = response else {
        panic!("{response:?}");
    };
    assert_eq!(response.response_header.request_handle, 5);
    response.endpoints.unwrap().len()
}

#[test]
fn a_page_reads_by_fetch_and_by_websocket_in_json_and_in_binary() {
    let Some(program) = chromium() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let options = ["--wss", "0", "--https", "0", "--cors", &origin];
    let mut server = Server::start(folder.path(), &options);
    let mut urls = Vec::new();
    for _ in 0..2 {
        let mut line = String::new();
        server.out.read_line(&mut line).unwrap();
        urls.push(ready(&line).to_owned());
    }
    let of = |scheme: &str| {
        let url = urls.iter().find(|url| url.starts_with(scheme)).unwrap();
        url.strip_prefix("opc.").unwrap().to_owned()
    };
    let (https, wss) = (of("opc.https"), of("opc.wss"));
    let ask = encoded(GetEndpointsRequest {
        request_header: header(5),
        ..GetEndpointsRequest::default()
    });
    let [hello, open_channel] = opening(&format!("opc.{wss}"));
    let asks = json!({
        "https": https, "wss": wss, "endpoints": hex(&ask),
        "hello": hex(&hello), "open": hex(&open_channel),
    });
    let page = include_str!("browser/asks.html").replace("ASKS", &asks.to_string());
    let mut browser = open(&program, folder.path(), &format!("{origin}/"));
    let found = found(&listener, &page, &mut browser);
    assert_eq!(found["error"], Value::Null, "{found}");
    for way in ["fetch", "socket"] {
        let read = &found[way];
        assert_eq!(read["UaTypeId"], "i=632", "{found}");
        let results = read["Results"].as_array().unwrap();
        assert_eq!(results[0]["UaType"], 11, "{read}");
        assert_eq!(results[0]["Value"], 42.5, "{read}");
        assert!(results[0]["SourceTimestamp"].is_string(), "{read}");
        // Bad_NodeIdUnknown.
        assert_eq!(results[1]["Status"]["Code"], 0x8034_0000_u32, "{read}");
    }
    let all = endpoints(found["binary"].as_str().unwrap());
    assert!(all > 4, "{found}");
    assert_eq!(endpoints(found["chunks"].as_str().unwrap()), all);
    drop(browser);

    // A page of another origin may not: its browser does not let it see an answer.
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", other.local_addr().unwrap());
    let profile = folder.path().join("other");
    let mut browser = open(&program, &profile, &url);
    let found = self::found(&other, &page, &mut browser);
    let error = found["error"].as_str().unwrap_or_default();
    assert!(error.contains("Failed to fetch"), "{found}");
}
