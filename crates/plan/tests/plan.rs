//! Plans: what makes sense, how they are divided, and how they are kept in files.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use plan::{
    Arrival, NodeSpec, Phase, Plan, Read, Register, Schedule, Seat, Share, TargetSpec, Targets,
    Translate, Warmup, Work, Write,
};
use proptest::prelude::*;

fn targets(text: &str) -> Targets {
    let spec: TargetSpec = text.parse().unwrap();
    Targets::resolve(&[spec], |_| unreachable!()).unwrap()
}

fn node(text: &str) -> NodeSpec {
    text.parse().unwrap()
}

fn reading() -> Phase {
    Phase::new(Work::Read(Read::new(node("i=2258").into())))
}

fn plan(phases: Vec<Phase>) -> Plan {
    Plan {
        targets: targets("opc.tcp://h:4840-4842"),
        phases,
    }
}

#[test]
fn sessions_stay_with_one_thread_through_all_phases() {
    let plan = plan(vec![
        Phase {
            sessions: 2,
            ..reading()
        },
        Phase {
            sessions: 4,
            ..reading()
        },
    ]);
    let shares = plan.shares(3);
    assert_eq!(shares.len(), 3);
    let seats: Vec<Seat> = shares[1].seats(2).collect();
    assert_eq!(
        seats,
        [
            Seat {
                target: 0,
                index: 1
            },
            Seat {
                target: 1,
                index: 0
            }
        ]
    );
    // Two sessions with each of three targets are six, whoever takes them.
    assert_eq!(shares.iter().flat_map(|share| share.seats(2)).count(), 6);
    // Twelve sessions, so the other threads would have nothing to do.
    assert_eq!(plan.shares(99).len(), 12);
}

proptest! {
    #[test]
    fn any_number_of_threads_offers_the_same_load(sessions in 1u32..20, threads in 1u32..40, seed: u64) {
        let pace = "poisson".parse::<plan::Shape>().unwrap().at("50/s".parse().ok()).unwrap();
        let phase = Phase {
            sessions,
            seed,
            arrival: Arrival::Open(pace),
            duration: Some(Duration::from_secs(1)),
            ..reading()
        };
        let plan = plan(vec![phase.clone()]);
        let load = |shares: Vec<Share>| {
            let seats = shares.into_iter().flat_map(|share| share.seats);
            let mut all: Vec<(Seat, Vec<u64>)> = seats
                .map(|seat| (seat, Schedule::of_phase(&phase, seat).unwrap().collect()))
                .collect();
            all.sort();
            all
        };
        let sizes = plan.shares(threads).iter().map(|share| share.seats.len()).collect::<Vec<_>>();
        prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        prop_assert_eq!(load(plan.shares(threads)), load(plan.shares(1)));
    }

    #[test]
    fn the_requests_of_all_sessions_are_those_of_the_phase(
        sessions in 1u32..50,
        targets in 1u32..10,
        requests in 1u64..100_000,
    ) {
        let phase = Phase { sessions, requests: Some(requests), ..reading() };
        let each: Vec<u64> = (0..targets)
            .flat_map(|target| (0..sessions).map(move |index| (target, index)))
            .map(|(target, index)| phase.requests_of(target, index, targets).unwrap())
            .collect();
        prop_assert_eq!(each.iter().sum::<u64>(), requests);
        prop_assert!(each.iter().max().unwrap() - each.iter().min().unwrap() <= 1);
    }
}

#[test]
fn a_plan_goes_into_a_file_and_comes_back() {
    let open = "steps:10/s@1s,1k/s@250ms"
        .parse::<plan::Shape>()
        .unwrap()
        .at(None)
        .unwrap();
    let mut write = Write::new(node("nsu=urn:bench;i=1000..1099").into());
    write.values = "=42.5".parse().unwrap();
    write.index_range = "0:9".parse().ok();
    let translate = Translate {
        start: node("i=84"),
        paths: vec!["/Objects/2:Folder".parse().unwrap()],
        batch: 3,
    };
    let register = Register {
        read: Read::new(node("browse:/Objects/*").into()),
        compare: true,
    };
    let plan = plan(vec![
        Phase {
            name: Some("warm".into()),
            arrival: Arrival::Open(open),
            warmup: Warmup::Given {
                warmup: Duration::from_secs(5),
            },
            expect: vec!["p99<5ms".parse().unwrap(), "errors<0.1%".parse().unwrap()],
            ..reading()
        },
        Phase::new(Work::Write(write)),
        Phase::new(Work::Translate(translate)),
        Phase::new(Work::Register(register)),
    ]);
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    for part in [
        r#""targets":["opc.tcp://h:4840","opc.tcp://h:4841""#,
        r#""service":"read","nodes":["i=2258"],"batch":1,"attribute":"Value","max_age_ns":0"#,
        r#""warmup":{"kind":"given","warmup_ns":5000000000}"#,
        r#""expect":["p99<5ms","errors<0.1%"]"#,
        r#""values":"=42.5","index_range":"0:9""#,
        r#""duration_ns":10000000000"#,
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn what_makes_no_sense_is_named_with_what_is_allowed() {
    let closed = |in_flight| Arrival::Closed {
        in_flight,
        think: Duration::ZERO,
    };
    let ramp = "ramp:1/s..9/s"
        .parse::<plan::Shape>()
        .unwrap()
        .at(None)
        .unwrap();
    let mut nothing = Read::new(node("i=1").into());
    nothing.batch = 0;
    let none = Read::new(Vec::new().into());
    for (phase, error) in [
        (
            Phase {
                sessions: 0,
                ..reading()
            },
            "bad sessions: 0 (want 1 to 1000000)",
        ),
        (
            Phase {
                arrival: closed(0),
                ..reading()
            },
            "bad in-flight: 0 (want 1 to 1000000)",
        ),
        (
            Phase {
                arrival: closed(4),
                coalesce: 5,
                ..reading()
            },
            "bad coalesce: 5 (want 1 to the requests in flight)",
        ),
        (
            Phase {
                arrival: Arrival::Open(ramp.clone()),
                coalesce: 2,
                ..reading()
            },
            "bad coalesce: 2 (want a closed loop: --in-flight instead of a rate)",
        ),
        (
            Phase {
                arrival: Arrival::Open(ramp),
                duration: None,
                requests: Some(5),
                ..reading()
            },
            "bad arrival: ramp (want a duration over which the rate changes)",
        ),
        (
            Phase {
                requests: Some(0),
                ..reading()
            },
            "bad requests: 0 (want 1 or more)",
        ),
        (
            Phase {
                duration: Some(Duration::ZERO),
                ..reading()
            },
            "bad duration: 0s (want above zero)",
        ),
        (
            Phase {
                duration: None,
                ..reading()
            },
            "bad duration: none (want a duration, a number of requests, or both)",
        ),
        (
            Phase {
                timeout: Duration::ZERO,
                ..reading()
            },
            "bad timeout: 0s (want above zero)",
        ),
        (
            Phase::new(Work::Read(nothing)),
            "bad batch: 0 (want 1 or more)",
        ),
        (
            Phase::new(Work::Read(none)),
            "bad node: none (want one or more, such as ns=2;s=MyLevel)",
        ),
    ] {
        assert_eq!(plan(vec![phase]).check().unwrap_err().to_string(), error);
    }
    assert!(plan(Vec::new()).check().is_err());
    assert_eq!(plan(vec![reading()]).check(), Ok(()));
}
