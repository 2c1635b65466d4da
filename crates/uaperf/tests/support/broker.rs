//! A broker of another vendor, on a free port of the loopback, that ends with its test.

#![allow(dead_code, reason = "no test needs all of it")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Who comes may come in.
pub const OPEN: &str = "allow_anonymous true";

/// Mosquitto, as Debian has it.
pub struct Broker {
    child: Child,
    pub port: u16,
    scheme: &'static str,
}

impl Broker {
    /// None where there is no mosquitto.
    pub fn start(folder: &Path, config: &str) -> Option<Self> {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        Self::start_at(folder, config, port)
    }

    pub fn start_at(folder: &Path, config: &str, port: u16) -> Option<Self> {
        let file = folder.join("mosquitto.conf");
        // It takes on another user where it is started as root, and needs no files then.
        let text = format!("listener {port} 127.0.0.1\nuser root\n{config}\n");
        std::fs::write(&file, text).unwrap();
        let places = ["mosquitto", "/usr/sbin/mosquitto"];
        let start = |program| {
            let mut command = Command::new(program);
            command
                .arg("-c")
                .arg(&file)
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            command.spawn().ok()
        };
        let Some(child) = places.into_iter().find_map(start) else {
            without::skipped(
                "mqtt",
                "mosquitto is not installed",
                "apt-get install mosquitto",
            );
            return None;
        };
        let scheme = match config.contains("certfile") {
            true => "mqtts",
            false => "mqtt",
        };
        let broker = Self {
            child,
            port,
            scheme,
        };
        let since = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                since.elapsed() < Duration::from_secs(30),
                "mosquitto does not listen"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(broker)
    }

    /// Where it is: over TLS if it has a certificate.
    pub fn url(&self, topic: &str) -> String {
        format!("{}://127.0.0.1:{}{topic}", self.scheme, self.port)
    }

    pub fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.stop();
    }
}
