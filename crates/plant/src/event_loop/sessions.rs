//! Sessions of a loop: created, activated, used.

use std::sync::Arc;

use tracing::{debug, info};
use wire::channel::Protection;
use wire::job::Job;
use wire::server::RequestId;
use wire::session::server::{Activation, Grant, Refusal};
use wire::session::{Channel, NONCE_LEN, server};
use wire::template::walk::{RawNodeId, RequestHead, type_id};
use wire::time::Now;
use wire::types::{
    ActivateSessionRequest, AnonymousIdentityToken, CreateSessionRequest, CreateSessionResponse,
    StatusCode, X509IdentityToken,
};

use super::between_loops::{Caller, ForeignActivation, Welcome};
use super::connection_state::HelperTask;
use super::connections::Cost;
use super::link::Link;
use super::{Account, EventLoop, Mail, PendingRequest, Post, Responder, SlotId, user};
use crate::advertise;
use crate::diagnostics::SessionRecord;
use crate::diagnostics::session_node;
use crate::endpoints::token_policy;
use crate::refused::Who;
use crate::service::session::Session;
use crate::session::{Claim, MORE_LEN, Owner, SECRET_LEN, SessionKey};
use crate::shared::random;
use crate::space;
use crate::space::Rights;
use crate::space::event::{Audit, EventKind, Field};
use crate::trust::TrustPolicy;

impl EventLoop {
    /// Where a request over HTTPS goes on, if its session lives in another loop: any connection may be used for any session
    /// (Part 6, 7.4.1). One on which Publish requests or subscriptions on their way are waited for in this loop stays with them.
    pub(super) fn way_over(
        &self,
        link: SlotId,
        head: &RequestHead<'_>,
    ) -> Result<Option<Post>, StatusCode> {
        let shared = self.responder.connections.is_shared(link);
        let creates = head.type_id == type_id::CREATE_SESSION_REQUEST;
        if !shared || creates || self.acceptor.leads {
            return Ok(None);
        }
        let Some(home) = self
            .loops
            .home_of(head.authentication_token, &self.shared.homes)
        else {
            return Ok(None);
        };
        let sessions = self.responder.store.sessions.ids().into_iter();
        let mut sessions = sessions.filter_map(|id| self.responder.store.sessions.get(id));
        let waits = |session: &Session| session.requests.iter().any(|it| it.asked.link == link);
        match sessions.any(waits) || self.moves.has_over(link) {
            true => Err(StatusCode::BadTooManyOperations),
            false => Ok(Some(home)),
        }
    }

