//! Publish requests and the subscriptions that wait for them (Part 4, 5.14.5).

use std::sync::Arc;
use std::time::Duration;

use wire::budget::STEP;
use wire::channel::SendError;
use wire::server::RequestId;
use wire::service::shape::Kind;
use wire::template::walk::{self, RequestHead, WalkError, type_id};
use wire::time::{Instant, Now};
use wire::types::{CancelRequest, CancelResponse, RepublishRequest, StatusCode};

use super::link::{HIGH_WATER, Link};
use super::store::TimerOutcome;
use super::{Account, PendingRequest, Responder, SlotId};
use crate::diagnostics::{Service, session_node};
use crate::fault::MessageFate;
use crate::service::session::PublishRequest;
use crate::service::{canonical, write_head, write_len, write_null_array};
use crate::space;
use crate::space::event::{Audit, EventKind, Field};
use crate::subscription::{Delivery, Message, status_change};

/// Bytes of a Publish response before subscriptionId and behind notificationMessage, but for the results of
/// acknowledgements; a few more than there are.
const AROUND: usize = 64;

/// Acknowledgements in a Publish request: each is looked for among the messages that are kept.
const MOST_ACKNOWLEDGED: usize = 10_000;

impl Responder {
    /// Takes a Publish request.
    pub(super) fn publish(
        &mut self,
        account: Account,
        asked: PendingRequest,
        session: SlotId,
        body: &[u8],
        head: &RequestHead<'_>,
    ) {
        let again;
        let request = match walk::PublishRequest::parse(body) {
            Err(WalkError::Unusual { .. }) => match canonical(body, &self.shared.decoding) {
                Ok(spelled) => {
                    again = spelled;
                    walk::PublishRequest::parse(&again)
                }
                Err(status) => return self.fault(account, asked, status),
            },
            request => request,
        };
        let Ok(request) = request else {
            return self.fault(account, asked, StatusCode::BadDecodingError);
        };
        let results = request.acknowledgements;
        if results.count() > MOST_ACKNOWLEDGED {
            return self.fault(account, asked, StatusCode::BadTooManyOperations);
        }
        let most = results.count() * size_of::<StatusCode>();
        let mut held = None;
        if most >= STEP
            && let Some(session) = self.store.sessions.get(session)
        {
            let mut taken = session.budget.hold();
            if taken.set(most).is_err() {
                return self.fault(account, asked, StatusCode::BadOutOfMemory);
            }
            held = Some(taken);
        }
        let (shared, now) = (&self.shared, self.now);
        let results = results.map(|of| self.store.acknowledge(session, of, shared, now));
        let results = results.collect();
        let hint = Duration::from_millis(u64::from(head.timeout_hint));
        let request = PublishRequest {
            asked,
            deadline: (!hint.is_zero()).then(|| self.now.mono + hint),
            results,
            held,
        };
        let limit = self.shared.config.limits.publish_requests;
        let Some(held) = self.store.sessions.get_mut(session) else {
            return;
        };
        held.requests.push_back(request);
        if held.requests.len() > limit.max(1)
            && let Some(oldest) = held.requests.pop_front()
        {
            self.refuse(session, &oldest, StatusCode::BadTooManyPublishRequests);
        }
        self.answer_publish(session);
    }

    pub(super) fn refuse(&mut self, session: SlotId, request: &PublishRequest, status: StatusCode) {
        let account = Account::of(session, Service::Publish);
        self.fault(account, request.asked, status);
        self.connections.queues.dirty.push(request.asked.link);
    }

    /// Brings Publish requests of a session and subscriptions that wait for them together.
    pub(super) fn answer_publish(&mut self, session: SlotId) {
        self.answer_all(session);
        if let Some(held) = self.store.sessions.get(session) {
            held.count_waiting();
        }
    }

    fn answer_all(&mut self, session: SlotId) {
        loop {
            let now = self.now.mono;
            let Some(held) = self.store.sessions.get_mut(session) else {
                return;
            };
            let Some(oldest) = held.requests.front() else {
                return;
            };
            let refusal = if oldest.deadline.is_some_and(|deadline| deadline <= now) {
                Some(StatusCode::BadTimeout)
            } else if held.subscriptions.is_empty() && held.endings.is_empty() {
                // Part 4, 5.14.5.3.
                Some(StatusCode::BadNoSubscription)
            } else {
                None
            };
            if let Some(status) = refusal {
                if let Some(request) = held.requests.pop_front() {
                    self.refuse(session, &request, status);
                }
                continue;
            }
            let link = self.connections.links.get_mut(oldest.asked.link);
            if link.is_none() && held.protocol.channel_id() == wss::CHANNEL_ID {
                // Over HTTPS a session outlives its connections, and what waited on them.
                held.requests.pop_front();
                continue;
            }
            if let Some(link) = link.filter(|link| link.backlog() > HIGH_WATER) {
                // Who does not read gets no more to read: it waits where it is counted.
                link.here.owes(session);
                return;
            }
            if let Some((id, status)) = held.endings.pop_front() {
                if let Some(request) = held.requests.pop_front() {
                    let now = self.now;
                    self.send(session, &request, |out| status_change(id, status, now, out));
                }
                continue;
            }
            if self.repeat(session) {
                continue;
            }
            let Some(id) = self.store.next_waiting(session, self.now) else {
                return;
            };
            self.send_notifications(session, id);
        }
    }

