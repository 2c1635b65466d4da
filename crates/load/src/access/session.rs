//! A session driven by calls that wait for their answers, on a thread of its own or, `…_in_turn`, as a task among others.

use std::io;
use std::time::{Duration, Instant};

use tracing::{debug, info};
use wire::channel::Protection;
use wire::client::Connection;
use wire::service::Service;
use wire::session::client::Config;
use wire::session::{self, Channel, Nonce};
use wire::types::{
    ApplicationDescription, ApplicationType, NodeId, ReadRequest, ReadResponse, ReadValueId,
    RequestHeader, TimestampsToReturn, VariableId,
};

use super::client_identities::Own;
use super::endpoint::profile_of;
use super::{Access, AccessError, Credentials, Opening};
use crate::transport::tasks::{aside, blocking};
use crate::transport::{CallError, Link, LinkError, Shell, Steps, Stream, TransportStep, random};

/// An active session on a link of its own.
#[derive(Debug)]
pub struct Session {
    link: Link,
    state: session::client::Session,
    token: NodeId,
}

impl Session {
    pub(super) async fn open(
        mut link: Link,
        access: &Access,
        client: usize,
        opening: &Opening,
        steps: &mut Steps,
    ) -> Result<Self, AccessError> {
        let start = Instant::now();
        let mut state = session::client::Session::new(
            config(access, opening.own(client), opening),
            channel(link.connection(), opening),
        );
        if let Some(certificate) = opening.vouched() {
            state.trust(certificate);
        }
        let request = state.create_request(nonce(), link.clock().now());
        let response = link.call_in_turn(&NodeId::null(), request).await;
        let verified = state.created(response.map_err(at(TransportStep::CreateSession))?)?;
        // What is not secured is not worth a helper.
        let is_cheap = link.connection().protection() == Protection::NONE
            && matches!(access.user_of(client), Credentials::Anonymous);
        let verified = match is_cheap {
            true => verified.run(),
            false => aside(move || verified.run()).await,
        };
        state.verified(verified)?;
        steps.push((TransportStep::CreateSession, start.elapsed()));
        debug!(
            channel = link.connection().channel_id(),
            session = %state.session_id(),
            timeout = ?state.timeout(),
            "session created"
        );
        let start = Instant::now();
        let request = state.activate(access.user_of(client), None, link.clock().now())?;
        let request = match is_cheap {
            true => request.run(),
            false => aside(move || request.run()).await,
        }?;
        let token = state.authentication_token();
        let response = link.call_in_turn(&token, request).await;
        state.activated(response.map_err(at(TransportStep::ActivateSession))?)?;
        steps.push((TransportStep::ActivateSession, start.elapsed()));
        info!(session = %state.session_id(), user = access.user_name(), "session activated");
        Ok(Self { link, state, token })
    }

    /// The server's name for it, by which its diagnostics list it.
    pub fn id(&self) -> NodeId {
        self.state.session_id()
    }

    /// Calls a service.
    pub fn call<S: Service>(&mut self, request: S) -> Result<S::Response, CallError> {
        blocking(self.call_in_turn(request))
    }

    /// The same for a task.
    pub async fn call_in_turn<S: Service>(&mut self, request: S) -> Result<S::Response, CallError> {
        self.state.requested(self.link.clock().now());
        self.link.call_in_turn(&self.token, request).await
    }

