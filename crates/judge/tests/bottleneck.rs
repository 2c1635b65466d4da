//! What limits a server is named from phases that are made by hand, one for each limit that there is.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use judge::bottleneck;
use record::run::{
    Bottleneck, Counted, Diagnostics, Figure, Finding, Internals, Kind, Limiter, LinkTest,
    LinkUsage, LoopUse, Phase, Sign, SocketUsage, Status, Subscriptions, Target, ThreadUsage,
    Throughput, Usage, UsageSeries, WarmUp,
};
use record::{Histogram, Lateness, Ledger, Times};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// A second with so many reads, each on its way for 5 ms.
fn reads(n: u64) -> Phase {
    let mut ledger = Ledger::with_end(SECOND);
    for k in 0..n {
        let at = k * (SECOND - 10 * MS) / n;
        let times = Times {
            planned: at,
            sent: at,
            completed: at + 5 * MS,
        };
        ledger.late(at, Lateness::default(), 1);
        ledger.sent_bytes(at, 100, 1);
        ledger.done(times, 0, 1, 1);
        ledger.received_bytes(times.completed, 1000, 1);
    }
    let time = "2026-03-01T09:30:00Z".parse().unwrap();
    let name = |code: u32| format!("{code:08X}");
    let mut phase = Phase::new("p", time, &ledger.finish(), WarmUp::default(), 0, &name);
    phase.verdict.kind = Kind::ServerSaturated;
    phase.resources.push(UsageSeries {
        who: "generator".to_owned(),
        busiest_core: Some(0.12),
        ..UsageSeries::default()
    });
    phase
}

fn thread(name: &str, count: u64, cores: f64, busiest: f64) -> ThreadUsage {
    ThreadUsage {
        name: name.to_owned(),
        count,
        cpu_cores: Figure::Known(cores),
        cpu_ns: Figure::Known((cores * SECOND as f64) as u64),
        user_ns: Figure::default(),
        system_ns: Figure::default(),
        waited_ns: Figure::Known(0),
        voluntary_switches: Figure::Known(1),
        involuntary_switches: Figure::Known(0),
        migrations: Figure::default(),
        busiest: Some(busiest),
    }
}

/// Nothing holds these connections up.
const FLOWS: SocketUsage = SocketUsage {
    connections: 4,
    outgoing: 0,
    window_ns: SECOND,
    busy_ns: SECOND / 5,
    receiver_limited_ns: 0,
    buffer_limited_ns: 0,
    looks: 12,
    unsent: 0,
};

/// With a server of these threads, which may use four cores.
fn with_server(mut phase: Phase, threads: Vec<ThreadUsage>) -> Phase {
    let known = |it: &ThreadUsage| it.cpu_cores.known().copied();
    let cores: f64 = threads.iter().filter_map(known).sum();
    phase.resources.push(UsageSeries {
        who: "server".to_owned(),
        window: Usage {
            cpu_cores: Figure::Known(cores),
            waited_ns: Figure::Known(0),
            major_faults: Figure::Known(0),
            voluntary_switches: Figure::Known(phase.total.completed),
            ..Usage::default()
        },
        cores_allowed: Some(4.0),
        memory_stalled_ns: Some(Figure::Known(0)),
        sockets: Some(Figure::Known(FLOWS)),
        threads,
        ..UsageSeries::default()
    });
    phase
}

/// A server that sleeps.
fn idle(n: u64) -> Phase {
    with_server(reads(n), vec![thread("io", 1, 0.03, 0.03)])
}

fn server(phase: &mut Phase) -> &mut UsageSeries {
    let mut all = phase.resources.iter_mut();
    all.find(|it| it.who == "server").unwrap()
}

fn here() -> [Target; 1] {
    [Target {
        url: "opc.tcp://127.0.0.1:4840".to_owned(),
        ..Target::default()
    }]
}

fn over_there() -> [Target; 1] {
    [Target {
        url: "opc.tcp://plc1:4840".to_owned(),
        ..Target::default()
    }]
}

