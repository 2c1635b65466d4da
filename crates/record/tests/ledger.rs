//! The ledger: what cores write down, and what it adds up to.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;
use record::ledger::{BAD_TIMEOUT, BINS, TICK_NS};
use record::{Histogram, Lateness, Ledger, Measure, Tally, Times};

const MS: u64 = 1_000_000;
const BAD_NODE_ID_UNKNOWN: u32 = 0x8034_0000;

/// One operation, and what became of it.
#[derive(Debug, Clone)]
struct Operation {
    planned: u64,
    lateness: [u64; 3],
    service: u64,
    status: u32,
    values: u32,
    fate: u8,
}

fn operation() -> impl Strategy<Value = Operation> {
    let status = prop_oneof![
        4 => Just(0u32),
        1 => Just(BAD_NODE_ID_UNKNOWN),
        1 => any::<u32>(),
    ];
    (
        // Up to several doublings of the bins.
        0..4 * 60_000 * MS,
        prop::array::uniform3(0..300 * MS),
        0..500 * MS,
        status,
        0..200u32,
        0..12u8,
    )
        .prop_map(
            |(planned, lateness, service, status, values, fate)| Operation {
                planned,
                lateness,
                service,
                status,
                values,
                fate,
            },
        )
}

fn write(ledger: &mut Ledger, operation: &Operation) {
    let [pacer, slot, socket] = operation.lateness;
    let sent = operation.planned + pacer + slot + socket;
    let times = Times {
        planned: operation.planned,
        sent,
        completed: sent + operation.service,
    };
    let lateness = Lateness {
        pacer,
        slot,
        socket,
    };
    match operation.fate {
        0 => return ledger.skipped(operation.planned, 1),
        1 => return ledger.unsent(operation.planned, sent, 1),
        _ => ledger.late(sent, lateness, 1),
    }
    ledger.sent_bytes(sent, 100 + operation.values, 1);
    match operation.fate {
        2 => ledger.timed_out(times, 1),
        3 => ledger.unfinished(times, 1),
        4 => ledger.failed(times, operation.status, 1),
        _ => {
            ledger.done(times, operation.status, operation.values, 1);
            ledger.received_bytes(times.completed, 60 + 9 * operation.values, 1);
        }
    }
    match operation.fate {
        5 => ledger.lag(times.completed, operation.service / 100),
        6 => ledger.levels(sent, operation.values.into(), 3),
        7 => ledger.values_failed(times.completed, operation.status, 2),
        8 => ledger.reconnected(sent, operation.service),
        _ => {}
    }
}

fn tally(operations: &[Operation], end: Option<u64>, cores: usize) -> Tally {
    cut_tally(operations, end, cores, &[])
}

