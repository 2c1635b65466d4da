//! TransferSubscriptions (Part 4, 5.14.7). A subscription travels as one owned value: within a
//! loop from session to session, between loops by mail. The register says where it lives.

use std::sync::Arc;

use wire::server::RequestId;
use wire::types::{
    StatusCode, TransferResult, TransferSubscriptionsRequest, TransferSubscriptionsResponse,
};

use super::between_loops::{ForeignAnswer, Wanted};
use super::{Account, EventLoop, Mail, PendingRequest, Post, Responder, SlotId};
use crate::diagnostics::Service;
use crate::limits::Transfer as TransferRule;
use crate::service::operations;
use crate::session::Owner;
use crate::space;
use crate::subscription::Subscription;

/// A request whose subscriptions are on their way.
pub struct Transfer {
    asked: PendingRequest,
    session: SlotId,
    send_initial_values: bool,
    results: Vec<TransferResult>,
    /// Subscriptions of which it is not known yet whether they come.
    awaited: usize,
}

impl Transfer {
    /// Whether this session asked for it.
    pub fn is_for(&self, session: SlotId) -> bool {
        self.session == session
    }

    /// Whether its answer goes over this connection.
    pub fn is_over(&self, link: SlotId) -> bool {
        self.asked.link == link
    }
}

/// A subscription that nobody finds after so many is not there.
const MOST_HOPS: u8 = 100;

fn refused(status_code: StatusCode) -> TransferResult {
    TransferResult {
        status_code,
        available_sequence_numbers: None,
    }
}

impl EventLoop {
    /// Takes a TransferSubscriptions request.
    pub(super) fn transfer(
        &mut self,
        link: SlotId,
        id: RequestId,
        request: &TransferSubscriptionsRequest,
    ) -> Result<(), StatusCode> {
        if self.shared.config.transfer == TransferRule::Never {
            return Err(StatusCode::BadServiceUnsupported);
        }
        let header = &request.request_header;
        let session = self
            .responder
            .session_for(space::raw(&header.authentication_token), link)?;
        let limit = self.shared.config.limits.subscriptions_per_session;
        let ids = operations(&mut request.subscription_ids.clone(), limit)?;
        let held = self.responder.store.sessions.get(session);
        let owner = held.map(|held| Arc::clone(&held.owner));
        let owner = owner.ok_or(StatusCode::BadSessionIdInvalid)?;

        let mut results = vec![refused(StatusCode::BadSubscriptionIdInvalid); ids.len()];
        let mut away: Vec<Vec<(usize, u32)>> = vec![Vec::new(); self.loops.len()];
        let mut here = Vec::new();
        for (at, id) in ids.into_iter().enumerate() {
            match self.shared.register.home_of(id) {
                Some(home)
                    if home == self.loops.index()
                        && self.responder.store.subscriptions.contains_key(&id) =>
                {
                    here.push((at, id));
                }
                // If it is said to be here and is not, it is in the mail: this is put behind it.
                Some(home) => {
                    if let Some(wanted) = away.get_mut(usize::from(home)) {
                        wanted.push((at, id));
                    }
                }
                None => {}
            }
        }
        for (at, id) in here {
            let given = self.responder.give_one(id, Some(session), &owner);
            let result = match given {
                Ok(subscription) => {
                    let initial = request.send_initial_values;
                    self.responder.store.take(
                        subscription,
                        Some(session),
                        initial,
                        self.responder.now,
                    )
                }
                Err(status) => refused(status),
            };
            if let Some(place) = results.get_mut(at) {
                *place = result;
            }
        }
        let asked = PendingRequest {
            link,
            id,
            handle: header.request_handle,
        };
        let awaited = away.iter().map(Vec::len).sum();
        let transfer = Transfer {
            asked,
            session,
            send_initial_values: request.send_initial_values,
            results,
            awaited,
        };
        if awaited == 0 {
            self.responder.transferred(transfer);
            return Ok(());
        }
        let transfer = self.moves.transfers.insert_with(|_| transfer);
        for (home, ids) in away.into_iter().enumerate() {
            if let Some(post) = self.loops.get(home).filter(|_| !ids.is_empty()) {
                post.send(Mail::Wanted(Wanted {
                    core: self.loops.index(),
                    transfer,
                    owner: Arc::clone(&owner),
                    ids,
                    hops: 0,
                }));
            }
        }
        Ok(())
    }