    pub(super) fn create_session(
        &mut self,
        link: SlotId,
        id: RequestId,
        request: &CreateSessionRequest,
    ) -> Result<(), StatusCode> {
        short(request)?;
        let there = self.responder.connections.links.get(link);
        let there = there.ok_or(StatusCode::BadSecureChannelClosed)?;
        let channel = there.channel(&self.shared)?;
        let cost = match channel.peer {
            None => Cost::Nothing,
            Some(_) => Cost::Work,
        };
        let counters = Arc::clone(&self.shared.counters);
        let limit = self.shared.config.limits.sessions;
        if !counters.sessions.admit(limit) {
            let made_room = self.responder.end_oldest_unused();
            if !made_room {
                // Who comes next finds room then.
                self.loops.tell_others(|| Mail::MakeRoom);
            }
            if !made_room || !counters.sessions.admit(limit) {
                counters.rejected_sessions.add(1);
                let status = StatusCode::BadTooManySessions;
                self.responder.audit_creation(link, request, status);
                return Err(status);
            }
        }
        let (mut secret, mut more) = ([0; SECRET_LEN], [0; MORE_LEN]);
        random(&mut secret);
        random(&mut more);
        let shared = self.responder.connections.is_shared(link);
        let more = Some(more).filter(|_| shared);
        let number = self.shared.session_number();
        let (config, now, core) = (
            &self.shared.session_config,
            self.responder.now,
            self.loops.index(),
        );
        let (memory, limits) = (&self.shared.config.memory, &self.shared.config.limits);
        let (channel_id, protection) = (channel.id, channel.protection);
        let mut outcome = Err(Refusal::Closed);
        let session = self.responder.store.sessions.try_insert_with(|slot| {
            let key = SessionKey {
                core,
                slot: slot.slot,
                secret,
                more,
            };
            let grant = Grant {
                session_id: session_node(number),
                authentication_token: key.to_node_id(),
                nonce: nonce(),
            };
            match server::Session::create(config, request, channel, grant, now) {
                Ok((protocol, job)) => {
                    outcome = Ok(job);
                    let record = record(number, request, &protocol, protection, now);
                    // Whatever one of them has, others have something, too.
                    let most = limits.session_memory.min(memory.limit() / 2);
                    let budget = memory.within(most);
                    let record = Arc::new(record);
                    Some(Session::new(protocol, key, link, record, budget))
                }
                Err(refusal) => {
                    outcome = Err(refusal);
                    None
                }
            }
        });
        let (Some(session), Ok(job)) = (session, &mut outcome) else {
            counters.sessions.sub(1);
            counters.rejected_sessions.add(1);
            counters.security_rejected_sessions.add(1);
            let status = outcome
                .err()
                .map_or(StatusCode::BadInternalError, |r| r.status());
            let uri = &request.client_description.application_uri;
            self.responder
                .note(link, &Who::Application(uri.clone()), status);
            self.responder.audit_creation(link, request, status);
            return Err(status);
        };
        self.responder.store.sessions.add_unused(now.mono, session);
        let job = std::mem::replace(job, Job::new(|| Err(Refusal::Closed)));
        counters.cumulated_sessions.add(1);
        debug!(session = number, channel = channel_id, "session created");
        if let Some(held) = self.responder.store.sessions.get(session) {
            self.shared.register.add_session(&held.record);
            let timeout = held.record.timeout;
            self.shared.audit(|| {
                let header = &request.request_header;
                Audit::new(
                    EventKind::AuditCreateSessionEventType,
                    now.utc,
                    StatusCode::Good,
                )
                .entered(header.audit_entry_id.as_ref())
                .with(Field::SessionId, session_node(number))
                .with(Field::SecureChannelId, channel_id.to_string())
                .with(Field::RevisedSessionTimeout, timeout)
            });
        }
        let asked = PendingRequest {
            link,
            id,
            handle: request.request_header.request_handle,
        };
        let job = job.map(|result| match result {
            Ok(response) => Ok(Box::new(response)),
            Err(refusal) => Err(refusal.status()),
        });
        self.responder.store.watch(session);
        let mail = move |result| Mail::Created(asked, session, result);
        if let Some(result) = self
            .responder
            .connections
            .run_job(Some(link), cost, job, mail)
        {
            self.responder.created(asked, session, result);
        }
        Ok(())
    }

    /// Takes an ActivateSession request; `home` is where the session lives, if that is another loop.
    pub(super) fn activate_session(
        &mut self,
        link: SlotId,
        id: RequestId,
        request: &ActivateSessionRequest,
        home: Option<Post>,
    ) -> Result<(), StatusCode> {
        let token = space::raw(&request.request_header.authentication_token);
        let session = self.responder.store.sessions.find(token);
        if let (Err(status), None) = (&session, &home) {
            return Err(*status);
        }
        let there = self.responder.connections.links.get(link);
        let there = there.ok_or(StatusCode::BadSecureChannelClosed)?;
        let channel = there.channel(&self.shared)?;
        let caller = Caller {
            core: self.loops.index(),
            asked: PendingRequest {
                link,
                id,
                handle: request.request_header.request_handle,
            },
            address: there.address(),
            known: there.is_known(),
            signed: channel.protection != Protection::NONE,
            encrypted: there.is_shared() || channel.protection.mode.encrypts(),
        };
        match (session, home) {
            (Ok(session), _) => self.activate(session, caller, channel, request),
            (Err(_), Some(home)) => {
                if let Some(link) = self.responder.connections.links.get_mut(link) {
                    link.here.helper_task = HelperTask::Proving;
                }
                home.send(Mail::Activate(Box::new(ForeignActivation {
                    caller,
                    channel,
                    request: request.clone(),
                })));
                Ok(())
            }
            (Err(status), None) => Err(status),
        }
    }