fn cut_tally(operations: &[Operation], end: Option<u64>, cores: usize, cuts: &[u64]) -> Tally {
    let mut ledgers: Vec<Ledger> = (0..cores)
        .map(|_| end.map_or_else(Ledger::new, Ledger::with_end))
        .map(|ledger| ledger.with_cuts(cuts))
        .collect();
    for (at, operation) in operations.iter().enumerate() {
        write(&mut ledgers[at % cores], operation);
    }
    let mut sum = Tally::default();
    // The last first: the order of merging is nobody's concern.
    for ledger in ledgers.into_iter().rev() {
        sum.merge(&ledger.finish());
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ledgers_of_any_number_of_cores_merge_to_that_of_one(
        mut operations in prop::collection::vec(operation(), 0..200),
        sorted in any::<bool>(),
        end in prop::option::of(0..5 * 60_000 * MS),
        cores in 2usize..9,
    ) {
        if sorted {
            operations.sort_by_key(|operation| operation.planned);
        }
        prop_assert_eq!(tally(&operations, end, cores), tally(&operations, end, 1));
    }

    #[test]
    fn windows_are_cut_exactly_where_they_were_asked(
        operations in prop::collection::vec(operation(), 0..200),
        end in prop::option::of(0..5 * 60_000 * MS),
        cores in 2usize..5,
        mut cuts in prop::array::uniform2(1..4 * 60_000 * MS),
        near in any::<bool>(),
    ) {
        if near {
            // Both of them in one bin.
            cuts[1] = cuts[0] + cuts[1] % (50 * MS);
        }
        cuts.sort_unstable();
        let all = cut_tally(&operations, end, 1, &cuts);
        prop_assert_eq!(&cut_tally(&operations, end, cores, &cuts), &all);
        let [from, to] = cuts;
        let end = end.unwrap_or(u64::MAX);
        let inside = operations.iter().filter(|it| it.fate > 1 && it.fate != 3);
        let inside = inside
            .map(|it| it.planned + it.lateness.iter().sum::<u64>() + it.service)
            .filter(|&at| at >= from && at < to.min(end))
            .count() as u64;
        prop_assert_eq!(all.window(from, to).completed_in_time, inside);
        // Nothing is lost between the parts, and nothing is in two of them.
        let mut sum = all.window(0, from).sum;
        sum.merge(&all.window(from, to).sum);
        if to < all.phase_end() {
            sum.merge(&all.window(to, u64::MAX).sum);
        }
        if from < all.phase_end() {
            prop_assert_eq!(sum, all.whole().sum);
        }
    }

    #[test]
    fn what_goes_in_comes_out(
        operations in prop::collection::vec(operation(), 0..200),
        end in prop::option::of(0..5 * 60_000 * MS),
    ) {
        let whole = tally(&operations, end, 3).whole();
        let fates = |fate: &dyn Fn(u8) -> bool| {
            operations.iter().filter(|o| fate(o.fate)).count() as u64
        };
        let counters = whole.sum.counters;
        prop_assert_eq!(counters.planned(), operations.len() as u64);
        prop_assert_eq!(counters.sent, fates(&|f| f > 1));
        prop_assert_eq!(counters.completed, fates(&|f| f > 1 && f != 3));
        prop_assert_eq!(counters.timeouts, fates(&|f| f == 2));
        prop_assert_eq!(whole.sum.statuses.iter().map(|(_, n)| n).sum::<u64>(), counters.completed);
        prop_assert_eq!(whole.histogram(Measure::Response).count(), fates(&|f| f > 0));
        prop_assert_eq!(whole.histogram(Measure::Service).count(), counters.sent);
        prop_assert_eq!(whole.histogram(Measure::Lateness).count(), counters.sent);
        let parts = [Measure::Pacer, Measure::Slot, Measure::Socket];
        let parts: u128 = parts.iter().map(|&m| whole.histogram(m).sum()).sum();
        prop_assert_eq!(whole.histogram(Measure::Lateness).sum(), parts);
    }
}

fn answered(ledger: &mut Ledger, sent: u64, took: u64) {
    ledger.late(sent, Lateness::default(), 1);
    let times = Times {
        planned: sent,
        sent,
        completed: sent + took,
    };
    ledger.done(times, 0, 1, 1);
}

#[test]
fn a_warm_up_is_cut_at_the_edge_of_a_bin_and_leaves_no_trace() {
    let (mut all, mut tail) = (Ledger::new(), Ledger::new());
    for ms in 0..1000 {
        let slow = if ms < 300 { 50_000 } else { 7_000 };
        answered(&mut all, ms * MS, slow);
        if ms >= 300 {
            answered(&mut tail, ms * MS, slow);
        }
    }
    let cut = all.finish().window(300 * MS, u64::MAX);
    assert_eq!(cut.sum, tail.finish().whole().sum);
    assert_eq!((cut.from_ns, cut.to_ns), (300 * MS, 1000 * MS));
    assert_eq!(cut.rate().unwrap(), 1000.0);
}

#[test]
fn a_short_warm_up_of_a_long_phase_is_left_out_to_the_nanosecond() {
    // Ten hours have bins of 102.4 s; the first five seconds are slow, and so are the last three.
    let (second, hours) = (1000 * MS, 36_000);
    let end = hours * second;
    let mut ledger = Ledger::with_end(end).with_cuts(&[5 * second + 1, end - 3 * second]);
    for at in 0..hours {
        let slow = at < 5 || at >= hours - 3;
        answered(&mut ledger, at * second, if slow { 900 * MS } else { MS });
    }
    let tally = ledger.finish();
    assert!(tally.width_ns() > 60 * second);
    let window = tally.window(5 * second + 1, end - 3 * second);
    assert_eq!(
        (window.from_ns, window.to_ns),
        (5 * second + 1, end - 3 * second)
    );
    assert_eq!(window.sum.counters.completed, hours - 8);
    assert_eq!(window.histogram(Measure::Response).max(), Some(MS));
    assert_eq!(tally.window(0, 5 * second + 1).sum.counters.completed, 5);
    // Where nobody knew of it before, all of the bin is in it.
    assert_eq!(tally.window(6 * second, end).from_ns, 0);
    assert!(tally.can_be_cut_at(5 * second + 1) && !tally.can_be_cut_at(6 * second));
}

#[test]
fn gaps_are_told_however_long_bins_are() {
    let second = 1000 * MS;
    let mut ledger = Ledger::with_end(3600 * second);
    let mut other = Ledger::with_end(3600 * second);
    for at in 0..36_000 {
        let at = at * 100 * MS;
        // Nothing from 600 s to 603 s but errors; then the other core alone for a while.
        let times = Times {
            planned: at,
            sent: at,
            completed: at + MS,
        };
        match at / second {
            600..603 => ledger.failed(times, BAD_NODE_ID_UNKNOWN, 1),
            603..700 => other.done(times, 0, 1, 1),
            _ => ledger.done(times, 0, 1, 1),
        }
    }
    let mut tally = ledger.finish();
    tally.merge(&other.finish());
    assert!(tally.width_ns() > 6 * second);
    let [(from, to)] = tally.gaps(second)[..] else {
        panic!("{:?}", tally.gaps(second));
    };
    assert!(from.abs_diff(600 * second) < second / 5, "{from}");
    assert!(to.abs_diff(603 * second) < second / 5, "{to}");
    // A phase in which nothing succeeds is one gap.
    assert_eq!(Ledger::with_end(second).finish().gaps(0), [(0, second)]);
}

#[test]
fn what_was_drained_counts_for_percentiles_and_not_for_rates() {
    let mut ledger = Ledger::with_end(250 * MS);
    for ms in 0..250 {
        answered(&mut ledger, ms * MS, 10);
    }
    answered(&mut ledger, 249 * MS, 5_000 * MS);
    let tally = ledger.finish();
    assert_eq!(tally.drained.counters.completed, 1);
    let whole = tally.whole();
    assert_eq!((whole.to_ns, whole.rate().unwrap()), (250 * MS, 1000.0));
    assert_eq!(whole.histogram(Measure::Response).max(), Some(5_000 * MS));
    // A window that stops before the end knows nothing of it.
    let early = tally.window(0, 100 * MS);
    assert_eq!(early.histogram(Measure::Response).max(), Some(10));
}

#[test]
fn timeouts_and_errors_stay_in_the_population_and_are_counted_by_code() {
    let mut ledger = Ledger::new();
    let times = Times {
        planned: 0,
        sent: 10,
        completed: 60,
    };
    ledger.done(times, 0, 100, 8);
    ledger.failed(times, BAD_NODE_ID_UNKNOWN, 1);
    // Flags in the lower half make no other code of it.
    ledger.failed(times, BAD_NODE_ID_UNKNOWN | 0x0480, 1);
    ledger.timed_out(
        Times {
            completed: 1000,
            ..times
        },
        1,
    );
    let sum = ledger.finish().whole().sum;
    let codes: Vec<_> = sum.statuses.iter().collect();
    assert_eq!(codes, [(0, 8), (BAD_TIMEOUT, 1), (BAD_NODE_ID_UNKNOWN, 2)]);
    assert_eq!(sum.statuses.bad(), 3);
    assert_eq!(sum.counters.values, 800);
    assert_eq!(sum.counters.timeouts, 1);
    assert_eq!(sum.histogram(Measure::Response).count(), 11);
    assert_eq!(sum.histogram(Measure::Response).max(), Some(1000));
    assert_eq!(sum.histogram(Measure::Service).max(), Some(990));
}

#[test]
fn the_number_in_flight_follows_from_the_times() {
    let mut ledger = Ledger::with_end(300 * MS);
    // One in flight for the first half of each bin, and one from 150 ms to the end and beyond.
    for bin in 0..3 {
        answered(&mut ledger, bin * 100 * MS, 50 * MS);
    }
    answered(&mut ledger, 150 * MS, 900 * MS);
    assert_eq!(ledger.finish().in_flight(), [0.5, 1.0, 1.5]);
}

#[test]
fn a_live_display_sees_each_tick_once() {
    let mut ledger = Ledger::new();
    let mut seen = Vec::new();
    for ms in 0..1000 {
        answered(&mut ledger, ms * MS, (ms % 10 + 1) * 1000);
        if ms % 70 == 0 {
            seen.extend(ledger.take_closed(ms * MS));
        }
    }
    // An idle core learns from the clock that a tick is over.
    seen.extend(ledger.take_closed(1000 * MS));
    let starts: Vec<_> = seen.iter().map(|tick| tick.start_ns).collect();
    assert_eq!(starts, (0..10).map(|at| at * TICK_NS).collect::<Vec<_>>());
    for tick in &seen {
        assert_eq!(tick.rate(), 1000.0);
        // 5,000 shares its slot with what is below 5,004.
        assert_eq!(tick.response.quantile(0.5), Some(5003));
        assert_eq!((tick.errors, tick.in_flight), (0, 0));
    }
}

#[test]
fn memory_follows_the_length_of_a_phase_and_not_its_operations() {
    let held = |operations: u64| {
        let mut ledger = Ledger::new();
        // Ten minutes, however many there are; response times from 20 us to 20 ms.
        let gap = 600_000 * MS / operations;
        for at in 0..operations {
            answered(&mut ledger, at * gap, 20_000 + at % 100 * 200_000);
        }
        let tally = ledger.finish();
        assert!(tally.bins().len() <= BINS);
        assert_eq!(tally.whole().sum.counters.completed, operations);
        tally.heap_bytes()
    };
    let few = held(100_000);
    // The same slots are full: only counts grow, by a byte here and there.
    assert!(held(1_000_000) < few * 2, "{few}");
    assert!(few < 20_000_000, "{few}");
}

#[test]
fn a_phase_of_a_year_still_has_at_most_600_bins() {
    let mut ledger = Ledger::new();
    let year = 365 * 24 * 3_600_000 * MS;
    for day in 0..365 {
        answered(&mut ledger, year / 365 * day, 1000);
    }
    let tally = ledger.finish();
    assert!(tally.bins().len() <= BINS && tally.bins().len() > BINS / 2);
    assert_eq!(tally.whole().sum.counters.completed, 365);
}

#[test]
fn nothing_is_clamped() {
    let mut ledger = Ledger::new();
    let times = Times {
        planned: 0,
        sent: 0,
        completed: u64::MAX - 1,
    };
    ledger.done(times, 0, 1, 1);
    let whole = ledger.finish().whole();
    assert_eq!(whole.histogram(Measure::Response).max(), Some(u64::MAX - 1));
}

proptest! {
    #[test]
    fn quantiles_are_those_of_the_sorted_values_to_three_digits(
        mut values in prop::collection::vec(0u64..10_000_000_000, 1..500),
        q in 0.0..1.0f64,
    ) {
        let mut histogram = Histogram::default();
        for &value in &values {
            histogram.merge(&Histogram::of(value, 1));
        }
        values.sort_unstable();
        let rank = ((q * values.len() as f64).ceil() as usize).max(1);
        let exact = values[rank - 1];
        let said = histogram.quantile(q).unwrap();
        prop_assert!(said >= exact && said as f64 <= exact as f64 * 1.001 + 1.0, "{} {}", said, exact);
        let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
        prop_assert!((histogram.mean().unwrap() - mean).abs() <= mean * 1e-12);
        prop_assert_eq!(histogram.min(), values.first().copied());
        prop_assert_eq!(histogram.max(), values.last().copied());
    }

    #[test]
    fn other_tools_read_the_same_quantiles(
        values in prop::collection::vec(1u64..10_000_000_000, 1..500),
    ) {
        let mut histogram = Histogram::default();
        for &value in &values {
            histogram.merge(&Histogram::of(value, 1));
        }
        let hdr = histogram.to_hdr().unwrap();
        for q in [0.01, 0.5, 0.9, 0.99, 0.999] {
            let here = histogram.quantile(q).unwrap();
            let there = hdr.value_at_quantile(q);
            prop_assert!(hdr.equivalent(here, there) , "{} {} {}", q, here, there);
        }
        let deviation = histogram.deviation().unwrap();
        // The crate takes its mean from the slots, we from the values.
        prop_assert!((hdr.stdev() - deviation).abs() <= deviation * 1e-6 + 1.0);
        let text = serde_json::to_string(&histogram).unwrap();
        let back: Histogram = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(back.min(), histogram.min());
        prop_assert_eq!(back.max(), histogram.max());
        prop_assert_eq!(back.count(), histogram.count());
        let (one, other) = (back.mean().unwrap(), histogram.mean().unwrap());
        prop_assert!((one - other).abs() <= 1.0);
        for q in [0.01, 0.5, 0.99] {
            prop_assert_eq!(back.quantile(q), histogram.quantile(q));
        }
    }
}

#[test]
fn what_comes_unasked_counts_over_all_the_time_that_was_listened() {
    let mut ledger = Ledger::with_end(1_000_000_000);
    for n in 0..5 {
        ledger.came(n * 100_000_000, 0, 10);
    }
    ledger.came(450_000_000, 0x8007_0000, 0);
    ledger.quiet_until(1_000_000_000);
    let tally = ledger.finish();
    let whole = tally.whole();
    assert_eq!((whole.to_ns, whole.succeeded_in_time()), (1_000_000_000, 5));
    assert_eq!(
        (whole.sum.counters.values, whole.sum.statuses.bad()),
        (50, 1)
    );
    // Sent and there in one moment: nothing was in flight, and nothing has a response time.
    assert!(tally.in_flight().iter().all(|level| *level == 0.0));
    assert!(whole.histogram(Measure::Response).is_empty());
}