    /// Sends a request that is encoded already and waits for its encoded response. `write` is
    /// given where to append it, its handle and the time.
    pub fn exchange(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>, u32, i64),
    ) -> Result<Vec<u8>, CallError> {
        blocking(self.exchange_in_turn(write))
    }

    /// The same for a task.
    pub async fn exchange_in_turn(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>, u32, i64),
    ) -> Result<Vec<u8>, CallError> {
        self.state.requested(self.link.clock().now());
        self.link.exchange_in_turn(write).await
    }

    /// The smallest thing there is to read: the server's state.
    pub fn read_state(&mut self) -> Result<ReadResponse, CallError> {
        blocking(self.read_state_in_turn())
    }

    /// The same for a task.
    pub async fn read_state_in_turn(&mut self) -> Result<ReadResponse, CallError> {
        let node = NodeId::from(VariableId::Server_ServerStatus_State);
        let request = ReadRequest {
            request_header: Default::default(),
            max_age: 0.0,
            timestamps_to_return: TimestampsToReturn::Neither,
            nodes_to_read: Some(vec![ReadValueId::from(node)]),
        };
        self.call_in_turn(request).await
    }

    /// The link under it.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// How long the server keeps the session without a request.
    pub fn timeout(&self) -> Duration {
        // It was created, and the server granted one.
        self.state.timeout().unwrap_or_default()
    }

    /// A header for a request of this session.
    pub fn header(&mut self) -> RequestHeader {
        self.state.header(self.link.clock().now())
    }

    /// Takes socket and connection out, to be driven without blocking.
    pub fn take_apart(self) -> (Stream, Connection, DetachedSession) {
        let (socket, connection, shell) = self.link.take_apart();
        let detached = DetachedSession {
            shell,
            state: self.state,
            token: self.token,
        };
        (socket, connection, detached)
    }

    /// Renews the security token of its channel.
    pub fn renew(&mut self) -> Result<(), LinkError> {
        self.link.renew()
    }

    /// The same for a task.
    pub async fn renew_in_turn(&mut self) -> Result<(), LinkError> {
        self.link.renew_in_turn().await
    }

    /// How long each call from now on may take.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.link.set_timeout(timeout);
    }

    /// Gives back the memory that it does not need as long as nobody calls.
    pub fn rest(&mut self) {
        self.link.rest();
    }

    /// Closes the session and leaves its channel open.
    pub async fn end_in_turn(mut self) -> (Link, Result<(), CallError>) {
        let request = self.state.close_request(true, self.link.clock().now());
        let ended = self.link.call_in_turn(&self.token, request).await;
        (self.link, ended.map(drop))
    }

    /// Closes session, channel and socket. Whether the server minds being left is of no interest.
    pub fn leave(self) {
        blocking(self.leave_in_turn());
    }

    /// The same for a task.
    pub async fn leave_in_turn(self) {
        let _ = self.close_in_turn(&mut Steps::new()).await;
    }

    /// The same within a time; says whether the server was there to hear it.
    pub(super) async fn leave_within(mut self, most: Duration) -> bool {
        let patience = self.link.timeout().min(most);
        self.link.set_timeout(patience);
        let began = Instant::now();
        let closed = self.close_in_turn(&mut Steps::new()).await;
        closed.is_ok() || began.elapsed() < patience
    }

    /// Closes session, channel and socket.
    pub fn close(self, steps: &mut Steps) -> Result<(), AccessError> {
        blocking(self.close_in_turn(steps))
    }

    /// The same for a task.
    pub async fn close_in_turn(mut self, steps: &mut Steps) -> Result<(), AccessError> {
        let start = Instant::now();
        let request = self.state.close_request(true, self.link.clock().now());
        let closed = self.link.call_in_turn(&self.token, request).await;
        closed.map_err(at(TransportStep::Close))?;
        self.link.close_in_turn().await?;
        steps.push((TransportStep::Close, start.elapsed()));
        info!(session = %self.state.session_id(), "session closed");
        Ok(())
    }
}

/// A session without its socket and connection.
#[derive(Debug)]
pub struct DetachedSession {
    shell: Shell,
    state: session::client::Session,
    token: NodeId,
}

impl DetachedSession {
    /// The server's name for the session, by which its diagnostics list it.
    pub fn id(&self) -> NodeId {
        self.state.session_id()
    }

    /// The token by which the server knows the session.
    pub fn token(&self) -> &NodeId {
        &self.token
    }

    /// Activates the session over another link.
    pub(super) async fn resume(
        mut self,
        mut link: Link,
        access: &Access,
        client: usize,
        opening: &Opening,
        steps: &mut Steps,
    ) -> Result<Session, AccessError> {
        let start = Instant::now();
        self.state.move_to(channel(link.connection(), opening))?;
        let now = link.clock().now();
        let request = self.state.activate(access.user_of(client), None, now)?;
        let request = aside(move || request.run()).await?;
        let response = link.call_in_turn(&self.token, request).await;
        self.state
            .activated(response.map_err(at(TransportStep::ActivateSession))?)?;
        steps.push((TransportStep::ActivateSession, start.elapsed()));
        info!(session = %self.state.session_id(), "session activated over another channel");
        Ok(Session {
            link,
            state: self.state,
            token: self.token,
        })
    }

    /// A whole session again.
    pub fn put_together(self, socket: Stream, connection: Connection) -> io::Result<Session> {
        Ok(Session {
            link: self.shell.put_together(socket, connection)?,
            state: self.state,
            token: self.token,
        })
    }
}

fn at(step: TransportStep) -> impl Fn(CallError) -> AccessError {
    move |error| AccessError::Call { step, error }
}

fn nonce() -> Nonce {
    let mut nonce = Nonce::default();
    random()(&mut nonce);
    nonce
}

fn channel(connection: &Connection, opening: &Opening) -> Channel {
    let protection = connection.protection();
    Channel {
        id: connection.channel_id(),
        protection,
        peer: opening
            .endpoint()
            .certificate()
            .filter(|_| opening.is_secured()),
    }
}

fn config(access: &Access, own: &Own, opening: &Opening) -> Config {
    let application = ApplicationDescription {
        application_uri: own.application_uri.as_str().into(),
        application_name: own.name.as_str().into(),
        product_uri: "urn:uaperf".into(),
        application_type: ApplicationType::Client,
        ..Default::default()
    };
    let discovered = opening.endpoints.iter().map(|e| e.description.clone());
    Config {
        name: own.name.clone(),
        timeout: access.session_timeout,
        identity: own.identity.clone(),
        discovered: Some(discovered.collect()),
        allow_plain_secrets: access.plain_password,
        profile: profile_of(&access.url, access.json),
        // As typed: some servers insist on a name they know, and the user has typed one.
        ..Config::new(application, access.url.to_string())
    }
}
