//! From the account of a notification ledger to what a result file says of it.

use std::collections::BTreeMap;

use super::{
    ByRate, EachSubscription, Ended, EventsHeard, Extremes, Fairness, First, Incident, Intervals,
    Outcome, Place, Silence, Slow, StepTaken, Subscriptions,
};
use crate::notification_ledger::{
    Account, Cause, Event, EventKind, Row, Seat, SetUpStep, Spread, Stretch,
};
use crate::run::{ClockBound, Figure, Status};

/// Subscriptions that are listed one by one; more are in the distributions.
const LISTED: usize = 1000;

/// Subscriptions whose silence is listed.
const SILENCES: usize = 20;

/// Names for what an account only numbers.
pub struct Names<'a> {
    /// The specification's names of status codes.
    pub status: &'a dyn Fn(u32) -> String,
    /// What an item watches.
    pub node: &'a dyn Fn(Seat, u32) -> Option<String>,
    /// Types of events.
    pub kind: &'a dyn Fn(EventKind) -> String,
    /// Whether items wait for events.
    pub events: bool,
}

impl Subscriptions {
    /// What an account says. Of clocks and of the server's own counts it knows nothing.
    pub fn of(account: &Account, names: &Names<'_>) -> Self {
        let whole = account.whole();
        let lost = lost(account, &whole);
        let from = account.measured_from.unwrap_or(account.ended_at);
        let seconds = account.ended_at.saturating_sub(from) as f64 / 1e9;
        let values = whole.values.received;
        Self {
            outcome: outcome(account, &whole, lost),
            lost,
            rests_on: rests_on(account, names.events),
            causes: causes(account, &whole, names),
            subscriptions: account.rows.len() as u64,
            items: account.items,
            counters: account.counters,
            values: map(whole.values.named()),
            places: map(whole.places.named()),
            messages: map(whole.messages.named()),
            events: names
                .events
                .then(|| EventsHeard::of(account, &whole, names)),
            before: {
                let before = &account.before;
                let counts = before.values.named().chain(before.messages.named());
                map(counts
                    .chain(before.places.named())
                    .filter(|(_, count)| *count > 0))
            },
            held: None,
            waited: 0,
            under_way: account.under_way,
            overdue: account.overdue,
            silent: account.silent,
            silent_items: {
                let silent = account.silent_first.iter();
                silent
                    .map(|(seat, item)| Place::of(*seat, Some(*item), names))
                    .collect()
            },
            silences: silences(&account.rows, names),
            by_rate: (account.by_rate.items > 0).then_some(ByRate {
                items: account.by_rate.items,
                expected: account.by_rate.expected,
                came: account.by_rate.came,
                by_phase: account.by_rate.by_phase,
            }),
            ended: {
                let ended = account.statuses.iter();
                ended
                    .map(|((what, code), &count)| Ended {
                        what: what.clone().into_owned(),
                        status: Status {
                            code: *code,
                            name: (names.status)(*code),
                            count,
                        },
                    })
                    .collect()
            },
            steps: steps(account),
            recovery: account.recovery.clone(),
            outages: account.outages.clone(),
            item_delay: account.item_delays.clone(),
            slowest: {
                let slowest = account.slowest.iter();
                slowest
                    .map(|slow| Slow {
                        mean_ns: slow.mean_ns,
                        place: Place::of(slow.seat, Some(slow.item), names),
                    })
                    .collect()
            },
            item_values: Extremes {
                min: account.item_values.min(),
                max: account.item_values.max(),
            },
            fairness: Fairness::of(&account.rows, seconds),
            bytes_per_value: (values > 0)
                .then(|| whole.messages.value_bytes as f64 / values as f64),
            clock: ClockBound {
                error_ns: Figure::default(),
                ahead: whole.values.ahead,
                ..ClockBound::default()
            },
            beside: Vec::new(),
            each: {
                let rows = account.rows.iter().take(LISTED);
                rows.map(|row| EachSubscription::of(row, names)).collect()
            },
        }
    }
}

