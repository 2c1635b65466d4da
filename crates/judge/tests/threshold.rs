//! Thresholds against a phase, and what becomes of those for which nothing was measured.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use judge::expectations;
use record::run::{Figure, Phase, Usage, UsageSeries, WarmUp};
use record::{Lateness, Ledger, Times};

const MS: u64 = 1_000_000;

/// 1,000 reads in a second, 1 to 1,000 us, each of ten values; ten of them failed.
fn tally() -> record::Tally {
    let mut ledger = Ledger::with_end(1000 * MS);
    for at in 0..1000 {
        let sent = at * MS;
        ledger.late(sent, Lateness::default(), 1);
        let times = Times {
            planned: sent,
            sent,
            completed: sent + (at + 1) * 999,
        };
        match at % 100 {
            0 => ledger.failed(times, 0x8034_0000, 1),
            _ => ledger.done(times, 0, 10, 1),
        }
    }
    ledger.finish()
}

fn phase() -> Phase {
    let time = "2026-03-01T09:30:00Z".parse().unwrap();
    let name = |code: u32| format!("{code:08X}");
    let mut phase = Phase::new("p", time, &tally(), WarmUp::default(), 0, &name);
    for (who, cpu_cores, spun_ns, rss) in [
        ("server", 0.5, None, 64),
        ("generator", 1.0, Some(700 * MS), 10),
    ] {
        phase.resources.push(UsageSeries {
            who: who.to_owned(),
            window: Usage {
                cpu_cores: Figure::Known(cpu_cores),
                spun_ns: spun_ns.map_or_else(Figure::default, Figure::Known),
                rss_peak_bytes: Figure::Known(rss << 20),
                ..Usage::default()
            },
            ..UsageSeries::default()
        });
    }
    phase
}

fn met(threshold: &str) -> bool {
    let outcome = expectations(&[threshold.parse().unwrap()], &phase());
    let parsed: plan::Threshold = threshold.parse().unwrap();
    assert_eq!(outcome[0].expected, parsed.to_string());
    assert!(outcome[0].found.is_some(), "{threshold}");
    outcome[0].met
}

#[test]
fn thresholds_are_held_against_what_was_measured() {
    for good in [
        "p99<1ms",
        "p50<=501us",
        "max<=999us",
        "mean<501us",
        "service.p99>900us",
        "lateness.max<1ns",
        "rate>=990/s",
        "values>=9900/s",
        "errors=10",
        "errors<=1%",
        "cpu<=50%",
        "rss<65MiB",
        "generator-rss<=10MiB",
    ] {
        assert!(met(good), "{good}");
    }
    for bad in [
        "p99<900us",
        "errors=0",
        "errors<1%",
        "rate>990/s",
        "cpu<49%",
    ] {
        assert!(!met(bad), "{bad}");
    }
}

#[test]
fn a_percentile_of_too_few_values_is_not_met_and_says_how_many_it_needs() {
    for threshold in ["p99.9<1s", "service.p99.9>1ns"] {
        let outcome = expectations(&[threshold.parse().unwrap()], &phase());
        assert!(!outcome[0].met && outcome[0].found.is_none(), "{threshold}");
        let reason = outcome[0].reason.as_deref().unwrap();
        assert_eq!(
            reason,
            "p99.9 needs 3688 values or more, and there are 1000"
        );
    }
    // Cycles are counted, not requests.
    let mut phase = phase();
    phase.cycles_ns = vec![MS; 100];
    let outcome = expectations(&["cycle.p99<1s".parse().unwrap()], &phase);
    assert!(!outcome[0].met, "{outcome:?}");
}

#[test]
fn failures_are_those_of_the_whole_phase() {
    let cut = |given_ns: Option<u64>| {
        let warm_up = WarmUp {
            given_ns,
            found_ns: given_ns.is_none().then_some(950 * MS),
            longest: None,
            cut_ns: 950 * MS,
        };
        let time = "2026-03-01T09:30:00Z".parse().unwrap();
        let name = |code: u32| format!("{code:08X}");
        // What was slow and failed lies at the beginning.
        let mut ledger = Ledger::with_end(1000 * MS).with_cuts(&[950 * MS]);
        for at in 0..1000 {
            let (planned, slow) = (at * MS, at < 100);
            let times = Times {
                planned,
                sent: planned,
                completed: planned + if slow { 50 * MS } else { MS / 2 },
            };
            match slow {
                true => ledger.timed_out(times, 1),
                false => ledger.done(times, 0, 1, 1),
            }
        }
        Phase::new("p", time, &ledger.finish(), warm_up, 0, &name)
    };
    let met =
        |threshold: &str, phase: &Phase| expectations(&[threshold.parse().unwrap()], phase)[0].met;
    for phase in [cut(None), cut(Some(950 * MS))] {
        assert_eq!(phase.total.errors, 0);
        for threshold in ["errors=100", "errors>=10%", "timeouts=100", "timeouts>=10%"] {
            assert!(met(threshold, &phase), "{threshold}");
        }
        assert!(!met("errors=0", &phase) && !met("timeouts=0", &phase));
    }
    // Who names a warm-up wants its times left out.
    assert!(!met("max<2ms", &cut(None)));
    assert!(met("max<2ms", &cut(Some(950 * MS))));
}

