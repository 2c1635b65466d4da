//! A network of a test's own, where this user may make one: groups that nobody else hears, and ports that nobody else has.

#![allow(dead_code, reason = "no test needs all of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::net::UdpSocket;
use std::process::Command;

/// Why there is no such network, and what would bring one.
pub struct NoNetwork {
    pub reason: String,
    pub command: &'static str,
}

/// Moves this thread, and what it starts from now on, to a network namespace with nothing but a loopback. `UAPERF_TEST_NETWORK=host`
/// says that there is none.
pub fn own() -> Result<(), NoNetwork> {
    let none = |reason: &str, command| {
        let reason = reason.to_owned();
        Err(NoNetwork { reason, command })
    };
    if std::env::var("UAPERF_TEST_NETWORK").is_ok_and(|it| it == "host") {
        return none("UAPERF_TEST_NETWORK=host", "leave it away");
    }
    // Before it moves: without ip the loopback would stay down.
    if Command::new("ip").arg("-V").output().is_err() {
        return none("ip is not installed", "apt-get install iproute2");
    }
    if !moved() {
        return none(
            "no network namespace for this user",
            "run it as root on Linux",
        );
    }
    ip("link set lo up")
}

#[cfg(target_os = "linux")]
fn moved() -> bool {
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn moved() -> bool {
    false
}

/// Sets the network up, as `ip` does it.
pub fn ip(words: &str) -> Result<(), NoNetwork> {
    let ended = Command::new("ip").args(words.split(' ')).output();
    let ended = ended.map_err(|error| NoNetwork {
        reason: format!("ip: {error}"),
        command: "apt-get install iproute2",
    })?;
    if ended.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
    Err(NoNetwork {
        reason: format!("ip {words}: {why}"),
        command: "modprobe veth",
    })
}

/// Where a test of UDP publishes.
pub struct Reach {
    /// `opc.udp://` of a group in a network of its own, or else of one host.
    pub to: String,
    /// How many can hear it.
    pub listeners: u32,
}

/// A group for so many listeners in a network of the test's own; else unicast on the loopback for one listener, which is said.
pub fn group(test: &str, group: &str, listeners: u32) -> Reach {
    match own() {
        Ok(()) => Reach {
            to: format!("opc.udp://{group}:4840"),
            listeners,
        },
        Err(it) => {
            without::say(&format!(
                "UNICAST {test}: {}: one listener on the loopback instead of {listeners} of a group: {}",
                it.reason, it.command
            ));
            let free = UdpSocket::bind("127.0.0.1:0").unwrap();
            Reach {
                to: format!("opc.udp://{}", free.local_addr().unwrap()),
                listeners: 1,
            }
        }
    }
}
