#![allow(clippy::unwrap_used)]

use record::attack::{Answer, Attacked};
use record::run::Status;

use super::*;

/// A stage whose Reads took so long, 500 in each fifth of a second, a hundredth of them ten times as long.
fn stage(ns: u64) -> Stage {
    let mut response = Histogram::default();
    let mut p99_ns = Vec::new();
    for n in 0..25_u64 {
        // No two intervals are alike.
        let about = ns + n % 3 * ns / 100;
        response.merge(&Histogram::of(about, 490));
        response.merge(&Histogram::of(about * 10, 10));
        p99_ns.push(about * 10);
    }
    Stage {
        from_ns: 0,
        to_ns: 5_000_000_000,
        planned: 12_500,
        completed: 12_500,
        rate_per_s: 2_500.0,
        response,
        p50_ns: vec![ns; 25],
        p99_ns,
        newcomers: Newcomers {
            came: 10,
            ..Newcomers::default()
        },
        ..Stage::default()
    }
}

fn seen(attacked: Stage) -> Stages {
    Stages {
        calm: stage(100_000),
        attacked,
        after: stage(100_000),
        attackers: Attackers {
            planned: 500,
            made: 500,
            answers: vec![Answer {
                variant: "expired".into(),
                told: "BadCertificateTimeInvalid".into(),
                refused: true,
                count: 500,
            }],
            cores: Figure::Known(0.2),
            ..Attackers::default()
        },
        ratios: Vec::new(),
        memory: held(100, 101),
        descriptors: Held::default(),
        sessions: Held::default(),
        lost_values: Figure::Known(0),
        limits: Vec::new(),
        turned_away: None,
        died: None,
    }
}

const MIB: u64 = 1 << 20;

fn held(before: u64, after: u64) -> Held {
    Held {
        before: Figure::Known(before * MIB),
        most: Figure::Known(after * MIB),
        after: Figure::Known(after * MIB),
    }
}

fn sheet(seen: Vec<Stages>) -> Sheet {
    let kind = |seen| Attacked {
        kind: "certificates".into(),
        what: "certificates".into(),
        not_tried: None,
        seen: Some(seen),
        verdict: Verdict::NotTried,
        evidence: Vec::new(),
    };
    Sheet {
        format: record::attack::FORMAT.into(),
        version: record::attack::VERSION,
        started: record::Timestamp::from_unix_ns(0).unwrap(),
        url: "opc.tcp://plc:4840".into(),
        product: "a server".into(),
        security: "None".into(),
        process: Figure::default(),
        machine: Default::default(),
        asked: AttackSettings {
            step_ns: 5_000_000_000,
            rate_per_s: 100.0,
            count: 10_000,
            clients: 8,
            open: 1_000,
            good_rate_per_s: 2_500.0,
            nodes: "i=2258".into(),
            slow: 2.0,
            left_bytes: 32 * MIB,
        },
        interrupted: false,
        gone: None,
        failed: None,
        kinds: seen.into_iter().map(kind).collect(),
    }
}

fn concluded(seen: Stages) -> (Verdict, String, Exit) {
    let mut sheet = sheet(vec![seen]);
    conclude(&mut sheet);
    let kind = sheet.kinds.first().unwrap();
    (kind.verdict, kind.evidence.join("; "), exit(&sheet))
}

#[test]
fn a_server_that_answers_as_before_is_unharmed() {
    let (verdict, told, exit) = concluded(seen(stage(110_000)));
    assert_eq!((verdict, exit), (Verdict::Unharmed, Exit::Good), "{told}");
    assert_eq!(words(verdict), "unharmed");
}

#[test]
fn one_that_answers_later_is_slowed_so_many_times_with_an_interval() {
    let mut sheet = sheet(vec![seen(stage(400_000))]);
    conclude(&mut sheet);
    let kind = sheet.kinds.first().unwrap();
    let Verdict::Slowed { times } = kind.verdict else {
        panic!("{:?}: {:?}", kind.verdict, kind.evidence);
    };
    assert!((3.8..4.2).contains(&times), "{times}");
    assert_eq!(words(kind.verdict), format!("slowed {times:.1} times"));
    let ratios = &kind.seen.as_ref().unwrap().ratios;
    for ratios in ratios.iter().filter(|it| it.quantile < 0.999) {
        let it = *ratios.attacked.known().unwrap();
        assert!(it.low <= it.ratio && it.ratio <= it.high, "{it:?}");
        assert!(it.low > 3.0 && it.high < 5.0, "{it:?}");
        let after = *ratios.after.known().unwrap();
        assert!(after.low <= 1.0 && after.high >= 1.0, "{after:?}");
    }
    assert_eq!(exit(&sheet), Exit::Threshold);
}