#[test]
fn spinning_is_idle() {
    assert!(met("generator-cpu<31%") && met("generator-cpu>29%"));
}

#[test]
fn what_was_not_measured_is_not_met_and_says_so() {
    for threshold in ["delay.p99<1h", "loss=0", "cycle.max<1h"] {
        let outcome = expectations(&[threshold.parse().unwrap()], &phase());
        assert!(!outcome[0].met && outcome[0].found.is_none(), "{threshold}");
        let reason = outcome[0].reason.as_deref().unwrap();
        assert!(reason.contains("not measured"), "{reason}");
    }
}

#[test]
fn a_budget_is_spent_by_what_a_threshold_allows_to_be_missed() {
    let budgets =
        |threshold: &str| judge::budgets(&[threshold.parse().unwrap()], &phase(), &tally());
    // 1 to 999 us, evenly: 10 % are slower than 900 us, all of them in the last tenth of the second.
    let found = &budgets("service.p95<900us")[0];
    assert_eq!(found.expected, "service.p95<900us");
    assert!((found.allowed - 0.05).abs() < 1e-9);
    assert!((found.spent - 2.0).abs() < 0.2, "{found:?}");
    assert!(
        (found.fastest - found.spent).abs() < 1e-9,
        "one second: {found:?}"
    );
    let (bad, of): (u64, u64) = (found.bad.iter().sum(), found.of.iter().sum());
    assert_eq!(of, 1000);
    assert!((90..=110).contains(&bad), "{found:?}");
    assert!(found.bad[..8].iter().all(|it| *it == 0), "{found:?}");
    // Ten of a thousand failed, and 2 % may.
    let found = &budgets("errors<2%")[0];
    assert!((found.spent - 0.5).abs() < 1e-9, "{found:?}");
    // Nothing may be missed, or it is no share.
    for none in [
        "errors=0",
        "errors<0%",
        "mean<1ms",
        "p99>1ms",
        "rate>10/s",
        "max<1s",
        "cycle.p99<1s",
    ] {
        assert!(budgets(none).is_empty(), "{none}");
    }
}

#[test]
fn a_budget_has_what_came_behind_the_end_and_a_second_of_the_window_is_a_whole_one() {
    // A request each 10 ms for four seconds, of which the first second is warm-up. One is late in the first interval that
    // counts, and one has no answer before the end.
    let mut ledger = Ledger::with_end(4000 * MS);
    for at in (0..4000).step_by(10) {
        let sent = at * MS;
        let took = if at == 1000 { 50 * MS } else { MS };
        let behind = if at == 3990 { 5000 * MS } else { 0 };
        ledger.late(sent, Lateness::default(), 1);
        let times = Times {
            planned: sent,
            sent,
            completed: sent + took + behind,
        };
        ledger.done(times, 0, 1, 1);
    }
    let tally = ledger.finish();
    let time = "2026-03-01T09:30:00Z".parse().unwrap();
    let warm_up = WarmUp {
        given_ns: Some(1000 * MS),
        cut_ns: 1000 * MS,
        ..WarmUp::default()
    };
    let name = |code: u32| format!("{code:08X}");
    let phase = Phase::new("p", time, &tally, warm_up, 0, &name);
    let found = &judge::budgets(&["service.p90<10ms".parse().unwrap()], &phase, &tally)[0];
    // Two of three hundred, where ten percent may be; one of a hundred in its second.
    assert!((found.spent - 2.0 / 300.0 / 0.1).abs() < 1e-3, "{found:?}");
    assert!((found.fastest - 0.1).abs() < 0.011, "{found:?}");
    assert_eq!(found.of[..10].iter().sum::<u64>(), 0, "{found:?}");
}
