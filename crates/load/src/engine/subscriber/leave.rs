//! The end: subscriptions are deleted, with their items (Part 4, 5.14.8).

use record::notification_ledger::SetUpStep;
use wire::service::Response;
use wire::time::Instant;
use wire::types::DeleteSubscriptionsRequest;

use super::answer::decode;
use super::notes::Notes;
use super::outgoing::Outgoing;
use super::pending::PendingRequest;
use super::subscriptions::Subscriptions;

/// Has all subscriptions deleted. Tells whether there is nothing to delete.
pub(super) fn delete_all(out: &mut Outgoing<'_>, subscriptions: &Subscriptions) -> bool {
    // What is missing goes with the subscriptions.
    let asked = |asked: &PendingRequest| {
        matches!(
            asked,
            PendingRequest::Delete { .. } | PendingRequest::Republish { .. }
        )
    };
    if out.pending().any(asked) {
        return false;
    }
    if subscriptions.is_empty() {
        return true;
    }
    let request = DeleteSubscriptionsRequest {
        request_header: out.header(),
        subscription_ids: Some(subscriptions.ids()),
    };
    let sent = out.now.mono;
    out.send(request, PendingRequest::Delete { sent });
    false
}

/// What became of that.
pub(super) fn deleted(sent: Instant, body: &[u8], notes: &mut Notes<'_>) {
    if let Ok(Response::DeleteSubscriptions(response)) = decode(body) {
        let results = response.results.unwrap_or_default();
        let good = results.iter().filter(|status| !status.is_bad()).count();
        notes.step(SetUpStep::DeleteSubscriptions, sent, good as u32);
    }
}
