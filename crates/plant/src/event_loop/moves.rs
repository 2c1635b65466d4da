//! What is on its way to a loop, and who waits for that.

use super::transfer::Transfer;
use super::visiting::Departure;
use super::{SlotId, Slots};

/// Subscriptions on their way here, and sessions that leave once they have come.
#[derive(Default)]
pub struct Moves {
    /// Requests whose subscriptions are on their way.
    pub transfers: Slots<Transfer>,
    /// Sessions that wait for them.
    pub departures: Vec<Departure>,
}

impl Moves {
    /// Whether a session waits for subscriptions.
    pub fn has_for(&self, session: SlotId) -> bool {
        self.any(|transfer| transfer.is_for(session))
    }

    /// Whether an answer that goes over this connection waits for subscriptions.
    pub fn has_over(&self, link: SlotId) -> bool {
        self.any(|transfer| transfer.is_over(link))
    }

    fn any(&self, is: impl Fn(&Transfer) -> bool) -> bool {
        let mut ids = self.transfers.ids().into_iter();
        ids.any(|id| self.transfers.get(id).is_some_and(&is))
    }
}