    /// Has it proven who wants in.
    pub(super) fn activate(
        &mut self,
        session: SlotId,
        caller: Caller,
        channel: Channel,
        request: &ActivateSessionRequest,
    ) -> Result<(), StatusCode> {
        let token = &request.user_identity_token;
        let anonymous = token.is_null() || token.inner_is::<AnonymousIdentityToken>();
        let cheap = channel.peer.is_none() && anonymous;
        let policy = token_policy(channel.protection.policy, &self.shared.identities);
        let (who, address) = (user::who(token), caller.address);
        let held = self.responder.store.sessions.get_mut(session);
        let held = held.ok_or(StatusCode::BadSessionIdInvalid)?;
        if held.proving {
            // Over another connection; over the same one it waits.
            return Err(StatusCode::BadTooManyOperations);
        }
        if self.shared.config.audit {
            held.claim = Some(Box::new(Claim {
                user: who.name(),
                entry: request.request_header.audit_entry_id.as_ref().to_owned(),
                channel: channel.id,
            }));
        }
        let job = match held.protocol.activate(request, channel, self.responder.now) {
            Ok(job) => job,
            Err(refusal) => {
                self.shared.counters.rejected_sessions.add(1);
                self.shared.counters.security_rejected_sessions.add(1);
                let status = refusal.status();
                self.shared
                    .refused
                    .note(self.responder.now, address, &who, status);
                self.responder.audit_activation(session, status);
                return Err(status);
            }
        };
        let users = self.shared.config.users.certificates.as_ref();
        let asks = token.inner_is::<X509IdentityToken>() && users.is_some_and(TrustPolicy::asks);
        let cost = match (cheap, asks) {
            (_, true) => Cost::Waiting,
            (true, false) => Cost::Nothing,
            (false, false) => Cost::Work,
        };
        held.proving = cost != Cost::Nothing;
        let shared = Arc::clone(&self.shared);
        let job = job.map(move |result| {
            let welcomed = result
                .map_err(|refusal| refusal.status())
                .and_then(|activation| {
                    user::welcome(&shared, activation.user(), policy)?;
                    Ok(Box::new(activation))
                });
            if let Err(status) = welcomed {
                shared
                    .refused
                    .note(shared.clock.now(), address, &who, status);
            }
            welcomed
        });
        let link = (caller.core == self.loops.index()).then_some(caller.asked.link);
        let mail = move |result| Mail::Proven(caller, session, result);
        if let Some(result) = self.responder.connections.run_job(link, cost, job, mail) {
            self.proven(caller, session, result);
        }
        Ok(())
    }

    /// It is proven who wants in, or not.
    pub(super) fn proven(
        &mut self,
        caller: Caller,
        session: SlotId,
        result: Result<Box<Activation>, StatusCode>,
    ) {
        if caller.core == self.loops.index() {
            self.responder.connections.proved(caller.asked.link);
        }
        if let Some(held) = self.responder.store.sessions.get_mut(session) {
            held.proving = false;
        }
        let result =
            result.and_then(|activation| self.responder.accept_next(session, *activation, caller));
        let status = result.as_ref().err().copied();
        self.responder
            .audit_activation(session, status.unwrap_or(StatusCode::Good));
        match result {
            Ok(welcome) if caller.core == self.loops.index() => {
                self.responder.seat(session, caller.asked, welcome)
            }
            Ok(welcome) => self.depart(session, caller, welcome),
            Err(status) => {
                self.shared.counters.rejected_sessions.add(1);
                self.shared.counters.security_rejected_sessions.add(1);
                self.turn_down(caller, status);
            }
        }
    }
}

