//! Another OPC UA server that is asked whether certificates were revoked: CheckRevocationStatus of a certificate manager
//! (Part 12, 7.9.11).

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pki::{Checked, Moment};
use revocation::{CertificateManager, LATE};
use tracing::debug;
use wire::policy::Policy;
use wire::types::{
    BrowsePath, BrowsePathResult, ByteString, CallMethodRequest, CallMethodResult, CallRequest,
    DateTime, NodeId, ObjectId, QualifiedName, ReadRequest, ReadValueId, ReferenceTypeId,
    RelativePath, RelativePathElement, StatusCode, TimestampsToReturn,
    TranslateBrowsePathsToNodeIdsRequest, VariableId, Variant,
};

use crate::access::{Access, AccessError, Session};
use crate::transport::{CallError, Steps, one_each};

const NAMESPACE: &str = "http://opcfoundation.org/UA/GDS/";
const DIRECTORY: &str = "Directory";
const METHOD: &str = "CheckRevocationStatus";

/// A certificate manager. Sessions with it are opened as they are needed, one for each who asks at the same time, and kept.
#[derive(Debug)]
pub struct Manager {
    access: Access,
    idle: Mutex<Vec<Open>>,
}

/// A session with it, and where its method is.
#[derive(Debug)]
struct Open {
    session: Session,
    directory: NodeId,
    method: NodeId,
}

/// Why it is not known what it thinks.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("{0}")]
    Call(#[from] CallError),
    // Part 12, 7.9.11: from an authenticated SecureChannel.
    #[error("it offers nothing that protects")]
    Unprotected,
    #[error("it has no {METHOD} (want a server with the namespace {NAMESPACE})")]
    NoMethod,
    #[error("{}", LATE)]
    Late,
}

type Answers = Vec<Result<Checked, String>>;

