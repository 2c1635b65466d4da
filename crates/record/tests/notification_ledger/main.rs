//! Every notification has a place: what a client was sent, against what it says it received.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

mod events;
mod places;
mod result;
#[path = "../schema/mod.rs"]
mod schema;

use record::Ledger;
use record::notification_ledger::{
    Account, Counter, Gap, Head, ItemTerms, NotificationLedger, Seat, SubscriptionTerms,
    WatchedValue,
};

const MS: u64 = 1_000_000;
const PUBLISHING: u64 = 100 * MS;
const OVERFLOW: u32 = 0x0480;

/// A client with one subscription, whose values are told as `(handle, count, status)`.
struct Client {
    notification_ledger: NotificationLedger,
    ledger: Ledger,
    subscription: u32,
    /// Publishings up to now.
    now: u64,
}

/// A value: its handle, count, and status.
type Told = (u32, u64, u32);

fn seat(subscription: u32) -> Seat {
    Seat {
        target: 0,
        session: 0,
        subscription,
    }
}

fn terms() -> SubscriptionTerms {
    SubscriptionTerms {
        publishing_ns: PUBLISHING,
        keep_alive: 10,
        lifetime: 30,
    }
}

/// An item that counts each 10 ms.
fn counting(sampling_ms: u64, queue_size: u32) -> ItemTerms {
    ItemTerms {
        sampling_ns: sampling_ms * MS,
        queue_size,
        discard_oldest: true,
        held_back: 0,
        watch: WatchedValue::Counter(Counter {
            update_ns: 10 * MS,
            exact: true,
            ..Counter::default()
        }),
    }
}

impl Client {
    fn new(items: &[ItemTerms]) -> Self {
        let mut client = Self::settling(items);
        client.notification_ledger.measure(0);
        client
    }

    /// One that does not measure yet.
    fn settling(items: &[ItemTerms]) -> Self {
        let mut notification_ledger = NotificationLedger::new(0);
        let subscription = notification_ledger.subscription(seat(0), terms());
        let handles = notification_ledger.reserve(subscription, items.len() as u32);
        for (handle, item) in handles.zip(items) {
            notification_ledger.item(handle, *item);
        }
        Self {
            notification_ledger,
            ledger: Ledger::new(),
            subscription,
            now: 0,
        }
    }

    fn head(&self, sequence: u32) -> Head {
        Head {
            sequence,
            publish_time: (self.now / 100) as i64,
            header_time: (self.now / 100) as i64,
            at: self.now + MS,
            more: false,
            bytes: 100,
        }
    }

    /// Time goes on to the next publishing, which brings a message.
    fn comes(&mut self, sequence: u32, values: &[Told]) -> Option<Gap> {
        self.now += PUBLISHING;
        self.at_once(sequence, values)
    }

    /// A message comes without time going on.
    fn at_once(&mut self, sequence: u32, values: &[Told]) -> Option<Gap> {
        let head = self.head(sequence);
        let mut open = self
            .notification_ledger
            .message(&mut self.ledger, self.subscription, head);
        for &(handle, count, status) in values {
            open.value(handle, status, stamp(count), stamp(count), Some(count));
        }
        open.end()
    }

    fn is_republished(&mut self, sequence: u32, values: &[Told]) {
        let head = self.head(sequence);
        let mut open =
            self.notification_ledger
                .republished(&mut self.ledger, self.subscription, head);
        for &(handle, count, status) in values {
            open.value(handle, status, stamp(count), stamp(count), Some(count));
        }
        open.end();
    }

    fn account(self) -> Account {
        let account = self.notification_ledger.finish(self.now + MS);
        let places = account.measured.places;
        assert!(places.balances(), "{places:?}");
        account
    }
}

/// When the update was that a count tells of, in ticks.
fn stamp(count: u64) -> i64 {
    (count * 10 * MS / 100) as i64
}
