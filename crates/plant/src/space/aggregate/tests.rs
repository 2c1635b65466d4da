//! The data and the results that Part 13, Annex A prints, as far as they do not need a slope; and what has to hold of any values.

use std::sync::Arc;

use proptest::prelude::*;
use wire::template::walk::BuiltInType;
use wire::types::StatusCode;

use super::*;
use crate::space::Stamp;
use crate::space::history::{History, Ring, StoredValue};

const SECOND: i64 = 10_000_000;
/// Noon.
const NOON: i64 = 12 * 3_600 * SECOND;

const GOOD: u32 = 0;
const CALCULATED: u32 = 0x0401;
const INTERPOLATED: u32 = 0x0402;
const PARTIAL: u32 = 0x0404;

/// A value of the annex: seconds after noon, the value and what it is worth.
type Raw = (i64, f64, StatusCode);

const G: StatusCode = StatusCode::Good;
const U: StatusCode = StatusCode::UncertainLastUsableValue;
const B: StatusCode = StatusCode::BadDataLost;
const N: StatusCode = StatusCode::BadNoData;

/// A.1.1, Historian 1.
const PERIODIC: &[Raw] = &[
    (0, 0.0, N),
    (10, 10.0, G),
    (20, 20.0, G),
    (30, 30.0, G),
    (40, 40.0, B),
    (50, 50.0, G),
    (60, 60.0, G),
    (70, 70.0, U),
    (80, 80.0, G),
    (90, 90.0, G),
];

/// A.1.2 and A.1.3, Historian 2 and 3.
const UNEVEN: &[Raw] = &[
    (0, 0.0, N),
    (2, 10.0, G),
    (25, 20.0, G),
    (28, 25.0, G),
    (39, 30.0, G),
    (42, 0.0, B),
    (48, 40.0, G),
    (52, 50.0, G),
    (72, 60.0, G),
    (77, 70.0, U),
    (83, 70.0, G),
    (86, 80.0, G),
    (90, 90.0, G),
];

/// Historian 1: uncertain values count.
const ONE: Configuration = Configuration {
    treat_uncertain_as_bad: false,
    percent_data_bad: 100,
    percent_data_good: 100,
};
/// Historian 2.
const TWO: Configuration = Configuration {
    treat_uncertain_as_bad: true,
    ..ONE
};
/// Historian 3: values are stepped.
const THREE: Configuration = Configuration {
    treat_uncertain_as_bad: true,
    percent_data_bad: 50,
    percent_data_good: 50,
};

fn history(data: &[Raw]) -> History {
    let ring = Ring::new(1000);
    for (time, value, status) in data {
        let stamp = Stamp {
            status: *status,
            source: NOON + time * SECOND,
        };
        ring.keep(
            StoredValue::Bits(BuiltInType::Double, value.to_bits()),
            stamp,
            stamp.source,
        );
    }
    History::Stored(Arc::new(ring))
}

/// All intervals, with so many values looked at in a step.
fn all(history: &History, mut processed: Processed, most: usize) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    while !processed.is_over() {
        let step = processed.step(history, most, 0, 0);
        assert!(step.looked <= most);
        outcomes.extend(step.outcome);
    }
    outcomes
}

/// What the annex asks for: 12:00:00 to 12:01:40.
fn annex(data: &[Raw], with: Configuration, what: Aggregate, seconds: i64) -> Vec<Outcome> {
    let span = (NOON, NOON + 100 * SECOND);
    let processed = Processed::new(what, with, span, seconds * SECOND);
    let outcomes = all(&history(data), processed.clone(), 1000);
    // However few are looked at in a step, it is the same.
    assert_eq!(all(&history(data), processed, 1), outcomes);
    outcomes
}

/// Seconds after noon, value and status, as the annex prints them.
fn printed(outcomes: &[Outcome]) -> Vec<(i64, Option<f64>, u32)> {
    let one = |it: &Outcome| {
        let value = it.value.map(|(kind, bits)| {
            let sample = Sample {
                time: 0,
                kind,
                bits,
                status: 0,
            };
            (sample.number() * 1000.0).round() / 1000.0
        });
        ((it.time - NOON) / SECOND, value, it.status)
    };
    outcomes.iter().map(one).collect()
}

fn expected(rows: &[(i64, f64, u32)]) -> Vec<(i64, Option<f64>, u32)> {
    let one = |&(time, value, status): &(i64, f64, u32)| {
        (time, (!value.is_nan()).then_some(value), status)
    };
    rows.iter().map(one).collect()
}

const NAN: f64 = f64::NAN;
const NO_DATA: u32 = 0x809B_0000;
const SUBNORMAL: u32 = 0x40A4_0000;
const UC: u32 = SUBNORMAL | CALCULATED;
const UI: u32 = SUBNORMAL | INTERPOLATED;
const CP: u32 = CALCULATED | PARTIAL;

