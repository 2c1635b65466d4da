//! The result file: what is written can be read, by its schema and by later versions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod schema;

use std::fs;
use std::path::{Path, PathBuf};

use record::run::{
    Bottleneck, Candidate, ClockBound, CoreCourse, CounterUsage, CpuCourse, Destination, Energy,
    EventCount, EvidenceTopic, Expectation, Figure, Finding, Fingerprint, GapOf, KeyUse, Kind,
    Limiter, LinkCourse, LinkTest, LinkUsage, Listener, Mark, Mean, Means, Observing, Outside,
    Part, Phase, PowerCourse, Product, PubSub, Published, ReadError, Sign, SocketUsage, Source,
    Target, ThreadCounters, ThreadCourse, ThreadUsage, Throughput, TokenUse, Trip, Unread, Usage,
    UsageSeries, Verdict, WarmUp, WriteError,
};
use record::{Lateness, Ledger, Run, Tally, Times, Timestamp};

const MS: u64 = 1_000_000;

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn name(code: u32) -> String {
    match code {
        0 => "Good".to_owned(),
        0x800A_0000 => "BadTimeout".to_owned(),
        other => format!("0x{other:08X}"),
    }
}

/// A second with a request a millisecond, ten of which timed out.
fn tally() -> Tally {
    let mut ledger = Ledger::with_end(1000 * MS);
    for ms in 0..1000 {
        let sent = ms * MS + 1000;
        let times = Times {
            planned: ms * MS,
            sent,
            completed: sent + 200_000 + ms * 100,
        };
        let lateness = Lateness {
            pacer: 1000,
            ..Lateness::default()
        };
        ledger.late(sent, lateness, 1);
        ledger.sent_bytes(sent, 120, 1);
        ledger.levels(sent, 1, 0);
        if ms % 100 == 7 {
            ledger.timed_out(times, 1);
        } else {
            ledger.done(times, 0, 10, 1);
            ledger.received_bytes(times.completed, 300, 1);
        }
        ledger.lag(times.completed, 5000);
    }
    ledger.values_failed(500 * MS, 0x8034_0000, 3);
    ledger.skipped(500 * MS, 2);
    ledger.reconnected(500 * MS, 30 * MS);
    ledger.finish()
}

/// A run in which every field has something to say.
/// One listener that heard all and one that could read nothing.
fn pubsub() -> PubSub {
    let heard = Listener {
        lost: Some(1),
        never_came: Some(2),
        socket_drops: Figure::Known(3),
        cpu_ns: Figure::Known(4),
        encodings: vec!["RawData".into()],
        security: vec!["sign".into()],
        discovery: 5,
        keys: Some(KeyUse {
            tokens: vec![TokenUse {
                token: 3,
                datagrams: 9,
            }],
            earlier: 1,
            asked: 2,
            failed: 1,
            last_error: Some("timed out".into()),
            expired: 4,
        }),
        ..Listener::default()
    };
    let deaf = Listener {
        socket_drops: Figure::missing("this system does not tell"),
        no_delay: Some("messages say no time".into()),
        unread: vec![Unread {
            reason: "wrong key".into(),
            datagrams: 7,
        }],
        ..Listener::default()
    };
    PubSub {
        to: "opc.udp://239.0.0.1:4840".into(),
        multicast: true,
        published: Some(Published {
            interval_ns: Some(MS),
            planned_cycles: Some(9),
            roll_overs: 1,
            keys: Some(KeyUse::default()),
            ..Published::default()
        }),
        listeners: vec![heard, deaf],
        clock: Some(ClockBound {
            error_ns: Figure::Known(5),
            ahead: 1,
            ..ClockBound::default()
        }),
    }
}

