//! A plant's authorities: a root, two below it, and an application.

use std::sync::LazyLock;

use pki::make::{Authority, Request};
use pki::{Certificate, Expected, Key, Moment, Role, Trust};

pub const NOW: Moment = Moment::from_unix(1_800_000_000);

/// Making a key takes long; tests share some.
pub fn key(index: usize) -> Key {
    static KEYS: LazyLock<Vec<Key>> =
        LazyLock::new(|| (0..4).map(|_| Key::generate(2048).unwrap()).collect());
    KEYS[index].clone()
}

pub fn request() -> Request {
    Request::application("urn:plc1:drives")
        .organization("Plant")
        .dns("plc1")
        .ip([192, 0, 2, 7].into())
}

pub fn root() -> Authority {
    Authority::root(Request::authority("Root"), key(0), NOW).unwrap()
}

/// A root, a division, a line and an application, in this order of signing.
pub struct Plant {
    pub root: Authority,
    pub division: Authority,
    pub line: Authority,
    pub leaf: Certificate,
}

impl Plant {
    pub fn new() -> Self {
        Self::with(
            Request::authority("Division"),
            Request::authority("Line"),
            request(),
        )
    }

    pub fn with(division: Request, line: Request, leaf: Request) -> Self {
        let root = root();
        let division = root.authority(division, key(1), NOW).unwrap();
        // Some of these are made to be refused, and could not be made otherwise.
        let line_certificate = division.sign(&line, &key(2), NOW).unwrap();
        let line = Authority::new(line_certificate, key(2)).unwrap();
        let leaf = line.sign(&leaf, &key(3), NOW).unwrap();
        Self {
            root,
            division,
            line,
            leaf,
        }
    }

    /// The root is trusted, the others are known, all lists are there.
    pub fn trust(&self) -> Trust {
        let lists = [&self.root, &self.division, &self.line];
        Trust {
            trusted: vec![self.root.certificate().clone()],
            issuers: vec![
                self.division.certificate().clone(),
                self.line.certificate().clone(),
            ],
            distrusted: Vec::new(),
            revocations: lists
                .map(|authority| authority.revoke(&[], NOW, 30).unwrap())
                .to_vec(),
        }
    }
}

pub fn expected() -> Expected<'static> {
    Expected {
        host: Some("plc1"),
        application_uri: Some("urn:plc1:drives"),
        keys: Some(pki::KeyRule::RSA),
        ..Expected::of(Role::Server, NOW)
    }
}