impl Responder {
    /// The session that a request is for, if it may be served over this connection.
    #[inline]
    pub(super) fn session_for(
        &mut self,
        token: RawNodeId<'_>,
        link: SlotId,
    ) -> Result<SlotId, StatusCode> {
        let id = self.store.sessions.find(token)?;
        let channel = self
            .connections
            .links
            .get(link)
            .map(|link| link.connection.channel_id());
        let session = self.store.sessions.get_mut(id);
        let (Some(channel), Some(session)) = (channel, session) else {
            return Err(StatusCode::BadSessionIdInvalid);
        };
        let most = session.record.max_response;
        match session.protocol.request(channel, self.now) {
            Ok(()) => {
                if let Some(link) = self.connections.links.get_mut(link) {
                    link.is_used();
                    link.hold_shared_to(id, most, |it| self.store.sessions.get(it).is_some());
                }
                Ok(id)
            }
            Err(refusal) => {
                if refusal == Refusal::NotActivated {
                    self.shared.counters.aborted_sessions.add(1);
                    self.end_session(id, true);
                }
                Err(refusal.status())
            }
        }
    }

    pub(super) fn created(
        &mut self,
        asked: PendingRequest,
        session: SlotId,
        result: Result<Box<CreateSessionResponse>, StatusCode>,
    ) {
        self.connections.proved(asked.link);
        match result {
            Ok(mut response) => {
                let link = self.connections.links.get(asked.link);
                if let Some(urls) = link.and_then(|link| link.urls(&self.shared))
                    && let Some(endpoints) = &mut response.server_endpoints
                {
                    advertise::move_to(endpoints, &urls);
                }
                let account = Account::of(session, None);
                self.respond_with(account, asked, (*response).into());
            }
            Err(status) => {
                self.shared.counters.rejected_sessions.add(1);
                self.end_session(session, true);
                self.fault(Account::NOBODY, asked, status);
            }
        }
    }

    /// A session is a user's from now on, and bound to the channel of the activation.
    fn accept_next(
        &mut self,
        session: SlotId,
        activation: Activation,
        caller: Caller,
    ) -> Result<Welcome, StatusCode> {
        let held = self.store.sessions.get_mut(session);
        let held = held.ok_or(StatusCode::BadSessionIdInvalid)?;
        let (user, shown, mechanism) = user::name(&self.shared, activation.user());
        info!(
            session = held.record.number,
            user = shown,
            "session activated"
        );
        let rights = user::rights(&self.shared, activation.user());
        let listed = user::listed(&self.shared, activation.user());
        let activated = held.protocol.activated(activation, nonce(), self.now);
        let response = activated.map_err(|refusal| refusal.status())?;
        held.owner = Arc::new(Owner {
            user,
            listed,
            application_uri: held.record.client.application_uri.as_ref().to_owned(),
            signed: caller.signed,
            audits: caller.encrypted && rights == Rights::ALL,
        });
        held.rights = rights;
        for id in &held.subscriptions {
            if let Some(subscription) = self.store.subscriptions.get_mut(id) {
                subscription.own(&held.owner);
            }
        }
        Ok(Welcome {
            response,
            user: shown,
            mechanism,
        })
    }

    /// A session that was activated is served over this connection.
    pub(super) fn seat(&mut self, session: SlotId, asked: PendingRequest, welcome: Welcome) {
        self.connections.proved(asked.link);
        let before = self.store.sessions.get(session).map(|held| held.link);
        let before = before.filter(|link| *link != asked.link);
        let is_shared = |link: SlotId| self.connections.links.get(link).map(Link::is_shared);
        let now_shared = is_shared(asked.link) == Some(true);
        let was_shared = before.and_then(is_shared) != Some(false);
        match before {
            // Who waits over HTTPS waits on: any connection will do.
            Some(link) if now_shared && was_shared => {
                if let Some(link) = self.connections.links.get_mut(link) {
                    link.let_go(session);
                }
            }
            Some(_) => self.unseat(session),
            None => {}
        }
        if let Some(held) = self.store.sessions.get_mut(session) {
            held.link = asked.link;
            if let Some(link) = self.connections.links.get_mut(asked.link) {
                link.is_used();
                link.hold_to(session, held.record.max_response);
                let shown = welcome.user;
                let mut record = held.record.activated();
                if record.history.last() != Some(&shown) {
                    record.history.push(shown.clone());
                }
                record.user = shown;
                record.mechanism = welcome.mechanism;
                record.locales = held.protocol.locales().to_vec();
                record.protection = link.connection.protection();
                let peer = link.connection.peer();
                record.certificate = peer.map_or(Vec::new(), |peer| peer.leaf().to_vec());
            }
        }
        let account = Account::of(session, None);
        self.respond_with(account, asked, welcome.response.into());
    }

