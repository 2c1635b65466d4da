//! The client of one session: from its hello to the end of its channel.

use std::sync::Arc;

use plan::Random;
use wire::certificate::Certificate;
use wire::channel::Protection;
use wire::client::{self, Connection, Event};
use wire::service::{Limits, Request, Response, Service};
use wire::session::Channel;
use wire::session::client::{Config, Session, Verified};
use wire::types::{
    ActivateSessionRequest, AttributeId, CreateSessionResponse, GetEndpointsRequest, NodeId,
    ReadRequest, ReadResponse, ReadValueId, RequestHeader,
};

use super::{Client, Server, fill, now};
use crate::protocol::costs::Costs;
use crate::protocol::course::ProtocolStep;

/// What is done after some time.
pub enum Task {
    /// The channel's work with keys.
    Channel(client::Done),
    /// The server's signature was checked.
    Created(Verified),
    /// The request to activate is signed.
    Activation(Box<ActivateSessionRequest>),
}

/// A task, with what it costs and how long it waits for others before.
pub type Todo = (f64, f64, Task);

/// A connection that is there.
pub struct Opened {
    /// It is for GetEndpoints.
    pub discovers: bool,
    /// The channel that is there without a word, if that is so.
    pub shared_channel: Option<u32>,
    /// What was done for it.
    pub steps: Vec<(ProtocolStep, u64, u64)>,
    /// When it began.
    pub began: u64,
    /// When it was there.
    pub at: u64,
}

/// A client at work.
#[derive(Debug)]
pub struct Caller {
    client: Arc<Client>,
    connection: Connection,
    session: Option<Session>,
    server: Option<Certificate>,
    endpoints: Vec<wire::types::EndpointDescription>,
    random: Random,
    costs: Costs,
    /// On a connection of its own for GetEndpoints.
    discovers: bool,
    /// The channel is there without a word.
    shares: bool,
    doing: ProtocolStep,
    began: u64,
    /// How much of opening the channel was judging a certificate.
    checked: u64,
    /// Whether the next job of the connection seals a chunk; else it opens one.
    seals: bool,
    reads: u32,
    steps: Vec<(ProtocolStep, u64, u64)>,
    ended: bool,
    failed: Option<String>,
}

impl Caller {
    /// A client whose connection is there.
    pub fn new(
        client: &Arc<Client>,
        server: &Server,
        costs: Costs,
        way: Opened,
        mut random: Random,
    ) -> Self {
        let Opened {
            discovers,
            shared_channel,
            steps,
            at: time,
            ..
        } = way;
        let protection = if discovers {
            Protection::NONE
        } else {
            client.protection
        };
        let identity = server.session.identities.of(client.protection.policy);
        let certificate = identity.map(|it| it.certificate.clone());
        let is_secured = protection != Protection::NONE;
        let mut nonces = Random::new(random.next_u64());
        let config = client::Config {
            protection,
            identity: client.identity.clone().filter(|_| is_secured),
            server: certificate.clone().filter(|_| is_secured),
            timeout: client.timeout,
            shared_channel,
            ..client::Config::new(
                client.url.clone(),
                Box::new(move |bytes| fill(&mut nonces, bytes)),
            )
        };
        Self {
            client: Arc::clone(client),
            connection: Connection::new(config, now(time)),
            session: None,
            server: certificate,
            endpoints: server.session.endpoints.clone(),
            random,
            costs,
            discovers,
            shares: shared_channel.is_some(),
            doing: match (discovers, shared_channel) {
                (true, _) => ProtocolStep::Discover,
                (_, None) => ProtocolStep::Hello,
                (_, Some(_)) => ProtocolStep::CreateSession,
            },
            began: match discovers {
                true => way.began,
                false => time,
            },
            checked: 0,
            seals: true,
            reads: 0,
            steps: match discovers {
                true => Vec::new(),
                false => steps,
            },
            ended: false,
            failed: None,
        }
    }

    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    pub fn doing(&self) -> ProtocolStep {
        self.doing
    }

    /// Whether nothing follows but what waits to be written.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Whether it gave up.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// What was done, and why nothing more was.
    pub fn finish(self) -> (Vec<(ProtocolStep, u64, u64)>, Option<String>) {
        (self.steps, self.failed)
    }

    /// The last bytes were written.
    pub fn wrote_last(&mut self, time: u64) {
        if self.failed.is_some() {
            return;
        }
        if self.discovers {
            self.done(ProtocolStep::Discover, ProtocolStep::Discover, time);
        } else if !self.shares {
            self.done(ProtocolStep::CloseChannel, ProtocolStep::CloseChannel, time);
        }
    }

