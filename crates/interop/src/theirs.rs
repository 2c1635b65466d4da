//! Other stacks' clients against our server, with all that they do.

use std::fs;
use std::num::NonZeroU32;
use std::path::PathBuf;

use peers::bench::USER;
use peers::{Client, ClientOptions, ClientReport, Stack, Token};
use pki::KeyKind;
use plant::{Config, PasswordHash, Profile, Server, TrustPolicy, Users};

use crate::cell::{Cell, Complaint, KEYS, Outcome, Work};
use crate::ours::SetupError;

/// Our server with the bench address space, and a user with a certificate.
#[derive(Debug)]
pub struct Theirs {
    server: Server,
    /// Where the user's certificates and keys lie, of each kind.
    users: Vec<(KeyKind, PathBuf, PathBuf)>,
    _folder: tempfile::TempDir,
}

impl Theirs {
    /// Starts our server.
    pub fn new() -> Result<Self, SetupError> {
        let now = std::time::SystemTime::now().into();
        let folder = tempfile::tempdir()?;
        let mut users = Vec::new();
        let mut own = Vec::new();
        for (n, kind) in KEYS.into_iter().enumerate() {
            let key = pki::Key::make(kind)?;
            let request = pki::make::Request::application("urn:uaperf:interop:user");
            let certificate = request
                .common_name(USER.0)
                .days(30)
                .self_signed(&key, now)?;
            let file = |ending| folder.path().join(format!("user{n}.{ending}"));
            let (certificate_file, key_file) = (file("der"), file("pem"));
            fs::write(&certificate_file, certificate.der())?;
            fs::write(&key_file, key.pem().as_bytes())?;
            users.push((kind, certificate_file, key_file));

            let key = pki::Key::make(kind)?;
            let request = pki::make::Request::application("urn:uaperf:interop:server");
            let certificate = request
                .host("localhost")
                .host("127.0.0.1")
                .days(30)
                .self_signed(&key, now)?;
            own.push(pki::Identity::new(certificate, key));
        }
        let mut own = own.into_iter();
        // The password is well known: there is nothing to make guessing hard for.
        let hash = PasswordHash::new(USER.1.as_bytes(), [0; 16], NonZeroU32::MIN);
        let server = Server::start(Config {
            identity: own.next(),
            beside: own.collect(),
            users: Users {
                anonymous: true,
                passwords: vec![(USER.0.to_owned(), hash)],
                certificates: Some(TrustPolicy::All),
                ..Users::default()
            },
            profiles: vec![Profile::Bench { update: None }],
            ..Config::default()
        })?;
        Ok(Self {
            server,
            users,
            _folder: folder,
        })
    }

    /// Has a stack's client try one cell; all of its steps, or those that are named.
    pub fn attempt(&self, stack: &'static Stack, cell: Cell, steps: &[Work]) -> Outcome {
        if !cell.is_in(&stack.speaks) {
            return Outcome::NotOffered;
        }
        let options = ClientOptions {
            policy: cell.policy,
            mode: cell.mode,
            user: (cell.token == Token::UserName).then(|| (USER.0.into(), USER.1.into())),
            user_certificate: self
                .users
                .iter()
                .find(|user| cell.token == Token::X509 && user.0 == cell.key())
                .map(|(_, certificate, key)| (certificate.clone(), key.clone())),
            steps: steps.iter().map(|work| work.name()).collect(),
            ..ClientOptions::default()
        };
        Outcome::Tried(match Client::run(stack, self.server.url(), &options) {
            Ok(report) => complaints(&report),
            Err(error) => vec![Complaint {
                work: Work::Connect,
                what: error.to_string(),
            }],
        })
    }
}

pub(crate) fn complaints(report: &ClientReport) -> Vec<Complaint> {
    let outcomes = report.steps.outcomes();
    let failed = outcomes.iter().filter(|(_, outcome)| !outcome.ok);
    let failed = failed.filter_map(|(step, outcome)| {
        Some(Complaint {
            work: Work::ALL.into_iter().find(|work| work.name() == *step)?,
            what: outcome.error.clone().unwrap_or_default(),
        })
    });
    let read = report.steps.read.as_ref().filter(|read| read.outcome.ok);
    let wrong = read.map(|read| read.disagreements()).unwrap_or_default();
    let wrong = wrong.into_iter().take(3).map(|what| Complaint {
        work: Work::Read,
        what,
    });
    let mut all: Vec<_> = failed.chain(wrong).collect();
    // A client that could not connect says so of each step that it did not come to.
    if all.iter().any(|complaint| complaint.work == Work::Connect) {
        all.retain(|complaint| complaint.work == Work::Connect);
    }
    all
}
