//! Ground truth: what became of each update, sample, value and message, so that a client can be
//! judged by what it was sent.
//!
//! Every subscription keeps an [`Account`]. The accounts of those that ended are added up; what
//! lives is read when somebody asks.

mod page;
mod taking;
mod tally;

pub use taking::{Taking, TakingNow, Took};
pub use tally::{ItemKind, Load, Messages, Tally, Values};

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use page::Page;

/// The accounts of all subscriptions of a server.
#[derive(Debug, Default)]
pub struct Ledger {
    pages: Mutex<Pages>,
    /// How clients took what there was for them.
    pub took: Took,
}

#[derive(Debug, Default)]
struct Pages {
    open: BTreeMap<u32, Arc<Page>>,
    ended: Tally,
}

/// The counts of all subscriptions at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Subscriptions {
    /// Those that live and those that ended.
    pub total: Tally,
    /// Those that ended.
    pub ended: Tally,
    /// Those that live, by their numbers.
    pub open: BTreeMap<u32, Tally>,
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, Pages> {
        // Sums are replaced as a whole; one that panicked has left none half done.
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counts of all subscriptions.
    pub fn read(&self) -> Subscriptions {
        let pages = self.lock();
        let mut read = Subscriptions {
            total: pages.ended,
            ended: pages.ended,
            open: BTreeMap::new(),
        };
        for (id, page) in &pages.open {
            let tally = page.read();
            read.total += tally;
            read.open.insert(*id, tally);
        }
        read
    }

    /// The sums alone.
    pub fn total(&self) -> Tally {
        let pages = self.lock();
        let mut total = pages.ended;
        for page in pages.open.values() {
            total += page.read();
        }
        total
    }
}

/// What a subscription counts.
///
/// The counts are plain numbers of the loop that has the subscription; [`settle`](Self::settle)
/// shows them to others.
#[derive(Debug, Default)]
pub struct Account {
    /// The counts.
    pub tally: Tally,
    page: Arc<Page>,
    in_ledger: Option<(u32, Arc<Ledger>)>,
}

impl Account {
    /// Enters it into a ledger, under the number of its subscription.
    pub fn open(&mut self, id: u32, ledger: &Arc<Ledger>) {
        ledger.lock().open.insert(id, Arc::clone(&self.page));
        self.in_ledger = Some((id, Arc::clone(ledger)));
        self.settle();
    }

    /// Where is counted how the client takes it, if somebody wants to know.
    pub fn took(&self) -> Option<&Took> {
        self.in_ledger.as_ref().map(|(_, ledger)| &ledger.took)
    }

    /// Shows the counts to other threads. Costs about sixty stores.
    pub fn settle(&mut self) {
        self.page.write(&self.tally);
    }

    /// Adds the counts to those of subscriptions that ended.
    pub fn close(&mut self) {
        if let Some((id, ledger)) = self.in_ledger.take() {
            let mut pages = ledger.lock();
            pages.open.remove(&id);
            pages.ended += self.tally;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_that_is_closed_still_counts() {
        let ledger = Arc::<Ledger>::default();
        let (mut one, mut two) = (Account::default(), Account::default());
        one.open(1, &ledger);
        two.open(2, &ledger);
        one.tally.messages.made = 3;
        one.settle();
        two.tally.messages.made = 4;
        two.settle();
        one.close();
        let read = ledger.read();
        assert_eq!(read.total.messages.made, 7);
        assert_eq!(read.ended.messages.made, 3);
        assert_eq!(read.open.keys().collect::<Vec<_>>(), [&2]);
        assert_eq!(ledger.total(), read.total);
    }
}