    /// A session leaves its connection. Whoever waits there is told so: others may be on it that stay.
    pub(super) fn unseat(&mut self, session: SlotId) {
        let Some(held) = self.store.sessions.get_mut(session) else {
            return;
        };
        let (link, waiting) = (held.link, std::mem::take(&mut held.requests));
        if let Some(link) = self.connections.links.get_mut(link) {
            link.let_go(session);
        }
        for request in waiting {
            // Over HTTPS they may wait on others than the one it leaves.
            if self.connections.links.get(request.asked.link).is_some() {
                self.refuse(session, &request, StatusCode::BadSecureChannelIdInvalid);
            }
        }
        if let Some(held) = self.store.sessions.get(session) {
            held.count_waiting();
        }
    }

    /// Tells of a session that was not created.
    fn audit_creation(&self, link: SlotId, request: &CreateSessionRequest, status: StatusCode) {
        self.shared.audit(|| {
            let channel = self
                .connections
                .links
                .get(link)
                .map(|it| it.connection.channel_id());
            let entry = request.request_header.audit_entry_id.as_ref();
            Audit::new(EventKind::AuditCreateSessionEventType, self.now.utc, status)
                .entered(entry)
                .with(Field::SecureChannelId, channel.unwrap_or(0).to_string())
        });
    }

    /// Tells as whom a session was activated, or was not.
    fn audit_activation(&mut self, session: SlotId, status: StatusCode) {
        let Some(held) = self.store.sessions.get_mut(session) else {
            return;
        };
        let Some(claim) = held.claim.take() else {
            return;
        };
        let (number, now) = (held.record.number, self.now.utc);
        self.shared.audit(|| {
            Audit::new(EventKind::AuditActivateSessionEventType, now, status)
                .by(&claim.user)
                .entered(&claim.entry)
                .with(Field::SessionId, session_node(number))
                .with(Field::SecureChannelId, claim.channel.to_string())
        });
    }

    /// Writes down who was not let in.
    fn note(&self, link: SlotId, who: &Who, status: StatusCode) {
        let address = self.connections.links.get(link).and_then(Link::address);
        self.shared.refused.note(self.now, address, who, status);
    }
}

/// Bytes of a text that a session keeps, and how many addresses its client may have.
const LONGEST_TEXT: usize = 4096;
const MOST_ADDRESSES: usize = 32;

/// What is kept of a session while it lives, before anybody knows whose it is, is held to a size.
fn short(request: &CreateSessionRequest) -> Result<(), StatusCode> {
    let client = &request.client_description;
    let addresses = client.discovery_urls.iter().flatten();
    let mut texts = addresses.clone().chain([
        &request.session_name,
        &request.server_uri,
        &request.endpoint_url,
        &client.application_uri,
        &client.product_uri,
        &client.application_name.locale,
        &client.application_name.text,
        &client.gateway_server_uri,
        &client.discovery_profile_uri,
    ]);
    let long = texts.any(|text| text.as_ref().len() > LONGEST_TEXT);
    match long || addresses.count() > MOST_ADDRESSES {
        true => Err(StatusCode::BadEncodingLimitsExceeded),
        false => Ok(()),
    }
}

fn record(
    number: u32,
    request: &CreateSessionRequest,
    protocol: &server::Session,
    protection: Protection,
    now: Now,
) -> SessionRecord {
    SessionRecord::new(
        number,
        protocol.name().to_owned(),
        request.client_description.clone(),
        (
            request.server_uri.as_ref().to_owned(),
            request.endpoint_url.as_ref().to_owned(),
        ),
        protocol.timeout().as_secs_f64() * 1000.0,
        request.max_response_message_size,
        now.utc,
        protection,
    )
}

fn nonce() -> [u8; NONCE_LEN] {
    let mut nonce = [0; NONCE_LEN];
    random(&mut nonce);
    nonce
}
