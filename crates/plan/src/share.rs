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
    /// Deals sessions out to threads, one after the other: shares differ by one session at most. Threads that would
    /// have none are left out.
    pub fn deal(seats: impl IntoIterator<Item = Seat>, threads: u32) -> Vec<Self> {
        let most = threads.max(1) as usize;
        let mut shares: Vec<Self> = Vec::new();
        for (i, seat) in seats.into_iter().enumerate() {
            match shares.get_mut(i % most) {
                Some(share) => share.seats.push(seat),
                None => shares.push(Self {
                    thread: i as u32,
                    seats: vec![seat],
                }),
            }
        }
        shares
    }

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
        let seats =
            (0..targets).flat_map(|target| (0..sessions).map(move |index| Seat { target, index }));
        Share::deal(seats, threads)
    }
}
