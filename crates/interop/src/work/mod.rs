//! What is done in a session, one file each; all of it checked by value.

mod browse;
mod call;
mod read;
mod subscribe;
mod write;

use load::access::{ServerFacts, Session};
use load::transport::CallError;
use peers::bench::NAMESPACE;
use thiserror::Error;
use wire::types::{NodeId, StatusCode};

use crate::cell::Work;

/// A session on a server with the bench address space, and what matters of its limits.
#[derive(Debug)]
pub(crate) struct Target {
    pub session: Session,
    /// The index of `urn:bench`; nothing if the server does not have it.
    namespace: Option<u16>,
    nodes_per_read: usize,
}

impl Target {
    pub fn new(session: Session, about: &ServerFacts) -> Self {
        let namespace = about.namespaces.iter().position(|uri| uri == NAMESPACE);
        let declared = about.limit("MaxNodesPerRead");
        Self {
            session,
            namespace: namespace.and_then(|index| u16::try_from(index).ok()),
            nodes_per_read: declared.map_or(500, |limit| limit as usize).clamp(1, 500),
        }
    }

    fn namespace(&self) -> Result<u16, WorkError> {
        self.namespace.ok_or(WorkError::NoNamespace)
    }

    fn node(&self, id: u32) -> Result<NodeId, WorkError> {
        Ok(NodeId::new(self.namespace()?, id))
    }
}

/// What did not go as it should.
#[derive(Debug, Error)]
pub(crate) enum WorkError {
    /// There is no bench address space.
    #[error("the server has no namespace {NAMESPACE}")]
    NoNamespace,
    /// A call failed.
    #[error("{service}{}: {error}", .about.map(|id| format!(" of i={id}")).unwrap_or_default())]
    Call {
        service: &'static str,
        about: Option<u32>,
        error: CallError,
    },
    /// One operation of a call failed.
    #[error("{what} is {status}")]
    Status { what: String, status: StatusCode },
    /// There are fewer or more results than operations.
    #[error("{service} gave {got} results (want {want})")]
    Count {
        service: &'static str,
        got: usize,
        want: usize,
    },
    /// Something is not what it should be.
    #[error("{what} is {got} (want {want})")]
    Value {
        what: String,
        got: String,
        want: String,
    },
}

impl WorkError {
    fn value(what: impl Into<String>, got: impl Into<String>, want: impl Into<String>) -> Self {
        Self::Value {
            what: what.into(),
            got: got.into(),
            want: want.into(),
        }
    }
}

fn during(service: &'static str) -> impl Fn(CallError) -> WorkError {
    move |error| WorkError::Call {
        service,
        about: None,
        error,
    }
}

/// The results, if there are as many as there were operations.
fn results<T>(
    service: &'static str,
    results: Option<Vec<T>>,
    want: usize,
) -> Result<Vec<T>, WorkError> {
    let results = results.unwrap_or_default();
    match results.len() == want {
        true => Ok(results),
        false => Err(WorkError::Count {
            service,
            got: results.len(),
            want,
        }),
    }
}

/// The only result.
fn only<T>(service: &'static str, list: Option<Vec<T>>) -> Result<T, WorkError> {
    let none = WorkError::Count {
        service,
        got: 0,
        want: 1,
    };
    results(service, list, 1)?.pop().ok_or(none)
}

fn good(what: impl Into<String>, status: StatusCode) -> Result<(), WorkError> {
    match status.is_good() {
        true => Ok(()),
        false => Err(WorkError::Status {
            what: what.into(),
            status,
        }),
    }
}

pub(crate) fn carry_out(work: Work, target: &mut Target) -> Result<(), WorkError> {
    match work {
        // Having come here is it.
        Work::Connect => Ok(()),
        Work::Read => read::everything(target),
        Work::Write => write::two_and_restore(target),
        Work::Browse => browse::everything(target),
        Work::Call => call::echo(target),
        Work::Subscribe => subscribe::count(target),
    }
}