fn full() -> Run {
    let tally = tally();
    let mut run = Run::new(
        "read",
        time("2026-03-01T09:30:00Z"),
        Fingerprint {
            cpu: Figure::Known("a CPU".to_owned()),
            cores: Figure::Known(2),
            network: Figure::Known(vec!["lo".to_owned()]),
            ..Fingerprint::default()
        },
    );
    run.ended = time("2026-03-01T09:30:01.5Z");
    run.request = serde_json::json!({ "batch": 10 });
    run.plan = serde_json::json!({ "phases": [] });
    run.targets = vec![Target {
        url: "opc.tcp://127.0.0.1:4840".to_owned(),
        endpoint_url: Some("opc.tcp://plant:4840".to_owned()),
        peer: Some("open62541".to_owned()),
        tools: vec!["cmake: cmake version 3.25.1".to_owned()],
        product: Product {
            name: Figure::Known("a server".to_owned()),
            ..Product::default()
        },
        security: "None:None".to_owned(),
        user: "anonymous".to_owned(),
        link: Some("rate=2Mbit/s,delay=20ms".to_owned()),
        proxy: Some("http://proxy:3128".to_owned()),
        interface: Some("eth0".into()),
        dscp: Some("46".to_owned()),
        limits: [("MaxNodesPerRead".to_owned(), 1000)].into(),
    }];
    let warm_up = WarmUp {
        given_ns: None,
        found_ns: Some(200 * MS),
        longest: Some("response".to_owned()),
        cut_ns: 200 * MS,
    };
    let mut phase = Phase::new("only", run.started, &tally, warm_up, 0, &name);
    phase.parts.push(Part {
        target: 0,
        service: "read".to_owned(),
        sum: phase.total.clone(),
    });
    phase.resources.push(UsageSeries {
        who: "observed".to_owned(),
        name: Some("historian".to_owned()),
        pid: Some(7),
        window: Usage {
            cpu_ns: Figure::Known(5),
            cpu_cores: Figure::Known(0.25),
            ..Usage::default()
        },
        at_ns: vec![0, 100],
        cpu_cores: vec![None, Some(0.5)],
        rss_bytes: vec![Some(1), None],
        ram_bytes: Some(1 << 30),
        source: Some(Source {
            from: "http://plc1:9256/metrics".to_owned(),
            by: "process-exporter".to_owned(),
            machine: Some(Box::default()),
            interval_ns: 1_000_000_000,
            resolution_ns: Figure::Known(1_000_000_000),
            looks: 9,
            unchanged: 1,
            time_error_ns: 250_000,
            cost_cores: Figure::missing("it does not tell"),
            gaps: vec![GapOf {
                from_ns: -1,
                to_ns: 5,
                reason: "no answer in time".to_owned(),
            }],
        }),
        means: Some(Means {
            cpu_cores: Figure::Known(Mean {
                mean: 0.25,
                error: 0.01,
            }),
            rss_bytes: Figure::missing("one"),
        }),
        waited_cores: vec![None, Some(0.125)],
        switches_per_s: vec![None, Some(250.0)],
        cpu_course: Some(CpuCourse {
            at_ns: vec![50, 100],
            cpu_cores: vec![Some(0.5), None],
            user_cores: vec![None, Some(0.25)],
            system_cores: vec![None, Some(0.125)],
            threads: vec![ThreadCourse {
                name: "plant-0".to_owned(),
                cpu_cores: vec![Some(0.25), None],
            }],
            cores: vec![CoreCourse {
                core: 1,
                busy: vec![Some(0.25), None],
            }],
        }),
        threads: vec![ThreadUsage {
            name: "plant-0".to_owned(),
            count: 2,
            cpu_cores: Figure::Known(0.25),
            cpu_ns: Figure::Known(5),
            user_ns: Figure::missing("two"),
            system_ns: Figure::missing("two"),
            waited_ns: Figure::Known(1),
            voluntary_switches: Figure::Known(2),
            involuntary_switches: Figure::Known(3),
            migrations: Figure::missing("three"),
            busiest: Some(0.75),
        }],
        links: vec![LinkUsage {
            name: "lo".to_owned(),
            received_bytes: Figure::Known(1000),
            sent_bytes: Figure::Known(1000),
            dropped: Figure::Known(0),
            share: Figure::missing("the loopback has no speed of its own"),
            course: Some(LinkCourse {
                at_ns: vec![100, 200],
                received_bytes_per_s: vec![Some(1.5), None],
                sent_bytes_per_s: vec![Some(0.5), Some(2.0)],
                share: vec![None, Some(0.25)],
            }),
        }],
        cores_allowed: Some(1.5),
        busiest_core: Some(0.5),
        memory_stalled_ns: Some(Figure::Known(3)),
        counters: Some(CounterUsage {
            instructions: Figure::Known(EventCount {
                count: 3_200_000,
                counted_share: 0.625,
            }),
            user_only: true,
            instructions_per_operation: Some(Figure::Known(52_100.0)),
            threads: vec![ThreadCounters {
                name: "plant-0".to_owned(),
                count: 2,
                counters: CounterUsage::default(),
            }],
            ..CounterUsage::default()
        }),
        sockets: Some(Figure::Known(SocketUsage {
            connections: 2,
            outgoing: 1,
            window_ns: 1000,
            busy_ns: 500,
            receiver_limited_ns: 20,
            buffer_limited_ns: 10,
            looks: 4,
            unsent: 2,
        })),
    });
    phase.pubsub = Some(pubsub());
    phase.observing = Some(Observing {
        interval_ns: 10_000_000,
        looks: 100,
        closely: 10,
        missed: 1,
        cpu_ns: Figure::Known(7),
        cpu_cores: Figure::Known(0.0625),
    });
    phase.link_test = Some(LinkTest {
        trips: vec![Trip {
            request_bytes: 116,
            response_bytes: 66,
            count: 100,
            min_ns: 20_000,
            median_ns: 25_000,
        }],
        tcp_round_trip_ns: Figure::Known(12_000),
        up: Throughput {
            bits_per_s: Figure::Known(3.5e6),
            held: Figure::Known(0.75),
        },
        down: Throughput {
            bits_per_s: Figure::missing("it broke off"),
            held: Figure::missing("it broke off"),
        },
        took_ns: 3_000_000_000,
    });
    phase.energy.push(Energy {
        by: "package-0".to_owned(),
        joules: Figure::Known(120.0),
        watts: Figure::Known(12.0),
        idle_watts: Figure::Known(Mean {
            mean: 8.0,
            error: 0.5,
        }),
        above_idle_joules: Figure::Known(Mean {
            mean: 40.0,
            error: 5.0,
        }),
        per_operation_joules: Figure::Known(Mean {
            mean: 0.5,
            error: 0.0625,
        }),
        per_value_joules: Figure::missing("no values"),
        widest_gap_ns: Figure::Known(100_000_000),
        course: Some(PowerCourse {
            interval_ns: 100_000_000,
            watts: vec![Some(12.5), None],
        }),
        aligned_by_s: Some(Mean {
            mean: 1_716_896_125.5,
            error: 0.05,
        }),
    });
    phase.expectations.push(Expectation {
        expected: "p99<5ms".to_owned(),
        found: Some(2.5e5),
        met: true,
        reason: None,
    });
    phase.expectations.push(Expectation {
        expected: "delay.p99<5ms".to_owned(),
        found: None,
        met: false,
        reason: Some("no notifications".to_owned()),
    });
    phase.verdict = Verdict {
        kind: Kind::ServerSaturated,
        evidence: vec!["one".to_owned()],
        about: vec![EvidenceTopic::Behind],
        advice: vec!["two".to_owned()],
        notes: vec!["three".to_owned()],
    };
    phase.bottleneck = Some(bottleneck());
    run.verdict = phase.verdict.clone();
    run.phases.push(phase);
    run.marks = vec![Mark::Interrupted, Mark::LimitsIgnored];
    run.notes = vec!["a note".to_owned()];
    run
}