/// The longest, beside what was due.
fn silences(rows: &[Row], names: &Names<'_>) -> Vec<Silence> {
    let due = |row: &Row| {
        row.due_ns
            .map_or(row.keep_alive_ns, |ns| ns.min(row.keep_alive_ns))
    };
    let silent = rows.iter().filter_map(|row| Some((row, row.silence?)));
    let mut silent: Vec<_> = silent
        .filter(|(row, silence)| silence.length_ns() > due(row))
        .map(|(row, silence)| {
            (
                silence.length_ns() as f64 / due(row).max(1) as f64,
                row,
                silence,
            )
        })
        .collect();
    silent.sort_by(|a, b| b.0.total_cmp(&a.0));
    let listed = silent.into_iter().take(SILENCES);
    listed
        .map(|(_, row, silence)| Silence {
            place: Place::of(row.seat, None, names),
            from_ns: silence.from_ns,
            to_ns: silence.to_ns,
            lasts: silence.lasts,
            keep_alive_ns: row.keep_alive_ns,
            due_ns: row.due_ns,
            usual_ns: usual(row, silence.length_ns()),
        })
        .collect()
}

/// Between messages, but for the longest time without any.
fn usual(row: &Row, longest_ns: u64) -> Option<u64> {
    let Spread {
        count, sum, max, ..
    } = row.arrivals;
    let is_in_it = u64::try_from(max).is_ok_and(|max| max >= longest_ns);
    let (count, sum) = match is_in_it {
        true => (count.checked_sub(1)?, sum - i128::from(max)),
        false => (count, sum),
    };
    u64::try_from(sum).ok()?.checked_div(count)
}

impl EventsHeard {
    fn of(account: &Account, whole: &Stretch, names: &Names<'_>) -> Self {
        let heard = &account.heard;
        let kinds = heard.kinds.iter();
        Self {
            counts: map(whole.events.named()),
            kinds: kinds
                .map(|(kind, count)| ((names.kind)(*kind), *count))
                .collect(),
            sources: heard.sources,
            refreshes: heard.refreshes.clone(),
            unfinished: heard.unfinished,
            unknown_fields: Vec::new(),
        }
    }
}

fn map<'a>(counts: impl Iterator<Item = (&'a str, u64)>) -> BTreeMap<String, u64> {
    counts.map(|(name, n)| (name.to_owned(), n)).collect()
}

/// Values where they can be counted, else messages.
fn lost(account: &Account, whole: &Stretch) -> u64 {
    let by_rate = &account.by_rate;
    let counted = whole.places.lost() + account.overdue + (by_rate.expected - by_rate.came);
    let untold = account.counters < account.items;
    // Of items that do not count nobody knows how many values were in a message or a queue.
    let at_least = match untold {
        true => whole.messages.lost() + overflows(whole),
        false => 0,
    };
    counted.max(at_least)
}

/// Queues that overflowed, but for those that the client let overflow.
fn overflows(whole: &Stretch) -> u64 {
    let values = &whole.values;
    values.overflow_bits - values.stalled_bits + whole.events.overflow_events
}

fn outcome(account: &Account, whole: &Stretch, lost: u64) -> Outcome {
    let ended = account.rows.iter().any(|row| row.ended.is_some());
    if lost > 0 || whole.messages.lost() > 0 || ended {
        return Outcome::Lost;
    }
    if whole.places.stalled > 0 || whole.values.stalled_bits > 0 {
        return Outcome::Stalled;
    }
    let every = account.items > 0 && account.counters + account.by_rate.items == account.items;
    match every && account.silent == 0 && account.away == 0 {
        true => Outcome::Lossless,
        false => Outcome::NothingMissing,
    }
}