    /// Answers a Publish request with what a subscription has to tell, perhaps with faults in messages and values.
    fn send_notifications(&mut self, session: SlotId, id: u32) {
        let (shared, now) = (&self.shared, self.now);
        let kept = shared.config.limits.kept_messages;
        let Some(held) = self.store.sessions.get_mut(session) else {
            return;
        };
        let Some(request) = held.requests.pop_front() else {
            return;
        };
        // Nothing is made for a connection that is gone: it waits for the next request.
        let link = self.connections.links.get_mut(request.asked.link);
        let link = link.filter(|link| !link.connection.is_closed());
        let (Some(link), Some(subscription)) = (link, self.store.subscriptions.get_mut(&id)) else {
            return;
        };
        let faults = Some(&shared.faults).filter(|faults| faults.want_messages());
        let room = room(link, &request);
        let draft = subscription.draft(room, &shared.space, now, kept, faults);
        self.store.timers.follow(subscription);
        let made = draft.message();
        let fate = match (faults, made) {
            (Some(faults), Message::Notifications(_)) => faults.message(now.mono),
            _ => MessageFate::default(),
        };
        if made == Message::Nothing || fate.lost {
            // The client's Publish request waits for the next message.
            subscription.commit(draft, kept, Delivery::Dropped);
            return held.requests.push_front(request);
        }
        if fate.disconnect {
            subscription.commit(draft, kept, Delivery::Unsent);
            return self.connections.cut(request.asked.link);
        }
        for _ in 0..fate.more {
            let mut body = Vec::new();
            subscription.encode(&draft, &mut body);
            held.repeats.push_back((id, body));
        }
        let message = faults.map(|_| (id, fate));
        let write = |out: &mut Vec<u8>| subscription.encode(&draft, out);
        let sent = respond_to(
            &request,
            link,
            message,
            &mut self.connections.loop_memory.outbox,
            now,
            write,
        );
        let delivery = match sent {
            Ok(()) => Delivery::Sent,
            Err(_) => Delivery::Unsent,
        };
        subscription.commit(draft, kept, delivery);
        shared.counters.messages.add(1);
        if let Message::Notifications(count) = made {
            shared.counters.notifications.add(count as u64);
        }
        self.responded(session, &request, sent);
    }

    /// Sends a message once more, if a fault has it so.
    fn repeat(&mut self, session: SlotId) -> bool {
        let Some(held) = self.store.sessions.get_mut(session) else {
            return false;
        };
        let Some((id, body)) = held.repeats.pop_front() else {
            return false;
        };
        let Some(request) = held.requests.pop_front() else {
            return false;
        };
        self.send(session, &request, |out| out.extend_from_slice(&body));
        if let Some(subscription) = self.store.subscriptions.get_mut(&id) {
            subscription.repeated();
        }
        true
    }

    /// Answers a Publish request; `write` appends subscriptionId to notificationMessage.
    fn send(
        &mut self,
        session: SlotId,
        request: &PublishRequest,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let Some(link) = self.connections.links.get_mut(request.asked.link) else {
            return;
        };
        let sent = respond_to(
            request,
            link,
            None,
            &mut self.connections.loop_memory.outbox,
            self.now,
            write,
        );
        self.responded(session, request, sent);
    }

    /// A Publish request was answered, or its answer was too large.
    fn responded(
        &mut self,
        session: SlotId,
        request: &PublishRequest,
        sent: Result<(), SendError>,
    ) {
        if let Err(error) = &sent {
            let account = Account::of(session, Service::Publish);
            self.not_sent(account, request.asked, error);
        }
        self.connections.queues.dirty.push(request.asked.link);
    }

    /// The server stops: each subscription says so as long as there are Publish requests, and the
    /// other requests are refused (Part 4, 7.25.4).
    pub(super) fn say_goodbye(&mut self, session: SlotId) {
        let Some(held) = self.store.sessions.get_mut(session) else {
            return;
        };
        let mut requests = std::mem::take(&mut held.requests);
        let subscriptions = held.subscriptions.clone();
        let now = self.now;
        for (id, request) in subscriptions.into_iter().zip(requests.iter()) {
            let shutdown = StatusCode::BadShutdown;
            self.send(session, request, |out| {
                status_change(id, shutdown, now, out)
            });
        }
        let told = self.store.sessions.get(session);
        let told = told.map_or(0, |held| held.subscriptions.len());
        for request in requests.drain(..).skip(told) {
            self.refuse(session, &request, StatusCode::BadShutdown);
        }
    }