    /// Gives up.
    pub fn fail(&mut self, why: String) {
        if !self.ended {
            self.failed = Some(format!("{}: {why}", self.doing.name()));
            self.ended = true;
        }
    }

    fn done(&mut self, step: ProtocolStep, next: ProtocolStep, time: u64) {
        self.steps.push((step, self.began, time - self.began));
        (self.began, self.doing) = (time, next);
    }

    /// Deadlines are looked at.
    pub fn let_time_pass(&mut self, time: u64) {
        self.connection.handle_timeout(now(time));
    }

    /// Deals with all that has come; what follows from it later.
    pub fn advance(&mut self, time: u64, todo: &mut Vec<Todo>) {
        while let Some(event) = self.connection.poll_event(now(time)) {
            match event {
                Event::Acknowledged(_) if !self.discovers => {
                    self.done(ProtocolStep::Hello, ProtocolStep::OpenChannel, time);
                }
                Event::Opened { renewed: false, .. } => self.opened(time),
                Event::Response { body, .. } => {
                    let body = body.to_vec();
                    if let Err(why) = self.response(&body, time, todo) {
                        self.fail(why);
                    }
                }
                Event::Aborted { error, .. } => {
                    let why = format!("the server gave its answer up: {}", error.status);
                    self.fail(why);
                }
                Event::TimedOut(_) => self.fail("no answer in time".to_owned()),
                Event::Closed(error) => self.fail(error.to_string()),
                _ => {}
            }
        }
        if let Some(job) = self.connection.poll_job() {
            let (mut cost, mut wait) = (0.0, 0.0);
            let seals = self.seals;
            self.seals = !seals;
            if seals {
                cost = self.costs.sign + self.costs.check;
                wait = self.costs.ask;
                if self.doing == ProtocolStep::OpenChannel {
                    self.checked = (self.costs.check + self.costs.ask) as u64;
                    let check = (ProtocolStep::CheckCertificate, self.began, self.checked);
                    self.steps.push(check);
                    self.began += self.checked;
                }
            }
            todo.push((cost, wait, Task::Channel(job.run())));
        }
    }

    /// A task is done.
    pub fn did(&mut self, task: Task, time: u64, todo: &mut Vec<Todo>) {
        match task {
            Task::Channel(done) => self.connection.complete(done, now(time)),
            Task::Created(verified) => {
                match self.session.as_mut().map(|it| it.verified(verified)) {
                    Some(Err(error)) => self.fail(error.to_string()),
                    _ => self.activate(time, todo),
                }
            }
            Task::Activation(request) => self.send(*request, time),
        }
    }

    fn is_secured(&self) -> bool {
        self.connection.protection() != Protection::NONE
    }

    fn opened(&mut self, time: u64) {
        if self.discovers {
            let url = self.client.url.as_str().into();
            let request = GetEndpointsRequest {
                endpoint_url: url,
                ..Default::default()
            };
            return self.send(request, time);
        }
        if !self.shares {
            self.done(ProtocolStep::OpenChannel, ProtocolStep::CreateSession, time);
        }
        let config = Config {
            name: self.client.session_name.clone(),
            identity: self.client.identity.clone().filter(|_| self.is_secured()),
            discovered: Some(self.endpoints.clone()),
            allow_plain_secrets: true,
            ..Config::new(self.client.application.clone(), self.client.url.clone())
        };
        let channel = Channel {
            id: self.connection.channel_id(),
            protection: self.connection.protection(),
            peer: self.server.clone().filter(|_| self.is_secured()),
        };
        let mut session = Session::new(config, channel);
        if let Some(certificate) = &self.server {
            session.trust(certificate.clone());
        }
        let mut nonce = [0; wire::session::NONCE_LEN];
        fill(&mut self.random, &mut nonce);
        let request = session.create_request(nonce, now(time));
        self.session = Some(session);
        self.send(request, time);
    }

