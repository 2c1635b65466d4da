//! A look at a server from another thread, which may outlive it.

use std::sync::Arc;

use record::run::Internals;
use wire::policy::pubsub::SecurityKeys;

use crate::counters::Counted;
use crate::fault::FaultCount;
use crate::ledger::{Taking, Tally};
use crate::refused::Refused;
use crate::security_group::GroupCount;
use crate::service::truth::{self, GroundTruth};
use crate::shared::Shared;

/// What somebody can know of a server who does not own it. Cheap to copy.
#[derive(Clone)]
pub struct ServerWatch(Arc<Shared>);

impl std::fmt::Debug for ServerWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ServerWatch")
            .field(&self.0.advertised.urls.tcp)
            .finish()
    }
}

impl ServerWatch {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self(Arc::clone(shared))
    }

    /// Where clients connect to.
    pub fn url(&self) -> &str {
        &self.0.advertised.urls.tcp
    }

    /// What it counted so far.
    pub fn counted(&self) -> Counted {
        self.0.counters.read()
    }

    /// What became of values and messages of all subscriptions, added up.
    pub fn tally(&self) -> Tally {
        self.0.ledger.total()
    }

    /// The bytes that are held for clients, and how many may be.
    pub fn memory(&self) -> (usize, usize) {
        let memory = &self.0.config.memory;
        (memory.held(), memory.limit())
    }

    /// How clients took what there was for them, and what they owe now.
    pub fn taking(&self) -> Taking {
        truth::taking(&self.0, self.0.clock.now())
    }

    /// What its loops did, and what waited for them.
    pub fn internals(&self) -> Internals {
        self.0.workings.read(self.0.clock.now().mono)
    }

    /// The faults, and how often they struck.
    pub fn faults(&self) -> Vec<FaultCount> {
        self.0.faults.counts()
    }

    /// Who was not let in, behind the first `known` that were told of, and how many that makes in all. Floods
    /// are told of by a few of them, which say how many there were between.
    pub fn refused(&self, known: u64) -> (Vec<Refused>, u64) {
        self.0.refused.since(known)
    }

    /// How many more were not let in since the last one that is told of.
    pub fn refused_untold(&self) -> u64 {
        self.0.refused.untold()
    }

    /// What its key service tells of a security group, for publishers of this process: so many keys from a token on, or
    /// from the current one on if that is 0.
    pub fn security_keys(&self, group: &str, from: u32, count: u32) -> Option<SecurityKeys> {
        let group = self.0.security_groups.find(group)?;
        Some(group.keys(from, count, self.0.clock.now().mono))
    }

    /// What was asked of its security groups.
    pub fn security_groups(&self) -> Vec<GroupCount> {
        self.0.security_groups.counts()
    }

    /// What became of each update, sample, value and message so far.
    pub fn ground_truth(&self) -> GroundTruth {
        GroundTruth::read(&self.0)
    }
}
