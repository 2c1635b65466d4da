//! Where counters cannot be asked for: the reason in place of them.

use super::Counted;
use crate::figure::{Figure, NotAvailable};

/// A process that is counted.
#[derive(Debug)]
pub enum Counters {}

impl Counters {
    /// Of a process.
    pub fn of(_id: u32) -> Figure<Self> {
        Err(NotAvailable::here())
    }

    /// What was counted up to now.
    pub fn read(&mut self) -> Counted {
        match *self {}
    }
}