// Part 13, A.3.
#[test]
fn interpolative_of_stepped_data_as_the_annex_prints_it() {
    let told = printed(&annex(UNEVEN, THREE, Aggregate::Interpolative, 5));
    let i = INTERPOLATED;
    let rows = [
        (0, NAN, NO_DATA),
        (5, 10.0, i),
        (10, 10.0, i),
        (15, 10.0, i),
        (20, 10.0, i),
        (25, 20.0, GOOD),
        (30, 25.0, i),
        (35, 25.0, i),
        (40, 30.0, i),
        (45, 30.0, UI),
        (50, 40.0, i),
        (55, 50.0, i),
        (60, 50.0, i),
        (65, 50.0, i),
        (70, 50.0, i),
        (75, 60.0, i),
        (80, 60.0, UI),
        (85, 70.0, i),
        (90, 90.0, GOOD),
        (95, 90.0, UI),
    ];
    assert_eq!(told, expected(&rows));
}

// Part 13, A.4.
#[test]
fn averages_as_the_annex_prints_them() {
    let none = |time| (time, NAN, NO_DATA);
    let good = |time, value| (time, value, CALCULATED);
    let told = printed(&annex(PERIODIC, ONE, Aggregate::Average, 5));
    let mut rows: Vec<_> = (0..20).map(|n| none(n * 5)).collect();
    for (time, value) in [
        (10, 10.0),
        (20, 20.0),
        (30, 30.0),
        (50, 50.0),
        (60, 60.0),
        (80, 80.0),
        (90, 90.0),
    ] {
        rows[time as usize / 5] = good(time, value);
    }
    assert_eq!(told, expected(&rows));
    for with in [TWO, THREE] {
        let told = printed(&annex(UNEVEN, with, Aggregate::Average, 5));
        let mut rows: Vec<_> = (0..20).map(|n| none(n * 5)).collect();
        for (time, value) in [
            (0, 10.0),
            (25, 22.5),
            (35, 30.0),
            (45, 40.0),
            (50, 50.0),
            (70, 60.0),
            (80, 70.0),
            (85, 80.0),
            (90, 90.0),
        ] {
            rows[time as usize / 5] = good(time, value);
        }
        assert_eq!(told, expected(&rows));
    }
}

// Part 13, A.6: the table of stepped data.
#[test]
fn time_averages_with_simple_bounds_as_the_annex_prints_them() {
    let told = printed(&annex(UNEVEN, THREE, Aggregate::TimeAverage2, 5));
    let c = CALCULATED;
    let bad = StatusCode::Bad.bits() | c;
    let rows = [
        (0, 10.0, CP),
        (5, 10.0, c),
        (10, 10.0, c),
        (15, 10.0, c),
        (20, 10.0, c),
        (25, 22.0, c),
        (30, 25.0, c),
        (35, 26.0, c),
        (40, NAN, bad),
        (45, NAN, bad),
        (50, 46.0, c),
        (55, 50.0, c),
        (60, 50.0, c),
        (65, 50.0, c),
        (70, 56.0, c),
        (75, NAN, bad),
        (80, NAN, bad),
        (85, 78.0, c),
        (90, 90.0, CP),
        (95, NAN, NO_DATA),
    ];
    assert_eq!(told, expected(&rows));
    // Its integral over seconds.
    let totals = printed(&annex(UNEVEN, THREE, Aggregate::Total2, 5));
    assert_eq!(totals[5], (25, Some(110.0), c));
    assert_eq!(totals[14], (70, Some(280.0), c));
}