    /// Gives a loop what it wants. What went on from here is asked for where it went to.
    pub(super) fn give(&mut self, wanted: Wanted) {
        let Some(post) = self.loops.get(wanted.core).cloned() else {
            return;
        };
        let asker =
            (wanted.core == self.loops.index()).then(|| self.moves.transfers.get(wanted.transfer));
        let asker = asker.flatten().map(|transfer| transfer.session);
        let mut records = Vec::new();
        let mut results = Vec::new();
        for (at, id) in wanted.ids {
            if wanted.hops < MOST_HOPS
                && let Some(post) = self.gone_to(id)
            {
                post.send(Mail::Wanted(Wanted {
                    ids: vec![(at, id)],
                    owner: Arc::clone(&wanted.owner),
                    hops: wanted.hops + 1,
                    ..wanted
                }));
                continue;
            }
            let given = self.responder.give_one(id, asker, &wanted.owner);
            if let Ok(subscription) = &given {
                records.push(Arc::clone(&subscription.record));
            }
            results.push((at, given));
        }
        // Whoever asks there finds the subscription in the mail before the question.
        self.shared.register.moves(&records, wanted.core, || {
            post.send(Mail::Given(ForeignAnswer {
                transfer: wanted.transfer,
                results,
            }));
        });
    }

    /// The loop where a subscription went that is not here any more. It may be this one, if it is in the mail again.
    fn gone_to(&self, id: u32) -> Option<Post> {
        let home = self.shared.register.home_of(id)?;
        let gone = !self.responder.store.subscriptions.contains_key(&id);
        self.loops.get(home).filter(|_| gone).cloned()
    }

    /// Takes what another loop gave.
    pub(super) fn given(&mut self, given: ForeignAnswer) {
        let Some(mut transfer) = self.moves.transfers.remove(given.transfer) else {
            return;
        };
        transfer.awaited = transfer.awaited.saturating_sub(given.results.len());
        for (at, result) in given.results {
            let session = Some(transfer.session);
            let result = match result {
                Ok(subscription) => {
                    let initial = transfer.send_initial_values;
                    self.responder
                        .store
                        .take(subscription, session, initial, self.responder.now)
                }
                Err(status) => refused(status),
            };
            if let Some(place) = transfer.results.get_mut(at) {
                *place = result;
            }
        }
        if transfer.awaited > 0 {
            self.moves.transfers.put_back(given.transfer, transfer);
        } else {
            self.responder
                .connections
                .queues
                .dirty
                .push(transfer.asked.link);
            self.responder.transferred(transfer);
            self.depart_again();
        }
    }
}

impl Responder {
    fn transferred(&mut self, transfer: Transfer) {
        let handle = transfer.asked.handle;
        let response = TransferSubscriptionsResponse {
            response_header: wire::service::response_header(handle, self.now.utc),
            results: Some(transfer.results),
            ..Default::default()
        };
        let account = Account::of(transfer.session, Service::TransferSubscriptions);
        self.respond_with(account, transfer.asked, response.into());
        self.answer_publish(transfer.session);
    }

    /// Takes a subscription away from its session, which is told.
    fn give_one(
        &mut self,
        id: u32,
        to: Option<SlotId>,
        owner: &Owner,
    ) -> Result<Box<Subscription>, StatusCode> {
        let (subscription, old) = self.store.give(id, to, owner, &self.shared)?;
        if let Some(old) = old {
            self.answer_publish(old);
        }
        Ok(subscription)
    }
}
