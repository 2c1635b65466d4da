//! What it costs to give every notified value its place, and whether a server without faults is
//! ever blamed.
//!
//! ```text
//! cargo bench -p benches --bench notification_ledger              # 10^8 values
//! cargo bench -p benches --bench notification_ledger -- 10000000
//! ```
//!
//! A pretended server in virtual time: counters, samples, queues and publishing as Part 4 has them,
//! with publishings that are late now and then. In the second round it drops, repeats, reorders and
//! leaves out, and counts what it did. Only the account is timed, not the server.

use std::time::Duration;

use record::Ledger;
use record::notification_ledger::{
    Account, Counter, Head, ItemTerms, NotificationLedger, Places, Seat, SubscriptionTerms,
    WatchedValue,
};

const MS: u64 = 1_000_000;
const UPDATE: u64 = 10 * MS;
const PUBLISHING: u64 = 100 * MS;
const SUBSCRIPTIONS: u32 = 10;
const ITEMS: u32 = 1000;
const OVERFLOW: u32 = 0x0480;

/// A value on its way: handle, status, source and server timestamp, count.
type Told = (u32, u32, i64, i64, u64);

/// A monitored item of the server.
struct Item {
    handle: u32,
    sampling: u64,
    queue: usize,
    modulus: u64,
    next: u64,
    seen: u64,
}

/// What was done on purpose, and what queues could not keep.
#[derive(Default)]
struct Truth {
    sent: u64,
    overflowed: u64,
    overwritten: u64,
    unsampled: u64,
    left_out: u64,
    repeated: u64,
    out_of_order: u64,
    lost_with_messages: u64,
}

/// A number that looks random, the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        plan::mixed(self.0)
    }

    fn one_in(&mut self, n: u64) -> bool {
        n > 0 && self.roll().is_multiple_of(n)
    }
}

fn items(subscription: u32) -> Vec<Item> {
    (0..ITEMS)
        .map(|n| {
            let (sampling, queue, modulus) = match n % 20 {
                0..12 => (10, 100, 0),
                12..14 => (5, 100, 0),
                14 => (35, 10, 0),
                15 => (15, 10, 1 << 32),
                16 => (10, 1, 0),
                17 => (50, 1, 0),
                18 => (10, 100, 256),
                _ => (10, 4, 0),
            };
            let began = u64::from(n) * 7_919 + 3 * MS;
            Item {
                handle: subscription * ITEMS + n,
                sampling: sampling * MS,
                queue,
                modulus,
                next: began,
                seen: u64::MAX,
            }
        })
        .collect()
}

impl Item {
    fn terms(&self) -> ItemTerms {
        ItemTerms {
            sampling_ns: self.sampling,
            queue_size: self.queue as u32,
            discard_oldest: true,
            held_back: 0,
            watch: WatchedValue::Counter(Counter {
                update_ns: UPDATE,
                modulus: self.modulus,
                exact: true,
                ..Counter::default()
            }),
        }
    }

    /// Samples up to now, as far as the queue keeps them.
    fn publish(&mut self, now: u64, out: &mut Vec<Told>, truth: &mut Truth) {
        let start = out.len();
        while self.next <= now {
            let update = self.next / UPDATE;
            if update != self.seen {
                if self.seen != u64::MAX {
                    truth.unsampled += update - self.seen - 1;
                }
                self.seen = update;
                let count = update.checked_rem(self.modulus).unwrap_or(update);
                let source = (update * UPDATE / 100) as i64;
                out.push((self.handle, 0, source, (self.next / 100) as i64, count));
            }
            self.next += self.sampling;
        }
        let waiting = out.len() - start;
        if waiting > self.queue {
            let gone = waiting - self.queue;
            out.drain(start..start + gone);
            if self.queue == 1 {
                truth.overwritten += gone as u64;
            } else {
                truth.overflowed += gone as u64;
                out[start].1 = OVERFLOW;
            }
        }
    }
}

struct Bench {
    notification_ledger: NotificationLedger,
    ledger: Ledger,
    took: Duration,
    values: u64,
}

impl Bench {
    fn tell(&mut self, subscription: u32, sequence: u32, published: u64, at: u64, told: &[Told]) {
        let head = Head {
            sequence,
            publish_time: (published / 100) as i64,
            header_time: (published / 100) as i64,
            at,
            more: false,
            bytes: told.len() as u32 * 30,
        };
        let began = clock();
        let mut open = self
            .notification_ledger
            .message(&mut self.ledger, subscription, head);
        for &(handle, status, source, server, count) in told {
            open.value(handle, status, source, server, Some(count));
        }
        open.end();
        self.took += clock() - began;
        self.values += told.len() as u64;
    }
}

/// CPU time of this thread: other programs on the machine do not count.
#[cfg(target_os = "linux")]
fn clock() -> Duration {
    nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(Duration::ZERO, Duration::from)
}

#[cfg(not(target_os = "linux"))]
fn clock() -> Duration {
    static BEGAN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    BEGAN.get_or_init(std::time::Instant::now).elapsed()
}

