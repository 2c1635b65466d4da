//! How sessions end: closed, timed out, or to make room for others.

use std::time::Duration;

use tracing::info;
use wire::server::RequestId;
use wire::types::{CloseSessionRequest, StatusCode};

use super::{Account, PendingRequest, Responder, SlotId};
use crate::space;

/// How long a session is there in any case that is not activated, when there are too many.
const TO_ACTIVATE: Duration = Duration::from_secs(1);

impl Responder {
    pub(super) fn close_session(
        &mut self,
        link: SlotId,
        id: RequestId,
        request: &CloseSessionRequest,
    ) -> Result<(), StatusCode> {
        let token = space::raw(&request.request_header.authentication_token);
        let session = self.store.sessions.find(token)?;
        let channel = self
            .connections
            .links
            .get(link)
            .map_or(0, |l| l.connection.channel_id());
        let held = self.store.sessions.get_mut(session);
        let held = held.ok_or(StatusCode::BadSessionIdInvalid)?;
        let response = held
            .protocol
            .close(request, channel, self.now)
            .map_err(|refusal| refusal.status())?;
        self.end_session(session, request.delete_subscriptions);
        let asked = PendingRequest {
            link,
            id,
            handle: request.request_header.request_handle,
        };
        self.respond_with(Account::NOBODY, asked, response.into());
        Ok(())
    }

    /// Forgets a session, and its subscriptions or not.
    pub(super) fn end_session(&mut self, id: SlotId, delete_subscriptions: bool) {
        let Some(session) = self.store.sessions.part_with(id) else {
            return;
        };
        info!(
            session = session.record.number,
            delete_subscriptions, "session ended"
        );
        if session.key.core != self.store.sessions.core() {
            self.shared.homes.forget(session.key);
        }
        if let Some(link) = self.connections.links.get_mut(session.link) {
            link.let_go(id);
        }
        self.shared.counters.sessions.sub(1);
        self.shared.register.drop_session(session.record.number);
        for request in session.requests {
            self.fault(Account::NOBODY, request.asked, StatusCode::BadSessionClosed);
            self.connections.queues.dirty.push(request.asked.link);
        }
        for number in session.subscriptions {
            if delete_subscriptions {
                self.store.forget_subscription(number, &self.shared);
            } else if let Some(subscription) = self.store.subscriptions.get_mut(&number) {
                subscription.leave();
            }
        }
    }

    /// Part 4, 5.7.2.1: the oldest session that was never activated makes room, so that nobody keeps others
    /// out with sessions that he cannot activate. Whoever is still connected has a moment for it: else those
    /// who come at the same time would throw each other out. Tells whether there was one.
    pub(super) fn end_oldest_unused(&mut self) -> bool {
        let (links, now) = (&self.connections.links, self.now.mono);
        let oldest = self.store.sessions.oldest_unused(|came, session| {
            let waited = now.since(came) >= TO_ACTIVATE;
            waited || links.get(session.link).is_none()
        });
        if let Some(id) = oldest {
            self.end_session(id, true);
        }
        oldest.is_some()
    }

    pub(super) fn session_due(&mut self, id: SlotId) {
        let Some(session) = self.store.sessions.get(id) else {
            return;
        };
        match session.protocol.has_expired(self.now) {
            true => {
                self.shared.counters.session_timeouts.add(1);
                // Part 4, 6.7: its subscriptions have lifetimes of their own, so that a client
                // who comes back too late finds them.
                self.end_session(id, false);
            }
            // It was used meanwhile.
            false => self.store.watch(id),
        }
    }
}