fn over(link: &str) -> [Target; 1] {
    let [mut target] = here();
    target.link = Some(link.to_owned());
    [target]
}

fn found(phase: &Phase) -> Bottleneck {
    bottleneck(phase, None, &here())
}

fn finding(of: Limiter, found: &Bottleneck) -> Finding {
    found.candidate(of).unwrap().finding
}

#[test]
fn a_server_that_uses_all_its_cores_is_limited_by_its_cpu() {
    let four = (0..4).map(|n| thread(&format!("io-{n}"), 1, 0.95, 0.95));
    let found = found(&with_server(reads(1000), four.collect()));
    assert_eq!(found.limited_by, Some(Limiter::ServerCpu));
    // That each of its threads is busy is the same thing.
    assert_eq!(
        finding(Limiter::ServerThread, &found),
        Finding::DoesNotLimit
    );
    assert_eq!(finding(Limiter::Lock, &found), Finding::DoesNotLimit);
    assert_eq!(finding(Limiter::Generator, &found), Finding::DoesNotLimit);
}

#[test]
fn cores_that_others_have_are_none_that_are_free() {
    let four = (0..4).map(|n| thread(&format!("io-{n}"), 1, 0.5, 0.95));
    let mut phase = with_server(reads(1000), four.collect());
    server(&mut phase).window.waited_ns = Figure::Known(1_800 * MS);
    let found = found(&phase);
    assert_eq!(found.limited_by, Some(Limiter::ServerCpu));
    let sign = &found.candidate(Limiter::ServerCpu).unwrap().signs_for[0];
    assert!(matches!(sign, Sign::Cores { busy, waited, .. } if *busy == 2.0 && *waited == 1.8));
}

#[test]
fn one_busy_thread_beside_free_cores_is_the_limit() {
    let threads = vec![thread("io", 1, 0.97, 0.97), thread("log", 1, 0.01, 0.01)];
    let found = found(&with_server(reads(1000), threads));
    assert_eq!(found.limited_by, Some(Limiter::ServerThread));
    let sign = &found.candidate(Limiter::ServerThread).unwrap().signs_for[0];
    let name = "io".to_owned();
    assert_eq!(
        *sign,
        Sign::Thread {
            name,
            busy: 0.97,
            alike: 1
        }
    );
}

