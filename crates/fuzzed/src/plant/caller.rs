//! A client of a server in memory: a channel without protection, and a session if it wants one.

use std::time::Duration;

use plant::in_memory::ClientEnd;
use wire::channel::{ChannelError, Protection};
use wire::client::{Config, Connection, Event, RequestId};
use wire::service::{Limits, Request, Response};
use wire::session::Channel;
use wire::session::client::{Config as SessionConfig, Session};
use wire::time::Now;
use wire::types::{
    ActivateSessionRequest, ApplicationDescription, ExtensionObject, NodeId, ReadRequest,
    ReadValueId, RequestHeader, StatusCode, TimestampsToReturn,
};

use super::served::Served;
use crate::keys::random;

const URL: &str = "opc.tcp://127.0.0.1:4840";
/// Turns until a client is answered that has a session, whatever others do: it is read in the first of them.
const TURNS: usize = 4;

/// The client.
pub struct Caller {
    /// The way to the server.
    pub end: ClientEnd,
    /// What it speaks over it.
    pub connection: Connection,
    /// Its session, if it has one.
    pub token: NodeId,
    /// The connection ended.
    pub closed: bool,
    /// It reads at most so many bytes at a time.
    pub appetite: usize,
    answers: Vec<(RequestId, Vec<u8>)>,
}

impl Caller {
    /// Comes to a server, and opens a channel. It takes answers of at most `longest` bytes.
    pub fn connect(server: &mut Served, room: usize, longest: u32) -> Self {
        let mut config = Config::new(URL, random(9));
        config.limits.receive_message = longest;
        config.lifetime = Duration::from_secs(3600);
        let mut caller = Self {
            end: server.connect(room),
            connection: Connection::new(config, server.now()),
            token: NodeId::null(),
            closed: false,
            appetite: usize::MAX,
            answers: Vec::new(),
        };
        for _ in 0..32 {
            if caller.connection.is_open() || caller.closed {
                break;
            }
            caller.exchange(server.now());
            server.turn();
        }
        caller
    }

    /// Writes what it has to say, and reads.
    pub fn exchange(&mut self, now: Now) {
        while let Some(job) = self.connection.poll_job() {
            self.connection.complete(job.run(), now);
        }
        self.connection.handle_timeout(now);
        let pending = self.connection.pending();
        if !pending.is_empty() {
            self.end.send(pending);
            let count = pending.len();
            self.connection.wrote(count);
        }
        let came = self.end.take(self.appetite);
        self.connection.receive(&came);
        if self.end.is_closed() && self.end.waiting() == 0 {
            self.connection.lost("the server closed it");
        }
        while let Some(event) = self.connection.poll_event(now) {
            match event {
                Event::Response { id, body } => self.answers.push((id, body.to_vec())),
                Event::Closed(error) => {
                    // Whatever was asked, what a server says is in order.
                    let in_order = matches!(
                        error,
                        ChannelError::Peer(_) | ChannelError::Timeout(_) | ChannelError::Closed
                    );
                    assert!(in_order, "the server said what cannot be read: {error}");
                    self.closed = true;
                }
                _ => {}
            }
        }
    }

    /// Sends a request as its session.
    pub fn ask(&mut self, now: Now, request: &mut Request) -> Option<RequestId> {
        request.header_mut().authentication_token = self.token.clone();
        self.say(now, |out, number| {
            request.header_mut().request_handle = number;
            // What cannot be encoded is cut off there.
            let _ = request.encode(out);
        })
    }

    /// Sends what `write` writes.
    pub fn say(&mut self, now: Now, write: impl FnOnce(&mut Vec<u8>, u32)) -> Option<RequestId> {
        let deadline = now.mono + Duration::from_secs(7200);
        self.connection.send(deadline, write).ok()
    }

    /// All that was answered, decoded one after the other: it is always possible.
    pub fn answers(&mut self) -> impl Iterator<Item = (RequestId, Response)> + use<> {
        let answers = std::mem::take(&mut self.answers).into_iter();
        let limits = Limits::default();
        answers.map(move |(id, body)| {
            let response = Response::decode(&body, &limits);
            (
                id,
                response.unwrap_or_else(|error| panic!("an answer: {error}")),
            )
        })
    }

    fn call(
        &mut self,
        server: &mut Served,
        mut request: Request,
        turns: usize,
    ) -> Option<Response> {
        let id = self.ask(server.now(), &mut request)?;
        for _ in 0..turns {
            self.exchange(server.now());
            server.turn();
            self.exchange(server.now());
            let mut answers = self.answers();
            if let Some((_, response)) = answers.find(|(answered, _)| *answered == id) {
                return Some(response);
            }
        }
        None
    }

    /// Makes a session, and activates it without a name if `whole`.
    pub fn log_in(&mut self, server: &mut Served, whole: bool) -> Option<()> {
        let application = ApplicationDescription {
            application_uri: "urn:test".into(),
            ..Default::default()
        };
        let channel = Channel {
            id: self.connection.channel_id(),
            protection: Protection::NONE,
            peer: None,
        };
        let config = SessionConfig {
            ..SessionConfig::new(application, URL.to_owned())
        };
        let mut session = Session::new(config, channel);
        let request = session.create_request([7; 32], server.now());
        let response = self.call(server, request.into(), 64)?;
        let Response::CreateSession(response) = response else {
            return None;
        };
        self.token = response.authentication_token.clone();
        if !whole {
            return None;
        }
        let request = ActivateSessionRequest {
            request_header: RequestHeader::default(),
            client_signature: Default::default(),
            client_software_certificates: None,
            locale_ids: None,
            user_identity_token: ExtensionObject::null(),
            user_token_signature: Default::default(),
        };
        match self.call(server, request.into(), 64)? {
            Response::ActivateSession(_) => Some(()),
            _ => None,
        }
    }

    /// Reads one value, as somebody with a session who has done no harm.
    pub fn is_answered(&mut self, server: &mut Served) {
        let request = ReadRequest {
            request_header: RequestHeader::default(),
            max_age: 0.0,
            timestamps_to_return: TimestampsToReturn::Both,
            nodes_to_read: Some(vec![ReadValueId {
                node_id: NodeId::new(0, 2256),
                attribute_id: 13,
                ..Default::default()
            }]),
        };
        let response = self.call(server, request.into(), TURNS);
        let Some(Response::Read(response)) = response else {
            panic!(
                "not answered in {TURNS} turns: {response:?}, {:?}",
                server.has()
            );
        };
        let result = &response.results.unwrap_or_default()[0];
        assert_eq!(result.status.unwrap_or(StatusCode::Good), StatusCode::Good);
    }
}