impl Manager {
    /// The one that is reached so. Nothing is opened before it is asked. It must not be asked whether its own certificate
    /// was revoked: of that the lists of the folder are to say enough.
    pub fn new(access: Access) -> Self {
        Self {
            access,
            idle: Mutex::default(),
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Open>> {
        // Nothing is left half done by a thread that panics.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, certificates: &[&[u8]], until: Instant) -> Result<Answers, AskError> {
        loop {
            // Not while it is held: others ask meanwhile.
            let kept = self.idle().pop();
            let was_kept = kept.is_some();
            let mut open = match kept {
                Some(open) => open,
                None => self.open(until)?,
            };
            if Instant::now() >= until {
                self.idle().push(open);
                return Err(AskError::Late);
            }
            let checked = open.check(certificates);
            match checked {
                Err(CallError::TimedOut(_)) => return Err(AskError::Late),
                // It ended meanwhile, by a restart, or because it was not used for long. So may have the others.
                Err(error) if was_kept && error.ends_session() => {
                    debug!(%error, "a session with the certificate manager ended");
                }
                checked => {
                    if !checked.as_ref().is_err_and(CallError::ends_session) {
                        self.idle().push(open);
                    }
                    return Ok(checked?);
                }
            }
        }
    }

    fn open(&self, until: Instant) -> Result<Open, AskError> {
        let in_time = || match Instant::now() < until {
            true => Ok(()),
            false => Err(AskError::Late),
        };
        let opening = self.access.discover()?;
        let chosen = opening.endpoint().protection;
        if chosen.is_none_or(|it| it.policy == Policy::None) {
            return Err(AskError::Unprotected);
        }
        in_time()?;
        Open::on(self.access.open(&opening, &mut Steps::new())?)
    }
}

impl CertificateManager for Manager {
    fn check(&self, certificates: &[&[u8]], until: Instant) -> Answers {
        let url = &self.access.url;
        match self.ask(certificates, until) {
            Ok(answers) => {
                let named = |answer: Result<_, _>| answer.map_err(|why| format!("{url}: {why}"));
                answers.into_iter().map(named).collect()
            }
            Err(error) => {
                let why = || Err(format!("{url}: {error}"));
                certificates.iter().map(|_| why()).collect()
            }
        }
    }
}

impl Drop for Manager {
    /// A server need not keep what nobody uses any more.
    fn drop(&mut self) {
        for open in std::mem::take(&mut *self.idle()) {
            let closed = open.session.close(&mut Steps::new());
            // One that does not answer does not answer to the next one either.
            if let Err(AccessError::Call { error, .. }) = closed
                && matches!(error, CallError::TimedOut(_))
            {
                return;
            }
        }
    }
}

impl Open {
    /// Looks for the method. A session without one is closed again.
    fn on(mut session: Session) -> Result<Self, AskError> {
        match find(&mut session) {
            Ok((directory, method)) => Ok(Self {
                session,
                directory,
                method,
            }),
            Err(error) => {
                if !matches!(&error, AskError::Call(error) if error.ends_session()) {
                    session.leave();
                }
                Err(error)
            }
        }
    }

    /// Asks for all of them at once, or one after the other where it takes one call only.
    fn check(&mut self, certificates: &[&[u8]]) -> Result<Answers, CallError> {
        match self.check_together(certificates) {
            Err(error)
                if error.status() == StatusCode::BadTooManyOperations && certificates.len() > 1 =>
            {
                let mut answers = Vec::new();
                for certificate in certificates.chunks(1) {
                    answers.extend(self.check_together(certificate)?);
                }
                Ok(answers)
            }
            checked => checked,
        }
    }

    fn check_together(&mut self, certificates: &[&[u8]]) -> Result<Answers, CallError> {
        let one = |certificate: &&[u8]| CallMethodRequest {
            object_id: self.directory.clone(),
            method_id: self.method.clone(),
            input_arguments: Some(vec![Variant::from(ByteString::from(certificate.to_vec()))]),
        };
        let response = self.session.call(CallRequest {
            request_header: Default::default(),
            methods_to_call: Some(certificates.iter().map(one).collect()),
        })?;
        // An answer that may be another certificate's is none.
        let results = one_each(response.results, certificates.len())?;
        Ok(results.into_iter().map(checked).collect())
    }
}

/// The directory of certificate managers, and its method.
fn find(session: &mut Session) -> Result<(NodeId, NodeId), AskError> {
    let namespace = namespace(session)?.ok_or(AskError::NoMethod)?;
    let path = |names: &[&str]| BrowsePath {
        starting_node: ObjectId::ObjectsFolder.into(),
        relative_path: RelativePath {
            elements: Some(names.iter().map(|name| below(namespace, name)).collect()),
        },
    };
    let response = session.call(TranslateBrowsePathsToNodeIdsRequest {
        request_header: Default::default(),
        browse_paths: Some(vec![path(&[DIRECTORY]), path(&[DIRECTORY, METHOD])]),
    })?;
    let results = one_each(response.results, 2).map_err(CallError::from)?;
    let mut found = results.into_iter().map(target);
    let both = found.next().flatten().zip(found.next().flatten());
    both.ok_or(AskError::NoMethod)
}

/// The index of the namespace in which certificate managers are described.
fn namespace(session: &mut Session) -> Result<Option<u16>, CallError> {
    let node = NodeId::from(VariableId::Server_NamespaceArray);
    let response = session.call(ReadRequest {
        request_header: Default::default(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(vec![ReadValueId::from(node)]),
    })?;
    let value = one_each(response.results, 1)?.into_iter().next();
    let Some(Variant::Array(list)) = value.and_then(|it| it.value) else {
        return Ok(None);
    };
    let is_it = |it: &Variant| matches!(it, Variant::String(uri) if uri.as_ref() == NAMESPACE);
    let index = list.values.iter().position(is_it);
    Ok(index.and_then(|index| u16::try_from(index).ok()))
}

fn below(namespace: u16, name: &str) -> RelativePathElement {
    RelativePathElement {
        reference_type_id: ReferenceTypeId::HierarchicalReferences.into(),
        is_inverse: false,
        include_subtypes: true,
        target_name: QualifiedName::new(namespace, name),
    }
}

fn target(result: BrowsePathResult) -> Option<NodeId> {
    let target = result.targets?.into_iter().next()?;
    // It is in this server, and the path was followed to its end.
    (result.status_code.is_good() && target.remaining_path_index == u32::MAX)
        .then_some(target.target_id.node_id)
}

fn checked(result: CallMethodResult) -> Result<Checked, String> {
    if !result.status_code.is_good() {
        return Err(format!("{METHOD} failed: {}", result.status_code));
    }
    match result.output_arguments.as_deref() {
        Some([Variant::StatusCode(status), Variant::DateTime(until)]) => Ok(Checked {
            status: status.bits(),
            until: moment(until),
        }),
        _ => Err(format!(
            "{METHOD} gave something else than a status and a time"
        )),
    }
}

/// DateTime.MinValue is that it is not known.
fn moment(time: &DateTime) -> Option<Moment> {
    const TICKS: i64 = 10_000_000;
    /// From 1601 to 1970.
    const SECONDS: i64 = 11_644_473_600;
    let ticks = time.ticks();
    (ticks > 0).then(|| Moment::from_unix(ticks / TICKS - SECONDS))
}