// Part 13, A.10 and A.11.
#[test]
fn the_least_and_the_largest_as_the_annex_prints_them() {
    let c = CALCULATED;
    let one = |what| printed(&annex(PERIODIC, ONE, what, 16));
    let rows = |values: [(f64, u32); 7]| {
        let rows = (0..).step_by(16).zip(values);
        let rows: Vec<_> = rows
            .map(|(time, (value, bits))| (time, value, bits))
            .collect();
        expected(&rows)
    };
    let none = (NAN, NO_DATA);
    assert_eq!(
        one(Aggregate::Maximum),
        rows([
            (10.0, CP),
            (30.0, c),
            none,
            (60.0, c),
            none,
            (90.0, CP),
            none
        ])
    );
    assert_eq!(
        one(Aggregate::Minimum),
        rows([
            (10.0, CP),
            (20.0, c),
            none,
            (50.0, c),
            none,
            (80.0, PARTIAL),
            none
        ])
    );
    let uneven = |what| printed(&annex(UNEVEN, THREE, what, 16));
    assert_eq!(
        uneven(Aggregate::Maximum),
        rows([
            (10.0, CP),
            (25.0, c),
            (30.0, UC),
            (50.0, c),
            (60.0, UC),
            (90.0, CP),
            none
        ])
    );
    assert_eq!(
        uneven(Aggregate::Minimum),
        rows([
            (10.0, CP),
            (20.0, c),
            (30.0, UC),
            (40.0, GOOD),
            (60.0, UC),
            (70.0, CP),
            none
        ])
    );
    assert_eq!(
        uneven(Aggregate::Range),
        rows([
            (0.0, CP),
            (5.0, c),
            (0.0, UC),
            (10.0, c),
            (0.0, UC),
            (20.0, CP),
            none
        ])
    );
    let actual = uneven(Aggregate::MaximumActualTime);
    let times: Vec<_> = actual.iter().map(|(time, _, _)| *time).collect();
    assert_eq!(times, [2, 28, 39, 52, 72, 90, 96]);
    assert_eq!(actual[1].2, GOOD, "a raw value at its own time");
}

// Part 13, A.21; A.31 to A.34.
#[test]
fn counts_and_durations_as_the_annex_prints_them() {
    let c = CALCULATED;
    let values = |data, with, what| -> Vec<(Option<f64>, u32)> {
        let told = printed(&annex(data, with, what, 16));
        told.into_iter()
            .map(|(_, value, status)| (value, status))
            .collect()
    };
    let some = |value: f64, status| (Some(value), status);
    let none = (None, NO_DATA);
    assert_eq!(
        values(UNEVEN, TWO, Aggregate::Count),
        [
            some(1.0, CP),
            some(2.0, c),
            some(1.0, UC),
            some(2.0, c),
            some(1.0, UC),
            some(3.0, CP),
            none
        ]
    );
    let good: Vec<_> = values(UNEVEN, THREE, Aggregate::PercentGood);
    assert_eq!(
        good,
        [
            some(87.5, CP),
            some(100.0, c),
            some(62.5, c),
            some(100.0, c),
            some(81.25, c),
            some(70.0, CP),
            none
        ]
    );
    assert_eq!(
        values(UNEVEN, TWO, Aggregate::DurationBad),
        [
            some(2000.0, CP),
            some(0.0, c),
            some(6000.0, c),
            some(0.0, c),
            some(3000.0, c),
            some(3000.0, CP),
            none
        ]
    );
    assert_eq!(
        values(PERIODIC, ONE, Aggregate::DurationBad)[..4],
        [
            some(10000.0, CP),
            some(0.0, c),
            some(8000.0, c),
            some(2000.0, c)
        ]
    );
}

#[test]
fn first_and_last_values_are_told_as_they_are_and_when_they_were() {
    let told = |what| printed(&annex(UNEVEN, TWO, what, 20));
    let bad = B.bits();
    let start = told(Aggregate::Start);
    assert_eq!(start[0], (2, Some(10.0), PARTIAL));
    assert_eq!(start[1], (25, Some(20.0), GOOD));
    assert_eq!(start[2], (42, None, bad));
    let end = told(Aggregate::End);
    assert_eq!(end[1], (39, Some(30.0), GOOD));
    assert_eq!(end[3], (77, Some(70.0), U.bits()));
    let delta = told(Aggregate::Delta);
    assert_eq!(delta[1], (20, Some(10.0), CALCULATED));
    assert_eq!(
        delta[2],
        (40, Some(10.0), UC),
        "a bad one comes before the first"
    );
}

#[test]
fn deviations_by_hand() {
    let data: Vec<Raw> = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]
        .iter()
        .enumerate()
        .map(|(n, value)| (n as i64, *value, G))
        .chain([(20, 0.0, G)])
        .collect();
    let told = |what| printed(&annex(&data, TWO, what, 10))[0];
    assert_eq!(
        told(Aggregate::StandardDeviationPopulation),
        (0, Some(2.0), CALCULATED)
    );
    assert_eq!(told(Aggregate::VariancePopulation).1, Some(4.0));
    assert_eq!(told(Aggregate::VarianceSample).1, Some(4.571));
    assert_eq!(told(Aggregate::StandardDeviationSample).1, Some(2.138));
}

// Part 11, 6.5.4.2: swapped, the intervals are others.
#[test]
fn backwards_the_later_end_belongs_to_an_interval() {
    let span = (NOON + 90 * SECOND, NOON + 30 * SECOND);
    let processed = |what| Processed::new(what, ONE, span, 20 * SECOND);
    let told = |what| printed(&all(&history(PERIODIC), processed(what), 3));
    let rows: Vec<_> = told(Aggregate::Maximum);
    // (70, 90], (50, 70], (30, 50].
    assert_eq!(rows[0].0, 90);
    assert_eq!(
        rows.iter().map(|it| it.1).collect::<Vec<_>>(),
        [Some(90.0), Some(60.0), Some(50.0)]
    );
    let first = told(Aggregate::Interpolative);
    assert_eq!(first[0], (90, Some(90.0), GOOD));
    assert_eq!(first[1], (70, Some(70.0), U.bits()));
}

