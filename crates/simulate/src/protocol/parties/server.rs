//! The server's end of one connection.

use std::sync::Arc;

use plan::Random;
use wire::channel::Protection;
use wire::server::{self, Connection, Event, RequestId};
use wire::service::{Limits, Request, Response, fault, response_header};
use wire::session::Channel;
use wire::session::server::{Activation, Grant, Refusal, Session};
use wire::types::{
    ByteString, DataValue, GetEndpointsResponse, NodeId, ReadResponse, StatusCode, UserTokenType,
};

use super::{Server, fill, now};
use crate::protocol::costs::Costs;

/// What is done after some time.
pub enum Answer {
    /// The client's certificate was judged.
    Decided,
    /// The channel's work with keys.
    Channel(server::Done),
    /// A response is ready.
    Ready(RequestId, Box<Response>),
    /// The user is proven.
    Proven(RequestId, Box<Activation>),
}

/// An answer, with what it costs and how long it waits for others before.
pub type Todo = (f64, f64, Answer);

/// A server at work for one connection.
#[derive(Debug)]
pub struct Answering {
    server: Arc<Server>,
    value: DataValue,
    connection: Connection,
    session: Option<Session>,
    random: Random,
    costs: Costs,
    /// Whether the next job of the connection opens a chunk; else it seals one.
    opens: bool,
    number: u32,
    /// The channel is there without a word.
    shares: bool,
}

impl Answering {
    /// A connection came; it is this one of so many.
    pub fn new(
        server: &Arc<Server>,
        value: DataValue,
        costs: Costs,
        mut random: Random,
        number: u32,
        shared_channel: Option<u32>,
        time: u64,
    ) -> Self {
        let mut nonces = Random::new(random.next_u64());
        let config = server::Config {
            protections: server.protections.clone(),
            identities: server.session.identities.clone(),
            shared_channel: shared_channel.is_some(),
            ..server::Config::new(
                shared_channel.unwrap_or(number),
                Box::new(move |bytes| fill(&mut nonces, bytes)),
            )
        };
        Self {
            server: Arc::clone(server),
            value,
            connection: Connection::new(config, now(time)),
            session: None,
            random,
            costs,
            opens: true,
            number,
            shares: shared_channel.is_some(),
        }
    }

    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Deals with all that has come; what follows from it later.
    pub fn advance(&mut self, time: u64, todo: &mut Vec<Todo>) {
        while let Some(event) = self.connection.poll_event(now(time)) {
            match event {
                Event::Certificate { .. } => {
                    todo.push((self.costs.check, self.costs.ask, Answer::Decided));
                }
                Event::Request { id, body } => {
                    let body = body.to_vec();
                    self.request(id, &body, time, todo);
                }
                _ => {}
            }
        }
        if let Some(job) = self.connection.poll_job() {
            // Opening was paid for when the chunk came.
            let opens = self.opens;
            self.opens = !opens;
            let cost = match opens {
                true => 0.0,
                false => self.costs.sign,
            };
            todo.push((cost, 0.0, Answer::Channel(job.run())));
        }
    }

    /// An answer is there.
    pub fn did(&mut self, answer: Answer, time: u64) {
        match answer {
            Answer::Decided => self.connection.decide(Ok(()), now(time)),
            Answer::Channel(done) => self.connection.complete(done, now(time)),
            Answer::Ready(id, response) => self.respond(id, &response),
            Answer::Proven(id, activation) => {
                let mut nonce = [0; wire::session::NONCE_LEN];
                fill(&mut self.random, &mut nonce);
                let session = self.session.as_mut();
                let response = session.map(|it| it.activated(*activation, nonce, now(time)));
                if let Some(Ok(response)) = response {
                    self.respond(id, &response.into());
                }
            }
        }
    }

    fn respond(&mut self, id: RequestId, response: &Response) {
        let mut body = Vec::new();
        // What cannot be sent ends in the client's timeout.
        if response.encode(&mut body).is_ok() {
            let _ = self
                .connection
                .respond(id, |out| out.extend_from_slice(&body));
        }
    }

