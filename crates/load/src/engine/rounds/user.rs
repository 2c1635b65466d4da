//! A simulated user.

use std::time::Duration;

use plan::Random;
use wire::types::SubscriptionAcknowledgement;

use crate::work::Asker;

/// What a user has beside its session.
pub struct User {
    pub chance: Random,
    /// What it asks, in the order of the steps of all sequences; made for its session.
    pub askers: Vec<Asker>,
    /// Its subscription, and how often it is published.
    pub subscription: Option<(u32, Duration)>,
    /// What came and was not acknowledged yet.
    pub unacknowledged: Vec<SubscriptionAcknowledgement>,
}

impl User {
    pub fn new(seed: u64, target: u32, index: u32) -> Self {
        // Not the stream of its arrivals.
        let which = [u64::from(target), u64::from(index), 1];
        Self {
            chance: Random::stream(seed, &which),
            askers: Vec::new(),
            subscription: None,
            unacknowledged: Vec::new(),
        }
    }
}
