//! The states of all conditions, told to a subscription because it asks (Part 9, 5.5.7).

use std::collections::VecDeque;

use record::notification_ledger::SetUpStep;
use wire::service::Response;
use wire::time::Instant;
use wire::types::{CallMethodRequest, CallRequest, MethodId, ObjectTypeId, StatusCode, Variant};

use super::answer::decode;
use super::notes::Notes;
use super::outgoing::Outgoing;
use super::pending::PendingRequest;
use super::subscriptions::Subscriptions;

/// Subscriptions that are to be told the states of all conditions.
#[derive(Debug, Default)]
pub(super) struct Refresh {
    waiting: VecDeque<u32>,
}

impl Refresh {
    /// All items of a subscription are there: now is when its client wants to know the states.
    pub fn want(&mut self, place: u32) {
        self.waiting.push_back(place);
    }

    /// Asks for the states of those that want them.
    pub fn send(&mut self, out: &mut Outgoing<'_>, subscriptions: &Subscriptions) {
        while let Some(&place) = self.waiting.front()
            && out.has_room()
        {
            let about = PendingRequest::Refresh { sent: out.now.mono };
            if let Some(id) = subscriptions.id(place) {
                let request = request(out, id);
                if !out.send(request, about) {
                    return;
                }
            }
            self.waiting.pop_front();
        }
    }
}

/// A request for the states, to be told to the server's subscription `id`.
pub(super) fn request(out: &Outgoing<'_>, id: u32) -> CallRequest {
    CallRequest {
        request_header: out.header(),
        methods_to_call: Some(vec![CallMethodRequest {
            object_id: ObjectTypeId::ConditionType.into(),
            method_id: MethodId::ConditionType_ConditionRefresh.into(),
            input_arguments: Some(vec![Variant::from(id)]),
        }]),
    }
}

/// What became of such a request.
pub(super) fn refreshed(sent: Instant, body: &[u8], notes: &mut Notes<'_>) {
    let status = match decode(body) {
        Ok(Response::Call(response)) => {
            let result = response.results.and_then(|mut all| all.pop());
            result.map_or(StatusCode::BadUnexpectedError, |result| result.status_code)
        }
        Ok(_) => StatusCode::BadUnknownResponse,
        Err(status) => status,
    };
    match status.is_bad() {
        true => notes.notification_ledger.refresh_refused(status.bits()),
        false => notes.step(SetUpStep::Refresh, sent, 1),
    }
}