#[test]
fn an_interval_of_nothing_is_all_of_it_and_the_last_one_may_be_cut() {
    let span = (NOON + 10 * SECOND, NOON + 40 * SECOND);
    let one = Processed::new(Aggregate::Count, ONE, span, 0);
    assert_eq!(
        printed(&all(&history(PERIODIC), one, 10)),
        [(10, Some(3.0), CALCULATED)]
    );
    let cut = Processed::new(Aggregate::Count, ONE, span, 20 * SECOND);
    assert_eq!(
        printed(&all(&history(PERIODIC), cut, 10)),
        [(10, Some(2.0), CALCULATED), (30, Some(1.0), CP)]
    );
}

#[test]
fn a_difference_that_its_type_has_no_room_for_has_no_value() {
    let ring = Ring::new(10);
    for (time, value) in [(0, 7u64), (1, 3), (2, 0)] {
        let stamp = Stamp {
            status: G,
            source: NOON + time * SECOND,
        };
        ring.keep(StoredValue::Bits(BuiltInType::UInt32, value), stamp, 0);
    }
    let history = History::Stored(Arc::new(ring));
    let told = |what| {
        let span = (NOON, NOON + 2 * SECOND);
        all(&history, Processed::new(what, TWO, span, 0), 10)[0]
    };
    assert_eq!(told(Aggregate::Range).value, Some((BuiltInType::UInt32, 4)));
    let delta = told(Aggregate::Delta);
    assert_eq!(
        (delta.value, delta.status),
        (None, StatusCode::BadTypeMismatch.bits())
    );
}

#[test]
fn a_difference_of_64_bit_values_is_exact() {
    let ring = Ring::new(10);
    for (time, value) in [(0, 1u64 << 60), (1, (1 << 60) + 1)] {
        let stamp = Stamp {
            status: G,
            source: NOON + time * SECOND,
        };
        ring.keep(StoredValue::Bits(BuiltInType::UInt64, value), stamp, 0);
    }
    let history = History::Stored(Arc::new(ring));
    let span = (NOON, NOON + 2 * SECOND);
    let told = all(&history, Processed::new(Aggregate::Delta, TWO, span, 0), 10)[0];
    assert_eq!(told.value, Some((BuiltInType::UInt64, 1)));
}

#[test]
fn what_is_not_a_number_hides_no_minimum() {
    for values in [[NAN, 3.0, 1.0], [3.0, NAN, 1.0]] {
        let data: Vec<Raw> = (0..).zip(values).map(|(n, value)| (n, value, G)).collect();
        let told = printed(&annex(&data, TWO, Aggregate::Minimum, 100))[0];
        assert_eq!(told.1, Some(1.0));
    }
}

proptest! {
    /// Whatever the values, the intervals of a span add up to the span.
    #[test]
    fn intervals_add_up(
        values in prop::collection::vec((1i64..50, -100i32..100, 0u8..3), 1..40),
        length in 1i64..30,
    ) {
        let mut time = 0;
        let data: Vec<Raw> = values.iter().map(|(step, value, worth)| {
            time += step;
            (time, f64::from(*value), [G, U, B][usize::from(*worth)])
        }).collect();
        let history = history(&data);
        let span = (NOON, NOON + time * SECOND);
        // Nothing is so bad that it has no value.
        let with = Configuration { percent_data_good: 0, ..TWO };
        let told = |what, length: i64| {
            let processed = Processed::new(what, with, span, length * SECOND);
            let outcomes = all(&history, processed, 7);
            let value = |it: &Outcome| it.value.map_or(0.0, |(kind, bits)| {
                Sample { time: 0, kind, bits, status: 0 }.number()
            });
            outcomes.iter().map(value).collect::<Vec<_>>()
        };
        for what in [Aggregate::DurationGood, Aggregate::Total, Aggregate::Total2] {
            let (parts, whole) = (told(what, length), told(what, 0));
            let sum: f64 = parts.iter().sum();
            prop_assert!((sum - whole[0]).abs() < 1e-6 * sum.abs().max(1.0), "{what:?} {sum} {whole:?}");
        }
        let good = data.iter().filter(|(at, _, worth)| *worth == G && *at < time).count();
        prop_assert_eq!(told(Aggregate::Count, 0)[0], good as f64);
    }
}
