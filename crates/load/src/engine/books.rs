//! Where a lane writes down what became of its requests.

use record::samples::Sheet;
use record::{Lateness, Ledger, Receipt, Times};

/// A ledger for each thing that is asked, and a row for each request if that is wanted.
pub struct Books<'a> {
    /// In the order of what is asked.
    pub ledgers: &'a mut [Ledger],
    /// Rows of single requests.
    pub sheet: Option<&'a mut Sheet>,
    /// The target, for the rows.
    pub target: usize,
    /// What subscriptions bring.
    pub receipt: Option<&'a mut Receipt>,
}

impl<'a> Books<'a> {
    /// Ledgers only.
    pub fn new(ledgers: &'a mut [Ledger]) -> Self {
        Self {
            ledgers,
            sheet: None,
            target: 0,
            receipt: None,
        }
    }

    /// Where subscriptions write; nothing in a core without any.
    #[inline]
    pub(super) fn ear(&mut self) -> Option<Ear<'_>> {
        Some(Ear {
            receipt: self.receipt.as_deref_mut()?,
            ledger: self.ledgers.first_mut()?,
        })
    }

    /// The ledger of one thing that is asked.
    #[inline]
    pub(super) fn of(&mut self, work: u32) -> Option<&mut Ledger> {
        self.ledgers.get_mut(work as usize)
    }

    /// Requests of the same size, sent together.
    pub(super) fn sent(&mut self, t: u64, work: u32, lateness: Lateness, bytes: u32, n: u32) {
        if let Some(ledger) = self.of(work) {
            ledger.late(t, lateness, n);
            ledger.sent_bytes(t, bytes, n);
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

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outcome {
    pub work: u32,
    pub times: Times,
    pub status: u32,
    pub values: u32,
    pub bytes: u32,
}

/// Requests of one buffer that ended alike, to be written down together.
#[derive(Debug, Default)]
pub(super) struct Run(Option<(Outcome, u32)>);

impl Run {
    #[inline]
    pub fn add(&mut self, outcome: Outcome, books: &mut Books<'_>) {
        match &mut self.0 {
            Some((same, n)) if *same == outcome => *n += 1,
            other => {
                if let Some((before, n)) = other.replace((outcome, 1)) {
                    books.done(before, n);
                }
            }
        }
    }

    pub fn write(&mut self, books: &mut Books<'_>) {
        if let Some((outcome, n)) = self.0.take() {
            books.done(outcome, n);
        }
    }
}

/// Where subscriptions write down what they hear.
pub(super) struct Ear<'a> {
    pub receipt: &'a mut Receipt,
    pub ledger: &'a mut Ledger,
}