#[test]
fn without_an_interval_nobody_is_called_slow() {
    let brief = |ns| Stage {
        p50_ns: vec![ns; 3],
        p99_ns: vec![ns * 10; 3],
        ..stage(ns)
    };
    let with = |ns| {
        let mut seen = seen(brief(ns));
        seen.calm = brief(100_000);
        concluded(seen)
    };
    let (verdict, told, exit) = with(500_000);
    assert_eq!((verdict, exit), (Verdict::TooFewReads, Exit::Verdict));
    assert!(told.contains("too few Reads for an interval"), "{told}");
    assert_eq!(with(110_000).0, Verdict::Unharmed);
}

#[test]
fn what_good_clients_do_not_get_weighs_more_than_how_long_it_takes() {
    let mut failing = stage(400_000);
    failing.errors = 200;
    failing.statuses = vec![Status {
        code: 0x8000_0000,
        name: "BadTcpServerTooBusy".into(),
        count: 200,
    }];
    let (verdict, told, exit) = concluded(seen(failing));
    assert_eq!(verdict, Verdict::RefusedGoodClients);
    assert!(told.contains("mostly BadTcpServerTooBusy"), "{told}");
    assert_eq!(exit, Exit::Threshold);
    let mut crowded = stage(100_000);
    crowded.newcomers.refused = 3;
    crowded.newcomers.told = Some("no more sessions".into());
    let (verdict, told, _) = concluded(seen(crowded));
    assert_eq!(verdict, Verdict::RefusedGoodClients);
    assert!(told.contains("3 of 10 good clients"), "{told}");
    let mut closed = seen(stage(100_000));
    closed.turned_away = Some("it answers, but gives no session: BadTooManySessions".into());
    let (verdict, told, _) = concluded(closed);
    assert_eq!(verdict, Verdict::RefusedGoodClients);
    assert!(told.contains("BadTooManySessions"), "{told}");
    let mut cut = stage(100_000);
    cut.lost_sessions = 1;
    assert_eq!(concluded(seen(cut)).0, Verdict::RefusedGoodClients);
}

#[test]
fn what_was_wrong_before_is_no_fault_of_the_attack() {
    let mut seen = seen(stage(100_000));
    (seen.calm.errors, seen.attacked.errors) = (100, 100);
    let (verdict, told, _) = concluded(seen);
    assert_eq!(verdict, Verdict::Unharmed);
    assert!(told.contains("not all was well before"), "{told}");
}

#[test]
fn what_was_wrong_before_excuses_no_more_of_it() {
    let with = |lost: u64, refused: u64| {
        let mut seen = seen(stage(100_000));
        (seen.calm.lost_sessions, seen.calm.newcomers.refused) = (1, 1);
        (seen.attacked.lost_sessions, seen.attacked.newcomers.refused) = (lost, refused);
        concluded(seen).0
    };
    assert_eq!(with(1, 1), Verdict::Unharmed);
    assert_eq!(with(3, 1), Verdict::RefusedGoodClients);
    assert_eq!(with(1, 10), Verdict::RefusedGoodClients);
}

#[test]
fn half_of_the_answers_is_harm_even_if_those_came_in_time() {
    let mut half = stage(100_000);
    half.rate_per_s /= 2.0;
    let (verdict, told, exit) = concluded(seen(half));
    assert_eq!(verdict, Verdict::Starved { share: 0.5 });
    assert_eq!(
        (words(verdict).as_str(), exit),
        ("answered 50 % of the Reads", Exit::Threshold)
    );
    assert!(told.contains("50 %"), "{told}");
}

#[test]
fn fewer_answers_to_a_good_client_that_was_the_limit_cannot_be_told() {
    let mut half = stage(100_000);
    half.rate_per_s /= 2.0;
    half.limits.push("no time".into());
    let (verdict, told, exit) = concluded(seen(half));
    assert_eq!((verdict, exit), (Verdict::GeneratorLimited, Exit::Verdict));
    assert!(told.contains("50 %"), "{told}");
}

#[test]
fn memory_that_does_not_come_back_is_left_behind() {
    let with = |memory| {
        let mut seen = seen(stage(100_000));
        seen.memory = memory;
        concluded(seen)
    };
    let (verdict, told, exit) = with(held(100, 180));
    assert_eq!(verdict, Verdict::LeftBehind { bytes: 80 * MIB });
    assert_eq!(
        (words(verdict).as_str(), exit),
        ("left 80 MiB behind", Exit::Threshold)
    );
    assert!(told.contains("attack again"), "{told}");
    // Little, or little of much, is what any server does.
    assert_eq!(with(held(100, 120)).0, Verdict::Unharmed);
    assert_eq!(with(held(1_000, 1_050)).0, Verdict::Unharmed);
    assert_eq!(with(Held::default()).0, Verdict::Unharmed);
}