/// Values until there are so many, with or without things going wrong.
fn round(values: u64, wrong: bool) -> (Bench, Truth, Places, Account) {
    let mut notification_ledger = NotificationLedger::new(0);
    notification_ledger.expect_items((SUBSCRIPTIONS * ITEMS) as usize);
    let mut servers = Vec::new();
    for subscription in 0..SUBSCRIPTIONS {
        let seat = Seat {
            target: 0,
            session: 0,
            subscription,
        };
        let terms = SubscriptionTerms {
            publishing_ns: PUBLISHING,
            keep_alive: 10,
            lifetime: 30,
        };
        let number = notification_ledger.subscription(seat, terms);
        let items = items(subscription);
        notification_ledger.reserve(number, ITEMS);
        for item in &items {
            notification_ledger.item(item.handle, item.terms());
        }
        servers.push((number, items, 0u32));
    }
    notification_ledger.measure(0);
    let mut bench = Bench {
        notification_ledger,
        ledger: Ledger::new(),
        took: Duration::ZERO,
        values: 0,
    };
    let (mut truth, mut dice) = (Truth::default(), Dice(1));
    let mut told = Vec::new();
    let mut held: Option<(u32, u32, u64, Vec<Told>)> = None;
    let mut now = 0;
    let mut beginning = None;
    while bench.values < values {
        // A publishing is late by a little, now and then by a lot, and some are left out.
        now = (now / PUBLISHING + 1) * PUBLISHING;
        if dice.one_in(50) {
            now += dice.roll() % (4 * PUBLISHING);
        }
        let published = now + dice.roll() % (2 * MS);
        for (number, items, sequence) in &mut servers {
            told.clear();
            for item in items.iter_mut() {
                item.publish(published, &mut told, &mut truth);
            }
            *sequence += 1;
            let at = published + 200_000 + dice.roll() % 100_000;
            let calm = beginning.is_none() || !wrong || bench.values + 2_000_000 > values;
            if let Some((of, sequence, published, late)) = held.take_if(|it| it.0 == *number) {
                // The one that was held back comes behind the next.
                bench.tell(*number, sequence + 1, now, at, &told);
                bench.tell(of, sequence, published, at, &late);
                truth.out_of_order += late.len() as u64;
                truth.sent += (told.len() + late.len()) as u64;
                continue;
            }
            if !calm && dice.one_in(200) {
                truth.lost_with_messages += told.len() as u64;
                continue;
            }
            if !calm && held.is_none() && dice.one_in(200) {
                held = Some((*number, *sequence, published, told.clone()));
                continue;
            }
            if !calm {
                let before = told.len();
                // Of long queues only: in a queue of one it would look overwritten.
                told.retain(|it| it.0 % 20 >= 12 || !dice.one_in(10_000));
                truth.left_out += (before - told.len()) as u64;
            }
            bench.tell(*number, *sequence, published, at, &told);
            truth.sent += told.len() as u64;
            if !calm && dice.one_in(200) {
                bench.tell(*number, *sequence, published, at, &told);
                truth.repeated += told.len() as u64;
            }
        }
        // What was sampled before the first message of an item nobody can know of.
        if beginning.is_none() {
            beginning = Some(bench.notification_ledger.so_far().places);
            truth = Truth::default();
        }
    }
    let beginning = beginning.unwrap_or_default();
    let account = std::mem::replace(&mut bench.notification_ledger, NotificationLedger::new(0))
        .finish(now + MS);
    (bench, truth, beginning, account)
}

fn main() {
    let values = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(100_000_000);
    println!("{values} values of {} items", SUBSCRIPTIONS * ITEMS);
    for wrong in [false, true] {
        let (bench, truth, before, account) = round(values, wrong);
        let each = bench.took.as_nanos() as f64 / bench.values as f64;
        let (values, places) = (account.measured.values, account.measured.places);
        println!(
            "{}: {each:.1} ns a value",
            if wrong {
                "with faults"
            } else {
                "without faults"
            }
        );
        let rows = [
            (
                "overflowed",
                truth.overflowed,
                places.overflowed - before.overflowed,
            ),
            (
                "overwritten",
                truth.overwritten,
                places.overwritten - before.overwritten,
            ),
            (
                "sampled away",
                truth.unsampled,
                places.sampled_away - before.sampled_away,
            ),
            ("left out", truth.left_out, places.missing),
            (
                "lost with messages",
                truth.lost_with_messages,
                places.lost_with_messages(),
            ),
            ("repeated", truth.repeated, values.repeated),
            ("out of order", truth.out_of_order, values.out_of_order),
        ];
        for (what, done, found) in rows {
            println!("  {what}: {done}, found {found}");
        }
        let [a, b, c, d, e, f, g] = rows.map(|(_, done, found)| (done, found));
        // What a message that never came held, and what a queue dropped or a message left out right
        // beside it, only the server knows apart.
        let lost = [a, d, e]
            .iter()
            .fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        println!("  lost in all: {}, found {}", lost.0, lost.1);
        let off = |them: &[(u64, u64)]| -> u64 { them.iter().map(|it| it.0.abs_diff(it.1)).sum() };
        println!("  under a neighbouring cause: {}", off(&[a, d, e]) / 2);
        let off = off(&[b, c, f, g, lost]);
        println!("  sums balance: {}", places.balances());
        println!("  false alarms and misses: {off}");
    }
}