    fn send<S: Service>(&mut self, request: S, time: u64) {
        let mut request: Request = request.into();
        let time = now(time);
        let token = self.session.as_ref().map(Session::authentication_token);
        let hint = self.client.timeout.as_millis();
        *request.header_mut() = RequestHeader {
            authentication_token: token.unwrap_or_else(NodeId::null),
            timestamp: time.utc.into(),
            timeout_hint: u32::try_from(hint).unwrap_or(u32::MAX),
            ..request.header().clone()
        };
        let mut encoded = Ok(());
        let sent = self
            .connection
            .send(time.mono + self.client.timeout, |out, handle| {
                request.header_mut().request_handle = handle;
                encoded = request.encode(out);
            });
        if let Err(error) = sent {
            self.fail(error.to_string());
        }
        if let Err(error) = encoded {
            self.fail(error.to_string());
        }
    }

    fn response(&mut self, body: &[u8], time: u64, todo: &mut Vec<Todo>) -> Result<(), String> {
        let most = self.connection.limits().receive_message as usize;
        let response = Response::decode(body, &Limits::for_message_size(most))
            .map_err(|error| error.to_string())?;
        match (response, self.doing) {
            (Response::GetEndpoints(_), ProtocolStep::Discover) => self.leave(time),
            (Response::CreateSession(response), ProtocolStep::CreateSession) => {
                self.created(response, todo)?;
            }
            (Response::ActivateSession(response), ProtocolStep::ActivateSession) => {
                let session = self.session.as_mut().ok_or("no session")?;
                session
                    .activated(response)
                    .map_err(|error| error.to_string())?;
                self.done(ProtocolStep::ActivateSession, ProtocolStep::Read, time);
                self.read_or_close(time);
            }
            (response @ Response::Read(_), ProtocolStep::Read) => {
                let response: ReadResponse = response
                    .try_into()
                    .map_err(|error: wire::service::CallError| error.to_string())?;
                let got = response.results.unwrap_or_default().len();
                let want = self.client.reads.nodes.len();
                if got != want {
                    return Err(format!("{got} values (want {want})"));
                }
                self.done(ProtocolStep::Read, ProtocolStep::Read, time);
                self.reads += 1;
                self.read_or_close(time);
            }
            (Response::CloseSession(_), ProtocolStep::CloseSession) => {
                self.done(ProtocolStep::CloseSession, ProtocolStep::CloseChannel, time);
                self.leave(time);
            }
            (response, _) => {
                let status = response.header().service_result;
                return Err(format!("{} with {status}", response.name()));
            }
        }
        Ok(())
    }

    fn created(
        &mut self,
        response: CreateSessionResponse,
        todo: &mut Vec<Todo>,
    ) -> Result<(), String> {
        let session = self.session.as_mut().ok_or("no session")?;
        let job = session
            .created(response)
            .map_err(|error| error.to_string())?;
        let cost = match self.is_secured() {
            true => self.costs.verify,
            false => 0.0,
        };
        todo.push((cost, 0.0, Task::Created(job.run())));
        Ok(())
    }

    /// The session is there and checked: now the user.
    fn activate(&mut self, time: u64, todo: &mut Vec<Todo>) {
        self.done(
            ProtocolStep::CreateSession,
            ProtocolStep::ActivateSession,
            time,
        );
        let user = &self.client.user;
        let request = match self.session.as_mut() {
            Some(session) => match session.activate(user, None, now(time)) {
                Ok(job) => job.run(),
                Err(error) => Err(error),
            },
            None => return,
        };
        let mut cost = 0.0;
        if self.is_secured() {
            cost += self.costs.sign;
        }
        cost += match user {
            wire::session::token::Credentials::X509 { .. } => self.costs.sign,
            _ if user.is_secret() && self.server.is_some() => self.costs.encrypt,
            _ => 0.0,
        };
        match request {
            Ok(request) => todo.push((cost, 0.0, Task::Activation(Box::new(request)))),
            Err(error) => self.fail(error.to_string()),
        }
    }

    fn read_or_close(&mut self, time: u64) {
        if self.reads < self.client.reads.count {
            let reads = &self.client.reads;
            let nodes = reads.nodes.iter().map(|node| ReadValueId {
                attribute_id: AttributeId::Value as u32,
                ..ReadValueId::from(node.clone())
            });
            let request = ReadRequest {
                request_header: RequestHeader::default(),
                max_age: 0.0,
                timestamps_to_return: reads.timestamps,
                nodes_to_read: Some(nodes.collect()),
            };
            return self.send(request, time);
        }
        self.doing = ProtocolStep::CloseSession;
        if let Some(session) = &mut self.session {
            let request = session.close_request(true, now(time));
            self.send(request, time);
        }
    }

    fn leave(&mut self, time: u64) {
        self.connection.close(now(time));
        self.ended = true;
    }
}
