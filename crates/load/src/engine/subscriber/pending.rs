//! What a session asks for its subscriptions.

use wire::client::RequestId;
use wire::time::Instant;

use crate::diagnostics::DiagnosticsRequest;

/// What a request was about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PendingRequest {
    /// It is not one of ours.
    #[default]
    Nothing,
    Publish,
    Subscription {
        subscription: u32,
        sent: Instant,
    },
    Items(ItemsAsked),
    Republish {
        subscription: u32,
        sequence: u32,
    },
    /// The same after a reconnect, until there are no more.
    CatchUp {
        subscription: u32,
        sequence: u32,
    },
    Transfer {
        sent: Instant,
    },
    /// A subscription of another session is to be ours.
    Take(TakeAsked),
    Churn(ChangeAsked),
    /// Publishing is to end.
    Quiet,
    Diagnostics(DiagnosticsRequest),
    Refresh {
        sent: Instant,
    },
    Delete {
        sent: Instant,
    },
}

/// Items of a subscription, to be created: `count` of them from `first` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemsAsked {
    pub subscription: u32,
    pub first: u32,
    pub count: u32,
    pub sent: Instant,
}

/// A subscription of another session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakeAsked {
    pub subscription: u32,
    /// Who had it, as a seat of the loop.
    pub from: usize,
    /// With its last values.
    pub initial: bool,
    pub sent: Instant,
}

/// A change of a subscription, or of its first `count` items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeAsked {
    pub subscription: u32,
    /// Changed, or changed back.
    pub there: bool,
    pub count: u32,
    pub sent: Instant,
}

/// The requests that are on their way.
#[derive(Debug, Default)]
pub struct PendingRequests {
    /// By slot of the connection.
    slots: Vec<PendingRequest>,
    len: usize,
}

impl PendingRequests {
    pub fn len(&self) -> usize {
        self.len
    }

    /// How many are on their way beside so many Publish requests.
    pub fn beside(&self, publish: usize) -> usize {
        self.len.saturating_sub(publish)
    }

    #[inline]
    pub fn has(&self, id: RequestId) -> bool {
        let asked = self.slots.get(id.slot());
        asked.is_some_and(|asked| *asked != PendingRequest::Nothing)
    }

    pub fn any(&self, what: impl FnMut(&PendingRequest) -> bool) -> bool {
        self.slots.iter().any(what)
    }

    /// One was sent.
    pub fn keep(&mut self, id: RequestId, asked: PendingRequest) {
        let slot = id.slot();
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, PendingRequest::Nothing);
        }
        if let Some(place) = self.slots.get_mut(slot) {
            *place = asked;
            self.len += 1;
        }
    }

    /// One has ended.
    pub fn take(&mut self, id: RequestId) -> PendingRequest {
        let asked = self.slots.get_mut(id.slot()).map(std::mem::take);
        let asked = asked.unwrap_or_default();
        if asked != PendingRequest::Nothing {
            self.len -= 1;
        }
        asked
    }
}