    fn request(&mut self, id: RequestId, body: &[u8], time: u64, todo: &mut Vec<Todo>) {
        let most = self.connection.limits().receive_message as usize;
        let Ok(request) = Request::decode(body, &Limits::for_message_size(most)) else {
            return;
        };
        let handle = request.header().request_handle;
        let answered = self.answer(id, request, time, todo);
        if let Err(status) = answered {
            self.respond(id, &fault(handle, status, now(time).utc));
        }
    }

    fn channel(&self) -> Channel {
        Channel {
            id: self.connection.channel_id(),
            protection: self.connection.protection(),
            peer: self.connection.peer().cloned(),
        }
    }

    fn answer(
        &mut self,
        id: RequestId,
        request: Request,
        time: u64,
        todo: &mut Vec<Todo>,
    ) -> Result<(), StatusCode> {
        let now = now(time);
        let is_secured = self.connection.protection() != Protection::NONE;
        let refused = |refusal: Refusal| refusal.status();
        match request {
            Request::GetEndpoints(request) => {
                let response = GetEndpointsResponse {
                    response_header: response_header(&request.request_header, now.utc),
                    endpoints: Some(self.server.session.endpoints.clone()),
                };
                self.respond(id, &response.into());
            }
            Request::CreateSession(request) => {
                // As long as those of the plant: inside HTTP the token alone says whose a session is.
                let mut secret = vec![0; if self.shares { 28 } else { 20 }];
                let mut nonce = [0; wire::session::NONCE_LEN];
                fill(&mut self.random, &mut secret);
                fill(&mut self.random, &mut nonce);
                let grant = Grant {
                    session_id: NodeId::new(1, self.number),
                    authentication_token: NodeId::new(0, ByteString::from(secret)),
                    nonce,
                };
                let config = &self.server.session;
                let (session, job) = Session::create(config, &request, self.channel(), grant, now)
                    .map_err(refused)?;
                self.session = Some(session);
                let response = job.run().map_err(refused)?;
                let cost = if is_secured { self.costs.sign } else { 0.0 };
                todo.push((cost, 0.0, Answer::Ready(id, Box::new(response.into()))));
            }
            Request::ActivateSession(request) => {
                let channel = self.channel();
                let session = self.session.as_ref();
                let session = session.ok_or(StatusCode::BadSessionIdInvalid)?;
                let job = session.activate(&request, channel, now).map_err(refused)?;
                let activation = job.run().map_err(refused)?;
                let mut cost = if is_secured { self.costs.verify } else { 0.0 };
                cost += match kind(&activation) {
                    UserTokenType::Certificate => self.costs.verify,
                    UserTokenType::UserName if !self.server.session.identities.is_empty() => {
                        self.costs.decrypt
                    }
                    _ => 0.0,
                };
                todo.push((cost, 0.0, Answer::Proven(id, Box::new(activation))));
            }
            Request::Read(request) => {
                let session = self.session.as_mut();
                let session = session.ok_or(StatusCode::BadSessionIdInvalid)?;
                session
                    .request(self.connection.channel_id(), now)
                    .map_err(refused)?;
                let count = request.nodes_to_read.map_or(0, |nodes| nodes.len());
                let response = ReadResponse {
                    response_header: response_header(&request.request_header, now.utc),
                    results: Some(vec![self.value.clone(); count]),
                    diagnostic_infos: None,
                };
                self.respond(id, &response.into());
            }
            Request::CloseSession(request) => {
                let session = self.session.as_mut();
                let session = session.ok_or(StatusCode::BadSessionIdInvalid)?;
                let response = session
                    .close(&request, self.connection.channel_id(), now)
                    .map_err(refused)?;
                self.respond(id, &response.into());
            }
            _ => return Err(StatusCode::BadServiceUnsupported),
        }
        Ok(())
    }
}

fn kind(activation: &Activation) -> UserTokenType {
    use wire::session::token::UserIdentity;
    match activation.user() {
        UserIdentity::X509 { .. } => UserTokenType::Certificate,
        UserIdentity::UserName { .. } => UserTokenType::UserName,
        _ => UserTokenType::Anonymous,
    }
}
