//! Where the parts of a session write down what came, and when.

use record::receipt::{Head, Open, SetUpStep};
use record::{Ledger, Receipt};
use wire::template::walk::RepublishResponse;
use wire::time::{Instant, Now};

use crate::engine::recorder::NotificationTracker;

/// The receipt, at this moment of its clock.
pub(super) struct Notes<'a> {
    pub now: Now,
    /// When the receipt's clock shows 0.
    zero: Instant,
    pub receipt: &'a mut Receipt,
    ledger: &'a mut Ledger,
}

impl<'a> Notes<'a> {
    #[inline]
    pub fn new(zero: Instant, now: Now, tracker: &'a mut NotificationTracker<'_>) -> Self {
        Self {
            now,
            zero,
            receipt: tracker.receipt,
            ledger: tracker.ledger,
        }
    }

    /// This moment on the receipt's clock.
    #[inline]
    pub fn at(&self) -> u64 {
        self.now.mono.nanos_since(self.zero)
    }

    /// A step of setting up has ended, which began when its request was sent.
    pub fn step(&mut self, step: SetUpStep, sent: Instant, things: u32) {
        let (began, ended) = (sent.nanos_since(self.zero), self.at());
        self.receipt.step(step, began, ended, things);
    }

    /// A message, to be filled with what stands in it.
    #[inline]
    pub fn message(&mut self, number: u32, head: Head) -> Open<'_> {
        self.receipt.message(self.ledger, number, head)
    }

    /// The same for one that was asked for once more.
    pub fn republished(&mut self, number: u32, head: Head) -> Open<'_> {
        self.receipt.republished(self.ledger, number, head)
    }

    /// The head of a message that was asked for, in an answer of so many bytes.
    pub fn head(&self, message: &RepublishResponse<'_>, bytes: usize) -> Head {
        Head {
            sequence: message.sequence_number,
            publish_time: message.publish_time,
            header_time: 0,
            at: self.at(),
            more: false,
            bytes: bytes as u32,
        }
    }
}