#[test]
fn a_server_that_is_gone_has_died_whatever_else_was_seen() {
    let mut seen = seen(stage(100_000));
    seen.died = Some("its process is gone".into());
    seen.limits.push("no time".into());
    let (verdict, told, exit) = concluded(seen);
    assert_eq!((verdict, exit), (Verdict::Died, Exit::Threshold));
    assert!(told.starts_with("its process is gone"), "{told}");
}

#[test]
fn a_generator_that_was_the_limit_says_so_and_calls_nobody_unharmed() {
    let mut late = seen(stage(100_000));
    late.attackers.latest_ns = 900_000_000;
    let (verdict, told, exit) = concluded(late);
    assert_eq!((verdict, exit), (Verdict::GeneratorLimited, Exit::Verdict));
    assert!(told.contains("too late"), "{told}");
    let mut idle = seen(stage(100_000));
    idle.attackers = Attackers::default();
    let (verdict, told, _) = concluded(idle);
    assert_eq!(verdict, Verdict::GeneratorLimited);
    assert!(told.contains("no attack was made"), "{told}");
    // Harm that was seen is harm, however late it came.
    let mut late = seen(stage(400_000));
    late.attackers.latest_ns = 900_000_000;
    assert!(matches!(concluded(late).0, Verdict::Slowed { .. }));
    let mut busy = seen(stage(100_000));
    busy.attackers.made = 100;
    busy.attackers.cores = Figure::Known(7.9);
    let (verdict, told, _) = concluded(busy.clone());
    assert_eq!(verdict, Verdict::GeneratorLimited);
    assert!(told.contains("--attackers"), "{told}");
    // Eight attackers have two cores at most where there are two.
    busy.attackers.cores = Figure::Known(1.95);
    assert_eq!(concluded(busy.clone()).0, Verdict::Unharmed);
    let mut small = sheet(vec![busy]);
    small.machine.cores = Figure::Known(2);
    conclude(&mut small);
    let kind = small.kinds.first().unwrap();
    assert_eq!(kind.verdict, Verdict::GeneratorLimited);
    let told = kind.evidence.join("; ");
    assert!(told.contains("of 2 cores busy"), "{told}");
    // Where the good client was the limit, all of the interval has to be beyond what is slow.
    let starved = |mut attacked: Stage| {
        attacked.limits.push("no time".into());
        concluded(seen(attacked))
    };
    // In the mean as slow, and nobody knows how slow.
    let mut wild = stage(300_000);
    for (n, (p50, p99)) in wild.p50_ns.iter_mut().zip(&mut wild.p99_ns).enumerate() {
        *p50 *= if n % 4 == 0 { 9 } else { 1 };
        *p99 *= if n % 4 == 0 { 9 } else { 1 };
    }
    assert!(matches!(
        concluded(seen(wild.clone())).0,
        Verdict::Slowed { .. }
    ));
    let (verdict, told, _) = starved(wild);
    assert_eq!(verdict, Verdict::GeneratorLimited, "{told}");
    assert!(
        told.contains("while attacked the good client was the limit"),
        "{told}"
    );
    assert!(matches!(starved(stage(400_000)).0, Verdict::Slowed { .. }));
    // Who waits for the server is not the limit.
    let mut waiting = seen(stage(100_000));
    waiting.attackers.made = 100;
    waiting.attackers.held_up = 90;
    let (verdict, told, _) = concluded(waiting);
    assert_eq!(verdict, Verdict::Unharmed);
    assert!(told.contains("attackers were still busy"), "{told}");
}

#[test]
fn an_interrupt_and_nothing_tried_have_exit_codes_of_their_own() {
    let mut interrupted = sheet(vec![seen(stage(100_000))]);
    interrupted.interrupted = true;
    if let Some(seen) = interrupted
        .kinds
        .first_mut()
        .and_then(|it| it.seen.as_mut())
    {
        seen.after.to_ns /= 2;
        seen.memory = held(100, 180);
    }
    conclude(&mut interrupted);
    assert_eq!(exit(&interrupted), Exit::Interrupted);
    assert_eq!(
        interrupted.kinds.first().unwrap().verdict,
        Verdict::Interrupted
    );
    let mut failed = sheet(vec![seen(stage(400_000))]);
    failed.failed = Some("no more threads".into());
    conclude(&mut failed);
    assert_eq!(exit(&failed), Exit::Nothing);
    let mut none = sheet(vec![seen(stage(100_000))]);
    if let Some(kind) = none.kinds.first_mut() {
        kind.seen = None;
    }
    conclude(&mut none);
    assert_eq!(exit(&none), Exit::Nothing);
}
