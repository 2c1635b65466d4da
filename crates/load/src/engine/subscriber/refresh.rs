//! The states of all conditions, told to a subscription because it asks (Part 9, 5.5.7).

use record::receipt;
use wire::client::Connection;
use wire::service::Response;
use wire::time::{Instant, Now};
use wire::types::{CallMethodRequest, CallRequest, MethodId, ObjectTypeId, StatusCode, Variant};

use super::{BACKLOG, PendingRequest, Subscriber};
use crate::engine::recorder::NotificationTracker;

impl Subscriber {
    /// All items of a subscription are there: now is when its client wants to know the states.
    pub(super) fn wants_refresh(&mut self, place: u32) {
        let events = self.requests.terms.plan.events.as_ref();
        if events.is_some_and(|events| events.refresh) {
            self.to_refresh.push_back(place);
        }
    }

    /// Asks for the states of those that want them.
    pub(super) fn refresh(&mut self, connection: &mut Connection, now: Now) {
        while let Some(&place) = self.to_refresh.front()
            && connection.pending().len() < BACKLOG
        {
            let asked = PendingRequest::Refresh { sent: now.mono };
            if let Some(id) = self.id(place) {
                let request = self.refresh_request(id, now);
                if !self.send(connection, request, asked, now) {
                    return;
                }
            }
            self.to_refresh.pop_front();
        }
    }

    pub(super) fn refresh_request(&self, id: u32, now: Now) -> CallRequest {
        CallRequest {
            request_header: self.requests.header(now.utc),
            methods_to_call: Some(vec![CallMethodRequest {
                object_id: ObjectTypeId::ConditionType.into(),
                method_id: MethodId::ConditionType_ConditionRefresh.into(),
                input_arguments: Some(vec![Variant::from(id)]),
            }]),
        }
    }

    pub(super) fn refreshed(
        &mut self,
        sent: Instant,
        body: &[u8],
        now: Now,
        tracker: &mut NotificationTracker<'_>,
    ) {
        let status = match super::answer::decode(body) {
            Ok(Response::Call(response)) => {
                let result = response.results.and_then(|mut all| all.pop());
                result.map_or(StatusCode::BadUnexpectedError, |result| result.status_code)
            }
            Ok(_) => StatusCode::BadUnknownResponse,
            Err(status) => status,
        };
        if status.is_bad() {
            return tracker.receipt.refresh_refused(status.bits());
        }
        let (sent, now) = (self.at(sent), self.at(now.mono));
        tracker
            .receipt
            .step(receipt::SetUpStep::Refresh, sent, now, 1);
    }
}
