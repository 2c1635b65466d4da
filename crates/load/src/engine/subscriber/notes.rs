//! Where the parts of a session write down what came, and when.

use record::notification_ledger::{Head, Open, SetUpStep};
use record::{Ledger, NotificationLedger};
use wire::template::walk::RepublishResponse;
use wire::time::{Instant, Now};

use crate::engine::recorder::NotificationTracker;

/// The notification ledger, at this moment of its clock.
pub(super) struct Notes<'a> {
    pub now: Now,
    /// When the notification ledger's clock shows 0.
    zero: Instant,
    pub notification_ledger: &'a mut NotificationLedger,
    ledger: &'a mut Ledger,
}

impl<'a> Notes<'a> {
    #[inline]
    pub fn new(zero: Instant, now: Now, tracker: &'a mut NotificationTracker<'_>) -> Self {
        Self {
            now,
            zero,
            notification_ledger: tracker.notification_ledger,
            ledger: tracker.ledger,
        }
    }

    /// This moment on the notification ledger's clock.
    #[inline]
    pub fn at(&self) -> u64 {
        self.now.mono.nanos_since(self.zero)
    }

    /// A step of setting up has ended, which began when its request was sent.
    pub fn step(&mut self, step: SetUpStep, sent: Instant, things: u32) {
        let (began, ended) = (sent.nanos_since(self.zero), self.at());
        self.notification_ledger.step(step, began, ended, things);
    }

    /// A message, to be filled with what stands in it.
    #[inline]
    pub fn message(&mut self, number: u32, head: Head) -> Open<'_> {
        self.notification_ledger.message(self.ledger, number, head)
    }

    /// The same for one that was asked for once more.
    pub fn republished(&mut self, number: u32, head: Head) -> Open<'_> {
        self.notification_ledger
            .republished(self.ledger, number, head)
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