    /// A timer of a subscription rang. True if there is more to do for it after others had their turn.
    pub(super) fn subscription_due(&mut self, id: u32, at: Instant) -> bool {
        let work = self.work_recorder.work();
        match self.store.ring((id, at), &self.shared, work, self.now) {
            TimerOutcome::Quiet => {}
            TimerOutcome::More => return true,
            TimerOutcome::Tells(session) => self.answer_publish(session),
        }
        false
    }

    /// Republish (Part 4, 5.14.6).
    pub(super) fn republish(
        &mut self,
        link: SlotId,
        id: RequestId,
        request: &RepublishRequest,
    ) -> Result<(), StatusCode> {
        let header = &request.request_header;
        let session = self.session_for(space::raw(&header.authentication_token), link)?;
        let found = self.store.subscriptions.get_mut(&request.subscription_id);
        let subscription = found
            .filter(|subscription| subscription.session == Some(session))
            .ok_or(StatusCode::BadSubscriptionIdInvalid)?;
        let record = Arc::clone(&subscription.record);
        record.republish_requests.bump();
        subscription.touch(self.now);
        self.store.timers.follow(subscription);
        let message = subscription
            .republish(request.retransmit_sequence_number)
            .ok_or(StatusCode::BadMessageNotAvailable)?;
        let (now, handle) = (self.now, header.request_handle);
        let Some(there) = self.connections.links.get_mut(link) else {
            return Ok(());
        };
        let sent = there.respond(id, now.mono, |out| {
            write_head(out, Kind::RepublishResponse.encoding_id(), handle, now);
            out.extend_from_slice(message);
        });
        match sent {
            Ok(()) => {
                record.republished.bump();
                self.shared.counters.republished.add(1);
            }
            Err(error) => {
                let account = Account::of(session, Service::Republish);
                self.not_sent(account, PendingRequest { link, id, handle }, &error);
            }
        }
        Ok(())
    }

    /// Cancel (Part 4, 5.7.5): only Publish requests wait long enough to be cancelled.
    pub(super) fn cancel(
        &mut self,
        link: SlotId,
        id: RequestId,
        request: &CancelRequest,
    ) -> Result<(), StatusCode> {
        let header = &request.request_header;
        let session = self.session_for(space::raw(&header.authentication_token), link)?;
        let mut cancelled = Vec::new();
        if let Some(held) = self.store.sessions.get_mut(session) {
            let all = std::mem::take(&mut held.requests);
            for waiting in all {
                match waiting.asked.handle == request.request_handle {
                    true => cancelled.push(waiting),
                    false => held.requests.push_back(waiting),
                }
            }
        }
        for waiting in &cancelled {
            self.refuse(session, waiting, StatusCode::BadRequestCancelledByClient);
        }
        if let Some(held) = self.store.sessions.get(session) {
            held.count_waiting();
            let (number, owner) = (held.record.number, &held.owner);
            self.shared.audit(|| {
                Audit::new(
                    EventKind::AuditCancelEventType,
                    self.now.utc,
                    StatusCode::Good,
                )
                .by(owner.name())
                .entered(header.audit_entry_id.as_ref())
                .with(Field::SessionId, session_node(number))
                .with(Field::RequestHandle, request.request_handle)
            });
        }
        let response = CancelResponse {
            response_header: wire::service::response_header(header.request_handle, self.now.utc),
            cancel_count: cancelled.len() as u32,
        };
        let asked = PendingRequest {
            link,
            id,
            handle: header.request_handle,
        };
        self.respond_with(Account::of(session, None), asked, response.into());
        Ok(())
    }
}

/// Bytes from subscriptionId to notificationMessage that the client of a Publish request takes.
fn room(link: &mut Link, request: &PublishRequest) -> usize {
    match link.connection.most() {
        usize::MAX => usize::MAX,
        most => most.saturating_sub(AROUND + 4 * request.results.len()),
    }
}

/// Sends the response to a Publish request, perhaps with a message of a subscription and its fate; `write` appends
/// subscriptionId to notificationMessage.
fn respond_to(
    request: &PublishRequest,
    link: &mut Link,
    message: Option<(u32, MessageFate)>,
    spare: &mut Vec<u8>,
    now: Now,
    write: impl FnOnce(&mut Vec<u8>),
) -> Result<(), SendError> {
    let PendingRequest { id, handle, .. } = request.asked;
    link.connection.lend_outbox(spare);
    link.respond_as(id, message, now.mono, |out| {
        write_head(out, type_id::PUBLISH_RESPONSE, handle, now);
        write(out);
        write_len(out, request.results.len());
        for status in &request.results {
            out.extend_from_slice(&status.bits().to_le_bytes());
        }
        write_null_array(out);
    })
}
