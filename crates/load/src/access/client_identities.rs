//! Simulated clients that are not all the same application: each has an application URI, a certificate
//! and a user of its own.
//!
//! Clients are counted with each server: session 7 with any of them is client 7. So what a server trusts
//! stays as it is when other servers are loaded beside it. What is done beside the load, such as looking at
//! a server before it, is done as the first client: whoever trusts the clients trusts all that comes.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use pki::store::{Keys, Wanted};
use pki::{KeyKind, Moment, Store};
use wire::channel::Identity;
use wire::session::token::Credentials;

use super::{AccessError, identity};

/// A simulated client.
#[derive(Debug, Clone)]
pub struct Client {
    /// Its name, and what its certificate says if it has to be made first.
    pub wanted: Wanted,
    /// The user that it logs in.
    pub user: Credentials,
}

/// Told how many certificates are made and of how many; says whether to go on.
type GoOn = dyn Fn(usize, usize) -> bool + Send + Sync;

/// All simulated clients, the same with all servers.
pub struct ClientIdentities {
    clients: Vec<Client>,
    go_on: Box<GoOn>,
    /// Found or made for the last server that wanted other keys than the one before.
    made: Mutex<Option<(KeyKind, Arc<[Own]>)>>,
}

impl fmt::Debug for ClientIdentities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientIdentities")
            .field("clients", &self.clients)
            .finish_non_exhaustive()
    }
}

/// The application that opens a session.
#[derive(Debug, Clone)]
pub(super) struct Own {
    /// For readers.
    pub name: String,
    pub application_uri: String,
    /// None where nothing is signed.
    pub identity: Option<Identity>,
}

impl ClientIdentities {
    /// `go_on` is told how many certificates are made, and of how many, and says whether to go on.
    pub fn new(
        clients: Vec<Client>,
        go_on: impl Fn(usize, usize) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            clients,
            go_on: Box::new(go_on),
            made: Mutex::default(),
        }
    }

    /// The clients.
    pub fn clients(&self) -> &[Client] {
        &self.clients
    }

    /// Where their certificates are.
    pub fn folder(store: &Store) -> PathBuf {
        store.each()
    }

    pub(super) fn user(&self, client: usize) -> Option<&Credentials> {
        self.clients.get(client).map(|client| &client.user)
    }

    /// The applications for an endpoint without security.
    pub(super) fn bare(&self) -> Arc<[Own]> {
        let bare = |client: &Client| Own {
            name: name(&client.wanted),
            application_uri: uri(&client.wanted),
            identity: None,
        };
        self.clients.iter().map(bare).collect()
    }

    /// The applications with their certificates.
    pub(super) fn certified(
        &self,
        store: &Store,
        kind: KeyKind,
        now: Moment,
    ) -> Result<Arc<[Own]>, AccessError> {
        let Ok(mut made) = self.made.lock() else {
            return Err(AccessError::Own("another thread failed over it".into()));
        };
        if let Some((of, made)) = &*made
            && of.curve() == kind.curve()
        {
            return Ok(Arc::clone(made));
        }
        let wanted: Vec<Wanted> = self.clients.iter().map(|it| it.wanted.clone()).collect();
        let found = store.own_each(&wanted, Keys::Each(kind), now, &*self.go_on)?;
        let own = |(wanted, found): (&Wanted, pki::Identity)| {
            let file = found.path.as_deref().unwrap_or(store.folder()).display();
            Ok(Own {
                name: name(wanted),
                // Part 4, 7.2: the description says what the certificate says, whoever made it.
                application_uri: found
                    .application_uri()
                    .map_or_else(|| uri(wanted), str::to_owned),
                identity: Some(
                    identity(&found)
                        .map_err(|error| AccessError::Own(format!("{file}: {error}")))?,
                ),
            })
        };
        let all: Result<Arc<[Own]>, AccessError> = wanted.iter().zip(found).map(own).collect();
        let all = all?;
        *made = Some((kind, Arc::clone(&all)));
        Ok(all)
    }
}

fn name(wanted: &Wanted) -> String {
    format!("uaperf {}", wanted.name)
}

fn uri(wanted: &Wanted) -> String {
    // Requests for applications are made with one.
    let uri = wanted.request.application_uri();
    uri.unwrap_or_default().to_owned()
}
