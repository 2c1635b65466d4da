//! The server of NATS on a free port of the loopback, which ends with its test.

#![allow(dead_code, reason = "no test needs all of it")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What it lets in.
pub const TOKEN: &str = "a-token-of-the-tests";

pub struct Nats {
    child: Child,
    program: std::path::PathBuf,
    port: u16,
}

impl Nats {
    /// None where it cannot be had.
    pub fn start() -> Option<Self> {
        let program = peers::testing::require("nats-server")?.program();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let child = started(&program, port);
        let nats = Self {
            child,
            program,
            port,
        };
        nats.listens();
        Some(nats)
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again where it was.
    pub fn again(&mut self) {
        self.child = started(&self.program, self.port);
        self.listens();
    }

    fn listens(&self) {
        let since = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(since.elapsed() < Duration::from_secs(30), "no broker");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn started(program: &std::path::Path, port: u16) -> Child {
    let mut command = Command::new(program);
    command.args(["-a", "127.0.0.1", "-p", &port.to_string(), "--auth", TOKEN]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}
