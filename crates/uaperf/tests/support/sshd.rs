//! An ssh server for tests.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Child, Command, Stdio};

/// An ssh server of the test's own, for the user that runs the tests.
pub struct Sshd {
    child: Child,
    /// What a client is started with.
    pub ssh: String,
}

impl Sshd {
    const INSTALL: &str = "apt-get install openssh-server openssh-client";

    pub fn start(what: &str, folder: &Path) -> Option<Self> {
        let paths = [
            "/usr/sbin/sshd",
            "/usr/local/sbin/sshd",
            "/usr/libexec/sshd",
        ];
        let Some(sshd) = paths.into_iter().find(|it| Path::new(it).exists()) else {
            without::skipped(what, "no sshd", Self::INSTALL);
            return None;
        };
        for key in ["host", "user"] {
            let file = folder.join(key);
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(&file)
                .status();
            if !made.is_ok_and(|it| it.success()) {
                without::skipped(what, "no ssh-keygen", Self::INSTALL);
                return None;
            }
        }
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let at = |name: &str| folder.join(name).display().to_string();
        let server = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\n\
             StrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n\
             SetEnv UAPERF_PKI={} XDG_STATE_HOME={}\n",
            at("host"),
            at("user.pub"),
            at("pki-there"),
            at("state-there")
        );
        std::fs::write(folder.join("sshd.conf"), server).unwrap();
        let client = format!(
            "Host lab\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {}\n  IdentitiesOnly yes\n\
             \x20 UserKnownHostsFile /dev/null\n  StrictHostKeyChecking no\n  LogLevel ERROR\n",
            at("user")
        );
        std::fs::write(folder.join("ssh.conf"), client).unwrap();
        let tested = Command::new(sshd)
            .args(["-t", "-f", &at("sshd.conf")])
            .output()
            .unwrap();
        if !tested.status.success() {
            let why = String::from_utf8_lossy(&tested.stderr).into_owned();
            without::skipped(what, why.trim(), "mkdir -p /run/sshd");
            return None;
        }
        let child = Command::new(sshd)
            .args(["-D", "-e", "-f", &at("sshd.conf")])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(std::time::Instant::now() < until, "sshd does not listen");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let ssh = format!("ssh -F {}", at("ssh.conf"));
        Some(Self { child, ssh })
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