/// All signs that there are.
fn bottleneck() -> Bottleneck {
    let signs = vec![
        Sign::Cores {
            busy: 0.5,
            allowed: 2.0,
            waited: 0.25,
        },
        Sign::Thread {
            name: "plant-0".to_owned(),
            busy: 0.97,
            alike: 1,
        },
        Sign::Polls { before: 0.95 },
        Sign::Workers { threads: 4 },
        Sign::Switches {
            a_request: 2.5,
            before: 1.0,
        },
        Sign::MajorFaults { faults: 7 },
        Sign::MemoryStalled { share: 0.25 },
        Sign::LinkFull {
            link: "eth0".to_owned(),
            share: 0.96,
        },
        Sign::LinkTested {
            bits_per_s: 94e6,
            share: 0.5,
            proven: false,
        },
        Sign::LinkDelay {
            delay_ns: 40 * MS,
            share: 0.96,
        },
        Sign::Loopback,
        Sign::NetworkHeld { share: 0.5 },
        Sign::BufferFull { share: 0.5 },
        Sign::ReaderFull { share: 0.5 },
        Sign::GeneratorCore { busy: 0.125 },
        Sign::GeneratorLimited,
        Sign::Refused {
            status: "BadTooManyOperations".to_owned(),
            count: 100,
            share: 0.5,
        },
        Sign::NoneRefused,
        Sign::OfDelay { share: 0.5 },
        Sign::NotAvailable {
            why: "nobody asked".to_owned(),
        },
    ];
    let limiters = [
        Limiter::ServerCpu,
        Limiter::ServerThread,
        Limiter::ServerMemory,
        Limiter::Lock,
        Limiter::Link,
        Limiter::SocketBuffers,
        Limiter::Generator,
        Limiter::ServerLimits,
        Limiter::Phase,
    ];
    let candidates = limiters.map(|of| Candidate {
        of,
        finding: match of {
            Limiter::ServerThread => Finding::Limits,
            Limiter::Lock => Finding::CannotTell,
            _ => Finding::DoesNotLimit,
        },
        signs_for: signs.clone(),
        signs_against: Vec::new(),
    });
    Bottleneck {
        limited_by: Some(Limiter::ServerThread),
        server_waits: true,
        candidates: candidates.to_vec(),
    }
}

