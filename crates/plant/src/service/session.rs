//! A session as a loop keeps it: the protocol's part of it and what the services need.

use std::collections::VecDeque;
use std::sync::Arc;

use wire::budget::{Budget, Held};
use wire::session::server::Session as Protocol;
use wire::time::Instant;
use wire::types::StatusCode;

use super::history::HistoryPoints;
use super::view::ContinuationPoints;
use crate::diagnostics::SessionRecord;
use crate::session::{Claim, Owner, SessionKey};
use crate::slots::{PendingRequest, SlotId};
use crate::space::Rights;

/// A session.
pub struct Session {
    /// What the protocol knows of it.
    pub protocol: Protocol,
    /// Helpers find out who activates it.
    pub proving: bool,
    /// What its requests carry.
    pub key: SessionKey,
    /// Where its answers go.
    pub link: SlotId,
    /// Memory for what waits to be acknowledged or asked for.
    pub budget: Budget,
    /// Browses that are not finished.
    pub points: ContinuationPoints,
    /// Histories that were not read to their end.
    pub history: HistoryPoints,
    /// As whom it is to be activated now: for audit events.
    pub claim: Option<Box<Claim>>,
    /// Who it is: its subscriptions are theirs, too.
    pub owner: Arc<Owner>,
    /// What is counted for it.
    pub record: Arc<SessionRecord>,
    /// What this user may do.
    pub rights: Rights,
    /// Its subscriptions, by their numbers.
    pub subscriptions: Vec<u32>,
    /// Publish requests that wait, oldest first.
    pub requests: VecDeque<PublishRequest>,
    /// Subscriptions that wait for a Publish request, longest first.
    pub waiting: Vec<u32>,
    /// Subscriptions that ended or moved, and why: to be told with the next Publish requests.
    pub endings: VecDeque<(u32, StatusCode)>,
    /// Messages of subscriptions that a fault sends once more, from subscriptionId on.
    pub repeats: VecDeque<(u32, Vec<u8>)>,
}

impl Session {
    /// A session that was just created.
    pub fn new(
        protocol: Protocol,
        key: SessionKey,
        link: SlotId,
        record: Arc<SessionRecord>,
        budget: Budget,
    ) -> Self {
        Self {
            protocol,
            proving: false,
            key,
            link,
            budget,
            points: ContinuationPoints::default(),
            history: HistoryPoints::default(),
            claim: None,
            owner: Arc::default(),
            record,
            rights: Rights::NONE,
            subscriptions: Vec::new(),
            requests: VecDeque::new(),
            waiting: Vec::new(),
            endings: VecDeque::new(),
            repeats: VecDeque::new(),
        }
    }

    /// Says how many Publish requests wait.
    pub fn count_waiting(&self) {
        self.record.publishing.set(self.requests.len() as u32);
    }
}

/// A Publish request that waits.
#[derive(Debug)]
pub struct PublishRequest {
    /// How it is answered.
    pub asked: PendingRequest,
    /// When nobody waits for the answer any more.
    pub deadline: Option<Instant>,
    /// What became of its acknowledgements.
    pub results: Vec<StatusCode>,
    /// Of the session's memory, for many of them.
    #[expect(dead_code, reason = "it is there to be dropped")]
    pub held: Option<Held>,
}
