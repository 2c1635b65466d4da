//! A folder with authorities, as `uaperf ca` makes it, and their responder.

#![allow(dead_code, reason = "no test needs all of it")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::PathBuf;

use pki::Certificate;
use pki::make::Authority;
use pki::store::{read_certificates, read_key};
use tempfile::TempDir;

use crate::support::{Said, Server, command};

pub struct Lab {
    pub folder: TempDir,
}

impl Lab {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        Self { folder }
    }

    /// A port that was free a moment ago, as it has to be in the certificates before anybody listens.
    pub fn at() -> String {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", port.local_addr().unwrap())
    }

    /// Where its certificates say that they can be asked for.
    pub fn address(&self) -> String {
        let made = crate::support::json(&self.path("lab/ca.json"));
        let at = made["at"].as_str().unwrap();
        at.strip_prefix("http://").unwrap().to_owned()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn ca(&self, arguments: &str) -> Said {
        let mut command = command(self.folder.path(), &["ca"]);
        Said::by(command.args(arguments.split_whitespace()))
    }

    pub fn good(&self, arguments: &str) -> String {
        let said = self.ca(arguments);
        assert_eq!(said.code, 0, "{arguments}: {}", said.err);
        said.out
    }

    pub fn serve(&self, arguments: &str) -> Server {
        let mut command = command(self.folder.path(), &["ca", "serve", "lab"]);
        Server::of(command.args(arguments.split_whitespace()))
    }

    pub fn certificate(&self, name: &str) -> Certificate {
        read_certificates(&self.path(&format!("lab/{name}.der")))
            .unwrap()
            .remove(0)
    }

    pub fn authority(&self, name: &str) -> Authority {
        let key = read_key(&self.path(&format!("lab/{name}.key"))).unwrap();
        Authority::new(self.certificate(name), key).unwrap()
    }
}