/// `1 item`, `2 items`.
fn some(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

fn rests_on(account: &Account, events: bool) -> Vec<String> {
    let told = match events {
        true => "sequence numbers and overflow events",
        false => "sequence numbers and overflow bits",
    };
    let mut rests = vec![told.to_owned()];
    if events && account.counters > 0 {
        let of = some(account.heard.sources, "source");
        rests.push(format!("the numbers in the EventIds of {of}"));
    } else if account.counters > 0 {
        rests.push(format!("the counts of {}", some(account.counters, "item")));
    }
    if account.by_rate.items > 0 {
        let of = some(account.by_rate.items, "item");
        rests.push(format!("the change rate of {of}"));
    }
    rests
}

fn causes(account: &Account, whole: &Stretch, names: &Names<'_>) -> Vec<Incident> {
    let (values, places) = (&whole.values, &whole.places);
    let ended = account.rows.iter().filter(|row| row.ended.is_some());
    let from = account.measured_from.unwrap_or(0);
    let lost_with_messages = match account.counters {
        0 => whole.messages.lost(),
        _ => places.lost_with_messages(),
    };
    Cause::ALL
        .into_iter()
        .filter_map(|cause| {
            let count = match cause {
                Cause::Missing => places.missing + account.overdue,
                Cause::LostMessage => lost_with_messages,
                Cause::Overflowed => match account.counters {
                    0 => overflows(whole),
                    _ => places.overflowed,
                },
                Cause::Stalled => match account.counters {
                    0 => values.stalled_bits,
                    _ => places.stalled,
                },
                Cause::Outage => places.outage,
                Cause::Overwritten => places.overwritten,
                Cause::SampledAway => places.sampled_away,
                Cause::Repeated => values.repeated,
                Cause::OutOfOrder => values.out_of_order + values.overtaken,
                // Those that came by themselves as well were not in need of it.
                Cause::Recovered => values.recovered.saturating_sub(values.overtaken),
                Cause::Late => values.late,
                Cause::Stray => values.stray,
                Cause::OverflowAlone => values.overflow_alone,
                Cause::Ended => ended.clone().count() as u64,
            };
            let event = match cause {
                Cause::Missing => {
                    let told = account.firsts.of(cause).copied();
                    told.into_iter().chain(account.overdue_first).min()
                }
                _ => account.firsts.of(cause).copied(),
            };
            (count > 0).then(|| Incident {
                cause: cause.name().to_owned(),
                count,
                first: event.map(|event| First::of(&event, from, names)),
            })
        })
        .collect()
}

fn steps(account: &Account) -> Vec<StepTaken> {
    SetUpStep::ALL
        .iter()
        .zip(&account.steps)
        .filter_map(|(step, times)| {
            let (began, ended) = times.span?;
            Some(StepTaken {
                step: step.name().to_owned(),
                things: times.things,
                span_ns: ended.saturating_sub(began),
                times: times.times.clone(),
            })
        })
        .collect()
}

impl First {
    fn of(event: &Event, from: u64, names: &Names<'_>) -> Self {
        Self {
            at_ns: event.at_ns as i64 - from as i64,
            place: Place::of(event.seat, event.item, names),
            sequence: (event.sequence > 0).then_some(event.sequence),
        }
    }
}

impl Place {
    fn of(seat: Seat, item: Option<u32>, names: &Names<'_>) -> Self {
        Self {
            target: seat.target,
            session: seat.session,
            subscription: seat.subscription,
            item,
            node: item.and_then(|item| (names.node)(seat, item)),
        }
    }
}

impl Fairness {
    fn of(rows: &[Row], seconds: f64) -> Self {
        let rows = || rows.iter().filter(|row| row.items > 0);
        let least = |figures: &mut dyn Iterator<Item = f64>| figures.reduce(f64::min);
        let most = |figures: &mut dyn Iterator<Item = f64>| figures.reduce(f64::max);
        let rate = |row: &Row| row.messages as f64 / seconds;
        let each = |row: &Row| row.values as f64 / f64::from(row.items);
        let jitter = || rows().filter_map(|row| row.jitter.deviation());
        let (count, sum, squares) = rows()
            .map(each)
            .fold((0.0, 0.0, 0.0), |(n, s, q), x| (n + 1.0, s + x, q + x * x));
        let timed = seconds > 0.0;
        Self {
            min_messages_per_s: least(&mut rows().map(rate)).filter(|_| timed),
            max_messages_per_s: most(&mut rows().map(rate)).filter(|_| timed),
            min_values_per_item: least(&mut rows().map(each)),
            max_values_per_item: most(&mut rows().map(each)),
            jain: (squares > 0.0).then(|| sum * sum / (count * squares)),
            min_jitter_ns: least(&mut jitter()),
            max_jitter_ns: most(&mut jitter()),
        }
    }
}

impl Intervals {
    fn of(spread: &Spread) -> Self {
        Self {
            count: spread.count,
            mean_ns: spread.mean(),
            deviation_ns: spread.deviation(),
            min_ns: spread.min,
            max_ns: spread.max,
        }
    }
}

impl EachSubscription {
    fn of(row: &Row, names: &Names<'_>) -> Self {
        Self {
            place: Place::of(row.seat, None, names),
            publishing_ns: row.terms.publishing_ns,
            items: row.items,
            news: row.news,
            messages: row.messages,
            keep_alives: row.keep_alives,
            values: row.values,
            arrival: Intervals::of(&row.arrivals),
            jitter: Intervals::of(&row.jitter),
            ended: row.ended.map(|code| (names.status)(code & 0xFFFF_0000)),
        }
    }
}
