//! Programs of node-opcua, which end with their test.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use peers::testing::require;

pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A program below `tests`, with a folder to live in; none where node-opcua cannot be had.
pub fn node(program: &str, folder: &Path) -> Option<Command> {
    let stack = require("node-opcua")?;
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut command = Command::new("node");
    command
        .arg(tests.join(program))
        .env("NODE_PATH", stack.dir().join("node_modules"))
        .env("HOME", folder)
        .env("XDG_CONFIG_HOME", folder);
    Some(command)
}

/// A program that runs, and what it says.
pub struct Node {
    pub child: Child,
    out: BufReader<ChildStdout>,
}

impl Node {
    /// Starts one whose standard input stays open until it is to end.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    /// The rest of the next line that begins so.
    pub fn says(&mut self, what: &str) -> String {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            let read = self.out.read_line(&mut line).unwrap();
            assert!(read > 0, "no {what:?} in {all:?}");
            if let Some(rest) = line.strip_prefix(what) {
                return rest.trim().to_owned();
            }
            all += &line;
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