fn read(text: &[u8]) -> Result<Run, ReadError> {
    Run::from_json(text, Path::new("some.json"))
}

#[test]
fn a_run_comes_back_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let run = full();
    let destination = Destination::Folder(folder.path().join("results"));
    let first = run.write(&destination).unwrap();
    assert_eq!(
        first,
        folder.path().join("results/20260301T093000Z-read.json")
    );
    let mut back = Run::read(&first).unwrap();
    // Extremes, mean and counts are exact; slots are those that were filled.
    for (name, histogram) in &run.phases[0].total.histograms {
        let read = back.phases[0].total.histogram(name);
        assert_eq!(read.count(), histogram.count(), "{name}");
        assert_eq!((read.min(), read.max()), (histogram.min(), histogram.max()));
        assert_eq!(read.quantile(0.5), histogram.quantile(0.5));
        assert_eq!(read.deviation(), histogram.deviation());
    }
    back.phases[0].total.histograms = run.phases[0].total.histograms.clone();
    back.phases[0].parts[0].sum.histograms = run.phases[0].total.histograms.clone();
    assert_eq!(back, run);
}

#[test]
fn every_field_is_in_the_schema_and_every_file_follows_it() {
    let schema = schema::load();
    let empty = Run::new("read", time("2026-03-01T09:30:00Z"), Fingerprint::default());
    for run in [full(), empty] {
        let value = serde_json::from_slice(&run.to_json().unwrap()).unwrap();
        assert_eq!(schema.complaints(&value), Vec::<String>::new());
    }
}

#[test]
fn a_file_that_breaks_the_schema_is_found() {
    let schema = schema::load();
    let mut value: serde_json::Value = serde_json::from_slice(&full().to_json().unwrap()).unwrap();
    value["phases"][0]["total"]["completed"] = serde_json::json!(-1);
    value["started"] = serde_json::json!("yesterday");
    value["verdict"]["kind"] = serde_json::json!("FINE");
    value["surprise"] = serde_json::json!(1);
    assert_eq!(schema.complaints(&value).len(), 4);
}

#[test]
fn a_file_of_the_first_version_is_read_for_ever() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept/run-1.json");
    let run = Run::read(&kept).unwrap();
    assert_eq!(run.phases[0].total.completed, 800);
    assert_eq!(
        run.phases[0].total.histogram("service").max(),
        Some(299_900)
    );
    let value = serde_json::from_slice(&fs::read(kept).unwrap()).unwrap();
    assert_eq!(schema::load().complaints(&value), Vec::<String>::new());
}

#[test]
fn what_is_no_result_is_told_from_one_that_is_newer() {
    let text = String::from_utf8(full().to_json().unwrap()).unwrap();
    let newer = text.replacen("\"version\": 1", "\"version\": 2", 1);
    let error = read(newer.as_bytes()).unwrap_err();
    assert!(matches!(error, ReadError::Newer { found: 2, .. }));
    assert!(error.to_string().contains("update uaperf"), "{error}");

    for other in ["{}", "[]", "{\"format\": \"uaperf run\"}"] {
        let error = read(other.as_bytes()).unwrap_err();
        assert!(matches!(error, ReadError::NotARun(_)), "{other}: {error}");
    }
    let broken = text.replacen("\"completed\": 800", "\"completed\": \"many\"", 1);
    let error = read(broken.as_bytes()).unwrap_err().to_string();
    assert!(
        error.contains("some.json") && error.contains("line"),
        "{error}"
    );
    let cut = &text.as_bytes()[..text.len() / 2];
    assert!(matches!(read(cut).unwrap_err(), ReadError::Json { .. }));
}

#[test]
fn what_has_come_since_is_said_to_be_newer_or_noted() {
    let mut value = serde_json::to_value(full()).unwrap();
    value["marks"] = serde_json::json!(["interrupted", "rained-on"]);
    let run = read(value.to_string().as_bytes()).unwrap();
    assert_eq!(run.marks, [Mark::Interrupted]);
    assert!(run.notes.last().unwrap().contains("\"rained-on\""));

    let limit = &mut value["phases"][0]["bottleneck"];
    limit["limited_by"] = "gravity".into();
    limit["candidates"][0]["for"][0] = serde_json::json!({ "what": "mass", "kg": 3 });
    let run = read(value.to_string().as_bytes()).unwrap();
    let found = run.phases[0].bottleneck.as_ref().unwrap();
    assert_eq!(found.limited_by, Some(Limiter::Other));
    assert_eq!(found.candidates[0].signs_for[0], Sign::Other);

    value["phases"][0]["verdict"]["kind"] = "SOGGY".into();
    let error = read(value.to_string().as_bytes()).unwrap_err();
    assert!(
        error.to_string().contains("newer uaperf") && error.to_string().contains("\"SOGGY\""),
        "{error}"
    );
}

