//! Our client against a server: every cell with everything that is done in it.

use std::time::Duration;

use load::access::{Access, AccessError, Credentials, Opening, ServerFacts, Session, TrustRule};
use load::transport::Steps;
use peers::bench::USER;
use peers::{Policy, Token};
use pki::KeyKind;
use wire::url::{Url, UrlError};

use crate::cell::{Cell, Complaint, KEYS, Outcome, Work};
use crate::work::{self, Target};

/// Who we are: an application and a user, each with a certificate that was made for this run.
#[derive(Debug)]
pub struct Ours {
    folder: tempfile::TempDir,
    /// With each kind of key.
    users: Vec<(KeyKind, wire::channel::Identity)>,
}

/// What keeps the table from being tried at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// No folder for certificates.
    #[error("no folder for certificates: {0}")]
    Folder(#[from] std::io::Error),
    /// No key.
    #[error(transparent)]
    Key(#[from] pki::KeyError),
    /// No certificate.
    #[error(transparent)]
    Certificate(#[from] pki::make::MakeError),
    /// Not one that the wire can use.
    #[error("the user's certificate cannot be used: {0}")]
    User(String),
    /// Not an address.
    #[error("{url} is no URL of a server: {reason}")]
    Url {
        /// The text.
        url: String,
        /// Why not.
        reason: String,
    },
    /// The server does not say what it offers.
    #[error("the server cannot be asked what it offers: {0}")]
    Discover(AccessError),
    /// Our server does not start.
    #[error(transparent)]
    Plant(#[from] plant::StartError),
    /// Its certificate cannot be put among the trusted ones.
    #[error(transparent)]
    Store(#[from] pki::StoreError),
}

/// How long each step and each call may take. Interpreted servers on a busy machine are slow.
const PATIENCE: Duration = Duration::from_secs(60);

impl Ours {
    /// Makes the certificates.
    pub fn new() -> Result<Self, SetupError> {
        let user = |kind| {
            let key = pki::Key::make(kind)?;
            let request = pki::make::Request::application("urn:uaperf:interop:user");
            let certificate = request
                .common_name(USER.0)
                .days(30)
                .self_signed(&key, std::time::SystemTime::now().into())?;
            let user = load::access::identity(&pki::Identity::new(certificate, key))
                .map_err(|error| SetupError::User(error.to_string()))?;
            Ok((kind, user))
        };
        let users = KEYS
            .into_iter()
            .map(user)
            .collect::<Result<_, SetupError>>()?;
        let folder = tempfile::tempdir()?;
        Ok(Self { folder, users })
    }

    /// Puts the certificate of the server into the folder of the trusted ones, so that each cell
    /// is tried with all checks on.
    pub fn trust(&self, url: &str) -> Result<(), SetupError> {
        let access = Access {
            trust: TrustRule::Everyone,
            security: load::access::Security::Unasked,
            ..self.access(url, Cell::ANONYMOUS)?
        };
        let opening = access.discover().map_err(SetupError::Discover)?;
        let endpoints = opening.endpoints().iter();
        for endpoint in endpoints.filter_map(|e| e.description.server_certificate.value.as_deref())
        {
            // What is no certificate is not trusted: opening says so then, and names it.
            for certificate in pki::Certificate::chain_from_der(endpoint).unwrap_or_default() {
                access.store.trust_certificate(&certificate)?;
            }
        }
        Ok(())
    }

    /// Tries one cell on a server.
    pub fn attempt(&self, url: &str, cell: Cell) -> Result<Outcome, SetupError> {
        let access = self.access(url, cell)?;
        let opening = match access.discover() {
            Ok(opening) => opening,
            Err(AccessError::NotOffered(_) | AccessError::User { .. }) => {
                return Ok(Outcome::NotOffered);
            }
            Err(error) => return Ok(Outcome::Tried(vec![connect(&error)])),
        };
        let complaints =
            everything(&access, &opening).unwrap_or_else(|error| vec![connect(&error)]);
        Ok(Outcome::Tried(complaints))
    }

    fn access(&self, url: &str, cell: Cell) -> Result<Access, SetupError> {
        let bad = |reason: String| SetupError::Url {
            url: url.to_owned(),
            reason,
        };
        let parsed: Url = url.parse().map_err(|e: UrlError| bad(e.to_string()))?;
        let security = cell.protection();
        let security = security
            .parse()
            .map_err(|e: load::access::UnknownSecurity| bad(e.to_string()))?;
        Ok(Access {
            security,
            user: self.credentials(cell),
            // Where a stack asks for a password in the clear, that is what is tried: it is the
            // well-known one of a server on loopback.
            plain_password: true,
            timeout: PATIENCE,
            ..Access::new(
                parsed,
                pki::Store::new(self.folder.path()),
                pki::make::Request::application("urn:uaperf:interop").dns("localhost"),
            )
        })
    }

    fn credentials(&self, cell: Cell) -> Credentials {
        let user = self.users.iter().find(|(kind, _)| *kind == cell.key());
        match cell.token {
            Token::Anonymous => Credentials::Anonymous,
            Token::UserName => Credentials::UserName {
                name: USER.0.to_owned(),
                password: USER.1.to_owned().into(),
            },
            Token::X509 => user.map_or(Credentials::Anonymous, |(_, user)| Credentials::X509 {
                certificate: user.certificate.clone(),
                key: user.key.clone(),
            }),
        }
    }
}

impl Cell {
    const ANONYMOUS: Self = Self {
        policy: Policy::None,
        mode: peers::Mode::None,
        token: Token::Anonymous,
    };
}

fn connect(error: &AccessError) -> Complaint {
    Complaint {
        work: Work::Connect,
        what: error.to_string(),
    }
}

/// All work in one session; one that is broken by what was done in it is replaced for the next.
fn everything(access: &Access, opening: &Opening) -> Result<Vec<Complaint>, AccessError> {
    let mut complaints = Vec::new();
    let mut open = Some(enter(access, opening)?);
    for work in Work::ALL {
        let mut target = match open.take() {
            Some(target) => target,
            None => enter(access, opening)?,
        };
        match work::carry_out(work, &mut target) {
            Ok(()) => open = Some(target),
            Err(error) => complaints.push(Complaint {
                work,
                what: error.to_string(),
            }),
        }
    }
    if let Some(target) = open
        && let Err(error) = target.session.close(&mut Steps::new())
    {
        complaints.push(connect(&error));
    }
    Ok(complaints)
}

fn enter(access: &Access, opening: &Opening) -> Result<Target, AccessError> {
    let mut session: Session = access.open(opening, &mut Steps::new())?;
    let about = ServerFacts::ask(&mut session).map_err(|error| AccessError::Call {
        step: load::transport::TransportStep::FirstRead,
        error,
    })?;
    Ok(Target::new(session, &about))
}
