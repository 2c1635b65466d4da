//! Requests on their way.

use std::collections::HashMap;

use record::Times;
use wire::client::RequestId;
use wire::types::StatusCode;

use super::super::recorder::Outcome;

/// A request on its way.
#[derive(Debug, Clone, Copy, Default)]
pub struct Flight {
    pub planned: u64,
    pub sent: u64,
    /// The ledger of what is asked.
    pub work: u32,
    /// How many results its answer has to have.
    pub expected: u32,
    /// Of the answers so far, when it takes several.
    pub values: u32,
    /// The place in the list of its first operation.
    pub first: u32,
}

impl Flight {
    #[inline]
    pub fn times(&self, completed: u64) -> Times {
        Times {
            planned: self.planned,
            sent: self.sent,
            completed,
        }
    }

    #[inline]
    pub fn outcome(&self, completed: u64, status: StatusCode, bytes: u32) -> Outcome {
        Outcome {
            work: self.work,
            times: self.times(completed),
            status: status.bits(),
            values: self.values,
            bytes,
        }
    }
}

/// All requests of a session that are on their way, by the slots of their ids.
#[derive(Debug, Default)]
pub struct Flights {
    slots: Vec<Flight>,
    /// Of requests that go on with an answer: the places of their operations.
    places: HashMap<usize, Vec<usize>>,
}

impl Flights {
    /// A request was sent.
    #[inline]
    pub fn keep(&mut self, id: RequestId, flight: Flight) {
        let slot = id.slot();
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, Flight::default());
        }
        if let Some(place) = self.slots.get_mut(slot) {
            *place = flight;
        }
        // Left from one that was never answered.
        self.take_places(id);
    }

    /// A request was sent that goes on with operations of these places.
    pub fn keep_rest(&mut self, id: RequestId, flight: Flight, places: Vec<usize>) {
        self.keep(id, flight);
        self.places.insert(id.slot(), places);
    }

    /// One that was kept: its id is that of a request that was sent.
    #[inline]
    pub fn get(&self, id: RequestId) -> Flight {
        debug_assert!(id.slot() < self.slots.len(), "a request that was not kept");
        self.slots.get(id.slot()).copied().unwrap_or_default()
    }

    /// The places of the operations of a request, if it has some of its own.
    #[inline]
    pub fn take_places(&mut self, id: RequestId) -> Option<Vec<usize>> {
        // Most have none, and nothing is hashed for them.
        match self.places.is_empty() {
            true => None,
            false => self.places.remove(&id.slot()),
        }
    }
}
