//! Messages of services in JSON beside those of open62541: what we write it reads, and what it writes we read, as the same
//! message. Lines of text go between the two: it has no transport for them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use peers::testing::require;
use serde_json::Value;
use wire::json::{self, Style};
use wire::service::{Kind, Request, Response};

use super::judges::{compiled, material};

#[path = "../../../wire/tests/sample/mod.rs"]
mod sample;

const LONGEST: usize = 1 << 20;
/// Messages of each kind.
const EACH: u64 = 40;

/// The library, which answers lines.
struct Peer {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Peer {
    fn start(folder: &std::path::Path) -> Option<Self> {
        let home = require("open62541")?.dir();
        let program = folder.join("messages");
        let mut compiler = Command::new("sh");
        compiler.arg(material("compile.sh")).arg(&program);
        compiled(compiler.arg(material("messages.c")).current_dir(home));
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Some(Self {
            to: child.stdin.take().unwrap(),
            from: BufReader::new(child.stdout.take().unwrap()),
            child,
        })
    }

    fn answer(&mut self, line: &str) -> String {
        writeln!(self.to, "{line}").unwrap();
        let mut answer = String::new();
        self.from.read_line(&mut answer).unwrap();
        answer.trim_end().to_owned()
    }

    fn end(mut self) {
        drop(self.to);
        self.child.wait().unwrap();
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    pairs.map(byte).collect()
}

fn samples() -> impl Iterator<Item = (Kind, Vec<u8>)> {
    let kinds = Request::KINDS.iter().chain(Response::KINDS).copied();
    let each = |kind| (0..EACH).map(move |n| (kind, sample::message(kind, &mut sample::Random(n))));
    kinds
        .flat_map(each)
        .filter_map(|(kind, message)| Some((kind, sample::settled(&message)?)))
}

fn text(message: &[u8]) -> String {
    json::write(message, Style::Compact, LONGEST).unwrap()
}

/// What is in a message: a structure whose type it names, a DataValue without a value, the URI of a namespace with a blank.
#[derive(Debug, Default)]
struct Within {
    structure: bool,
    valueless: bool,
    blank: bool,
}

impl Within {
    fn of(message: &Value) -> Self {
        let mut within = Self::default();
        for field in message.as_object().unwrap().values() {
            within.look(field);
        }
        within
    }

    fn look(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => {
                let has = |name: &&str| fields.contains_key(*name);
                self.structure |= has(&"UaTypeId");
                let beside = ["Status", "SourceTimestamp", "ServerTimestamp"];
                let picoseconds = ["SourcePicoseconds", "ServerPicoseconds"];
                let beside = beside.iter().chain(&picoseconds).any(has);
                self.valueless |= beside && !has(&"UaType");
                fields.values().for_each(|it| self.look(it));
            }
            Value::Array(all) => all.iter().for_each(|it| self.look(it)),
            Value::String(text) => self.blank |= text.contains("nsu=") && text.contains(' '),
            _ => {}
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(all) => all.is_empty(),
        _ => false,
    }
}

/// Without arrays of nothing, as it writes those that are null, too, and without what only they were in.
fn full(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            // Part 6, 5.2.2.17: a reader takes 9999 for more of them; it does when it decodes what it is to write.
            let most = |name: &str, it: &Value| match it.as_u64() {
                Some(count) if name.ends_with("Picoseconds") => Value::from(count.min(9999)),
                _ => full(it),
            };
            let full = fields
                .iter()
                .map(|(name, it)| (name.clone(), most(name, it)));
            let full = full.filter(|(_, it)| !is_empty(it));
            Value::Object(full.collect())
        }
        Value::Array(all) => Value::Array(all.iter().map(full).collect()),
        other => other.clone(),
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn open62541_reads_our_messages_and_we_read_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut peer) = Peer::start(folder.path()) else {
        return;
    };
    let (mut it_read, mut we_read) = (BTreeMap::new(), BTreeMap::new());
    for (kind, message) in samples() {
        let ours = text(&message);
        let within = Within::of(&parsed(&ours));
        // It writes the fields of a structure beside its type, but reads them inside UaBody only; and bytes of types that it
        // does not know it writes as text, which is none (Part 6, 5.4.2.16).
        if within.structure {
            continue;
        }
        // Part 6, 5.4.2.18: a DataValue need not have a value.
        if !within.valueless {
            let answer = peer.answer(&format!("binary {ours}"));
            assert!(!answer.starts_with("error"), "{kind:?}: {answer}: {ours}");
            assert_eq!(text(&bytes(&answer)), ours, "{kind:?}");
            *it_read.entry(format!("{kind:?}")).or_insert(0) += 1;
        }
        // Part 6, 5.1.12: only ; and % are escaped in the URI of a namespace. It escapes more.
        if !within.blank {
            let answer = peer.answer(&format!("json {}", hex(&message)));
            let read = json::read(answer.as_bytes(), LONGEST);
            let read = read.unwrap_or_else(|error| panic!("{kind:?}: {error:?}: {answer}"));
            let (read, ours) = (parsed(&text(&read)), parsed(&ours));
            assert_eq!(full(&read), full(&ours), "{kind:?}: {answer}");
            *we_read.entry(format!("{kind:?}")).or_insert(0) += 1;
        }
    }
    peer.end();
    // Each kind of message went both ways.
    let kinds = Request::KINDS.len() + Response::KINDS.len();
    assert_eq!(
        (it_read.len(), we_read.len()),
        (kinds, kinds),
        "{it_read:?} {we_read:?}"
    );
}
