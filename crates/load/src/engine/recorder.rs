//! Where a lane writes down what became of its requests.

use record::samples::Sheet;
use record::{Lateness, Ledger, NotificationLedger, Times};

/// A ledger for each thing that is asked, and a row for each request if that is wanted.
pub struct Recorder<'a> {
    /// In the order of what is asked.
    pub ledgers: &'a mut [Ledger],
    /// Rows of single requests.
    pub sheet: Option<&'a mut Sheet>,
    /// The target, for the rows.
    pub target: usize,
    /// What subscriptions bring.
    pub notification_ledger: Option<&'a mut NotificationLedger>,
}

impl<'a> Recorder<'a> {
    /// Ledgers only.
    pub fn new(ledgers: &'a mut [Ledger]) -> Self {
        Self {
            ledgers,
            sheet: None,
            target: 0,
            notification_ledger: None,
        }
    }

    /// Where subscriptions write; nothing in a loop without any.
    #[inline]
    pub(super) fn tracker(&mut self) -> Option<NotificationTracker<'_>> {
        Some(NotificationTracker {
            notification_ledger: self.notification_ledger.as_deref_mut()?,
            ledger: self.ledgers.first_mut()?,
        })
    }

    /// The ledger of one thing that is asked.
    #[inline]
    pub(super) fn of(&mut self, work: u32) -> Option<&mut Ledger> {
        self.ledgers.get_mut(work as usize)
    }

    /// Requests that are alike, sent together.
    pub(super) fn sent(&mut self, t: u64, sent: Sent, n: u32) {
        if let Some(ledger) = self.of(sent.work) {
            ledger.late(t, sent.lateness, n);
            ledger.sent_bytes(t, sent.bytes, n);
        }
    }

    /// A request that was given up.
    pub(super) fn timed_out(&mut self, work: u32, times: Times) {
        if let Some(ledger) = self.of(work) {
            ledger.timed_out(times, 1);
        }
        if let Some(sheet) = &mut self.sheet {
            sheet.row(self.target, times, record::ledger::BAD_TIMEOUT);
        }
    }

    /// Requests that ended alike.
    pub(super) fn done(&mut self, outcome: Outcome, n: u32) {
        let Outcome {
            work,
            times,
            status,
            values,
            bytes,
        } = outcome;
        if let Some(ledger) = self.of(work) {
            ledger.done(times, status, values, n);
            if bytes > 0 {
                ledger.received_bytes(times.completed, bytes, n);
            }
        }
        if let Some(sheet) = &mut self.sheet {
            for _ in 0..n {
                sheet.row(self.target, times, status);
            }
        }
    }
}

/// How a request was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    pub work: u32,
    pub lateness: Lateness,
    pub bytes: u32,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outcome {
    pub work: u32,
    pub times: Times,
    pub status: u32,
    pub values: u32,
    pub bytes: u32,
}

/// Entries that follow each other and are alike, to be written down together.
#[derive(Debug)]
pub(super) struct Alike<T>(Option<(T, u32)>);

impl<T> Default for Alike<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: PartialEq> Alike<T> {
    /// One more. If those before it are unlike it, they are to be written down now: so many.
    #[inline]
    pub fn add(&mut self, one: T) -> Option<(T, u32)> {
        match &mut self.0 {
            Some((same, n)) if *same == one => {
                *n += 1;
                None
            }
            other => other.replace((one, 1)),
        }
    }

    /// The last ones.
    pub fn take(&mut self) -> Option<(T, u32)> {
        self.0.take()
    }
}

/// Where subscriptions write down what they hear.
pub(super) struct NotificationTracker<'a> {
    pub notification_ledger: &'a mut NotificationLedger,
    pub ledger: &'a mut Ledger,
}