#[test]
fn threads_of_one_name_are_counted_and_the_busiest_of_them_is_seen() {
    let alike = |threads| {
        let found = found(&with_server(reads(1000), threads));
        let thread = found.candidate(Limiter::ServerThread).unwrap().clone();
        match thread.signs_for.first() {
            Some(Sign::Thread { alike, .. }) => *alike,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(alike(vec![thread("pool", 2, 1.9, 0.96)]), 2);
    // Eight by one name, of which one does the work.
    assert_eq!(alike(vec![thread("pool", 8, 1.0, 0.96)]), 1);
}

#[test]
fn a_thread_that_was_as_busy_with_less_to_do_polls() {
    let polling = |n| with_server(reads(n), vec![thread("poll", 1, 1.0, 1.0)]);
    let (before, phase) = (polling(400), polling(1000));
    let found = bottleneck(&phase, Some(&before), &here());
    assert_eq!(found.limited_by, None);
    assert_eq!(finding(Limiter::ServerThread, &found), Finding::CannotTell);
    // Alone it looks like one that is at its limit.
    let alone = bottleneck(&phase, None, &here());
    assert_eq!(alone.limited_by, Some(Limiter::ServerThread));
}

/// What a plant of four processors says of two loops, and of the cores that its process kept busy.
fn told(mut phase: Phase, busy: [f64; 2], cores: f64) -> Phase {
    let part = |share: f64| (share * SECOND as f64) as u64;
    let loops = std::iter::zip(["plant-0", "plant-1"], busy);
    let internals = Internals {
        elapsed_ns: SECOND,
        cpu_ns: Some(part(cores)),
        processors: 4,
        loops: loops
            .map(|(name, busy)| LoopUse {
                name: name.to_owned(),
                busy_ns: part(busy),
                ..LoopUse::default()
            })
            .collect(),
        ..Internals::default()
    };
    let counted = Counted {
        internals: Some(internals),
        ..Counted::default()
    };
    phase.diagnostics = Some(Diagnostics {
        targets: vec![Figure::Known(counted)],
        beside: Vec::new(),
    });
    phase
}

#[test]
fn a_plant_elsewhere_says_itself_that_a_loop_or_all_its_cores_are_busy() {
    let elsewhere = |busy, cores| bottleneck(&told(reads(1000), busy, cores), None, &over_there());
    let one = elsewhere([0.96, 0.2], 1.3);
    assert_eq!(one.limited_by, Some(Limiter::ServerThread));
    let signs = &one.candidate(Limiter::ServerThread).unwrap().signs_for;
    assert!(
        matches!(&signs[0], Sign::Loop { name, alike: 1, .. } if name == "plant-0"),
        "{signs:?}"
    );
    let all = elsewhere([0.96, 0.96], 3.9);
    assert_eq!(all.limited_by, Some(Limiter::ServerCpu));
    assert_eq!(finding(Limiter::ServerThread, &all), Finding::DoesNotLimit);
    // It was in its turns all the time, and hardly on a core: it waited for one, or for something else.
    let stands = elsewhere([0.96, 0.0], 0.3);
    assert_eq!(stands.limited_by, None);
    assert_eq!(finding(Limiter::ServerThread, &stands), Finding::CannotTell);
    let free = elsewhere([0.3, 0.2], 0.5);
    assert_eq!(finding(Limiter::ServerThread, &free), Finding::DoesNotLimit);
    // On this machine it may be the process of the generator.
    let here = found(&told(reads(1000), [0.96, 0.96], 3.9));
    assert_eq!(finding(Limiter::ServerCpu, &here), Finding::CannotTell);
    assert_eq!(finding(Limiter::ServerThread, &here), Finding::CannotTell);
}

#[test]
fn a_plant_that_never_sleeps_says_how_much_it_had_to_do() {
    let spins = |busy| {
        let phase = with_server(reads(1000), vec![thread("plant-0", 1, 1.0, 1.0)]);
        found(&told(phase, [busy, 0.0], 1.0))
    };
    let idle = spins(0.2);
    assert_eq!(idle.limited_by, None);
    assert_eq!(finding(Limiter::ServerThread, &idle), Finding::DoesNotLimit);
    let busy = spins(0.95);
    assert_eq!(busy.limited_by, Some(Limiter::ServerThread));
    let signs = &busy.candidate(Limiter::ServerThread).unwrap().signs_for;
    assert!(matches!(signs.last(), Some(Sign::Loop { .. })), "{signs:?}");
}

#[test]
fn between_having_room_and_having_none_nothing_is_proven() {
    let found = found(&with_server(reads(1000), vec![thread("io", 1, 0.8, 0.8)]));
    assert_eq!(found.limited_by, None);
    assert_eq!(finding(Limiter::ServerThread, &found), Finding::CannotTell);
    assert!(!found.server_waits);
}

#[test]
fn a_server_that_waits_for_pages_is_limited_by_its_memory() {
    let mut phase = idle(1000);
    server(&mut phase).memory_stalled_ns = Some(Figure::Known(400 * MS));
    server(&mut phase).window.major_faults = Figure::Known(5000);
    assert_eq!(found(&phase).limited_by, Some(Limiter::ServerMemory));
    // Others want for memory, and it does not.
    server(&mut phase).window.major_faults = Figure::Known(3);
    let others = found(&phase);
    assert_eq!(others.limited_by, None);
    assert_eq!(finding(Limiter::ServerMemory, &others), Finding::CannotTell);
    // A kernel that does not tell: no page came from a disk.
    server(&mut phase).window.major_faults = Figure::Known(0);
    server(&mut phase).memory_stalled_ns = Some(Figure::missing("psi=0"));
    let none = found(&phase);
    assert_eq!(finding(Limiter::ServerMemory, &none), Finding::DoesNotLimit);
}

/// Four threads that share the work, and wait so often for each request.
fn sharing(n: u64, switches: u64) -> Phase {
    let mut phase = with_server(reads(n), vec![thread("worker", 4, 1.0, 0.27)]);
    server(&mut phase).window.voluntary_switches = Figure::Known(n * switches);
    phase
}

#[test]
fn threads_that_wait_more_often_for_each_request_wait_for_a_lock() {
    let (before, phase) = (sharing(400, 1), sharing(1000, 3));
    let found = bottleneck(&phase, Some(&before), &here());
    assert_eq!(found.limited_by, Some(Limiter::Lock));
    // They wait for sockets as often as before.
    let same = bottleneck(&sharing(1000, 1), Some(&before), &here());
    assert_eq!(finding(Limiter::Lock, &same), Finding::DoesNotLimit);
    // There is nothing to compare with, or nothing lighter.
    for before in [None, Some(&phase)] {
        let alone = bottleneck(&phase, before, &here());
        assert_eq!(alone.limited_by, None);
        assert_eq!(finding(Limiter::Lock, &alone), Finding::CannotTell);
    }
}

#[test]
fn of_threads_that_ended_nothing_is_said() {
    let mut phase = idle(1000);
    server(&mut phase).window.cpu_cores = Figure::Known(0.5);
    let found = found(&phase);
    for of in [Limiter::ServerThread, Limiter::Lock] {
        assert_eq!(finding(of, &found), Finding::CannotTell);
    }
    assert!(!found.server_waits);
}

#[test]
fn one_thread_has_no_lock_to_wait_for() {
    let found = found(&idle(1000));
    assert_eq!(finding(Limiter::Lock, &found), Finding::DoesNotLimit);
}

#[test]
fn an_emulated_link_that_is_full_is_the_limit_and_one_with_room_is_not() {
    // 1,000 answers of 1,000 bytes in a second, with 24 bytes of their chunk's header and 66 around it: 8.7 Mbit/s.
    let phase = idle(1000);
    let at = |link: &str| bottleneck(&phase, None, &over(link));
    assert_eq!(at("9Mbit/s").limited_by, Some(Limiter::Link));
    let sign = &at("9Mbit/s").candidate(Limiter::Link).unwrap().signs_for[0].clone();
    assert!(
        matches!(sign, Sign::LinkFull { share, .. } if (*share - 0.969).abs() < 0.005),
        "{sign:?}"
    );
    assert_eq!(
        finding(Limiter::Link, &at("100Mbit/s")),
        Finding::DoesNotLimit
    );
    // Requests are small: the other way has room.
    assert_eq!(
        finding(Limiter::Link, &at("up.rate=9Mbit/s")),
        Finding::DoesNotLimit
    );
    // Of 100 bytes each: with all headers 1.52 Mbit/s.
    assert_eq!(at("up.rate=1600kbit/s").limited_by, Some(Limiter::Link));
}

#[test]
fn a_link_whose_delay_makes_the_service_time_is_the_limit() {
    // Each answer took 5 ms.
    let phase = idle(1000);
    let at = |link: &str| bottleneck(&phase, None, &over(link));
    assert_eq!(at("delay=2400us").limited_by, Some(Limiter::Link));
    assert_eq!(
        finding(Limiter::Link, &at("delay=100us")),
        Finding::DoesNotLimit
    );
}

/// What went through before, down; up it was 100 Mbit/s.
fn tested(down: f64, held: f64, tcp_ns: u64) -> LinkTest {
    let way = |bits_per_s, held| Throughput {
        bits_per_s: Figure::Known(bits_per_s),
        held,
    };
    LinkTest {
        trips: Vec::new(),
        tcp_round_trip_ns: Figure::Known(tcp_ns),
        up: way(100e6, Figure::missing("not seen")),
        down: way(down, Figure::Known(held)),
        took_ns: SECOND,
    }
}

#[test]
fn a_link_that_carried_no_more_in_a_test_is_the_limit_and_one_that_carried_more_is_not() {
    // 8 Mbit of answers in a second, each after 5 ms.
    let with = |mut phase: Phase, test: LinkTest, targets: &[Target]| {
        phase.link_test = Some(test);
        bottleneck(&phase, None, targets)
    };
    let at = |test: LinkTest| with(idle(1000), test, &here());
    let full = at(tested(8.4e6, 0.9, 100));
    assert_eq!(full.limited_by, Some(Limiter::Link));
    let sign = &full.candidate(Limiter::Link).unwrap().signs_for[0];
    assert!(
        matches!(sign, Sign::LinkTested { share, proven: true, .. } if (*share - 0.95).abs() < 0.02),
        "{sign:?}"
    );
    // The server may have had no more to send in the test.
    assert_ne!(at(tested(8.4e6, 0.1, 100)).limited_by, Some(Limiter::Link));
    // Of a server elsewhere nothing but the test is known.
    let far = |test: LinkTest| with(reads(1000), test, &over_there());
    let found = far(tested(100e6, 0.1, 100_000));
    assert_eq!(finding(Limiter::Link, &found), Finding::DoesNotLimit);
    let found = far(tested(8.4e6, 0.1, 100_000));
    assert_eq!(finding(Limiter::Link, &found), Finding::CannotTell);
    let found = far(tested(100e6, 0.1, 4_800_000));
    assert_eq!(found.limited_by, Some(Limiter::Link));
    let without = bottleneck(&reads(1000), None, &over_there());
    assert_eq!(finding(Limiter::Link, &without), Finding::CannotTell);
}

#[test]
fn a_network_interface_that_is_full_is_the_limit_and_one_with_room_proves_nothing() {
    let with = |share| {
        let mut phase = reads(1000);
        phase.resources.push(UsageSeries {
            who: "host".to_owned(),
            links: vec![LinkUsage {
                name: "eth0".to_owned(),
                received_bytes: Figure::Known(1),
                sent_bytes: Figure::Known(1),
                dropped: Figure::Known(0),
                share: Figure::Known(share),
                course: None,
            }],
            ..UsageSeries::default()
        });
        found(&phase)
    };
    assert_eq!(with(0.94).limited_by, Some(Limiter::Link));
    let room = with(0.2);
    let link = room.candidate(Limiter::Link).unwrap();
    assert_eq!(link.finding, Finding::CannotTell);
    assert!(matches!(
        link.signs_against[..],
        [Sign::LinkFull { share: 0.2, .. }]
    ));
}

#[test]
fn connections_tell_the_network_from_buffers_and_from_a_slow_reader() {
    let with = |sockets: SocketUsage| {
        let mut phase = idle(1000);
        server(&mut phase).sockets = Some(Figure::Known(sockets));
        found(&phase)
    };
    let always = FLOWS.window_ns * FLOWS.connections;
    let network = with(SocketUsage {
        busy_ns: always,
        unsent: 11,
        ..FLOWS
    });
    assert_eq!(network.limited_by, Some(Limiter::Link));
    // Something is always on its way, and nothing waits for it: that takes a while, no more.
    let far = with(SocketUsage {
        busy_ns: always,
        ..FLOWS
    });
    assert_eq!(finding(Limiter::Link, &far), Finding::DoesNotLimit);
    let buffers = with(SocketUsage {
        busy_ns: always,
        buffer_limited_ns: always * 3 / 4,
        unsent: 11,
        ..FLOWS
    });
    assert_eq!(buffers.limited_by, Some(Limiter::SocketBuffers));
    let reader = with(SocketUsage {
        busy_ns: always,
        receiver_limited_ns: always * 3 / 4,
        ..FLOWS
    });
    assert_eq!(reader.limited_by, None);
    assert_eq!(finding(Limiter::Generator, &reader), Finding::CannotTell);
    assert!(!reader.server_waits);
    // Requests wait for it, and not answers.
    let mut upload = idle(1000);
    upload.resources[0].sockets = Some(Figure::Known(SocketUsage {
        busy_ns: always,
        unsent: 11,
        ..FLOWS
    }));
    assert_eq!(found(&upload).limited_by, Some(Limiter::Link));
    // It leads on: what is behind it is not seen.
    let relay = with(SocketUsage {
        outgoing: 2,
        ..FLOWS
    });
    assert_eq!(finding(Limiter::Link, &relay), Finding::CannotTell);
    assert!(!relay.server_waits);
}

#[test]
fn the_generator_is_the_limit_where_the_verdict_says_so() {
    let mut phase = idle(1000);
    phase.verdict.kind = Kind::GeneratorLimited;
    assert_eq!(found(&phase).limited_by, Some(Limiter::Generator));
    // A busy core alone makes it none, and does not acquit it.
    phase.verdict.kind = Kind::ServerSaturated;
    phase.resources[0].busiest_core = Some(0.93);
    assert_eq!(
        finding(Limiter::Generator, &found(&phase)),
        Finding::CannotTell
    );
}

#[test]
fn a_status_that_names_a_limit_is_the_servers_own() {
    let refused = |count| {
        let mut phase = idle(1000);
        phase.total.statuses.push(Status {
            code: 0x8010_0000,
            name: "BadTooManyOperations".to_owned(),
            count,
        });
        found(&phase)
    };
    assert_eq!(refused(100).limited_by, Some(Limiter::ServerLimits));
    assert_eq!(
        finding(Limiter::ServerLimits, &refused(5)),
        Finding::DoesNotLimit
    );
}

#[test]
fn delay_that_is_mostly_phase_is_the_limit_where_no_resource_is() {
    let subscribed = |mut phase: Phase, share: f64| {
        let whole = 100 * MS;
        let names = [("delay", whole), ("phase", (share * whole as f64) as u64)];
        for (name, ns) in names {
            let values = Histogram::of(ns, 1000);
            phase.total.histograms.insert(name.to_owned(), values);
        }
        phase.subscriptions = Some(Subscriptions::default());
        found(&phase)
    };
    assert_eq!(
        subscribed(idle(1000), 0.95).limited_by,
        Some(Limiter::Phase)
    );
    assert_eq!(
        finding(Limiter::Phase, &subscribed(idle(1000), 0.5)),
        Finding::DoesNotLimit
    );
    let busy = with_server(reads(1000), vec![thread("io", 1, 0.97, 0.97)]);
    let found = subscribed(busy, 0.95);
    assert_eq!(found.limited_by, Some(Limiter::ServerThread));
    // Without subscriptions there is no such thing.
    assert!(self::found(&idle(1000)).candidate(Limiter::Phase).is_none());
}

#[test]
fn two_that_are_both_proven_contradict_each_other() {
    let mut phase = with_server(reads(1000), vec![thread("io", 1, 0.97, 0.97)]);
    let both = bottleneck(&phase, None, &over("9Mbit/s"));
    assert_eq!(both.limited_by, None);
    assert_eq!(both.found(Finding::Limits).count(), 2);
    assert!(!both.server_waits);
    server(&mut phase).threads[0].busiest = Some(0.2);
    let one = bottleneck(&phase, None, &over("9Mbit/s"));
    assert_eq!(one.limited_by, Some(Limiter::Link));
}

#[test]
fn a_server_with_nothing_to_do_waits_and_one_that_is_not_seen_may_do_anything() {
    let waits = found(&idle(1000));
    assert_eq!(waits.limited_by, None);
    assert!(waits.server_waits);
    let elsewhere = found(&reads(1000));
    assert_eq!(elsewhere.limited_by, None);
    assert!(!elsewhere.server_waits);
    for of in [Limiter::ServerCpu, Limiter::ServerThread, Limiter::Lock] {
        assert_eq!(finding(of, &elsewhere), Finding::CannotTell);
    }
}