#[test]
fn a_histogram_that_was_tampered_with_is_refused() {
    let mut value: serde_json::Value = serde_json::from_slice(&full().to_json().unwrap()).unwrap();
    value["phases"][0]["total"]["histograms"]["lag"]["count"] = serde_json::json!(801);
    let error = read(value.to_string().as_bytes()).map(drop).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("801"), "{error}");
}

#[test]
fn a_default_name_never_covers_another_result() {
    let folder = tempfile::tempdir().unwrap();
    let destination = Destination::Folder(folder.path().to_owned());
    let run = full();
    let names: Vec<PathBuf> = (0..3).map(|_| run.write(&destination).unwrap()).collect();
    let names: Vec<_> = names
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "20260301T093000Z-read.json",
            "20260301T093000Z-read-2.json",
            "20260301T093000Z-read-3.json"
        ]
    );
    // Nothing half-written stays behind.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn a_name_that_was_given_is_written_over_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json");
    fs::write(&file, "what was there").unwrap();
    let run = full();
    run.write(&Destination::File(file.clone())).unwrap();
    assert_eq!(Run::read(&file).unwrap().command, "read");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let destination = Destination::Folder(file.join("results"));
    let error = full().write(&destination).unwrap_err();
    assert!(matches!(error, WriteError::Folder { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("cannot create the folder") && text.contains("results"),
        "{text}"
    );
}

#[test]
fn when_writing_fails_what_was_there_still_is() {
    let folder = tempfile::tempdir().unwrap();
    // A folder that bears the wanted name cannot be replaced by a file.
    let wanted = folder.path().join("taken.json");
    fs::create_dir(&wanted).unwrap();
    fs::write(wanted.join("inside"), "kept").unwrap();
    let error = full()
        .write(&Destination::File(wanted.clone()))
        .unwrap_err();
    assert!(error.to_string().contains("taken.json"), "{error}");
    assert_eq!(fs::read_to_string(wanted.join("inside")).unwrap(), "kept");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_worst_verdict_is_the_largest() {
    let mut kinds = [
        Kind::Failed,
        Kind::Valid,
        Kind::GeneratorLimited,
        Kind::ServerSaturated,
        Kind::Unsteady,
    ];
    kinds.sort();
    let names: Vec<_> = kinds.iter().map(ToString::to_string).collect();
    assert_eq!(
        names.join(" "),
        "VALID SERVER-SATURATED UNSTEADY GENERATOR-LIMITED FAILED"
    );
}

/// Writes the kept file anew; only for a version that has not been published yet.
#[test]
#[ignore = "writes a file that is kept"]
fn keep() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept/run-1.json");
    full().write(&Destination::File(kept)).unwrap();
}

#[test]
fn what_is_left_out_is_counted_beside_the_window() {
    let warm_up = WarmUp {
        found_ns: Some(200 * MS),
        cut_ns: 200 * MS,
        ..WarmUp::default()
    };
    let started = time("2026-03-01T09:30:00Z");
    let phase = Phase::new("only", started, &tally(), warm_up, 300 * MS, &name);
    let [before, behind] = &phase.left_out[..] else {
        panic!("{:?}", phase.left_out);
    };
    assert_eq!(
        (before.part, behind.part),
        (Outside::WarmUp, Outside::CoolDown)
    );
    assert_eq!((before.from_ns, before.to_ns), (0, 200 * MS));
    assert_eq!((behind.from_ns, behind.to_ns), (700 * MS, 1000 * MS));
    assert_eq!((before.counts.errors, before.counts.timeouts), (2, 2));
    assert_eq!(before.counts.completed, 200);
    let whole = phase.whole();
    assert_eq!(
        (whole.completed, whole.errors, whole.timeouts),
        (1000, 10, 10)
    );
    assert_eq!(phase.total.errors, 5);
    // It was found, not asked for: its largest response is that of the phase as well.
    assert_eq!(phase.max_ns("lateness"), Some(1000));
    let mut slow = phase.clone();
    slow.left_out[0]
        .max_ns
        .insert("response".to_owned(), 5000 * MS);
    assert_eq!(slow.max_ns("response"), Some(5000 * MS));
    slow.warm_up.given_ns = Some(200 * MS);
    assert_eq!(
        slow.max_ns("response"),
        phase.total.histogram("response").max()
    );
}
