//! The part of a plan that one thread carries out.

use serde::{Deserialize, Serialize};

use crate::phase::Plan;
use crate::seat::Seat;

/// The sessions of one thread, through all phases: a session stays where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Which thread.
    pub thread: u32,
    /// In ascending order.
    pub seats: Vec<Seat>,
}

impl Share {
    /// The seats that a phase with so many sessions for each target fills.
    pub fn seats(&self, sessions: u32) -> impl Iterator<Item = Seat> {
        self.seats
            .iter()
            .copied()
            .filter(move |seat| seat.index < sessions)
    }
}

impl Plan {
    /// Deals the sessions out to threads, one after the other: shares differ by one session at most.
    /// Threads that would have none are left out.
    pub fn shares(&self, threads: u32) -> Vec<Share> {
        let sessions = self
            .phases
            .iter()
            .map(|phase| phase.sessions)
            .max()
            .unwrap_or(0);
        let targets = u32::try_from(self.targets.len()).unwrap_or(u32::MAX);
        let total = u64::from(targets) * u64::from(sessions);
        let threads = u32::try_from(total.min(threads.max(1).into())).unwrap_or(threads);
        let mut shares: Vec<Share> = (0..threads)
            .map(|thread| Share {
                thread,
                seats: Vec::new(),
            })
            .collect();
        let seats =
            (0..targets).flat_map(|target| (0..sessions).map(move |index| Seat { target, index }));
        let threads = shares.len();
        for (i, seat) in seats.enumerate() {
            if let Some(share) = shares.get_mut(i % threads) {
                share.seats.push(seat);
            }
        }
        shares
    }
}
